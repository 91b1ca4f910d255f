"""Prefixes that are read once: the texts and scores are those of prompts which begin with the prefix."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from arrays import to_numpy
from decoder_cases import LONG
from decoding import make_room
from generating import PROMPTS, causal_lm, ids_of, small_generator
from small_decoders import small_config, whole
from translating import seq2seq_lm

from keras_transformers.generation.prefix import MOST_KEPT, PrefixStates
from keras_transformers.models import decoder
from keras_transformers.models.decoder import prefill, step
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.fingerprint import fingerprint

PREFIX = [4, 9, 13, 2, 8, 8, 21, 5, 17, 3]
TEXT, TEXTS = "one, two, the cat sat. ", ["naïve 😀 smile", "", "mat"]  # no token joins the prefix and one of these
EACH_KIND = ["gpt2", "gemma3_text", "mistral", "qwen3_5_text", "lstm"]  # of cache
NIGHTLY = [pytest.param(name, marks=pytest.mark.slow) for name in ("opt", "lfm2", "cnn")]
SAMPLES = {"temperature": 1.0, "seed": [1, 2, 3, 4], "sequences": 2}
LOOKUP = {"prompt_lookup": 3, "no_repeat_ngram": 3, "repetition_penalty": 1.2}


@pytest.fixture(scope="module")
def task():
    return causal_lm()


def check_same(family: str, prefix: list[int], **options) -> None:
    generator, prompts = small_generator(family), [*PROMPTS, []]
    expected = generator([[*prefix, *prompt] for prompt in prompts], **options)
    answers = generator(prompts, prefix=prefix, **options)
    assert ids_of(answers) == ids_of(expected)
    scores = [[[text.score for text in texts] for texts in each] for each in (answers, expected)]
    np.testing.assert_allclose(*scores, atol=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("family", [*EACH_KIND, *NIGHTLY])
def test_texts_are_those_of_the_whole_prompts(family):
    check_same(family, PREFIX)


@pytest.mark.integration
@pytest.mark.parametrize("options", [SAMPLES, {"num_beams": 3, "sequences": 2}, LOOKUP])
def test_so_are_samples_beams_and_guessed_texts(options):
    check_same("gpt2", PREFIX, **options)


@pytest.mark.integration
@pytest.mark.parametrize("family", ["gpt2", "qwen3_5_text"])
def test_a_prefix_of_one_token(family):
    check_same(family, PREFIX[:1])


@pytest.mark.integration
@pytest.mark.parametrize("family", ["lfm2", "qwen3_5_text"])
def test_padding_changes_no_state_behind_a_prefix(family):
    config = small_config(family)
    model, ids, lengths = decoder(config), np.array([PREFIX[:6], PREFIX[4:]]), np.array([[5], [3]])
    cache = make_room(prefill(config, model)(whole(ids[:, :3]))["cache"])
    real = (np.arange(3, 6) < lengths).astype("int32")
    new = {"token_ids": ids[:, 3:], "cache_positions": np.tile(np.arange(3, 6), (2, 1)), "cache": cache}
    outputs = step(config, model, padded=True)(new | {"padding_mask": real})["cache"]
    mask = (np.arange(6) < lengths).astype("int32")
    expected = prefill(config, model)(whole(ids * mask, mask))["cache"]
    assert any("state_inputs" in block for block in outputs)
    for block, right in zip(outputs, expected, strict=True):
        for name in [name for name in block if name.startswith("state_")]:
            np.testing.assert_allclose(to_numpy(block[name]), to_numpy(right[name]), atol=1e-5)


@pytest.mark.integration
def test_states_are_kept_until_the_weights_change():
    generator = small_generator("gpt2", num_layers=1)
    states = PrefixStates(generator.model, generator.program, lambda function: function)
    first = states(PREFIX)
    assert states(PREFIX) is first and states(PREFIX[:3]) is not first
    for token in range(MOST_KEPT):
        states([token])
    again = states(PREFIX)
    assert again is not first  # the oldest has made room
    np.testing.assert_array_equal(to_numpy(again.blocks[0]["key"]), to_numpy(first.blocks[0]["key"]))

    weight = next(weight for weight in generator.model.weights if weight.path.endswith("key/kernel"))
    changed = to_numpy(weight)
    changed[0, 0] += 1e-3
    weight.assign(changed)
    assert np.abs(to_numpy(states(PREFIX).blocks[0]["key"]) - to_numpy(first.blocks[0]["key"])).max() > 1e-5


def test_exchanged_weights_have_another_fingerprint():
    table = np.arange(6.0).reshape(2, 3)
    rows, others = (fingerprint(x) for x in (table, table[:, ::-1].copy()))
    assert (to_numpy(rows) != to_numpy(others)).all() and rows.shape == (2,)


@pytest.mark.integration
def test_a_task_and_its_export_read_a_prefix_once(task, tmp_path):
    options = {"max_new_tokens": 8}
    expected = task.predict([TEXT + text for text in TEXTS], **options)
    answers = task.predict(TEXTS, prefix=TEXT, **options)
    for answer, right in zip(answers, expected, strict=True):
        assert answer["generated_text"] == right["generated_text"] and answer["error"] == ""
        assert abs(answer["score"] - right["score"]) < 1e-4
    assert "".join(task.stream(TEXTS[0], prefix=TEXT, **options)) == expected[0]["generated_text"]
    assert task.generate(TEXTS[:1], **options) != [expected[0]["generated_text"]]  # no call behind it has the prefix

    task.export(tmp_path / "1", prefix=TEXT, **options)
    served = tf.saved_model.load(str(tmp_path / "1")).signatures
    texts = served["serving_default"](text=tf.constant(TEXTS))["generated_text"].numpy()
    assert [text.decode() for text in texts] == [row["generated_text"] for row in expected]
    assert not hasattr(task.service.module, "prefix_of_text")
    choices = {"text": tf.constant(TEXTS), "choices": tf.constant([[" day", " mat"]] * 3)}
    chosen = [text.decode() for text in served["choose"](**choices)["generated_text"].numpy()]
    assert chosen == task.generate(TEXTS, prefix=TEXT, choices=[" day", " mat"])


@pytest.mark.integration
def test_new_weights_give_new_texts_behind_a_prefix():
    task = causal_lm()
    before = task.predict(["mat"], prefix=TEXT, max_new_tokens=4)[0]
    task.model.set_weights([0.5 * weight for weight in task.model.get_weights()])
    after, expected = (
        task.predict(["mat"], prefix=TEXT, max_new_tokens=4),
        task.predict([TEXT + "mat"], max_new_tokens=4),
    )
    assert abs(after[0]["score"] - before["score"]) > 1e-3 and abs(after[0]["score"] - expected[0]["score"]) < 1e-4


@pytest.mark.integration
def test_a_prompt_that_is_too_long_loses_its_own_beginning(task):
    size = len(task.tokenizer.encode([TEXT], special_tokens=False)[0].ids)
    (long,) = task.predict(["mat" * 40], prefix=TEXT, max_new_tokens=8)
    ids = task.tokenizer.encode(["mat" * 40], special_tokens=False)[0].ids[-(48 - 8 - size) :]
    (kept,) = task.predict([task.tokenizer.decode([ids])[0]], prefix=TEXT, max_new_tokens=8)
    assert long["truncated"] and not kept["truncated"] and long["generated_text"] == kept["generated_text"]
    (refused,) = task.predict(["mat" * 40], prefix=TEXT, max_new_tokens=8, special_tokens=False)
    assert refused["error"].startswith("The conversation") and not refused["truncated"]
    rows = task.predict(["mat", "mat"], prefix=TEXT, max_new_tokens=[8, 40])
    assert rows[0]["error"] == "" and "no room" in rows[1]["error"]


def test_wrong_prefixes_are_refused(task):
    for wrong, told in [(["a"], "prefix is one str"), ("", "no tokens"), (TEXT * 4, "Shorten the prefix")]:
        with pytest.raises(ValueError, match=told):
            task.generate(["mat"], prefix=wrong, max_new_tokens=8)


@pytest.mark.integration
def test_models_that_cannot_have_a_prefix_refuse_it():
    with pytest.raises(ValueError, match="this model has an encoder"):
        seq2seq_lm().generate(["a b"], prefix="a")
    tokenizer = Tokenizer.train(["the cat sat"], 270, model="byte_pair")
    options = {"vocabulary_size": tokenizer.vocabulary_size, "num_heads": 2}
    options["rotary_scaling"] = LONG | {"original_length": 8}
    task = Task("causal_lm", small_config("phi3", **options), tokenizer)
    with pytest.raises(ValueError, match="longrope"):
        task.generate(["a"], prefix="the cat", max_new_tokens=2)
