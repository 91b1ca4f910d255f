"""`generate`: texts that go on from prompts, printed as they come."""

from __future__ import annotations

import sys
from typing import Any

import zoo


def generate(model: str, prompts: list[str], load: dict[str, Any], knobs: dict[str, Any], num_beams: int) -> None:
    """Print each prompt and its continuation; without beams, piece by piece."""
    if not prompts and not sys.stdin.isatty():
        prompts = [line.rstrip("\r\n") for line in sys.stdin]
    if not prompts:
        raise ValueError('received no prompt: give texts, "" to start from nothing, or lines on stdin.')
    task = zoo.load(model, "causal_lm", **load)
    for prompt in prompts:
        by_beams = num_beams > 1
        pieces = task.generate([prompt], num_beams=num_beams, **knobs) if by_beams else task.stream(prompt, **knobs)
        print(prompt, end="", flush=True)  # not before: an option may be refused
        for piece in pieces:
            print(piece, end="", flush=True)
        print(flush=True)
