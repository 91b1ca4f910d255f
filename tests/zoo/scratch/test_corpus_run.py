"""What a run on text finds in odd folders and files."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch import text_rounds, text_run
from zoo.scratch.new_vocabulary import learn_vocabulary, sample
from zoo.scratch.pairs import pair_rounds
from zoo.scratch.run_plan import Candidate
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.text_run import TextRun
from zoo.scratch.text_tasks import NEXT_TOKEN


def test_a_run_does_not_learn_from_what_it_has_written(tmp_path):
    """The folder of the text may hold the one to write: the same command finds the same text when it is repeated."""
    (tmp_path / "a.txt").write_text("The fox ran.\n" * 400, encoding="utf-8")
    settings = RunSettings("gpt2", (str(tmp_path),), tmp_path / "mine", validation=(f"{tmp_path}/**/*.md",))
    (tmp_path / "held.md").write_text("A dog ran.\n", encoding="utf-8")
    before = TextRun(settings)
    for folder in ("mine", "mine.run"):
        (tmp_path / folder).mkdir()
        for name in ("README.md", "vocab.txt"):
            (tmp_path / folder / name).write_text("written", encoding="utf-8")
    (tmp_path / "mine.run" / "tokens.bin").write_bytes(b"\0")
    after = TextRun(settings)
    assert after.files.files == before.files.files == (tmp_path / "a.txt", tmp_path / "held.md")
    assert after.validation.files == before.validation.files == (tmp_path / "held.md",)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["The cat sat on the mat, and slept."], "The cat sat on the m"),
        (["\n" * 20_000, " \r\n", "\r\n The cat\r\nsat."], "The cat"),
        ([" \n"], "\n"),
        ([], "\n"),
    ],
)
def test_samples_begin_with_the_first_words(texts, expected):
    assert text_rounds.first_words(texts) == expected


@pytest.mark.parametrize("commands", [text_rounds.next_commands, pair_rounds.next_commands])
def test_the_next_commands_can_be_pasted(commands):
    settings, wanted = SimpleNamespace(out=Path("my runs/it's")), SimpleNamespace(learns=NEXT_TOKEN)
    run = SimpleNamespace(settings=settings, wanted=wanted, finetune_options=lambda: "")
    for line in commands(run):
        words = shlex.split(line)
        assert words[1] == "my runs/it's" and not any(word in ("runs/it's", "runs/its") for word in words)
    assert "my runs/it's-tuned" in shlex.split(commands(run)[-2])


@pytest.mark.parametrize("perplexity", [float("nan"), float("inf")])
def test_a_run_that_has_diverged_is_not_written(perplexity):
    plan = SimpleNamespace(learning_rate=0.5, dtype="mixed_float16")
    text_rounds.check_converged(3.0, plan, Path("mine.run"))
    message = "diverged: .* below 0.5, or --dtype float32, and another --out; or remove mine.run"
    with pytest.raises(ValueError, match=message):
        text_rounds.check_converged(perplexity, plan, Path("mine.run"))


@pytest.mark.parametrize(("tokens", "rows"), [(31, 0), (32, 1)])
def test_a_text_shorter_than_a_row(tmp_path, tokens, rows):
    path = tmp_path / "a.txt"
    path.write_text("The fox ran." * 3, encoding="utf-8")
    run = TextRun(RunSettings("gpt2", (str(path),), tmp_path / "mine", batch_size=1, max_length=32))
    run.corpus = SimpleNamespace(train=SimpleNamespace(num_tokens=tokens), held_out=SimpleNamespace(num_tokens=2))
    if rows:
        assert run.rows() == (rows, 1)
    else:
        with pytest.raises(ValueError, match="31 tokens to train on, 0 rows of 32: expected at least a batch of 1"):
            run.rows()


@pytest.mark.parametrize(("given", "rows", "steps"), [({"epochs": 2}, 16, 20), ({"hours": 0.01}, 4, 130)])
def test_a_plan_of_text(tmp_path, monkeypatch, given, rows, steps):
    """160 rows; a machine whose steps take half a second with 16 rows, a quarter with 4."""
    path = tmp_path / "a.txt"
    path.write_text("The fox ran." * 500, encoding="utf-8")
    run = TextRun(RunSettings("gpt2", (str(path),), tmp_path / "mine", size="tiny", max_length=32, rounds=1, **given))
    run.corpus, run.tokenizer = SimpleNamespace(train=SimpleNamespace(num_tokens=160 * 32)), None
    monkeypatch.setattr(run, "task", lambda *given: None)

    def measured(task, size, rows=16):
        return Candidate(size, 1_000, 0.5 if rows == 16 else 0.25, batch_size=rows)

    monkeypatch.setattr(run, "measured", measured)
    plan = run.new_plan(160, 8)
    assert (plan.batch_size, plan.steps) == (rows, steps)


@pytest.mark.parametrize(("model", "role"), [("gpt2", "eos_id"), ("bert", "sep_id"), ("t5", "eos_id")])
def test_a_tokenizer_without_special_tokens_is_refused_before_the_text_is_read(tmp_path, model, role):
    Tokenizer.train(["The fox ran."], model="character", special_tokens=["<unk>"]).save(tmp_path / "letters")
    (tmp_path / "a.txt").write_text("The fox ran." * 400, encoding="utf-8")
    settings = RunSettings(model, (str(tmp_path / "a.txt"),), tmp_path / "mine", tokenizer=str(tmp_path / "letters"))
    with pytest.raises(ValueError, match=rf"letters lacks a special token \({role}\) .* of 12 tokens"):
        TextRun(settings)


def test_a_tokenizer_without_sentinels_is_refused_before_the_text_is_read(tmp_path):
    special = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    Tokenizer.train([], model="bytes", special_tokens=special).save(tmp_path / "bytes")
    (tmp_path / "a.txt").write_text("The fox ran." * 4000, encoding="utf-8")
    settings = RunSettings("t5", (str(tmp_path / "a.txt"),), tmp_path / "mine", tokenizer=str(tmp_path / "bytes"))
    with pytest.raises(ValueError, match=r"bytes has 1 of T5's sentinels .*: expected 14, for rows of 256 tokens"):
        TextRun(settings)
    with pytest.raises(ValueError, match=r"expected 2, for rows of 32 tokens"):
        TextRun(replace(settings, max_length=32))
    with pytest.raises(ValueError, match=r"a learned vocabulary has 100 of T5's sentinels .*: expected 114, for rows"):
        TextRun(replace(settings, max_length=2048, batch_size=1, tokenizer="bytes"))
    TextRun(replace(settings, max_length=16))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl.gz"])
def test_a_vocabulary_is_learned_from_every_place_of_a_compressed_text(tmp_path, monkeypatch, name):
    """Its size is that of the text, and so is the part of it that is read."""
    paragraphs = [f"Paragraph {number} is here.\n\n" + "x" * 3000 + "\n\n" for number in range(100)]
    content = "".join(paragraphs)
    if ".jsonl" in name:
        content = "\n".join(json.dumps({"text": paragraph}) for paragraph in paragraphs)
    (tmp_path / name).write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    asked = []

    def learn(texts, kind, size, *others):
        taken = "".join(texts)
        asked.append((size, len(taken), [int(number) for number in re.findall(r"Paragraph (\d+)", taken)]))
        return learn_vocabulary([taken], kind, size, *others)

    monkeypatch.setattr(text_run, "learn_vocabulary", learn)
    monkeypatch.setattr(text_run, "sample", partial(sample, most=100_000))
    run = TextRun(RunSettings("gpt2", (str(tmp_path / name),), tmp_path / "mine", batch_size=1))
    assert run.tokenizer.vocabulary_size <= 3100
    size, taken, places = asked[0]
    assert 3000 < size < 3100 and 90_000 < taken < 120_000 and min(places) < 20 and max(places) >= 80
