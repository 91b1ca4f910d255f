"""LoRA: what trains, what changes, and that a merged model is the same one without adapters."""

import itertools
import sys

import keras
import numpy as np
import pytest

from keras_transformers import heads
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import bert, convolutional, gpt2, llama
from keras_transformers.models import decoder, encoder
from keras_transformers.training import lora
from keras_transformers.training.lora import add_lora, merged
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.utils import keras_private

SIZES = {"vocabulary_size": 50, "num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 16}
CONFIGS = {
    "bert": bert(**SIZES),
    "gpt2": gpt2(**SIZES),
    "llama": llama(**SIZES, num_kv_heads=1, intermediate_dim=24),
}
ARCHITECTURES = {"gpt2": "GPT2ForSequenceClassification", "bert": "BertForSequenceClassification"}
LABELS = np.arange(8) % 2


def inputs_of(config):
    ids = np.random.default_rng(0).integers(5, 50, (8, 12))
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": np.ones_like(ids)}
    return {name: array for name, array in inputs.items() if name != "segment_ids" or config.num_segments}


def classifier(config, dtype=None):
    """A classifier whose weights have left their initial values."""
    keras.utils.set_random_seed(0)
    config = config.replace(dropout=0.0, attention_dropout=0.0, initializer_range=0.3)
    body = (encoder if config.kind == "encoder" else decoder)(config, dtype=dtype)
    if config.kind == "encoder":
        pooled = heads.pooler(config, body.output["hidden_states"], dtype)
    else:
        pooled = heads.last_token(body.output["hidden_states"], body.input["padding_mask"])
    model = keras.Model(body.input, {"logits": heads.classification_head(config, pooled, 2, dtype)})
    model.compile(AdamW(1e-2), loss={"logits": CrossEntropy()}, run_eagerly=True)  # a graph takes longer to trace
    return model


def trained(config, dtype=None):
    """Inputs, and a model with adapters that are not zero."""
    model, inputs = classifier(config, dtype), inputs_of(config)
    add_lora(model, 2, alpha=4.0, train=["classifier", "no_such_layer"])
    model.fit(inputs, LABELS, epochs=3, verbose=0)
    return model, inputs


def logits(model, inputs):
    return keras.ops.convert_to_numpy(keras.ops.cast(model(inputs)["logits"], "float32"))


def values(model):
    return {variable.path: keras.ops.convert_to_numpy(variable) for variable in model.weights}


@pytest.mark.integration
@pytest.mark.parametrize("name", CONFIGS)
def test_only_adapters_and_the_new_head_train(name):
    config = CONFIGS[name]
    model, inputs = classifier(config), inputs_of(config)
    before = logits(model, inputs)
    shapes = {v.path: tuple(v.shape) for v in model.weights}
    add_lora(model, 2, train=["classifier"])
    np.testing.assert_array_equal(logits(model, inputs), before)
    kernels = [
        shape for path, shape in shapes.items() if "_block_" in path and path.endswith("kernel") and len(shape) == 2
    ]
    assert len(kernels) == {"bert": 6, "gpt2": 6, "llama": 7}[name]
    head = sum(np.prod(shape) for path, shape in shapes.items() if path.startswith("classifier/"))
    count = sum(np.prod(v.shape) for v in model.trainable_variables)
    assert count == head + 2 * sum(map(sum, kernels))
    start = values(model)
    model.fit(inputs, LABELS, verbose=0, epochs=2)
    changed = {path for path, value in values(model).items() if not np.array_equal(value, start[path])}
    assert changed == {v.path for v in model.trainable_variables}


@pytest.mark.integration
@pytest.mark.parametrize("name", CONFIGS)
def test_merged_is_the_same_model_without_adapters(name):
    model, inputs = trained(CONFIGS[name])
    plain, expected, weights = classifier(CONFIGS[name]), logits(model, inputs), values(model)
    assert np.abs(expected - logits(plain, inputs)).max() > 1e-2
    with merged(model) as has_adapters:
        assert has_adapters
        assert [v.path for v in model.weights] == [v.path for v in plain.weights]
        plain.set_weights(model.get_weights())
        np.testing.assert_allclose(logits(model, inputs), expected, atol=1e-5)
    np.testing.assert_allclose(logits(plain, inputs), expected, atol=1e-5)
    assert list(values(model)) == list(weights)
    assert all(map(np.array_equal, values(model).values(), weights.values()))
    np.testing.assert_array_equal(logits(model, inputs), expected)
    model.fit(inputs, LABELS, verbose=0)
    assert not np.array_equal(logits(model, inputs), expected)
    with merged(plain) as has_adapters:
        assert not has_adapters


@pytest.mark.integration
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_saved_checkpoint_is_merged(name, tmp_path):
    (model, inputs), plain = trained(CONFIGS[name]), classifier(CONFIGS[name])
    options = {"architecture": ARCHITECTURES[name], "labels": ["a", "b"]}
    with merged(model):
        save_folder(tmp_path / "model", model, CONFIGS[name], None, **options)
    load_weights(plain, tmp_path / "model")
    np.testing.assert_allclose(logits(plain, inputs), logits(model, inputs), atol=1e-5)


@pytest.mark.integration
def test_a_keras_file_is_merged(tmp_path):
    model, inputs = trained(CONFIGS["gpt2"])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    assert not any("lora" in variable.path for variable in loaded.weights)
    np.testing.assert_allclose(logits(loaded, inputs), logits(model, inputs), atol=1e-5)


@pytest.mark.integration
def test_an_exported_function_has_no_adapters(tmp_path):
    tf = pytest.importorskip("tensorflow")
    model, inputs = trained(CONFIGS["gpt2"])
    inputs = {name: tf.constant(array, "int32") for name, array in inputs.items()}
    module = tf.Module()
    with merged(model):
        module.weights = [variable.value for variable in model.variables]
        module.call = tf.function(lambda inputs: model(inputs)["logits"], autograph=False)
        module.call.get_concrete_function(inputs)
        tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert not any("lora" in variable.name for variable in loaded.weights)
    np.testing.assert_allclose(loaded.call(inputs), logits(model, inputs), atol=1e-5)


@pytest.mark.integration
def test_merging_keeps_the_precision_of_the_weights():
    model, _ = trained(CONFIGS["gpt2"], dtype="mixed_bfloat16")
    dense = model.get_layer("decoder_block_0").attention.query
    kernel, a, b = (np.array(v) for v in (keras_private.kernel(dense), dense.lora_kernel_a, dense.lora_kernel_b))
    with merged(model):
        np.testing.assert_allclose(np.array(keras_private.kernel(dense)), kernel + 2.0 * a @ b, atol=1e-7)


@pytest.mark.integration
def test_an_interrupt_at_any_line_of_merging_leaves_the_model_whole():
    model = classifier(CONFIGS["gpt2"])
    add_lora(model, 2)
    for layer in lora._dense_layers(model):
        layer.lora_kernel_b.assign_add(np.ones(layer.lora_kernel_b.shape, "float32"))
    weights, lines = values(model), itertools.count()
    while interrupted(model, next(lines)):
        found = values(model)
        assert list(found) == list(weights)
        assert all(map(np.array_equal, found.values(), weights.values()))
        assert all(layer.lora_enabled for layer in lora._dense_layers(model))
    assert next(lines) > 100


def interrupted(model, line):
    """Presses Ctrl-C at the given line of our code that merges and separates again; False if it has no more."""
    count = itertools.count()

    def trace(frame, event, argument):
        if frame.f_code.co_filename not in (lora.__file__, keras_private.__file__):
            return None
        if event == "line" and next(count) == line:
            raise KeyboardInterrupt
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        with merged(model):
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(previous)
    return False


@pytest.mark.integration
def test_errors():
    model, _ = trained(CONFIGS["gpt2"])
    with pytest.raises(ValueError, match="has been trained; call compile"):
        add_lora(model, 2)
    model.compile(AdamW(1e-2), loss={"logits": CrossEntropy()})
    with pytest.raises(ValueError, match="already enabled"):
        add_lora(model, 2)
    with pytest.raises(ValueError, match="rank=0"):
        add_lora(model, 0)
    with pytest.raises(ValueError, match="`train`, received one str"):
        add_lora(classifier(CONFIGS["gpt2"]), 2, train="classifier")


@pytest.mark.integration
def test_a_rank_is_a_whole_number():
    for rank in (1.5, "2", True, -1):
        with pytest.raises(ValueError, match=f"rank={rank}"):
            add_lora(classifier(CONFIGS["gpt2"]), rank)


def test_blocks_without_dense_layers():
    model = decoder(convolutional(vocabulary_size=50, num_layers=1, hidden_dim=16, max_length=16, kind="decoder"))
    with pytest.raises(ValueError, match="received a model without blocks, or whose blocks have convolutions"):
        add_lora(model, rank=2)
    assert all(variable.trainable for variable in model.weights)
