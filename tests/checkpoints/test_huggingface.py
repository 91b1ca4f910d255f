"""Folders written and read back, and folders with faults; no reference implementation is needed here."""

import json

import numpy as np
import pytest
import safetensors.numpy

from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import gpt1, gpt2, llama
from keras_transformers.text.tokenizer import Tokenizer

SIZES = {"vocabulary_size": 90, "num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 12}
DECODERS = {
    "OpenAIGPTLMHeadModel": gpt1(**SIZES),
    "GPT2LMHeadModel": gpt2(**SIZES, tie_embeddings=False),
    "GPT2Model": gpt2(**SIZES),
    "GPT2ForSequenceClassification": gpt2(**SIZES, use_bias=False),
    "LlamaForCausalLM": llama(**SIZES, intermediate_dim=24, num_kv_heads=2),
}


@pytest.fixture
def saved(tmp_path, ours):
    """A pretraining model with random weights, and its folder."""
    model = ours.build(ours.config, "BertForPreTraining")
    ours.randomise(model)
    save_folder(tmp_path / "model", model, ours.config, None, architecture="BertForPreTraining")
    return model, tmp_path / "model"


def values(model):
    return {weight.path: np.array(weight) for weight in model.weights}


def same(left, right):
    return left.keys() == right.keys() and all((left[path] == right[path]).all() for path in left)


def edit(folder, change):
    path = folder / "model.safetensors"
    tensors = {name: array.copy() for name, array in safetensors.numpy.load_file(path).items()}
    change(tensors)
    safetensors.numpy.save_file(tensors, path)


def test_round_trip_is_exact(saved, ours):
    model, folder = saved
    again = ours.build(ours.config, "BertForPreTraining")
    assert load_weights(again, folder) == ()
    assert same(values(model), values(again))


@pytest.mark.integration(quick=["bfloat16-LlamaForCausalLM", "bfloat16-OpenAIGPTLMHeadModel"])
@pytest.mark.parametrize("architecture", DECODERS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_round_trip_of_decoders(tmp_path, ours, architecture, dtype):
    config = DECODERS[architecture]
    model = ours.build(config, architecture)
    ours.randomise(model)
    save_folder(tmp_path, model, config, None, architecture=architecture, dtype=dtype)
    again = ours.build(config, architecture)
    assert load_weights(again, tmp_path) == ()
    before = {path: array.astype(dtype).astype(array.dtype) for path, array in values(model).items()}
    assert same(before, values(again))


def test_queries_keys_and_values_are_one_tensor_of_gpt2(tmp_path, ours):
    model = ours.build(DECODERS["GPT2LMHeadModel"], "GPT2LMHeadModel")
    ours.randomise(model)
    save_folder(tmp_path, model, DECODERS["GPT2LMHeadModel"], None, architecture="GPT2LMHeadModel")
    tensors = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    parts = [values(model)[f"decoder_block_1/attention/{part}/kernel"] for part in ("query", "key", "value")]
    assert (tensors["transformer.h.1.attn.c_attn.weight"] == np.concatenate(parts, axis=1)).all()
    assert (tensors["lm_head.weight"] == values(model)["lm_head/kernel"].T).all()


def test_a_gpt2_without_biases_has_zeros_in_the_file(tmp_path, ours):
    config = gpt2(**SIZES, use_bias=False)
    model = ours.build(config, "GPT2LMHeadModel")
    save_folder(tmp_path, model, config, None, architecture="GPT2LMHeadModel")
    tensors = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    biases = [name for name in tensors if name.endswith(".bias")]
    assert len(biases) == 2 * 6 + 1 and not any(tensors[name].any() for name in biases)
    assert all(len(tensors[name]) == tensors[name.replace(".bias", ".weight")].shape[-1] for name in biases)

    def set_a_bias(tensors):
        tensors["transformer.h.0.ln_1.bias"][3] = 1

    edit(tmp_path, set_a_bias)
    with pytest.raises(ValueError, match=r"unexpected:\n  transformer\.h\.0\.ln_1\.bias$"):
        load_weights(model, tmp_path)


def test_a_fused_tensor_of_another_width(tmp_path, ours):
    config = gpt2(**SIZES)
    model = ours.build(config, "GPT2Model")
    save_folder(tmp_path, model, config, None, architecture="GPT2Model")
    name = "h.0.attn.c_attn.bias"

    def widen(tensors, by):
        tensors[name] = np.concatenate([tensors[name], np.ones(by, "float32")])

    edit(tmp_path, lambda tensors: widen(tensors, 3))
    with pytest.raises(ValueError, match=rf"of another shape:\n  {name} is \(17,\), for .*/key/bias \(16,\)"):
        load_weights(model, tmp_path)
    edit(tmp_path, lambda tensors: widen(tensors, 1))
    with pytest.raises(ValueError, match=rf"missing:\n.*c_attn\.key\.bias(.|\n)*unexpected:\n  {name}$"):
        load_weights(model, tmp_path)


def test_every_fault_is_reported_at_once_and_nothing_is_loaded(saved, ours):
    _, folder = saved

    def break_it(tensors):
        del tensors["bert.embeddings.LayerNorm.bias"]
        tensors["bert.pooler.dense.bias"] = tensors["bert.pooler.dense.bias"][:-1].copy()
        tensors["bert.encoder.layer.3.output.dense.bias"] = np.ones(32, "float32")
        tensors["bert.adapter.weight"] = np.ones(2, "float32")

    edit(folder, break_it)
    again = ours.build(ours.config, "BertForPreTraining")
    before = values(again)
    with pytest.raises(ValueError) as error:
        load_weights(again, folder)
    assert str(error.value).splitlines()[1:] == [
        "missing:",
        "  bert.embeddings.LayerNorm.bias (for embedding_norm/beta (32,))",
        "of another shape:",
        "  bert.pooler.dense.bias is (31,), for pooler/bias (32,)",
        "unexpected:",
        "  bert.adapter.weight",
        "  bert.encoder.layer.3.output.dense.bias",
    ]
    assert same(before, values(again))


def test_a_head_stays_fresh_only_when_asked(saved, ours):
    model, folder = saved
    classifier = ours.build(ours.config, "BertForSequenceClassification")
    before = values(classifier)
    with pytest.raises(ValueError, match=r"missing:\n  classifier\.bias.*\n  classifier\.weight"):
        load_weights(classifier, folder)
    assert same(before, values(classifier))
    assert load_weights(classifier, folder, missing_ok=["classifier"]) == ("classifier/kernel", "classifier/bias")
    after, wanted = values(classifier), values(model)
    assert all((after[path] == wanted.get(path, before[path])).all() for path in after)


@pytest.mark.integration
def test_a_head_of_another_size_stays_fresh_only_when_asked(saved, ours, tmp_path):
    config, architecture = ours.config, "BertForSequenceClassification"
    save_folder(tmp_path / "two", ours.build(config, architecture, 2), config, None, architecture=architecture)
    three = ours.build(config, architecture, 3)
    with pytest.raises(ValueError, match=r"classifier\.bias is \(2,\), for classifier/bias \(3,\)"):
        load_weights(three, tmp_path / "two", missing_ok=["classifier"])
    assert load_weights(three, tmp_path / "two", fresh=["classifier"]) == ("classifier/kernel", "classifier/bias")


def test_more_blocks_than_the_model_has_are_unexpected(saved, ours):
    smaller = ours.build(ours.config.replace(num_layers=2), "BertForPreTraining")
    with pytest.raises(ValueError, match=r"unexpected:(\n  bert\.encoder\.layer\.2.*){12}\n  \.\.\. and 4 more$"):
        load_weights(smaller, saved[1])


@pytest.mark.parametrize("length", [4, 100, -1])
def test_a_cut_file(saved, ours, length):
    model, folder = saved
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    before = values(model)
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        load_weights(model, folder)
    assert same(before, values(model))


def shard(folder):
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    names = sorted(tensors)
    places = {name: f"model-0000{1 + index % 2}-of-00002.safetensors" for index, name in enumerate(names)}
    for place in set(places.values()):
        part = {name: tensors[name] for name in names if places[name] == place}
        safetensors.numpy.save_file(part, folder / place)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


@pytest.mark.integration
def test_shards(saved, ours):
    model, folder = saved
    shard(folder)
    again = ours.build(ours.config, "BertForPreTraining")
    load_weights(again, folder)
    assert same(values(model), values(again))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda index: index.update({"bert.x": "model-00003-of-00002.safetensors"}), "that are not there.*00003"),
        (lambda index: index.update({"bert.x": "../model.safetensors"}), r"that are not there.*\.\./model"),
        (lambda index: index.update({"bert.x": index["cls.predictions.bias"]}), r"do not hold: \['bert\.x'\]"),
    ],
)
def test_a_wrong_index(saved, fault, message):
    model, folder = saved
    shard(folder)
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    fault(index["weight_map"])
    path.write_text(json.dumps(index))
    with pytest.raises(ValueError, match=message):
        load_weights(model, folder)


