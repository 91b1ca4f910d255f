"""A run from text to a model: tokenizer, corpus, plan, rounds, and the folder of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_object
from zoo.cli.app import step
from zoo.scratch.chief_first import chief_first
from zoo.scratch.kept_plan import KeptPlan
from zoo.scratch.new_models import new_model, sized
from zoo.scratch.new_vocabulary import CHARACTERS_A_TOKEN, learn_vocabulary, sample, vocabulary_size
from zoo.scratch.run_plan import Candidate, Plan, choose_size, make_plan
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.standard_input import STDIN, keep_standard_input

if TYPE_CHECKING:
    from keras_transformers.config.transformer_config import TransformerConfig
    from keras_transformers.data.corpus.corpus import Corpus
    from keras_transformers.tasks import Task

TOKENIZER, TOKENS, LEARNED = "tokenizer", "tokens", "learned.json"


@dataclass
class TextRun:
    """A run that trains a new model on text.

    Args:
        settings: What was asked.
    """

    settings: RunSettings
    characters_a_token: ClassVar[int] = CHARACTERS_A_TOKEN  # of the corpus, for each token of a learned vocabulary
    remedies: ClassVar[Mapping[str, str]] = {  # of what `plan_table` warns of; no warning without a remedy
        "vocabulary": "Give a --vocabulary of at most {most:,}.",
        "size": "Give a smaller --size, or more text.",
        "unknown": "Give --tokenizer byte_pair, which knows every text, or a larger --vocabulary.",
        "lost": "Give --tokenizer byte_pair, character or bytes to keep capitals, spaces and line ends.",
    }

    def __post_init__(self):
        settings = self.settings
        options = {"field": settings.field, "encoding": settings.encoding}
        text = [
            keep_standard_input(settings.run_folder / "stdin.txt") if path == STDIN else path for path in settings.text
        ]
        self.files = TextFiles(text, **options)
        self.validation = TextFiles(settings.validation, **options) if settings.validation else None
        self.wanted = new_model(settings.model)
        self.max_length = settings.max_length or self.wanted.max_length

    @property
    def model(self) -> str:
        """Name of the model's kind."""
        return self.settings.model

    @property
    def end_id(self) -> int | None:
        """The token behind each document of the corpus."""
        return self.tokenizer.sep_id if self.wanted.task == "masked_lm" else self.tokenizer.eos_id

    @property
    def learned_from(self) -> dict[str, Any]:
        """What a vocabulary is learned from, as JSON holds it: other files, other vocabulary."""
        return {"files": [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in self.files.files]}

    @cached_property
    def strategy(self) -> Any:
        """The `tf.distribute` strategy, or None; made first, as several workers connect before TensorFlow works."""
        from keras_transformers.training.workers.strategy import chosen

        return chosen(self.settings.strategy)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer: the given one, or one that is learned once and kept beside the run."""
        return chief_first(self.strategy, self._tokenizer)

    @cached_property
    def corpus(self) -> Corpus:
        """The tokens of the corpus, made once and kept beside the run."""
        return chief_first(self.strategy, self._corpus)

    def _tokenizer(self) -> Tokenizer:
        settings, kind = self.settings, self.settings.tokenizer or self.wanted.tokenizer
        if Path(kind).is_dir():
            return Tokenizer.from_folder(kind)
        size = settings.vocabulary or vocabulary_size(
            self.wanted.vocabulary_size, self.files.size, kind, self.characters_a_token
        )
        key = {"kind": kind, "size": size, "model": settings.model, "lowercase": settings.lowercase}
        key |= self.learned_from
        folder = settings.run_folder / TOKENIZER
        if (folder / LEARNED).is_file() and read_object(folder / LEARNED) == key:
            return Tokenizer.from_folder(folder)
        with step(f"learn a vocabulary ({kind.replace('_', ' ')})"):
            texts = sample(self.files, self.files.size)
            tokenizer = learn_vocabulary(texts, kind, size, settings.model, settings.lowercase)
        KeptPlan.write_kept(folder, LEARNED, key, tokenizer.save)
        return tokenizer

    def _corpus(self) -> Corpus:
        from keras_transformers.data.corpus.corpus import make_corpus

        tokenizer, settings = self.tokenizer, self.settings
        with step("tokenize", "\n"):
            return make_corpus(
                self.files, tokenizer, settings.run_folder / TOKENS, held_out_share=settings.held_out or 0.05,
                held_out_files=self.validation, end_id=self.end_id, seed=settings.seed,
            )  # fmt: skip

    def config(self, size: tuple[int, int, int]) -> TransformerConfig:
        """Return the configuration of a size."""
        return sized(self.settings.model, size, self.tokenizer, self.max_length)

    def fresh_config(self, size: tuple[int, int, int]) -> TransformerConfig:
        """Return the configuration with which a model of a size starts, before it has learned anything."""
        return self.config(size)

    def task(self, size: tuple[int, int, int], dropout: float, dtype: str) -> Task:
        """Return a fresh task of a size; it trains with `dropout`, and is saved with the family's own."""
        import keras

        from keras_transformers.families.dropout_rates import with_dropout
        from keras_transformers.tasks import Task
        from keras_transformers.training.workers.distribute import scope

        keras.utils.set_random_seed(self.settings.seed)
        with scope(self.strategy):
            config = with_dropout(self.fresh_config(size), dropout)
            return Task(self.wanted.task, config, self.tokenizer, dtype=dtype)

    def restore(self, task: Task, plan: Plan) -> None:
        """Give a task that was trained the settings with which it is saved, such as the family's dropout."""
        task.config = self.config(plan.size)

    def more_facts(self) -> dict[str, str]:
        """Return what the table and the card say beside the figures of any run, by name."""
        return {}

    def notes(self) -> list[str]:
        """Return what the user is warned of, beside what `plan_table` finds."""
        return []

    def finetune_options(self) -> str:
        """Return the options of `finetune` that suit the result, each after a space."""
        return ""

    def dataset(self, task: Task, **options: Any) -> Any:
        """Return the batches of the corpus."""
        settings = self.settings
        return task.dataset(
            self.corpus.train, batch_size=settings.batch_size, seed=settings.seed, drop_remainder=True, **options
        )

    @cached_property
    def dtype(self) -> str:
        """The dtype policy: the given one, or what suits the machine."""
        from zoo.scratch.kernels import suited_dtype

        return self.settings.dtype or suited_dtype()

    def measure(self, size: tuple[int, int, int]) -> Candidate:
        """Return a size with its measured speed."""
        return self.measured(self.task(size, 0.0, self.dtype), size)

    def measured(self, task: Task, size: tuple[int, int, int]) -> Candidate:
        """Return a size with the speed of a task of it, whose weights change."""
        from zoo.scratch.kernels import suits_xla
        from zoo.scratch.speed import MOST_STEPS, count_parameters, measure_speed

        with step(f"measure the speed of {size[0]} layers of {size[2]}"):
            xla = suits_xla(self.settings.batch_size * self.max_length, size[2], self.model)
            speed = measure_speed(task, self.dataset(task, steps_per_epoch=MOST_STEPS), xla)
        return Candidate(size, count_parameters(task.model), *speed, self.dtype, xla)

    def plan(self) -> Plan:
        """Return the plan: the one that an interrupted run has begun, or a new one."""
        from keras_transformers.training.workers.distribute import is_chief

        settings, corpus = self.settings, self.corpus
        kept = KeptPlan(settings)
        if (plan := kept.read()) is None:
            plan = self.new_plan(*self._rows(corpus))
            if is_chief(self.strategy):
                kept.write(plan)
        return plan

    def new_plan(self, rows: int, held_out_rows: int) -> Plan:
        """Return a plan for so many rows: with the size that was asked for, or one that suits time and corpus."""
        settings, tokens = self.settings, self.settings.batch_size * self.max_length
        candidate = choose_size(settings, tokens, self.corpus.train.num_tokens, self.measure)
        return make_plan(settings, candidate, rows, held_out_rows, self.max_length)

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        """Return the rows to train on, and those held out; check that there are enough."""
        length, size = self.max_length, self.settings.batch_size
        train, held_out = (max(side.num_tokens // length, 1) for side in (corpus.train, corpus.held_out))
        if train < size:
            raise ValueError(
                f"the corpus has {corpus.train.num_tokens:,} tokens to train on, {train} rows of {length}: expected at "
                f"least a batch of {size}. Give more text, a smaller --batch-size or a smaller --max-length."
            )
        return train, held_out
