"""`benchmarks/corpus.py`: the text that it makes, and what it prints."""

from __future__ import annotations

import re

import pytest
from benchmark_modules import imported

corpus, watched = map(imported, ("corpus", "watched"))
VERSE = "But, soft! what light through yonder window breaks?\nIt is the east, and Juliet is the sun.\n"


def test_copies_differ_by_their_seed_and_keep_all_but_words():
    text = VERSE * 5
    first, second = corpus.varied(text, 1), corpus.varied(text, 2)
    assert first == corpus.varied(text, 1) and len({text, first, second}) == 3
    assert re.split(r"\w+", first) == re.split(r"\w+", text)
    assert set(re.findall(r"\w+", first)) <= set(re.findall(r"\w+", text))
    assert corpus.varied("", 1) == "" and corpus.varied("?!\n", 1) == "?!\n"


def test_text_of_a_size(tmp_path):
    source, path = tmp_path / "source.txt", tmp_path / "text.txt"
    source.write_text(VERSE + "Grüße, 東京\n", encoding="utf-8")
    assert 1000 <= corpus.write_text(source, 1000, path) == path.stat().st_size < 1200
    assert path.read_text(encoding="utf-8").count("東京") >= 6


def test_a_curve_is_printed_from_begin_to_end():
    curve = [watched.Seen(second, second, 0.0, 100.0 + second) for second in range(100)]
    assert corpus.shape(curve).split()[0] == "0:100" and corpus.shape(curve).split()[-1] == "99:199"
    assert len(corpus.shape(curve).split()) == corpus.POINTS
    assert corpus.shape(curve[:1]) == "0:100" and corpus.shape([]) == "" and corpus.peak([], "own") == 0


@pytest.mark.slow
@pytest.mark.parametrize("model", corpus.VOCABULARY)
def test_a_small_corpus(model, data_dir, tmp_path):
    path = tmp_path / "text.txt"
    source = data_dir / "tinyshakespeare" / "input.txt"
    corpus.write_text(source, 1_000_000, path)
    speed, memory, over_time, again = corpus.measure(source, path, model, tmp_path / "corpus", 1)
    tokens = int(re.search(r"([\d,]+) tokens", speed).group(1).replace(",", ""))
    ends = tokens - path.stat().st_size  # of a document, and of what is held out of it
    assert ends in (1, 2) if model == "bytes" else 200_000 < tokens < 600_000
    assert 50 < float(re.search(r"own (\d+) MB", memory).group(1)) < 1000
    assert ":" in over_time and float(re.search(r"takes (\d+) ms", again).group(1)) < 1000
