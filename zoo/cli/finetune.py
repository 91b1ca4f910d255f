"""`finetune`: load, fit, save, evaluate, export, and one request answered by the export."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Option

from zoo._entry import BUNDLED, describe, names
from zoo.cli import bare
from zoo.cli.app import (
    AfterSaving,
    BatchSize,
    Label,
    Loss,
    MaxLength,
    Model,
    NoAnswer,
    Strategy,
    Text,
    TextPair,
    app,
    examples,
    readable,
    step,
    task_name,
    verbosity,
)  # fmt: skip
from zoo.cli.data import Columns, as_text, check_header, check_known, examples_of, label_names
from zoo.cli.quiet import quiet_unless_chief

MESSAGES = BUNDLED / "sample_messages"


class Problem(str, Enum):
    """What labels are."""

    single_label = "single_label"
    multi_label = "multi_label"
    regression = "regression"


ToLearn = Annotated[
    str,
    Option(
        callback=task_name,
        help="What to learn: classification (labels), causal_lm (what comes next), seq2seq_lm, ...",
    ),
]
TrainFile = Annotated[
    Path | None,
    Option(
        callback=readable,
        help="CSV, TSV or JSON lines, for causal_lm also text, a text a line, for token_classification CoNLL, for "
        "question_answering SQuAD JSON; the bundled messages if not given.",
    ),
]


@app.command(
    epilog=examples(
        "finetune",
        "finetune --train train.csv --test test.csv --text text --label label --out runs/mine",
        "finetune bert_base_en_uncased --train sst2/train.tsv --text 0 --label 1",
        "finetune --train pairs.jsonl --text a --text-pair b --label score --problem regression",
        "finetune gpt_mini_en --task causal_lm --train stories.txt --test more.txt --out runs/stories",
        "finetune opus_mt_en_de --task seq2seq_lm --train pairs.tsv --text 0 --label 1 --out runs/mine",
        "finetune minilm_mini_en --task token_classification --train train.conll --test test.conll --out runs/entities",
        "finetune minilm_l6_en --task sentence_embedding --train pairs.csv --text question --text-pair answer",
        "finetune bert_base_en_uncased --task question_answering --train train.json --test dev.json --out runs/qa",
    )
)
def finetune(
    name: Model = "minilm_mini_en",
    task: ToLearn = "classification",
    train: TrainFile = None,
    test: Annotated[Path | None, Option(callback=readable, help="Held-out file to measure on.")] = None,
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
    problem: Annotated[Problem, Option(help="What labels are.")] = Problem.single_label,
    epochs: Annotated[int | None, Option(help="Passes over the texts; the model's own if not given.", min=1)] = None,
    learning_rate: Annotated[float | None, Option(help="The peak; the model's own if not given.", min=0.0)] = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
    dtype: Annotated[str | None, Option(help="A Keras dtype policy, such as mixed_bfloat16.")] = None,
    lora_rank: Annotated[int | None, Option(help="Train adapters of this rank beside frozen weights.", min=1)] = None,
    remat: Annotated[bool, Option("--remat", help="Compute inside blocks twice: less memory, more time.")] = False,
    lm_weight: Annotated[
        float | None, Option(help="Of the language model's loss beside a classifier's, for decoders.", min=0.0)
    ] = None,
    loss: Loss = None,
    no_answer: NoAnswer = None,
    seed: Annotated[int, Option(help="Of new weights, dropout and order.")] = 0,
    strategy: Strategy = None,
    resume: Annotated[
        Path | None, Option(help="Folder that keeps the run while it goes; the same command goes on where it stopped.")
    ] = None,
    out: Annotated[Path, Option(help="Folder of the model, to load again.")] = Path("runs/finetuned"),
    export: Annotated[Path | None, Option(help="Folder of the SavedModel.", show_default="OUT-export/1")] = None,
) -> None:
    """Fine-tune a model, save it, measure it on held-out texts, and export it as a SavedModel that takes text.

    A classifier's labels are those of the training file. Without any file, the bundled messages are learnt.
    Ctrl-C while it learns saves the model so far, in OUT-interrupted; with --resume, SIGTERM saves the run and exits 0.
    Of several workers (--strategy multi_worker) each runs this command; the chief writes and prints.
    At the end the export answers one request in a process of its own that can import TensorFlow only.
    """
    load = {"max_length": max_length, "dtype": dtype, "lora_rank": lora_rank, "lm_weight": lm_weight, "seed": seed}
    load |= {"loss": loss, "no_answer": no_answer, "strategy": strategy, "remat": remat}
    fit = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size, "seed": seed, "resume": resume}
    out_export = export or Path(f"{out}-export", "1")
    files = Files(train, test, Columns(text, text_pair, label), problem.value)
    check_folders(out, out_export)
    for path in (train, test):
        check_header(path, files.columns.labelled() if task == "classification" else files.columns)
    with quiet_unless_chief(load["strategy"]):
        run(name, task, files, load, fit_options(name, fit), out, out_export)


class Files(NamedTuple):
    """The files to learn from and to measure on, as the command line has them."""

    train: Path | None
    test: Path | None
    columns: Columns
    problem: str

    def checked(self, kind: Any) -> Files:
        """The files of a task; without any, those of the bundled messages, if the task has labels.

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
            raise ValueError(f"task {kind.name} needs --label: the column of what is to be written, translations say.")
        if self.train:
            return self
        if "labels" not in kind.options or kind.read is not None:
            raise ValueError(
                f"task {kind.name} needs --train: a table of texts and labels, for causal_lm also plain text, for "
                "token_classification CoNLL, for question_answering SQuAD JSON."
            )
        return self._replace(train=MESSAGES / "train.csv", test=MESSAGES / "test.csv")


