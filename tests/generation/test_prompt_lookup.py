"""Prompt lookup: guesses beside plain Python, and texts that are those without it, token for token."""

from __future__ import annotations

import bare
import numpy as np
import pytest
from arrays import to_numpy
from generating import EOS, Generator, causal_lm, lively, small_generator
from translating import characters, make_sources

import zoo
from keras_transformers.families import marian, t5, transformer
from keras_transformers.generation.decoding import make_decoding
from keras_transformers.generation.prompt_lookup import LONGEST, NO_GUESS, SHORTEST, guess
from keras_transformers.generation.serving.service import CACHE_INCREMENT
from keras_transformers.tasks import Task

SIZES = {"num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 128, "eos_ids": [2], "pad_id": 0}
# Few tokens, so that n-grams repeat: guesses are made, some right and some wrong.
FEW = {token: float("-inf") for token in range(5, 30)} | {EOS: 0.5}
REPEATING = [[1, 2, 3, 1, 2, 3, 1, 2], [4], [3, 3, 3, 3], [1, EOS, 2, 1, EOS, 2, 1], [2, 1, 4, 4, 1, 3, 2, 2, 1, 4, 3]]
MODELS = {
    "gpt2": {},
    "llama": {"family": "llama", "block_options": [{"attention_window": 3}, {}]},
    "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative"},
    "lstm": {"family": "lstm"},
}
FAMILIES = {
    "transformer": lambda: transformer(40, **SIZES),
    "marian": lambda: marian(40, **SIZES),
    "t5": lambda: t5(40, **SIZES),
    "of two vocabularies": lambda: transformer(40, encoder_vocabulary_size=50, **SIZES),
}


# At night: T5 has a source and relative positions, and the last one no shared vocabulary.
NIGHTLY = [pytest.param(name, marks=pytest.mark.slow) for name in ("transformer", "marian")]


@pytest.fixture(scope="module")
def generator():
    return small_generator()


def looked_up(ids: list[int], length: int, until: int, number: int) -> list[int]:
    """The guesses after a row of which the last `length` tokens may be an n-gram, from places before `until`."""
    for size in range(min(LONGEST, length), SHORTEST - 1, -1):
        for place in range(min(until, len(ids)) - 1, size - 1, -1):
            if ids[place - size : place] == ids[len(ids) - size :]:
                following = ids[place:]
                return [following[i % len(following)] for i in range(number)]
    return [NO_GUESS] * number


@pytest.mark.parametrize("vocabulary, number", [(2, 1), (3, 7), (6, 4), (40, 9)])
def test_guesses_are_those_of_plain_python(vocabulary, number):
    """Rows of all lengths from 1, padded; some after a source, in which all, some or no guesses may begin."""
    random = np.random.default_rng(vocabulary)
    ids = random.integers(0, vocabulary, (60, 24)).astype("int32")
    ends = np.arange(60, dtype="int32") % 24 + 1
    lengths = random.integers(1, ends + 1).astype("int32")
    until = np.where(random.random(60) < 0.6, ends, random.integers(0, ends + 1)).astype("int32")
    expected = [
        looked_up(row[:end].tolist(), length, before, number)
        for row, end, length, before in zip(ids, ends, lengths, until, strict=True)
    ]
    assert to_numpy(guess(ids, ends, lengths, until, number)).tolist() == expected
    found = sum(row[0] != NO_GUESS for row in expected)
    assert 0 < found < 60 or vocabulary == 40


def equal(generator, prompts, **options) -> list:
    """The texts, once they have been found the same with guesses as without."""
    plain, guessed = generator(prompts, **options), generator(prompts, **options, prompt_lookup=4)
    for texts, others in zip(plain, guessed, strict=True):
        for text, other in zip(texts, others, strict=True):
            assert text.ids == other.ids and text.kept == other.kept
            np.testing.assert_allclose(text.score, other.score, atol=1e-3)
    return plain


