"""A trained model goes on with own text: better on held-out text, never worse, resumed after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from messages import saved_t5, text_file
from processes import ROOT
from tiny import classifier

import zoo
from keras_transformers.checkpoints.files.card import is_unedited
from zoo.scratch.further_run import FurtherRun
from zoo.scratch.run_plan import Candidate
from zoo.scratch.run_settings import FurtherSettings

pytestmark = pytest.mark.usefixtures("quick_speed")

QUICK = {"steps": 6, "rounds": 2, "batch_size": 4, "max_length": 32, "dtype": "float32"}


def weights(task):
    return {variable.path: keras.ops.convert_to_numpy(variable) for variable in task.model.weights}


def equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def rounds(out):
    return [json.loads(line) for line in (out / "training" / "metrics.jsonl").read_text().splitlines()]


def further(start, tmp_path, **options):
    return zoo.train_further(start, text_file(tmp_path), tmp_path / "mine", **QUICK | options)


def test_rows_are_no_longer_than_the_model_takes(tmp_path):
    settings = FurtherSettings(start="mini_bert_en", text=("a.txt",), out=tmp_path / "mine", max_length=129)
    with pytest.raises(ValueError, match="mini_bert_en takes 128 tokens at most: received --max-length 129"):
        FurtherRun(settings)


def test_a_token_that_is_there_is_refused_before_the_text_is_read(tmp_path):
    settings = FurtherSettings(start="mini_bert_en", text=("none.txt",), out=tmp_path / "mine", add_tokens=("the",))
    with pytest.raises(ValueError, match="'the' is a token of the vocabulary already"):
        FurtherRun(settings)


def test_unknown_options(tmp_path):
    with pytest.raises(ValueError, match=r"zoo.train_further has no options \['step'\]; it has .*add_tokens"):
        zoo.train_further("gpt_mini_en", tmp_path, tmp_path / "mine", step=3)


def test_a_path_is_a_folder_even_if_the_zoo_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"there is no folder './gpt_mini_en'"):
        zoo.train_further(Path("gpt_mini_en"), text_file(tmp_path), tmp_path / "mine")


@pytest.mark.parametrize(
    ("tokens", "message"), [("metformin", "received one str"), (["a", "a"], "more than once"), ([3], "str")]
)
def test_new_tokens_are_a_list(tmp_path, tokens, message):
    """A single str is not taken for its letters."""
    with pytest.raises(ValueError, match=message):
        zoo.train_further("gpt_mini_en", tmp_path, tmp_path / "mine", add_tokens=tokens)


@pytest.mark.integration
def test_a_decoder_goes_on(tmp_path, capsys):
    task = further("gpt_mini_en", tmp_path, steps=12, add_tokens=["metformin"])
    printed = capsys.readouterr().out
    source = zoo.describe("gpt_mini_en").config
    read = zoo.load(tmp_path / "mine")
    assert (read.name, read.max_length, read.config.dropout) == ("causal_lm", 256, source.dropout)  # not the run's
    assert read.config.vocabulary_size == source.vocabulary_size + 1
    assert read.tokenizer.encode(["metformin"])[0].ids == [source.vocabulary_size]
    assert equal(weights(read), weights(task))

    card = (tmp_path / "mine" / "README.md").read_text()
    assert is_unedited(tmp_path / "mine" / "README.md")
    for line in (
        "| started from | gpt_mini_en |",
        "| licence of the start | Apache-2.0 |",
        "| new tokens | 1: metformin |",
    ):
        assert line in card
    before, after = (float(card.split(f"| {name} | ")[1].split(" |")[0])
                     for name in ("perplexity before any step", "perplexity"))  # fmt: skip
    assert after < 0.9 * before
    assert f"{before:.4g} before any step, {after:.4g} in the end |" in card
    assert f"{before:.4g} before any step" in " ".join(printed.split())
    assert len(rounds(tmp_path / "mine")) == 2
    plan = json.loads((tmp_path / "mine.run" / "plan.json").read_text())["plan"]
    assert plan["learning_rate"] == 0.5 * 2e-3  # half of a new model's peak

    options = QUICK | {"steps": 12, "add_tokens": ["metformin"]}
    zoo.train_further("gpt_mini_en", text_file(tmp_path), tmp_path / "mine", **options)
    assert "is the model of just this run, which has ended" in capsys.readouterr().out


@pytest.mark.integration
def test_three_passes_by_default(tmp_path, monkeypatch):
    monkeypatch.setattr(FurtherRun, "measured", lambda *_: Candidate((4, 4, 256), 4_000_000, 0.1, batch_size=32))
    options = {"batch_size": 32, "max_length": 32, "rounds": 1, "out": tmp_path / "mine"}
    run = FurtherRun(FurtherSettings(start="gpt_mini_en", text=(str(text_file(tmp_path)),), **options))
    assert run.plan().steps == round(3 * (run.corpus.train.num_tokens // 32) / 32)


@pytest.mark.integration
@pytest.mark.usefixtures("eager")
def test_an_encoder_of_sentences_becomes_a_masked_language_model(tmp_path, capsys):
    further("minilm_mini_en", tmp_path)
    printed = " ".join(capsys.readouterr().out.split())
    assert "warning: minilm_mini_en has no output layers of a masked language model: they start afresh" in printed
    assert "minilm_mini_en was made for sentence_embedding: fine-tune the result for that again" in printed
    assert "finetune" in printed and "--task sentence_embedding" in printed
    read = zoo.load(tmp_path / "mine")
    assert (read.name, read.max_length) == ("masked_lm", 256)
    old, new = (weights(zoo.load(name, "masked_lm", seed=1)) for name in ("minilm_mini_en", tmp_path / "mine"))
    kept = "encoder_block_0/attention/query/kernel"
    assert 0 < np.abs(new[kept] - old[kept]).max() < 0.1  # it goes on from the encoder
    assert not (tmp_path / "mine" / "modules.json").exists()


@pytest.mark.integration
@pytest.mark.usefixtures("eager")
def test_a_classifier_loses_its_labels_and_says_so(tmp_path, capsys):
    classifier().save(tmp_path / "classifier")
    (tmp_path / "classifier" / "README.md").write_text("---\nlicense: mit\n---\n")
    further(tmp_path / "classifier", tmp_path, max_length=None)
    printed = " ".join(capsys.readouterr().out.split())
    assert "its classifier layer of the labels bad, good are not in it" in printed and "start mit" in printed
    assert zoo.load(tmp_path / "mine").name == "masked_lm"


@pytest.mark.integration
def test_a_t5_learns_hidden_spans(tmp_path):
    further(str(saved_t5(tmp_path / "t5")), tmp_path, add_tokens=["metformin"], steps=30, learning_rate=2e-3)
    read = zoo.load(tmp_path / "mine")
    assert read.name == "seq2seq_lm" and len(read.generate(["Where is my <extra_id_0>?"], max_new_tokens=5)) == 1
    assert rounds(tmp_path / "mine")[-1]["perplexity"] < rounds(tmp_path / "mine")[0]["perplexity"]


@pytest.mark.integration
@pytest.mark.usefixtures("eager")
def test_a_start_that_no_round_betters_is_kept(tmp_path, capsys):
    task = further("gpt_mini_en", tmp_path, learning_rate=0.5)
    start = zoo.load("gpt_mini_en")
    assert equal(weights(task), weights(start)) and equal(weights(zoo.load(tmp_path / "mine")), weights(start))
    assert "no round is better than the start, whose perplexity is" in capsys.readouterr().out
    assert "in the end: no round was better than the start |" in (tmp_path / "mine" / "README.md").read_text()


RUN = """
import os, signal, sys
import zoo
from zoo.scratch import round_log, run_plan

