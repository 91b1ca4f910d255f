"""`train`: a new model from own text; or the recipe in the file of a model."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from keras_transformers.checkpoints.files.atomic_folder import check_target
from zoo._entry import module, names
from zoo._recipe import remove_state, state_folder
from zoo.cli.app import (
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
    step,
    verbosity,
)  # fmt: skip

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
    name: Annotated[
        str | None, Argument(help="A name of `list` that was trained with this package: its recipe.")
    ] = None,
    data: Annotated[Path | None, of_data(help="Of a recipe: folder of the data that zoo/NAME.py describes.")] = None,
    out: Annotated[Path, of_output(help="Folder to write. OUT.run (of a recipe OUT.resume) keeps the run.")] = Path(
        "runs/new"
    ),
    text: Annotated[
        list[str] | None, of_data(help="File, folder or pattern of the text; several times for several; - for stdin.")
    ] = None,
    field: Annotated[str, of_data(help="Key or column of the text in JSON lines and Parquet.")] = "text",
    encoding: Annotated[str, of_data(help="Of the text files.")] = "utf-8",
    held_out: Annotated[float, of_data(help="Share of the text to hold out and measure on.")] = 0.05,
    validation: Annotated[list[str] | None, of_data(help="Files to measure on, instead of a share.")] = None,
    source: Annotated[str | None, of_data(help="Instead of --text: a file with a text a line, and")] = None,
    target: Annotated[str | None, of_data(help="what is to be written for each, such as its translation.")] = None,
    pairs: Annotated[str | None, of_data(help="Or a table: .tsv, .txt with tabs, .csv, .jsonl.")] = None,
    source_column: Annotated[
        Any, of_data(help="Of the table; source, or 0.", metavar="COLUMN", parser=column, show_default=False)
    ] = None,
    target_column: Annotated[
        Any, of_data(help="Of the table; target, or 1.", metavar="COLUMN", parser=column, show_default=False)
    ] = None,
    validation_source: Annotated[str | None, of_data(help="Pairs to measure on, instead of a share: a file, and")] = (
        None
    ),
    validation_target: Annotated[str | None, of_data(help="the other one.")] = None,
    joined: Annotated[float | None, of_data(help="Of pairs: so many texts of two for each pair, up to 0.5.")] = None,
    model: Annotated[
        str | None,
        of_model(
            help="Kind of the new model: gpt2, llama, lstm, bert or t5; of pairs transformer or t5.",
            show_default="gpt2; of pairs transformer",
        ),
    ] = None,
    start: Annotated[
        str | None,
        of_model(
            "--from",
            callback=loadable,
            help="Go on with this model instead: a name of `list`, a folder or hf:org/repo.",
        ),
    ] = None,
    add_tokens: Annotated[
        Path | None, of_model(callback=readable, help="File of new tokens for the model of --from, one a line.")
    ] = None,
    size: Annotated[
        str | None, of_model(help="tiny, mini, small, medium, base or large; chosen for --hours if not given.")
    ] = None,
    layers: Annotated[int | None, of_model(help="Number of layers, if not the size's.", min=1)] = None,
    heads: Annotated[int | None, of_model(help="Number of heads, if not the size's.", min=1)] = None,
    hidden_dim: Annotated[int | None, of_model(help="Width, if not the size's.", min=1)] = None,
    decoder_layers: Annotated[
        int | None, of_model(help="Of two stacks: layers of the second; of transformer half as many.", min=1)
    ] = None,
    max_length: Annotated[int | None, of_model(help="Tokens of a row.", min=8)] = None,
    tokenizer: Annotated[
        str | None, of_model(help="byte_pair, wordpiece, unigram, character, bytes, or a folder; else what suits.")
    ] = None,
    vocabulary: Annotated[int | None, of_model(help="Tokens to learn.", min=1)] = None,
    lowercase: Annotated[bool, of_model(help="Lower-case texts (wordpiece, unigram).")] = False,
    dropout: Annotated[float | None, of_model(help="Rate while it trains; chosen by the passes if not given.")] = None,
    dtype: Annotated[str | None, of_model(help=DTYPE)] = None,
    hours: Annotated[float | None, of_training(help="Time to train; it chooses steps, and size if not given.")] = None,
    steps: Annotated[int | None, of_training(help="Or updates.", min=1)] = None,
    epochs: Annotated[float | None, of_training(help="Or passes over the text; of a recipe if not its own.")] = None,
    batch_size: Annotated[
        int | None, of_training(help="Rows a step.", min=1, show_default="16; fewer with few --hours")
    ] = None,
    batch_tokens: Annotated[
        int | None, of_training(help="Of pairs: tokens of a step on each side, padding included.", show_default="4096")
    ] = None,
    learning_rate: Annotated[float | None, of_training(help="Its peak.")] = None,
    schedule: Annotated[
        str | None, of_training(help="Of pairs: inverse_sqrt or cosine.", show_default="inverse_sqrt")
    ] = None,
    warmup_steps: Annotated[int | None, of_training(help="Of pairs: steps in which the rate rises.", min=1)] = None,
    weight_decay: Annotated[float | None, of_training(help="Of AdamW.", show_default="0.1; of pairs 0.01")] = None,
    rounds: Annotated[int, of_training(help="How often held-out text is measured.", min=1)] = 20,
    patience: Annotated[int, of_training(help="Rounds without a better held-out loss that end the run.", min=1)] = 5,
    prompt: Annotated[str | None, of_training(help="Begin of the samples.")] = None,
    seed: Annotated[int | None, of_training(help="Of weights, order and masks.")] = None,
    strategy: Strategy = None,
) -> None:
    """Train a model from scratch, on own text or pairs, or by a recipe; the same command goes on with a killed run.

    A share of the text is held out, a vocabulary is learned, and a table tells what will be done and how long it
    takes. The best round is kept; OUT is a folder in Hugging Face layout with a card. With --from, a trained model goes
    on, with its own tokenizer; if no round is better than its start, the start is kept.
    """
    asked = dict(locals())
    if any(value is not None for value in (source, target, pairs)):
        from zoo.cli.training.on_pairs import train_on_pairs

        train_on_pairs(asked)
    elif text:
        from zoo.cli.training.on_text import train_on_text

        train_on_text(asked)
    elif start is not None or add_tokens is not None:
        raise ValueError("--from MODEL goes on with a model on own text: give --text FILES, too.")
    elif name and data:
        run_recipe(name, data, out, epochs=None if epochs is None else round(epochs), seed=seed)
    else:
        raise ValueError(
            "give --text FILES for a new model from own text, --source and --target (or --pairs) for one from pairs of "
            "texts, or NAME and --data for a recipe."
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
            print(f"\ninterrupted; the same command goes on from the last state in {state_folder(out)}")
        raise
    print(json.dumps(results), flush=True)
    remove_state(out)  # last, so that the same command repeats the end of the run if it fails before
