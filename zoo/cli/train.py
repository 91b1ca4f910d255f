"""`train`: train a new model on the user's own text, or run the recipe in the file of a model."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from zoo.cli.app import app, examples
from zoo.cli.training.recipe_settings import RecipeSettings
from zoo.cli.training.record_options import options_of
from zoo.scratch.pairs.pair_settings import PAIRED, PairSettings
from zoo.scratch.run_settings import FurtherSettings, RunSettings, option
from zoo.terminal.console import STARTED

KINDS = (RunSettings, FurtherSettings, PairSettings, RecipeSettings)
# What the command line gives where a record has something else, or nothing.
TYPES = {"text": list[str] | None, "validation": list[str] | None, "add_tokens": Path | None}
USUAL: dict[type, dict[str, Any]] = {RunSettings: {"model": "gpt2"}, PairSettings: {"model": "transformer", "text": ()}}
# What was received that tells the kind, and what the options of the other kinds are for.
ON_TEXT = ("--text", "training on pairs of texts")
TOLD = {
    RunSettings: ON_TEXT,
    FurtherSettings: ON_TEXT,
    PairSettings: ("pairs", "training on --text"),
    RecipeSettings: ("NAME of a recipe", "training on your own texts"),
}


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
@options_of(KINDS, TYPES, {"out": Path("runs/new")})
def train(**options: Any) -> None:
    """Train a model on your own texts or text pairs, or by a recipe. Repeat the command to resume an interrupted run.

    Part of the text is held out for validation, a vocabulary is learned, and the plan with the expected duration is
    printed before training. The weights of the best round are kept in OUT, a folder in Hugging Face layout with a
    model card. With --from, the training of an existing model continues with its tokenizer; if no round improves on
    the given model, that model is kept.
    """
    settings = settings_of(options)
    if isinstance(settings, RecipeSettings):
        settings.run()
    else:
        run_on_texts(settings)


def settings_of(options: Mapping[str, Any]) -> RunSettings | RecipeSettings:
    """Return the settings that a command line asks for.

    Args:
        options: Values of the options by name; the others have their default.

    Raises:
        ValueError: They ask for nothing, or for two kinds of training, or an option belongs to another kind; or as for
            the settings.
    """
    usual = inspect.signature(train).parameters
    given = {name: value for name, value in options.items() if value not in (None, [], usual[name].default)}
    kind = kind_of(given)
    if foreign := [f"--{option(name)}" for name in given if name not in {one.name for one in fields(kind)}]:
        received, purpose = TOLD[kind]
        raise ValueError(f"received {received}, and {', '.join(foreign)}, for {purpose}: leave it out.")
    if "add_tokens" in given:
        encoding = {name: given[name] for name in ("encoding", "errors") if name in given}
        given["add_tokens"] = read_tokens(given["add_tokens"], **encoding)
    given |= {name: tuple(given[name]) for name in ("text", "validation") if name in given}
    return kind(**USUAL.get(kind, {}) | {"out": options["out"]} | given)


def kind_of(given: Mapping[str, Any]) -> type[RunSettings] | type[RecipeSettings]:
    """Return the kind of training that options ask for.

    Args:
        given: Values of the options that are given, by name.
    """
    if is_paired := any(name in given for name in PAIRED):
        kind: type[RunSettings] = PairSettings
    else:
        kind = FurtherSettings if "start" in given else RunSettings
    if is_paired or "text" in given:
        for name in ("name", "data"):
            if name in given:
                raise ValueError(
                    f"received {TOLD[kind][0]}, and {name.upper()} of a recipe, {given[name]}: give one of them."
                )
        if kind is RunSettings and "add_tokens" in given:
            raise ValueError("--add-tokens widens the vocabulary of a trained model: give --from MODEL, too.")
        return kind
    if "start" in given or "add_tokens" in given:
        raise ValueError("--from MODEL continues training on your own text: give --text FILES, too.")
    if "name" in given and "data" in given:
        return RecipeSettings
    raise ValueError(
        "give --text FILES for a new model from your own text, --source and --target (or --pairs) for one from "
        "pairs of texts, or NAME and --data for a recipe."
    )


def read_tokens(path: str | os.PathLike, encoding: str = "utf-8", errors: str = "strict") -> tuple[str, ...]:
    """Return the new tokens in a file, one per line; empty lines are left out.

    Args:
        path: A file.
        encoding, errors: As for `TextFiles`.

    Raises:
        ValueError: There is no such file, it is of another encoding or has no token, or a token is there twice or has
            whitespace around it; the message has the line.
    """
    from keras_transformers.data.sources.text_tables import read_whole

    lines = read_whole(Path(path), encoding, errors).splitlines()
    tokens: dict[str, int] = {}
    for number, token in enumerate(lines, 1):
        if token != token.strip():
            raise ValueError(f"{path}, line {number}: {token!r} has whitespace around it: expected one token per line.")
        if token in tokens:
            raise ValueError(f"{path}, line {number}: {token!r} is in line {tokens[token]}, too. Remove one.")
        if token:
            tokens[token] = number
    if not tokens:
        raise ValueError(f"{path} has no tokens: expected one per line, such as metformin.")
    return tuple(tokens)


def run_on_texts(settings: RunSettings) -> None:
    """Train on the user's own texts or pairs, and print the results."""
    from zoo.scratch.api.new import run
    from zoo.terminal.environment import quiet_unless_chief

    with quiet_unless_chief(settings.strategy):
        results = run(settings, shlex.join(["train", *sys.argv[2:]]), STARTED)[1]
        if results is not None:
            print(json.dumps(results), flush=True)
