"""Hypothesis strategies: valid files with faults in them, of their structure and of their bytes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NUMBERS = (
    0, 1, -1, 2, 3, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 10**12, 10**30, -(10**12), 0.5, -0.5, 1.0, 1e-300,
    1e308, -0.0, float("nan"), float("inf"), float("-inf"), True, False,
)  # fmt: skip
STRINGS = (
    "", "\0", "..", "../../etc/passwd", "/etc/passwd", "a\\..\\b", "\ud800", "\ufeff", "nan", "1", "true", "a" * 5000,
    "a b", "{0.__class__}", "%s%n", "[PAD]", "</s>", "▁", "Ġ", "(a+)+$", "e\u0301\u0302", "\U0010ffff",
)  # fmt: skip
CONTAINERS: tuple[Any, ...] = ([], {}, [None], [[]], {"": None}, [0] * 300, ["a", 1, None], {"type": "Sequence"})
VALUES = (None, *NUMBERS, *STRINGS, *CONTAINERS)
DEEP = "deep nesting goes here"
BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\n",
    b"\r\n",
    b" ",
    b'"',
    b"{",
    b"[",
    b"nan",
    b"-",
    b"9" * 5000,
    b"\xed\xa0\x80",
)


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """The paths of all values inside a JSON value, its own among them; of long lists and dicts, the first ones."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [place for key, member in list(members)[:40] for place in places(member, (*path, key))]
    return [path, *inner]


def changed(value: Any, path: tuple, change: Any) -> Any:
    """A copy of a JSON value in which `change` was called on the container and key of a path."""
    holder = {"": json.loads(json.dumps(value))}
    place, key = holder, ""
    for step in path:
        place, key = place[key], step
    change(place, key)
    return holder.get("")


@st.composite
def mutated(draw: Any, value: Any, faults: int = 3) -> Any:
    """A JSON value with up to so many faults; a string `DEEP` in it stands for deep nesting."""
    for _ in range(draw(st.integers(1, faults))):
        paths = places(value)
        path = draw(st.sampled_from(paths))
        kind = draw(st.sampled_from(["replace", "replace", "replace", "delete", "move", "rename", "deep", "grow"]))
        new = draw(st.sampled_from(VALUES)) if kind in ("replace", "rename", "grow") else None
        if kind == "move":
            new = changed(value, draw(st.sampled_from(paths)), lambda place, key: None)
        value = changed(value, path, lambda place, key, kind=kind, new=new: _apply(place, key, kind, new))
    return value


def _apply(place: Any, key: Any, kind: str, new: Any) -> None:
    if kind == "delete" and key != "":
        del place[key]
    elif kind == "rename" and isinstance(place, dict) and key != "":
        place[str(new)] = place.pop(key)
    elif kind == "grow" and isinstance(place[key], (list, dict)):
        _grow(place[key], new)
    else:
        place[key] = DEEP if kind == "deep" else new


def _grow(container: Any, new: Any) -> None:
    if isinstance(container, list):
        container.append(new)
    else:
        container["new"] = new


@st.composite
def json_files(draw: Any, value: Any) -> bytes:
    """The bytes of a JSON file with faults: of the values, of the text, or of both."""
    value = draw(mutated(value)) if draw(st.integers(0, 9)) else value
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    depth = draw(st.sampled_from([100, 900, 5000, 100_000])) if DEEP in text else 0
    opening, closing = draw(st.sampled_from([("[", "]"), ('{"a":', "}")])) if depth else ("", "")
    text = text.replace(json.dumps(DEEP), opening * depth + "0" + closing * depth)
    if text.startswith("{") and not draw(st.integers(0, 9)):
        text = f'{{"model_type": "bert", "type": "BPE", {text[1:]}'  # keys that are there twice
    content = text.encode("utf-8", "surrogatepass")
    return draw(damaged(content)) if not draw(st.integers(0, 3)) else content


@st.composite
def damaged(draw: Any, content: bytes, faults: int = 3) -> bytes:
    """Bytes with up to so many faults."""
    for _ in range(draw(st.integers(1, faults))):
        kind = draw(st.sampled_from(["cut", "set", "insert", "delete", "repeat", "encode", "bom", "empty", "swap"]))
        at, length = draw(st.integers(0, max(len(content) - 1, 0))), draw(st.integers(0, 40))
        if kind == "cut":
            content = content[:at]
        elif kind == "set":
            content = content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]
        elif kind == "insert":
            content = content[:at] + draw(st.sampled_from(BYTES)) + content[at:]
        elif kind == "delete":
            content = content[:at] + content[at + length :]
        elif kind == "repeat":
            content = content[:at] + content[at : at + length] * draw(st.integers(2, 50)) + content[at:]
        elif kind == "swap":
            number = draw(st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**40, 10**15, 2**64 - 1]))
            content = content[:at] + number.to_bytes(8, "little") + content[at + 8 :]
        elif kind == "encode":
            content = content.decode("utf-8", "replace").encode("utf-16")
        else:
            content = b"" if kind == "empty" and not draw(st.integers(0, 4)) else b"\xef\xbb\xbf" + content
    return content
