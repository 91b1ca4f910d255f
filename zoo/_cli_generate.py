"""`generate`: texts that go on from prompts, printed as they come; or translations of lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import zoo
from zoo._cli_data import given

ROWS = 128  # lines at a time, from which batches of like length are made


def generate(model: str, texts: list[str], file: Path | None, load: dict[str, Any], knobs: dict[str, Any]) -> None:
    """Continue each prompt, or write a line for each line."""
    texts = given(texts, file)
    task = zoo.load(model, **load)
    if not hasattr(task, "generate"):
        raise ValueError(f"{model} is made for {task.name}, which writes no text: generate needs a language model.")
    (translate if task.name == "seq2seq_lm" else go_on)(task, texts, knobs)


def translate(task: Any, lines: list[str], knobs: dict[str, Any]) -> None:
    """One line for each; blank ones stay blank, and what else cannot be translated, or is cut, is told on stderr."""
    failed = 0
    for start in range(0, len(lines), ROWS):
        chunk = lines[start : start + ROWS]
        for number, (line, answer) in enumerate(zip(chunk, task.predict(chunk, **knobs), strict=True), start + 1):
            print(" ".join(answer["generated_text"].split("\n")), flush=True)
            if answer["error"] and line.strip():
                failed += 1
                print(f"line {number}: {answer['error']}", file=sys.stderr)
            elif answer["truncated"]:
                print(f"line {number}: cut to {task.max_length} tokens.", file=sys.stderr)
    if failed:
        raise ValueError(f"{failed} of {len(lines)} lines could not be answered.")


def go_on(task: Any, prompts: list[str], knobs: dict[str, Any]) -> None:
    """Each prompt and its continuation; without beams, piece by piece."""
    for prompt in prompts:
        by_beams = knobs.get("num_beams", task.generation.get("num_beams", 1)) > 1
        own = knobs if by_beams else {name: value for name, value in knobs.items() if name != "num_beams"}
        pieces = task.generate([prompt], **own) if by_beams else task.stream(prompt, **own)
        print(prompt, end="", flush=True)  # not before: an option may be refused
        for piece in pieces:
            print(piece, end="", flush=True)
        print(flush=True)
