"""Records as JSON for the page, bounded in size for any text and any model."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from keras_transformers.analysis.attention.head_roles import head_roles
from keras_transformers.analysis.attention.pooled_maps import group_bounds, pooled
from keras_transformers.analysis.attention.rollout import rollout
from keras_transformers.analysis.explorer.lens import Lens
from keras_transformers.analysis.explorer.page_answers import Answer
from keras_transformers.analysis.explorer.run import Map, Run
from keras_transformers.analysis.explorer.words import About, token_facts
from keras_transformers.analysis.signals.signal_paths import KINDS, signal_path

NUMBERS = 600_000  # of queries and keys in a page: 3 MB
WINDOW = 12, 48  # least and most tokens of the window whose numbers are all in the page
GROUPS = 24  # rows and columns of a map of the whole text
PATH = 12  # tokens in the drawing of paths


def pack_run(run: Run, first_token: int = 0) -> dict[str, Any]:
    """Return a run as JSON values.

    Args:
        run: The run of one text.
        first_token: The first token of the window whose numbers are all in the page, if the text is longer than it.

    Raises:
        ValueError: The text has no such token.
    """
    sides = [run.tokens, *(side for one in run.maps for side in (one.rows, one.columns))]
    longest = max(len(side.names) for side in sides)
    if not 0 <= first_token < longest:
        raise ValueError(f"the text has tokens 0 to {longest - 1}: received {first_token} for the first one to show.")
    size = _window_size(run.maps)
    return {
        "text": run.text,
        "notes": list(run.notes),
        "off": [str(head) for head in run.request.without],
        "about": [*run.about.facts, *token_facts([name for side in sides for name in side.names])],
        "maps": [
            {**_pack_map(one, first_token, size), "title": run.about.titles[one.kind], "causal": _is_causal(run, one)}
            for one in run.maps
        ],
        "lens": None if run.lens is None else pack_lens(run.lens, run.about),
        "answer": pack_answer(run.answer),
        "switched": {str(head): pack_answer(answer) for head, answer in run.switched},
    }


def pack_lens(lens: Lens, model: About) -> dict[str, Any]:
    """Return a lens as JSON values: for each place, lists of `LensRow`'s numbers in the order of the steps."""
    return {
        "sum": lens.is_sum,
        "order": lens.norm_order,
        "steps": [[row.layer, model.parts.get(row.part, row.part)] for row in lens.places[0].rows]
        if lens.places
        else [],
        "places": [
            {
                "name": place.name,
                "place": place.place,
                "answer": place.answer,
                "classes": place.classes,
                "rest": None if place.rest is None else _rounded([place.rest])[0],
                "best": [row.best for row in place.rows],
                **{
                    name: _rounded([getattr(row, name) for row in place.rows])
                    for name in ("logit", "probability", "rank", "best_probability", "added", "share")
                },
            }
            for place in lens.places
        ],
    }


def pack_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer as JSON values: a bar is a list of label, value, logit and number."""
    places = [
        {
            "name": place.name,
            "token": place.token,
            "came": place.came,
            "norms": _rounded(place.norms),
            "bars": [[bar.label, *_rounded((bar.value, bar.logit)), bar.number] for bar in place.bars],
        }
        for place in answer.places
    ]
    return {"unit": answer.unit, "text": answer.text, "places": places}


def matches(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """Return for each token of a changed text the number of the same or the replaced old token; -1 for a new one.

    Example:

    >>> matches(["a", "fine", "film"], ["a", "dull", "old", "film"]), matches(["a", "fine"], ["a", "dull"])
    ([0, -1, -1, 2], [0, 1])
    """
    found = [-1] * len(after)
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal" or end - start == new_end - new_start:
            found[new_start:new_end] = range(start, end)
    return found


def pack_paths(tokens: Sequence[str], model: About) -> list[dict[str, Any]]:
    """Return the paths from the first to the last token through layers of three kinds; a long text is cut inside."""
    tokens = list(tokens) if len(tokens) <= PATH else [*tokens[: PATH - 2], "…", tokens[-1]]
    if len(tokens) < 2:
        return []
    paths = [signal_path(kind, len(tokens), model.kernel, model.is_causal) for kind in KINDS]
    shared = {"tokens": tokens, "causal": model.is_causal, "kernel": model.kernel}
    return [{**path._asdict(), "steps": path.steps, "own": path.kind == model.way, **shared} for path in paths]


def _is_causal(run: Run, one: Map) -> bool:
    return one.kind == "self" and run.about.is_causal


def _pack_map(one: Map, first_token: int, size: int) -> dict[str, Any]:
    recorded, lengths = one.recorded, (len(one.rows.names), len(one.columns.names))
    starts = [max(0, min(first_token, length - size)) for length in lengths]
    rows, columns = (slice(start, start + size) for start in starts)
    scores, is_square = recorded.scores(), one.kind != "cross"
    most = scores.max(-1, keepdims=True)
    norms = np.log(np.exp(scores - most).sum(-1)) + most[..., 0]  # (L, N, T)
    layers, heads, _, width = recorded.query.shape
    bias, small = recorded.bias, pooled(recorded.weights, GROUPS)
    return {
        "kind": one.kind,
        "layers": layers,
        "heads": heads,
        "width": width,
        "scale": recorded.scale,
        "cap": recorded.soft_cap,
        "rows": one.rows._asdict(),
        "columns": one.columns._asdict(),
        "first": starts,
        "size": [min(size, length) for length in lengths],
        "weights": _numbers(recorded.weights[:, :, rows, columns]),
        "query": _numbers(recorded.query[:, :, rows]),
        "key": _numbers(recorded.key[:, :, columns]),
        "bias": None if bias is None else _numbers(bias[:, :, rows, columns]),
        "mask": _numbers(recorded.mask[:, rows, columns]),
        "norms": _numbers(norms[:, :, rows]),
        "groups": [group_bounds(length, GROUPS) for length in lengths],
        "small": _numbers(small),
        "roles": [[role._asdict() for role in layer] for layer in head_roles(recorded.weights, one.rows.special)]
        if is_square
        else None,
        "rollout": _numbers(rollout(recorded.weights)[:, rows, columns]) if is_square else None,
    }


def _window_size(maps: Sequence[Map]) -> int:
    """Return the length of the window whose numbers, of all heads, fit in the page."""
    per_token = sum(2 * one.recorded.query[:, :, 0].size for one in maps) or 1
    least, most = WINDOW
    return max(least, min(most, NUMBERS // per_token))


def _numbers(array: np.ndarray) -> str:
    """Return an array as base64 of little-endian float32: half as long as decimals, and exact."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.6g}") for value in values]
