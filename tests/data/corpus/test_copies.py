"""Copies of held-out text in the training text are found in every kind of text, and in no text without them."""

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

from keras_transformers.data.corpus.copies import HeldOutCopies
from keras_transformers.data.corpus.corpus import make_corpus, open_corpus
from keras_transformers.data.corpus.held_out_split import SidedText, Split
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer

DATA = Path(os.environ.get("ZOO_DATA", Path(__file__).parents[4] / "shared/data"))
IDEOGRAPHS = [chr(0x4E00 + number) for number in range(800)]
WORDS = ["sun", "moon", "sea", "night", "love", "rose", "stone", "tears", "wind", "song", "hills", "snow"]
BYTES = Tokenizer.train([], model="bytes")


def drawn(kind: str, count: int) -> list[str]:
    """Lines of a kind, most of them different."""
    draw = random.Random(5)

    def pick(letters, number):
        return "".join(draw.choices(letters, k=number))

    make = {
        "chinese verse": lambda: f"{pick(IDEOGRAPHS, 7)}，{pick(IDEOGRAPHS, 7)}。",
        "haiku": lambda: pick(IDEOGRAPHS, 5),
        "smiles": lambda: pick("CNOc1=()F", draw.randint(12, 32)),
        "verse": lambda: " ".join(draw.choices(WORDS, k=6)),
        "names": lambda: pick("abcdefghij", draw.randint(5, 9)).title(),
        "log": lambda: f"12:{draw.randint(0, 59):02} job {draw.randint(0, 9999)} done",
        "long": lambda: " ".join(pick("abcdefghij", 7) for _ in range(12)),
    }[kind]
    return list(dict.fromkeys(make() for _ in range(count)))


KINDS = ["chinese verse", "haiku", "smiles", "verse", "names", "log", "long"]


def copies(kind: str, times: int = 6) -> list[str]:
    lines = drawn(kind, 600) * times
    random.Random(1).shuffle(lines)
    return lines


@pytest.fixture
def made(tmp_path):
    def made(*texts: str, name: str = "a.txt", **options):
        for number, text in enumerate(texts):
            (tmp_path / f"{number}{name}").write_text(text, encoding="utf-8", newline="")
        return make_corpus(TextFiles(tmp_path / f"*{name}"), BYTES, tmp_path / "corpus", **options)

    return made


def jsonl(texts: list[str]) -> str:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts)


@pytest.mark.integration(quick=["haiku-crlf", "log-held out apart", "names-cr", "names-crlf"])
@pytest.mark.parametrize("form", ["lines", "crlf", "cr", "documents", "held out apart"])
@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_any_length_that_are_copies(made, tmp_path, kind, form):
    lines, end = copies(kind), {"crlf": "\r\n", "cr": "\r"}.get(form, "\n")
    if form == "documents":
        corpus = made(jsonl(lines), name="a.jsonl", end_id=BYTES.eos_id)
    elif form == "held out apart":
        (tmp_path / "held.md").write_text("\n".join(lines[:200]), encoding="utf-8")
        corpus = made("\n".join(lines[200:]), held_out_files=TextFiles(tmp_path / "held.md"))
    else:
        corpus = made(end.join(lines))
    facts = corpus.facts
    assert facts.shared_lines > 0.99 and facts.copied_characters > 0.99 and facts.is_leaking
    assert facts.repeated_lines == pytest.approx(5 / 6, abs=0.02)
    assert facts.uncopied_characters < 0.01 and corpus.measured is corpus.held_out


@pytest.mark.parametrize("kind", KINDS)
def test_lines_that_are_no_copies(made, kind):
    facts = made("\n".join(drawn(kind, 3000))).facts
    assert facts.shared_lines == facts.copied_characters == facts.repeated_lines == 0 and not facts.is_leaking
    assert facts.uncopied_characters == 1


def prose(seed: int, words: int) -> str:
    draw = random.Random(seed)
    vocabulary = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(3000)]
    return " ".join(draw.choices(vocabulary, k=words))


def wrapped(text: str, width: int) -> str:
    words = text.split(" ")
    return "\n".join(" ".join(words[first : first + width]) for first in range(0, len(words), width))


def changed(text: str, every: int) -> str:
    """A text in which every so many words one is another."""
    return " ".join(f"new{at}" if at % every == 0 else word for at, word in enumerate(text.split(" ")))


@pytest.mark.parametrize(
    ("variant", "least"),
    [
        (lambda text: [f"{text} {text}"], 0.95),  # one line
        (lambda text: [text, text], 0.95),  # two files
        (lambda text: [wrapped(text, 9), wrapped(text, 13).replace("\n", "\r\n")], 0.95),
        (lambda text: [wrapped(text, 9), wrapped(text.upper(), 5)], 0.95),
        (lambda text: [wrapped(text, 9), wrapped(changed(text, 15), 9)], 0.8),  # near copies
        (lambda text: [f"{text} {prose(2, 30_000)}"], 0.0),
    ],
)
def test_running_text(made, variant, least):
    facts = made(*variant(prose(1, 30_000))).facts
    assert least <= facts.copied_characters and facts.is_leaking == (least > 0)
    assert facts.copied_characters + facts.uncopied_characters <= 1


