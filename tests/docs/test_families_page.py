"""The tables of docs/families.md are those that the code makes: `UPDATE_MODELS=1` writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from family_cases import CASES

import zoo
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.config.choices import KINDS, position_kinds
from keras_transformers.config.transformer_config import TransformerConfig

PAGE = Path(__file__).resolve().parents[2] / "docs" / "families.md"
CONFIGS: dict[str, TransformerConfig] = {case.family: case.small() for case in reversed(CASES.values())}
MODELS = {name: zoo.describe(name).sizes[0].family for name in zoo.names()}


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[*header], ["---" for _ in header], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


FAMILIES_IN_ORDER = sorted(
    FAMILIES, key=lambda family: (CONFIGS[family].mixer != "attention", KINDS.index(CONFIGS[family].kind), family)
)


def tasks_table() -> str:
    """Return a row for each family, with a mark for each task of which the family has a class."""
    tasks = list(dict.fromkeys(task for family in FAMILIES_IN_ORDER for task in FAMILIES[family].tasks))
    rows = (
        [f"`{family}`", *("✓" if task in FAMILIES[family].tasks else "" for task in tasks)]
        for family in FAMILIES_IN_ORDER
    )
    return markdown(["family", *(f"`{task}`" for task in tasks)], rows)


def blocks_table() -> str:
    """Return a row for each family, with what its blocks are made of and its models in the zoo."""
    rows = ([f"`{family}`", *block_facts(CONFIGS[family]), models_of(family)] for family in FAMILIES_IN_ORDER)
    return markdown(["family", "positions", "norm", "feed-forward", "models of the zoo"], rows)


def block_facts(config: TransformerConfig) -> list[str]:
    """Return the positions, norm and feed-forward layers of a family's blocks, in words."""
    norm = f"{config.norm}, {config.norm_order}"
    inner = f"gated {config.activation}" if config.gated else config.activation
    if config.mixer != "attention":
        inner = config.mixer
    return [" + ".join(position_kinds(config.positions)) or "none", norm, inner]


def models_of(family: str) -> str:
    return ", ".join(f"`{name}`" for name, theirs in MODELS.items() if theirs == family)


TABLES = {"tasks": tasks_table, "blocks": blocks_table}


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_made_from_the_code(name):
    table = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)", re.DOTALL)
    expected, text = TABLES[name](), PAGE.read_text(encoding="utf-8")
    if os.environ.get("UPDATE_MODELS"):
        text = table.sub(lambda _: expected, text)
        PAGE.write_text(text, encoding="utf-8")
    assert table.search(text)[0] == expected


def test_every_family_is_in_the_tables():
    text = PAGE.read_text(encoding="utf-8").partition("\n## Beside ")[0]
    assert CONFIGS.keys() == FAMILIES.keys()
    assert all(text.count(f"| `{family}` |") == 2 for family in FAMILIES)
