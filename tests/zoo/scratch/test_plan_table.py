"""What the table of a plan says of the text that is held out."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from keras_transformers.data.corpus.corpus import Corpus, make_corpus
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.corpus_run import CorpusRun
from zoo.scratch.new_vocabulary import learn_vocabulary
from zoo.scratch.plan_table import _copies, _share, lost_lines, rewritten, warnings_of


@pytest.mark.parametrize(
    ("asked", "characters", "held_out", "expected"),
    [
        (0.05, 1_115_394, 59_000, "5.3% of the text, spread over the corpus"),
        (0.05, 8_000, 1_024, "12.8% of the text, spread over the corpus; 5.0% was asked for"),
        (0.05, 2_000_000_000, 5_000_000, "0.2% of the text, spread over the corpus; 5.0% was asked for"),
    ],
)
def test_another_share_than_was_asked_for_is_told(asked, characters, held_out, expected):
    corpus = None, SimpleNamespace(num_characters=held_out), SimpleNamespace(characters=characters)
    assert _share(SimpleNamespace(settings=SimpleNamespace(held_out=asked), corpus=corpus)) == expected


BYTES = Tokenizer.train([], model="bytes")


def corpus_of(tmp_path, lines: list[str]) -> Corpus:
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    return make_corpus(TextFiles(tmp_path / "a.txt"), BYTES, tmp_path / "tokens", held_out_share=0.2)


def told(corpus: Corpus) -> tuple[str, list[str]]:
    """Return what a plan says of copies, and its warnings."""
    run = SimpleNamespace(corpus=corpus, tokenizer=BYTES, remedies={}, notes=list, max_length=8, sample=list)
    run.settings = SimpleNamespace(hours=None)
    plan = SimpleNamespace(steps=1, batch_size=1, parameters=1)
    return _copies(run), list(warnings_of(run, plan))


@pytest.mark.parametrize(
    ("copied", "kept", "says", "warns"),
    [
        (
            0,
            2000,
            "0.0% of the held-out characters are in the training text, too; 100.0% of the held-out text is left",
            "",
        ),
        (700, 1300, "are left without copies", "that are left without copies"),
        (
            600,
            0,
            "too little to measure on: losses are measured on all held-out text",
            "the held-out loss will be too good",
        ),
    ],
)
def test_copies_are_told(tmp_path, copied, kept, says, warns):
    draw = random.Random(3)
    lines = ["".join(draw.choices("CNOc1=()F", k=draw.randint(12, 32))) for _ in range(copied + kept)]
    lines = lines[:copied] * 6 + lines[copied:]
    draw.shuffle(lines)
    copies, warnings = told(corpus_of(tmp_path, lines))
    assert says in copies or "tokens, and choose the best round" in copies
    leaks = [text for text in warnings if "held-out characters are in the training text, too" in text]
    assert len(leaks) == bool(copied) and all(warns in text for text in leaks)


@pytest.mark.integration
def test_lost_lines_are_looked_for_in_the_whole_text(tmp_path):
    late = "plain line of words here\n" * 4000
    for number, text in enumerate((late, late, late + "        return x  # ½ ² ﬁ\n" * 900)):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    files = TextFiles(tmp_path)
    tokenizer = learn_vocabulary(iter(files), "unigram", 300, "t5")
    characters = sum(map(len, files))
    run = SimpleNamespace(files=files, corpus=SimpleNamespace(facts=SimpleNamespace(characters=characters)))
    assert lost_lines(tokenizer, CorpusRun.sample(run)) == ("        return x  # ½ ² ﬁ", "return x # 1⁄2 2 fi")
    assert lost_lines(tokenizer, ["", "plain line"]) is None


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("Café", "wordpiece", ", lower-cased, without accents"),
        ("हिन्दी में", "wordpiece", ", lower-cased"),
        ("Café", "unigram", ", lower-cased"),
    ],
)
def test_what_a_vocabulary_rewrites(text, model, expected):
    assert rewritten(Tokenizer.train([text] * 9, 90, model=model, lowercase=True)) == expected
