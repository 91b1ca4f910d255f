"""Folders of encoders with vocabulary files alone: which class, the special tokens, saved and read again, refusals."""

from __future__ import annotations

import json

import pytest
from spm_models import ENCODERS, LLAMA

from keras_transformers.text.folder.tokenizer_folder import CONFIG, SPECIAL_MAP
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.wordpiece_vocabulary import MPNET_TOKENS

# By a model's type: the class and the file; the ids of "a cat" and of the pair "a", "cat"; the size of the vocabulary.
CASES = {
    "xlm-roberta": ("XLMRobertaTokenizer", "sentencepiece.bpe.model", [0, 10, 12, 2], [0, 10, 2, 2, 12, 2], 26),
    "gte": ("XLMRobertaTokenizer", "sentencepiece.bpe.model", [0, 10, 12, 2], [0, 10, 2, 2, 12, 2], 26),
    "camembert": ("CamembertTokenizer", "sentencepiece.bpe.model", [5, 13, 15, 6], [5, 13, 6, 6, 15, 6], 29),
    "albert": ("AlbertTokenizer", "spiece.model", [2, 13, 15, 3], [2, 13, 3, 15, 3], 28),
    "deberta-v2": ("DebertaV2Tokenizer", "spm.model", [1, 10, 12, 2], [1, 10, 2, 12, 2], 26),
    "mpnet": ("MPNetTokenizer", "vocab.txt", [0, 5, 6, 2], [0, 5, 2, 2, 6, 2], 8),
}
SECOND = {"deberta-v2"}  # whose second texts have the segment 1


def write(folder, kind: str, by: str = "model_type", **options):
    name, file, *_ = CASES[kind]
    if file == "vocab.txt":
        (folder / file).write_text("\n".join([*MPNET_TOKENS, "a", "cat", "##s", ""]))
    else:
        (folder / file).write_bytes(spm_file.serialize(ENCODERS[name]))
    if by == "model_type":
        (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    else:
        options |= {"tokenizer_class": f"{name}Fast"}
    if options:
        (folder / CONFIG).write_text(json.dumps(options))
    return folder


def segments(tokenizer: Tokenizer) -> list[int]:
    return tokenizer.encode(["a"], ["cat"])[0].segment_ids


@pytest.mark.parametrize("by", ["model_type", "class"])
@pytest.mark.parametrize("kind", CASES)
def test_ids_are_those_of_the_class(tmp_path, kind, by):
    name, file, ids, pair, size = CASES[kind]
    tokenizer = Tokenizer.from_folder(write(tmp_path, kind, by))
    tokenizer.save(tmp_path / "saved")
    assert (tmp_path / "saved" / file).read_bytes() == (tmp_path / file).read_bytes()
    assert json.loads((tmp_path / "saved" / CONFIG).read_text())["tokenizer_class"].removesuffix("Fast") == name
    for made in (tokenizer, Tokenizer.from_folder(tmp_path / "saved")):
        assert made.vocabulary_size == size
        assert [row.ids for row in made.encode(["a cat"])] == [ids]
        assert [row.ids for row in made.encode(["a"], ["cat"])] == [pair]
        assert segments(made) == [0, 0, 0, 1, 1] if kind in SECOND else [0] * 6
        assert made.mask_id == (4 if kind in ("albert", "mpnet") else size - 1)
        assert made.decode([ids]) == ["a cat"]


@pytest.mark.parametrize(
    ("kind", "lstrip"),
    [("camembert", True), ("mpnet", True), ("xlm-roberta", False), ("deberta-v2", False)],
)
@pytest.mark.parametrize("file", [None, CONFIG, SPECIAL_MAP])
def test_whether_the_mask_absorbs_the_space_before_it(tmp_path, kind, lstrip, file):
    """By default in some classes; a file may say so of any whose mask is not in the model, by an object with flags."""
    write(tmp_path, kind)
    mask = "[MASK]" if kind in SECOND else "<mask>"
    if file:
        value = mask if file == SPECIAL_MAP and lstrip else {"content": mask, "lstrip": True, "normalized": False}
        (tmp_path / file).write_text(json.dumps({"mask_token": value}))
    added = json.loads(Tokenizer.from_folder(tmp_path).to_json())["added_tokens"]
    assert [token["lstrip"] for token in added if token["content"] == mask] == [lstrip or file is not None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cls_token": "<cls>"}, r"cls_token is .<cls>.\. Expected <s>"),
        ({"add_prefix_space": "no"}, "add_prefix_space"),
        (
            {"tokenizer_class": "NllbTokenizer"},
            r"No tokenizer in .*It holds sentencepiece.bpe.model.*tokenizer_class .*Camembert",
        ),
    ],
)
def test_options_that_cannot_be_followed(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.from_folder(write(tmp_path, "xlm-roberta", **options))


@pytest.mark.parametrize("kind", [*CASES][:5])
def test_a_file_of_another_model(tmp_path, kind):
    _, file, *_ = CASES[kind]
    (write(tmp_path, kind) / file).write_bytes(spm_file.serialize(LLAMA))
    with pytest.raises(ValueError, match=rf"{file}: Expected .*received another model.*Provide its tokenizer\.json"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("kind", "file"), [("xlnet", "spiece.model"), ("pegasus", "spiece.model"), ("funnel", "vocab.txt")]
)
def test_files_of_other_classes_are_refused_by_the_models_type(tmp_path, kind, file):
    """T5's class and BERT's would read them, and give other ids."""
    write(tmp_path, "albert" if file == "spiece.model" else "mpnet")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(ValueError, match=rf"Cannot build a \w+Tokenizer from {file}"):
        Tokenizer.from_folder(tmp_path)


def test_a_pipeline_of_mpnet_is_saved_as_mpnets(tmp_path):
    """BERT's class would put [CLS] around texts."""
    tokenizer = Tokenizer.from_json(Tokenizer.from_folder(write(tmp_path, "mpnet")).to_json())
    tokenizer.save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / CONFIG).read_text())["tokenizer_class"] == "MPNetTokenizer"
