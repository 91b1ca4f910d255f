"""Tiny Shakespeare by one command, `python -m zoo train --text`, beside nanoGPT's setting for a CPU in plain torch.

    python benchmarks/shakespeare.py DATA/tinyshakespeare/input.txt [--seeds 1 2 3] [--steps 2000] [--threads 2]

nanoGPT (its recipe: `shakespeare_torch.py`) publishes a loss of 1.88 nats a character on 20 random batches of the last
tenth of the text. Here the loss is that of all of this tenth, in rows of 64 characters. The runs are:

- `torch`: nanoGPT's recipe;
- `gpt2`: our command with its sizes, batch, steps and rate;
- `llama`: our command with its sizes and batch, our own learning rate, and `--hours` that torch has just taken;
- `chosen`: `llama` that chooses all but its vocabulary of characters in this time: size, rows of 256 characters, rate.

Each run is a process of its own, all of a seed by turns, and its seconds are those of the whole process: imports,
tokenizer, plan, compilation, samples and the last measurement too. Read those of the processor where a machine does
other work. The curves have what a run knew of held-out text at that time: random batches of it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import shakespeare_torch as recipe
from watched import Seen, watched

FINAL = "loss (nats a character)"
SIZES = (
    "--layers", recipe.LAYERS, "--heads", recipe.HEADS, "--hidden-dim", recipe.WIDTH, "--max-length", recipe.LENGTH,
    "--batch-size", recipe.ROWS,
)  # fmt: skip
ROUNDS = 8  # as many measurements as nanoGPT's
KEYS = tuple(map(attrgetter, ("processor", "wall", "milliseconds")))


class Point(NamedTuple):
    """A measurement during a run: seconds of the process until then, its step, and the loss by character."""

    wall: float
    processor: float
    step: int
    loss: float


class Run(NamedTuple):
    """A whole run."""

    loss: float
    wall: float
    processor: float
    curve: list[Point]

    @property
    def milliseconds(self) -> float:
        """Of the processor for a step, from the first measurement on to the last."""
        first, last = self.curve[0], self.curve[-1]
        return 1000 * (last.processor - first.processor) / max(last.step - first.step, 1)


def split(text: str, folder: Path) -> tuple[Path, Path]:
    """Write the first nine tenths of a text and the rest, as nanoGPT divides it."""
    border = int(0.9 * len(text))
    paths = folder / "train.txt", folder / "valid.txt"
    for path, part in zip(paths, (text[:border], text[border:]), strict=True):
        path.write_text(part, encoding="utf-8")
    return paths


def commands(paths: tuple[Path, Path], steps: int, seed: int, out: Path, hours: float) -> dict[str, list[Any]]:
    """What each competitor runs, by name; `out` is the folder of the model, and `hours` the time of those with one."""
    train, valid = paths
    peer = [recipe.__file__, train, valid, out.with_name(f"{out.name}.run") / "metrics.jsonl"]
    zoo = ["-m", "zoo", "train", "--text", train, "--validation", valid, "--tokenizer", "character", "--out", out]
    zoo += ["--seed", seed, "--rounds", ROUNDS, "--patience", ROUNDS]
    same = ["--model", "gpt2", *SIZES, "--steps", steps, "--learning-rate", recipe.PEAK, "--dropout", 0.0]
    timed = ["--model", "llama", "--hours", hours]
    return {
        "torch": [*peer, "--steps", steps, "--seed", seed],
        "gpt2": [*zoo, *same],
        "llama": [*zoo, *timed, *SIZES],
        "chosen": [*zoo, *timed],
    }


def measured(command: list[Any], out: Path, threads: int) -> Run:
    """Run a competitor."""
    log = out.with_name(f"{out.name}.run") / "metrics.jsonl"
    log.parent.mkdir(parents=True)
    curve: list[Point] = []
    lines, total = watched(command, partial(follow, log, curve), threads)
    follow(log, curve, total)
    final = next(json.loads(line)[FINAL] for line in reversed(lines) if line.startswith("{"))
    return Run(final, total.wall, total.processor, curve)


def follow(log: Path, curve: list[Point], now: Seen) -> None:
    """Add the new rows of a log to a curve, at the seconds that a process has taken."""
    if not log.is_file():
        return
    for line in log.read_text(encoding="utf-8").splitlines(keepends=True)[len(curve) :]:
        if line.endswith("\n"):  # else it is being written
            row = json.loads(line)
            curve.append(Point(now.wall, now.processor, row["step"], row["loss_by_character"]))


def compare(paths: tuple[Path, Path], seeds: list[int], steps: int, threads: int, folder: Path) -> dict[str, list[Run]]:
    """All runs, those of a seed by turns."""
    found: dict[str, list[Run]] = {name: [] for name in commands(paths, 1, 0, folder, 1.0)}
    for seed in seeds:
        for name, runs in found.items():
            hours = found["torch"][-1].wall / 3600 if runs is not found["torch"] else 1.0
            out = folder / f"{name}-{seed}"
            runs.append(measured(commands(paths, steps, seed, out, hours)[name], out, threads))
            print(f"{name}, seed {seed}: {told(runs[-1])}; load {os.getloadavg()[0]:.1f}", flush=True)
    return found


def told(run: Run) -> str:
    """A run in a line: its curve by minutes of the processor, and its end."""
    points = " ".join(f"{point.processor / 60:.2f}:{point.loss:.3f}" for point in run.curve)
    minutes = f"{run.processor / 60:.2f} minutes of the processor, {run.wall / 60:.2f} on the clock"
    return f"{run.loss:.4f} after {run.curve[-1].step:,} steps, {minutes}; curve {points}"


def table(found: dict[str, list[Run]]) -> Iterator[str]:
    """Lines of Markdown: means over the seeds, and times beside torch's."""
    yield "| run | steps | loss by character | minutes of processor | ratio | minutes | processor ms a step | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    base = found["torch"]
    for name, runs in found.items():
        losses = [run.loss for run in runs]
        spread = f" ± {statistics.stdev(losses):.4f}" if len(losses) > 1 else ""
        steps = statistics.mean(run.curve[-1].step for run in runs)
        cells = [name, f"{steps:.0f}", f"{statistics.mean(losses):.4f}{spread}"]
        (spent, wall, step), (usual, _, usual_step) = ([mean(group, key) for key in KEYS] for group in (runs, base))
        cells += [f"{spent / 60:.2f}", f"{spent / usual:.2f}", f"{wall / 60:.2f}"]
        cells += [f"{step:.1f}", f"{step / usual_step:.2f}" if usual_step else "-"]
        yield f"| {' | '.join(cells)} |"


def mean(runs: list[Run], key: Callable[[Run], float]) -> float:
    return statistics.mean(key(run) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=recipe.STEPS)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("torch", "tensorflow", "keras"))
    print(f"Python {platform.python_version()}, {', '.join(versions)}; {options.threads} threads", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        paths = split(options.text.read_text(encoding="utf-8"), Path(folder))
        found = compare(paths, options.seeds, options.steps, options.threads, Path(folder))
    print(*table(found), sep="\n", flush=True)


if __name__ == "__main__":
    main()