def run(name: str, task: str, files: Files, load: dict[str, Any], fit: dict[str, Any], out: Path, export: Path) -> None:
    """Everything from a name to an export that answers; `load` and `fit` are for `zoo.load` and `Task.fit`."""
    import zoo
    from keras_transformers.tasks.parts import find_kind

    kind = find_kind(task)
    files = files.checked(kind)
    rows = [examples_of(kind, path, files.columns, files.problem) for path in (files.train, files.test) if path]
    options, title = {}, f"load {name}"
    if "labels" in kind.options:
        options = label_options(kind, files, rows)
        names = options["labels"]
        title += f" for {len(names)} label{'s' * (len(names) > 1)}"
    with step(title):
        loaded = zoo.load(name, task, **options, **load)
    learn_and_serve(loaded, rows[0], rows[1] if files.test else None, fit, out, export, request_of(kind, rows[-1]))


def label_options(kind: Any, files: Files, rows: list[dict[str, list]]) -> dict[str, Any]:
    """The labels of a training file, checked against those of the test file, and what they are."""
    if kind.labels_in is not None:
        if files.problem != Problem.single_label.value:
            raise ValueError(f"{kind.name} has one label a word: received --problem {files.problem}. Leave it out.")
        return {"labels": kind.labels_in(rows[0]["labels"])}
    names = label_names(rows[0], files.columns, files.problem)
    if files.test and files.problem != "regression":
        check_known(files.test, rows[1], names)
    return {"labels": names, "problem": files.problem}


def request_of(kind: Any, rows: dict[str, list]) -> list[str]:
    """What the export is asked: the first text, and its pair or choices; where texts are continued, its first words."""
    text = as_text(rows["texts"][0])
    if kind.writes_text and "labels" not in rows:
        return [" ".join(text.split()[:5])]
    pair = next(iter(rows.get("pairs", [])), [])
    return [text, *([pair] if isinstance(pair, str) else pair)]


