"""`train`: train a new model on the user's own text, or run the recipe in the file of a model."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from keras_transformers.checkpoints.files.atomic_folder import check_target
from zoo._console import step  # fmt: skip
from zoo._entry import module, names
from zoo._recipe import remove_state, state_folder
from zoo.cli.app import (
    Encoding,
    Errors,
    Strategy,
    app,
    column,
    examples,
    loadable,
    of_data,
    of_model,
    of_output,
    of_training,
    readable,
    verbosity,
)

DTYPE = "A Keras dtype policy, such as mixed_bfloat16."


@app.command(
    epilog=examples(
        "train --text shakespeare.txt --model gpt2 --hours 0.2 --out runs/mine",
        "train --text 'corpus/**/*.txt' --model bert --size mini --epochs 3 --out runs/encoder",
        "train --text games.jsonl --field moves --model llama --tokenizer character --out runs/chess",
        "train --source a.en --target a.de --model transformer --hours 1 --out runs/translator",
        "train --from minilm_mini_en --text notes/ --add-tokens words.txt --out runs/mine",
        "train mini_bert_en --data DATA/gutenberg_novels --out runs/mini_bert_en",
    )
)
def train(
    name: Annotated[str | None, Argument(help="Model of the zoo to train again by its recipe; needs --data.")] = None,
    data: Annotated[
        Path | None, of_data(help="Folder with the training data of the recipe; zoo/NAME.py describes it.")
    ] = None,
    out: Annotated[
        Path, of_output(help="Folder for the model. OUT.run (OUT.resume for a recipe) keeps the state of the run.")
    ] = Path("runs/new"),
    text: Annotated[
        list[str] | None, of_data(help="File, folder or pattern of the training text, or - for stdin; repeatable.")
    ] = None,
    field: Annotated[
        str, of_data(help="Column or key with the text in .csv, .tsv, .jsonl, .json and .parquet files.")
    ] = "text",
    lines: Annotated[
        bool, of_data(help="Treat each line of a text file as a document, such as names, tweets or molecules.")
    ] = False,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    held_out: Annotated[float, of_data(help="Fraction of the text to hold out for validation.")] = 0.05,
    validation: Annotated[
        list[str] | None, of_data(help="Validation text file, used instead of --held-out; repeatable.")
    ] = None,
    source: Annotated[
        str | None, of_data(help="Source file, one text per line, to train on pairs instead of --text.")
    ] = None,
    target: Annotated[str | None, of_data(help="Target file: one text for each line of --source.")] = None,
    pairs: Annotated[
        str | None, of_data(help="Table of text pairs: .tsv, .txt with tabs, .csv, .jsonl, .json, .parquet or .tmx.")
    ] = None,
    source_column: Annotated[
        Any,
        of_data(
            help="Column with the source texts: name or number.", metavar="COLUMN", parser=column, show_default="0"
        ),
    ] = None,
    target_column: Annotated[
        Any,
        of_data(
            help="Column with the target texts: name or number.", metavar="COLUMN", parser=column, show_default="1"
        ),
    ] = None,
    validation_source: Annotated[
        str | None, of_data(help="Validation source file, used instead of --held-out.")
    ] = None,
    validation_target: Annotated[str | None, of_data(help="Validation target file.")] = None,
    joined: Annotated[
        float | None,
        of_data(help="Number of additional examples, per pair, that join the texts of two pairs: 0 to 0.5."),
    ] = None,
    model: Annotated[
        str | None,
        of_model(
            help="Architecture of the new model: gpt2, llama, lstm, bert or t5; transformer or t5 for pairs.",
            show_default="gpt2; transformer for pairs",
        ),
    ] = None,
    start: Annotated[
        str | None,
        of_model(
            "--from",
            callback=loadable,
            help="Continue training this model: a name printed by `list`, a folder or hf:org/repo.",
        ),
    ] = None,
    add_tokens: Annotated[
        Path | None, of_model(callback=readable, help="File of new tokens, one per line, for the model of --from.")
    ] = None,
    size: Annotated[
        str | None,
        of_model(help="Model size: tiny, mini, small, medium, base or large. If omitted, chosen for --hours."),
    ] = None,
    layers: Annotated[int | None, of_model(help="Number of layers; overrides --size.", min=1)] = None,
    heads: Annotated[int | None, of_model(help="Number of attention heads; overrides --size.", min=1)] = None,
    hidden_dim: Annotated[int | None, of_model(help="Hidden dimension; overrides --size.", min=1)] = None,
    decoder_layers: Annotated[
        int | None,
        of_model(help="Number of decoder layers (transformer, t5). If omitted, chosen for the model.", min=1),
    ] = None,
    max_length: Annotated[int | None, of_model(help="Maximum length of a sequence in tokens.", min=8)] = None,
    tokenizer: Annotated[
        str | None,
        of_model(
            help="Tokenizer: byte_pair, wordpiece, unigram, character, bytes or a folder. If omitted, the usual one "
            "for the model."
        ),
    ] = None,
    vocabulary: Annotated[int | None, of_model(help="Size of the vocabulary to learn, in tokens.", min=1)] = None,
    lowercase: Annotated[bool, of_model(help="Lower-case all texts (wordpiece and unigram).")] = False,
    dropout: Annotated[
        float | None, of_model(help="Dropout rate during training. If omitted, chosen by the number of epochs.")
    ] = None,
    dtype: Annotated[str | None, of_model(help=DTYPE)] = None,
    hours: Annotated[
        float | None, of_training(help="Time limit of the whole command in hours; determines the steps.")
    ] = None,
    steps: Annotated[int | None, of_training(help="Number of training steps, instead of --hours.", min=1)] = None,
    epochs: Annotated[
        float | None, of_training(help="Number of epochs, instead of --hours. If omitted, a recipe uses its default.")
    ] = None,
    batch_size: Annotated[
        int | None,
        of_training(help="Number of sequences in a batch.", min=1, show_default="16; fewer for a short --hours"),
    ] = None,
    batch_tokens: Annotated[
        int | None,
        of_training(help="Tokens in a batch on each side, padding included (pairs).", show_default="4096"),
    ] = None,
    learning_rate: Annotated[float | None, of_training(help="Peak learning rate.")] = None,
    schedule: Annotated[
        str | None,
        of_training(help="Learning-rate schedule: inverse_sqrt or cosine (pairs).", show_default="inverse_sqrt"),
    ] = None,
    warmup_steps: Annotated[
        int | None, of_training(help="Number of warm-up steps of the learning rate (pairs).", min=1)
    ] = None,
    weight_decay: Annotated[
        float | None, of_training(help="Weight decay of AdamW.", show_default="0.1; 0.01 for pairs")
    ] = None,
    rounds: Annotated[int, of_training(help="Number of validation rounds during training.", min=1)] = 20,
    patience: Annotated[
        int, of_training(help="Stop after this many rounds without a better validation loss.", min=1)
    ] = 5,
    prompt: Annotated[
        str | None, of_training(help="Prompt for the samples that a decoder generates during training.")
    ] = None,
    seed: Annotated[int | None, of_training(help="Random seed (initialisation, shuffling, masking).")] = None,
    strategy: Strategy = None,
) -> None:
    """Train a model on your own texts or text pairs, or by a recipe. Repeat the command to resume an interrupted run.

    Part of the text is held out for validation, a vocabulary is learned, and the plan with the expected duration is
    printed before training. The weights of the best round are kept in OUT, a folder in Hugging Face layout with a
    model card. With --from, the training of an existing model continues with its tokenizer; if no round improves on
    the given model, that model is kept.
    """
    asked = dict(locals())
    if any(value is not None for value in (source, target, pairs)):
        from zoo.cli.training.on_pairs import train_on_pairs

        train_on_pairs(asked)
    elif text:
        from zoo.cli.training.on_text import train_on_text

        train_on_text(asked)
    elif start is not None or add_tokens is not None:
        raise ValueError("--from MODEL continues training on your own text: give --text FILES, too.")
    elif name and data:
        run_recipe(name, data, out, epochs=None if epochs is None else round(epochs), seed=seed)
    else:
        raise ValueError(
            "give --text FILES for a new model from your own text, --source and --target (or --pairs) for one from "
            "pairs of texts, or NAME and --data for a recipe."
        )


def run_recipe(name: str, data: Path, out: Path, **options: Any) -> None:
    """Call `train` of `zoo/<name>.py` with the options that are given; print the results and remove the run's state."""
    recipe = getattr(module(name), "train", None)
    if recipe is None:
        known = [other for other in names() if hasattr(module(other), "train")]
        raise ValueError(f"{name} was not trained here, so there is no recipe; there is one for {known}.")
    options = {key: value for key, value in options.items() if value is not None}
    if unknown := sorted(options.keys() - inspect.signature(recipe).parameters):
        raise ValueError(f"the recipe of {name} has no options {unknown}.")
    if not data.is_dir():
        raise ValueError(f"there is no folder {data}: expected the data of {name}.")
    check_target(out)
    if missing := [file for file in getattr(module(name), "FILES", ()) if not (data / file).is_file()]:
        paragraphs = (inspect.getdoc(module(name)) or "").split("\n\n")
        files = " ".join(" ".join(paragraphs[2:3]).split())  # what the data are, behind the command
        raise ValueError(f"{data} holds no {', '.join(missing)}, which the recipe of {name} reads. {files}")
    try:
        with step(f"train {name} on {data}", "\n"):
            results = recipe(data, out, verbose=verbosity(), **options)
    except KeyboardInterrupt:
        if state_folder(out).exists():
            print(f"\ninterrupted; repeat the command to resume from the last state in {state_folder(out)}")
        raise
    print(json.dumps(results), flush=True)
    remove_state(out)  # last, so that the same command repeats the end of the run if it fails before
