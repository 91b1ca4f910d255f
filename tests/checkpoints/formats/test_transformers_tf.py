"""Weights of the `TF...` classes of `transformers` 4, in each of their layouts, are those of PyTorch's files."""

from __future__ import annotations

import json
import shutil

import every_task
import h5py
import numpy as np
import pytest
import safetensors.numpy
from small_seq2seq import small_config
from tf_layout import WRITERS, rewrite

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.formats.transformers_tf import read_weights, torch_name
from keras_transformers.checkpoints.weights.loading import check_size, load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import bert, gpt2

SIZES = {"vocabulary_size": 30, "num_layers": 2, "num_heads": 2, "hidden_dim": 8, "max_length": 8}
BERT, GPT2 = bert(**SIZES), gpt2(**SIZES)
MODELS = {
    "BertModel": BERT, "BertForMaskedLM": BERT, "BertForPreTraining": BERT, "BertForNextSentencePrediction": BERT,
    "BertForSequenceClassification": BERT, "GPT2Model": GPT2, "GPT2LMHeadModel": GPT2,
    "GPT2ForSequenceClassification": GPT2, "T5ForConditionalGeneration": small_config("t5"),
    "T5ForConditionalGeneration 1.1": small_config("t5_v1_1", tie_embeddings=False),
    "BartForConditionalGeneration": small_config("bart"), "MBartForConditionalGeneration": small_config("mbart"),
    "MarianMTModel": small_config("marian", encoder_vocabulary_size=None),
}  # fmt: skip
TASKS = ("token_classification", "question_answering", "multiple_choice")
LAYOUTS = [*WRITERS]
QUICK = [f"BertForPreTraining-{layout}" for layout in LAYOUTS]
QUICK += ["GPT2LMHeadModel-h5", "T5ForConditionalGeneration-h5", "MarianMTModel-h5"]


@pytest.fixture(scope="module", params=[*MODELS, *TASKS])
def saved(request, ours, tmp_path_factory):
    """A model, its values, and a folder of these with the weights of PyTorch."""
    folder = tmp_path_factory.mktemp("saved")
    if request.param in TASKS:
        task = every_task.make(request.param)
        ours.randomise(task.model)
        task.save(folder)
        return task.model, values(task.model), folder
    config, (architecture, *_) = MODELS[request.param], request.param.split()
    model = ours.build(config, architecture)
    ours.randomise(model)
    save_folder(folder, model, config, None, architecture=architecture)
    return model, values(model), folder


def values(model):
    return {weight.path: np.array(weight) for weight in model.weights}


def same(left, right):
    return left.keys() == right.keys() and all(np.array_equal(left[path], right[path]) for path in left)


@pytest.mark.integration(quick=QUICK)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_weights_of_each_layout_are_those_of_pytorch(saved, tmp_path, layout, ours):
    model, expected, folder = saved
    ours.randomise(model, seed=1)
    assert not same(values(model), expected)
    copy = rewrite(shutil.copytree(folder, tmp_path / "copy"), layout)
    assert find_stored(copy).writer == "transformers 4 (TensorFlow)"
    assert load_weights(model, copy) == ()
    assert same(values(model), expected)


@pytest.fixture(scope="module")
def classifier(ours, tmp_path_factory):
    """A model, its values, and a folder with the weights of PyTorch."""
    folder = tmp_path_factory.mktemp("classifier")
    model = ours.build(BERT, "BertForSequenceClassification")
    ours.randomise(model)
    save_folder(folder, model, BERT, None, architecture="BertForSequenceClassification")
    return model, values(model), folder


@pytest.fixture
def h5(classifier, tmp_path):
    """A folder with tf_model.h5."""
    return rewrite(shutil.copytree(classifier[2], tmp_path / "h5"), "h5")


