from __future__ import annotations

import json

import numpy as np
import pytest
from tf_folders import (
    IDS,
    MASK,
    WORDS,
    bert_config,
    bert_numbers,
    bert_variables,
    by_name,
    google_bert,
    head_variables,
    pretraining_variables,
    slots,
    write_variables,
    write_vocabulary,
)

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.formats.google_bert import torch_name
from keras_transformers.checkpoints.stored import UserOptions

BERT = bert_variables()
HEADS = {
    "BertModel": {},
    "BertForSequenceClassification": head_variables("", 3),
    "BertForQuestionAnswering": head_variables("cls/squad/", 2),
    "BertForPreTraining": pretraining_variables(),
}


@pytest.mark.parametrize("architecture", HEADS)
def test_the_head_that_is_there_is_kept(tmp_path, architecture):
    head = HEADS[architecture]
    stored = find_stored(google_bert(tmp_path, BERT | slots(BERT) | head))
    assert stored.writer == "google-research/bert"
    assert stored.values["architectures"] == [architecture]
    tensors = by_name(stored)
    assert len(tensors) == len(BERT) + len(head)
    kernel = BERT["bert/encoder/layer_1/attention/self/key/kernel"]
    np.testing.assert_array_equal(tensors["bert.encoder.layer.1.attention.self.key.weight"], kernel.T)
    np.testing.assert_array_equal(tensors["bert.embeddings.LayerNorm.weight"], BERT["bert/embeddings/LayerNorm/gamma"])
    for name, array in head.items():  # none of these is transposed
        if not name.endswith("kernel"):
            np.testing.assert_array_equal(tensors[torch_name(name)], array)


def test_gelu_is_that_of_the_program_and_sizes_are_those_of_the_variables(tmp_path):
    stored = find_stored(google_bert(tmp_path, bert_variables(width=12, layers=3, inner=20), heads=3))
    assert (stored.config.activation, stored.config.epsilon) == ("gelu_tanh", 1e-12)
    assert stored.values["hidden_act"] == "gelu_new"
    config = stored.config
    assert (config.num_layers, config.num_heads, config.hidden_dim, config.intermediate_dim) == (3, 3, 12, 20)
    assert config.pad_id == 0


