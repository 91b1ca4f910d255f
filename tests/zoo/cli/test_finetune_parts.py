"""The rows that `finetune` learns from, holds out and measures on."""

from __future__ import annotations

from pathlib import Path

import pytest
import questions
from command_line import fail

from keras_transformers.tasks.contract.kind import find_kind
from zoo.cli.data import Columns
from zoo.cli.finetune_parts import Files, Parts

KIND = find_kind("classification")


@pytest.fixture
def files(table):
    rows = [{"text": f"text {n}", "label": "not urgent" if n % 2 else "urgent"} for n in range(40)]
    rows.append({"text": "other", "label": "rare"})

    def make(test: bool = False, **options):
        train = Path(table("train.csv", rows))
        return Files(train, Path(table("test.csv", rows[:4])) if test else None, Columns(), "single_label", **options)

    return make


def test_a_tenth_is_held_out(files, capsys):
    parts, options = files().read(KIND, seed=0)
    assert (len(parts.train["texts"]), len(parts.held_out["texts"]), parts.test) == (37, 4, None)
    assert options == {"labels": ["not urgent", "rare", "urgent"], "problem": "single_label"}
    assert parts.measured is parts.held_out
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("train.csv: 37 rows to train, 4 held out")
    assert lines[1] == "  too rare to be held out, used for training only: 1 label (rare)"


@pytest.mark.parametrize(
    ("test", "split", "sizes"), [(True, None, (41, 0, 4)), (True, 0.2, (33, 8, 4)), (False, 0.0, (41, 0, 0))]
)
def test_a_test_file_and_split(files, capsys, test, split, sizes):
    parts, _ = files(test=test, split=split).read(KIND, seed=0)
    assert tuple(len(rows["texts"]) if rows else 0 for rows in parts) == sizes
    assert parts.measured is (parts.test if test else None)
    assert bool(capsys.readouterr().out) is bool(split)


def test_what_the_report_is_worth():
    rows = {"texts": ["a", "b"]}
    text = " ".join(Parts(rows, rows, None).honest(3, 9))
    assert (
        "Epoch 3 of 9 was kept, the best on the 2 rows held out." in text
        and "results on new texts may be a little worse" in text
    )
    assert "The test file had no influence on that." in " ".join(Parts(rows, rows, rows).honest(3, 9))
    assert Parts(rows, None, rows).honest(9, 9) == []


def test_labels_that_are_held_out_only_are_known(table):
    """As of several labels a text; and of entities."""
    rows = [{"text": f"text {n}", "label": f"l{n}|all"} for n in range(20)]
    files = Files(Path(table("many.csv", rows)), None, Columns(), "multi_label")
    parts, options = files.read(KIND, seed=0)
    assert len(options["labels"]) == 21 and len(parts.held_out["texts"]) == 2


def test_questions_about_one_context_stay_together(tmp_path, capsys):
    contexts = [context for number in range(10) for context in [f"Text {number} is here."] * 3]
    asked = {"questions": [f"What {number}?" for number in range(30)], "contexts": contexts}
    file = questions.write_squad(tmp_path / "train.json", **asked, answers=[(0, "Text")] * 30)
    parts, options = Files(Path(file), None, Columns(), "single_label").read(find_kind("question_answering"), seed=0)
    assert options == {} and not {*parts.train["pairs"]} & {*parts.held_out["pairs"]}
    assert "27 rows to train, 3 held out" in capsys.readouterr().out


def test_words_and_choices(tmp_path, table):
    (tmp_path / "rows.conll").write_text("\n\n".join(f"word{n}\tO\nhere\tB-x" for n in range(20)))
    files = Files(tmp_path / "rows.conll", None, Columns(), "single_label")
    parts, options = files.read(find_kind("token_classification"), seed=0)
    assert options["labels"] == ["O", "B-x", "I-x"] and len(parts.held_out["texts"]) == 2
    rows = [{"text": f"It is {n}.", "choices": ["Yes.", "No."], "label": n % 2} for n in range(10)]
    files = Files(Path(table("rows.jsonl", rows)), None, Columns(), "single_label")
    parts, _ = files.read(find_kind("multiple_choice"), seed=0)
    assert {name: len(column) for name, column in parts.held_out.items()} == {"texts": 1, "labels": 1, "pairs": 1}


def test_translations_are_not_classes(table):
    rows = [{"text": f"text {n}", "label": f"Text {n} auf Deutsch"} for n in range(20)]
    files = Files(Path(table("rows.csv", rows)), None, Columns(label="label"), "single_label")
    parts, _ = files.read(find_kind("seq2seq_lm"), seed=0)
    assert len(parts.held_out["labels"]) == 2


@pytest.mark.parametrize("split", ["-0.1", "0.95", "half"])
def test_parts_that_are_none(table, split):
    code, message = fail("finetune", "--train", table("a.csv", [{"text": "a", "label": "b"}]), "--split", split)
    assert code == 2 and "--split" in message


def test_a_report_in_the_folder_of_the_model_is_refused(table, tmp_path):
    rows = [{"text": text, "label": text} for text in ("a", "b")]
    out = ("--out", tmp_path / "out", "--report", tmp_path / "out" / "report.json")
    assert "--report" in fail("finetune", "--train", table("a.csv", rows), *out)[1]
