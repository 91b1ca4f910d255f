"""`finetune`: load, fit, save, evaluate, export, and one request answered by the export."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from zoo.cli import bare
from zoo.cli.app import AfterSaving, app, examples
from zoo.cli.conversations_file import CONVERSATIONS, learned_from
from zoo.cli.data import Columns
from zoo.cli.finetune_parts import SPLIT, Files, Folders, Parts, Request, checked, request_of
from zoo.cli.fit_settings import fit_options, settings_text
from zoo.cli.printed_answers import json_line
from zoo.cli.report import show
from zoo.terminal.console import console, counted, step  # fmt: skip
from zoo.terminal.environment import quiet_unless_chief
from zoo.terminal.options import (
    BatchSize,
    Encoding,
    Errors,
    Label,
    Loss,
    MaxLength,
    Model,
    NoAnswer,
    Strategy,
    Text,
    TextPair,
    of_data,
    of_model,
    of_output,
    of_training,
    readable,
    task_name,
)


class Problem(str, Enum):
    """The problems of labels."""

    single_label = "single_label"
    multi_label = "multi_label"
    regression = "regression"


ToLearn = Annotated[
    str | None,
    of_model(
        "--task",
        callback=task_name,
        help="Task to train: classification, causal_lm (next tokens), seq2seq_lm (text to text), ...",
        show_default="classification; causal_lm with --messages",
    ),
]
TrainFile = Annotated[
    Path | None,
    of_data(
        callback=readable,
        help="Training file: CSV, TSV or JSON lines; plain text with one text per line for causal_lm; CoNLL for "
        "token_classification; SQuAD JSON for question_answering. If omitted, the bundled messages.",
    ),
]
Messages = Annotated[
    Path | None,
    of_data(
        callback=readable,
        help="Training file of conversations (JSON lines, JSON or Parquet), instead of --train.",
    ),
]
Split = Annotated[
    float | None,
    of_data(
        help="Fraction of the training file to hold out for validation; 0 for none.",
        min=0.0,
        max=0.9,
        show_default=f"{SPLIT}; 0 with --test",
    ),
]
Epochs = Annotated[int | None, of_training(help="Number of epochs. If omitted, chosen by the number of texts.", min=1)]
Rate = Annotated[float | None, of_training(help="Peak learning rate. If omitted, the model's default.", min=0.0)]
LoraRank = Annotated[
    int | None, of_model(help="Rank of LoRA adapters to train; the model's weights stay frozen.", min=1)
]
Remat = Annotated[
    bool, of_training("--remat", help="Recompute activations of blocks (rematerialization): less memory, more time.")
]
LmWeight = Annotated[
    float | None,
    of_training(help="Weight of an additional language modelling loss, for classifiers made from decoders.", min=0.0),
]
Crf = Annotated[
    bool,
    of_training("--crf", help="Choose the labels of a text together, by a conditional random field."),
]
Report = Annotated[Path | None, of_output(help="File for the evaluation report, in JSON.")]
ResumeFolder = Annotated[
    Path | None,
    of_training(help="Folder for the state of the run; the same command resumes an interrupted run from it."),
]


@app.command(
    epilog=examples(
        "finetune",
        "finetune --train my.csv --out runs/mine",
        "finetune --train train.csv --test test.csv --text text --label label --out runs/mine",
        "finetune bert_base_en_uncased --train sst2/train.tsv --text 0 --label 1",
        "finetune --train pairs.jsonl --text a --text-pair b --label score --problem regression",
        "finetune gpt_mini_en --task causal_lm --train stories.txt --test more.txt --out runs/stories",
        "finetune smollm2_135m --messages chats.jsonl --lora-rank 8 --out runs/assistant",
        "finetune opus_mt_en_de --task seq2seq_lm --train pairs.tsv --text 0 --label 1 --out runs/mine",
        "finetune minilm_mini_en --task token_classification --train train.conll --test test.conll --out runs/entities",
        "finetune minilm_l6_en --task sentence_embedding --train pairs.csv --text question --text-pair answer",
        "finetune bert_base_en_uncased --task question_answering --train train.json --test dev.json --out runs/qa",
    )
)
def finetune(
    name: Model = "minilm_mini_en",
    task: ToLearn = None,
    train: TrainFile = None,
    messages: Messages = None,
    test: Annotated[Path | None, of_data(callback=readable, help="Test file, measured once at the end.")] = None,
    split: Split = None,
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    problem: Annotated[Problem, of_data(help="Type of the labels (classification).")] = Problem.single_label,
    epochs: Epochs = None,
    learning_rate: Rate = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
    dtype: Annotated[str | None, of_model(help="A Keras dtype policy, such as mixed_bfloat16.")] = None,
    lora_rank: LoraRank = None,
    remat: Remat = False,
    lm_weight: LmWeight = None,
    crf: Crf = False,
    loss: Loss = None,
    no_answer: NoAnswer = None,
    seed: Annotated[int, of_training(help="Random seed (initialisation, dropout, shuffling, held-out split).")] = 0,
    strategy: Strategy = None,
    resume: ResumeFolder = None,
    out: Annotated[Path, of_output(help="Folder for the fine-tuned model.")] = Path("runs/finetuned"),
    export: Annotated[Path | None, of_output(help="Folder for the SavedModel.", show_default="OUT-export/1")] = None,
    report: Report = None,
) -> None:
    """Fine-tune a model, save it, measure it on held-out texts, and export it as a SavedModel that takes text.

    The labels of a classifier are read from the training file. Without a training file, the bundled messages are used.
    A tenth of the training file is held out (--split) and measured after each epoch; the best epoch is kept.
    With --test, rows are held out only if --split is given. The test file does not influence which epoch is kept.
    Ctrl-C during training saves the current model to OUT-interrupted. With --resume, SIGTERM saves the run and exits 0.
    With --strategy multi_worker, run this command on each worker; the chief writes files and prints.
    With --messages, a language model learns the answers of the assistant in conversations. A model without a chat
    template gets a plain one.
    Finally, the SavedModel answers one request in a separate process that imports only TensorFlow.
    """
    columns = named_columns(text, text_pair, label, problem)
    train, text, task = learned_from(train, messages, text, task, "classification", columns)
    load = {"max_length": max_length, "dtype": dtype, "lora_rank": lora_rank, "lm_weight": lm_weight, "seed": seed}
    load |= {"loss": loss, "no_answer": no_answer, "strategy": strategy, "remat": remat, "crf": crf or None}
    fit = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size, "seed": seed, "resume": resume}
    files = Files(train, test, Columns(text, text_pair, label, encoding, errors), problem.value, split)
    folders = checked(files, Folders(out, export or Path(f"{out}-export", "1"), report), task == "classification")
    with quiet_unless_chief(strategy):
        run(name, task, files, load, fit, folders)


def named_columns(text: Any, text_pair: Any, label: Any, problem: Problem) -> dict[str, Any]:
    """Return the options on columns by their names, None for those that the user left as they are."""
    named_text, named_problem = None if text == "text" else text, None if problem is Problem.single_label else problem
    return {"text": named_text, "text_pair": text_pair, "label": label, "problem": named_problem}


def run(name: str, task: str, files: Files, load: dict[str, Any], given: dict[str, Any], folders: Folders) -> None:
    """Run all steps from a name to an export that answers; `load` and `given` are for `zoo.load` and `Task.fit`."""
    from keras_transformers.tasks.contract.kind import find_kind
    from zoo.loading.load import load as load_task

    kind = find_kind(task)
    files = files.checked(kind)
    parts, options = files.read(kind, given["seed"])
    title, count = f"load {name}", len(parts.train["texts"])
    if files.columns.text == CONVERSATIONS:
        options["chat_template"] = "plain"  # where the model has none
    if "labels" in options:
        title += f" for {counted(len(options['labels']), 'label')}"
    with step(title):
        loaded = load_task(name, task, **options, **load)
    fit = fit_options(name, given, count, kind.writes_text)
    request = request_of(kind, parts.measured or parts.train)
    settings = settings_text(fit, given, count)
    describe = partial(finetuned_card, name, loaded, files, settings, folders.out)
    learn_and_serve(loaded, parts, fit, settings, folders, request, describe)


def learn_and_serve(
    task: Any,
    parts: Parts,
    fit: dict[str, Any],
    settings: str,
    folders: Folders,
    request: Request,
    describe: Callable[[dict[str, Any]], str],
) -> None:
    """Fit, save, evaluate, export, and let the export answer a request; `describe` makes the card from a report."""
    from keras_transformers.checkpoints.files.atomic_folder import CARD
    from keras_transformers.checkpoints.files.card import is_unedited
    from keras_transformers.tasks.fit.held_out import COLUMNS, evaluation_set
    from keras_transformers.tasks.reports import measure
    from keras_transformers.training.workers.distribute import is_chief, sum_over_replicas
    from keras_transformers.utils.keras_private import strategy_of
    from keras_transformers.utils.safe_files import replace_file
    from zoo.cli.learning import learn, save

    strategy = strategy_of(task.model)
    for rows in filter(None, parts[1:]):
        evaluation_set(task, [rows.get(name) for name in COLUMNS], {})  # raises errors of held-out rows before the work
    print(settings, flush=True)
    epoch = learn(task, parts.train, parts.held_out, fit, folders.out)
    save(task, folders.out, {CARD: describe({})})
    try:
        if measured := parts.test or parts.held_out:
            with step(f"evaluate {counted(len(measured['texts']), 'held-out text')}"):
                report = measure(task, **measured)
            tell(report, parts.honest(epoch, fit["epochs"]), folders.report, is_chief(strategy))
            if is_chief(strategy) and is_unedited(folders.out / CARD):
                replace_file(folders.out / CARD, describe(report))
        with step(f"export {folders.export}"):
            task.export(folders.export)
        if is_chief(strategy):
            serve(folders.export, request)
        sum_over_replicas(strategy, 0)  # a barrier: to TensorFlow, a worker that ends before the others has crashed
    except Exception as error:
        raise AfterSaving(f"The model is saved in {folders.out}.") from error


def finetuned_card(name: str, task: Any, files: Files, settings: str, out: Path, report: dict[str, Any]) -> str:
    """Return the card of a fine-tuned model: its start, task, settings, files, and the figures of a report."""
    from zoo.scratch.kept_plan import file_facts
    from zoo.scratch.run_card import card

    assert files.train is not None  # `Files.checked` has seen to it
    facts = {"fine-tuned from": name, "task": task.name, "settings": settings.splitlines()[0]}
    results = {metric: value for metric, value in report.items() if isinstance(value, float)}
    folder = shlex.quote(str(out))
    follow = [f'predict {folder} "..."', f"evaluate {folder} --data test.csv", f"export {folder} {folder}-export/1"]
    command = shlex.join(["finetune", *sys.argv[2:]])
    return card(out.name, facts, results, file_facts([files.train]), command, follow, has_curve=False)


def tell(report: dict[str, Any], lines: list[str], file: Path | None, is_chief: bool) -> None:
    """Print a report and the lines on how far to trust it; write it, if there is a file for it."""
    show(report, console())
    print(*lines, sep="\n", flush=True)
    if file is not None and is_chief:
        from keras_transformers.utils.safe_files import no_room_as_error

        file.parent.mkdir(parents=True, exist_ok=True)
        with no_room_as_error(file):
            file.write_text(json_line(report, digits=None), encoding="utf-8")


def serve(export: Path, request: Request) -> None:
    """Let the export answer a request in a fresh process that can import TensorFlow only."""
    with step("serve one request in a fresh process that imports only tensorflow"):
        command = [sys.executable, bare.__file__, str(export)]
        asked = json.dumps(request)  # on standard input: an argument has no zero byte, and at most 128 KiB
        done = subprocess.run(command, input=asked, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise RuntimeError(f"the export did not answer: {done.stderr.strip().rpartition(chr(10))[-1]}")
    print("  request", json.dumps(request, ensure_ascii=False))
    print("  answer ", done.stdout.strip())
