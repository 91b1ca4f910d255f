from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformers.checkpoints.formats.lower_case import find_lowercase

LOWER, CAPITALS = ["[PAD]", "[unused1]", "film", "##s"], ["[PAD]", "film", "##Ab"]


@pytest.mark.parametrize(
    "folder, lowercase",
    [
        ("uncased_L-12_H-768_A-12", True), ("cased_L-24_H-1024_A-16", False), ("multi_cased_L-12_H-768_A-12", False),
        ("multilingual_L-12_H-768_A-12", True), ("chinese_L-12_H-768_A-12", True), ("wwm_uncased_L-24", True),
        ("bert_en_cased/3", False), ("bert_en_uncased_L-2/1", True), ("bert_cased", False), ("multi-cased", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tokens", [LOWER, CAPITALS])
def test_the_name_of_the_folder_tells(folder, lowercase, tokens):
    found, clause = find_lowercase(None, Path("models", folder), tokens)
    assert found == lowercase
    assert "folder's name" in clause


def test_what_is_said_wins():
    assert find_lowercase(False, Path("uncased_L-2"), LOWER) == (False, "")


def test_a_vocabulary_without_capitals():
    assert find_lowercase(None, Path("run"), LOWER) == (
        True,
        "texts are lower-cased, as the vocabulary has no capitals (if not: lowercase=False)",
    )


@pytest.mark.parametrize("folder", ["run", "showcased", "cased_and_uncased"])
@pytest.mark.parametrize("tokens", [CAPITALS, ["[PAD]", "1", "中"]])
def test_nothing_tells(folder, tokens):
    with pytest.raises(ValueError, match="lowercase=True or lowercase=False"):
        find_lowercase(None, Path(folder), tokens)
