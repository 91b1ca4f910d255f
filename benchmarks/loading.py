"""From a folder to a model with its weights, beyond the imports: ours beside transformers and keras-hub.

    python benchmarks/loading.py [--models bert_base_en_uncased minilm_mini_en] [--turns 5] [--ref main] [--peers ...]

A BERT of the zoo without bundled weights is saved with random ones first. Each load is a process of its own, in turns,
after all files were read once. Seconds are those of the processor, so that other work on the machine counts little, and
begin when the library is imported; `wall` is the clock's. MB are the memory that the load added and that no file backs.
`before` is the package at a commit of git, `--ref`. transformers (on torch) leaves weights in the mapped file until
they are used: `transformers read` reads each once, as the others do. Needs for the peers `pip install transformers
torch keras-hub`.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def ours(folder: str) -> Callable[[], object]:
    import tensorflow  # noqa: F401 - not the load's

    from zoo import load

    return lambda: load(folder)


def transformers(folder: str) -> Callable[[], object]:
    from transformers import AutoModel, AutoTokenizer, BertModel, BertTokenizerFast  # noqa: F401 - imported late

    return lambda: (AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder))


def transformers_read(folder: str) -> Callable[[], object]:
    load = transformers(folder)

    def loaded() -> object:
        _, model = load()
        return model, [parameter.detach().clone() for parameter in model.parameters()]

    return loaded


def keras_hub(folder: str) -> Callable[[], object]:
    import keras_hub

    return lambda: keras_hub.models.Backbone.from_preset(folder)


PEERS = {
    "ours": ours, "before": ours, "transformers": transformers, "transformers read": transformers_read,
    "keras-hub": keras_hub,
}  # fmt: skip
MODULES = {"transformers": "transformers", "transformers read": "transformers", "keras-hub": "keras_hub"}


def own_memory() -> float:
    """Return the MB of this process that no file backs (Linux)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) / 1024


def loaded(peer: str, folder: str) -> dict[str, float]:
    """Load once, in this process; return seconds of processor and clock, and MB."""
    load = PEERS[peer](folder)
    memory, spent, begin = own_memory(), time.process_time(), time.perf_counter()
    kept = load()
    figures = {"processor": time.process_time() - spent, "wall": time.perf_counter() - begin}
    figures["MB"] = own_memory() - memory
    del kept  # the model was in memory until here
    return figures


def in_process(peer: str, folder: str, tree: Path) -> dict[str, float]:
    """Return the figures of `loaded` in a process that imports our packages from a folder."""
    paths = os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, __file__, "--load", peer, folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tree)
    if done.returncode:
        raise RuntimeError(f"{peer} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def folder_of(model: str, place: Path) -> str:
    """Return the folder of a model: itself, that of bundled weights, or a new one with random weights."""
    if os.path.isdir(model):
        return str(Path(model).resolve())
    if (bundled := ROOT / "zoo" / "bundled" / model).is_dir():
        return str(bundled)

    import zoo
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_folder(zoo.describe("minilm_mini_en").folder)  # it has BERT's 30,522 tokens
    Task("classification", zoo.describe(model).config, tokenizer, labels=2).save(place / model)
    return str(place / model)


def in_turns(folder: str, trees: dict[str, Path], turns: int) -> dict[str, list[dict[str, float]]]:
    """Return the figures of all turns by peer; another library that cannot load the folder is left out, with a line."""
    figures: dict[str, list[dict[str, float]]] = {peer: [] for peer in trees}
    for turn in range(turns + 1):
        for peer in [*figures]:
            try:
                run = in_process(peer, folder, trees[peer])
            except RuntimeError as error:
                if peer not in MODULES:
                    raise
                print(f"{peer} cannot load {folder}: {str(error).splitlines()[-1]}", flush=True)
                del figures[peer]
                continue
            figures[peer] += [run] if turn else []  # the first one reads files and compiles modules
    return figures


def report(model: str, figures: dict[str, list[dict[str, float]]]) -> None:
    """Print medians, and how many times the first one's processor seconds each takes."""
    first = None
    for peer, runs in figures.items():
        median = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        first = first or median["processor"]
        print(
            f"{model:24}{peer:20}{median['processor']:7.2f} s{median['wall']:7.2f} s wall{median['MB']:7.0f} MB"
            f"{median['processor'] / first:7.2f} of {next(iter(figures))}",
            flush=True,
        )


def main() -> None:
    if sys.argv[1:2] == ["--load"]:
        print(json.dumps(loaded(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["bert_base_en_uncased", "minilm_mini_en"])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--ref")
    parser.add_argument("--peers", nargs="+", choices=[*PEERS], default=[*PEERS])
    arguments = parser.parse_args()
    peers = [peer for peer in arguments.peers if peer != "before" or arguments.ref]
    peers = [peer for peer in peers if peer not in MODULES or importlib.util.find_spec(MODULES[peer])]
    with tempfile.TemporaryDirectory() as temporary:
        trees = dict.fromkeys(peers, ROOT)
        if "before" in peers:
            archive = subprocess.run(["git", "archive", arguments.ref], cwd=ROOT, capture_output=True, check=True)
            trees["before"] = Path(temporary, "before")
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
                files.extractall(trees["before"], filter="data")
        for model in arguments.models:
            folder = folder_of(model, Path(temporary))
            report(model, in_turns(folder, trees, arguments.turns))


if __name__ == "__main__":
    main()
