"""Drafts: texts that are those without, token for token, in as many passes as the right guesses leave."""

from __future__ import annotations

import bare
import numpy as np
import pytest
from generating import EOS, causal_lm, small_generator

from keras_transformers.families import gpt2, lfm2
from keras_transformers.generation.decoding import Decoding, forget_drafts, make_decoding
from keras_transformers.generation.draft import Draft
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

MODELS = {
    "gpt2": ({}, {"num_layers": 1, "hidden_dim": 8, "num_heads": 2}),
    "llama": ({"family": "llama"}, {"family": "llama", "num_layers": 1, "num_kv_heads": 1}),
    "windows": (
        {"family": "mistral", "block_options": [{"attention_window": 4}, {}]},
        {"family": "mistral", "block_options": [{"attention_window": 3}], "num_layers": 1},
    ),
}
NO_END = {EOS: float("-inf")}
PROMPTS = [[5, 9, 2, 7, 7, 1, 3, 3, 8, 12], [4], [3, 8], [11, 4, 6, 1]]


@pytest.fixture(scope="module")
def pair():
    large, small = MODELS["gpt2"]
    return small_generator(**large), small_generator(**small)


def check_same(texts, others) -> None:
    for row, other_row in zip(texts, others, strict=True):
        for text, other in zip(row, other_row, strict=True):
            assert text.ids == other.ids and text.kept == other.kept
            np.testing.assert_allclose(text.score, other.score, atol=1e-3)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["gpt2", pytest.param("llama", marks=pytest.mark.slow), "windows"])
def test_texts_are_the_same(name):
    """Of a draft of other weights and sizes, and of the model itself, whose guesses are all right.

    Rows begin and end at different places; behind windows the caches are rings, which wrong guesses are written to.
    """
    large, small = (small_generator(**options) for options in MODELS[name])
    options = {"bias": NO_END, "max_new_tokens": [30, 1, 25, 2]}
    plain = large(PROMPTS, **options)
    assert [len(row[0].ids) for row in plain] == [30, 1, 25, 2]
    check_same(plain, large(PROMPTS, **options, draft=small))
    check_same(plain, large(PROMPTS, **options, draft=large, guesses=4, turns=6))  # 5 tokens a pass
    (short, *_), *_ = large(PROMPTS, **options, draft=large, guesses=4, turns=5)
    assert len(short.ids) == 25


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {"stop": ["BAB", "D"], "repetition_penalty": 1.4, "no_repeat_ngram": [0, 3, 0, 4], "min_new_tokens": 3},
        {"temperature": [1.0, 0.0, 0.7, 1.0], "seed": 5, "top_k": 3, "sequences": 3},
    ],
    ids=["penalties", "samples"],
)
def test_options_change_nothing(options, pair):
    """The draft chooses with the same penalties and noise, so that its guesses are right where it is the model."""
    large, small = pair
    options = {"max_new_tokens": 24, "bias": {EOS: 0.5}} | options
    plain = large(PROMPTS, **options)
    assert any(text.ids[-1] == EOS or text.kept < 100 for row in plain for text in row)
    check_same(plain, large(PROMPTS, **options, draft=small))
    check_same(plain, large(PROMPTS, **options, draft=large, turns=5))


@pytest.mark.integration
def test_a_draft_reads_a_prefix(pair):
    large, small = pair
    prefix, prompts = [4, 9, 13, 2, 8, 8, 21], [[5], []]
    expected = large([[*prefix, *prompt] for prompt in prompts], bias=NO_END)
    check_same(expected, large(prompts, prefix=prefix, bias=NO_END, draft=small))
    check_same(expected, large(prompts, prefix=prefix, bias=NO_END, draft=large, turns=3))


@pytest.mark.integration
@pytest.mark.parametrize("size", [25, 40])
def test_a_draft_with_fewer_or_more_rows_of_tokens(size, pair):
    """Sizes are often rounded up, other ones for small models; here the model also writes tokens beyond the draft's."""
    large, small = pair[0], small_generator(vocabulary_size=size, num_layers=1)
    plain = large(PROMPTS, bias=NO_END)
    check_same(plain, large(PROMPTS, bias=NO_END, draft=small))
    assert size == 40 or any(token >= size for (text,) in plain for token in text.ids)


def test_functions_of_another_draft_are_forgotten():
    """Those of other numbers of guesses are kept, and those without a draft."""
    one, other = object(), object()
    kept = [Decoding(), Decoding(1, 7), *(Decoding(draft=Draft(one, number, 30, 30)) for number in (3, 5))]
    functions = {("text", each, False): each for each in (*kept, Decoding(draft=Draft(other, 3, 30, 30)))}
    forget_drafts(functions, kept[0])
    assert len(functions) == 5
    forget_drafts(functions, kept[2])
    assert [*functions.values()] == kept


