from __future__ import annotations

import numpy as np
import pytest
from arrays import to_numpy
from generating import EOS, PROMPTS, ids_of, small_generator
from keras import ops

from keras_transformers.generation.program import Program
from keras_transformers.generation.request import make_request
from keras_transformers.generation.sampling import Sampling

SAMPLING_PARAMETERS = {
    "max_new_tokens": [12, 5, 9],
    "min_new_tokens": [0, 3, 0],
    "temperature": [0.0, 1.0, 0.7],
    "top_k": [0, 7, 0],
    "top_p": [1.0, 1.0, 0.9],
    "min_p": [0.0, 0.01, 0.0],
    "repetition_penalty": [1.0, 1.3, 1.0],
    "no_repeat_ngram": [2, 0, 3],
    "seed": [1, 2, 3],
}


@pytest.fixture(scope="module")
def generator():
    return small_generator()


MODELS = [
    ("gpt1", "float32"),
    ("gpt2", "float32"),
    ("llama", "float32"),
    ("llama", "mixed_bfloat16"),
    ("lfm2", "float32"),
]


@pytest.mark.integration
@pytest.mark.parametrize("family, dtype", MODELS)
def test_greedy_tokens_are_the_likeliest_of_a_whole_pass(family, dtype):
    """One by one with a cache, from a ragged batch, as one row without a cache would have it."""
    generator, small = small_generator(family, dtype), 1e-4 if dtype == "float32" else 0.1
    answers = generator(PROMPTS, max_new_tokens=20)
    for prompt, (text,) in zip(PROMPTS, answers, strict=True):
        log_probs = generator.log_probs(prompt, text.ids)
        chosen = np.take_along_axis(log_probs, np.array(text.ids)[:, None], axis=1)[:, 0]
        assert (chosen > log_probs.max(-1) - small).all()
        np.testing.assert_allclose(text.score, chosen.sum(), atol=20 * small)
        assert len(text.ids) == 20 or text.ids[-1] == EOS
    assert len({number for (text,) in answers for number in text.ids}) > 3


@pytest.mark.integration
def test_a_text_ends_with_an_end_token_or_at_its_limit(generator):
    options = {"max_new_tokens": 9, "bias": {EOS: 3.0}}
    texts = generator([[n] for n in range(1, 30)], **options)
    ended = [ids for ((ids, *_),) in texts if EOS in ids]
    assert len(ended) > 3 and all(ids.index(EOS) == len(ids) - 1 for ids in ended)
    assert all(len(ids) == 9 for ((ids, *_),) in texts if EOS not in ids)
    more = generator([[n] for n in range(1, 30)], min_new_tokens=6, **options)
    assert {ids.index(EOS) for ((ids, *_),) in more if EOS in ids} <= {6, 7, 8}
    for ((old, *_),), ((new, *_),) in zip(texts, more, strict=True):
        same = old[:-1] if old[-1] == EOS and len(old) <= 6 else old
        assert new[: len(same)] == same


@pytest.mark.integration
def test_a_row_does_not_depend_on_its_neighbours(generator):
    together = generator(PROMPTS, sequences=2, stop=["QQ"], **SAMPLING_PARAMETERS)
    for row, prompt in enumerate(PROMPTS):
        own = {name: values[row] for name, values in SAMPLING_PARAMETERS.items()}
        (alone,) = generator([prompt], sequences=2, stop=["QQ"], **own)
        for text, same in zip(together[row], alone, strict=True):
            assert text.ids == same.ids and text.kept == same.kept
            np.testing.assert_allclose(text.score, same.score, atol=1e-4)
    assert [len(texts[0].ids) for texts in together][:2] == [12, 5]


@pytest.mark.integration
def test_seeds_and_sequences(generator):
    first = ids_of(generator(PROMPTS, sequences=3, temperature=1.0, seed=5))
    assert first == ids_of(generator(PROMPTS, sequences=3, temperature=1.0, seed=5))
    other = ids_of(generator(PROMPTS, sequences=3, temperature=1.0, seed=6))
    every = [tuple(ids) for texts in (*first, *other) for ids in texts]
    assert len(set(every)) > 15
    assert [texts[0] for texts in first] == [texts[0] for texts in ids_of(generator(PROMPTS, temperature=1.0, seed=5))]


@pytest.mark.integration
def test_scores_are_the_models_own(generator):
    """Whatever penalties and filters do to the choice."""
    parameters = {"temperature": 0.8, "top_k": 8, "repetition_penalty": 1.5, "no_repeat_ngram": 2}
    for prompt, texts in zip(PROMPTS, generator(PROMPTS, sequences=2, **parameters), strict=True):
        for text in texts:
            log_probs = np.take_along_axis(generator.log_probs(prompt, text.ids), np.array(text.ids)[:, None], axis=1)
            np.testing.assert_allclose(text.score, log_probs.sum(), atol=1e-3)


@pytest.mark.integration
def test_no_ngram_comes_twice(generator):
    for size in (1, 2, 3):
        for prompt, (text,) in zip(PROMPTS, generator(PROMPTS, no_repeat_ngram=size, max_new_tokens=20), strict=True):
            ids = [*prompt, *text.ids]
            grams = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
            new = grams[len(prompt) - size + 1 :]
            assert all(gram not in grams[: len(grams) - len(new) + i] for i, gram in enumerate(new))


@pytest.mark.integration
def test_suppressed_and_favoured_tokens(generator):
    (plain,), *_ = ids_of(generator(PROMPTS))
    (without,), *_ = ids_of(generator(PROMPTS, bias={number: float("-inf") for number in set(plain)}))
    assert not set(plain) & set(without)
    assert ids_of(generator(PROMPTS, bias={13: 100.0})) == [[[13] * 12]] * 3


@pytest.mark.integration
def test_a_stop_string_ends_a_text(generator):
    (plain,), *_ = generator(PROMPTS, bias={EOS: float("-inf")})
    letters = bytes(64 + number for number in plain.ids).decode()
    assert len(letters) == 12
    (text,), *_ = generator(PROMPTS, bias={EOS: float("-inf")}, stop=["??", letters[5:8], letters[6:9]])
    assert text.ids == plain.ids[:8] and text.kept == letters.index(letters[5:8])


def prefill(inputs):
    return {"cache": [{name: ops.zeros((*inputs["token_ids"].shape[:1], 1, 6, 2)) for name in ("key", "value")}]}


@pytest.mark.parametrize("limits, places", [([3, 4], 6), ([3, 6], 6), ([9, 2], 9)])
def test_there_is_room_for_the_padded_prompts_and_for_the_longest_text(limits, places):
    prompts, lengths = np.array([[5, 6, 0, 0, 0, 0], [7, 0, 0, 0, 0, 0]], "int32"), np.array([2, 1], "int32")
    program, request = Program(prefill, None, None, (), None), make_request(2, [], {}, {})
    state, _ = program.start(Sampling(), prompts, lengths, np.array(limits, "int32"), request, 1, {})
    token_ids, cache = to_numpy(state.token_ids), state.cache.blocks[0]
    assert token_ids.shape == (2, places) and cache["key"].shape == cache["value"].shape == (2, 1, places, 2)
    np.testing.assert_array_equal(token_ids[:, :6], prompts)
    assert not token_ids[:, 6:].any()
