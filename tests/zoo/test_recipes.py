"""The recipes of models that were trained with this package, on a little text: the whole way, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import minilm
import pytest
from command_line import run

import zoo
from zoo.transformer_mini_en_de import with_pairs

STORY = "The old man went to the sea. He had a boat and a dog. The dog was not happy at all.\n"
SUBJECTS, VERBS = ("cat", "dog", "man", "king"), ("sat", "sang", "ran", "slept", "ate")


def books(folder: Path, lines: int) -> None:
    for part in ("train", "valid"):
        (folder / f"{part}.txt").write_text(f"= One =\n\n{STORY * lines}\n= Two =\n\n{STORY * lines}")


def pairs(folder: Path) -> None:
    rows = [
        f"The {who} {what} {n} times.\tDer {who} {what} {n} mal."
        for who in SUBJECTS
        for what in VERBS
        for n in range(9)
    ]
    (folder / "deu.txt").write_text("\n".join(rows))


def parallel(folder: Path) -> None:
    rows = [f"a {who} {what} by@@ e" for who in SUBJECTS for what in VERBS]
    for side in ("en", "de"):
        (folder / f"train.{side}").write_text("\n".join(rows))
        (folder / f"test.2016.{side}").write_text("\n".join(rows[:2]))  # hardly trained, it writes 255 tokens a text


def lessons(folder: Path) -> None:
    """The texts of each set, and the teacher."""
    (folder / "all-MiniLM-L6-v2").symlink_to(minilm.folder())
    for name in ("tatoeba_deu_eng", "gutenberg_novels", "banking77", "wnut17", "stsb"):
        (folder / name).mkdir()
    pairs(folder / "tatoeba_deu_eng")
    books(folder / "gutenberg_novels", 3)
    (folder / "banking77" / "train.csv").write_text('text,category\n"Where is my card, please?",card\n')
    (folder / "wnut17" / "wnut17train.conll").write_text("Ann\tB-person\nleft\tO\n\t\nHi\tO\n")
    scored = [f"a\tb\tc\td\t{n}\tA cat sat.\tA {who} sang." for n, who in enumerate(SUBJECTS)]
    (folder / "stsb" / "sts-test.csv").write_text("\n".join(scored))


RECIPES = {
    "minilm_mini_en": (lessons, {"spearman"}),
    "mini_bert_en": (lambda folder: books(folder, 150), {"masked_lm_logits_accuracy", "masked_lm_logits_perplexity"}),
    "gpt_mini_en": (lambda folder: books(folder, 400), {"accuracy", "perplexity"}),
    "transformer_mini_en_de": (pairs, {"bleu", "chrf", "exact_match"}),
    "transformer_tiny": (parallel, {"tokenized_bleu", "bleu", "last_tokenized_bleu", "last_bleu"}),
}


def test_the_translator_reads_two_sentences_in_one_text():
    english, german = with_pairs(["a.", "b.", "c.", "d.", "e."] * 2, ["A.", "B.", "C.", "D.", "E."] * 2, seed=1)
    assert len(english) == 12 and german == [text.upper() for text in english]
    assert [len(text) for text in english] == [2] * 10 + [5] * 2
    assert with_pairs(["a."] * 3, ["A."] * 3, seed=1) == (["a."] * 3, ["A."] * 3)


@pytest.mark.parity
def test_a_student_reads_each_text_once():
    import tempfile

    from zoo.minilm_mini_en import read_texts

    with tempfile.TemporaryDirectory() as folder:
        lessons(Path(folder))
        texts = read_texts(Path(folder))
    assert len(set(texts)) == len(texts)
    assert {"The cat sat 0 times.", "The old man went to the sea.", "Where is my card, please?", "Ann left", "Hi"} <= {
        *texts
    }


def test_every_recipe_is_here():
    modules = {name: __import__(f"zoo.{name}", fromlist=["train"]) for name in zoo.names()}
    assert {name for name, module in modules.items() if hasattr(module, "train")} == set(RECIPES)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_it_runs_and_what_it_writes_is_loaded(name, tmp_path):
    write, results = RECIPES[name]
    write(tmp_path)
    out = tmp_path / "out"
    printed = run("train", name, "--data", tmp_path, "--out", out, "--epochs", 1)
    assert results <= json.loads(printed.splitlines()[-1]).keys()
    assert [path.name for path in tmp_path.glob("out*")] == ["out"]
    task = zoo.load(out)
    assert task.name == zoo.describe(name).task and task.config == zoo.describe(name).config
