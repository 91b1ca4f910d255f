"""The files of sentence-transformers: what they say that is not done, and what is damaged."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
from keras_transformers.checkpoints.settings.sentence_layers import ACTIVATIONS, layer_tensors
from keras_transformers.checkpoints.settings.sentence_transformers import (
    POOLINGS,
    SIMILARITIES,
    read_sentence_transformer,
)
from keras_transformers.heads import text_vectors
from keras_transformers.text.tokenizer import Tokenizer


@pytest.fixture
def folder(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, pooling="mean", normalize=True)
    return tmp_path


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("lowercase", [True, False])
def test_texts_that_are_to_be_lowered(folder, lowercase):
    """By sentence-transformers, not by the tokenizer: here nobody would."""
    Tokenizer.train(["a fine film", "A fine Film"], vocabulary_size=60, lowercase=lowercase).save(folder)
    change(folder / "sentence_bert_config.json", do_lower_case=True)
    if lowercase:
        assert read_sentence_transformer(folder)["max_length"] == 16
    else:
        with pytest.raises(ValueError, match=r"sentence_bert_config\.json says do_lower_case.*or set do_lower_case"):
            read_sentence_transformer(folder)


@pytest.mark.parametrize("place", [None, 1, "x" * 61])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_module_without_a_folder(folder, number, place):
    modules = json.loads((folder / "modules.json").read_text())
    modules[number]["path"] = place
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match=rf"modules\.json has the modules .* in \[.*{place}"):
        read_sentence_transformer(folder)


@pytest.mark.parametrize("mode", [3, True, ["least"], [["mean"]], {"mean": True}, ["mean", "sum"]])
def test_a_way_of_pooling_that_is_none(folder, mode):
    change(folder / "1_Pooling" / "config.json", pooling_mode=mode)
    with pytest.raises(ValueError, match=r"says pooling by .*: expected one or more of"):
        read_sentence_transformer(folder)


@pytest.mark.parametrize(
    ("mode", "pooling"),
    [
        ("cls", "first"), (["mean"], "mean"), (None, "mean"), (["lasttoken", "cls"], ["last", "first"]),
        ("weightedmean", "weighted_mean"),
    ],
)  # fmt: skip
def test_ways_of_pooling(folder, mode, pooling):
    change(folder / "1_Pooling" / "config.json", pooling_mode=mode)
    assert read_sentence_transformer(folder)["pooling"] == pooling


def test_flags_of_old_folders(folder):
    path = folder / "1_Pooling" / "config.json"
    change(path, pooling_mode_lasttoken=True, pooling_mode_max_tokens=True)
    assert read_sentence_transformer(folder)["pooling"] == ["max", "mean", "last"]
    change(path, **{flag: False for _, flag in POOLINGS.values()})
    assert read_sentence_transformer(folder)["pooling"] == "mean"  # as sentence-transformers has it


def test_all_ways_of_pooling_have_a_name_there():
    assert set(POOLINGS) == set(text_vectors.POOLINGS)


OPTIONS = {
    "pooling": ["max", "first"], "include_prompt": False, "normalize": False, "truncate_dim": 3,
    "prompts": {"query": "q: ", "passage": ""}, "default_prompt": "passage", "similarity": "manhattan",
    "dense": [{"units": 4, "activation": name, "use_bias": name != "relu"} for name in ACTIVATIONS],
}  # fmt: skip


def test_all_that_is_written_is_read(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, **OPTIONS)
    assert read_sentence_transformer(tmp_path) == {**OPTIONS, "max_length": 16}


@pytest.fixture
def many(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, **OPTIONS)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("2_Dense/config.json", {"use_residual": True}, r"2_Dense.config\.json says use_residual True: only False"),
        ("3_Dense/config.json", {"module_input_name": "token_embeddings"}, "module_input_name 'token_embed"),
        ("2_Dense/config.json", {"activation_function": "torch.nn.modules.activation.Mish"}, "the activation .*Mish"),
        ("2_Dense/config.json", {"activation_function": "my.Tanh"}, r"says the activation 'my\.Tanh': expected one of"),
        ("2_Dense/config.json", {"out_features": 0}, "out_features must be a number above 0: received 0"),
        ("2_Dense/config.json", {"bias": "no"}, "bias must be a bool: received 'no'"),
        ("config_sentence_transformers.json", {"default_prompt_name": "task"}, "'task': expected one of .*'query'"),
        ("config_sentence_transformers.json", {"similarity_fn_name": "maxsim"}, "'maxsim': expected one of .*'dot'"),
        ("config_sentence_transformers.json", {"truncate_dim": -3}, "truncate_dim must be a number above 0, or null"),
        ("config_sentence_transformers.json", {"prompts": {"query": 5}}, "texts by name: received {'query': 5}"),
        ("config_sentence_transformers.json", {"model_type": "SparseEncoder"}, "model_type 'SparseEncoder': only"),
        ("sentence_bert_config.json", {"modality_config": {"text": {}, "message": {}}}, "in the chat template"),
        ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "transformer_task 'fill-mask': only"),
    ],
)  # fmt: skip
def test_what_is_refused(many, file, values, message):
    change(many / file, **values)
    with pytest.raises(ValueError, match=message):
        read_sentence_transformer(many)


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode_best": True}, r"Pooling.config\.json has the keys \['pooling_mode"),
        ("2_Dense/config.json", {"dropout": 0.1}, "the keys .'dropout'., which nothing here follows"),
        ("config_sentence_transformers.json", {"matryoshka": [3]}, "the keys .'matryoshka'."),
        ("sentence_bert_config.json", {"model_args": {"a": 1}}, "the keys .'model_args'."),
    ],
)  # fmt: skip
def test_what_is_warned_of(many, file, values, message):
    change(many / file, **values)
    with pytest.warns(UserWarning, match=message):
        assert read_sentence_transformer(many)["pooling"] == OPTIONS["pooling"]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["Transformer", "Pooling", "Normalize", "Pooling"], r"\['Transformer', 'Pooling', 'Normalize', 'Pooling'\]"),
        (["Transformer", "Normalize", "Pooling"], "expected Transformer and Pooling, or Static"),
        (["Transformer", "Pooling", "LSTM"], "the module .LSTM., which is not supported: expected Tr"),
        (["Transformer"], "without Pooling: expected Pooling behind it, or .* 'CrossEncoder'"),
        (["Transformer", "WeightedLayerPooling", "Pooling"], "no weighted mean of the layers .* loss=\"regression\""),
        (["Transformer", "LogitScore"], "without Pooling: expected"), (["Router"], "'Router'.*a copy of the folder"),
        (["BoW", "Pooling"], "'BoW'"), ([], "expected Transformer"),
    ],
)  # fmt: skip
def test_modules_that_are_not_supported(folder, kinds, message):
    modules = [{"path": f"{number}_x" if number else "", "type": f"sentence_transformers.models.{kind}"}
               for number, kind in enumerate(kinds)]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match=message):
        read_sentence_transformer(folder)


def test_code_beside_the_model_is_not_run(folder):
    path = folder / "modules.json"
    modules = json.loads(path.read_text())
    modules[0]["type"] = "custom_st.Transformer"
    path.write_text(json.dumps(modules))
    with pytest.raises(ValueError, match=r"not run here: \['custom_st\.Transformer'\]\. Load the model alone"):
        read_sentence_transformer(folder)


def test_prompts_that_their_version_5_writes_for_every_model_are_none(folder):
    change(folder / "config_sentence_transformers.json", prompts={"query": "", "document": ""})
    assert read_sentence_transformer(folder)["prompts"] == {}


def test_weights_of_dense_layers_are_needed(many):
    (many / "2_Dense" / "model.safetensors").unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"no weights in .*2_Dense"):
        layer_tensors(many)


def test_each_similarity_is_read(many):
    for similarity in SIMILARITIES:
        change(many / "config_sentence_transformers.json", similarity_fn_name=similarity)
        assert read_sentence_transformer(many)["similarity"] == similarity
    change(many / "config_sentence_transformers.json", similarity_fn_name=None)
    assert read_sentence_transformer(many)["similarity"] == "cosine"  # as sentence-transformers has it