def test_a_folder_without_weights(saved):
    model, folder = saved
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="no weights in"):
        load_weights(model, folder)


def test_float16_storage_halves_the_file_and_rounds(saved, ours, tmp_path):
    model, folder = saved
    save_folder(tmp_path / "half", model, ours.config, None, architecture="BertForPreTraining", dtype="float16")
    sizes = [(path / "model.safetensors").stat().st_size for path in (tmp_path / "half", folder)]
    assert sizes[0] < 0.6 * sizes[1]
    before = values(model)
    load_weights(model, tmp_path / "half")
    assert same(values(model), {path: array.astype("float16").astype("float32") for path, array in before.items()})


def test_float8_storage_of_the_matrices(saved, ours, tmp_path):
    model, folder = saved
    save_folder(tmp_path / "eighth", model, ours.config, None, architecture="BertForPreTraining", dtype="float8_e4m3fn")
    sizes = [(path / "model.safetensors").stat().st_size for path in (tmp_path / "eighth", folder)]
    assert sizes[0] < 0.35 * sizes[1]
    before = values(model)
    load_weights(model, tmp_path / "eighth")
    stored = {path: "float8_e4m3fn" if array.ndim > 1 else "float16" for path, array in before.items()}
    assert same(values(model), {path: array.astype(stored[path]).astype("float32") for path, array in before.items()})
    for path, array in values(model).items():
        np.testing.assert_allclose(array, before[path], rtol=2**-4, atol=2**-10)


