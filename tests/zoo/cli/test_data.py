"""Files of texts and labels."""

from __future__ import annotations

import json

import pytest

from keras_transformers.tasks.contract.kind import find_kind
from zoo.cli.data import (
    Columns,
    as_known,
    examples_of,
    label_names,
    parse_label,
    read_labelled,
    read_texts,
    requests,
    rows_of,
)


@pytest.mark.parametrize("label", [None, 3])
def test_a_row_without_labels_of_several(tmp_path, label):
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a", "label": label}))
    with pytest.raises(ValueError, match=f"row 1 .line 1.: {label} is no label for the problem multi_label"):
        read_labelled(tmp_path / "rows.jsonl", Columns(), "multi_label")


@pytest.mark.parametrize(
    ("value", "problem", "expected"),
    [
        ("good", "single_label", "good"),
        (3, "single_label", "3"),
        (" good\t", "single_label", "good"),
        ("a | b", "multi_label", ["a", "b"]),
        ([" a"], "multi_label", ["a"]),
        ("a|b|", "multi_label", ["a", "b"]),
        ("", "multi_label", []),
        (["a"], "multi_label", ["a"]),
        ("-1e3", "regression", -1000.0),
    ],
)
def test_labels_of_each_problem(value, problem, expected):
    assert parse_label(value, problem) == expected


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "single_label"),
        (" ", "single_label"),
        (["x"], "single_label"),
        ({"a": 1}, "single_label"),
        (None, "single_label"),
        (float("nan"), "single_label"),
        ("high", "regression"),
        ("inf", "regression"),
        (None, "regression"),
    ],
)
def test_what_is_no_label(value, problem):
    with pytest.raises((TypeError, ValueError)):
        parse_label(value, problem)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["pos", " pos", "pos ", "neg"], ["pos", "pos", "pos", "neg"]),
        ([1, 1.0, "1", "1.0", 2], ["1", "1", "1", "1", "2"]),
        ([1, 1.5], ["1", "1.5"]),
        (["1", "1.0", "one"], ["1", "1.0", "one"]),
        ([True, False], ["True", "False"]),
        (["01234", "1234", "-0"], ["01234", "1234", "-0"]),
        (["1152921504606846977", "1152921504606846976"], ["1152921504606846977", "1152921504606846976"]),
        (["1_0", "10", "1e0"], ["1_0", "10", "1e0"]),
    ],
)
def test_labels_that_are_one(tmp_path, labels, expected):
    """Spaces around a name, and how a whole number is written, make no classes."""
    rows = [json.dumps({"text": "a", "label": label}) for label in labels]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    assert read_labelled(tmp_path / "rows.jsonl", Columns(), "single_label").labels == expected


