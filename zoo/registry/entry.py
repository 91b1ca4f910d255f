"""Entries of the zoo. The file system is the registry: `zoo/<name>.py` is the model `<name>`."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.utils.untrusted import brief
from zoo.registry.filters import fitting

ZOO = Path(__file__).parent.parent
BUNDLED = ZOO / "bundled"
PAIR = re.compile(r"opus_mt_\w+_\w+")  # every pair of languages, by the one that has a file


@dataclass(frozen=True)
class Result:
    """One measurement of a model.

    Args:
        data: Data set and its part, such as `"sst2 test"`.
        metric: Name of the metric, such as `"accuracy"`, as in `Task.evaluate` or the recipe.
        value: The mean over the seeds.
        command: Command that measures it, after `python`: a verb of the zoo, or a script of `benchmarks`.
        seeds: Number of runs, with seeds from 0.
        spread: Standard deviation over the seeds; None for one run.
        minutes: Processor time of one run, summed over all threads: the mean of the timed runs, or None.
    """

    data: str
    metric: str
    value: float
    command: str
    seeds: int = 1
    spread: float | None = None
    minutes: float | None = None

    @property
    def shown(self) -> str:
        """Return the metric, its value and its spread as text."""
        return f"{self.metric} {self.value:.4g}" + ("" if self.spread is None else f" ± {self.spread:.2g}")


@dataclass(frozen=True)
class Entry:
    """One model of the zoo.

    Args:
        summary: One line.
        config: Sizes and options of the model; None if only the checkpoint has them.
        task: The task that the checkpoint was made for.
        parameters: Number of parameters: of an encoder with its pooler, if it has one; of a decoder with its output
            layer; or of an encoder and a decoder with its output layer. None where only the checkpoint says it.
        licence: Licence of the weights, as an SPDX name, or a short one: `"Gemma"`, `"Llama 3.2"`, `"LFM 1.0"`.
        terms: Address of the terms that the hub asks for consent to before it gives the files; empty if it asks nobody.
        source: Source of the weights: `"hf:org/repo@revision"`, or `"bundled"`; None for sizes to train.
        paper: The paper's address.
        tokenizer: The bundled model whose tokenizer it shares; for sizes to train, so that they can be loaded without
            weights.
        pickled: Whether the source has its weights in the old `pytorch_model.bin` only (no code in it is run).
        fit: Arguments of `task.fit` for fine-tuning it, where the defaults do not suit it.
        prompts: Published prompts of a sentence embedding model, by name, for checkpoints whose files name none.
        options: Options of the task that its files do not say, by name.
        results: Measurements, which `python -m zoo results` prints.
        name: The model's name, which is its file's.
    """

    summary: str
    config: TransformerConfig | None
    task: str
    parameters: int | None
    licence: str
    paper: str
    terms: str = ""
    source: str | None = None
    tokenizer: str | None = None
    pickled: bool = False
    fit: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    name: str = ""

    __repr__ = brief

    @property
    def bundled(self) -> bool:
        """Return whether the weights are in the package."""
        return self.source == "bundled"

    @property
    def family(self) -> str:
        """Return the name of its architecture, such as `"bert"`."""
        return self.sizes[0].family

    @property
    def folder(self) -> Path:
        """Return the folder of bundled weights."""
        return BUNDLED / self.name

    @property
    def sizes(self) -> tuple[TransformerConfig, int]:
        """Return the configuration and the number of parameters.

        Raises:
            ValueError: Only the checkpoint says them, as of most pairs of OPUS-MT.
        """
        if self.config is None or self.parameters is None:
            raise ValueError(
                f"only the checkpoint of {self.name!r} contains its sizes: see `config` of the loaded task."
            )
        return self.config, self.parameters


def names(
    pattern: str = "*",
    bundled: bool | None = None,
    *,
    family: str | None = None,
    task: str | None = None,
    licence: str | None = None,
    max_parameters: int | str | None = None,
) -> list[str]:
    """Return names of the models in the zoo.

    Args:
        pattern: Shell-style pattern of names.
        bundled: True for models whose weights are in the package, False for the others.
        family: Architecture of the models, such as `"bert"`.
        task: Task that the models were made for, such as `"sentence_embedding"`. Most can be fine-tuned for others,
            too.
        licence: Licence of the weights, as an SPDX name; upper and lower case count as the same.
        max_parameters: The most parameters that a model may have: a number, or a text such as `"200M"` or `"1.5B"`.

    Returns:
        Sorted names.

    Raises:
        ValueError: No model of the zoo has that family, task or licence, or `max_parameters` is no number.

    Example:

    >>> import zoo
    >>> zoo.names("bert_base*")
    ['bert_base_en_cased', 'bert_base_en_uncased']
    >>> zoo.names(family="bert", task="pretraining", max_parameters="12M")
    ['bert_mini_en_uncased', 'bert_tiny_en_uncased', 'mini_bert_en']
    """
    known = [*_files()]
    facts = {"bundled": bundled, "family": family, "task": task, "licence": licence}
    facts = {fact: value for fact, value in facts.items() if value is not None}
    if facts or max_parameters is not None:
        known = [entry.name for entry in fitting([*map(describe, known)], facts, max_parameters)]
    return fnmatch.filter(known, pattern)


@cache
def _files() -> tuple[str, ...]:
    """Return the names of the files of models, sorted."""
    return tuple(sorted(path.stem for path in ZOO.glob("*.py") if not path.stem.startswith("_")))


def describe(name: str) -> Entry:
    """Return the entry of a model.

    Args:
        name: One of `names()`, or `"opus_mt_"` and any pair of languages that OPUS-MT has a model for.

    Returns:
        An `Entry`, which is frozen.

    Raises:
        ValueError: There is no such model; the message has the nearest names.

    Example:

    >>> import zoo
    >>> zoo.describe("bert_tiny_en_uncased").parameters
    4385920
    """
    known = module(name).ENTRY
    if known.name == name:
        return known
    repo = name.replace("_", "-")
    other = {"name": name, "source": f"hf:Helsinki-NLP/{repo}", "summary": f"OPUS-MT, {repo[8:]}: Marian."}
    return replace(known, **other, config=None, parameters=None)


def is_known(name: str) -> bool:
    """Return whether `describe` knows a model of this name."""
    return name in _files() or PAIR.fullmatch(name) is not None


def module(name: str) -> Any:
    """Return the file of a model, imported: its `ENTRY` and, where it was trained here, its `train`."""
    if name not in _files() and PAIR.fullmatch(name):
        name = "opus_mt_en_de"
    if name not in _files():
        raise no_such_model(name)
    return importlib.import_module(f"zoo.{name}")


def no_such_model(name: str) -> ValueError:
    """Return the error for a name that no model has; it gives the nearest names."""
    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.4) or names()
    return ValueError(f"there is no model {name!r} in the zoo. The nearest names are {near}; zoo.names() has all.")


def entry(name: str, **values: Any) -> Entry:
    """Return the `ENTRY` of a model's file; `name` is its `__name__`."""
    return Entry(name=name.rpartition(".")[2], **values)
