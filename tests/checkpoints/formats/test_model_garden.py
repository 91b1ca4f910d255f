from __future__ import annotations

import json

import numpy as np
import pytest
import yaml
from tf_folders import (
    bert_config,
    bert_variables,
    by_name,
    garden_variables,
    pretraining_variables,
    write_objects,
    write_vocabulary,
)

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions

BERT = bert_variables()
LOGITS = {"predictions/transform/logits/kernel": np.ones((8, 3), "float32"),
          "predictions/transform/logits/bias": np.ones(3, "float32")}  # fmt: skip
ENCODER = {
    "vocab_size": 29, "hidden_size": 8, "num_layers": 2, "num_attention_heads": 2, "hidden_activation": "gelu",
    "intermediate_size": 12, "dropout_rate": 0.2, "max_position_embeddings": 16, "type_vocab_size": 2,
    "embedding_size": None, "norm_first": False,
}  # fmt: skip


def write(folder, variables=BERT, attributes=None, prefix="bert_model.ckpt-1", **more):
    write_objects(folder / prefix, garden_variables(variables) | more, attributes)
    write_vocabulary(folder)
    (folder / "bert_config.json").write_text(json.dumps(bert_config(BERT)))
    return folder


def run(folder, encoder=None, kind="bert", model=None, **task):
    write(folder, **LOGITS, attributes={"classifier": ["kernel", "bias"]}, prefix="ckpt-3")
    (folder / "bert_config.json").unlink()
    model = {"encoder": {"type": kind, kind: ENCODER | (encoder or {})}} | (model or {})
    (folder / "params.yaml").write_text(yaml.safe_dump({"task": {"model": model, **task}}))
    return folder


def test_an_encoder(tmp_path):
    stored = find_stored(write(tmp_path))
    assert (stored.writer, stored.values["architectures"]) == ("Model Garden", ["BertModel"])
    assert stored.assumed == ["texts are lower-cased, as the vocabulary has no capitals (if not: lowercase=False)"]
    np.testing.assert_array_equal(
        by_name(stored)["bert.encoder.layer.1.attention.output.dense.weight"],
        BERT["bert/encoder/layer_1/attention/output/dense/kernel"].T,
    )


def test_without_a_configuration_the_variables_tell(tmp_path):
    (write(tmp_path) / "bert_config.json").unlink()
    stored = find_stored(tmp_path)
    assert (stored.config.num_heads, stored.config.activation) == (2, "gelu_tanh")
    assert stored.assumed[0].startswith("the activation is gelu")


@pytest.mark.parametrize(
    "change", [{"num_attention_heads": 4}, {"vocab_size": 10**9}, {"num_hidden_layers": 3}, {"hidden_size": 16}]
)
def test_a_configuration_of_another_model(tmp_path, change):
    config = bert_config(BERT) | change
    (write(tmp_path) / "bert_config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=f"bert_config.json says .*{next(iter(change))}.*two models"):
        find_stored(tmp_path)


def test_pre_training(tmp_path):
    masked_lm = {name: array for name, array in pretraining_variables().items() if "predictions" in name}
    head = {"bert/next_sentence/logits/kernel": np.ones((8, 2), "float32"),
            "bert/next_sentence/logits/bias": np.ones(2, "float32"),
            "bert/next_sentence/pooler_dense/kernel": np.ones((8, 8), "float32"),
            "bert/next_sentence/pooler_dense/bias": np.ones(8, "float32")}  # fmt: skip
    stored = find_stored(write(tmp_path, BERT | masked_lm, **head))
    assert stored.values["architectures"] == ["BertForPreTraining"]
    assert by_name(stored)["bert.pooler.dense.bias"].tolist() == [1] * 8


class TestParams:
    def test_sizes_labels_and_dropout(self, tmp_path):
        stored = find_stored(run(tmp_path, class_names=["O", "B-PER", "I-PER"]))
        assert stored.values["architectures"] == ["BertForTokenClassification"]
        assert stored.extra["labels"] == ("O", "B-PER", "I-PER")
        assert stored.config.dropout == 0.2

    def test_the_activation_is_told_where_it_is_assumed(self, tmp_path):
        folder = run(tmp_path)
        assert len(find_stored(folder).assumed) == 1  # of the case
        (folder / "params.yaml").write_text("task: {}")
        assert "the activation is gelu, as params.yaml does not specify it" in find_stored(folder).assumed

    def test_labels_by_number(self, tmp_path):
        assert find_stored(run(tmp_path)).extra["labels"] == ("LABEL_0", "LABEL_1", "LABEL_2")

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"kind": "albert"}, "encoder is 'albert'"),
            ({"encoder": {"norm_first": True}}, "norm_first"),
            ({"encoder": {"embedding_size": 4}}, "embedding_size"),
            ({"encoder": {"vocab_size": 10**9}}, "two models"),
            ({"encoder": {"num_attention_heads": 4}}, "kernels of the checkpoint have 2"),
            ({"encoder": {"hidden_activation": "relu6"}}, "unknown activation 'relu6'"),
            ({"encoder": {"hidden_size": "8"}}, "hidden_size must be a int"),
            ({"encoder": {"hidden_activation": None}}, "unknown activation None"),
            ({"model": {"mlm_activation": "relu"}}, "mlm_activation"),
            ({"model": {"mlm_activation": ["gelu"]}}, "mlm_activation must be a str"),
            ({"model": {"encoder": [1]}}, "encoder must be a dict"),
            ({"class_names": ["O"]}, "names the classes"),
            ({"class_names": 3}, "class_names must be a list"),
        ],
    )
    def test_what_is_not_supported_or_wrong(self, tmp_path, options, message):
        with pytest.raises(ValueError, match=message):
            find_stored(run(tmp_path, **options))


def test_heads_that_the_user_says_otherwise(tmp_path):
    with pytest.raises(ValueError, match="num_heads=4"):
        find_stored(write(tmp_path), UserOptions(num_heads=4))