@pytest.mark.parametrize(("bad", "dtype"), [(1e5, "float16"), (np.nan, "float32")])
def test_a_weight_that_cannot_be_stored_leaves_the_old_folder(saved, ours, bad, dtype):
    model, folder = saved
    before = (folder / "model.safetensors").read_bytes()
    model.get_layer("pooler").bias.assign(np.full(32, bad))
    with pytest.raises(ValueError, match=f"pooler/bias is not finite as {dtype}"):
        save_folder(folder, model, ours.config, None, architecture="BertForPreTraining", dtype=dtype)
    assert (folder / "model.safetensors").read_bytes() == before


def test_a_matrix_that_float8_cannot_hold(saved, ours, tmp_path):
    model, _ = saved
    model.get_layer("pooler").kernel.assign(np.full((32, 32), 500.0))
    with pytest.raises(ValueError, match="pooler/kernel is not finite as float8_e4m3fn"):
        options = {"architecture": "BertForPreTraining", "dtype": "float8_e4m3fn"}
        save_folder(tmp_path / "new", model, ours.config, None, **options)


def test_saving_the_encoder_alone_leaves_the_heads_out(saved, ours, tmp_path):
    model, _ = saved
    save_folder(tmp_path / "body", model, ours.config, None, architecture="BertModel")
    names = set(safetensors.numpy.load_file(tmp_path / "body" / "model.safetensors"))
    assert "pooler.dense.bias" in names
    assert not [name for name in names if name.startswith(("bert.", "cls."))]
    body = ours.build(ours.config, "BertModel")
    load_weights(body, tmp_path / "body")
    whole = values(model)
    assert all((array == whole[path]).all() for path, array in values(body).items())


def test_all_files_may_be_read_by_the_same_people(saved):
    _, folder = saved
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_the_tokenizer_travels_along(ours, tmp_path):
    tokenizer = Tokenizer.train(["the cat danced"], vocabulary_size=60)
    model = ours.build(ours.config, "BertModel")
    save_folder(tmp_path / "model", model, ours.config, tokenizer, architecture="BertModel")
    again = Tokenizer.from_folder(tmp_path / "model")
    assert again.encode(["the cat"])[0].ids == tokenizer.encode(["the cat"])[0].ids


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "BertForSequenceClassification"}, r"needs the layers \['classifier'\]"),
        ({"architecture": "BertModel", "dtype": "int8"}, "'float32', .*: received dtype='int8'"),
    ],
)
def test_save_refuses(saved, ours, options, message):
    with pytest.raises(ValueError, match=message):
        save_folder(saved[1], saved[0], ours.config, None, **options)


def test_as_many_labels_as_classes(ours, tmp_path):
    model = ours.build(ours.config, "BertForSequenceClassification", 3)
    with pytest.raises(ValueError, match="3 outputs: expected the same number of labels, received 2"):
        save_folder(
            tmp_path / "a", model, ours.config, None, architecture="BertForSequenceClassification", labels=("a", "b")
        )
    assert not (tmp_path / "a").exists()


@pytest.mark.integration(quick=["float8"])
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
@pytest.mark.parametrize("mode", ["int8", "float8"])
def test_a_quantized_model_is_refused_before_anything_is_written(tmp_path, ours, mode):
    config = ours.config.replace(num_layers=1)
    model = ours.build(config, "BertModel")
    save_folder(tmp_path / "model", model, config, None, architecture="BertModel")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    model.quantize(mode)
    with pytest.raises(ValueError, match=rf"quantized \({mode}\).*nothing was written.*Save it before `quantize`"):
        save_folder(tmp_path / "model", model, config, None, architecture="BertModel")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