def test_ideographs_need_shorter_runs(made):
    draw = random.Random(3)
    sentences = ["".join(draw.choices(IDEOGRAPHS, k=22)) for _ in range(600)]
    near = [f"新{sentence[:-1]}旧" for sentence in sentences]
    assert made("".join(sentences), "".join(near)).facts.copied_characters > 0.8


def test_the_shares_of_a_corpus_of_which_a_part_is_copies(made, tmp_path):
    """And what is left is just those lines of the held-out text that training has not; of a few, a letter beside a copy
    is taken for a part of it.
    """
    lines = drawn("smiles", 2000)
    lines = lines[:700] * 2 + lines[700:]
    random.Random(2).shuffle(lines)
    corpus = made("\n".join(lines), end_id=BYTES.eos_id, held_out_share=0.2)
    train, held_out, left = (
        [line for line in BYTES.decode(side.tokens.tolist()).splitlines() if line.strip()]
        for side in (corpus.train, corpus.held_out, corpus.measured)
    )
    expected = [line for line in held_out if line not in set(train)]
    assert 0.1 < len(expected) / len(held_out) < 0.9
    assert len(set(left) ^ set(expected)) < 0.05 * len(expected)
    assert corpus.facts.shared_lines == pytest.approx(1 - len(expected) / len(held_out), abs=0.01)
    letters = [sum(len(line.replace(" ", "")) for line in side) for side in (expected, held_out)]
    assert corpus.facts.uncopied_characters == pytest.approx(letters[0] / letters[1], abs=0.01)
    assert corpus.facts.copied_characters == pytest.approx(1 - letters[0] / letters[1], abs=0.01)
    again = open_corpus(tmp_path / "corpus")
    assert again.measured.digest == corpus.measured.digest != corpus.held_out.digest


def test_documents_that_are_left_end_with_their_token(made):
    texts = drawn("smiles", 2000)
    corpus = made(jsonl(texts[:507] * 3 + texts[507:]), name="a.jsonl", end_id=BYTES.eos_id)
    measured = corpus.measured.tokens.tolist()
    documents = BYTES.decode(measured, skip_special_tokens=False).split("<|endoftext|>")
    assert documents.pop() == "" and set(documents) <= set(texts[507:]) and len(documents) > 50


def test_another_corpus_in_the_folder_leaves_nothing_of_the_first_one(made, tmp_path):
    lines = drawn("verse", 2000)
    assert made("\n".join(lines[:700] * 2 + lines[700:]), held_out_share=0.2).measured.folder.name == "uncopied"
    corpus = made("\n".join(lines))
    assert corpus.measured is corpus.held_out and not (tmp_path / "corpus/uncopied").exists()


@pytest.mark.parametrize("text", ["ab", "a\n\nb\n", " " * 500 + "a b c", "\r\n" * 99 + "the", "\U0010ffff" * 900])
def test_tiny_and_odd_texts(made, text):
    facts = made(text * 9).facts
    assert 0 <= facts.copied_characters <= 1 and 0 <= facts.uncopied_characters <= 1


def test_a_large_held_out_text_is_sampled(monkeypatch):
    monkeypatch.setattr("keras_transformers.data.corpus.copies.MOST_COMPARED", 10_000)
    lines = drawn("long", 2000)
    pieces = [SidedText(f"{line}\n", True, False) for line in lines]
    pieces += [SidedText(f"{line}\n", False, False) for line in lines[::2]]
    found = HeldOutCopies()
    for piece in pieces:
        found.note(piece)
    found.add(pieces)
    assert sum(len(piece.text) for _, piece in found._kept) <= 10_000
    assert found.shares().shared_lines > 0.3


def test_blocks_are_compared_as_one_text(monkeypatch):
    monkeypatch.setattr("keras_transformers.data.corpus.copies.BLOCK", 2000)
    lines = drawn("smiles", 600)
    pieces = [SidedText(f"{line}\n", at % 5 == 0, at % 7 == 0) for at, line in enumerate(lines[:300] * 2 + lines[300:])]
    found = HeldOutCopies()
    for piece in pieces:
        found.note(piece)
    for first in range(0, len(pieces), 50):
        found.add(pieces[first : first + 50])
    train = {piece.text for piece in pieces if not piece.is_held_out}
    held_out = [piece.text for piece in pieces if piece.is_held_out]
    left = [line for text, _ in found.uncopied() for line in text.splitlines() if line]
    assert left == [text.strip() for text in held_out if text not in train]
    assert np.isclose(found.shares().shared_lines, 1 - len(left) / len(held_out))


@pytest.mark.data
@pytest.mark.integration
@pytest.mark.parametrize("name", ["tinyshakespeare/input.txt", "wikitext2/test.txt", "multi30k/train.en"])
def test_honest_texts_are_not_reported(name):
    files = TextFiles(DATA / name)
    text = "".join(section.text for section in files.sections(1 << 20))
    pieces = list(Split.of(len(text), 1, 0.05, 0).pieces(files))
    found = HeldOutCopies()
    for piece in pieces:
        found.note(piece)
    found.add(pieces)
    assert found.shares().copied_characters < 0.04
