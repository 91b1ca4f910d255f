"""A run from text to a model: tokenizer, corpus, plan, rounds, and the folder of the model."""

from __future__ import annotations

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
        end_id = tokenizer.sep_id if self.wanted.task == "masked_lm" else tokenizer.eos_id
        with step("tokenize", "\n"):
            return make_corpus(
                self.files, tokenizer, settings.run_folder / TOKENS, held_out_share=settings.held_out or 0.05,
                held_out_files=self.validation, end_id=end_id, seed=settings.seed,
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

    def dataset(self, task: Task, **options: Any) -> Any:
        """Return the batches of the corpus."""
        settings = self.settings
        return task.dataset(
            self.corpus.train, batch_size=settings.batch_size, seed=settings.seed, drop_remainder=True, **options
        )

    def measure(self, size: tuple[int, int, int]) -> Candidate:
        """Return a size with its measured speed."""
        from zoo.scratch.kernels import suited_dtype, suits_xla
        from zoo.scratch.speed import MOST_STEPS, count_parameters, measure_speed

        with step(f"measure the speed of {size[0]} layers of {size[2]}"):
            dtype = self.settings.dtype or suited_dtype()
            task = self.task(size, 0.0, dtype)
            xla = suits_xla(self.settings.batch_size * self.max_length, size[2], self.settings.model)
            speed = measure_speed(task, self.dataset(task, steps_per_epoch=MOST_STEPS), xla)
        return Candidate(size, count_parameters(task.model), *speed, dtype, xla)

    def plan(self) -> Plan:
        """Return the plan: the one that an interrupted run has begun, or a new one."""
        from keras_transformers.training.workers.distribute import is_chief

        settings, corpus = self.settings, self.corpus
        kept = KeptPlan(settings)
        if (plan := kept.read()) is None:
            rows, held_out_rows = self._rows(corpus)
            tokens = settings.batch_size * self.max_length
            candidate = choose_size(settings, tokens, corpus.train.num_tokens, self.measure)
            plan = make_plan(settings, candidate, rows, held_out_rows, self.max_length)
            if is_chief(self.strategy):
                kept.write(plan)
        return plan

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
