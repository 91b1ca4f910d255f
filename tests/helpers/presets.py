"""Models of KerasHub with random weights, and folders of their presets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

SIZES = {"num_layers": 3, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 48, "max_sequence_length": 24}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "danced"]
VOCABULARY += [f"word{index}" for index in range(81)]


def bert_preset(folder: Path) -> Any:
    """A BERT classifier of three classes, saved."""
    models = pytest.importorskip("keras_nlp").models
    backbone = models.BertBackbone(vocabulary_size=len(VOCABULARY), **SIZES)
    tokenizer = models.BertTokenizer(vocabulary=VOCABULARY, lowercase=True)
    preprocessor = models.BertTextClassifierPreprocessor(tokenizer, sequence_length=24)
    return _saved(models.BertTextClassifier(backbone, 3, preprocessor=preprocessor), folder)


def gpt2_preset(folder: Path) -> Any:
    """A GPT-2 language model, saved."""
    models = pytest.importorskip("keras_nlp").models
    from tokenizers.pre_tokenizers import ByteLevel

    letters = [*sorted(ByteLevel.alphabet()), "th", "the", "<|endoftext|>"]
    vocabulary = {token: index for index, token in enumerate(letters)}
    backbone = models.GPT2Backbone(vocabulary_size=len(vocabulary), **SIZES)
    tokenizer = models.GPT2Tokenizer(vocabulary=vocabulary, merges=["t h", "th e"])
    preprocessor = models.GPT2CausalLMPreprocessor(tokenizer, sequence_length=24)
    return _saved(models.GPT2CausalLM(backbone, preprocessor=preprocessor), folder)


def _saved(model: Any, folder: Path) -> Any:
    random = np.random.default_rng(0)
    for weight in model.weights:
        scale = 0.3 if len(weight.shape) == 1 or "embedding" in weight.path else 1.5 / 32**0.5
        weight.assign(random.normal(1.0 if weight.path.endswith("gamma") else 0.0, scale, weight.shape))
    model.save_to_preset(str(folder))
    return model
