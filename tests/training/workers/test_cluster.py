"""Clusters that schedulers describe."""

from __future__ import annotations

import json

import pytest

from keras_transformers.training.workers.cluster import read_cluster

ADDRESSES = ["10.0.0.1:2222", "[::1]:2222"]


def tf_config(task=None, **jobs) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": jobs, "task": task or {"type": "worker", "index": 1}})}


def slurm(**variables: str) -> dict[str, str]:
    usual = {
        "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_STEP_NODELIST": "gpu[1-2]",
        "SLURM_PROCID": "3", "SLURM_JOB_ID": "42", "SLURM_NODEID": "1",
    }  # fmt: skip
    return usual | variables


def test_nothing_that_names_a_cluster():
    assert read_cluster({}) is None
    assert read_cluster({"TF_CONFIG": ""}) is None
    assert read_cluster({"TF_CONFIG": "{}"}) is None
    assert read_cluster({"SLURM_JOB_ID": "1", "SLURM_NTASKS": "2", "SLURM_PROCID": "0"}) is None  # not under srun


def test_tf_config():
    assert read_cluster(tf_config(worker=ADDRESSES)) == (tuple(ADDRESSES), 1)
    chief = {"type": "chief", "index": 0}
    assert read_cluster(tf_config(chief, chief=["a:1"], worker=["b:1"])) == (("a:1", "b:1"), 0)
    assert read_cluster(tf_config({"type": "worker", "index": 0}, chief=["a:1"], worker=["b:1"])).index == 1
    assert read_cluster(tf_config(worker={"0": "a:1", "1": "b:1"})).workers == ("a:1", "b:1")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"TF_CONFIG": "{"}, "expected JSON such as"),
        ({"TF_CONFIG": "[1]"}, "expected JSON such as"),
        ({"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}}'}, "expected JSON such as"),
        ({"TF_CONFIG": "[" * 100_000}, "expected JSON such as"),
        (tf_config(worker=["a:1", "b:1"], ps=["c:1"]), r"jobs \['ps'\]; expected workers"),
        (tf_config(worker=["a:1", "a:1"]), "a different host:port for each"),
        (tf_config(worker=["a:1", "b"]), "a different host:port for each"),
        (tf_config(worker="a:1"), "a different host:port for each"),
        (tf_config({"type": "worker", "index": 2}, worker=ADDRESSES), "'worker' 2, with 2 of that type"),
        (tf_config({"type": "worker", "index": "1"}, worker=ADDRESSES), "'worker' '1', with 2 of that type"),
        (tf_config({"type": "evaluator", "index": 0}, worker=ADDRESSES), "'evaluator' 0, with 0 of that type"),
    ],
)
def test_what_is_wrong_in_tf_config(environment, message):
    with pytest.raises(ValueError, match=message):
        read_cluster(environment)


@pytest.mark.parametrize(
    ("variables", "workers"),
    [
        ({}, ["gpu1:15042", "gpu1:15043", "gpu2:15042", "gpu2:15043"]),
        ({"SLURM_STEP_NODELIST": "a,b", "SLURM_STEP_TASKS_PER_NODE": "1,3"},
         ["a:15042", "b:15042", "b:15043", "b:15044"]),
        ({"SLURM_STEP_NODELIST": "n[008-009,11]-x[1-1],m", "SLURM_STEP_TASKS_PER_NODE": "1(x4)", "SLURM_NODEID": "3"},
         ["n008-x1:15042", "n009-x1:15042", "n11-x1:15042", "m:15042"]),
    ],
)  # fmt: skip
def test_slurm(variables, workers):
    assert read_cluster(slurm(**variables)) == (tuple(workers), 3)


@pytest.mark.parametrize("job", ["0", "1", "14999", "15000", "99999999"])
def test_ports_are_below_those_of_outgoing_connections(job):
    ports = [int(address.split(":")[1]) for address in read_cluster(slurm(SLURM_JOB_ID=job)).workers]
    assert min(ports) >= 15_000 and max(ports) < 30_000


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"SLURM_PROCID": ""}, r"without \['SLURM_PROCID'\]"),
        ({"SLURM_PROCID": "4"}, "4 workers for 4 tasks"),
        ({"SLURM_STEP_NUM_TASKS": "5"}, "4 workers for 5 tasks"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2"}, "shorter"),
        ({"SLURM_STEP_TASKS_PER_NODE": "two"}, "invalid literal"),
        ({"SLURM_STEP_NODELIST": "gpu[1-x]"}, "invalid literal"),
        ({"SLURM_NODEID": "0"}, "--distribution=block"),
        ({"SLURM_NODEID": "9"}, "out of range"),
    ],
)
def test_what_is_wrong_in_slurms_variables(variables, message):
    with pytest.raises(ValueError, match=message):
        read_cluster(slurm(**variables))
