"""Checkpoints of TensorFlow's programs give the numbers of these programs, also saved, converted, in `transformers`."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tf_samples import INPUTS, difference, outputs

import zoo
from keras_transformers.checkpoints.stored import UserOptions
from zoo.loading.conversion import convert
from zoo.loading.find import find

CLOSE = 1e-4
SAID = {"opennmt-tf/transformer": {"num_heads": 2}}
BARE = ("bert_bare",)  # nothing says what for
FOLDERS = [
    *(f"google-tf1/{name}" for name in ("bert_pretraining", "bert_classification", "bert_squad", "gpt2")),
    *("model-garden/bert", "model-garden/bert_cased", "opennmt-tf/transformer", "tf-hub/bert", "tf-hub/bert_cased"),
    *(f"transformers-4/{name}" for name in ("bart", "bert_bare", "bert_choice", "bert_classification")),
    *(f"transformers-4/bert_{name}" for name in ("classification_safetensors", "classification_sharded", "masked_lm")),
    *(
        f"transformers-4/{name}"
        for name in ("bert_pretraining", "bert_questions", "bert_tokens", "gpt2", "marian", "t5")
    ),
    *(f"transformers-4-more/{name}" for name in ("albert", "deberta_v2", "distilbert", "electra", "mpnet", "roberta")),
]


@cache
def reference(folder: Path) -> dict[str, np.ndarray]:
    return dict(np.load(folder / "reference.npz"))


@pytest.fixture(params=FOLDERS)
def sample(request, data_dir):
    """A folder, what the user says of it, and what its program computed."""
    folder = data_dir / "tf_checkpoints" / request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is assumed
        yield folder, SAID.get(request.param, {}), reference(folder)


@pytest.mark.data
def test_every_folder_is_listed(data_dir):
    root = data_dir / "tf_checkpoints"
    folders = {path.parent.relative_to(root).as_posix() for path in root.rglob("reference.npz")}
    assert folders == {*FOLDERS}


@pytest.mark.data
def test_the_numbers_of_the_program(sample, tmp_path):
    folder, said, expected = sample
    assert difference(outputs(folder, expected, **said), expected) <= CLOSE
    if folder.name not in BARE:
        task = zoo.load(folder, **said)
        task.save(tmp_path / "saved")
        # A task saves what it has: not the pooler that stands in a file beside a head of tokens.
        kept = {name: array for name, array in expected.items() if name != "pooled" or "pooled" in layers(task)}
        assert difference(outputs(tmp_path / "saved", kept), kept) <= CLOSE
    convert(find(folder, given=UserOptions(**said)), tmp_path / "converted")
    assert difference(outputs(tmp_path / "converted", expected), expected) <= CLOSE


def layers(task):
    return {layer.name.replace("pooler", "pooled") for layer in task.model.layers}


@pytest.mark.data
@pytest.mark.parity
def test_transformers_reads_what_is_converted(sample, tmp_path):
    import transformers

    folder, said, expected = sample
    converted = convert(find(folder, given=UserOptions(**said)), tmp_path / "converted")
    kind = getattr(transformers, converted.architecture, None)
    if kind is None:  # OpenNMT-tf's Transformer: `transformers` has no such class
        assert "opennmt-tf" in str(folder)
        return
    model, report = kind.from_pretrained(tmp_path / "converted", output_loading_info=True)
    beside = {key for key in report.pop("unexpected_keys") if ".pooler." not in key}
    assert not beside and not any(report.values()), (beside, report)
    assert difference(theirs(model.eval(), expected), expected) <= CLOSE
    if converted.config.kind != "encoder_decoder" and converted.architecture != "GPT2LMHeadModel":
        texts = ["A fine FILM, dull story", "", "what\tis né"]
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "converted")
        assert tokenizer(texts)["input_ids"] == [row.ids for row in converted.tokenizer.encode(texts)]


def theirs(model, expected):
    """What `transformers` computes for the ids of a reference, by the names of the reference."""
    import torch
    from transformers import AutoModel

    inputs = {"input_ids": "ids", "attention_mask": "mask"}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = "decoder_ids" if "decoder_ids" in expected else "ids"
    tensors = {name: torch.tensor(expected[key]).long() for name, key in inputs.items()}
    if type(model).__name__.endswith("MultipleChoice"):
        tensors = {name: tensor[None] for name, tensor in tensors.items()}
    with torch.no_grad():
        found = model(**tensors, output_hidden_states=True)
        if "hidden_states" in found:
            found["hidden"] = found.hidden_states[-1]
        if "pooled" in expected:  # also where it stands beside a head of tokens
            bare = AutoModel.from_pretrained(model.name_or_path).eval()
            found["pooled"] = bare(**tensors).pooler_output
        if "start_logits" in found and "logits" in expected:
            found["logits"] = torch.stack([found.start_logits, found.end_logits], -1)
    renamed = {"next_sentence": "seq_relationship_logits", "logits": "prediction_logits"}
    names = {name: renamed[name] if renamed.get(name) in found else name for name in expected if name not in INPUTS}
    return {name: masked(found[other].numpy(), expected["mask"]) for name, other in names.items()}


def masked(array, mask):
    is_of_tokens = array.ndim > 1 and array.shape[:2] == mask.shape
    return np.where(mask.reshape(mask.shape + (1,) * (array.ndim - 2)), array, 0) if is_of_tokens else array
