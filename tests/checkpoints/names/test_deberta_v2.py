"""DeBERTa's config.json and older files: what is followed, and what is refused by its name."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf
from family_cases import CASES
from processes import run
from spm_models import ENCODERS

import zoo
from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import deberta_v2
from keras_transformers.families.encoders.deberta_v2 import DEBERTA_V2
from keras_transformers.text.sentencepiece import spm_file

CASE = CASES["deberta-v2"]
MASKED_LM = "DebertaV2ForMaskedLM"


def settings(**changes):
    values = {**make_config(CASE.compared(), MASKED_LM), **changes}
    return {name: value for name, value in values.items() if value is not ...}


def read(folder, **changes):
    (folder / "config.json").write_text(json.dumps(settings(**changes)))
    return read_config(folder)[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pos_att_type": "c2p|p2c"}, {}),
        ({"pos_att_type": " P2C | c2p"}, {}),
        ({"pos_att_type": ["p2c", "c2p"], "legacy": False, "attention_head_size": 8}, {}),
        ({"max_relative_positions": 0}, {}),
        ({"max_relative_positions": 40}, {"max_distance": 40}),
        ({"position_biased_input": ...}, {"positions": ("learned", "disentangled")}),
        ({"pooler_hidden_act": ...}, {}),
        ({"pooler_hidden_act": None, "position_biased_input": None}, {"positions": ("learned", "disentangled")}),
        ({"pooler_hidden_act": "gelu_new"}, {"pooler_activation": "gelu_tanh"}),
        ({"cls_dropout": 0.3, "pooler_dropout": 0.2}, {"classifier_dropout": 0.3, "pooler_dropout": 0.2}),
    ],
)
def test_what_is_followed(tmp_path, changes, expected):
    assert read(tmp_path, **changes) == CASE.compared().replace(**expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conv_kernel_size": 3}, "conv_kernel_size=3"),
        ({"share_att_key": False}, "share_att_key=False"),
        ({"share_att_key": ...}, "share_att_key=False"),
        ({"norm_rel_ebd": ...}, "norm_rel_ebd='none'"),
        ({"relative_attention": ...}, "relative_attention=False"),
        ({"pos_att_type": "c2p"}, r"pos_att_type=\['c2p'\]"),
        ({"pos_att_type": ...}, "pos_att_type=None"),
        ({"position_buckets": ...}, "position_buckets must be a positive integer: received -1"),
        ({"position_buckets": 400}, "received 400 buckets with a largest distance of 24"),
        ({"pooler_hidden_act": "selu"}, "pooler_hidden_act='selu'"),
        ({"embedding_size": 8}, "embedding_size=8"),
        ({"pooler_hidden_size": 8}, "pooler_hidden_size=8"),
        ({"attention_head_size": 16}, "attention_head_size=16"),
        ({"max_relative_positions": "many"}, "wrong type"),
        ({"position_biased_input": "no"}, "position_biased_input must be true or false: received 'no'"),
        ({"norm_rel_ebd": None}, "norm_rel_ebd='none'"),
    ],
)
def test_what_is_refused_by_name(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": ("sinusoidal", "disentangled")}, "no place for positions=.*sinusoidal"),
        ({"pooler_activation": "elu"}, "pooler_hidden_act='elu' is not supported"),
    ],
)
def test_what_the_format_has_no_place_for(changes, message):
    with pytest.raises(ValueError, match=message):
        make_config(CASE.compared().replace(**changes), MASKED_LM)


@pytest.mark.parity
def test_the_masked_lm_of_the_released_files(tmp_path, ours, theirs):
    """Named as in DeBERTa's own code, beside a head that is not ours and positions that the model does not add."""
    import safetensors.torch
    import torch

    reference = theirs.make(tmp_path, MASKED_LM, **settings(legacy=False))
    file = tmp_path / "model.safetensors"
    more = {"mask_predictions.dense.weight": torch.ones(32, 32), "mask_predictions.classifier.bias": torch.ones(1)}
    more["deberta.embeddings.position_embeddings.weight"] = torch.ones(24, 32)
    safetensors.torch.save_file(safetensors.torch.load_file(file) | more, file, {"format": "pt"})
    assert "lm_predictions.lm_head.bias" in safetensors.torch.load_file(file)

    model = ours.build(CASE.compared(), MASKED_LM)
    load_weights(model, tmp_path)
    inputs = ours.batch(CASE.compared(), length=21)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < 1e-4

    save_folder(tmp_path / "saved", model, CASE.compared(), None, architecture=MASKED_LM)
    back, report = type(reference).from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not any(report.values()), report
    assert ours.difference(theirs.predict(back.eval(), inputs), expected) < 1e-6


READ_EXPORT = """
import sys, json
import tensorflow as tf
served = tf.saved_model.load(sys.argv[2]).signatures["serving_default"]
found = served(text=tf.constant(json.loads(sys.argv[3])))
print(json.dumps({name: value.numpy().tolist() for name, value in found.items() if value.dtype == tf.float32}))
"""


@pytest.mark.integration
def test_a_folder_with_spm_model_alone_predicts_texts_and_is_exported_with_text_in(tmp_path, ours):
    config = deberta_v2(30, num_layers=2, num_heads=4, hidden_dim=16, max_length=24, position_buckets=6)
    architecture = DEBERTA_V2.tasks["classification"]
    model = ours.build(config, architecture, 2)
    ours.randomise(model)
    save_folder(tmp_path / "model", model, config, None, architecture=architecture, labels=["no", "yes"])
    (tmp_path / "model/spm.model").write_bytes(spm_file.serialize(ENCODERS["DebertaV2Tokenizer"]))

    task = zoo.load(tmp_path / "model")
    texts = ["a cat", "cat at a cat, a cat", "ﬁ"]
    expected = []
    for row in task.tokenizer.encode(texts, special_tokens=False):
        ids = np.array([[1, *row.ids, 2]], "int32")
        logits = ours.predict(model, {"token_ids": ids, "padding_mask": np.ones_like(ids)})["logits"]
        expected.append(tf.nn.softmax(logits)[0].numpy())
    found = [[*row["probabilities"].values()] for row in task.predict(texts)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    task.export(tmp_path / "export")
    served = json.loads(run(READ_EXPORT, str(tmp_path / "export"), json.dumps(texts)))
    np.testing.assert_allclose(served["probabilities"], expected, atol=1e-5)
