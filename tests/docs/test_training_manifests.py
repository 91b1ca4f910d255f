"""docs/training: workers of the manifest and of the script know each other, and begin again when they must."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from typer.main import get_command

from keras_transformers.training.workers.cluster import Cluster, read_cluster

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "training"
SERVICE, JOB = yaml.safe_load_all((DOCS / "kubernetes.yaml").read_text(encoding="utf-8"))
POD = JOB["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
SAVED = "serving/1/saved_model.pb"
AGAIN = 75

# In the place of `python -m zoo finetune`: notes which worker it is, and ends as NAME in the environment says.
PYTHON = f"""#!{sys.executable}
import json, os, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from keras_transformers.training.workers.cluster import read_cluster
cluster, outcome = read_cluster(), os.environ["OUTCOME"]
Path(os.environ["NOTES"], str(cluster.index)).write_text(json.dumps([cluster, sys.argv[1:]]))
export = Path(sys.argv[sys.argv.index("--export") + 1])
if outcome == "done":
    export.mkdir(parents=True, exist_ok=True)
    (export / "saved_model.pb").touch()
elif outcome == "asked to stop":
    import signal
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Path(os.environ["NOTES"], "waits").touch()
    time.sleep(60)
sys.exit(outcome == "error" and 3)
"""
# As Slurm's: options, then a command, which runs in each task of a step.
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
export SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST='node[01-02]'
export SLURM_STEP_TASKS_PER_NODE='1(x2)' SLURM_NTASKS=2
for index in 0 1; do SLURM_PROCID=$index SLURM_NODEID=$index SLURM_LOCALID=0 "$@" & tasks+=($!); done
for task in "${tasks[@]}"; do wait "$task" || code=$?; done
exit "${code:-0}"
"""
SCONTROL = """#!/bin/bash
echo "$@" > "$NOTES/scontrol"
"""


@pytest.fixture
def variables(tmp_path) -> dict[str, str]:
    """Of a process that finds stand-ins for the programs, and where they note how they are called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"python": PYTHON, "srun": SRUN, "scontrol": SCONTROL}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    others = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "TF_CONFIG"))}
    return others | {"PATH": f"{programs}:{os.environ['PATH']}", "NOTES": str(tmp_path)}


def noted(folder: Path, index: int) -> tuple[Cluster, list[str]]:
    (workers, own), arguments = json.loads((folder / str(index)).read_text())
    return Cluster(tuple(workers), own), arguments


def options(arguments: list[str]) -> dict[str, Any]:
    """What the command line makes of a command."""
    assert arguments[:3] == ["-m", "zoo", "finetune"]
    from zoo.__main__ import app

    with patch("zoo.terminal.options.check_file"):  # the files are the reader's
        return get_command(app).commands["finetune"].make_context("finetune", arguments[3:]).params


def start_pod(variables: dict[str, str], outcome: str, index: int = 0, workers: int = 2) -> subprocess.Popen:
    """The container's command; the volume is the folder of notes."""
    script = CONTAINER["args"][0].replace(POD_VOLUME, variables["NOTES"])
    given = {"JOB_COMPLETION_INDEX": str(index), "WORKERS": str(workers), "OUTCOME": outcome}
    return subprocess.Popen([*CONTAINER["command"], script], env=variables | given)


(POD_VOLUME,) = (mount["mountPath"] for mount in CONTAINER["volumeMounts"])


@pytest.mark.parametrize(("workers", "index"), [(2, 0), (2, 1), (12, 11)])
def test_a_pod_knows_its_cluster(variables, tmp_path, workers, index):
    assert start_pod(variables, "done", index, workers).wait() == 0
    cluster, arguments = noted(tmp_path, index)
    assert cluster == Cluster(tuple(f"finetune-{i}.finetune:2222" for i in range(workers)), index)
    found = options(arguments)
    assert found["strategy"] == "multi_worker" and found["resume"].parent == found["out"].parent == tmp_path


def test_a_pod_begins_again_until_the_run_is_at_its_end(variables, tmp_path):
    assert start_pod(variables, "not done").wait() == AGAIN  # another worker was asked to stop
    assert start_pod(variables, "error").wait() == 3
    assert start_pod(variables, "done").wait() == 0
    (tmp_path / "0").unlink()
    assert start_pod(variables, "error").wait() == 0 and not (tmp_path / "0").exists()  # there is nothing left to do


