"""Gigabytes of text to token ids by `make_corpus`: its speed, and its memory over time.

    python benchmarks/corpus.py DATA/gutenberg_novels/train.txt [--gigabytes 2] [--models byte_pair bytes] [--folder F]

The text is the given file again and again, in each copy with some of its words replaced by others of it, so that lines
differ; it is written into a temporary folder and takes that much of the disk, its tokens up to twice as much more. Each
model's corpus is made in a process of its own, whose memory is read from outside; then the same call is repeated, and
finds it made. `own` memory leaves out pages of mapped files, which the system takes back when it needs them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from watched import Seen, watched

VOCABULARY = {"byte_pair": 4_096, "bytes": None}
SAMPLE = 20_000_000  # characters of the file that byte pairs are learned from
REPLACED = 0.1  # share of the words
POINTS = 10  # of a curve of memory that is printed


def varied(text: str, seed: int) -> str:
    """A text with some of its words replaced by others of it, the same ones for a seed.

    The parts of `re.split` by words are separators at even places and words at odd ones.
    """
    parts, chosen = re.split(r"(\w+)", text), random.Random(seed)
    words = len(parts) // 2
    for _ in range(int(REPLACED * words)):
        place, other = (2 * chosen.randrange(words) + 1 for _ in range(2))
        parts[place] = parts[other]
    return "".join(parts)


def write_text(source: Path, size: int, path: Path) -> int:
    """Write whole varied copies of a file until there are at least so many bytes; return how many there are."""
    text, written, seed = source.read_text(encoding="utf-8"), 0, 0
    with path.open("wb") as file:
        while written < size:
            written += file.write(varied(text, seed).encode("utf-8"))
            seed += 1
    return written


def make(source: Path, path: Path, model: str, folder: Path) -> None:
    """Make the corpus, or open it; print what it took as a line of JSON. In a process of its own."""
    from keras_transformers.data.corpus.corpus import make_corpus
    from keras_transformers.text.files.text_files import TextFiles
    from keras_transformers.text.tokenizer import Tokenizer

    begin = time.perf_counter()
    with source.open(encoding="utf-8") as file:
        tokenizer = Tokenizer.train([file.read(SAMPLE)], VOCABULARY[model], model=model)
    learned, spent = time.perf_counter(), time.process_time()
    corpus = make_corpus(TextFiles(path), tokenizer, folder, end_id=tokenizer.eos_id)
    facts = {"learn": learned - begin, "make": time.perf_counter() - learned, "spent": time.process_time() - spent}
    facts |= {"tokens": corpus.facts.train_tokens + corpus.facts.held_out_tokens, "lines": corpus.facts.lines}
    print(json.dumps(facts | {"repeated": corpus.facts.repeated_lines}), flush=True)


def measure(source: Path, path: Path, model: str, folder: Path, threads: int) -> Iterator[str]:
    """The lines to print for a model: its first call, its memory, and its second call."""
    command = [__file__, source, "--make", model, path, folder]
    curve: list[Seen] = []
    first, again = facts_of(command, curve, threads), facts_of(command, [], threads)
    megabytes, seconds, spent = path.stat().st_size / 1e6, first["make"], first["spent"]
    yield (
        f"{model}: {seconds:.1f} s: {megabytes / seconds:.2f} MB a second, {megabytes / spent:.2f} a second of the "
        f"processor; {first['tokens']:,} tokens, {first['tokens'] / seconds:,.0f} a second; {first['lines']:,} lines, "
        f"{first['repeated']:.0%} repeat"
    )
    yield f"{model}: memory at most {peak(curve, 'resident'):.0f} MB, own {peak(curve, 'own'):.0f} MB"
    yield f"{model}: own memory over time: {shape(curve)}"
    yield f"{model}: learned in {first['learn']:.1f} s; the second call takes {1000 * again['make']:.0f} ms"


def facts_of(command: list[Any], curve: list[Seen], threads: int) -> dict[str, float]:
    """What `make` prints; the curve gets what is seen meanwhile."""
    lines, _ = watched(command, curve.append, threads)
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))


def peak(curve: list[Seen], name: str) -> float:
    """The most MB of a curve."""
    return max((getattr(point, name) for point in curve), default=0.0)


def shape(curve: list[Seen]) -> str:
    """Some points of a curve, from its begin to its end, as `seconds:MB`."""
    chosen = sorted({round(i * (len(curve) - 1) / (POINTS - 1)) for i in range(POINTS)}) if curve else []
    return " ".join(f"{curve[i].wall:.0f}:{curve[i].own:.0f}" for i in chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--models", nargs="+", choices=VOCABULARY, default=[*VOCABULARY])
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        model, path, folder = options.make
        make(options.source, Path(path), model, Path(folder))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        path, begin = Path(place) / "text.txt", time.perf_counter()
        size = write_text(options.source, int(1e9 * options.gigabytes), path)
        taken = time.perf_counter() - begin
        print(f"{size / 1e6:,.1f} MB of text written in {taken:.0f} s; {options.threads} threads", flush=True)
        for model in options.models:
            for line in measure(options.source, path, model, Path(place) / model, options.threads):
                print(f"{line}; load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
