"""The output of a run after each round: figures, a curve, samples."""

from __future__ import annotations

import html
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_transformers.training.workers.distribute import is_chief
from keras_transformers.utils.keras_private import strategy_of
from keras_transformers.utils.safe_files import replace_file

METRICS, CURVE, SAMPLES = "metrics.jsonl", "curve.html", "samples.txt"
SAMPLED = 5  # rounds between two samples
WIDTH, HEIGHT, MARGIN = 720, 360, 56  # of the curve
LINES = (("loss", "training", "#4c78a8"), ("held_out_loss", "held-out", "#e45756"))
SCORED = {"bleu": "BLEU", "chrf": "chrF", "exact_match": "equal %"}  # in the logs of a model that writes, as val_bleu


class Units(NamedTuple):
    """The numbers from which the figures of a round are computed: the `tokens` of a step, and of held-out text the
    characters a token (None where losses are not of all tokens).
    """

    tokens: int
    characters: float | None


def one_line(sample: str) -> str:
    """Return a sample in one line, line ends as `\\n`.

    Example:

    >>> one_line("The cat\\nsat.")
    '  "The cat\\\\nsat."'
    """
    return f"  {json.dumps(sample, ensure_ascii=False)}"


class RoundLog(keras.callbacks.Callback):
    """A callback that prints a line a round, and writes metrics.jsonl, curve.html and samples.txt.

    A round is an epoch of `fit`. After an interruption the files continue at the round of the saved state. Put it
    behind the callback that keeps the best round.

    Args:
        folder: Folder of the files.
        units: Units of the figures.
        best: The callback that keeps the best round.
        write: Function that returns a sample; None for no samples.
        title: Title of the curve.
        show: Function from a sample to its printed form.

    Attributes:
        rows: Rows written so far: a dict per round.
    """

    def __init__(
        self, folder: Path, units: Units, best: Any, write: Callable[[], str] | None = None, title: str = "",
        show: Callable[[str], str] = one_line,
    ):  # fmt: skip
        super().__init__()
        self.show = show
        self.folder, self.units, self.best, self.write, self.title = folder, units, best, write, title
        self.rows: list[dict[str, Any]] = []
        self.resume: Any = None  # the callback that restores interrupted runs, if there is one
        self._has_header = False

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if not self.rows:
            self.rows = [row for row in read_rounds(self.folder) if row["round"] <= epoch]
        self._start, self._trained = time.perf_counter(), 0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._trained = batch + 1

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._measured = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if not is_chief(strategy_of(self.model)):
            return
        logs, steps = logs or {}, self._trained
        trained = steps - (self.resume.skipped if self.resume is not None else 0)
        before = self.rows[-1] if self.rows else {"minutes": 0.0, "step": 0}
        training = getattr(self, "_measured", time.perf_counter()) - self._start
        row = {"round": epoch + 1, "step": before["step"] + steps, "loss": _loss(logs, "")}
        row |= {"held_out_loss": _loss(logs, "val_"), "perplexity": math.exp(min(_loss(logs, "val_"), 700.0))}
        if self.units.characters:
            row["loss_by_character"] = row["held_out_loss"] / self.units.characters
        row |= {name: logs[f"val_{name}"] for name in SCORED if f"val_{name}" in logs}
        row["tokens_a_second"] = round(trained * self.units.tokens / training)
        row["minutes"] = before["minutes"] + (time.perf_counter() - self._start) / 60
        row["is_best"] = self.best.best_epoch == epoch
        self.rows.append(row)
        self._print(row)
        self._sample(epoch, row)
        self._write()

    def _print(self, row: dict[str, Any]) -> None:
        columns = {
            "round": f"{row['round']}/{self.params['epochs']}",
            "step": f"{row['step']:,}",
            "minutes": f"{row['minutes']:.1f}",
            "loss": f"{row['loss']:.4f}",
            "held-out": f"{row['held_out_loss']:.4f}",
            "perplexity": f"{row['perplexity']:.4g}",
            **({"by character": f"{row['loss_by_character']:.4f}"} if "loss_by_character" in row else {}),
            **{title: f"{row[name]:.2f}" for name, title in SCORED.items() if name in row},
            "tokens/s": f"{row['tokens_a_second']:,}",
        }
        widths = [max(len(name), 8) for name in columns]
        if not self._has_header:
            print("  ".join(f"{name:>{width}}" for name, width in zip(columns, widths, strict=True)))
            self._has_header = True
        cells = [f"{value:>{width}}" for value, width in zip(columns.values(), widths, strict=True)]
        if row["is_best"]:
            cells.append("best")
        print("  ".join(cells), flush=True)

    def _sample(self, epoch: int, row: dict[str, Any]) -> None:
        last = epoch + 1 == self.params["epochs"]
        if self.write is not None and (epoch == 0 or last or (epoch + 1) % SAMPLED == 0):
            row["sample"] = self.write()
            print(self.show(row["sample"]), flush=True)

    def _write(self) -> None:
        """Write the files whole, from the rows: so a round that is trained again is in none of them twice."""
        replace_file(self.folder / METRICS, "".join(f"{json.dumps(row)}\n" for row in self.rows))
        replace_file(self.folder / CURVE, curve_page(self.title, self.rows))
        if samples := [f"round {row['round']}:\n{row['sample']}\n\n" for row in self.rows if "sample" in row]:
            replace_file(self.folder / SAMPLES, "".join(samples))


