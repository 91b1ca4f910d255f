"""Files, rows and folders of `finetune`: rows to learn from, held out of these, and of a test file."""

from __future__ import annotations

import textwrap
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from zoo.cli.data import Columns, as_known, as_text, check_header, examples_of, label_names
from zoo.cli.split_rows import Rows, split_rows
from zoo.registry.entry import BUNDLED
from zoo.terminal.console import counted
from zoo.terminal.options import check_new_file

MESSAGES = BUNDLED / "sample_messages"
SPLIT = 0.1  # of a training file without a test file
SHOWN = 3  # names of labels in one line
WIDTH = 78  # letters of a line


Request = list[str] | dict[str, list[str]]  # to an export


class Parts(NamedTuple):
    """The rows of a fine-tuning, by use; None where there are none.

    Args:
        train: Rows to learn from.
        held_out: Rows of the training file that are measured after each epoch.
        test: Rows of the test file.
    """

    train: Rows
    held_out: Rows | None
    test: Rows | None

    @property
    def measured(self) -> Rows | None:
        """Return the rows of the report."""
        return self.test or self.held_out

    def honest(self, epoch: int, epochs: int) -> list[str]:
        """Return lines that say how far to trust the report: whether its rows have chosen the epoch.

        Args:
            epoch: The epoch whose weights were kept, from 1.
            epochs: The number of epochs.
        """
        if not self.held_out:
            return []
        rows = counted(len(self.held_out["texts"]), "row")
        text = f"Epoch {epoch} of {epochs} was kept, the best on the {rows} held out. "
        if self.test:
            text += "The test file had no influence on that."
        else:
            text += (
                "The figures above are for these same rows: results on new texts may be a little worse. --test FILE "
                "measures on others."
            )
        return textwrap.wrap(text, WIDTH)


class Files(NamedTuple):
    """The files to learn from and to measure on, as the user gives them."""

    train: Path | None
    test: Path | None
    columns: Columns
    problem: str
    split: float | None = None  # of the training file, to hold out; None for `SPLIT`, or nothing beside a test file

    def checked(self, kind: Any) -> Files:
        """Check the files for a task and return them; if there are none, the bundled messages for a task with labels.

        Args:
            kind: The `Kind` of task.
        """
        if self.train is None and self.test is not None:
            raise ValueError(
                f"received --test {self.test} without --train: give both, or neither for the bundled messages."
            )
        if kind.takes_documents:
            raise ValueError(f"task {kind.name} learns from documents, not from texts: use `train`, or Task.fit.")
        if kind.writes_text and kind.needs_labels and self.columns.label is None:
            raise ValueError(f"task {kind.name} needs --label: the column with the target texts, such as translations.")
        if self.train:
            return self
        if "labels" not in kind.options or kind.read is not None:
            raise ValueError(
                f"task {kind.name} needs --train: a table of texts and labels, for causal_lm also plain text, for "
                "token_classification CoNLL, for question_answering SQuAD JSON."
            )
        return self._replace(train=MESSAGES / "train.csv", test=MESSAGES / "test.csv")

    def read(self, kind: Any, seed: int) -> tuple[Parts, dict[str, Any]]:
        """Read the rows, and the options of `zoo.load` that follow from their labels; print how they are split.

        Args:
            kind: The `Kind` of task.
            seed: Random seed for the choice of held-out rows.
        """
        train, *test = (examples_of(kind, path, self.columns, self.problem) for path in (self.train, self.test) if path)
        options = self._label_options(kind, train, *test) if "labels" in kind.options else {}
        split = self.split if self.split is not None else 0.0 if test else SPLIT
        if not split:
            return Parts(train, None, test[0] if test else None), options
        has_classes = options.get("problem") == "single_label"
        classes = train["labels"] if has_classes else None
        learnt, held_out = split_rows(train, split, seed, classes, kind.held_out_by)
        print(*self._split_lines(learnt, held_out, has_classes), sep="\n", flush=True)
        return Parts(learnt, held_out, test[0] if test else None), options

    def _split_lines(self, learnt: Rows, held_out: Rows | None, has_classes: bool) -> list[str]:
        """Return lines that describe the split."""
        count = len(learnt["texts"])
        if held_out is None:
            rows = counted(count, "row")
            return [f"{self.train}: {rows} with too few different texts to hold some out; nothing is measured"]
        lines = [f"{self.train}: {counted(count, 'row')} to train, {len(held_out['texts'])} held out"]
        if has_classes and (rare := sorted({*learnt["labels"]} - {*held_out["labels"]})):
            names = ", ".join(rare[:SHOWN]) + (", ..." if rare[SHOWN:] else "")
            lines.append(f"  too rare to be held out, used for training only: {counted(len(rare), 'label')} ({names})")
        return lines

    def _label_options(self, kind: Any, train: Rows, test: Rows | None = None) -> dict[str, Any]:
        """Return the problem and the labels of the training file, after a check of the test file against these."""
        if kind.labels_in is not None:
            if self.problem != "single_label":
                raise ValueError(
                    f"{kind.name} has one label per word: received --problem {self.problem}. Leave it out."
                )
            try:
                return {"labels": kind.labels_in(train["labels"])}
            except ValueError as error:
                raise ValueError(f"{self.train}: {error}") from None
        names = label_names(train, self.columns, self.problem)
        if test and self.test is not None and self.problem != "regression":
            test["labels"] = as_known(self.test, self.columns, test, names, "the training file")
        is_usual = self.problem == "single_label"
        return {"labels": names} | ({} if is_usual and "problem" not in kind.options else {"problem": self.problem})


