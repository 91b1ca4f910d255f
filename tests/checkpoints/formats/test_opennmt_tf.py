from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arrays import to_numpy
from bare import ask
from opennmt_models import FEATURES, SOURCES, write, write_config
from small_seq2seq import whole_model

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions
from keras_transformers.checkpoints.weights.loading import load_weights

pytestmark = pytest.mark.filterwarnings("ignore:.* lacks some settings")

MODELS = {
    "apart": {},
    "input": {"share": "input", "layers": (1, 2)},
    "target": {"share": "target", "width": 16, "heads": 4},
    "all": {"share": "all", "heads": 1, "layers": (1, 1)},
    "post": {"share": "target", "post": True, "biases": False},
    "no_biases": {"biases": False},
}
IDS = np.array([[3, 5, 4, 9], [7, 6, 0, 0]])
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
TARGETS = np.array([[1, 5, 3, 6, 4], [1, 3, 7, 2, 0]])


def logits_of(model) -> np.ndarray:
    inputs = {"encoder_token_ids": IDS, "encoder_padding_mask": MASK, "token_ids": TARGETS,
              "padding_mask": np.ones_like(TARGETS)}  # fmt: skip
    return to_numpy(model({name: array.astype("int32") for name, array in inputs.items()})["logits"])


def refusal(place: Path, said: UserOptions = UserOptions()) -> str:  # noqa: B008
    """The message of the error of reading a checkpoint."""
    with pytest.raises(ValueError) as error:
        find_stored(place, said)
    return str(error.value)


