"""Exports under load: an existing model server on 127.0.0.1, asked over HTTP by many clients at once.

    uv venv -p 3.11 VENV && uv pip install -p VENV/bin/python mlserver==1.7.1 "tensorflow==2.21.*"
    python benchmarks/serving_load.py VENV/bin/python [--seconds 10] [--requests 20000] [--exports DIR]

Each cell lasts `--seconds`. Clients are threads of this process, on the machine of the server: they take their share of
it. A request has one text, of 1 to 64 words (8 at most to translate); generated texts have 20 new tokens. Then
`--requests` short texts to the first model: memory that grows with requests would show.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import model_server

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# The name in the zoo, the task, options to load it and to export it, and the most words of a text.
MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], int]] = {
    "classifier": ("minilm_mini_en", "classification", {"labels": ["negative", "positive"], "seed": 0}, {}, 64),
    "embedder": ("minilm_mini_en", "sentence_embedding", {}, {}, 64),
    "generator": ("gpt_mini_en", "causal_lm", {}, {"max_new_tokens": 20}, 64),
    "translator": ("transformer_mini_en_de", "seq2seq_lm", {}, {}, 8),
}
CLIENTS = (1, 8, 32)
SENTENCE = "I paid for the parcel twice and would like to have the money back before the end of next week please"
MARKS = (0.1, 0.5, 1.0)  # of the requests, where memory is read


class Cell(NamedTuple):
    """What many clients saw: requests in so many seconds, how long each waited in ms, and how many failed."""

    seconds: float
    waits: list[float]
    errors: int

    def line(self) -> str:
        waits = sorted(self.waits)
        p99 = waits[min(len(waits) - 1, int(0.99 * len(waits)))]
        return f"{len(waits) / self.seconds:9.1f}{statistics.median(waits):9.1f}{p99:9.1f}{self.errors:8d}"


def texts(most: int, seed: int) -> Iterator[str]:
    """Texts of 1 to `most` words, without end."""
    draw, words = random.Random(seed), SENTENCE.split()
    while True:
        yield " ".join(draw.choices(words, k=draw.randint(1, most)))


def client(server: model_server.Server, model: str, most: int, seed: int, goes_on: Callable[[], bool]) -> Cell:
    """One client, which sends a text once the one before is answered."""
    waits, errors, begin = [], 0, time.perf_counter()
    with closing(server.connect()) as connection:
        for text in texts(most, seed):
            if not goes_on():
                break
            start = time.perf_counter()
            status, answer = model_server.post(connection, model, model_server.text_request([text]))
            waits.append(1000 * (time.perf_counter() - start))
            errors += status != 200 or any(
                output["name"] == "error" and any(output["data"]) for output in answer["outputs"]
            )
    return Cell(time.perf_counter() - begin, waits, errors)


def load(server: model_server.Server, model: str, most: int, clients: int, goes_on: Callable[[], bool]) -> Cell:
    """Many clients at once."""
    with ThreadPoolExecutor(clients) as pool:
        cells = list(pool.map(lambda seed: client(server, model, most, seed, goes_on), range(clients)))
    waits = [wait for cell in cells for wait in cell.waits]
    return Cell(max(cell.seconds for cell in cells), waits, sum(cell.errors for cell in cells))


def for_seconds(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def for_requests(count: int) -> Callable[[], bool]:
    """True so often, whichever thread asks."""
    left = iter(range(count))
    return lambda: next(left, None) is not None


def memory(server: model_server.Server, model: str, requests: int) -> None:
    """Print the memory of the server after parts of so many short texts from 8 clients."""
    sent, errors, begin = 0, 0, time.perf_counter()
    print(f"\nresident memory of the server, short texts to the {model}, 8 clients\n{0:>9,}{server.resident():9.0f} MB")
    for mark in MARKS:
        cell = load(server, model, 4, 8, for_requests(round(mark * requests) - sent))
        sent, errors = sent + len(cell.waits), errors + cell.errors
        took = time.perf_counter() - begin
        print(f"{sent:9,}{server.resident():9.0f} MB{errors:6} errors, after {took:.0f} s", flush=True)


def export(folder: Path, names: list[str]) -> dict[str, Path]:
    """The folders of exports of models of the zoo, by their names here; those that are there already are left."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    for name in names:
        if (folder / name / "1").exists():
            continue
        import zoo

        model, task, to_load, to_export, _ = MODELS[name]
        zoo.load(model, task, **to_load).export(folder / name / "1", **to_export)
    return {name: folder / name / "1" for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help=f"of an environment that has {', '.join(model_server.PACKAGES)}")
    parser.add_argument("--seconds", type=float, default=10, help="of each cell")
    parser.add_argument("--requests", type=int, default=20_000, help="over which memory is watched; 0 for none")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--exports", type=Path, help="a folder to keep the exports in, for the next time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = export(arguments.exports or Path(folder), arguments.only)
        where = Path(tempfile.mkdtemp(dir=folder))
        with model_server.serve(arguments.python, where, made) as server:
            report(server, arguments.only, arguments.seconds)
            if arguments.requests:
                memory(server, arguments.only[0], arguments.requests)


def report(server: model_server.Server, names: list[str], seconds: float) -> None:
    """Print the table."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}"
    print(f"{machine}; {', '.join(model_server.PACKAGES)}; {seconds:g} s a cell")
    print(f"{'model':12}{'clients':>8}{'texts/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'errors':>8}")
    for name in names:
        most = MODELS[name][-1]
        load(server, name, most, 1, for_requests(20))  # the first answers of a SavedModel take seconds
        for clients in CLIENTS:
            cell = load(server, name, most, clients, for_seconds(seconds))
            print(f"{name:12}{clients:8}{cell.line()}", flush=True)


if __name__ == "__main__":
    main()
