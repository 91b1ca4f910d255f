"""The command line of the zoo: `python -m zoo`, or `zoo` where the package is installed.

Keras is imported by the commands that need it, so that help, `list` and `describe` answer at once.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from zoo import _cli
from zoo._quiet import start_keras

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors that matter are raised, not logged
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")  # keeps the memory of large tensors for the next step

app = typer.Typer(cls=_cli.Commands, add_completion=False, pretty_exceptions_enable=False)


class Problem(str, Enum):
    """What labels are."""

    single_label = "single_label"
    multi_label = "multi_label"
    regression = "regression"


class TaskName(str, Enum):
    """What `finetune` fits."""

    classification = "classification"
    causal_lm = "causal_lm"
    seq2seq_lm = "seq2seq_lm"


def column(value: str) -> str | int:
    """A column's name, or its number."""
    return int(value) if value.isdecimal() else value


Model = Annotated[str, Argument(help="A name of `list`, a folder, hf:org/repo@revision or keras-nlp:preset.")]
Text = Annotated[
    Any,
    Option(help="Column of the texts: a name, or a number from 0 without a header.", metavar="COLUMN", parser=column),
]
TextPair = Annotated[Any, Option(help="Column of the second texts of pairs.", metavar="COLUMN", parser=column)]
Label = Annotated[
    Any,
    Option(
        help="Column of the labels, parted by | if several; for causal_lm, of what follows the text.",
        show_default="label; causal_lm: none",
        metavar="COLUMN",
        parser=column,
    ),
]
MaxLength = Annotated[int | None, Option(help="Longest text in tokens; the model's own if not given.", min=4)]
BatchSize = Annotated[int, Option(help="Texts at a time.", min=1)]


@app.callback(
    invoke_without_command=True,
    epilog=_cli.examples("list", "finetune", 'predict runs/finetuned "Where is my parcel?"'),
)
def zoo(
    context: typer.Context,
    debug: Annotated[bool, Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Transformers for text: load by name, fine-tune, export a SavedModel that takes text."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list", epilog=_cli.examples("list", 'list "bert_base*"', "list --bundled"))
def list_models(
    pattern: Annotated[str, Argument(help="Names, with the wildcards of the shell.")] = "*",
    bundled: Annotated[bool, Option("--bundled", help="Only models whose weights are in the package.")] = False,
) -> None:
    """The models of the zoo: sizes, tasks and licences."""
    from zoo._cli_show import show_list

    show_list(pattern, bundled)


@app.command(epilog=_cli.examples("describe mini_bert_en"))
def describe(name: Annotated[str, Argument(help="A name of `list`.")]) -> None:
    """All that the zoo knows of a model."""
    from zoo._cli_show import show

    show(name)


@app.command(epilog=_cli.examples("train mini_bert_en --data DATA/gutenberg_novels --out runs/mini_bert_en"))
def train(
    name: Annotated[str, Argument(help="A name of `list` that was trained with this package.")],
    data: Annotated[Path, Option(help="Folder of the data that its file zoo/NAME.py tells of.")],
    out: Annotated[Path, Option(help="Folder to write. FOLDER.resume keeps the state of the run until it has ended.")],
    epochs: Annotated[int | None, Option(help="Passes over the data, if not the recipe's.", min=1)] = None,
    seed: Annotated[int | None, Option(help="Of weights, order and masks, if not the recipe's.")] = None,
) -> None:
    """Train a model from scratch by its recipe; the same command goes on with an interrupted run."""
    start_keras()
    from zoo._cli_train import run_recipe

    run_recipe(name, data, out, epochs=epochs, seed=seed)


@app.command(
    epilog=_cli.examples(
        "finetune",
        "finetune --train train.csv --test test.csv --text text --label label --out runs/mine",
        "finetune bert_base_en_uncased --train sst2/train.tsv --text 0 --label 1",
        "finetune --train pairs.jsonl --text a --text-pair b --label score --problem regression",
        "finetune gpt_mini_en --task causal_lm --train stories.txt --test more.txt --out runs/stories",
        "finetune opus_mt_en_de --task seq2seq_lm --train pairs.tsv --text 0 --label 1 --out runs/mine",
    )
)
def finetune(
    name: Model = "mini_bert_en",
    task: Annotated[TaskName, Option(help="What to learn: labels, what comes next, or translations.")] = (
        TaskName.classification
    ),
    train: Annotated[
        Path | None,
        Option(
            help="CSV, TSV or JSON lines, for causal_lm also text, a text a line; the bundled messages if not given."
        ),
    ] = None,
    test: Annotated[Path | None, Option(help="Held-out file to measure on.")] = None,
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
    lm_weight: Annotated[
        float | None, Option(help="Of the language model's loss beside a classifier's, for decoders.", min=0.0)
    ] = None,
    seed: Annotated[int, Option(help="Of new weights, dropout and order.")] = 0,
    out: Annotated[Path, Option(help="Folder of the model, to load again.")] = Path("runs/finetuned"),
    export: Annotated[Path | None, Option(help="Folder of the SavedModel.", show_default="OUT-export/1")] = None,
) -> None:
    """Fine-tune a model, save it, measure it on held-out texts, and export it as a SavedModel that takes text.

    A classifier's labels are those of the training file. Without any file, the bundled messages are learnt.
    Ctrl-C while it learns saves the model so far, in OUT-interrupted.
    At the end the export answers one request in a process of its own that can import TensorFlow only.
    """
    start_keras()
    from zoo import _cli_finetune, _cli_finetune_lm
    from zoo._cli_data import Columns

    load = {"max_length": max_length, "dtype": dtype, "lora_rank": lora_rank, "lm_weight": lm_weight, "seed": seed}
    fit = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size, "seed": seed}
    export = export or Path(f"{out}-export", "1")
    if task is not TaskName.classification:
        _cli_finetune_lm.run(name, task.value, train, test, Columns(text, None, label), load, fit, out, export)
        return
    _cli_finetune.run(name, train, test, Columns(text, text_pair, label), problem.value, load, fit, out, export)


