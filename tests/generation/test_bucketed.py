"""Generation on JAX, where TensorFlow cannot be imported: the answers are those of TensorFlow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from generating import causal_lm
from processes import run_on_jax
from translating import make_sources, seq2seq_lm, text_of

GENERATION = """
from generating import causal_lm
from keras_transformers.generation.decoding import SAMPLES

task = causal_lm()
texts, requests = json.loads(sys.argv[2])
answers = [task.predict(texts, **request) for request in requests]
streamed = "".join(task.stream(texts[0], stop=["a"]))
assert streamed == task.generate(texts[:1], stop=["a"])[0]
assert "".join(task.stream(texts[0], stop=["a"], prompt_lookup=4)) == streamed
assert "".join(task.stream(texts[0], stop=["a"], draft=causal_lm(layers=1))) == streamed
plain, assisted = (task.generate(texts[:3], max_new_tokens=[12, 5, 9], **x) for x in ({}, {"draft": task}))
assert plain == assisted
sampled = task.predict(texts[:3], temperature=1.0, seed=[1, 2, 3], num_sequences=2, max_new_tokens=9)
alone = task.predict(texts[1:2], temperature=1.0, seed=2, num_sequences=2, max_new_tokens=9)
assert alone[0]["generated_text"] == sampled[1]["generated_text"] and len(set(alone[0]["generated_text"])) == 2
for options in ({"num_beams": 2}, {"special_tokens": False}):
    (behind,), (joined,) = (
        task.predict(["mat"], prefix="one, two. ", max_new_tokens=5, **options),
        task.predict(["one, two. mat"], max_new_tokens=5, **options),
    )
    assert behind["generated_text"] == joined["generated_text"] and abs(behind["score"] - joined["score"]) < 1e-4
assert task.generate(["mat"], prefix="one, two. ") == ["".join(task.stream("mat", prefix="one, two. "))]
(long,) = task.predict(["mat" * 40], prefix="one, two. ", max_new_tokens=5)
assert long["truncated"] and not long["error"], long
start = task.service._compiled[SAMPLES]["start"]
compiled = start.num_programs
task.generate(["other", "texts", "of a", "bucket"], max_new_tokens=7)
task.model.set_weights([0 * weight for weight in task.model.get_weights()])
assert task.predict(texts[:1], max_new_tokens=4)[0]["score"] != answers[0][0]["score"]
assert start.num_programs <= compiled + 2
task = causal_lm()
task.generation = json.loads(sys.argv[3])
print(json.dumps([*answers, task.predict(texts)]))
"""
TRANSLATION = """
from generating import CORPUS
from translating import seq2seq_lm, seq2seq_of
from keras_transformers.text.tokenizer import Tokenizer

BYTES = {"model": "byte_pair", "vocabulary_size": 290, "special_tokens": ["</s>"]}
task = seq2seq_lm()
sources, requests = json.loads(sys.argv[2])
answers = [task.predict(sources, **request) for request in requests]
task.generation = json.loads(sys.argv[3])
answers.append(task.predict(sources, max_new_tokens=9))
task.generation = {}
assert "".join(task.stream(sources[0], max_new_tokens=9)) == task.generate(sources[:1], max_new_tokens=9)[0]
(alignment,) = task.align(sources[:1], sources[1:2])
assert abs(alignment.scores.sum(1) - 1).max() < 1e-5
for corpus, options in [(["hel@@ lo wor@@ ld a b"], {"model": "words"}), (CORPUS, BYTES)]:
    task = seq2seq_of(Tokenizer.train(corpus, **options))
    options = {"token_bias": {task.config.eos_ids[0]: float("-inf")}, "temperature": 1.0}
    (text,), pieces = task.generate(["a b"], **options), list(task.stream("a b", **options))
    assert "".join(pieces) == text and len(pieces) > 5, (text, pieces)
    stop = max(text.split("\ufffd"), key=len)[-3:]
    assert task.generate(["a b"], stop=[stop], **options) == [text.partition(stop)[0]], (text, stop)
print(json.dumps(answers))
"""
TEXTS = ["the cat", "", "日本", "a wärm day, " * 20, "a"]
REQUESTS = [
    {"max_new_tokens": 12},
    {"max_new_tokens": [3, 4, 20, 5, 48], "repetition_penalty": 1.3, "no_repeat_ngram": 2, "stop": ["t", "本"]},
    {"num_beams": 3, "num_sequences": 2, "max_new_tokens": 10, "length_penalty": 0.5},
    {"prompt_lookup": 5, "max_new_tokens": [30, 4, 20, 5, 30], "repetition_penalty": 0.8},
]


PRESCRIBED = {
    "begin_suppress_tokens": [5, 9], "suppress_tokens": [11], "encoder_repetition_penalty": 0.7, "max_new_tokens": 9,
    "encoder_no_repeat_ngram_size": 1, "sequence_bias": [[[7, 20], 3.0]], "exponential_decay_length_penalty": [3, 1.2],
    "stop": ["q"], "remove_invalid_values": True,
}  # fmt: skip


@pytest.mark.slow
def test_generation_without_tensorflow():
    answers = json.loads(run_on_jax(GENERATION, json.dumps([TEXTS, REQUESTS]), json.dumps(PRESCRIBED)))
    task = causal_lm()
    everything = [task.predict(TEXTS, **request) for request in REQUESTS]
    task.generation = PRESCRIBED
    for rows, others in zip(answers, [*everything, task.predict(TEXTS)], strict=True):
        for row, expected in zip(rows, others, strict=True):
            np.testing.assert_allclose(row.pop("score"), expected.pop("score"), rtol=1e-4, atol=1e-3)
            assert row == expected
    assert [bool(row["error"]) for row in answers[1]] == [False] * 4 + [True]
    assert [row["truncated"] for row in answers[0]] == [False] * 3 + [True, False]


@pytest.mark.slow
def test_translation_without_tensorflow():
    """Greedy, sampled with a stop string, and by beams that must cover the source; with a cut and a blank one."""
    task = seq2seq_lm()
    sources = [*make_sources(task, 3), text_of([7] * 100), ""]
    requests = [
        {"max_new_tokens": [9, 40, 1, 5, 3]},
        {"stop": [text_of([9])], "repetition_penalty": 1.5, "max_new_tokens": 12},
        {"num_beams": 3, "num_sequences": 2, "max_new_tokens": 10, "coverage_penalty": 0.3},
        {"prompt_lookup": 4, "max_new_tokens": 40},
    ]
    answers = json.loads(run_on_jax(TRANSLATION, json.dumps([sources, requests]), json.dumps(PRESCRIBED)))
    everything = [task.predict(sources, **request) for request in requests]
    task.generation = PRESCRIBED
    for rows, others in zip(answers, [*everything, task.predict(sources, max_new_tokens=9)], strict=True):
        for row, expected in zip(rows, others, strict=True):
            np.testing.assert_allclose(row.pop("score"), expected.pop("score"), rtol=1e-4, atol=1e-3)
            assert row == expected
    assert [row["truncated"] for row in answers[0]] == [False] * 3 + [True, False]
    assert [bool(row["error"]) for row in answers[0]] == [False] * 4 + [True]