@pytest.mark.parametrize("label", [["x"], {"a": 1}, [], "  "])
def test_what_is_no_label_is_told_with_its_row(tmp_path, label):
    rows = [{"text": "a", "label": "x"}, {"text": "b", "label": label}]
    (tmp_path / "rows.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match=r"row 2 \(line 3\): .* is no label for the problem single_label"):
        read_labelled(tmp_path / "rows.jsonl", Columns(), "single_label")


def test_numbers_of_several_labels_are_one(tmp_path):
    (tmp_path / "rows.csv").write_text("text,label\na,1.0|2\nb,1|2.0\n")
    assert read_labelled(tmp_path / "rows.csv", Columns(), "multi_label").labels == [["1", "2"], ["1", "2"]]


@pytest.mark.parametrize("label", ["b", ["a", "b"]])
def test_an_unknown_label_is_told_with_its_row(tmp_path, label):
    (tmp_path / "rows.csv").write_text('text,label\n"x\ny",a\nz,b\n')
    with pytest.raises(ValueError, match=r"row 2 \(line 4\): unknown label 'b'; the labels of the model are \['a'\]"):
        as_known(tmp_path / "rows.csv", Columns(), {"labels": ["a", label]}, ["a"], "the model")


@pytest.mark.parametrize(
    ("names", "labels", "expected"),
    [
        (["1.0", "2.0", "other"], ["1", "2.0"], ["1.0", "2.0"]),
        (["1", "2"], ["1.0", ["2", "1.00"]], ["1", ["2", "1"]]),
        (["01", "1"], ["01", "1"], ["01", "1"]),
        (["1", "1.0"], ["1", "1.0"], ["1", "1.0"]),
    ],
)
def test_labels_are_the_names_that_are_known(tmp_path, names, labels, expected):
    """A model keeps its names, whatever the numbers of another file look like."""
    assert as_known(tmp_path, Columns(), {"labels": labels}, names, "the model") == expected


def test_names_of_labels():
    assert label_names({"labels": ["b", "a", "b"]}, Columns(), "single_label") == ["a", "b"]
    assert label_names({"labels": [["b"], [], ["a", "b"]]}, Columns(), "multi_label") == ["a", "b"]
    assert label_names({"labels": [1.0]}, Columns(label="stars"), "regression") == ["stars"]
    assert label_names({"labels": [1.0]}, Columns(label=2), "regression") == ["score"]


def test_requests_are_arguments_or_a_file(tmp_path):
    assert requests(["a", "b"], None, Columns()).texts == ["a", "b"]
    (tmp_path / "rows.csv").write_text("q,a\nwho,me\n")
    table = requests([], tmp_path / "rows.csv", Columns("q", "a"))
    assert (table.texts, table.pairs) == (["who"], ["me"])


def test_texts_of_a_language_model_are_lines_or_a_column(tmp_path):
    (tmp_path / "lines.txt").write_text("one\n\n two \n")
    assert read_texts(tmp_path / "lines.txt", Columns()).texts == ["one", " two "]
    (tmp_path / "rows.tsv").write_text("one\tnext\n")
    table = read_texts(tmp_path / "rows.tsv", Columns(0, label=1))
    assert (table.texts, table.labels) == (["one"], ["next"])


OF_TASKS = {  # content in which {} is a word, how the columns are named, and the task
    "rows.csv": ("text,label\r\n{},good\r\n", {}, "classification"),
    "rows.tsv": ("{}\tgood\n", {"text": 0, "label": 1}, "classification"),
    "rows.jsonl": ('{{"text": "{}", "label": "good"}}\n', {}, "classification"),
    "rows.json": ('[{{"text": "{}", "label": "good"}}]', {}, "classification"),
    "pairs.csv": ("a,b\n{},b\n", {"text": "a", "text_pair": "b"}, "sentence_embedding"),
    "lines.txt": ("{}\n", {}, "causal_lm"),
    "words.conll": ("{}\tO\n", {}, "token_classification"),
    "words.conllu": ("1\t{}\t_\tNOUN\t_\t_\t_\t_\t_\t_\n", {}, "token_classification"),
    "words.jsonl": ('{{"words": ["{}"], "labels": ["O"]}}\n', {}, "token_classification"),
    "squad.json": (
        '{{"data": [{{"paragraphs": [{{"context": "c", "qas": [{{"question": "{}", "answers": []}}]}}]}}]}}',
        {},
        "question_answering",
    ),
    "choices.jsonl": ('{{"text": "{}", "choices": ["a", "b"], "label": 0}}\n', {}, "multiple_choice"),
    "documents.txt": ("{}\n\nb\n", {}, "pretraining"),
}


@pytest.mark.parametrize("name", OF_TASKS)
def test_files_of_all_tasks_in_other_encodings(tmp_path, name):
    content, columns, task = OF_TASKS[name]
    kind = find_kind(task)
    for word, encoding in (
        ("größer", "cp1252"),
        ("счастливые-семьи-похожи-друг-на-друга", "koi8-r"),
        ("größer", "utf-16"),
        ("表示", "shift_jis"),
    ):
        (tmp_path / name).write_bytes(content.format(word).encode(encoding))
        given = Columns(**columns, encoding=encoding)
        texts = examples_of(kind, tmp_path / name, given, "single_label")["texts"]
        first = texts[0] if isinstance(texts[0], str) else texts[0][0]
        assert first == word
        if task not in ("pretraining", "causal_lm"):
            assert word in str(next(rows_of(iter(()), tmp_path / name, given, kind))[0])
        if encoding != "shift_jis":
            with pytest.raises(ValueError, match=f"(?s){name}.*{'UTF-16' if encoding == 'utf-16' else encoding}"):
                examples_of(kind, tmp_path / name, Columns(**columns), "single_label")
    (tmp_path / name).write_bytes(content.format("fine p\xe9 day").encode("latin-1"))
    texts = examples_of(kind, tmp_path / name, Columns(**columns, errors="replace"), "single_label")["texts"]
    assert "p\ufffd" in str(texts)


def test_places_are_told_in_the_encoding_of_the_file(tmp_path):
    (tmp_path / "rows.csv").write_bytes('text,label\n"größer,\nals",good\nb,\n'.encode("utf-16"))
    with pytest.raises(ValueError, match=r"rows\.csv, row 2 \(line 4\): '' is no label"):
        read_labelled(tmp_path / "rows.csv", Columns(encoding="utf-16"), "single_label")