def test_a_config_that_was_put_beside_for_transformers_is_its_own(tmp_path):
    folder = google_bert(tmp_path, BERT | head_variables("", 3))
    values = json.loads((folder / "bert_config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"model_type": "bert", "architectures": ["BertModel"]}))
    beside = find_stored(folder)
    assert (beside.writer, beside.values["hidden_act"]) == ("google-research/bert", "gelu_new")
    (folder / "bert_config.json").rename(folder / "config.json")
    renamed = find_stored(folder)
    assert (renamed.values, renamed.assumed) == (beside.values, beside.assumed)


def test_labels_are_numbers_and_one_is_a_regression(tmp_path):
    three = find_stored(google_bert(tmp_path / "three", BERT | head_variables("", 3)))
    assert three.extra["labels"] == ("LABEL_0", "LABEL_1", "LABEL_2")
    one = find_stored(google_bert(tmp_path / "one", BERT | head_variables("", 1)))
    assert (one.extra["labels"], one.extra["problem"]) == (("LABEL_0",), "regression")


def test_lower_case_is_assumed_by_the_vocabulary_or_said(tmp_path):
    folder = google_bert(tmp_path, BERT)
    stored = find_stored(folder)
    assert stored.assumed == ["texts are lower-cased, as the vocabulary has no capitals (if not: lowercase=False)"]
    assert stored.tokenizers()[0].encode(["FINE film"])[0].ids == [2, 25, 26, 3]
    said = find_stored(folder, UserOptions(lowercase=False))
    assert said.assumed == []
    assert said.tokenizers()[0].encode(["FINE film"])[0].ids == [2, 1, 26, 3]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    for step, seed in ((3, 0), (7, 1)):
        google_bert(folder, bert_variables(seed=seed) | head_variables("", 2), f"model.ckpt-{step}")
    return folder


class TestPrefix:
    def test_several_are_refused(self, run):
        (run / "checkpoint").unlink(missing_ok=True)
        with pytest.raises(ValueError, match=r"several checkpoints.*model.ckpt-7'"):
            find_stored(run)

    def test_the_one_that_the_user_names(self, run):
        table = by_name(find_stored(run / "model.ckpt-3"))["bert.embeddings.word_embeddings.weight"]
        np.testing.assert_array_equal(table, bert_variables(seed=0)["bert/embeddings/word_embeddings"])

    def test_the_one_that_is_named_by_a_path_of_another_machine(self, run):
        (run / "checkpoint").write_text('model_checkpoint_path: "/gpu7/runs/model.ckpt-7"\n')
        table = by_name(find_stored(run))["bert.embeddings.word_embeddings.weight"]
        np.testing.assert_array_equal(table, bert_variables(seed=1)["bert/embeddings/word_embeddings"])

    @pytest.mark.parametrize("path", ["", ".", "..", "/gpu7/runs/"])
    def test_a_path_without_a_name(self, run, path):
        (run / "checkpoint").write_text(f'model_checkpoint_path: "{path}"\n')
        with pytest.raises(ValueError, match="several checkpoints"):
            find_stored(run)

    def test_one_that_is_named_and_not_there(self, run):
        (run / "checkpoint").write_text('model_checkpoint_path: "../../elsewhere/model.ckpt-9"\n')
        with pytest.raises(ValueError, match=r"names 'model.ckpt-9', which is not there.*model.ckpt-3"):
            find_stored(run)


def test_without_bert_config_the_variables_tell(tmp_path):
    variables = bert_variables(width=128, layers=1)
    (google_bert(tmp_path, variables) / "bert_config.json").unlink()
    stored = find_stored(tmp_path)
    assert stored.config.num_heads == 2
    assert [clause.split(",")[0] for clause in stored.assumed][:2] == [
        "the activation is gelu",
        "attention has 2 heads",
    ]
    assert find_stored(tmp_path, UserOptions(num_heads=4)).config.num_heads == 4


def test_a_width_that_tells_no_heads(tmp_path):
    (google_bert(tmp_path, BERT) / "bert_config.json").unlink()
    with pytest.raises(ValueError, match="num_heads="):
        find_stored(tmp_path)
    with pytest.raises(ValueError, match="divides the width"):
        find_stored(tmp_path, UserOptions(num_heads=3))


CONTRADICTIONS = {
    "vocab_size": 10**9, "num_hidden_layers": 12, "hidden_size": 768, "intermediate_size": 1,
    "max_position_embeddings": 10**12, "type_vocab_size": 0,
}  # fmt: skip


@pytest.mark.parametrize("key", CONTRADICTIONS)
def test_sizes_that_contradict_the_variables(tmp_path, key):
    google_bert(tmp_path, BERT, **{key: CONTRADICTIONS[key]})
    with pytest.raises(ValueError, match=f"bert_config.json says .*{key}.*{CONTRADICTIONS[key]}.*two models"):
        find_stored(tmp_path)


@pytest.mark.parametrize(
    "said, message",
    [(UserOptions(num_heads=4), "2 attention heads: received num_heads=4"), (UserOptions(num_heads=2), None)],
)
def test_heads_that_the_file_says(tmp_path, said, message):
    folder = google_bert(tmp_path, BERT)
    if message is None:
        assert find_stored(folder, said).config.num_heads == 2
        return
    with pytest.raises(ValueError, match=message):
        find_stored(folder, said)


@pytest.mark.parametrize("act", [None, "linear", "gelu_python", 3])
def test_an_activation_that_is_not_known(tmp_path, act):
    with pytest.raises(ValueError, match=r"bert_config.json: .*(activation|hidden_act)"):
        find_stored(google_bert(tmp_path, BERT, hidden_act=act))


def test_other_files_are_missing(tmp_path):
    folder = google_bert(tmp_path, BERT)
    (folder / "vocab.txt").unlink()
    with pytest.raises(ValueError, match=r"no vocab.txt in .*Copy it there"):
        find_stored(folder)
    (folder / "bert_model.ckpt.data-00000-of-00001").unlink()
    with pytest.raises(ValueError, match=r"needs files that are not there: \['bert_model.ckpt.data-00000-of-00001'\]"):
        find_stored(folder)
    (folder / "bert_model.ckpt.index").unlink()
    (folder / "bert_model.ckpt.meta").write_bytes(b"graph")
    with pytest.raises(ValueError, match=r"no checkpoint beside .*bert_config.json.*'bert_model.ckpt.meta'"):
        find_stored(folder)


def test_a_data_file_that_is_cut_short(tmp_path):
    data = google_bert(tmp_path, BERT) / "bert_model.ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(ValueError, match="cut short"):
        find_stored(tmp_path)


@pytest.mark.parametrize("words, rows", [(WORDS[:-1], 29), ((*WORDS, "more"), 29)])
def test_a_vocabulary_of_another_size(tmp_path, words, rows):
    write_vocabulary(google_bert(tmp_path, BERT), words)
    with pytest.raises(ValueError, match=f"has {len(words)} tokens, and the model {rows}"):
        find_stored(tmp_path)


def test_rows_that_fill_up_a_multiple_of_eight(tmp_path):
    padded = BERT | {"bert/embeddings/word_embeddings": np.ones((32, 8), "float32")}
    assert find_stored(google_bert(tmp_path, padded)).config.vocabulary_size == 32


@pytest.mark.parametrize(
    "name, kind", [("bert/encoder/transformer/group_0/inner_group_0/ffn_1/w", "ALBERT"), ("bert/other/kernel", "like")]
)
def test_models_like_bert_are_refused(tmp_path, name, kind):
    with pytest.raises(ValueError, match=kind):
        find_stored(google_bert(tmp_path, BERT | {name: np.ones((2, 2), "float32")}))


@pytest.mark.parametrize("name", ["bert/embeddings/word_embeddings", "bert/encoder/layer_0/intermediate/dense/kernel"])
def test_variables_that_are_missing_or_of_another_rank(tmp_path, name):
    config = bert_config(BERT)
    for number, variables in enumerate(
        ({key: value for key, value in BERT.items() if key != name}, BERT | {name: np.ones(3, "float32")})
    ):
        folder = tmp_path / str(number)
        write_variables(folder / "bert_model.ckpt", variables)
        write_vocabulary(folder)
        (folder / "bert_config.json").write_text(json.dumps(config))
        with pytest.raises(ValueError, match="lacks the variables"):
            find_stored(folder)


def test_a_layer_is_missing(tmp_path):
    variables = {name: array for name, array in bert_variables(layers=3).items() if "layer_1/" not in name}
    with pytest.raises(ValueError, match=r"none of the numbers \[1\]"):
        find_stored(google_bert(tmp_path, variables))


@pytest.mark.integration
@pytest.mark.parametrize("width, layers, heads, seed", [(8, 1, 1, 0), (12, 2, 3, 1), (16, 3, 4, 2)])
@pytest.mark.filterwarnings("ignore:.* lacks some settings")
def test_the_numbers_of_the_program(tmp_path, width, layers, heads, seed):
    bert = bert_variables(width, layers, inner=3 * width, seed=seed)
    head = head_variables("", 3, width)
    folder = google_bert(tmp_path / "old", bert | head, "model.ckpt-7", heads=heads)
    task = zoo.load(f"{folder}/model.ckpt-7" if layers == 2 else folder, outputs=["hidden_states"])
    inputs = {"token_ids": IDS, "segment_ids": 0 * IDS, "padding_mask": MASK}
    hidden = bert_numbers(bert, heads)
    pooled = np.tanh(hidden[:, 0] @ bert["bert/pooler/dense/kernel"] + bert["bert/pooler/dense/bias"])
    logits = pooled @ head["output_weights"].T + head["output_bias"]
    task.save(tmp_path / "new")
    for loaded in (task, zoo.load(tmp_path / "new", outputs=["hidden_states"])):
        outputs = loaded.model.predict(inputs, verbose=0)
        np.testing.assert_allclose(outputs["hidden_states"][MASK == 1], hidden[MASK == 1], atol=1e-5)
        np.testing.assert_allclose(outputs["logits"], logits, atol=1e-5)
