"""The parts of every run on plain text: its files, their tokens, a plan that is kept, and figures of held-out text."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from keras_transformers.text.files.text_files import TextFiles, is_compressed
from zoo.scratch.chief_first import chief_first
from zoo.scratch.kept_plan import STDIN, KeptPlan, Plan, keep_standard_input
from zoo.scratch.new_models import NewModel
from zoo.scratch.new_vocabulary import sample as spread
from zoo.scratch.run_plan import BATCH, Candidate
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.time_left import TimeLeft
from zoo.terminal.console import step

if TYPE_CHECKING:
    from keras_transformers.data.corpus.corpus import Corpus
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer

TOKENS = "tokens"
SAMPLED = 1_000_000  # characters that the plan looks at


class CorpusRun(ABC):
    """A run that trains a model on text. `TextRun` makes a new one, `FurtherRun` continues the training of one.

    Args:
        settings: The user's settings.

    Attributes:
        wanted: Requirements of the kind of model: its task, learning rate and length of rows.
        max_length: Tokens of a row.
        model: Name of its kind.
    """

    wanted: NewModel
    max_length: int
    model: str
    remedies: ClassVar[Mapping[str, str]]  # what a user can do about a warning, by its name: see `plan_table`

    def __init__(self, settings: RunSettings):
        self.settings = settings
        written = (settings.out, settings.run_folder)  # which may lie in a folder of text
        options: dict[str, Any] = {"errors": settings.errors, "lines": settings.lines, "without": written}
        options |= {"field": settings.field, "encoding": settings.encoding}
        text = [
            keep_standard_input(settings.run_folder / "stdin.txt") if path == STDIN else path for path in settings.text
        ]
        self.files = TextFiles(text, **options)
        self.validation = TextFiles(settings.validation, **options) if settings.validation else None

    def check_amount(self) -> None:
        """Refuse, before any work, a text that is too small for a batch whatever its tokens are."""
        least = self.batch_size * self.max_length
        if not any(map(is_compressed, self.files.files)) and self.files.size < least:
            raise ValueError(
                f"the text has {self.files.size:,} bytes: expected at least the {least:,} tokens of a batch of "
                f"{self.batch_size} rows. Give more text, a smaller --batch-size or a smaller --max-length."
            )

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of the corpus and the model."""

    @property
    @abstractmethod
    def end_id(self) -> int | None:
        """Return the token behind each document of the corpus."""

    @abstractmethod
    def task(self, size: tuple[int, int, int], dropout: float, dtype: str) -> Task:
        """Return the task at its start, such that it trains with `dropout`."""

    @abstractmethod
    def new_plan(self, rows: int, held_out_rows: int) -> Plan:
        """Return the plan for a corpus of so many rows of `max_length` tokens."""

    @abstractmethod
    def restore(self, task: Task, plan: Plan) -> None:
        """Give a trained task the settings with which it is saved: the model's, without the training's."""

    def facts(self) -> dict[str, str]:
        """Return what else the table and the card say, by name."""
        return {}

    def notes(self) -> list[str]:
        """Return what else the user is warned of."""
        return []

    def finetune_options(self) -> str:
        """Return the options with which the result is best fine-tuned, from a space on."""
        return ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files that the run reads: those to train on, and those that are held out."""
        return self.files.files + (self.validation.files if self.validation else ())

    @property
    def file_facts(self) -> Sequence[tuple[str, int, str]]:
        """Name, bytes and sha256 of these files."""
        return self.corpus.facts.files

    @cached_property
    def strategy(self) -> Any:
        """Return the `tf.distribute` strategy, or None; made first: several workers connect before TensorFlow works."""
        from keras_transformers.training.workers.strategy import chosen

        return chosen(self.settings.strategy)

    @cached_property
    def corpus(self) -> Corpus:
        """Return the tokens of the corpus, made once and kept beside the run."""
        return chief_first(self.strategy, self._corpus)

    def _corpus(self) -> Corpus:
        from keras_transformers.data.corpus.corpus import make_corpus

        settings, tokenizer = self.settings, self.tokenizer
        with step("tokenize", "\n"):
            return make_corpus(
                self.files, tokenizer, settings.run_folder / TOKENS, held_out_share=settings.held_out or 0.05,
                held_out_files=self.validation, end_id=self.end_id, seed=settings.seed,
            )  # fmt: skip

    def sample(self) -> Iterator[str]:
        """Yield pieces of every place of the text, some megabytes at most, that the plan looks at."""
        return spread(self.files, self.corpus.facts.characters, SAMPLED)

    @property
    def replicas(self) -> int:
        """Devices that share the rows of a step."""
        return self.strategy.num_replicas_in_sync if self.strategy is not None else 1

    @property
    def batch_size(self) -> int:
        """Rows of a step: what was asked, or the usual number, with which the speed is measured."""
        return self.settings.batch_size or BATCH

    @cached_property
    def time_left(self) -> TimeLeft:
        """Return the time of the command, which all parts of the run share."""
        return TimeLeft(self.settings.hours)

    def dataset(self, task: Task, batch_size: int | None = None, **options: Any) -> Any:
        """Return the batches of the corpus, of `batch_size` rows, the run's when None."""
        return task.dataset(
            self.corpus.train,
            batch_size=batch_size or self.batch_size,
            seed=self.settings.seed,
            drop_remainder=True,
            **options,
        )

    @cached_property
    def dtype(self) -> str:
        """Return the dtype policy: the given one, or what suits the machine."""
        from zoo.scratch.speed import suited_dtype

        return self.settings.dtype or suited_dtype()

    def held_out_figures(self, task: Task, title: str = "", most_rows: int | None = None) -> dict[str, float]:
        """Return what a task has on all held-out text, or on what of it is not in the training text, too: `perplexity`
        and `accuracy`. The masks are the same each time.

        Args:
            task: Compiled task.
            title: Name of the step, for the printed line.
            most_rows: Rows to measure, at most; None for all.
        """
        held_out = self.corpus.measured
        tokens = min((most_rows or math.inf) * self.max_length, held_out.num_tokens)
        options: dict[str, Any] = {"num_rows": most_rows} if tokens < held_out.num_tokens else {}
        with step(f"measure {tokens:,} held-out tokens{title}"):
            dataset = task.dataset(held_out, batch_size=self.batch_size, shuffle=False, **options)
            measured = task.model.evaluate(dataset, return_dict=True, verbose=0)
        return {name: float(measured[name]) for name in ("perplexity", "accuracy")}

    def measured(self, task: Task, size: tuple[int, int, int], rows: int | None = None) -> Candidate:
        """Return a size with the speed of a task of it, whose weights change.

        Args:
            task: A fresh task.
            size: Layers, heads, width.
            rows: Rows of a step; `batch_size` when None.
        """
        from zoo.scratch.speed import MOST_STEPS, count_parameters, measure_speed, suits_xla

        xla = suits_xla(self.model, self.strategy)
        rows = rows or self.batch_size
        with step(f"measure the speed of {size[0]} layers of {size[2]}, {rows} rows a step"):
            speed = measure_speed(
                task, self.dataset(task, rows, steps_per_epoch=MOST_STEPS), xla, most=self.time_left.most_measuring
            )
        return Candidate(size, count_parameters(task.model), *speed, self.dtype, xla, rows)

    def plan(self) -> Plan:
        """Return the plan: the one that an interrupted run has begun, or a new one."""
        from keras_transformers.training.workers.distribute import is_chief

        kept = KeptPlan(self.settings)
        if (plan := kept.read(self.file_facts)) is None:
            self.check_time()
            plan = self.new_plan(*self.rows())
            if is_chief(self.strategy):
                kept.write(plan, self.file_facts)
        return plan

    def check_time(self) -> None:
        """Refuse, before any measuring, a time that is over."""
        if self.time_left.left() <= 0:
            raise ValueError(
                f"--hours {self.settings.hours:g} are {self.time_left.seconds:.0f} seconds, and reading the text, its "
                f"vocabulary and its tokens has taken {self.time_left.spent():.0f}: nothing is left to train. Give "
                "more --hours (the same command finds vocabulary and tokens), or --steps."
            )

    def rows(self) -> tuple[int, int]:
        """Return the rows to train on, and those held out; check that there are enough."""
        corpus, length, size = self.corpus, self.max_length, self.batch_size
        train, held_out = corpus.train.num_tokens // length, max(corpus.held_out.num_tokens // length, 1)
        if train < size:
            raise ValueError(
                f"the corpus has {corpus.train.num_tokens:,} tokens to train on, {train} rows of {length}: expected at "
                f"least a batch of {size}. Give more text, a smaller --batch-size or a smaller --max-length."
            )
        return train, held_out
