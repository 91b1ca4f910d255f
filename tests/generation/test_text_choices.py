"""Texts that are one of given strings: beside a search of all of them, on every kind of vocabulary, and refusals."""

from __future__ import annotations

import itertools
import json

import bare
import numpy as np
import pytest
from generating import causal_lm, small_generator
from processes import run_on_jax
from translating import ids_of, make_sources, seq2seq_lm, text_of

from keras_transformers.families import gpt2
from keras_transformers.generation.request import make_request
from keras_transformers.generation.spelling import spell
from keras_transformers.generation.text_choices import ChoiceReader
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

PROMPTS = ["the cat", "one, two", "", "日本語", "naïve 😀"]
CHOICES = [" cat", " sat on the mat", " sat", "the", "日本"]  # one begins another


@pytest.fixture(scope="module")
def task():
    return causal_lm()


def constrained(generator, prompt: list[int], choices: list[list[int]]) -> list[int]:
    """The likeliest token at each place, of those that go on with a choice; 0 ends the text."""
    new: list[int] = []
    while not new or new[-1]:
        logits = generator.logits([*prompt, *new])[-1]
        allowed = {[*choice, 0][len(new)] for choice in choices if choice[: len(new)] == new}
        new.append(max(allowed, key=lambda token: logits[token]))
    return new


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(3))
def test_the_greedy_choice_is_the_likeliest_path(seed, monkeypatch):
    """Whatever tokens, penalties and bans: on random choices of few tokens, some of which begin others."""
    random, generator = np.random.default_rng(seed), small_generator()
    choices = [[*choice] for size in (1, 2, 3) for choice in random.integers(3, 6, (3, size)).tolist()]
    choices = [list(choice) for choice, _ in itertools.groupby(sorted(choices))]
    padded = np.array([[*choice, *[-1] * (4 - len(choice))] for choice in choices], "int32")

    def limited(rows, *arguments):
        return make_request(rows, *arguments, choices=padded)

    monkeypatch.setattr("generating.make_request", limited)
    prompts = [random.integers(1, 30, length).tolist() for length in (3, 7, 1)]
    for prompt, (text,) in zip(prompts, generator(prompts, max_new_tokens=5), strict=True):
        assert text.ids == constrained(generator, prompt, choices)
    banned = generator(prompts, max_new_tokens=5, min_new_tokens=5, bias={3: float("-inf"), 4: -99.0, 5: -99.0})
    assert {tuple(text.ids[:-1]) for (text,) in banned} <= {*map(tuple, choices)}


@pytest.mark.integration
@pytest.mark.parametrize("length_penalty", [1.0, 0.0])
def test_beams_give_the_choices_by_their_scores(task, length_penalty):
    """As many beams as choices: all of them, in the order of `score`, with the end token."""
    answers = task.predict(PROMPTS, choices=CHOICES, num_beams=5, num_sequences=5, length_penalty=length_penalty)
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        scores = {}
        for choice, row in zip(CHOICES, task.score([prompt] * 5, CHOICES), strict=True):
            total = row["log_probability"] + row["end_log_probability"]
            scores[choice] = total / (row["num_tokens"] + 1) ** length_penalty
        assert answer["generated_text"] == sorted(scores, key=scores.__getitem__, reverse=True)
        np.testing.assert_allclose(answer["score"], sorted(scores.values(), reverse=True), rtol=1e-4)
        assert task.generate([prompt], choices=CHOICES, num_beams=8, length_penalty=length_penalty) == [
            max(scores, key=scores.get)
        ]


@pytest.mark.integration
def test_samples_and_streams_are_choices(task):
    """Each of them is reached, the one that begins another, too."""
    found = task.generate(PROMPTS, choices=CHOICES, temperature=1e3, num_sequences=40)
    assert [{*texts} for texts in found] == [{*CHOICES}] * 5
    found = task.generate(PROMPTS, choices=CHOICES, temperature=9.0, top_k=50, top_p=0.9, no_repeat_ngram=1)
    assert {*found} <= {*CHOICES}
    assert "".join(task.stream("the cat", choices=CHOICES)) == task.generate(["the cat"], choices=CHOICES)[0]


@pytest.mark.integration
def test_several_end_tokens_are_one_end():
    task = causal_lm()
    config = gpt2(task.tokenizer.vocabulary_size, 2, 4, 16, max_length=48, eos_ids=[0, 40])
    other = Task("causal_lm", config, task.tokenizer)
    other.model.set_weights(task.model.get_weights())
    (answer,) = other.predict(["the cat"], choices=CHOICES, num_beams=5, num_sequences=5)
    scores = other.score(["the cat"] * 5, CHOICES)
    expected = sorted(range(5), key=lambda index: scores[index]["perplexity_with_end"])
    assert answer["generated_text"] == [CHOICES[index] for index in expected]


@pytest.mark.integration
def test_targets_are_choices():
    """Of an encoder-decoder, whose checkpoint may force a first token."""
    task = seq2seq_lm()
    choices, sources = [text_of([5, 6]), text_of([5]), text_of([9, 9, 9])], make_sources(task, 4)
    answers = task.predict(sources, choices=choices, num_beams=3)
    for source, answer in zip(sources, answers, strict=True):
        assert answer["num_tokens"] == len(answer["generated_text"]) + 1
        rows = task.score([source] * 3, choices)
        assert answer["generated_text"] == choices[min(range(3), key=lambda i: rows[i]["perplexity_with_end"])]
    task.generation = {"forced_bos_id": 7}
    forced = task.predict(sources, choices=choices)
    assert {ids_of(row["generated_text"])[0] for row in forced} == {7}
    assert {row["generated_text"][1:] for row in forced} <= {*choices}


