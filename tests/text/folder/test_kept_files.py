"""Whether tokens have types: by `model_input_names`, else by the class, as in transformers; what `save` writes."""

from __future__ import annotations

import json
import pickle

import pytest
from tokenizers import processors
from truncating import KINDS, write

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

TYPES, NONE = ["input_ids", "token_type_ids", "attention_mask"], ["input_ids", "attention_mask"]
GENERIC = ("TokenizersBackend", "PreTrainedTokenizerFast", "PreTrainedTokenizer", "AlbertTokenizer", "NoSuchTokenizer")
TYPED = ("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "DebertaV2Tokenizer")


def has_second(tokenizer: Tokenizer) -> bool:
    """Return whether the second text of a pair has a segment of its own; check that the graph has the same segments."""
    rows = [row.segment_ids for row in tokenizer.encode(["a draw"], ["in oslo"])]
    import tensorflow as tf

    graph = compile_text(tokenizer.to_json())
    columns = [tf.constant(text) for text in (["a draw"], ["in oslo"])]
    assert graph.encode(*columns, max_length=40)["segment_ids"].numpy().tolist() == rows
    assert tokenizer.has_types == any(rows[0])
    return tokenizer.has_types


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        *((name, ..., False) for name in GENERIC),
        *((name, ..., True) for name in TYPED),
        *((name, TYPES, True) for name in GENERIC[:2]),
        *((name, NONE, False) for name in TYPED[:2]),
        ("BertTokenizer", [], False),
        ("RetriBertTokenizer", ..., False),  # a class of version 4 only
        ("TokenizersBackend", None, False),
        (..., NONE, False),
    ],
)
def test_names_come_before_the_class(tmp_path, name, names, expected):
    write(tmp_path, "wordpiece", tokenizer_class=name, model_input_names=names)
    tokenizer = Tokenizer.from_folder(tmp_path)
    encoded = tokenizer.encode(["a draw"], ["in oslo"])[0]
    assert any(encoded.segment_ids) == tokenizer.has_types == expected
    assert tokenizer.untyped_by == (None if expected or isinstance(names, list) else name)


@pytest.mark.parametrize(("kind", "expected"), [("bert", True), ("electra", True), ("albert", False), (None, True)])
def test_a_folder_without_a_class_has_that_of_its_model(tmp_path, kind, expected):
    write(tmp_path, "wordpiece", tokenizer_class=...)
    if kind:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    assert Tokenizer.from_folder(tmp_path).has_types == expected


def test_the_class_of_config_json_counts(tmp_path):
    write(tmp_path, "wordpiece", tokenizer_class=...)
    (tmp_path / "config.json").write_text('{"model_type": "bert", "tokenizer_class": "PreTrainedTokenizerFast"}')
    assert not Tokenizer.from_folder(tmp_path).has_types


def test_the_class_of_a_folder_with_code_counts(tmp_path):
    options = {"auto_map": {"AutoTokenizer": [None, "own.OwnTokenizer"]}}
    tokenizer = Tokenizer.from_folder(write(tmp_path, "wordpiece", **options))
    assert not tokenizer.has_types and tokenizer.untyped_by == "TokenizersBackend"
    assert saved(tmp_path, tokenizer, has_segments=True)["model_input_names"] == NONE


@pytest.mark.parametrize("names", ["input_ids", {"input_ids": 1}, [1], 5])
def test_other_names_are_refused(tmp_path, names):
    write(tmp_path, "wordpiece", model_input_names=names)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: model_input_names must be a list of str.*received"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["template", "bert", "sequence"])
def test_the_graph_has_the_same_segments(tmp_path, kind):
    library = KINDS["wordpiece"]()
    if kind == "bert":
        library.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    if kind == "sequence":
        library.post_processor = processors.Sequence([processors.ByteLevel(), library.post_processor])
    files = {"tokenizer_config.json": b'{"tokenizer_class": "TokenizersBackend"}'}
    tokenizer = Tokenizer(library, files)
    typed = Tokenizer(library, {"tokenizer_config.json": b'{"tokenizer_class": "BertTokenizer"}'})
    assert not has_second(tokenizer) and has_second(typed)
    ids = [[row.ids for row in one.encode(["a draw"], ["in oslo"])] for one in (tokenizer, typed)]
    assert ids[0] == ids[1]
    for other in (Tokenizer.from_json(tokenizer.to_json()), pickle.loads(pickle.dumps(tokenizer))):
        assert not any(other.encode(["a draw"], ["in oslo"])[0].segment_ids)


