"""Checkpoints that Google's and OpenAI's programs wrote give the numbers that these programs computed."""

from __future__ import annotations

import numpy as np
import pytest

import zoo

FOLDERS = {
    "google-tf1/bert_pretraining": "BertForPreTraining",
    "google-tf1/bert_classification": "BertForSequenceClassification",
    "google-tf1/bert_squad": "BertForQuestionAnswering", "google-tf1/gpt2": "GPT2LMHeadModel",
    "tf-hub/bert": "BertForMaskedLM", "tf-hub/bert_cased": "BertForMaskedLM",
    "model-garden/bert": "BertForMaskedLM", "model-garden/bert_cased": "BertForMaskedLM",
}  # fmt: skip
# The names of outputs: of the samples, ours and those of `transformers`.
OURS = {"hidden": "hidden_states", "next_sentence": "next_sentence_logits"}
THEIRS = {"next_sentence": "seq_relationship_logits"}


@pytest.fixture(scope="module", params=FOLDERS)
def sample(request, data_dir, tmp_path_factory):
    """The folder of a sample, its task, and a folder that it was saved to."""
    folder = data_dir / "tf_checkpoints" / request.param
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    task = zoo.load(folder, outputs=["hidden_states"])
    saved = tmp_path_factory.mktemp("saved") / "folder"
    task.save(saved)
    return request.param, folder, task, saved


def reference(folder):
    with np.load(folder / "reference.npz") as arrays:
        return dict(arrays)


def check(outputs, expected, names):
    """Compare real positions; returns how many outputs there were."""
    real, compared = expected["mask"] == 1, 0
    for name, array in expected.items():
        if name in ("ids", "mask") or names.get(name, name) not in outputs:
            continue
        ours = np.asarray(outputs[names.get(name, name)])
        rows = real if array.shape[: real.ndim] == real.shape else slice(None)
        np.testing.assert_allclose(ours[rows], array[rows], atol=1e-5, err_msg=name)
        compared += 1
    return compared


def predict(task, expected):
    ids, mask = expected["ids"].astype("int32"), expected["mask"].astype("int32")
    positions = np.tile(np.arange(ids.shape[1], dtype="int32"), (len(ids), 1))
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": mask, "mask_positions": positions}
    outputs = task.model.predict({name: inputs[name] for name in task.model.input}, verbose=0)
    return outputs | ({"logits": outputs["masked_lm_logits"]} if "masked_lm_logits" in outputs else {})


@pytest.mark.data
def test_the_numbers_of_the_program_also_after_save(sample):
    _, folder, task, saved = sample
    expected = reference(folder)
    count = 1 if "gpt2" in str(folder) else 2
    for loaded in (task, zoo.load(saved, outputs=["hidden_states"])):
        assert check(predict(loaded, expected), expected, OURS) >= count


@pytest.mark.data
@pytest.mark.parity
def test_transformers_computes_the_same_from_the_saved_folder(sample):
    import torch
    import transformers

    name, folder, task, saved = sample
    expected = reference(folder)
    model = getattr(transformers, FOLDERS[name]).from_pretrained(saved).eval()
    ids, mask = (torch.tensor(expected[key].astype("int64")) for key in ("ids", "mask"))
    with torch.no_grad():
        outputs = {
            key: value.numpy() for key, value in model(ids, attention_mask=mask).items() if hasattr(value, "numpy")
        }
    if "prediction_logits" in outputs:
        outputs["logits"] = outputs["prediction_logits"]
    if "start_logits" in outputs:
        outputs["logits"] = np.stack([outputs["start_logits"], outputs["end_logits"]], -1)
    assert check(outputs, expected, THEIRS)
    texts = ["A fine FILM, dull story", "what a story"]
    encoded = transformers.AutoTokenizer.from_pretrained(saved)(texts)["input_ids"]
    assert encoded == [row.ids for row in task.tokenizer.encode(texts)]
