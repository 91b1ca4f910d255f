"""Presets whose HDF5 files are not what Keras writes: nothing outside is read, nothing is half loaded."""

from __future__ import annotations

import json
import shutil

import h5py
import ml_dtypes
import numpy as np
import pytest

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.formats.keras_hub_names import PLACES, PRESETS
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.families.table import look_up
from zoo.loading.conversion import convert
from zoo.loading.find import find

NAME = "layers/layer_normalization/vars/0"
THEIRS = "bert.embeddings.LayerNorm.weight"
SHAPE = (32,)
SIZES = {"vocabulary_size": 90, "num_layers": 1, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 128}
OTHERS = {"dropout": 0.1, "max_sequence_length": 24, "num_segments": 2}
CONFIG = {"class_name": "BertBackbone", "config": SIZES | OTHERS}


def heads_apart(name, array):
    """As KerasHub keeps queries, keys and values."""
    if "_self_attention_layer/" not in name:
        return array
    if array.ndim == 1:
        return array if "output_dense" in name else array.reshape(4, 8)
    return array.reshape((4, 8, 32) if "output_dense" in name else (32, 4, 8))


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """The folder of a preset, as KerasHub writes it."""
    folder = tmp_path_factory.mktemp("preset")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


@pytest.fixture
def damaged(preset, ours, tmp_path):
    """A model, a copy of the preset whose weights are all ones, and its file, open."""
    model = ours.build(find_stored(preset).config, "BertModel")
    folder = shutil.copytree(preset, tmp_path / "copy")
    with h5py.File(folder / "model.weights.h5", "w") as file:
        for weight in model.weights:
            name = look_up(weight.path, PRESETS["BertBackbone"].weights, PLACES)
            file[name] = heads_apart(name, np.ones(weight.shape, "float32"))
        yield model, folder, file


def values(model):
    return [np.array(weight) for weight in model.weights]


def refused(model, folder, file, message):
    file.close()
    before = values(model)
    with pytest.raises(ValueError, match=message):
        load_weights(model, folder)
    assert all(np.array_equal(old, new) for old, new in zip(before, values(model), strict=True))


def replace(file, **options):
    del file[NAME]
    return file.create_dataset(NAME, **options)


def test_a_whole_preset(damaged):
    model, folder, file = damaged
    file.close()
    assert load_weights(model, folder) == ()
    assert all((array == 1).all() for array in values(model))


def test_bytes_of_another_file_are_not_read(damaged, tmp_path):
    model, folder, file = damaged
    (tmp_path / "secret").write_bytes(bytes(4 * 32))
    replace(file, shape=SHAPE, dtype="float32", external=[(str(tmp_path / "secret"), 0, 4 * 32)])
    refused(model, folder, file, rf"model\.weights\.h5.*{NAME}.*in another file")


def test_a_virtual_data_set_is_refused(damaged, tmp_path):
    model, folder, file = damaged
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.zeros(SHAPE, "float32")
    layout = h5py.VirtualLayout(SHAPE, "float32")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "secret", SHAPE)
    del file[NAME]
    file.create_virtual_dataset(NAME, layout)
    refused(model, folder, file, rf"model\.weights\.h5.*{NAME}.*in another file")


@pytest.mark.parametrize("kind", ["external", "soft"])
def test_links_are_not_followed(damaged, tmp_path, kind):
    model, folder, file = damaged
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.zeros(SHAPE, "float32")
    del file[NAME]
    file[NAME] = h5py.ExternalLink(str(tmp_path / "other.h5"), "secret") if kind == "external" else h5py.SoftLink("/x")
    refused(model, folder, file, rf"missing:\n  {THEIRS}")


@pytest.mark.parametrize(
    "options",
    [
        {"data": np.ones(SHAPE, "float32"), "compression": "gzip"},
        {"data": np.ones(SHAPE, "float32"), "chunks": (8,)},
        {"shape": SHAPE, "dtype": "float32"},
    ],
    ids=["compressed", "chunked", "never written"],
)
def test_what_is_not_in_one_piece_is_refused(damaged, options):
    """Keras writes no such data sets; a small file of them can stand for a large one, or fail while it is read."""
    model, folder, file = damaged
    replace(file, **options)
    refused(model, folder, file, rf"{NAME}.*in one piece")


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "V2", "complex64"], ids=str)
def test_what_is_no_float_is_no_weight(damaged, dtype):
    model, folder, file = damaged
    replace(file, data=np.zeros(SHAPE, dtype))
    refused(model, folder, file, rf"not float16.*dequantized(.|\n)*  {THEIRS} is ")


def test_a_dtype_that_the_data_set_does_not_have(damaged):
    model, folder, file = damaged
    replace(file, data=np.zeros(SHAPE, "int32")).attrs["dtype"] = "bfloat16"
    refused(model, folder, file, rf"  {THEIRS} is int32")


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64", ">f4"])
def test_every_float_is(damaged, dtype):
    model, folder, file = damaged
    made = replace(file, data=np.full(SHAPE, 3, dtype))
    if dtype is ml_dtypes.bfloat16:
        made.attrs["dtype"] = "bfloat16"  # as Keras does
    file.close()
    load_weights(model, folder)
    assert (np.array(model.get_layer("embedding_norm").gamma) == 3).all()


@pytest.mark.parametrize("value", [h5py.Empty("float32"), np.float32(1)], ids=["nothing", "one number"])
@pytest.mark.parametrize("name", [NAME, "layers/transformer_encoder_0/_self_attention_layer/query_dense/vars/0"])
def test_what_has_no_axes_is_no_weight(damaged, name, value):
    model, folder, file = damaged
    del file[name]
    file.create_dataset(name, data=value)
    refused(model, folder, file, r"in one piece|of another shape")


