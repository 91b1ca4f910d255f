"""Scores of texts and continuations: beside a pass over the whole row, `transformers`, an export, and JAX."""

from __future__ import annotations

import json

import bare
import numpy as np
import pytest
from arrays import to_numpy
from generating import CORPUS, causal_lm
from processes import run_on_jax
from translating import make_sources, seq2seq_lm, text_of

from keras_transformers.families import gpt2
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers import likelihoods
from keras_transformers.tasks.answers.likelihoods import ScoredWriting
from keras_transformers.text.tokenizer import Tokenizer

PROMPTS = ["the cat", "the cat ", "", "one, two", "日本"]
CONTINUATIONS = [" sat on", "sat on", "the mat", ", three.", "語の文"]
NUMBERS = ("log_probability", "perplexity", "end_log_probability", "perplexity_with_end")


@pytest.fixture(scope="module")
def task():
    return causal_lm()


def log_probs(task: Task, ids: list[int]) -> np.ndarray:
    """(T, V) after each token, by the model itself."""
    row = {"token_ids": np.array([ids]), "padding_mask": np.ones((1, len(ids)), "int32")}
    logits = to_numpy(task.model(row)["logits"])[0].astype("float64")
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def by_hand(task: Task, before: list[int], scored: list[int]) -> dict[str, float]:
    logs, end_id = log_probs(task, [*before, *scored]), task.config.eos_ids[0]
    total = sum(logs[len(before) - 1 + place, token] for place, token in enumerate(scored))
    count, end = len(scored), logs[-1, end_id]
    perplexities = {"perplexity": np.exp(-total / count), "perplexity_with_end": np.exp(-(total + end) / (count + 1))}
    return {"log_probability": total, "end_log_probability": end, **perplexities}


def agree(row, expected, rtol=1e-4):
    for name in expected:
        np.testing.assert_allclose(row[name], expected[name], rtol=rtol, err_msg=name)


def ids_of(task: Task, text: str) -> list[int]:
    return task.tokenizer.encode([text], special_tokens=False)[0].ids


@pytest.mark.integration
def test_a_text_is_scored_from_its_second_token(task):
    for text, row in zip(CORPUS, task.score(CORPUS), strict=True):
        ids = ids_of(task, text)
        agree(row, by_hand(task, ids[:1], ids[1:]))
        assert row["num_tokens"] == len(ids) - 1 and row["error"] == "" and not row["truncated"]
        tokens, numbers = zip(*row["tokens"], strict=True)
        assert [task.tokenizer.token_to_id(token) for token in tokens] == ids[1:]
        np.testing.assert_allclose(sum(numbers), row["log_probability"], rtol=1e-5)


@pytest.mark.integration
def test_continuations_are_the_tokens_beyond_the_prompt(task):
    """White space at the end of a prompt belongs to its continuation; an empty prompt is the end token."""
    rows = task.score(PROMPTS, CONTINUATIONS)
    for prompt, continuation, row in zip(PROMPTS, CONTINUATIONS, rows, strict=True):
        given = len(ids_of(task, prompt.rstrip()))
        ids = ids_of(task, prompt + continuation)
        before = ids[:given] or [task.config.eos_ids[0]]
        agree(row, by_hand(task, before, ids[given:]))
        assert [task.tokenizer.token_to_id(token) for token, _ in row["tokens"]] == ids[given:]
    assert rows[0] == rows[1]


@pytest.mark.integration
def test_rows_that_cannot_be_scored(task):
    """They have an error, others do not change."""
    long = "the cat sat. " * 20
    texts, more = ["a", long, "a", "the cat", long], [" mat" * 60, " mat", " ", "\n", " sat"]
    rows = task.score(texts, more)
    assert ["exceeds the 48 tokens" in row["error"] for row in rows] == [True, False, False, False, False]
    assert [row["truncated"] for row in rows] == [True, True, False, False, True]
    ids = ids_of(task, long + " mat")
    given = len(ids_of(task, long.rstrip()))
    agree(rows[1], by_hand(task, ids[-48 : given - len(ids)], ids[given:]))
    assert np.isnan([rows[0][name] for name in NUMBERS]).all() and rows[0]["tokens"] == []

    alone = task.score(["", "a", long, "the"])
    assert [bool(row["error"]) for row in alone] == [True, True, False, False]
    assert alone[2]["num_tokens"] == 47 and alone[2]["truncated"]
    assert task.score([]) == []


