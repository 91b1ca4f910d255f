from __future__ import annotations

import threading

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformers.analysis.attention.ablation import Head, parse_heads, without_heads
from keras_transformers.families import bert, llama, transformer
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.training.lora import add_lora, merged

SIZES = {"num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 12}
IDS = np.array([[3, 7, 9, 21, 5]], "int32")
TEXT = {"token_ids": IDS, "padding_mask": np.ones_like(IDS)}
SOURCE = {f"encoder_{name}": array[:, :4] for name, array in TEXT.items()}
CONFIGS = {
    "encoder": bert(40, **SIZES),
    "decoder": llama(40, **SIZES, intermediate_dim=24, num_kv_heads=2),
    "encoder_decoder": transformer(40, **SIZES),
}
INPUTS = {
    "encoder": TEXT | {"segment_ids": np.zeros_like(IDS)},
    "decoder": TEXT,
    "encoder_decoder": TEXT | SOURCE,
}
HEADS = [
    ("encoder", Head("self", 1, 2)),
    ("decoder", Head("self", 0, 3)),
    ("encoder_decoder", Head("encoder", 0, 1)),
    ("encoder_decoder", Head("self", 1, 0)),
    ("encoder_decoder", Head("cross", 1, 3)),
]


def lively(kind: str) -> keras.Model:
    model = {"encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder}[kind](CONFIGS[kind])
    generator = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(variable + 0.3 * generator.normal(size=variable.shape))
    return model


def states(model: keras.Model, kind: str) -> np.ndarray:
    return ops.convert_to_numpy(model(INPUTS[kind])["hidden_states"])


def projection(model: keras.Model, kind: str, head: Head) -> keras.Variable:
    side = "encoder" if "encoder" in (kind, head.kind) else "decoder"
    block = model.get_layer(f"{side}_block_{head.layer}")
    return (block.cross_attention if head.kind == "cross" else block.attention).output_dense.kernel


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "head"), HEADS, ids=str)
def test_a_head_that_is_off_is_one_whose_rows_are_zero(kind, head):
    model = lively(kind)
    whole = states(model, kind)

    with without_heads(model, [head], kind):
        without = states(model, kind)

    assert np.abs(without - whole).max() > 1e-3
    np.testing.assert_array_equal(states(model, kind), whole)
    kernel = projection(model, kind, head)
    values = ops.convert_to_numpy(kernel).copy()
    values[4 * head.number : 4 * head.number + 4] = 0
    kernel.assign(values)
    np.testing.assert_allclose(states(model, kind), without, atol=1e-6)


def test_without_any_of_its_heads_only_the_bias_of_an_attention_layer_is_left():
    model = lively("encoder")
    attention = model.get_layer("encoder_block_0").attention
    x = np.random.default_rng(1).normal(size=(1, 3, 16)).astype("float32")

    with without_heads(model, [Head("self", 0, number) for number in range(4)], "encoder"):
        output = ops.convert_to_numpy(attention(x)[0])

    np.testing.assert_allclose(output, np.broadcast_to(attention.output_dense.bias, output.shape), atol=1e-6)


def test_another_thread_sees_all_heads():
    model, seen = lively("encoder"), []
    whole = states(model, "encoder")

    with without_heads(model, [Head("self", 0, 0)], "encoder"):
        thread = threading.Thread(target=lambda: seen.append(states(model, "encoder")))
        thread.start()
        thread.join()

    np.testing.assert_array_equal(seen[0], whole)


def test_an_adapter_of_a_head_is_off_too():
    model = lively("decoder")
    add_lora(model, rank=2)
    dense = model.get_layer("decoder_block_0").attention.output_dense
    dense.lora_kernel_b.assign(np.ones(dense.lora_kernel_b.shape))
    head = [Head("self", 0, 1)]

    with without_heads(model, head, "decoder"):
        without = states(model, "decoder")
    with merged(model), without_heads(model, head, "decoder"):
        expected = states(model, "decoder")

    np.testing.assert_allclose(without, expected, atol=1e-5)


@pytest.mark.parametrize("head", [Head("self", 2, 0), Head("self", 0, 4), Head("self", -1, 0)], ids=str)
def test_an_unknown_head_is_refused(head):
    with (
        pytest.raises(ValueError, match=r"no head .* layers 0 to 1 with heads 0 to 3"),
        without_heads(lively("encoder"), [head], "encoder"),
    ):
        pass


def test_an_unknown_kind_is_refused():
    with (
        pytest.raises(ValueError, match=r"kinds of attention .* \['self'\]: received 'cross'"),
        without_heads(lively("encoder"), [Head("cross", 0, 0)], "encoder"),
    ):
        pass


def test_heads_are_read_as_they_are_written():
    heads = [Head("self", 0, 3), Head("encoder", 11, 0)]

    assert parse_heads(" ".join(map(str, heads)), "encoder_decoder") == heads
    assert parse_heads(["0.3", "encoder:11.0"], "encoder_decoder") == heads
    assert parse_heads("", "encoder") == []


@pytest.mark.parametrize("text", ["1", "1.2.3", "a.b", "-1.0", "1,2", "cross:0.1", "<b>", "1." + "9" * 50])
def test_what_is_no_head_is_refused(text):
    with pytest.raises(ValueError, match=r"a head is LAYER.HEAD, numbers from 0, such as 0.1: received"):
        parse_heads(text, "encoder")


def test_the_error_names_the_kinds_of_a_model_of_two_stacks():
    with pytest.raises(ValueError, match=r"such as 0.1 or encoder:0.1, cross:0.1"):
        parse_heads("decoder:0.1", "encoder_decoder")