def test_two_data_sets_for_one_weight(damaged):
    model, folder, file = damaged
    block = "layers/transformer_encoder{}/_feedforward_layer_norm/vars/0"
    file[block.format("")] = file[block.format("_0")][:] + 1
    refused(model, folder, file, "two tensors for one weight.*layer.0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": None}, "config"),
        ({"config": {"num_layers": 1}}, "vocabulary_size"),
        ({"class_name": ["BertBackbone"]}, "expected one of"),
    ],
    ids=str,
)
def test_a_configuration_that_lacks_something(tmp_path, change, message):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | change))
    with pytest.raises(ValueError, match=rf"{message}"):
        find_stored(tmp_path)


@pytest.fixture
def whole(preset, ours, tmp_path):
    """Writes a preset of these versions of KerasHub: random weights, a vocabulary, and a task if one is named."""

    def write(module="keras_hub", task=None, name="preset", **options):
        folder, random = shutil.copytree(preset, tmp_path / name), np.random.default_rng(0)
        config = CONFIG | {"module": f"{module}.src.models.bert.bert_backbone"}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "assets/tokenizer").mkdir(parents=True)
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{index}" for index in range(85))]
        (folder / "assets/tokenizer/vocabulary.txt").write_text("\n".join(words))
        tokenizer = {"class_name": "BertTokenizer", "config": {"lowercase": True}}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        architecture = "BertForSequenceClassification"
        with h5py.File(folder / "model.weights.h5", "w") as file, h5py.File(folder / "task.weights.h5", "w") as head:
            for weight in ours.build(find_stored(preset).config, architecture).weights:
                place = look_up(weight.path, PRESETS["BertBackbone"].weights, PLACES)
                array = random.normal(size=weight.shape).astype("float32")
                is_head = place.startswith("task/")
                (head if is_head else file)[place.removeprefix("task/")] = heads_apart(place, array)
        if task:
            (folder / "task.json").write_text(json.dumps({"class_name": task, "config": {"num_classes": 3, **options}}))
        return folder

    return write


@pytest.mark.integration
@pytest.mark.parametrize(
    ("module", "task"), [("keras_hub", "BertTextClassifier"), ("keras_nlp", "BertClassifier")], ids=["now", "0.14"]
)
def test_a_preset_by_its_path_alone(whole, tmp_path, module, task):
    folder = whole(module, task)
    by_path, by_prefix = zoo.load(folder), zoo.load(f"keras-nlp:{folder}")
    assert by_path.name == by_prefix.name == "classification"
    assert (by_path.config, by_path.labels) == (by_prefix.config, ("LABEL_0", "LABEL_1", "LABEL_2"))
    assert by_path.tokenizer.to_json() == by_prefix.tokenizer.to_json()
    assert all(np.array_equal(a, b) for a, b in zip(values(by_path.model), values(by_prefix.model), strict=True))
    with h5py.File(folder / "task.weights.h5") as file:
        assert np.array_equal(by_path.model.get_layer("classifier").kernel, file["layers/dense/vars/0"])
    converted = convert(find(folder), tmp_path / "new")
    assert (converted.writer, converted.architecture) == ("KerasHub", "BertForSequenceClassification")
    again = zoo.load(tmp_path / "new")
    assert again.config == by_path.config
    assert all(np.array_equal(a, b) for a, b in zip(values(by_path.model), values(again.model), strict=True))


@pytest.mark.parametrize(
    ("activation", "problem"), [("softmax", "single_label"), (None, "single_label"), ("sigmoid", "multi_label")]
)
def test_the_problem_goes_by_the_activation_of_the_classifier(whole, activation, problem):
    folder = whole("keras_hub", "BertTextClassifier", activation=activation)
    assert find_stored(folder).extra["problem"] == problem


def test_a_head_that_is_left_out_is_told(whole):
    folder = whole("keras_hub", "BertMaskedLM")
    message = r"preset, of KerasHub, lacks some settings: the head of its BertMaskedLM is left out"
    with pytest.warns(UserWarning, match=message):
        task = zoo.load(folder, labels=2)
    assert task.name == "classification"
    assert find(folder).task is None


def test_arguments_that_its_files_answer_are_refused(whole):
    with pytest.raises(ValueError, match=r"received lowercase=False for .*preset, of KerasHub, whose files specify it"):
        zoo.load(whole(), lowercase=False, labels=2)


@pytest.mark.parametrize("number", ["3", None, 0, 2.5, 10**12])
def test_a_number_of_classes_that_cannot_be(preset, tmp_path, number):
    folder = shutil.copytree(preset, tmp_path / "copy")
    (folder / "task.json").write_text(json.dumps({"class_name": "BertClassifier", "config": {"num_classes": number}}))
    (folder / "task.weights.h5").write_bytes(bytes(100))
    with pytest.raises(ValueError, match=rf"num_classes must be a number of classes.*received {number!r}"):
        find_stored(folder)


@pytest.mark.parametrize(
    ("activation", "is_told"), [("linear", False), ("softmax", False), ("sigmoid", False), ("tanh", True), ({}, True)]
)
def test_an_activation_of_the_head_that_is_left_out_is_told(preset, tmp_path, activation, is_told):
    folder = shutil.copytree(preset, tmp_path / "copy")
    task = {"class_name": "BertClassifier", "config": {"num_classes": 2, "activation": activation}}
    (folder / "task.json").write_text(json.dumps(task))
    (folder / "task.weights.h5").write_bytes(bytes(100))
    assert ("without the activation" in " ".join(find_stored(folder).assumed)) == is_told
