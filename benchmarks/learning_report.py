"""What the log of `learning.py` says: tables of means and standard deviations over seeds, and pictures.

Runs are compared after equally many updates, and after equally many seconds: at the last measurement of each that was
made until then. Nothing is interpolated.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# By experiment: the measure whose curve is drawn, what it is called, and what the others stand for.
HEADLINES = {
    "copy": ("32", "accuracy", "distance in tokens"),
    "recall": ("61", "accuracy", "distance in tokens, at most"),
    "translation": ("bleu", "BLEU", "words of the English sentence"),
    "shakespeare": ("bits", "bits a character", ""),
}
CLOCKS = {"cpu_seconds": "s of processor", "wall_seconds": "s on the clock"}
Row = dict[str, Any]


def read(log: Path) -> list[Row]:
    """The runs of a log; none where there is no file."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []


def by_model(rows: list[Row], experiment: str) -> dict[str, list[Row]]:
    """The runs of an experiment, a list for each model."""
    models: dict[str, list[Row]] = {}
    for row in rows:
        if row["experiment"] == experiment:
            models.setdefault(row["model"], []).append(row)
    return models


def limit(rows: list[Row], experiment: str, axis: str = "updates") -> float:
    """How far all runs of an experiment got, in updates or in seconds: the last point of the one that ended first."""
    return min(row[axis][-1] for row in rows if row["experiment"] == experiment)


def values_at(rows: list[Row], name: str, most: float, axis: str = "updates") -> list[float]:
    """What each run had measured by then; runs without a measurement by then are left out.

    >>> row = {"updates": [10, 20], "cpu_seconds": [1.0, 2.5], "measured": {"bleu": [3.0, 7.0]}}
    >>> values_at([row], "bleu", 20), values_at([row], "bleu", 2.4, "cpu_seconds")
    ([7.0], [3.0])
    """
    counts = [sum(place <= most for place in row[axis]) for row in rows]
    return [row["measured"][name][count - 1] for row, count in zip(rows, counts, strict=True) if count]


def spread(values: list[float]) -> str:
    """Mean and standard deviation; the latter of two runs or more."""
    if not values:
        return "-"
    mean = f"{statistics.mean(values):.3f}"
    return f"{mean} ± {statistics.stdev(values):.3f}" if len(values) > 1 else mean


def table(rows: list[Row]) -> str:
    """Markdown: each experiment after equal updates, after equal processor time, and after equal time on the clock."""
    parts = []
    for experiment in HEADLINES:
        if by_model(rows, experiment):
            for axis in ("updates", *CLOCKS):
                parts.append("\n".join(_lines(rows, experiment, axis)))
    return "\n\n".join(parts)


def _lines(rows: list[Row], experiment: str, axis: str) -> Iterator[str]:
    models, most = by_model(rows, experiment), limit(rows, experiment, axis)
    names = list(next(iter(models.values()))[0]["measured"])
    yield f"### {experiment}, {HEADLINES[experiment][1]}, after {most:.0f} {CLOCKS.get(axis, axis)}\n"
    yield f"| {' | '.join(['model', 'parameters', 'seeds', *CLOCKS.values(), *names])} |"
    yield "|" + "---|" * (3 + len(CLOCKS) + len(names))
    for model, runs in models.items():
        seconds = [f"{statistics.mean(run[clock][-1] for run in runs):.0f}" for clock in CLOCKS]
        cells = [spread(values_at(runs, name, most, axis)) for name in names]
        yield f"| {' | '.join([model, str(runs[0]['parameters']), str(len(runs)), *seconds, *cells])} |"


def draw(rows: list[Row], experiment: str) -> Any:
    """A figure of an experiment: its curve over updates and over seconds, and the last measurement by groups."""
    import matplotlib.pyplot as plt

    headline, label, groups = HEADLINES[experiment]
    figure, axes = plt.subplots(1, 3 if groups else 2, figsize=(13 if groups else 9, 3.5), layout="constrained")
    for number, (model, runs) in enumerate(by_model(rows, experiment).items()):
        colour = f"C{number}"
        for place, axis in enumerate(("updates", "cpu_seconds")):
            for index, run in enumerate(runs):
                line = axes[place].plot(run[axis], run["measured"][headline], color=colour, alpha=0.8)[0]
                line.set_label(model if index == 0 else "_")
        if groups:
            _draw_groups(axes[2], runs, limit(rows, experiment), colour)
    axes[0].set(xlabel="updates", ylabel=_curve_label(experiment))
    axes[1].set(xlabel="seconds of processor time in training")
    if groups:
        axes[2].set(xlabel=groups, ylabel=label)
    axes[0].legend()
    figure.suptitle(experiment)
    return figure


def _curve_label(experiment: str) -> str:
    headline, label, _ = HEADLINES[experiment]
    return f"{label} at the largest distance" if headline.isdigit() else label


def _draw_groups(axis: Any, runs: list[Row], most: float, colour: str) -> None:
    """Means over the runs, with bars of one standard deviation."""
    headline = HEADLINES[runs[0]["experiment"]][0]
    names = [name for name in runs[0]["measured"] if name.isdigit() or name.startswith(f"{headline} ")]
    values = [values_at(runs, name, most) for name in names]
    bars = [statistics.stdev(found) if len(found) > 1 else 0.0 for found in values]
    ticks = [name.removeprefix(f"{headline} ") for name in names]
    axis.errorbar(ticks, [statistics.mean(found) for found in values], bars, color=colour, marker="o", capsize=3)


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draws each experiment into a folder: `copy.png` and so on."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for experiment in HEADLINES:
        if by_model(rows, experiment):
            paths.append(folder / f"{experiment}.png")
            figure = draw(rows, experiment)
            figure.savefig(paths[-1], dpi=100)
            plt.close(figure)
    return paths
