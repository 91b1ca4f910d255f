"""tokenizer.json as data: sequences taken apart, components made of their configuration."""

from __future__ import annotations

import json

from tokenizers import decoders, normalizers, pre_tokenizers, processors

from keras_transformers.text.pipelines.components import component, parts, refuse


def state(of) -> dict:
    return json.loads(of.__getstate__())


def test_sequences_of_any_depth_are_taken_apart_in_order():
    innermost = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}]}
    inner = {"type": "Sequence", "normalizers": [{"type": "NFD"}, innermost]}
    whole = {"type": "Sequence", "normalizers": [inner, {"type": "Strip"}]}
    assert [part["type"] for part in parts(whole)] == ["NFD", "Lowercase", "Strip"]
    assert parts(None) == [] == parts(state(normalizers.Sequence([])))
    assert parts(state(normalizers.NFC())) == [{"type": "NFC"}]


def test_the_members_of_every_kind_of_sequence():
    """They stand under another key in each part of the pipeline."""
    for sequence in (
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit()]),
        decoders.Sequence([decoders.Fuse()]),
        processors.Sequence([processors.ByteLevel()]),
    ):
        assert len(parts(state(sequence))) == 1


def test_a_component_does_what_its_configuration_says():
    lower = component(normalizers.Sequence([]), {"type": "Sequence", "normalizers": [{"type": "Lowercase"}]})
    assert lower.normalize_str("ÀB") == "àb"
    join = component(decoders.Sequence([]), {"type": "Sequence", "decoders": [{"type": "Fuse"}]})
    assert join.decode(["a", "b"]) == "ab"


def test_the_error_for_what_cannot_be_compiled_names_part_component_and_what_is_known():
    error = refuse("decoder", "CTC", {"ByteLevel": 1, "WordPiece": 2})
    assert isinstance(error, ValueError)
    assert str(error).startswith("The decoder 'CTC' of this tokenizer.json cannot be compiled into TensorFlow ops.")
    assert "Expected one of ['ByteLevel', 'WordPiece']" in str(error)
    assert "on TensorFlow all that answers texts (`predict`" in str(error) and "work without" in str(error)