def saved(tmp_path, tokenizer: Tokenizer, **options) -> dict:
    tokenizer.save(tmp_path / "saved", **options)
    return json.loads((tmp_path / "saved/tokenizer_config.json").read_text())


def test_save_says_what_the_class_does_not(tmp_path):
    generic = Tokenizer.from_folder(write(tmp_path, "wordpiece"))
    assert saved(tmp_path, generic, has_segments=True)["model_input_names"] == NONE
    assert "model_input_names" not in saved(tmp_path, generic)
    template = json.loads((tmp_path / "saved/tokenizer.json").read_text())["post_processor"]
    assert template == json.loads((tmp_path / "tokenizer.json").read_text())["post_processor"]

    own = Tokenizer(KINDS["wordpiece"]())
    assert "model_input_names" not in saved(tmp_path, own, has_segments=True)  # it is a BertTokenizer
    changed = json.loads(KINDS["wordpiece"]().to_str()) | {"normalizer": {"type": "Lowercase"}}
    own = Tokenizer.from_json(json.dumps(changed))
    said = saved(tmp_path, own, has_segments=True)
    assert (said["tokenizer_class"], said["model_input_names"]) == ("PreTrainedTokenizerFast", TYPES)
    assert Tokenizer.from_folder(tmp_path / "saved").has_types


def test_a_folder_that_was_saved_before_names_were_written_keeps_its_types(tmp_path):
    write(tmp_path, "wordpiece", tokenizer_class="PreTrainedTokenizerFast")
    (tmp_path / "config.json").write_text('{"model_type": "bert", "zoo_task": {"name": "ranking"}}')
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert tokenizer.has_types and tokenizer.untyped_by is None
    assert saved(tmp_path, tokenizer, has_segments=True)["model_input_names"] == TYPES


def test_a_changed_tokenizer_has_no_types_either(tmp_path):
    tokenizer = Tokenizer.from_folder(write(tmp_path, "wordpiece")).with_tokens(["metformin"])
    assert not tokenizer.has_types
    again = tokenizer.with_library(tokenizer._library)
    assert not again.has_types and saved(tmp_path, again)["model_input_names"] == NONE


@pytest.mark.parity
@pytest.mark.parametrize("name", [*GENERIC[:3], "NoSuchTokenizer", *TYPED[:2], "ElectraTokenizer", ...])
@pytest.mark.parametrize("kind", ["bert", "electra", None])
def test_types_are_those_of_transformers(tmp_path, name, kind):
    from transformers import AutoTokenizer

    if kind is None and name is ...:
        return  # transformers takes its generic class for a folder of which nothing is known
    write(tmp_path, "wordpiece", tokenizer_class=name)
    if kind:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path), Tokenizer.from_folder(tmp_path)
    assert ("token_type_ids" in theirs(["a"], ["b"])) == ours.has_types
    ours.save(tmp_path / "saved", has_segments=True)
    again = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert ("token_type_ids" in again(["a"], ["b"])) == ours.has_types


@pytest.mark.parity
def test_the_classes_with_types_are_those_of_transformers():
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    from keras_transformers.families import FAMILIES
    from keras_transformers.text.folder import class_options

    names = {*class_options.BERT, *class_options.ROBERTA, *class_options.OF_OTHERS.values(), *class_options.TYPED}
    names |= {table.tokenizer_class for table in FAMILIES.values() if table.tokenizer_class}
    for name in names:
        if theirs := tokenizer_class_from_name(name):
            assert ("token_type_ids" in theirs.model_input_names) == (name in class_options.TYPED), name
