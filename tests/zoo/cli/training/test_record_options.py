"""The options of `train` are the fields of its records, and one that the chosen record lacks is refused by name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pytest
import rule_pairs
from command_line import fail, run
from typer import Option

from zoo.cli.train import KINDS, settings_of, train
from zoo.cli.training.recipe_settings import RecipeSettings
from zoo.cli.training.record_options import options_of
from zoo.scratch.pairs.pair_settings import PairSettings
from zoo.scratch.run_settings import FurtherSettings, RunSettings, option


def test_every_field_is_an_option():
    names = {one.name for kind in KINDS for one in fields(kind)}
    assert names == inspect.signature(train).parameters.keys()
    told = run("train", "--help")
    assert [name for name in names - {"name"} if f"--{option(name)}" not in told] == []


@dataclass
class First:
    steps: Annotated[int, Option(help="Steps.", rich_help_panel="Training")]
    rate: Annotated[float, Option(help="Rate.", rich_help_panel="Data")] = 0.5
    files: Annotated[tuple[str, ...], Option(help="Files.", rich_help_panel="Training")] = ()


@dataclass
class Second:
    steps: int = 3
    rate: float = 0.1
    speed: Annotated[int, Option(help="Speed.", rich_help_panel="Training")] = 7


def test_options_of_several_records():
    """In the order of their panels; one with different defaults, or with none, has None."""

    @options_of([First, Second], {"files": list[str]}, {"steps": 9})
    def command(**given): ...

    found = inspect.signature(command).parameters
    assert {name: one.default for name, one in found.items()} == {"rate": None, "steps": 9, "files": None, "speed": 7}
    assert list(found) == ["rate", "steps", "files", "speed"]
    assert found["files"].annotation.__origin__ == list[str] and found["rate"].annotation.__origin__ is float


def test_a_field_without_an_option():
    with pytest.raises(AssertionError, match="has no option"):
        options_of([Second], {}, {})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"text": ["a.txt"]}, RunSettings),
        ({"text": ["a.txt"], "start": "gpt_mini_en", "weight_decay": 0.0}, FurtherSettings),
        ({"source": "a.en", "target": "a.de", "source_column": None}, PairSettings),
        ({"pairs": "a.tsv", "source_column": 0}, PairSettings),
    ],
)
def test_the_record_of_a_command_line(given, kind):
    """It has what is given, and its own defaults for the rest."""
    usual = {name: one.default for name, one in inspect.signature(train).parameters.items()}
    settings = settings_of(usual | given)
    assert type(settings) is kind
    assert settings.out == Path("runs/new") and settings.seed == 1
    expected = {"weight_decay": 0.01 if kind is PairSettings else 0.1} | given
    values = {name: getattr(settings, name) for name in expected}
    assert values == expected | ({"text": ("a.txt",)} if "text" in given else {})


TEXT, PAIRS = ("--text", "{source}"), ("--source", "{source}", "--target", "{target}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (*TEXT, "--schedule", "cosine", "--decoder-layers", "2"),
            "received --text, and --decoder-layers, --schedule, for training on pairs of texts: leave it out",
        ),
        ((*TEXT, "--validation-source", "{source}"), "and --validation-source, for training on pairs"),
        ((*TEXT, "--from", "gpt_mini_en", "--joined", "0.2"), "and --joined, for training on pairs"),
        ((*PAIRS, "--from", "gpt_mini_en"), "received pairs, and --from, for training on --text: leave it out"),
        ((*PAIRS, "--add-tokens", "{source}"), "received pairs, and --add-tokens, for training on --text"),
        ((*PAIRS, "--batch-size", "8"), "received pairs, and --batch-size, for training on --text"),
        ((*PAIRS, "--field", "body"), "received pairs, and --field, for training on --text"),
        ((*PAIRS, "--lines"), "--lines is for --text"),
        (
            ("mini_bert_en", "--data", "{folder}", "--hours", "1", "--size", "mini", "--lines"),
            "received NAME of a recipe, and --lines, --size, --hours, for training on your own texts: leave it out",
        ),
    ],
)
def test_an_option_of_another_kind_is_refused_by_name(tmp_path, arguments, message):
    source, target = rule_pairs.write(tmp_path, 20)
    given = [argument.format(source=source, target=target, folder=tmp_path) for argument in arguments]
    code, error = fail("train", *given, "--out", tmp_path / "mine")
    assert code == 2 and message in error
    assert not (tmp_path / "mine").exists() and not (tmp_path / "mine.run").exists()


def test_a_recipe_takes_whole_epochs(tmp_path):
    for name in ("train.txt", "valid.txt"):
        (tmp_path / name).touch()
    settings = settings_of({"name": "mini_bert_en", "data": tmp_path, "out": tmp_path / "mine", "epochs": 2.0})
    assert isinstance(settings, RecipeSettings) and settings.options == {"epochs": 2}
    with pytest.raises(ValueError, match="give --text FILES for a new model"):
        settings_of({"name": "mini_bert_en", "out": tmp_path / "mine"})
