"""The curve of a run's losses, as a page with a picture."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT, MARGIN = 720, 360, 56
LINES = (("loss", "training", "#4c78a8"), ("held_out_loss", "held-out", "#e45756"))


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