@pytest.mark.parametrize("wrong", [0, True, 2.0, "7", 65])
def test_a_wrong_number_is_refused(wrong):
    with pytest.raises(ValueError, match=r"draft_tokens is a number of tokens to guess, from 1 to 64.*received"):
        make_decoding(1, None, draft=Draft(None, wrong, 30, 30))


def bytes_task(family=gpt2, tokenizer=None, layers=1, **options) -> Task:
    tokenizer = tokenizer or Tokenizer.train([], model="bytes")
    return Task("causal_lm", family(300, layers, 2, 16, **({"max_length": 48} | options)), tokenizer)


@pytest.mark.integration
def test_what_a_draft_cannot_be_is_refused_before_any_work():
    large, tokenizer = bytes_task(), Tokenizer.train([], model="bytes").with_tokens(["metformin"])
    states = {"intermediate_dim": 32, "block_options": [{"mixer": "short_convolution"}, {}], "layers": 2}
    refused = [
        ("gpt2", {}, r"a loaded task of a small model.* received 'gpt2' for causal_lm"),
        (
            bytes_task(tokenizer=tokenizer),
            {},
            r"token 257 is missing in the first, 'metformin' in the second; 1 of 258",
        ),
        (bytes_task(max_length=32), {}, r"at most 32 tokens, and this model writes up to 48.* max_length=32"),
        (bytes_task(lfm2, **states), {}, r"draft has such blocks. Take a draft that has attention in all blocks"),
        (
            large,
            {"num_beams": 3},
            r"draft guesses one continuation .*draft_tokens=5 with num_beams=3. Give num_beams=1",
        ),
        (large, {"prompt_lookup": 3}, r"received prompt_lookup=3 with a draft. Leave one of them out"),
        (large, {"draft_tokens": 0}, r"draft_tokens is a number"),
        (None, {"draft_tokens": 3}, r"draft_tokens=3 are guessed by a draft"),
    ]
    for draft, options, message in refused:
        with pytest.raises(ValueError, match=message):
            large.generate(["a"], draft=draft, **options)
    with pytest.raises(ValueError, match=r"this model has such blocks. Leave draft out"):
        bytes_task(lfm2, **states).generate(["a"], draft=large)
    with pytest.raises(ValueError, match=r"compiled=True reads a token at a time"):
        large.export("never_written", draft=large, compiled=True)
    assert large.parts.answers.made_service is None


def pieces(task, text, **options) -> int:
    """The number of pieces of a streamed text, once it has been found the same as the generated one."""
    streamed = [*task.stream(text, **options)]
    assert ["".join(streamed)] == task.generate([text], **{name: options[name] for name in options if name != "draft"})
    return len(streamed)


@pytest.mark.integration
def test_tasks_with_drafts():
    """One of other weights, and one that gets the model's: no trace is made again. Old drafts are forgotten."""
    task, small, twin = (causal_lm(end_token=False, layers=layers) for layers in (2, 1, 2))
    texts, options = ["the cat sat on", "a", "", "one, one, one, two"], {"max_new_tokens": [24, 5, 9, 13]}
    plain = task.predict(texts, **options)
    guessed = task.predict(texts, **options, draft=small, draft_tokens=3)
    for row, other in zip(plain, guessed, strict=True):
        np.testing.assert_allclose(row.pop("score"), other.pop("score"), atol=1e-3)
    assert plain == guessed

    weights = twin.model.get_weights()
    twin.model.set_weights([0 * weight for weight in weights])
    options = {"max_new_tokens": 24, "draft": twin}
    many = pieces(task, texts[0], **options)
    twin.model.set_weights(weights)
    assert pieces(task, texts[0], **options) <= 24 / 6 + 1 < many  # the last one may be the rest of a character
    assert {decoding.draft.service for _, decoding, _ in task.service._starts if decoding.draft} == {twin.service}
    task.generate(["a"], draft=small, max_new_tokens=2)
    assert {decoding.draft.service for _, decoding, _ in task.service._runs if decoding.draft} == {small.service}


@pytest.mark.integration
def test_an_export_is_the_same_in_a_bare_process(tmp_path):
    task, small = causal_lm(), causal_lm(layers=1)
    texts = ["the cat the cat", "a", "", "one, one, one, two"]
    task.export(tmp_path / "1", max_new_tokens=24, draft=small, repetition_penalty=0.5)
    answer = bare.ask(tmp_path / "1", {"serving_default": {"text": texts}})["serving_default"]
    expected = task.predict(texts, max_new_tokens=24, repetition_penalty=0.5)
    assert answer["generated_text"] == [row["generated_text"] for row in expected]
    assert answer["num_tokens"] == [row["num_tokens"] for row in expected]
    with pytest.raises(ValueError, match="a choice is written whole, token by token: received draft too"):
        task.generate(texts, draft=small, choices=["a", "b"])
