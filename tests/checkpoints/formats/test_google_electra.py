from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tf1_encoders import Numbers, Shapes, electra_folder, electra_variables, gelu_erf
from tf_folders import IDS, MASK

import zoo
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.stored import UserOptions

ELECTRA = electra_variables()
NUMBERS = Numbers(ELECTRA, gelu_erf)
TWO = UserOptions(num_heads=2)
pytestmark = pytest.mark.filterwarnings("ignore:.* lacks some settings")
INPUTS = {"token_ids": IDS, "segment_ids": 0 * IDS, "padding_mask": MASK}
POSITIONS = np.tile(np.arange(IDS.shape[1]), (len(IDS), 1))


def masked(array, mask=MASK):
    return np.where(mask.reshape(mask.shape + (1,) * (array.ndim - 2)), array, 0)


def close(found, expected):
    np.testing.assert_allclose(masked(np.squeeze(found)), masked(np.squeeze(expected)), atol=2e-5)


@pytest.mark.integration
def test_the_numbers_of_the_discriminator(tmp_path):
    folder = electra_folder(tmp_path / "old", ELECTRA)
    task = zoo.load(folder, num_heads=2, outputs=["hidden_states"])
    assert task.kind.name == "replaced_tokens"
    hidden = NUMBERS.electra("electra", 2, 2)
    task.save(tmp_path / "new")
    for loaded in (task, zoo.load(tmp_path / "new", outputs=["hidden_states"])):
        found = loaded.model.predict(INPUTS, verbose=0)
        close(found["hidden_states"], hidden)
        close(found["logits"], NUMBERS.replaced(hidden))


@pytest.mark.integration
@pytest.mark.parametrize("own", [False, True])
def test_the_numbers_of_the_generator(tmp_path, own):
    variables = electra_variables(own=own)
    numbers, scope = Numbers(variables, gelu_erf), "generator/embeddings" if own else "electra/embeddings"
    task = zoo.load(electra_folder(tmp_path, variables), "masked_lm", num_heads=2)
    found = task.model.predict(INPUTS | {"mask_positions": POSITIONS}, verbose=0)
    (logits,) = found.values()
    close(logits, numbers.generated(numbers.electra("generator", 1, 2, scope), scope))


@pytest.mark.integration
def test_what_is_read_by_the_task(tmp_path):
    folder = electra_folder(tmp_path, ELECTRA)
    for task, architecture, width, layers in [
        (None, "ElectraForPreTraining", 8, 2), ("classification", "ElectraForPreTraining", 8, 2),
        ("masked_lm", "ElectraForMaskedLM", 4, 1),
    ]:  # fmt: skip
        stored = find_stored(folder, TWO._replace(task=task))
        assert (stored.writer, stored.values["architectures"]) == ("google-research/electra", [architecture])
        assert (stored.config.hidden_dim, stored.config.num_layers, stored.config.embedding_dim) == (width, layers, 6)
        assert stored.config.activation == "gelu"
        assert stored.assumed[0].startswith("the activation is gelu")


@pytest.mark.integration
def test_heads_of_64_values_and_no_projection(tmp_path):
    variables = electra_variables(width=128, embedding=128, generator=64)
    folder = electra_folder(tmp_path, variables, "electra_base")
    discriminator, generator = find_stored(folder), find_stored(folder, UserOptions(task="masked_lm"))
    assert (discriminator.config.num_heads, discriminator.config.embedding_dim) == (2, None)
    assert (generator.config.num_heads, generator.config.embedding_dim) == (1, 128)
    assert any("2 heads" in clause for clause in discriminator.assumed)


@pytest.mark.integration
def test_heads_that_nothing_says(tmp_path):
    folder = electra_folder(tmp_path, ELECTRA)
    with pytest.raises(ValueError, match=r"without a number of attention heads.*num_heads="):
        find_stored(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "electra", "num_attention_heads": 4}))
    assert find_stored(folder).config.num_heads == 4
    (folder / "config.json").write_text(json.dumps({"hidden_size": 256}))
    with pytest.raises(ValueError, match=r"config.json says .*hidden_size.*two models"):
        find_stored(folder, TWO)


def fine_tuned(name, units=3, width=8, **layers):
    """The encoder and a head of dense layers, each with its input size; `units` outputs."""
    shapes = Shapes()
    for layer, size in (layers or {"dense": width}).items():
        shapes.dense(f"task_specific/{name}/{layer}", size, units)
    encoder = {key: value for key, value in ELECTRA.items() if key.startswith("electra/")}
    return encoder | shapes.filled(5)


