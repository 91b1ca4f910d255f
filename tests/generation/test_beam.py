from __future__ import annotations

import itertools

import numpy as np
import pytest
from arrays import to_numpy
from generating import EOS, PROMPTS, ids_of, small_generator
from keras import ops

from keras_transformers.generation.beam import _largest

SAMPLING_PARAMETERS = {
    "max_new_tokens": [12, 5, 9],
    "min_new_tokens": [0, 3, 0],
    "repetition_penalty": [1.0, 1.3, 1.0],
    "no_repeat_ngram": [2, 0, 3],
    "length_penalty": [1.0, 0.0, 2.0],
}


@pytest.fixture(scope="module")
def generator():
    return small_generator()


def every_text(vocabulary_size: int, longest: int) -> list[tuple[int, ...]]:
    """All that ends with the end token, and all that does not and is as long as can be."""
    words = range(1, vocabulary_size)
    ended = [(*text, EOS) for length in range(longest) for text in itertools.product(words, repeat=length)]
    return ended + list(itertools.product(words, repeat=longest))


@pytest.mark.integration
def test_with_enough_beams_it_finds_the_best_of_all_texts():
    """40 texts can be, of at most 3 of 4 tokens, so that 64 beams lose none."""
    generator = small_generator(vocabulary_size=4, num_layers=1)
    prompts, length_penalties = [[1, 2, 3], [2], [2]], [0.0, 1.0, -1.0]
    answers = generator(prompts, 64, 64, max_new_tokens=3, length_penalty=length_penalties)
    for prompt, texts, length_penalty in zip(prompts, answers, length_penalties, strict=True):
        scores = {}
        for text in every_text(4, 3):
            log_probs = np.take_along_axis(generator.log_probs(prompt, list(text)), np.array(text)[:, None], axis=1)
            scores[text] = log_probs.sum() / len(text) ** length_penalty
        found = {tuple(text.ids): text.score for text in texts if np.isfinite(text.score)}
        assert found.keys() == scores.keys() and len(found) == 40
        assert list(found.values()) == sorted(found.values(), reverse=True)
        for text, score in found.items():
            np.testing.assert_allclose(score, scores[text], atol=1e-4)
        assert [text.ids for text in texts[40:]] == [[]] * 24  # there are no more


@pytest.mark.parametrize("size", [7, 257, 3 * 256, 6 * 113, 50257])
def test_the_largest_are_found_in_parts(size):
    """A prime, a multiple of the longest part, parts of 226 and of 29."""
    x = np.random.default_rng(0).permutation(3 * size).reshape(3, size).astype("float32")
    x[1, 5:] = -np.inf
    values, places = (to_numpy(y) for y in _largest(ops.array(x), 7))
    np.testing.assert_array_equal(values, -np.sort(-x)[:, :7])
    np.testing.assert_array_equal(np.take_along_axis(x, places, axis=1), values)
    assert all(len(set(row)) == 7 for row in places.tolist())


@pytest.mark.integration
def test_a_row_does_not_depend_on_its_neighbours(generator):
    together = generator(PROMPTS, 4, 3, stop=["QQ"], **SAMPLING_PARAMETERS)
    for row, prompt in enumerate(PROMPTS):
        (alone,) = generator(
            [prompt], 4, 3, stop=["QQ"], **{name: values[row] for name, values in SAMPLING_PARAMETERS.items()}
        )
        assert ids_of([together[row]]) == ids_of([alone])
        np.testing.assert_allclose([t.score for t in together[row]], [t.score for t in alone], atol=1e-4)


@pytest.mark.integration
def test_scores_and_their_order(generator):
    for prompt, texts in zip(PROMPTS, generator(PROMPTS, 4, 4, length_penalty=0.7), strict=True):
        assert len({tuple(text.ids) for text in texts}) == 4
        for text in texts:
            log_probs = np.take_along_axis(generator.log_probs(prompt, text.ids), np.array(text.ids)[:, None], axis=1)
            np.testing.assert_allclose(text.score, log_probs.sum() / len(text.ids) ** 0.7, atol=1e-4)
        assert [text.score for text in texts] == sorted((text.score for text in texts), reverse=True)


@pytest.mark.integration
def test_better_than_greedy_and_the_best_first(generator):
    prompts = [[number] for number in range(1, 30)]
    greedy, beams = generator(prompts), generator(prompts, 4, length_penalty=0.0)
    gain = np.array([two.score - one.score for (one,), (two,) in zip(greedy, beams, strict=True)])
    assert (gain > 1e-3).sum() > 5 and (gain > -1e-4).mean() > 0.9
    assert [texts[:2] for texts in generator(PROMPTS, 4, 4)] == generator(PROMPTS, 4, 2)


@pytest.mark.integration
@pytest.mark.parametrize("parameters", [{"max_new_tokens": 1}, {"min_new_tokens": 6}, {"no_repeat_ngram": 1}], ids=str)
def test_limits(generator, parameters):
    texts = [text.ids for texts in generator(PROMPTS, 4, 4, **parameters) for text in texts]
    longest = parameters.get("max_new_tokens", 12)
    assert all(len(ids) == longest or ids[-1] == EOS for ids in texts)
    assert all(EOS not in ids[:-1] and EOS not in ids[: parameters.get("min_new_tokens", 0)] for ids in texts)
    if "no_repeat_ngram" in parameters:
        assert all(len(set(ids)) == len(ids) for ids in texts)


@pytest.mark.integration
def test_stop_strings(generator):
    plain = generator(PROMPTS, 4, bias={EOS: float("-inf")})[0][0]
    letters = bytes(64 + number for number in plain.ids).decode()
    stop = letters[3:5]
    for text in generator(PROMPTS[:1], 4, 4, bias={EOS: float("-inf")}, stop=[stop])[0]:
        spelled = bytes(64 + number for number in text.ids).decode()
        assert spelled.find(stop) == (text.kept if text.kept < 100 else -1)
        assert stop not in spelled[:-1]  # it ended there at once


@pytest.mark.integration
def test_grouped_heads_and_half_precision():
    generator = small_generator("llama", "mixed_bfloat16")
    for prompt, (text,) in zip(PROMPTS, generator(PROMPTS, 3), strict=True):
        log_probs = np.take_along_axis(generator.log_probs(prompt, text.ids), np.array(text.ids)[:, None], axis=1)
        np.testing.assert_allclose(text.score, log_probs.mean(), atol=0.1)