@pytest.mark.integration
@pytest.mark.parametrize("name", MODELS)
def test_texts_are_the_same(name, generator):
    """Rows that begin and end at different places; and in fewer turns than tokens."""
    generator = small_generator(**MODELS[name]) if MODELS[name] else generator
    options = {"bias": FEW | {EOS: float("-inf")}, "max_new_tokens": [30, 1, 25, 30, 2]}
    texts = equal(generator, REPEATING, **options)
    assert [len(row[0].ids) for row in texts] == [30, 1, 25, 30, 2]
    assert len({token for (text,) in texts for token in text.ids}) > 1
    (alone,) = generator(REPEATING[:1], bias=options["bias"], max_new_tokens=30, prompt_lookup=4, turns=27)
    assert len(alone[0].ids) == 30


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {"stop": ["BAB", "DC"]},
        {"min_new_tokens": 6},
        {"repetition_penalty": 1.4, "no_repeat_ngram": [0, 3, 0, 4, 0]},
        {"temperature": [1.0, 0.0, 0.7, 1.0, 0.5], "seed": 5, "top_k": 3, "sequences": 3},
    ],
    ids=str,
)
def test_options_change_nothing(options, generator):
    texts = equal(generator, REPEATING, bias=FEW | {EOS: 1.0}, **{"max_new_tokens": 30} | options)
    assert any(text.ids[-1] == EOS or text.kept < 100 for row in texts for text in row)


def chain(*tokens: int) -> Generator:
    """A model that goes from each of the tokens to the next one, whatever stood before."""
    generator = small_generator(tie_embeddings=False, norm_order="pre")
    for weight in generator.model.weights:
        if "decoder_block" in weight.path or "position" in weight.path:
            weight.assign(0 * weight)
    embeddings = generator.model.get_layer("token_embedding").embeddings
    kernel = np.zeros(generator.model.get_layer("lm_head").kernel.shape, "float32")
    kernel[:, tokens[1:]] = to_numpy(embeddings)[[*tokens[:-1]]].T
    generator.model.get_layer("lm_head").kernel.assign(kernel)
    return generator


@pytest.mark.integration
def test_an_end_within_accepted_tokens_ends_the_text():
    """All guesses are right, and those after the end are not appended."""
    generator = chain(1, 2, 3, 4, EOS)
    prompt = [9, 2, 3, 4, EOS, 9, 9, 2]
    plain, guessed, one_turn = (
        generator([prompt, [9, 1]], **options)
        for options in ({}, {"prompt_lookup": 6}, {"prompt_lookup": 6, "turns": 2})
    )
    assert plain[0][0].ids == [3, 4, EOS] and plain == guessed
    assert one_turn[0][0].ids == [3, 4, EOS] and one_turn[1][0].ids == [2, 3]


@pytest.mark.integration
@pytest.mark.parametrize("family", [*NIGHTLY, "t5", "of two vocabularies"])
def test_texts_of_a_source_are_the_same(family):
    """Rows that begin with other tokens of the source; the cache grows several times."""
    config = FAMILIES[family]()
    task = Task("seq2seq_lm", config, characters(config))
    lively(task.model)
    sources, new = [source * 3 for source in make_sources(task, 6, longest=8)], CACHE_INCREMENT + 9
    bias = {task.config.eos_ids[0]: -3.0} | {token: float("-inf") for token in range(10, 30)}
    options = {"token_bias": bias, "num_beams": 1, "max_new_tokens": [new, 1, new, 4, 2 * new, 30]}
    plain, guessed = (task.predict(sources, **options, **lookup) for lookup in ({}, {"prompt_lookup": 5}))
    for row, other in zip(plain, guessed, strict=True):
        np.testing.assert_allclose(row.pop("score"), other.pop("score"), atol=1e-3)
    assert plain == guessed and max(row["num_tokens"] for row in plain) > CACHE_INCREMENT


