"""A run from text to a new model: its tokenizer is learned from the text, its size chosen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_object
from zoo.scratch.chief_first import chief_first
from zoo.scratch.corpus_run import CorpusRun
from zoo.scratch.kept_plan import KeptPlan, Plan
from zoo.scratch.new_models import new_model, sized
from zoo.scratch.new_vocabulary import (
    CHARACTERS_A_TOKEN,
    check_sentinels,
    check_special_tokens,
    is_folder,
    learn_vocabulary,
    sample,
    vocabulary_size,
)
from zoo.scratch.run_plan import Candidate, choose_size, make_plan, suited_rows, with_rows
from zoo.scratch.run_settings import RunSettings
from zoo.terminal.console import step

if TYPE_CHECKING:
    from keras_transformers.config.transformer_config import TransformerConfig
    from keras_transformers.tasks import Task

TOKENIZER, LEARNED = "tokenizer", "learned.json"


class TextRun(CorpusRun):
    """A run that trains a new model on text.

    Args:
        settings: The user's settings.
    """

    characters_a_token: ClassVar[int] = CHARACTERS_A_TOKEN  # of the corpus, for each token of a learned vocabulary
    remedies: ClassVar[Mapping[str, str]] = {
        "vocabulary": "Give a --vocabulary of at most {most:,}.",
        "size": "Give a smaller --size, or more text.",
        "unknown": "Give --tokenizer byte_pair, which knows every text, or a larger --vocabulary.",
        "lost": "Give --tokenizer byte_pair, character or bytes to keep capitals, spaces and line ends.",
    }

    def __init__(self, settings: RunSettings):
        super().__init__(settings)
        self.wanted = new_model(settings.model)
        self.max_length = settings.max_length or self.wanted.max_length
        self.model = settings.model
        self.check_amount()
        given = self._tokenizer() if is_folder(self.kind) else None  # what it lacks is told before the text is read
        if self.wanted.learns.hides_spans:
            name = f"the tokenizer in {self.kind}" if given else "a learned vocabulary"
            check_sentinels(given, self.max_length, name)

    @property
    def kind(self) -> str:
        """Return the kind of the tokenizer, or its folder."""
        return self.settings.tokenizer or self.wanted.tokenizer

    @property
    def learned_from(self) -> dict[str, Any]:
        """Return the source of the vocabulary as JSON: with other files, the vocabulary is learned again."""
        from keras_transformers.data.corpus.survey import sampled_stamps

        files = [[*stamp] for stamp in sampled_stamps(self.files.files)]
        return {"files": files, "reading": list(self.files.reading)}

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer: the given one, or one that is learned once and kept beside the run."""
        return chief_first(self.strategy, self._tokenizer)

    def _tokenizer(self) -> Tokenizer:
        settings, kind = self.settings, self.kind
        if is_folder(kind):
            tokenizer = Tokenizer.from_folder(kind)
            check_special_tokens(tokenizer, self.wanted.learns, kind)
            return tokenizer
        key = {"kind": kind, "size": settings.vocabulary, "model": settings.model, "lowercase": settings.lowercase}
        key |= self.learned_from
        folder = settings.run_folder / TOKENIZER
        if (folder / LEARNED).is_file() and read_object(folder / LEARNED) == key:
            return Tokenizer.from_folder(folder)
        with step(f"learn a vocabulary ({kind.replace('_', ' ')})"):
            # Pairs are in memory, and have no text to read again.
            characters = self.files.text_size if isinstance(self.files, TextFiles) else self.files.size
            size = settings.vocabulary or vocabulary_size(
                self.wanted.vocabulary_size, characters, kind, self.characters_a_token
            )
            texts = sample(self.files, characters)
            tokenizer = learn_vocabulary(texts, kind, size, settings.model, settings.lowercase)
        KeptPlan.write_kept(folder, LEARNED, key, tokenizer.save)
        return tokenizer

    @property
    def end_id(self) -> int:
        """Return the token behind each document."""
        return getattr(self.tokenizer, self.wanted.learns.end_role)

    def config(self, size: tuple[int, int, int]) -> TransformerConfig:
        """Return the configuration of a size."""
        return sized(self.settings.model, size, self.tokenizer, self.max_length)

    def fresh_config(self, size: tuple[int, int, int]) -> TransformerConfig:
        """Return the configuration with which a model of a size starts, before it has learned anything."""
        return self.config(size)

    def task(self, size: tuple[int, int, int], dropout: float, dtype: str) -> Task:
        """Return a fresh task of a size."""
        import keras

        from keras_transformers.families.dropout_rates import with_dropout
        from keras_transformers.tasks import Task
        from keras_transformers.training.workers.distribute import scope
        from zoo.registry.near_start import attend_nearby

        keras.utils.set_random_seed(self.settings.seed)
        with scope(self.strategy):
            config = with_dropout(self.fresh_config(size), dropout)
            task = Task(self.wanted.learns.name, config, self.tokenizer, dtype=dtype)
            if self.wanted.near_start:
                attend_nearby(task.model, config)
            return task

    def restore(self, task: Task, plan: Plan) -> None:
        """Give a task that was trained the dropout of its family again."""
        task.config = self.config(plan.size)

    def measure(self, size: tuple[int, int, int]) -> Candidate:
        """Return a size with its measured speed."""
        return self.measured(self.task(size, 0.0, self.dtype), size)

    def new_plan(self, rows: int, held_out_rows: int) -> Plan:
        """Return a plan with a size that was asked for, or that suits the time and the corpus."""
        tokens = self.batch_size * self.max_length
        chosen = choose_size(self.settings, tokens, self.corpus.train.num_tokens, self.measure, self.time_left)

        def again(rows: int) -> Candidate:
            return self.measured(self.task(chosen.size, 0.0, self.dtype), chosen.size, rows)

        candidate = with_rows(chosen, suited_rows(self.settings, chosen, self.replicas), again, self.time_left)
        return make_plan(self.settings, candidate, rows, held_out_rows, self.max_length, self.time_left)