class Folders(NamedTuple):
    """The folders of the model and of the SavedModel, and the file of the report as JSON."""

    out: Path
    export: Path
    report: Path | None = None

    def check(self, *read: Path | None) -> None:
        """Raise a `ValueError`, before the work, if one of them cannot be written, or is a file that is read."""
        from keras_transformers.checkpoints.files.atomic_folder import check_target

        check_target(self.out)
        check_target(beside(self.out))
        check_target(self.export, "saved_model.pb")
        one, other = self.out.resolve(), self.export.resolve()
        if one == other or one in other.parents or other in one.parents:
            raise ValueError(
                f"{self.out} and {self.export} contain one another: give separate folders for --out and --export."
            )
        if self.report is not None and (self.report.is_dir() or {one, other} & {*self.report.resolve().parents}):
            raise ValueError(f"--report {self.report} is a folder, or in a folder that is written: give another file.")
        if self.report is not None:
            check_new_file("--report", self.report, *read)


def checked(files: Files, folders: Folders, has_labels: bool) -> Folders:
    """Return the folders, checked before Keras is imported.

    Raises:
        ValueError: A folder cannot be written, or a table lacks a column.
    """
    folders.check(files.train, files.test)
    for path in (files.train, files.test):
        check_header(path, files.columns.labelled() if has_labels else files.columns)
    return folders


def request_of(kind: Any, rows: Rows) -> Request:
    """Return a request for the export: the first text with its pair or choices, or the first words to continue.

    For conversations it is the first one up to its first answer, as inputs by name.
    """
    if kind.takes_messages and not isinstance(rows["texts"][0], str):
        turns = [*takewhile(lambda turn: turn["role"] != "assistant", rows["texts"][0])]
        return {name: [turn[name] for turn in turns] for name in ("role", "content")}
    text = as_text(rows["texts"][0])
    if kind.writes_text and "labels" not in rows:
        return [" ".join(text.split()[:5])]
    pair: str | list[str] = next(iter(rows.get("pairs", [])), [])
    return [text, *([pair] if isinstance(pair, str) else pair)]


def beside(out: Path) -> Path:
    """Return the folder for an interrupted `fit`: the model in `out` may be better."""
    return out.with_name(f"{out.name}-interrupted")
