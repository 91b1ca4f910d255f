"""The side on which texts are cut: of tokenizer_config.json, else of tokenizer.json; in Python and in the graph."""

from __future__ import annotations

import json
import pickle

import pytest
import tensorflow as tf
from truncating import KINDS, PAIRS, TEXTS, WORDS, write

from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.string_layers import Tokenize
from keras_transformers.text.tokenizer import Tokenizer

LENGTHS = (3, 4, 5, 9, 40)


def words_of(tokenizer: Tokenizer, max_length: int) -> str:
    return tokenizer.decode(tokenizer.encode([TEXTS[0]], max_length=max_length)[0].ids)


def rows_of(graph, *texts, max_length: int, **options) -> dict:
    pairs = [tf.constant(column) for column in texts]
    found = graph.encode(*pairs, max_length=max_length, with_offsets=True, **options)
    return {name: column.numpy() for name, column in found.items()}


def same_rows(found: dict, encoded: list) -> None:
    """Check that the rows of the graph are those of the library."""
    for number, row in enumerate(encoded):
        length = len(row.ids)
        assert found["token_ids"][number, :length].tolist() == row.ids
        assert found["padding_mask"][number].sum() == length
        if "segment_ids" in found:
            assert found["segment_ids"][number, :length].tolist() == row.segment_ids
        assert found["offsets"][number, :length].tolist() == [[*span] for span in row.offsets]
        for name, numbers in (("word_ids", row.word_ids), ("sequence_ids", row.sequence_ids)):
            assert found[name][number, :length].tolist() == [-1 if one is None else one for one in numbers]


def test_the_end_is_kept(tmp_path):
    tokenizer = Tokenizer.from_folder(write(tmp_path, "wordpiece", truncation_side="left"))
    assert tokenizer.truncation_side == "left"
    (row,) = tokenizer.encode([TEXTS[0]], max_length=6)
    assert tokenizer.decode(row.ids) == "paris we stayed in" and row.truncated
    assert row.offsets[1] == (TEXTS[0].index("paris"), TEXTS[0].index("paris") + 5)
    assert [row.ids for row in tokenizer.encode([TEXTS[0]], max_length=60)] == [
        row.ids for row in Tokenizer.from_folder(write(tmp_path, "wordpiece")).encode([TEXTS[0]])
    ]


@pytest.mark.parametrize(
    ("direction", "side", "expected"),
    [
        (None, ..., "right"),
        ("left", ..., "left"),
        ("right", ..., "right"),
        ("left", "right", "right"),
        ("right", "left", "left"),
        ("left", None, "left"),
    ],
)
def test_tokenizer_config_comes_before_tokenizer_json(tmp_path, direction, side, expected):
    tokenizer = Tokenizer.from_folder(write(tmp_path, "wordpiece", direction, truncation_side=side))
    assert tokenizer.truncation_side == expected
    assert words_of(tokenizer, 4) == {"right": "the match", "left": "stayed in"}[expected]


@pytest.mark.parametrize("value", ["middle", "LEFT", "", 3, ["left"]])
def test_another_side_is_refused(tmp_path, value):
    write(tmp_path, "wordpiece", truncation_side=value)
    with pytest.raises(ValueError, match=r'tokenizer_config\.json: truncation_side must be "right".*received'):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_side_of_padding_is_not_used(tmp_path, kind):
    plain = Tokenizer.from_folder(write(tmp_path, kind))
    padded = Tokenizer.from_folder(write(tmp_path, kind, padding_side="left"))
    assert [row.ids for row in padded.encode(TEXTS, PAIRS, 9)] == [row.ids for row in plain.encode(TEXTS, PAIRS, 9)]
    assert padded.truncation_side == "right"


@pytest.mark.parametrize("by", ["config", "json"])
def test_it_is_saved_copied_and_changed_with_the_tokenizer(tmp_path, by):
    (tmp_path / "old").mkdir()
    options = {"truncation_side": "left"} if by == "config" else {"direction": "left"}
    tokenizer = Tokenizer.from_folder(write(tmp_path / "old", "wordpiece", **options))
    tokenizer.save(tmp_path / "new")
    assert json.loads((tmp_path / "new/tokenizer_config.json").read_text())["truncation_side"] == "left"
    assert json.loads((tmp_path / "new/tokenizer.json").read_text())["truncation"] is None
    others = (
        Tokenizer.from_folder(tmp_path / "new"),
        Tokenizer.from_json(tokenizer.to_json()),
        pickle.loads(pickle.dumps(tokenizer)),
        tokenizer.with_tokens(["metformin"]),
        tokenizer.with_role("eos_token", "[SEP]"),
        with_end_token(tokenizer, 3),
    )
    for other in others:
        assert other.truncation_side == "left" and words_of(other, 4) == "stayed in"
    assert json.loads(Tokenizer.from_folder(write(tmp_path / "old", "wordpiece")).to_json())["truncation"] is None