REFUSED = [
    (("a text",), "texts"),
    ((["a"], [""]), "continuation 0 is empty"),
    ((["a", "b"], ["c"]), "received 2 texts and 1"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_is_refused(task, arguments, message):
    with pytest.raises(ValueError, match=message):
        task.score(*arguments)


@pytest.mark.integration
def test_a_begin_token_scores_the_first_one():
    """A tokenizer that puts a token before texts; several end tokens are one end."""
    tokenizer = Tokenizer.train(CORPUS, 120)  # [CLS] text [SEP]
    config = gpt2(tokenizer.vocabulary_size, 1, 2, 16, max_length=32, eos_ids=[3, 5])
    task = Task("causal_lm", config, tokenizer)
    (row, empty), ids = task.score(["the cat sat", ""]), ids_of(task, "the cat sat")
    logs = log_probs(task, [2, *ids])
    assert row["num_tokens"] == len(ids) and "nothing to score" in empty["error"]
    np.testing.assert_allclose(row["log_probability"], sum(logs[p, i] for p, i in enumerate(ids)), rtol=1e-5)
    np.testing.assert_allclose(row["end_log_probability"], np.logaddexp(logs[-1, 3], logs[-1, 5]), rtol=1e-5)
    assert task.score([""], ["the cat sat"])[0]["log_probability"] == pytest.approx(row["log_probability"])


@pytest.mark.integration
def test_a_model_without_an_end_token():
    task = causal_lm(end_token=False)
    row, behind_nothing = task.score(["the cat"])[0], task.score([""], ["the cat"])[0]
    assert row["end_log_probability"] is None and row["perplexity_with_end"] is None and row["perplexity"] > 1
    assert "no token that texts begin with" in behind_nothing["error"]


@pytest.mark.integration
def test_logits_are_computed_in_chunks(monkeypatch):
    whole = causal_lm().score(CORPUS)
    monkeypatch.setattr(likelihoods, "LOGITS", 3 * 290)  # three positions
    for row, expected in zip(causal_lm().score(CORPUS), whole, strict=True):
        agree(row, {name: expected[name] for name in NUMBERS}, 1e-5)


@pytest.mark.integration
def test_a_stream_of_scores(task):
    pairs = [PROMPTS * 9, CONTINUATIONS * 9]
    streamed = task.score_stream(*map(iter, pairs), batch_size=2)
    for row, expected in zip(streamed, task.score(*pairs), strict=True):
        agree(row, {name: expected[name] for name in NUMBERS}, 1e-5)


@pytest.mark.integration
def test_a_target_is_scored_beside_its_source():
    task = seq2seq_lm()
    sources = make_sources(task, 3)
    answers = task.predict(sources, max_new_tokens=6, min_new_tokens=6, token_bias={2: float("-inf")})
    rows = task.score(sources, [answer["generated_text"] for answer in answers])
    for row, answer in zip(rows, answers, strict=True):
        assert row["num_tokens"] == 6
        np.testing.assert_allclose(row["log_probability"], answer["score"], rtol=1e-4)
    assert "blank" in task.score(["", text_of([9])], [text_of([7])] * 2)[0]["error"]
    with pytest.raises(ValueError, match="beside its source"):
        task.score(sources)


@pytest.mark.integration
def test_an_export_scores(task, tmp_path):
    """In a process without Keras; an empty continuation is a text alone."""
    task.export(tmp_path / "1", max_new_tokens=2)
    texts, more = [*PROMPTS, CORPUS[0], "a"], [*CONTINUATIONS, "", " mat" * 60]
    answer = bare.ask(tmp_path / "1", {"score": {"text": texts, "continuation": more}})["score"]
    expected = [*task.score(PROMPTS, CONTINUATIONS), *task.score(CORPUS[:1]), *task.score(["a"], [" mat" * 60])]
    for place, row in enumerate(expected):
        agree({name: answer[name][place] for name in NUMBERS}, {name: row[name] for name in NUMBERS}, 1e-5)
        count = row["num_tokens"]
        ids = [task.tokenizer.token_to_id(token) for token, _ in row["tokens"]]
        assert answer["token_ids"][place][:count] == ids and {*answer["token_ids"][place][count:]} <= {-1}
        numbers = answer["token_log_probabilities"][place]
        np.testing.assert_allclose(numbers[:count], [number for _, number in row["tokens"]], rtol=1e-4)
        assert answer["error"][place] == row["error"] and answer["truncated"][place] == row["truncated"]


@pytest.mark.parity
def test_scores_are_those_of_transformers(task, tmp_path):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    task.save(tmp_path / "model")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    rows = [" ".join(CORPUS[place:] + CORPUS[:place])[:40] for place in range(len(CORPUS))]
    for text, row in zip(rows, task.score(rows), strict=True):
        ids = tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            output = model(ids, labels=ids)
            logs = output.logits[0].double().log_softmax(-1)
        agree(row, {"perplexity": output.loss.double().exp().item()})
        agree(row, {"log_probability": logs[:-1].gather(1, ids[0, 1:, None]).sum().item()}, 1e-5)
        agree(row, {"end_log_probability": logs[-1, task.config.eos_ids[0]].item()}, 1e-5)


ON_JAX = """
from generating import CORPUS, causal_lm
from translating import make_sources, seq2seq_lm

prompts, continuations, targets = json.loads(sys.argv[2])
task = causal_lm()
scored = [task.score(CORPUS), task.score(prompts, continuations), task.score(["a"], [" mat" * 60])]
writer = seq2seq_lm()
print(json.dumps([*scored, writer.score(make_sources(writer, 2), targets)]))
"""


@pytest.mark.slow
def test_scores_on_jax(task):
    writer, targets = seq2seq_lm(), [text_of([7, 8, 9]), text_of([4])]
    here = [task.score(CORPUS), task.score(PROMPTS, CONTINUATIONS), task.score(["a"], [" mat" * 60])]
    here.append(writer.score(make_sources(writer, 2), targets))
    there = json.loads(run_on_jax(ON_JAX, json.dumps([PROMPTS, CONTINUATIONS, targets])))
    for rows, others in zip(here, there, strict=True):
        for row, other in zip(rows, others, strict=True):
            agree(other, {name: row[name] for name in NUMBERS}, 1e-4)
            assert [token for token, _ in row["tokens"]] == [token for token, _ in other["tokens"]]
            assert row["error"] == other["error"] and row["truncated"] == other["truncated"]


def test_help_of_a_task_tells_of_scores(task):
    assert task.score.__func__ is ScoredWriting.score and {"score", "score_stream"} <= {*dir(task)}
