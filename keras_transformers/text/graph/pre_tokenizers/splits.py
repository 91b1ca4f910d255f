"""The pre-tokenisers Split and CharDelimiterSplit: by a string, a character, or a pattern that is known here."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.pre_tokenizers.cased_patterns import CASED_PATTERNS, CasedPattern
from keras_transformers.text.graph.pre_tokenizers.class_runs import RUNS, ClassRuns, read_classes
from keras_transformers.text.graph.pre_tokenizers.delimiters import Delimiter
from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS, WordPattern
from keras_transformers.text.graph.pre_tokenizers.split_words import Pieces
from keras_transformers.text.graph.streams.streams import Stream
from keras_transformers.text.pipelines.components import refuse


def split_by_pattern(config: dict[str, Any]) -> Any:
    """Return the pre-tokeniser "Split": by a string, by runs of classes, or by a pattern that models use, recognised by
    its exact text.
    """
    ((kind, pattern),) = config["pattern"].items()
    behavior, is_inverted = config["behavior"], config.get("invert", False)
    if behavior == "Isolated" and pattern == "" and kind == "String":
        return _every_character
    if behavior == "Isolated" and kind == "Regex" and pattern in PATTERNS:
        return WordPattern(**PATTERNS[pattern])
    if behavior == "Isolated" and kind == "Regex" and pattern in CASED_PATTERNS:
        return CasedPattern(**CASED_PATTERNS[pattern])
    if kind == "String" and pattern:
        return Delimiter(pattern, behavior, is_inverted)
    if kind == "Regex" and (classes := read_classes(pattern)):
        return ClassRuns(*classes, behavior, is_inverted)
    name = f"Split by {kind} {pattern!r}, {behavior}{', inverted' if is_inverted else ''}"
    raise refuse("pre_tokenizer", name, ["a string", "", *PATTERNS, *CASED_PATTERNS, "the patterns Isolated", RUNS])


def split_at_character(config: dict[str, Any]) -> Delimiter:
    """Return the pre-tokeniser CharDelimiterSplit: splits at a character, which is dropped."""
    return Delimiter(config["delimiter"], "Removed")


def _every_character(points: Stream, starts: tf.Tensor) -> Pieces:
    return points, tf.ones_like(starts)
