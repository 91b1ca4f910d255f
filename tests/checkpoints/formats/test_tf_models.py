from __future__ import annotations

import numpy as np
import pytest
from tf_folders import bert_variables, garden_variables

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.formats.google_bert import to_torch as google_to_torch
from keras_transformers.checkpoints.formats.tf_models import Objects, is_bert, read_bert, torch_name

GOOGLE = bert_variables()
GARDEN = garden_variables(GOOGLE)


def tensors(variables):
    return {
        str(number): Tensor(name, array.shape, "float32", lambda array=array: array)
        for number, (name, array) in enumerate(variables.items())
    }


def read(variables, attributes=(), is_of_tokens=False):
    return read_bert(Objects(tensors(variables), frozenset(attributes), is_of_tokens), "a folder")


def dense(name, size, units):
    random = np.random.default_rng(len(name))
    return {f"{name}/kernel": random.normal(size=(size, units)), f"{name}/bias": random.normal(size=units)}


def test_one_model_by_two_names():
    one = google_to_torch({tensor.name: tensor for tensor in tensors(GOOGLE).values()}, "a folder")
    two = {tensor.name: tensor for tensor in read(GARDEN).tensors}
    assert len(one) == len(two)
    for tensor in one:
        assert two[tensor.name].shape == tensor.shape
        np.testing.assert_array_equal(two[tensor.name].read(), tensor.read())


@pytest.mark.parametrize("prefix", ["bert_encoder_v2_1/", "a/b/", "bert_model/encoder/"])
def test_any_prefix(prefix):
    prefixed = {prefix + name: array for name, array in GARDEN.items()}
    assert is_bert(Objects(tensors(prefixed), frozenset(), False))
    plain = {tensor.name for tensor in read(GARDEN).tensors}
    assert {tensor.name for tensor in read(prefixed).tensors} == plain
    assert read(prefixed).num_heads == 2


def test_names_of_2019():
    assert torch_name("bert_model/encoder/layer_3/self_attention_output/kernel") == (
        "bert.encoder.layer.3.attention.output.dense.weight"
    )
    assert torch_name("bert_model/embedding_postprocessor/type_embeddings") == (
        "bert.embeddings.token_type_embeddings.weight"
    )
    assert torch_name("cls/predictions/output_bias/bias") == "cls.predictions.bias"


HEADS = {
    "classifier": (dense("sentence_prediction/logits", 8, 3), {}, "classifier.weight"),
    "next sentence": (dense("bert/next_sentence/logits", 8, 2), {}, "cls.seq_relationship.weight"),
    "spans": (dense("predictions/transform/logits", 8, 2), {"attributes": ["span_labeling"]}, "qa_outputs.weight"),
    "tokens": (dense("predictions/transform/logits", 8, 5), {"is_of_tokens": True}, "classifier.weight"),
    "classifier of 2020": (dense("predictions/transform/logits", 8, 3), {}, "classifier.weight"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_what_its_place_tells(name):
    head, facts, weight = HEADS[name]
    bert = read(GARDEN | head, **facts)
    found = {tensor.name: tensor.read() for tensor in bert.tensors}
    np.testing.assert_array_equal(found[weight], next(iter(head.values())).T)
    assert bert.architecture == ("BertForTokenClassification" if name == "tokens" else None)
    np.testing.assert_array_equal(found["bert.pooler.dense.weight"], GARDEN["pooler_transform/kernel"].T)


def test_the_pooler_of_a_head_takes_the_place_of_the_encoders():
    pooler = dense("sentence_prediction/pooler_dense", 8, 8)
    found = {t.name: t.read() for t in read(GARDEN | pooler | dense("sentence_prediction/logits", 8, 3)).tensors}
    np.testing.assert_array_equal(
        found["bert.pooler.dense.weight"], pooler["sentence_prediction/pooler_dense/kernel"].T
    )
    without_logits = read(GARDEN | pooler)
    found = {tensor.name: tensor.read() for tensor in without_logits.tensors}
    np.testing.assert_array_equal(found["bert.pooler.dense.weight"], GARDEN["pooler_transform/kernel"].T)
    assert without_logits.assumed == [
        "the pooler is the encoder's, as the head 'sentence_prediction' is stored without logits"
    ]


def test_a_head_of_the_users_own_stays_beside():
    names = [tensor.name for tensor in read(GARDEN | dense("aggregate/layer_0/mine", 8, 3)).tensors]
    assert names[-2:] == ["aggregate/layer_0/mine/kernel", "aggregate/layer_0/mine/bias"]


def test_several_heads_are_refused():
    with pytest.raises(ValueError, match=r"heads \['one', 'two'\]"):
        read(GARDEN | dense("one/logits", 8, 3) | dense("two/logits", 8, 3))


@pytest.mark.parametrize(
    "name, kind",
    [
        ("embedding_projection/kernel", "ALBERT"),
        ("transformer/self_attention/query/kernel", "repeated"),
        ("transformer/layer_0/self_attention/pre_softmax_weight", "of another kind"),
        ("transformer/layer_0/other/kernel", "of another kind"),
    ],
)
def test_models_like_bert_are_refused(name, kind):
    with pytest.raises(ValueError, match=kind):
        read(GARDEN | {name: np.ones((2, 2))})