@pytest.mark.parametrize("name", ["tf_bert_for_sequence_classification_1", "my_own_model", "bert", "classifier", "a.b"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_name_of_the_keras_model_may_be_any(classifier, tmp_path, layout, name):
    model, expected, folder = classifier
    copy = rewrite(shutil.copytree(folder, tmp_path / "copy"), layout, name)
    assert load_weights(model, copy) == ()
    assert same(values(model), expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert/encoder/layer_._10/attention/self/query/kernel:0", "bert.encoder.layer.10.attention.self.query.weight"),
        ("nsp___cls/seq_relationship/kernel:0", "cls.seq_relationship.weight"),
        ("model/encoder/layers.0/self_attn_layer_norm/gamma:0", "model.encoder.layers.0.self_attn_layer_norm.weight"),
        ("shared/shared/embeddings:0", "shared.weight"), ("shared/embeddings:0", "shared.weight"),
        ("decoder/block_._0/layer_._2/layer_norm/weight:0", "decoder.block.0.layer.2.layer_norm.weight"),
        ("deberta/encoder/rel_embeddings.weight:0", "deberta.encoder.rel_embeddings.weight"),
        ("final_logits_bias:0", "final_logits_bias"), ("../../etc/kernel:0", "......etc.weight"),
    ],
)  # fmt: skip
def test_names(name, expected):
    assert torch_name(name) == expected


def data_set(folder, end):
    """The path in tf_model.h5 of the data set with this end."""
    found = []
    with h5py.File(folder / "tf_model.h5") as file:
        file.visit(lambda name: found.append(name) if name.endswith(end) else None)
    return found[0]


def change(folder, end, **options):
    """Put another data set in the place of the one with this end; options of `create_dataset` map its values."""
    name = data_set(folder, end)
    with h5py.File(folder / "tf_model.h5", "a") as file:
        array = np.array(file[name])
        del file[name]
        file.create_dataset(name, **{"data": array} | options)
    return name


@pytest.mark.parametrize("dtype", ["float16", "float64", ">f4"])
def test_every_float_is_read(classifier, h5, dtype):
    model, expected, _ = classifier
    change(h5, "classifier/kernel:0", dtype=dtype)
    load_weights(model, h5)
    rounded = expected["classifier/kernel"].astype(dtype).astype("float32")
    assert np.array_equal(values(model)["classifier/kernel"], rounded)


def refused(model, folder, message):
    before = values(model)
    with pytest.raises(ValueError, match=message):
        load_weights(model, folder)
    assert same(values(model), before)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_what_is_no_float_is_refused(classifier, h5, dtype):
    change(h5, "classifier/kernel:0", dtype=dtype)
    refused(classifier[0], h5, rf"not float16.*dequantized(.|\n)*  classifier\.weight is {dtype}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression": "gzip"}, "in one piece"),
        ({"chunks": (2, 2)}, "in one piece"),
        ({"data": None, "shape": (10**9, 10**9), "dtype": "float32"}, "in one piece"),
        ({"data": None, "shape": (10**9, 8), "dtype": "float32", "chunks": (1, 8)}, "in one piece"),
        ({"data": None, "shape": (8, 3), "dtype": "float32", "external": [("../secret", 0, 96)]}, "in another file"),
        ({"data": np.zeros((8, 4), "float32")}, r"of another shape:\n  classifier\.weight is \(4, 8\)"),
        ({"data": np.float32(1)}, "of another shape"),
    ],
    ids=["compressed", "chunked", "never written", "10^9 rows", "external", "other shape", "number"],
)
def test_a_data_set_that_is_not_what_keras_writes(classifier, h5, options, message):
    change(h5, "classifier/kernel:0", **options)
    refused(classifier[0], h5, rf"classifier.*{message}|{message}")


def test_a_virtual_data_set_is_refused(classifier, h5, tmp_path):
    name = data_set(h5, "classifier/kernel:0")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.zeros((8, 3), "float32")
    layout = h5py.VirtualLayout((8, 3), "float32")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "secret", (8, 3))
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        del file[name]
        file.create_virtual_dataset(name, layout)
    refused(classifier[0], h5, r"tf_model\.h5: .*classifier/kernel:0.*in another file.*elsewhere")


