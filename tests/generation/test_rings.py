"""Caches of blocks with a window, which hold the tokens in sight only: texts as with all tokens, in less memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache

import keras
import numpy as np
import pytest
from generating import Generator, ids_of, lively, small_generator
from keras import ops

from keras_transformers.families import mistral
from keras_transformers.generation.decoding import Decoding
from keras_transformers.generation.request import make_request
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

BLOCKS = [{"attention_window": 4}, {}]
FAMILIES = {
    "gpt2": BLOCKS,  # positions in the embeddings
    "mistral": [{"attention_window": 4}],  # no block has all tokens
    "gemma3_text": [{"attention_window": 4}, {"attention_window": 2}, {}],
    "ministral": BLOCKS,
    "qwen2": [{}, {"attention_window": 3}],
    "lfm2": [{"attention_window": 3}, {"mixer": "short_convolution"}],  # the other blocks have states
    "smollm3": [{"attention_window": 5, "rotary": False}, {}],
}
PROMPTS = [[5, 9, 2, 7, 7, 1, 3, 3, 8, 12], [3, 8], [11, 4, 6, 1], [4]]  # longer than the windows, to one token
OPTIONS = {
    "greedy": {"max_new_tokens": [20, 3, 9, 12]},
    "samples": {"temperature": 1.0, "seed": [1, 2, 3, 4], "sequences": 2, "max_new_tokens": 16},
    "beams": {"num_beams": 3, "sequences": 2, "max_new_tokens": 16},
    "lookup": {"prompt_lookup": 3, "max_new_tokens": 25, "bias": dict.fromkeys(range(6, 30), float("-inf"))},
}
EACH_KIND = ("mistral", "gemma3_text", "lfm2")  # rings alone, of two sizes beside a whole cache, beside states
NIGHTLY = [pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES if name not in EACH_KIND]


@pytest.fixture(scope="module")
def pair():
    """By family, a generator with rings, and one of the same weights whose cache has all tokens; each made once."""

    @cache
    def generators(family: str) -> tuple[Generator, Generator]:
        ours = small_generator(family, block_options=FAMILIES[family], num_layers=len(FAMILIES[family]))
        return ours, altered(ours, windows=())

    return generators


def altered(generator: Generator, **options) -> Generator:
    """One of the same weights, whose program has other options."""
    other = Generator(generator.config, generator.model)
    other.program = dataclasses.replace(other.program, **options)
    return other


def check_same(ours: Generator, whole: Generator, names: Iterable[str]) -> None:
    """Check texts and scores with rings beside a cache of all tokens."""
    for name in names:
        answers, expected = (generator(PROMPTS, **OPTIONS[name]) for generator in (ours, whole))
        assert ids_of(answers) == ids_of(expected)
        scores = [[[text.score for text in texts] for texts in each] for each in (answers, expected)]
        np.testing.assert_allclose(*scores, atol=1e-4)
        if name == "greedy":  # the likeliest of a pass over the whole text
            for prompt, (text,) in zip(PROMPTS, answers, strict=True):
                log_probs = ours.log_probs(prompt, text.ids)
                chosen = np.take_along_axis(log_probs, np.array(text.ids)[:, None], axis=1)[:, 0]
                assert (chosen > log_probs.max(-1) - 1e-4).all()


@pytest.mark.integration
@pytest.mark.parametrize("family", [*EACH_KIND, *NIGHTLY])
def test_texts_are_those_of_a_cache_of_all_tokens(pair, family):
    check_same(*pair(family), ["greedy"])


@pytest.mark.integration
@pytest.mark.parametrize("name", ["samples", "beams", "lookup"])
def test_so_are_samples_beams_and_guessed_texts(pair, name):
    check_same(*pair("gemma3_text"), [name])


@pytest.mark.integration
@pytest.mark.parametrize("family, increment", [("mistral", 1), ("gemma3_text", 2)])
def test_a_cache_that_grows(pair, family, increment):
    """Full ones grow past the rings, rings until they are full: texts are those of a cache that does not."""
    ours, whole = pair(family)
    check_same(altered(ours, cache_increment=increment), whole, ["greedy", "lookup"])


@pytest.mark.integration
def test_a_prefix_longer_than_the_windows():
    generator, prefix, prompts = (
        small_generator("gemma3_text", block_options=BLOCKS),
        [4, 9, 13, 2, 8, 8, 21],
        [[5], []],
    )
    expected = generator([[*prefix, *prompt] for prompt in prompts], **OPTIONS["lookup"])
    assert ids_of(generator(prompts, prefix=prefix, **OPTIONS["lookup"])) == ids_of(expected)


@pytest.mark.integration
def test_rings_of_a_task_hold_the_guesses():
    """Also in a stream: a text begins with the rings of the passes that follow."""
    config = mistral(257, 1, 2, 16, 32, num_kv_heads=1, max_length=64, block_options=[{"attention_window": 4}])
    task = Task("causal_lm", config, Tokenizer.train([], model="bytes"))
    lively(task.model)
    options = {"max_new_tokens": 40, "repetition_penalty": 0.7}
    (text,) = task.generate(["abcabcabc"], **options)
    assert [text] == task.generate(["abcabcabc"], prompt_lookup=6, **options)
    assert text == "".join(task.stream("abcabcabc", prompt_lookup=6, **options))


@pytest.mark.parametrize("guesses, extra", [(None, 0), (3, 3)])
def test_bytes_of_a_cache(guesses, extra):
    """A ring has as many places as its window, and one for each token more that a pass reads."""
    generator = small_generator("llama", block_options=BLOCKS)
    decoding = Decoding(prompt_lookup=guesses)
    program, request = decoding.program(generator.program), make_request(2, (), {}, {"max_new_tokens": 12})
    prompts = np.array([[5, 9, 2, 7, 7, 1, 3, 3, 8], [5, 9, 2, 0, 0, 0, 0, 0, 0]], "int32")
    lengths = np.array([9, 3], "int32")
    inputs = keras.tree.map_structure(ops.convert_to_tensor, (prompts, lengths, lengths + 12, request))
    state, request = program.start(decoding.method, *inputs, 1, {}, 12)
    assert [block["key"].shape[2] for block in state.cache.blocks] == [4 + extra, 21]
    assert [block["value"].shape[2] for block in state.cache.blocks] == [4 + extra, 21]


@pytest.mark.integration
def test_positions_with_a_bias_keep_all_tokens():
    for positions in ("alibi", "relative"):
        generator = small_generator("gpt2", block_options=BLOCKS, positions=positions)
        assert generator.program.rings == [None] * generator.config.num_layers