def check_folders(out: Path, export: Path) -> None:
    """A `ValueError`, before the work, if a folder cannot be written at its end."""
    from keras_transformers.checkpoints.folder import check_target

    check_target(out)
    check_target(beside(out))
    check_target(export, "saved_model.pb")
    one, other = out.resolve(), export.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise ValueError(f"{out} and {export} lie in one another: give --out and --export folders side by side.")


def beside(out: Path) -> Path:
    """Where an interrupted `fit` is saved: what is in `out` may be better."""
    return out.with_name(f"{out.name}-interrupted")


def learn_and_serve(
    task: Any,
    examples: dict[str, list],
    held_out: dict[str, list] | None,
    fit: dict[str, Any],
    out: Path,
    export: Path,
    request: list[str],
) -> None:
    """Fit, save, evaluate, export, and let the export answer a request."""
    from keras_transformers.keras_private import strategy_of
    from keras_transformers.training.distribute import is_chief, sum_over_replicas

    strategy = strategy_of(task.model)
    if held_out:
        task.dataset(**held_out, shuffle=False)  # says what is wrong with it: not after the work
    settings = ", ".join(f"{key} {value}" for key, value in fit.items())
    with step(f"fit {len(examples['texts'])} texts ({settings})", "\n"):
        learn(task, examples, fit, out)
    save(task, out)
    try:
        if held_out:
            with step(f"evaluate {len(held_out['texts'])} held-out texts"):
                results = task.evaluate(**held_out)
            print(*(f"  {key} {value:.4f}" for key, value in results.items()), sep="\n")
        with step(f"export {export}"):
            task.export(export)
        if is_chief(strategy):
            serve(export, request)
        sum_over_replicas(strategy, 0)  # no worker leaves before the last one: TensorFlow would take it for a crash
    except Exception as error:
        raise AfterSaving(f"The model is saved in {out}.") from error


def learn(task: Any, examples: dict[str, list], fit: dict[str, Any], out: Path) -> None:
    """`Task.fit`; on Ctrl-C the model so far is saved. A second Ctrl-C ends that too."""
    from keras.callbacks import LambdaCallback

    place = {"epoch": 0, "batch": 0}
    note = LambdaCallback(
        on_epoch_begin=lambda epoch, logs: place.update(epoch=epoch, batch=0),
        on_train_batch_end=lambda batch, logs: place.update(batch=batch + 1),
    )
    try:
        task.fit(**examples, verbose=verbosity(), callbacks=[note], **fit)
    except KeyboardInterrupt:
        if not any(place.values()):
            print("\ninterrupted before the first step: there is nothing to save")
            raise
        total = note.params
        batches = f"{place['batch']} of {total['steps']} batches of epoch {place['epoch'] + 1} of {total['epochs']}"
        print(f"\ninterrupted after {batches}; not evaluated, not exported")
        save(task, beside(out))
        raise


def save(task: Any, folder: Path) -> None:
    """`Task.save`; if that fails, as where somebody has put a file there since the start, to a new folder."""
    try:
        with step(f"save {folder}"):
            task.save(folder)
    except Exception as error:
        spare = folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}")
        print()
        with step(f"save {spare}"):
            task.save(spare)
        raise AfterSaving(f"The model is saved in {spare}.") from error


def fit_options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What was given, else what suits the model; the rest is left to `Task.fit`."""
    suited = describe(name).fit if name in names() else {}
    return {**suited, **{key: value for key, value in given.items() if value is not None}}


def serve(export: Path, request: list[str]) -> None:
    """Let the export answer a text, or a pair, in a fresh process where only TensorFlow can be imported."""
    with step("serve one request in a fresh process that imports only tensorflow"):
        command = [sys.executable, bare.__file__, str(export), *request]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the export did not answer: {done.stderr.strip().rpartition(chr(10))[-1]}")
    print("  request", json.dumps(request, ensure_ascii=False))
    print("  answer ", done.stdout.strip())