@pytest.mark.parametrize("link", [h5py.SoftLink("/bert"), h5py.ExternalLink("other.h5", "secret")], ids=["soft", "out"])
def test_links_are_not_followed(classifier, h5, tmp_path, link):
    with h5py.File(h5 / "other.h5", "w") as other:
        other["secret"] = np.zeros((8, 3), "float32")
    name = data_set(h5, "classifier/kernel:0")
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        del file[name]
        file[name] = link
    refused(classifier[0], h5, r"missing:\n  classifier\.weight")


def test_a_group_that_holds_itself_ends(classifier, h5):
    model, expected, _ = classifier
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        file["bert/loop"] = file["bert"]
        file["again"] = file["/"]
    assert load_weights(model, h5) == ()
    assert same(values(model), expected)


def test_one_weight_twice_with_other_values(classifier, h5):
    name = data_set(h5, "word_embeddings/weight:0")
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        again = f"classifier/{name.partition('/')[2]}"
        file[again] = file[name][:]
        assert read_weights(h5)
        file[again][:] += 1
    message = r"tf_model\.h5 holds .bert\.embeddings\.word_embeddings\.weight. more than once, with other values"
    refused(classifier[0], h5, rf"{message}.*Save the model again")


def test_two_models_in_one_file(classifier, h5, tmp_path):
    """They are of one class, and so of the same names."""
    copy = rewrite(shutil.copytree(classifier[2], tmp_path / "other"), "h5", "other")
    with h5py.File(copy / "tf_model.h5") as other, h5py.File(h5 / "tf_model.h5", "a") as file:
        for layer in ("bert", "classifier"):
            other.copy(other[layer]["other"], file[layer])
        assert load_weights(classifier[0], h5) == ()
        file["classifier/other/classifier/bias:0"][:] += 1
    refused(classifier[0], h5, r"tf_model\.h5 holds .classifier\.bias. more than once")


@pytest.mark.parametrize("name", ["bert", "classifier/tf_bert_for_sequence_classification"])
def test_a_data_set_in_the_place_of_a_group(classifier, h5, name):
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        del file[name]
        file[name] = np.ones(3, "float32")
    refused(classifier[0], h5, "missing:\n  (bert|classifier)")


def test_a_data_set_outside_of_all_groups_is_told(classifier, h5):
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        file["alone"] = np.ones(3, "float32")
    with pytest.warns(UserWarning, match=r"tensors beside the model.*\['alone'\]"):
        assert load_weights(classifier[0], h5) == ()


def test_a_name_that_is_no_text(classifier, h5):
    """h5py gives bytes for it, or fails."""
    path = h5 / "tf_model.h5"
    path.write_bytes(path.read_bytes().replace(b"classifier\0", b"\xff\xfeassifier\0"))
    refused(classifier[0], h5, r"missing:\n  classifier|tf_model\.h5 is missing or damaged")


def test_a_weight_that_no_model_has(classifier, h5):
    with h5py.File(h5 / "tf_model.h5", "a") as file:
        file["bert/tf_bert_for_sequence_classification/bert/../../../etc/passwd/kernel:0"] = np.ones((2, 2), "float32")
    refused(classifier[0], h5, "unexpected:\n  bert.*etc.passwd.weight")


STANDS_FOR = {
    "truncated": (None, "damaged"), "zip": (b"PK\3\4" + bytes(100), "damaged"), "empty": (b"", "damaged"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "git lfs pull"),
    "page": (b"<!DOCTYPE html><html></html>", "is a web page"),
}  # fmt: skip


@pytest.mark.parametrize("case", STANDS_FOR)
def test_what_is_no_hdf5(classifier, h5, case):
    content, message = STANDS_FOR[case]
    path = h5 / "tf_model.h5"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    refused(classifier[0], h5, rf"tf_model\.h5 .*{message}")