def test_the_shell_of_a_pod_hands_sigterm_on(variables, tmp_path):
    pod = start_pod(variables, "asked to stop")
    for _ in range(600):
        if (tmp_path / "waits").exists():
            break
        time.sleep(0.1)
    start = time.monotonic()
    pod.send_signal(signal.SIGTERM)
    assert pod.wait() == AGAIN and time.monotonic() - start < 30


def test_the_parts_of_the_manifest_fit_each_other():
    spec, name = JOB["spec"], JOB["metadata"]["name"]
    assert SERVICE["spec"]["selector"] == {"batch.kubernetes.io/job-name": name}
    assert POD["subdomain"] == SERVICE["metadata"]["name"] and SERVICE["spec"]["clusterIP"] == "None"
    environment = {item["name"]: item["value"] for item in CONTAINER["env"]}
    assert {"WORKERS": str(spec["completions"])} == environment and spec["parallelism"] == spec["completions"]
    rules = [rule["onExitCodes"]["values"] for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule]
    assert rules == [[AGAIN]]
    # What the API server asks for beside the schema.
    assert POD["restartPolicy"] == "Never" and spec["podReplacementPolicy"] == "Failed"


@pytest.mark.parity
def test_the_manifest_is_what_kubernetes_takes():
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="needs the extra parity")
    for version in ("1.29", kubernetes_validate.latest_version()):
        for document in (SERVICE, JOB):
            kubernetes_validate.validate(document, version, strict=True)
    wrong = JOB | {"spec": JOB["spec"] | {"podReplacement": "Failed"}}
    with pytest.raises(kubernetes_validate.ValidationError, match="podReplacement"):
        kubernetes_validate.validate(wrong, "1.29", strict=True)


def run_slurm(variables: dict[str, str], folder: Path, outcome: str, **given: str) -> int:
    job = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "16", "OUTCOME": outcome}
    return subprocess.run(["bash", DOCS / "slurm.sh"], env=variables | job | given, cwd=folder, check=False).returncode


def test_the_tasks_of_slurm_know_their_cluster(variables, tmp_path):
    assert run_slurm(variables, tmp_path, "done") == 0
    assert not (tmp_path / "scontrol").exists()
    for index in range(2):
        cluster, arguments = noted(tmp_path, index)
        assert cluster == Cluster(("node01:15007", "node02:15007"), index)
        found = options(arguments)
        assert found["strategy"] == "multi_worker" and found["resume"] == Path("runs/7/state")


@pytest.mark.parametrize("outcome", ["not done", "error"])
def test_a_job_of_slurm_is_queued_again_until_the_run_is_at_its_end(variables, tmp_path, outcome):
    assert run_slurm(variables, tmp_path, outcome) == 0
    assert (tmp_path / "scontrol").read_text() == "requeue 7\n"
    (tmp_path / "scontrol").unlink()
    assert run_slurm(variables, tmp_path, outcome, SLURM_RESTART_COUNT="20") == 1
    assert not (tmp_path / "scontrol").exists()


def test_the_script_of_slurm_is_one():
    subprocess.run(["bash", "-n", DOCS / "slurm.sh"], check=True)
    text = (DOCS / "slurm.sh").read_text(encoding="utf-8")
    asked = dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?$", text, re.MULTILINE))
    assert asked["ntasks-per-node"] == "1" and asked["signal"] == "TERM@120" and "requeue" in asked
    directives = text.rindex("#SBATCH")
    assert not re.search(r"^[^#\n]", text[:directives], re.MULTILINE)  # Slurm reads none after the first command


def test_the_commands_of_the_page():
    page = (DOCS / "several_workers.md").read_text(encoding="utf-8").replace("\\\n", "")
    (command,) = re.findall(r"^python (-m zoo .*)$", page, re.MULTILINE)
    assert options(command.split())["strategy"] == "multi_worker"
    (config,) = re.findall(r"export TF_CONFIG='(.*)'", page)
    assert read_cluster({"TF_CONFIG": config}) == Cluster(("10.0.0.1:2222", "10.0.0.2:2222"), 0)
    assert all((DOCS / link).is_file() for link in re.findall(r"\]\(([\w.]+)\)", page))
    (command,) = re.findall(r"^python docs/training/ray_train.py (.*)$", page, re.MULTILINE)
    said = subprocess.run([sys.executable, DOCS / "ray_train.py", "--help"], capture_output=True, text=True, check=True)
    assert set(re.findall(r"--\w+", command)) <= set(re.findall(r"--\w+", said.stdout))
