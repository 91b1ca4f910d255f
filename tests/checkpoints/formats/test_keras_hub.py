import sys
import types

import keras
import pytest
from presets import bert_preset, gpt2_preset

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.formats.keras_hub import preset_folder
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A classifier of KerasHub with random weights, and the folder of its preset."""
    folder = tmp_path_factory.mktemp("preset")
    return bert_preset(folder), folder


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2")
    return gpt2_preset(folder), folder


@pytest.mark.parity
def test_equals_keras_hub(preset, ours):
    classifier, folder = preset
    stored = find_stored(folder)
    config, extra = stored.config, stored.extra
    assert extra == {
        "architecture": "BertForSequenceClassification",
        "labels": ("LABEL_0", "LABEL_1", "LABEL_2"),
        "problem": "single_label",
    }
    model = ours.build(config, extra["architecture"], 3)
    assert load_weights(model, folder) == ()
    inputs = ours.batch(config)
    theirs = {name: inputs[name] for name in ("token_ids", "segment_ids", "padding_mask")}
    expected = classifier.backbone(theirs)
    expected = {
        "hidden_states": keras.ops.convert_to_numpy(expected["sequence_output"]) * inputs["padding_mask"][..., None],
        "pooled": keras.ops.convert_to_numpy(expected["pooled_output"]),
        "logits": keras.ops.convert_to_numpy(classifier(theirs)),
    }
    assert ours.difference(ours.predict(model, inputs), expected) < 1e-4


@pytest.mark.parity
def test_gpt2_equals_keras_hub(gpt2, ours):
    theirs, folder = gpt2
    stored = find_stored(folder)
    config, extra = stored.config, stored.extra
    assert extra == {"architecture": "GPT2LMHeadModel", "labels": None, "problem": None}
    end = find_stored(folder).tokenizers()[0].token_to_id("<|endoftext|>")
    assert (config.bos_id, config.eos_ids) == (end, (end,))
    model = ours.build(config, extra["architecture"])
    assert load_weights(model, folder) == ()
    inputs = ours.batch(config)
    expected = keras.ops.convert_to_numpy(theirs({name: inputs[name] for name in ("token_ids", "padding_mask")}))
    assert ours.difference(ours.predict(model, inputs), {"logits": expected * inputs["padding_mask"][..., None]}) < 1e-4


@pytest.mark.parity
def test_gpt2_tokenizer(gpt2):
    theirs, folder = gpt2
    text = "the cats danced, they thethe\n é"
    assert find_stored(folder).tokenizers()[0].encode([text])[0].ids == list(theirs.preprocessor.tokenizer(text))


@pytest.mark.parity
def test_a_missing_head_must_be_allowed(preset, ours):
    config = find_stored(preset[1]).config
    model = ours.build(config, "BertForPreTraining")
    with pytest.raises(ValueError, match=r"nothing was loaded(.|\n)*next_sentence/bias"):
        load_weights(model, preset[1])
    heads = ("masked_lm_dense", "masked_lm_norm", "masked_lm_bias", "next_sentence")
    assert len(load_weights(model, preset[1], missing_ok=heads)) == 7


@pytest.mark.parity
def test_a_model_of_other_size_is_refused(preset, ours):
    config = find_stored(preset[1]).config
    model = ours.build(config.replace(num_layers=2, max_length=30), "BertModel")
    with pytest.raises(ValueError, match=r"position_embeddings.weight is \(24, 32\)(.|\n)*unexpected(.|\n)*layer\.2"):
        load_weights(model, preset[1])


@pytest.mark.parity
def test_tokenizer(preset):
    tokenizer = find_stored(preset[1]).tokenizers()[0]
    assert tokenizer.encode(["The cats danced"])[0].ids == [2, 5, 6, 7, 8, 3]
    assert isinstance(tokenizer, Tokenizer)


@pytest.mark.parity
def test_a_name_goes_through_kagglehub(monkeypatch, tmp_path):
    pytest.importorskip("keras_nlp")
    asked = []
    fake = types.SimpleNamespace(model_download=lambda handle: asked.append(handle) or str(tmp_path))
    monkeypatch.setitem(sys.modules, "kagglehub", fake)
    assert preset_folder("keras-nlp:bert_tiny_en_uncased") == tmp_path
    assert asked[0].startswith("keras/bert/keras/bert_tiny_en_uncased")
    with pytest.raises(ValueError, match=r"bert_tiny_en_uncase'.*bert_tiny_en_uncased"):
        preset_folder("bert_tiny_en_uncase")

    def fail(handle):
        raise ConnectionError("no route")

    monkeypatch.setattr(fake, "model_download", fail)
    with pytest.raises(ValueError, match=r"bert_tiny_en_uncased.*no route"):
        preset_folder("bert_tiny_en_uncased")


def test_without_keras_nlp_folders_still_work(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "keras_nlp", None)
    monkeypatch.setitem(sys.modules, "keras_nlp.models", None)
    assert preset_folder(str(tmp_path)) == tmp_path
    with pytest.raises(ValueError, match=r"pip install 'keras_transformers\[keras-nlp\]'"):
        preset_folder("bert_tiny_en_uncased")


@pytest.mark.parametrize("content", ['{"class_name": "LlamaBackbone"}', '{"class_name": ["BertBackbone"]}', "[]", "{"])
def test_what_is_no_preset_of_these_is_refused(tmp_path, content):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ValueError, match=r"BertBackbone|JSON"):
        find_stored(tmp_path)