@pytest.fixture(params=["h5_sharded", "safetensors_sharded"])
def sharded(request, classifier, tmp_path):
    """A folder of three shards, its index, and the names of the shards."""
    folder = rewrite(shutil.copytree(classifier[2], tmp_path / "sharded"), request.param)
    (index,) = folder.glob("*.index.json")
    return folder, index, sorted({*json.loads(index.read_text())["weight_map"].values()})


def test_a_missing_shard(classifier, sharded):
    folder, index, shards = sharded
    (folder / shards[1]).unlink()
    refused(classifier[0], folder, rf"{index.name} names files that are not there: \['{shards[1]}'\]. Fetch them too")


@pytest.mark.parametrize("place", ["../{}", "/{}", "no/{}", "", "."])
def test_an_index_that_names_a_file_elsewhere(classifier, sharded, place):
    folder, index, shards = sharded
    shutil.copy(folder / shards[1], folder.parent)
    places = json.loads(index.read_text())
    outside = place.format(folder.parent / shards[1] if place == "/{}" else shards[1])
    places["weight_map"] = {
        name: outside if shard == shards[1] else shard for name, shard in places["weight_map"].items()
    }
    index.write_text(json.dumps(places))
    refused(classifier[0], folder, rf"{index.name} names files that are not there: .*Fetch")


def test_a_shard_without_a_tensor_of_the_index(classifier, sharded):
    folder, index, shards = sharded
    places = json.loads(index.read_text())
    name = next(name for name, shard in places["weight_map"].items() if shard == shards[0])
    places["weight_map"][name] = shards[1]
    index.write_text(json.dumps(places))
    refused(classifier[0], folder, rf"{index.name} names tensors that its files do not hold: \['{name}'\]")


def test_a_damaged_shard(classifier, sharded):
    folder, _, shards = sharded
    (folder / shards[1]).write_bytes((folder / shards[1]).read_bytes()[:-500])
    refused(classifier[0], folder, rf"{shards[1]}.* damaged")


@pytest.mark.parametrize("name", ["vocab_size", "max_position_embeddings", "intermediate_size"])
@pytest.mark.parametrize("layout", ["h5", "safetensors"])
def test_a_claim_of_a_billion_rows(classifier, tmp_path, layout, name):
    folder = rewrite(shutil.copytree(classifier[2], tmp_path / "copy"), layout)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: 10**9}))
    with pytest.raises(ValueError, match=r"copy.*(holds [\d,]+ weights, and its config.json asks for|most|at most)"):
        check_size(find_stored(folder))


@pytest.mark.data
@pytest.mark.parametrize("form", ["h5", "h5_sharded", "safetensors"])
def test_the_layout_is_that_of_the_samples(data_dir, tmp_path, form):
    """What tests/helpers/tf_layout.py writes equals what TensorFlow wrote, data set by data set."""
    checked = 0
    for folder in sorted((data_dir / "tf_checkpoints/transformers-4").iterdir()):
        is_h5, is_sharded = any(folder.glob("*.h5")), any(folder.glob("*.index.json"))
        if form == ("h5" if is_h5 else "safetensors") + "_sharded" * is_sharded:
            copy = tmp_path / folder.name
            copy.mkdir()
            shutil.copy(folder / "config.json", copy)
            tensors = {tensor.name: np.ascontiguousarray(tensor.read()) for tensor in find_stored(folder).tensors()}
            safetensors.numpy.save_file(tensors, copy / "model.safetensors")
            assert same(arrays(rewrite(copy, form)), arrays(folder)), folder
            checked += 1
    assert checked == {"h5": 11, "h5_sharded": 1, "safetensors": 1}[form]


def arrays(folder):
    """All data sets of a folder, by their paths in the files."""
    found = {}
    for path in folder.glob("*.safetensors"):
        found |= safetensors.numpy.load_file(path)
    for path in folder.glob("*.h5"):
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.update({name: item[()]} if hasattr(item, "dtype") else {}))
    return found
