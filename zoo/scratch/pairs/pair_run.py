"""A run from pairs of texts to a model that writes a text for a text: vocabulary, tokens, plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.kept_plan import Plan, file_facts
from zoo.scratch.new_models import new_model, sized
from zoo.scratch.new_vocabulary import is_folder
from zoo.scratch.pairs.encoded_pairs import EncodedPairs, encode_pairs, ending
from zoo.scratch.pairs.pair_choice import (
    HELD_OUT,
    Choice,
    joined,
    look_through,
    shared_targets,
    split_pairs,
    without_shared_targets,
    without_sources_of,
)
from zoo.scratch.pairs.pair_files import Pairs
from zoo.scratch.pairs.pair_settings import PairSettings
from zoo.scratch.run_plan import BATCH, Candidate, choose_size, make_plan
from zoo.scratch.text_run import TextRun
from zoo.terminal.console import step

if TYPE_CHECKING:
    from keras_transformers.config.transformer_config import TransformerConfig
    from keras_transformers.tasks import Task

# By passes over the pairs: 0.1 is that of transformer_mini_en_de (17 passes), 0.3 that of Wu et al. 2021 on Multi30k
# (133 passes), https://arxiv.org/abs/2105.14462.
DROPOUTS = ((20, 0.1), (60, 0.2), (math.inf, 0.3))
BEAMS = 4
TRACED = 5  # steps until the shapes of batches are no news
SAMPLE, LEAST_SAMPLE, SAMPLES_AN_HOUR = 200, 8, 800  # held-out pairs that every round translates
BEAM_COST = 3.0  # of a translation with beams, in greedy ones, and the saving that follows


class PairTexts(NamedTuple):
    """The texts of pairs as a vocabulary learns from them, in place of `TextFiles`."""

    files: tuple[Path, ...]
    size: int
    texts: Pairs
    reading: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        yield from self.texts.sources
        yield from self.texts.targets


class PairRun(TextRun):
    """A run that trains a new model on pairs of texts. They are kept in memory, some million of them.

    Args:
        settings: The user's settings.
    """

    settings: PairSettings
    seconds_a_pair = 0.0  # of a translation in the last round
    characters_a_token: ClassVar[int] = 500  # a hundred tokens: words of two languages are twice as many

    def __init__(self, settings: PairSettings):
        self.settings, self.model = settings, settings.model
        self.wanted = new_model(settings.model)
        self.max_length = settings.max_length or self.wanted.max_length
        pairs, facts = look_through(settings.read())
        validation = settings.read_validation()
        if validation is None:
            self.choice = split_pairs(pairs, settings.held_out)
        else:
            held_out = look_through(validation)[0]
            self.choice = Choice(without_sources_of(pairs, held_out), held_out)
        self.left_for_validation = len(pairs.sources) - len(self.choice.train.sources) if validation else 0
        if not self.choice.train.sources:
            raise ValueError("every source is one of the files of --validation-source: nothing is left to learn from.")
        self.pair_facts = replace(facts, held_out_targets=shared_targets(self.choice))
        count = len(self.choice.held_out.sources)
        if validation is None:  # given files are measured whole
            self.choice = without_shared_targets(self.choice)
        self.left_for_targets = count - len(self.choice.held_out.sources)
        paths = tuple(map(Path, settings.paths.values()))
        size = sum(path.stat().st_size for path in paths)
        self.files = PairTexts(paths, size, self.choice.train, (settings.encoding, settings.errors))  # type: ignore[assignment]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files that the run reads."""
        return self.files.files

    @cached_property
    def file_facts(self) -> list[tuple[str, int, str]]:
        """Name, bytes and sha256 of these files."""
        return file_facts(self.paths)

    @property
    def learned_from(self) -> dict[str, Any]:
        """Return the source of the vocabulary."""
        settings = self.settings
        return super().learned_from | {
            "columns": [settings.source_column, settings.target_column],
            "held_out": settings.held_out,
        }

    @property
    def learns_pieces(self) -> bool:
        """Return whether a vocabulary of a chosen size is learned."""
        kind = self.settings.tokenizer or self.wanted.tokenizer
        return kind not in ("character", "bytes") and not is_folder(kind)

    @cached_property
    def ending_tokenizer(self) -> Tokenizer:
        """Return the tokenizer, which ends texts."""
        return ending(self.tokenizer)

    @cached_property
    def encoded(self) -> tuple[EncodedPairs, EncodedPairs]:
        """Return the pairs to learn from and the held-out ones, as tokens."""
        settings, tokenizer = self.settings, self.ending_tokenizer
        train = joined(self.choice.train, settings.joined, settings.seed)
        with step(f"tokenize {len(train.sources) + len(self.choice.held_out.sources):,} pairs"):
            train_rows = encode_pairs(train, tokenizer, self.max_length)
            return train_rows, encode_pairs(self.choice.held_out, tokenizer, self.max_length)

    def config(self, size: tuple[int, int, int]) -> TransformerConfig:
        """Return the configuration of a size."""
        settings = self.settings
        return sized(settings.model, size, self.tokenizer, self.max_length, settings.decoder_layers)

    def fresh_config(self, size: tuple[int, int, int]) -> TransformerConfig:
        """Return the configuration of a size with the paper's initialisers: Marian's are for a width of 512."""
        config = self.config(size)
        if config.family != "marian":
            return config
        return config.replace(initializer_range=None, embedding_initializer_range=config.hidden_dim**-0.5)

    def task(self, size: tuple[int, int, int], dropout: float, dtype: str) -> Task:
        """Return a fresh task of a size, which translates with beams."""
        task = super().task(size, dropout, dtype)
        task.generation = {"num_beams": BEAMS}
        return task

    def dataset(self, task: Task, batch_size: int | None = None, **options: Any) -> Any:
        """Return the batches of the pairs to learn from, which have as many rows as their tokens allow."""
        return self.batches(task, self.encoded[0].rows, seed=self.settings.seed, **options)

    def batches(self, task: Task, rows: Any, **options: Any) -> Any:
        """Return batches of pairs by tokens."""
        from keras_transformers.data.batches.pipeline import batches

        options |= {"batch_tokens": self.settings.batch_tokens, "max_length": self.max_length}
        return batches(rows, task.parts.objective(), **options)

    def measure(self, size: tuple[int, int, int]) -> Candidate:
        """Return a size with its measured speed; without XLA, which takes seconds for each of dozens of shapes."""
        from zoo.scratch.speed import count_parameters, measure_speed

        with step(f"measure the speed of {size[0]} layers of {size[2]}"):
            task = self.task(size, 0.0, self.dtype)
            speed = measure_speed(task, self.dataset(task), False, TRACED, self.time_left.most_measuring)
        return Candidate(size, count_parameters(task.model), *speed, self.dtype)

    @cached_property
    def steps_a_pass(self) -> int:
        """Return the batches of a pass over the pairs."""
        return self._count(self.encoded[0])

    def _count(self, encoded: EncodedPairs) -> int:
        from keras_transformers.data.batches.batching import FINE_BUCKETS, Batching

        settings = self.settings
        batching = Batching(None, settings.seed, True, self.max_length, FINE_BUCKETS, 1, False, settings.batch_tokens)
        return batching.num_batches(encoded.rows.lengths)

    @property
    def tokens_a_step(self) -> int:
        """Tokens of a step on both sides, without padding, on average."""
        return round(sum(self.encoded[0].tokens) / self.steps_a_pass)

    def rows(self) -> tuple[int, int]:
        """Return the rows to train on, and those held out, as if a batch of tokens had `BATCH` rows."""
        return self.steps_a_pass * BATCH, self._count(self.encoded[1]) * BATCH

    def new_plan(self, rows: int, held_out_rows: int) -> Plan:
        """Return a plan whose dropout suits the passes over the pairs."""
        settings, tokens = self.settings, sum(self.encoded[0].tokens)
        candidate = choose_size(settings, self.tokens_a_step, tokens, self.measure, self.time_left)
        tokens_a_row = self.tokens_a_step / BATCH
        plan = make_plan(settings, candidate, rows, held_out_rows, tokens_a_row, self.time_left)
        passes = plan.steps / self.steps_a_pass
        dropout = next(rate for most, rate in DROPOUTS if passes <= most)
        return replace(
            plan,
            dropout=dropout if settings.dropout is None else settings.dropout,
            warmup_steps=min(settings.warmup_steps or plan.warmup_steps, plan.steps),
        )

    def measured_rows(self, plan: Plan) -> Any:
        """Return the held-out pairs that every round measures, of all lengths: those that take a small part of it."""
        encoded = self.encoded[1]
        share = min(plan.held_out_steps / self._count(encoded), 1.0)
        return encoded.rows[self._drawn(max(math.ceil(share * encoded.rows.num_rows), 1))]

    @cached_property
    def lowercases(self) -> bool:
        """Return whether the tokenizer lower-cases texts: references then have no capitals, as translations."""
        targets = self.choice.train.targets[:SAMPLE]
        decoded = [self.tokenizer.decode(row.ids) for row in self.tokenizer.encode(targets)]
        return any(map(_has_capitals, targets)) and not any(map(_has_capitals, decoded))

    def sampled(self, most: int = SAMPLE) -> Pairs:
        """Return held-out pairs that are translated, at most so many; with lower-case targets if translations are."""
        pairs = self.encoded[1].texts.chosen(self._drawn(most).tolist())
        return pairs._replace(targets=[text.lower() for text in pairs.targets]) if self.lowercases else pairs

    def _drawn(self, most: int) -> np.ndarray:
        """Draw numbers of held-out pairs, the same in every run."""
        count = self.encoded[1].rows.num_rows
        if count <= most:
            return np.arange(count)
        return np.sort(np.random.default_rng(0).choice(count, most, replace=False))

    @property
    def round_sample(self) -> Pairs:
        """Return the held-out pairs that every round translates: fewer in a short time."""
        hours = self.settings.hours
        return self.sampled(SAMPLE if hours is None else min(max(round(SAMPLES_AN_HOUR * hours), LEAST_SAMPLE), SAMPLE))

    def scored(self, seconds_a_pair: float) -> Pairs:
        """Return the held-out pairs that are translated in the end: as many as there is time for.

        Args:
            seconds_a_pair: Seconds of a greedy translation.
        """
        most = HELD_OUT + HELD_OUT // 10  # as the number that is held out is about HELD_OUT
        in_time = self.time_left.left() / max(BEAM_COST * seconds_a_pair, 1e-9)
        return self.sampled(round(min(max(in_time, LEAST_SAMPLE), most)))


def _has_capitals(text: str) -> bool:
    return text != text.lower()