@pytest.mark.integration
def test_a_stream_has_larger_pieces():
    task = causal_lm(end_token=False)
    options = {"max_new_tokens": 24, "repetition_penalty": 0.1}
    (text,) = task.generate(["the cat sat on"], **options)
    pieces, larger = ([*task.stream("the cat sat on", **options, **x)] for x in ({}, {"prompt_lookup": 7}))
    assert "".join(larger) == "".join(pieces) == text
    assert len(larger) < len(pieces)


@pytest.mark.parametrize("wrong", [0, -1, True, 2.0, "7", 65, [3]])
def test_a_wrong_number_is_refused(wrong):
    with pytest.raises(ValueError, match=r"prompt_lookup is a number of tokens to guess, from 1 to 64.*received"):
        make_decoding(1, wrong)


@pytest.mark.integration
def test_it_is_refused_before_any_work(tmp_path):
    task = causal_lm()
    for call in (task.generate, task.predict, lambda texts, **x: task.export(tmp_path / "1", **x)):
        with pytest.raises(ValueError, match=r"prompt_lookup=4 with num_beams=3. Give num_beams=1"):
            call(["a"], prompt_lookup=4, num_beams=3)
        with pytest.raises(ValueError, match="prompt_lookup is a number"):
            call(["a"], prompt_lookup=0)
    with pytest.raises(ValueError, match="prompt_lookup is a number"):
        task.stream("a", prompt_lookup=False)
    assert not [*tmp_path.iterdir()] and task.parts.answers.made_service is None


def test_a_pass_reads_no_more_than_the_model():
    """A position table of 8 rows has none for the ninth of 1 + 64 tokens; texts of 8 tokens accept 7 at most."""
    assert [make_decoding(1, 64, longest).prompt_lookup for longest in (1, 2, 8, 64, 65, 100)] == [1, 1, 7, 63, 64, 64]


@pytest.mark.integration
def test_more_guesses_than_positions():
    task = causal_lm()
    texts = ["the cat sat on the cat", "a"]
    longest = task.max_length
    assert longest <= 64
    options = {"max_new_tokens": 5}
    assert task.generate(texts, **options, prompt_lookup=longest) == task.generate(texts, **options)


def test_numpy_numbers_are_numbers():
    assert make_decoding(1, np.int64(7)) == make_decoding(1, 7) and make_decoding(1) != make_decoding(1, 7)


@pytest.mark.integration
def test_an_export_is_the_same_in_a_bare_process(tmp_path):
    task = causal_lm()
    texts = ["the cat the cat", "a", "", "one, one, one, two"]
    task.export(tmp_path / "1", max_new_tokens=24, prompt_lookup=6, repetition_penalty=0.5)
    answer = bare.ask(tmp_path / "1", {"serving_default": {"text": texts}})["serving_default"]
    expected = task.predict(texts, max_new_tokens=24, repetition_penalty=0.5)
    assert answer["generated_text"] == [row["generated_text"] for row in expected]
    assert answer["num_tokens"] == [row["num_tokens"] for row in expected]


@pytest.mark.integration
def test_real_texts_are_the_same():
    """Of the bundled models: a text that quotes, free texts, and names and numbers."""
    story = "The old man went down to the sea, and the sea was calm. He looked at the boat, and the boat was old."
    prompts = [f"{story} {story} {story[:60]}", "It was a dark night, and", "She said that she"]
    task = zoo.load("gpt_mini_en")
    plain, guessed = (task.generate(prompts, max_new_tokens=80, **x) for x in ({}, {"prompt_lookup": 7}))
    assert plain == guessed
    task, lines = zoo.load("transformer_mini_en_de"), ["Tom moved to Boston in 2003.", "Is Mary from Kyoto or Kobe?"]
    plain, guessed = (task.generate(lines, num_beams=1, **x) for x in ({}, {"prompt_lookup": 3}))
    assert plain == guessed and "2003" in plain[0]