run_plan.STATE_SECONDS = 1e-6  # a state after each step
begin, steps = round_log.RoundLog.on_train_batch_end, []
def end(self, batch, logs=None):
    steps.append(batch)
    if len(steps) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    begin(self, batch, logs)
round_log.RoundLog.on_train_batch_end = end
zoo.train_further("mini_bert_en", sys.argv[1], sys.argv[2], steps=8, rounds=2, batch_size=4, max_length=32,
                  dtype="float32", dropout=0.1, add_tokens=["metformin", "insulin pump"])
print("steps", len(steps))
"""


def in_a_process(*arguments):
    command = [sys.executable, "-c", RUN, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_a_killed_run_ends_with_equal_weights(tmp_path):
    text = text_file(tmp_path)
    whole = in_a_process(text, tmp_path / "whole", 0)
    assert whole.returncode == 0, whole.stderr[-3000:]
    killed = in_a_process(text, tmp_path / "killed", 6)
    assert killed.returncode == -signal.SIGKILL and not (tmp_path / "killed").exists()
    resumed = in_a_process(text, tmp_path / "killed", 0)
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    assert int(resumed.stdout.rpartition("steps ")[2]) < 8  # it did not begin again
    one, other = (Path(tmp_path, name, "model.safetensors").read_bytes() for name in ("whole", "killed"))
    assert one == other
    losses = [[row["held_out_loss"] for row in rounds(tmp_path / name)] for name in ("whole", "killed")]
    assert losses[0] == losses[1]


@pytest.mark.parity
@pytest.mark.parametrize(("name", "kind"), [("BertForSequenceClassification", "bert"), ("GPT2LMHeadModel", "gpt2")])
def test_a_folder_of_transformers_goes_on_and_is_read_there(tmp_path, name, kind):
    import torch
    import transformers

    shown = zoo.load("mini_bert_en" if kind == "bert" else "gpt_mini_en")
    folder, vocabulary = tmp_path / "theirs", shown.config.vocabulary_size
    sizes = (
        {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
        if kind == "bert"
        else {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64, "bos_token_id": 0, "eos_token_id": 0}
    )
    config = transformers.AutoConfig.for_model(kind, vocab_size=vocabulary, **sizes)
    getattr(transformers, name)(config).save_pretrained(folder)
    source = zoo.describe(shown_name(kind)).folder
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)

    further(folder, tmp_path, add_tokens=["metformin"], learning_rate=1e-3, steps=20)
    ours = zoo.load(tmp_path / "mine")
    read = (transformers.AutoModelForMaskedLM if kind == "bert" else transformers.AutoModelForCausalLM).from_pretrained
    theirs, info = read(tmp_path / "mine", output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "mine")
    ids = tokenizer("does metformin help", return_tensors="pt").input_ids
    assert ids[0].tolist() == ours.tokenizer.encode(["does metformin help"])[0].ids and vocabulary in ids[0].tolist()
    with torch.no_grad():
        logits = theirs.eval()(ids).logits[0].numpy()
    inputs = {"token_ids": ids.numpy(), "padding_mask": np.ones_like(ids.numpy())}
    if kind == "bert":
        positions = np.arange(ids.shape[1])[None]
        inputs |= {"segment_ids": np.zeros_like(ids.numpy()), "mask_positions": positions}
    mine = keras.ops.convert_to_numpy(ours.model(inputs)["logits"])[0]
    np.testing.assert_allclose(mine, logits, atol=1e-4)


def shown_name(kind):
    return {"bert": "mini_bert_en", "gpt2": "gpt_mini_en"}[kind]