@app.command(
    epilog=_cli.examples(
        "evaluate runs/mine --data test.csv",
        "evaluate runs/sst2 --data sst2/test.tsv --text 0 --label 1",
        "evaluate mini_bert_en --data gutenberg_novels/valid.txt",
    )
)
def evaluate(
    model: Model,
    data: Annotated[Path, Option(help="CSV, TSV or JSON lines; for a pre-training model text, a paragraph a line.")],
    text: Text = "text",
    text_pair: TextPair = None,
    label: Label = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Measure a model on a file; prints one JSON object."""
    start_keras()
    from zoo._cli_data import Columns
    from zoo._cli_use import evaluate as run

    run(model, data, Columns(text, text_pair, label), batch_size, max_length)


@app.command(
    epilog=_cli.examples(
        'predict runs/finetuned "Where is my parcel?" "Please cancel my order."',
        "predict runs/finetuned --file messages.csv > answers.jsonl",
        "predict runs/finetuned < lines.txt",
        r'predict mini_bert_en "He \[MASK] the door."',
    )
)
def predict(
    model: Model,
    texts: Annotated[list[str] | None, Argument(help="Texts; or use --file, or lines on stdin.")] = None,
    file: Annotated[Path | None, Option(help="CSV, TSV or JSON lines.")] = None,
    text: Text = "text",
    text_pair: TextPair = None,
    batch_size: BatchSize = 32,
    max_length: MaxLength = None,
) -> None:
    """Answer texts; prints a JSON object for each."""
    start_keras()
    from zoo._cli_data import Columns
    from zoo._cli_use import predict as run

    run(model, texts or [], file, Columns(text, text_pair, None), batch_size, max_length)


@app.command(
    epilog=_cli.examples(
        'generate gpt_mini_en "It was a dark night, and"',
        'generate gpt_mini_en "Mr. Darcy" --temperature 0.8 --top-k 40 --seed 1 --max-new-tokens 100',
        "generate runs/stories --num-beams 4 < prompts.txt",
        "generate opus_mt_en_de --file english.txt > german.txt",
    )
)
def generate(
    model: Model,
    texts: Annotated[
        list[str] | None, Argument(help="Beginnings of texts, or texts to translate; or --file, or lines on stdin.")
    ] = None,
    file: Annotated[Path | None, Option(help="Text, a line each.")] = None,
    max_new_tokens: Annotated[
        int | None, Option(help="Length of a text in tokens, at most; the model's own if not given.", min=1)
    ] = None,
    temperature: Annotated[
        float | None, Option(help="0, as if not given, for the likeliest token; 1 for the model's own odds.", min=0.0)
    ] = None,
    top_k: Annotated[int | None, Option(help="Choose among so many tokens; 0 for all.", min=0)] = None,
    top_p: Annotated[float | None, Option(help="Choose among the likeliest tokens that have this probability.")] = None,
    repetition_penalty: Annotated[float | None, Option(help="Above 1, tokens that were there are less likely.")] = None,
    seed: Annotated[int | None, Option(help="Of the samples.")] = None,
    stop: Annotated[list[str] | None, Option(help="A string before which a text ends; may be repeated.")] = None,
    num_beams: Annotated[
        int | None, Option(help="With more than one: beam search; the model's own if not given.", min=1)
    ] = None,
    max_length: MaxLength = None,
    dtype: Annotated[str | None, Option(help="A Keras dtype policy, such as bfloat16.")] = None,
) -> None:
    """Continue texts, printed as they come; or translate lines, one for one."""
    start_keras()
    from zoo._cli_generate import generate as run

    knobs = {
        "max_new_tokens": max_new_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p,
        "repetition_penalty": repetition_penalty, "seed": seed, "stop": stop, "num_beams": num_beams,
    }  # fmt: skip
    given = {name: value for name, value in knobs.items() if value is not None}
    run(model, texts or [], file, {"max_length": max_length, "dtype": dtype}, given)


@app.command(epilog=_cli.examples("export runs/finetuned serving/intents/1"))
def export(
    model: Model,
    folder: Annotated[Path, Argument(help="Folder of the SavedModel; a number for TensorFlow Serving.")],
    max_length: MaxLength = None,
) -> None:
    """Write a model as a SavedModel that takes text and gives text."""
    start_keras()
    from zoo._cli_use import export as run

    run(model, folder, max_length)


if __name__ == "__main__":
    app(prog_name="python -m zoo")