def reader_of(tokenizer: Tokenizer) -> ChoiceReader:
    config = gpt2(tokenizer.vocabulary_size, 1, 2, 8, max_length=16)
    return ChoiceReader(tokenizer, spell(tokenizer, config, begins=False), begins=False)


WORDS = ["yes no maybe", "Yes, no. a 1 maybe", "no yes\n. yes"]


@pytest.mark.parametrize(("model", "special"), [("byte_pair", None), ("bytes", None), ("unigram", None)])
def test_choices_with_and_without_a_space(model, special):
    """On byte-level and SentencePiece vocabularies: they spell what was given."""
    tokenizer = Tokenizer.train(WORDS, None if model == "bytes" else 300 if model == "byte_pair" else 40, model=model)
    reader = reader_of(tokenizer)
    assert reader.anchor == ("" if model != "unigram" else reader.anchor) and (model != "unigram" or reader.anchor)
    for ids, choice in zip(reader(["yes", " yes", "no", " no"], 12), ["yes", " yes", "no", " no"], strict=True):
        assert reader.spelling.text([number for number in ids if number >= 0]) == choice.encode()


def test_a_choice_that_the_tokenizer_changes():
    tokenizer = Tokenizer.train(WORDS, 60)
    with pytest.raises(ValueError, match="'YES' cannot be written: the tokenizer spells it 'yes'"):
        reader_of(tokenizer)(["YES"], 12)


REFUSED = [
    ([], {}, "one at least: received []"),
    (["a", ""], {}, "not empty"),
    (["a", "b", "a"], {}, "different texts"),
    ("yes", {}, "received one str"),
    (["x" * 80], {}, "has 80 tokens, and the model takes 46"),
    (["<|endoftext|>"], {}, "cannot be written"),
    (CHOICES, {"stop": ["a"]}, "received stop"),
    (CHOICES, {"max_new_tokens": 3, "min_new_tokens": 2}, "received max_new_tokens, min_new_tokens"),
    (CHOICES, {"prompt_lookup": 3}, "received prompt_lookup"),
    (CHOICES, {"num_beams": 6, "num_sequences": 6}, "num_sequences=6 for 5 choices"),
]


@pytest.mark.parametrize(("choices", "options", "message"), REFUSED)
def test_what_is_refused(task, choices, options, message):
    import re

    with pytest.raises(ValueError, match=re.escape(message)):
        task.generate(PROMPTS, choices=choices, **options)


def test_a_model_without_an_end_token():
    with pytest.raises(ValueError, match="need a model with an end token"):
        causal_lm(end_token=False).generate(["a"], choices=["b"])


@pytest.mark.integration
def test_exports_choose(task, tmp_path):
    """A set that is fixed, and one that each row brings; a bad row fails alone."""
    task.export(tmp_path / "1", choices=CHOICES)
    own = [
        ["yes", "no", "", "", ""],
        [""] * 5,
        ["a", "", "a", "", ""],
        ["<|endoftext|>", *[""] * 4],
        ["x" * 80, *[""] * 4],
    ]
    requests = {"serving_default": {"text": PROMPTS}}
    requests["choose"] = {"text": PROMPTS + ["the cat"] * 5, "choices": [CHOICES] * 5 + own}
    answers = bare.ask(tmp_path / "1", requests)
    expected = task.predict(PROMPTS, choices=CHOICES) + task.predict(["the cat"], choices=["yes", "no"])
    texts = [row["generated_text"] for row in expected]
    assert answers["serving_default"]["generated_text"] == texts[:5]
    assert answers["choose"]["generated_text"] == texts + [""] * 4
    np.testing.assert_allclose(answers["choose"]["score"][:6], [row["score"] for row in expected], rtol=1e-4)
    told = ["holds no text", "are equal", "cannot be written", "exceeds the 46 tokens"]
    assert answers["choose"]["error"][:6] == [""] * 6
    assert [part in error for part, error in zip(told, answers["choose"]["error"][6:], strict=True)] == [True] * 4


ON_JAX = """
from generating import causal_lm

prompts, choices = json.loads(sys.argv[2])
task = causal_lm()
answers = [task.predict(prompts, choices=choices), task.predict(prompts, choices=choices, num_beams=5, num_sequences=5)]
assert "".join(task.stream(prompts[0], choices=choices)) == answers[0][0]["generated_text"]
print(json.dumps(answers))
"""


@pytest.mark.slow
def test_choices_on_jax(task):
    greedy, beams = json.loads(run_on_jax(ON_JAX, json.dumps([PROMPTS, CHOICES])))
    here = task.predict(PROMPTS, choices=CHOICES), task.predict(PROMPTS, choices=CHOICES, num_beams=5, num_sequences=5)
    for rows, others in zip(here, (greedy, beams), strict=True):
        assert [row["generated_text"] for row in rows] == [row["generated_text"] for row in others]
        np.testing.assert_allclose([r["score"] for r in rows], [r["score"] for r in others], rtol=1e-4)