@pytest.mark.integration
@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_the_formulas(name, tmp_path):
    written = write(tmp_path, seed=5, **MODELS[name], description="")
    stored = find_stored(tmp_path, UserOptions(num_heads=written.heads))
    model = whole_model(stored.config)
    assert load_weights(model, stored) == ()
    np.testing.assert_allclose(logits_of(model), written.logits(IDS, MASK, TARGETS), atol=2e-5)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A model, its task, and the folder that the task was saved to."""
    place, saved = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("saved") / "model"
    written = write(place, seed=3)
    write_config(place, params={"maximum_decoding_length": 12})
    task = zoo.load(place)
    task.save(saved)
    return written, task, saved


@pytest.mark.integration
def test_a_saved_folder_computes_the_same(loaded):
    _, task, saved = loaded
    again = zoo.load(saved)
    np.testing.assert_array_equal(logits_of(again.model), logits_of(task.model))
    assert again.config == task.config
    for side in ("tokenizer", "target_tokenizer"):
        assert getattr(again, side).to_json() == getattr(task, side).to_json()
    assert again.parts.answers.generation == task.parts.answers.generation
    assert again.generate(SOURCES, max_new_tokens=9) == task.generate(SOURCES, max_new_tokens=9)


@pytest.mark.integration
def test_texts_are_written_as_by_hand(loaded):
    written, task, _ = loaded
    for source, text in zip(SOURCES, task.generate(SOURCES, max_new_tokens=9), strict=True):
        ids = task.tokenizer.encode([source])[0].ids
        assert 2 not in ids  # sources do not end with </s>
        assert text == task.target_tokenizer.decode(written.greedy(np.array([ids]), 9))


@pytest.mark.integration
def test_an_export_answers_the_same(loaded, tmp_path):
    _, task, _ = loaded
    task.export(tmp_path / "1")
    answers = ask(tmp_path / "1", {"serving_default": {"text": SOURCES}})["serving_default"]
    assert answers["generated_text"] == task.generate(SOURCES)


def test_heads_are_those_of_the_model_type(tmp_path):
    stored = find_stored(write(tmp_path).prefix)
    assert stored.config.num_heads == 2
    assert "2 attention heads, as TransformerTiny has" in stored.assumed
    assert find_stored(tmp_path, UserOptions(num_heads=2)).config == stored.config
    assert "received num_heads=4, but the model type TransformerTiny has 2" in refusal(
        tmp_path, UserOptions(num_heads=4)
    )

    description = tmp_path / "model_description.py"
    description.write_text("model = lambda: opennmt.models.Transformer(num_heads=4, ffn_activation=tf.nn.gelu)")
    config = find_stored(tmp_path).config
    assert (config.num_heads, config.activation) == (4, "gelu")
    description.write_text("model = lambda: opennmt.models.Transformer(ffn_activation=tf.nn.elu)")
    assert "ffn_activation='tf.nn.elu', which is not supported" in refusal(tmp_path, UserOptions(num_heads=2))

    description.unlink()
    assert "give num_heads=..." in refusal(tmp_path)
    assert "num_heads must divide the width, 8: received 3" in refusal(tmp_path, UserOptions(num_heads=3))
    assert "ReLU" in " ".join(find_stored(tmp_path, UserOptions(num_heads=2)).assumed)


def test_settings_of_a_run_are_followed(tmp_path):
    write(tmp_path)
    values = find_stored(tmp_path).values
    assert (values["max_new_tokens"], values["length_penalty"], values.get("num_beams")) == (250, 0.0, None)

    write_config(tmp_path, params={"beam_width": 5, "maximum_decoding_length": 600, "minimum_decoding_length": 2,
                                   "length_penalty": 0.6, "learning_rate": 2})  # fmt: skip
    stored = find_stored(tmp_path)
    assert [stored.values[key] for key in ("num_beams", "max_new_tokens", "min_new_tokens")] == [5, 600, 2]
    assert stored.config.max_length > 600
    assert "texts are written without length_penalty: 0.6, which means something else here" in stored.assumed

    for value in ("many", 0, True, 10**9):
        write_config(tmp_path, params={"beam_width": value})
        assert f"beam_width must be a whole number from 1 to 1,024: received {value!r}" in refusal(tmp_path)
    write_config(tmp_path, params={"maximum_decoding_length": 10**9})
    assert "maximum_decoding_length must be a whole number from 1 to 65,536" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"more": {"encoder/layers/0/self_attention/layer/relative_position_keys": (3, 4)}}, "relative positions"),
        ({"more": {"decoder/position_encoder/embedding": (9, 8)}}, "learned positions"),
        ({"more": {"decoder/layers/0/attention/1/layer/linear_keys/kernel": (8, 8)}}, "several inputs"),
        ({"more": {"encoder/cell/kernel": (8, 8)}}, "recurrent"),
        ({"more": {"decoder/gate/kernel": (8, 8)}}, r"weights that have no place here: \['decoder/gate/kernel"),
        ({"without": ["encoder/position_encoder"]}, "no positions"),
        ({"without": ["decoder/output_layer/kernel"]}, "nothing at .*output_layer/kernel"),
        ({"without": [FEATURES], "more": {"examples_inputter/embedding": (9, 8)}}, "weights that have no place here"),
    ],
)
def test_other_models_are_refused_by_name(options, what, tmp_path):
    write(tmp_path, **options)
    with pytest.raises(ValueError, match=f"a model of OpenNMT-tf with {what}.*: expected a Transformer"):
        find_stored(tmp_path)


def test_a_language_model_is_refused_by_name(tmp_path):
    import tensorflow as tf
    from opennmt_models import tree

    model = tree({"examples_inputter/embedding": tf.Variable([[1.0]]), "decoder/layer_norm/beta": tf.Variable([1.0])})
    tf.train.Checkpoint(model=model).write(str(tmp_path / "ckpt-1"))
    assert "with no encoder (a LanguageModel), which is not supported" in refusal(tmp_path)


def test_a_checkpoint_without_a_model_is_told(tmp_path):
    import tensorflow as tf
    from opennmt_models import tree

    optimizer = tree({"iter": tf.Variable(3), "beta_1": tf.Variable(0.9)})
    tf.train.Checkpoint(optimizer=optimizer, step=tf.Variable(1)).write(str(tmp_path / "ckpt-1"))
    (tmp_path / "model_description.py").touch()
    assert "holds no model, maybe only the state of an optimizer" in refusal(tmp_path)


@pytest.mark.integration
def test_weights_of_other_sizes_are_refused_before_a_model_is_made(tmp_path):
    prefix = write(tmp_path, more={"encoder/layers/1/ffn/layer/outer/kernel": (11, 8)}).prefix
    with pytest.raises(ValueError, match=r"encoder_block_1\.feed_forward\.output\.weight"):
        load_weights(whole_model(find_stored(prefix).config), prefix)

    data = prefix.with_name(f"{prefix.name}.data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:-3000])
    assert "cut short, or belongs to another checkpoint" in refusal(tmp_path)


@pytest.mark.data
def test_the_shared_sample(data_dir):
    """Written by OpenNMT-tf 2.32, with the logits of a forced pass."""
    place = data_dir / "tf_checkpoints" / "opennmt-tf" / "transformer"
    stored = find_stored(place, UserOptions(num_heads=2))
    model = whole_model(stored.config)
    load_weights(model, stored)
    reference = np.load(place / "reference.npz")
    targets = reference["decoder_ids"]
    inputs = {"encoder_token_ids": reference["ids"], "encoder_padding_mask": reference["mask"], "token_ids": targets,
              "padding_mask": np.ones_like(targets)}  # fmt: skip
    logits = to_numpy(model({name: array.astype("int32") for name, array in inputs.items()})["logits"])
    np.testing.assert_allclose(logits, reference["logits"], atol=1e-5)