def _loss(logs: dict[str, Any], prefix: str) -> float:
    """Return the loss of a token: from the perplexity, as Keras' loss is a mean of the batches' means."""
    perplexity = logs.get(f"{prefix}perplexity")
    if perplexity is None or not 0 < perplexity < math.inf:
        return float(logs.get(f"{prefix}loss", math.nan))
    return math.log(perplexity)


def read_rounds(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a metrics.jsonl; none if there is no such file."""
    path = folder / METRICS
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(folder: Path) -> dict[str, str]:
    """Return the texts that a run has written, by the path that they have in the folder of its model."""
    paths = {name: folder / name for name in (METRICS, CURVE, SAMPLES) if (folder / name).is_file()}
    return {f"training/{name}": path.read_text(encoding="utf-8") for name, path in paths.items()}


def curve_page(title: str, rounds: Sequence[dict[str, Any]]) -> str:
    """Return an HTML page with the losses of a run by minutes.

    Args:
        title: Title of the page.
        rounds: Lines of metrics.jsonl: `minutes`, `loss` and `held_out_loss`, in nats a token.

    Example:

    >>> "<svg" in curve_page("mine", [{"minutes": 1.0, "loss": 3.0, "held_out_loss": 3.1}])
    True
    """
    shown = [row for row in rounds if all(math.isfinite(row[name]) for name, *_ in LINES)]
    losses = [row[name] for row in shown for name, *_ in LINES] or [0.0]
    low, high = min(losses), max(losses)
    longest = max((row["minutes"] for row in shown), default=1.0)
    scale = _Scale(longest or 1.0, low, high if high > low else low + 1.0)
    lines = "".join(
        _line(shown, name, label, color, number, scale) for number, (name, label, color) in enumerate(LINES)
    )
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<h1 style='font:600 16px sans-serif'>{html.escape(title)}</h1>"
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' style='max-width:100%;font:12px sans-serif' "
        f"role='img' aria-label='Losses in nats a token by minutes'>{_axes(scale)}{lines}</svg></html>\n"
    )


class _Scale:
    """From minutes and losses to places in the picture."""

    def __init__(self, longest: float, low: float, high: float):
        self.longest, self.low, self.high = longest, low, high

    def x(self, minutes: float) -> float:
        return MARGIN + minutes / self.longest * (WIDTH - 2 * MARGIN)

    def y(self, loss: float) -> float:
        return MARGIN / 2 + (self.high - loss) / (self.high - self.low) * (HEIGHT - 1.5 * MARGIN)


def _axes(scale: _Scale) -> str:
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        loss, minutes = scale.low + share * (scale.high - scale.low), share * scale.longest
        y, x = scale.y(loss), scale.x(minutes)
        parts.append(f"<line x1='{MARGIN}' x2='{WIDTH - MARGIN}' y1='{y:.1f}' y2='{y:.1f}' stroke='#ddd'/>")
        parts.append(f"<text x='{MARGIN - 6}' y='{y + 4:.1f}' text-anchor='end'>{loss:.2f}</text>")
        parts.append(f"<text x='{x:.1f}' y='{HEIGHT - MARGIN / 2}' text-anchor='middle'>{minutes:.3g}</text>")
    parts.append(f"<text x='{WIDTH / 2}' y='{HEIGHT - 8}' text-anchor='middle'>minutes</text>")
    return "".join(parts)


def _line(rows: Sequence[dict[str, Any]], name: str, label: str, color: str, number: int, scale: _Scale) -> str:
    points = " ".join(f"{scale.x(row['minutes']):.1f},{scale.y(row[name]):.1f}" for row in rows)
    y = MARGIN / 2 + 16 * (number + 1)
    return (
        f"<polyline fill='none' stroke='{color}' stroke-width='2' points='{points}'/>"
        f"<text x='{WIDTH - MARGIN}' y='{y}' text-anchor='end' fill='{color}'>{label} loss</text>"
    )
