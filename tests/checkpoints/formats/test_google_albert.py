from __future__ import annotations

import json

import numpy as np
import pytest
from tf1_encoders import PIECES, Numbers, Shapes, albert_folder, albert_variables
from tf_folders import IDS, MASK, WORDS, gelu, head_variables, write_vocabulary

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions

ALBERT = albert_variables(rows=len(WORDS))
POSITIONS = np.tile(np.arange(IDS.shape[1]), (len(IDS), 1))


def masked(array):
    return np.where(MASK[..., None], array, 0)


@pytest.mark.integration
@pytest.mark.parametrize("groups, layers, heads", [(1, 4, 2), (2, 4, 4)])
@pytest.mark.filterwarnings("ignore:.* lacks some settings")
def test_the_numbers_of_the_program(tmp_path, groups, layers, heads):
    variables = albert_variables(groups=groups, rows=len(WORDS))
    folder = albert_folder(tmp_path / "old", variables, layers, heads, num_hidden_groups=groups)
    (folder / "30k-clean.model").unlink()
    write_vocabulary(folder)
    (folder / "vocab.txt").rename(folder / "vocab_chinese.txt")
    numbers = Numbers(variables, gelu)
    hidden = numbers.albert(layers, heads, groups)
    task = zoo.load(folder, outputs=["hidden_states"])
    assert task.kind.name == "masked_lm"
    task.save(tmp_path / "new")
    inputs = {"token_ids": IDS, "segment_ids": 0 * IDS, "padding_mask": MASK, "mask_positions": POSITIONS}
    for loaded in (task, zoo.load(tmp_path / "new", outputs=["hidden_states"])):
        found = loaded.model.predict(inputs, verbose=0)
        np.testing.assert_allclose(masked(found.pop("hidden_states")), masked(hidden), atol=2e-5)
        (logits,) = found.values()
        np.testing.assert_allclose(masked(logits), masked(numbers.albert_words(hidden)), atol=2e-5)


@pytest.mark.integration
@pytest.mark.parametrize("prefix, labels, architecture", [("", 3, "AlbertForSequenceClassification"),
                                                          ("cls/squad/", 2, "AlbertForQuestionAnswering")])  # fmt: skip
def test_the_head_that_is_there_is_kept(tmp_path, prefix, labels, architecture):
    encoder = {name: value for name, value in albert_variables().items() if name.startswith("bert/")}
    stored = find_stored(albert_folder(tmp_path, encoder | head_variables(prefix, labels)))
    assert (stored.writer, stored.values["architectures"]) == ("google-research/albert", [architecture])
    assert (stored.config.activation, stored.config.num_layers, stored.config.embedding_dim) == ("gelu_tanh", 4, 6)
    assert len(stored.tensors()) == len(encoder) + 2


@pytest.mark.integration
def test_the_head_of_squad_2_is_left_out_and_named(tmp_path):
    shapes = Shapes()
    shapes.dense("start_logits/dense", 8, 1)
    shapes.dense("end_logits/dense_0", 16, 8)
    shapes.norm("end_logits/LayerNorm", 8)
    shapes.dense("end_logits/dense_1", 8, 1)
    shapes.dense("answer_class/dense_0", 16, 8)
    encoder = {name: value for name, value in albert_variables().items() if name.startswith("bert/")}
    stored = find_stored(albert_folder(tmp_path, encoder | shapes.filled(1)))
    assert stored.values["architectures"] == ["AlbertModel"] and len(stored.tensors()) == len(encoder)
    assert any("run_squad_v2.py trained is left out" in clause for clause in stored.assumed)


@pytest.mark.parity
def test_the_tokens_of_its_class_in_transformers(tmp_path):
    tokenizer = find_stored(albert_folder(tmp_path, albert_variables())).tokenizers()[0]
    texts = ["Fine film", "a b", "é", "", "1, a"]
    rows = [row.ids for row in tokenizer.encode(texts)]
    assert rows[0] == [2, 6, 7, 3]
    assert rows[3] == [2, 3]
    tokenizer.save(tmp_path / "saved")
    values = json.loads((tmp_path / "saved/tokenizer_config.json").read_text())
    assert values["tokenizer_class"] == "AlbertTokenizer"
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert theirs(texts)["input_ids"] == rows


@pytest.mark.integration
def test_cased_texts(tmp_path):
    folder = albert_folder(tmp_path, albert_variables())
    cased = find_stored(folder, UserOptions(lowercase=False)).tokenizers()[0]
    assert cased.encode(["Fine film"])[0].ids != [2, 6, 7, 3]


@pytest.mark.integration
@pytest.mark.parametrize(
    "name, message",
    [
        ("albert_config.json", "does not follow from its variables.*no albert_config.json"),
        ("30k-clean.model", "expected its SentencePiece model.*there is none"),
    ],
)
def test_a_file_is_missing(tmp_path, name, message):
    folder = albert_folder(tmp_path, albert_variables())
    (folder / name).unlink()
    with pytest.raises(ValueError, match=message):
        find_stored(folder)


@pytest.mark.integration
@pytest.mark.parametrize("key, value", [("vocab_size", 30000), ("hidden_size", 768), ("embedding_size", 128),
                                        ("num_hidden_groups", 3), ("intermediate_size", 3072)])  # fmt: skip
def test_sizes_that_contradict_the_variables(tmp_path, key, value):
    with pytest.raises(ValueError, match=f"albert_config.json says .*{key}.*{value}.*two models"):
        find_stored(albert_folder(tmp_path, albert_variables(), **{key: value}))


@pytest.mark.integration
@pytest.mark.parametrize(
    "more, message",
    [
        ({"hidden_act": "swish"}, "unknown activation"), ({"num_hidden_layers": None}, "lacks"),
        ({"num_hidden_layers": "4"}, "must be a int"), ({"num_attention_heads": 3}, "divides"),
        ({"inner_group_num": 2}, "inner_group_num"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(tmp_path, more, message):
    with pytest.raises(ValueError, match=message):
        find_stored(albert_folder(tmp_path, albert_variables(), **more))


@pytest.mark.integration
def test_a_vocabulary_of_another_size(tmp_path):
    with pytest.raises(ValueError, match=rf"30k-clean.model has {len(PIECES)} tokens, and the model 29"):
        find_stored(albert_folder(tmp_path, ALBERT))


def test_models_like_albert_are_refused(tmp_path):
    name = "bert/encoder/transformer/group_0/inner_group_1/LayerNorm/beta"
    with pytest.raises(ValueError, match=r"variant of ALBERT.*inner_group_1"):
        find_stored(albert_folder(tmp_path, albert_variables() | {name: np.ones(8, "float32")}))