def test_a_json_of_the_left_side_alone_is_saved_with_the_roles(tmp_path):
    library = KINDS["wordpiece"]()
    library.enable_truncation(9, direction="left")
    Tokenizer(library).save(tmp_path)
    said = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert said["truncation_side"] == "left" and said["cls_token"] == "[CLS]"
    assert said["tokenizer_class"] == "BertTokenizer"


@pytest.mark.integration
def test_a_layer_cuts_on_the_left(tmp_path):
    tokenizer = Tokenizer.from_folder(write(tmp_path, "wordpiece", truncation_side="left"))
    layer = Tokenize(tokenizer, max_length=5, outputs=("token_ids", "truncated"))
    for one in (layer, Tokenize.from_config(layer.get_config())):
        found = one(TEXTS[:1])
        assert tokenizer.decode(found["token_ids"][0]) == "we stayed in" and found["truncated"].numpy().all()


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_is_the_library(tmp_path, kind):
    tokenizer = Tokenizer.from_folder(write(tmp_path, kind, truncation_side="left"))
    graph = compile_text(tokenizer.to_json(), 0)
    for max_length in LENGTHS:
        encoded = tokenizer.encode(TEXTS, max_length=max_length)
        found = rows_of(graph, TEXTS, max_length=max_length)
        same_rows(found, encoded)
        assert found["truncated"].tolist() == [row.truncated for row in encoded]
        if max_length > 4:
            same_rows(rows_of(graph, TEXTS, PAIRS, max_length=max_length), tokenizer.encode(TEXTS, PAIRS, max_length))


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_windows_of_the_graph_are_the_library(tmp_path, kind):
    tokenizer = Tokenizer.from_folder(write(tmp_path, kind, truncation_side="left"))
    graph = compile_text(tokenizer.to_json(), 0)
    questions, contexts = ["ann", "in a", "", "oslo"], [TEXTS[0], TEXTS[4], "", " ".join(reversed(WORDS))]
    for max_length, stride in ((14, 3), (16, 1), (20, 5), (99, 5)):
        encoded = tokenizer.encode(questions, contexts, max_length, "only_second", stride=stride)
        columns = [tf.constant(column) for column in (questions, contexts)]
        found = graph.encode_windows(*columns, max_length=max_length, stride=stride)
        found = {name: column.numpy() for name, column in found.items()}
        assert found["row"].tolist() == [window.row for window in encoded]
        if kind != "wordpiece":  # see `encode_windows`: the library gives contexts the segment 1 there
            assert not found.pop("segment_ids").any()
        same_rows(found, encoded)


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["config", "json"])
def test_ids_are_those_of_transformers(tmp_path, kind, by):
    from transformers import AutoTokenizer

    options = {"truncation_side": "left"} if by == "config" else {"direction": "left"}
    write(tmp_path, kind, **options)
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path), Tokenizer.from_folder(tmp_path)
    for max_length in LENGTHS:
        found = theirs(TEXTS, truncation=True, max_length=max_length)["input_ids"]
        assert [row.ids for row in ours.encode(TEXTS, max_length=max_length)] == found
        if max_length > 4:
            found = theirs(TEXTS, PAIRS, truncation=True, max_length=max_length)["input_ids"]
            assert [row.ids for row in ours.encode(TEXTS, PAIRS, max_length)] == found
    asked = {"truncation": "only_second", "stride": 2, "return_overflowing_tokens": True}
    found = theirs(["ann"], TEXTS[:1], max_length=14, **asked)["input_ids"]
    assert [row.ids for row in ours.encode(["ann"], TEXTS[:1], 14, "only_second", stride=2)] == found
    assert len(found) > 2
    ours.save(tmp_path / "saved")
    again = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert again.truncation_side == "left"
    assert again(TEXTS, truncation=True, max_length=6)["input_ids"] == [row.ids for row in ours.encode(TEXTS, None, 6)]
