"""docs/peers.md: what it says of other libraries holds for the versions that are installed."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "peers.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.parity


def test_transformers_has_no_class_in_tensorflow():
    transformers = pytest.importorskip("transformers")
    assert not hasattr(transformers, "TFAutoModel") and not hasattr(transformers, "TFBertModel")
    assert hasattr(transformers, "BertForTokenClassification") and hasattr(transformers, "BertForQuestionAnswering")


def test_keras_hub_has_classes_for_labels_and_vectors_and_for_neither_entities_nor_questions():
    models = dir(pytest.importorskip("keras_hub").models)
    assert {"BertTextClassifier", "TextEmbedder"} <= set(models)
    others = ("TokenClass", "NamedEntity", "Question", "Rank", "CrossEncoder")
    assert [name for name in models if any(other in name for other in others)] == []


def test_tokenizers_of_keras_hub_need_tensorflow_text():
    assert any(line.startswith("tensorflow-text") for line in requires("keras-hub"))


def test_what_shows_a_line_exists():
    root = Path(__file__).resolve().parents[2]
    for path in re.findall(r"`(tests/[\w/.]+)`", PAGE):
        assert (root / path).exists(), path