@pytest.mark.integration
@pytest.mark.parametrize("units", [1, 3, 4])
def test_the_numbers_of_a_classifier(tmp_path, units):
    """One dense layer on the first token, without the pooler of `transformers`: kept in its class, number by number."""
    variables = fine_tuned("mrpc", units)
    task = zoo.load(electra_folder(tmp_path / "old", variables, "model.ckpt-7"), "classification", num_heads=2)
    assert len(task.labels) == units and task.problem == ("regression" if units == 1 else "single_label")
    numbers = Numbers(variables, gelu_erf)
    expected = numbers.dense("task_specific/mrpc/dense", numbers.electra("electra", 2, 2)[:, 0])
    task.save(tmp_path / "new")
    for loaded in (task, zoo.load(tmp_path / "new")):
        np.testing.assert_allclose(loaded.model.predict(INPUTS, verbose=0)["logits"], expected, atol=2e-5)


@pytest.mark.parity
def test_transformers_reads_the_classifier(tmp_path):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    task = zoo.load(electra_folder(tmp_path / "old", fine_tuned("mrpc"), "model.ckpt-7"), "classification", num_heads=2)
    task.save(tmp_path / "new")
    theirs = transformers.ElectraForSequenceClassification.from_pretrained(tmp_path / "new").eval()
    with torch.no_grad():
        logits = theirs(torch.tensor(IDS), torch.tensor(MASK).int()).logits.numpy()
    np.testing.assert_allclose(task.model.predict(INPUTS, verbose=0)["logits"], logits, atol=2e-5)


@pytest.mark.integration
def test_the_numbers_of_spans(tmp_path):
    variables = fine_tuned("squadv1", 1, dense=8, dense_1=8)
    task = zoo.load(electra_folder(tmp_path, variables, "model.ckpt-7"), "question_answering", num_heads=2)
    numbers = Numbers(variables, gelu_erf)
    hidden = numbers.electra("electra", 2, 2)
    expected = [numbers.dense(f"task_specific/squadv1/{name}", hidden) for name in ("dense", "dense_1")]
    close(task.model.predict(INPUTS, verbose=0)["logits"], np.concatenate(expected, axis=-1))


JOINT = {"dense": 8, "qa_hidden": 16, "dense_1": 512, "dense_2": 16, "dense_3": 512}
LEFT_OUT = {
    "no task": (fine_tuned("mrpc"), None, r"'mrpc'.*task='classification' or task='token_classification' keeps it"),
    "another": (fine_tuned("mrpc"), "question_answering", r"'mrpc'.*task='classification' or"),
    "spans": (fine_tuned("squadv1", 1, dense=8, dense_1=8), None, r"'squadv1'.*: task='question_answering' keeps it"),
    "joint": (fine_tuned("squad", 1, **JOINT), "question_answering", r"'squad'.* no layers like its .*'qa_hidden'"),
    "many labels": (fine_tuned("intents", 5), "classification", r"'intents'.*: task='token_classification' keeps it"),
    "two": (fine_tuned("a") | fine_tuned("b"), "classification", r"\['a', 'b'\] is left out.*train a new head"),
}


@pytest.mark.integration(quick=["another", "joint", "many labels", "spans", "two"])
@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_head_that_is_left_out_is_named(tmp_path, case):
    variables, task, said = LEFT_OUT[case]
    stored = find_stored(electra_folder(tmp_path, variables, "model.ckpt-7"), TWO._replace(task=task))
    assert stored.values["architectures"] == ["ElectraModel"]
    (clause,) = [clause for clause in stored.assumed if "left out" in clause]
    assert re.search(said, clause)
    assert not any("task_specific" in tensor.name for tensor in stored.tensors())


def test_a_head_of_tokens_is_kept(tmp_path):
    variables = fine_tuned("chunk")
    stored = find_stored(electra_folder(tmp_path, variables, "model.ckpt-7"), TWO._replace(task="token_classification"))
    tensors = {tensor.name: tensor.read() for tensor in stored.tensors()}
    np.testing.assert_array_equal(tensors["classifier.weight"], variables["task_specific/chunk/dense/kernel"].T)
    assert stored.extra["labels"] == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert not any("left out" in clause for clause in stored.assumed)


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["electra/embeddings/word_embeddings", "electra/encoder/layer_0/intermediate/dense/kernel"]
)
def test_variables_that_are_missing(tmp_path, name):
    variables = {key: value for key, value in ELECTRA.items() if key != name}
    with pytest.raises(ValueError, match="lacks the variables"):
        find_stored(electra_folder(tmp_path, variables), TWO)
