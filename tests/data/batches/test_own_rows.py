"""A worker makes its own rows of each batch alone, and they are those of one worker's batches."""

from __future__ import annotations

from itertools import chain

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.own_rows import OwnDraws, Share, row_generators
from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.corpus.corpus import make_corpus
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.objectives.masking import MaskedLM
from keras_transformers.data.objectives.next_token import NextToken
from keras_transformers.data.objectives.span_corruption import SpanCorruption
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.row_weights import multiplied
from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.data.sources.token_blocks import TokenBlocks
from keras_transformers.data.sources.translations import Translations
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="workers are TensorFlow's")

WORDS = "the cat sat on the mat and a dog ran to the red house"
IDS = [[2, *range(5, 5 + 3 * number % 17), 3] for number in range(30)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train([WORDS], vocabulary_size=60)


@pytest.fixture(scope="module")
def token_file(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("corpus")
    chance = np.random.default_rng(0)
    (folder / "text.txt").write_text("\n".join(" ".join(chance.choice(WORDS.split(), 9)) for _ in range(100)))
    return make_corpus(TextFiles(folder / "text.txt"), tokenizer, folder / "tokens").train


def objectives(tokenizer):
    size = tokenizer.vocabulary_size
    return {
        "next token": NextToken(size),
        "masks": MaskedLM(tokenizer),
        "whole words": MaskedLM(tokenizer, whole_word=True),
        "spans": SpanCorruption(size, range(size - 20, size), end_id=1, start_id=0),
    }


def of_replicas(dataset, workers: int, replicas: int) -> list[list]:
    """The parts of each batch, in the order of the replicas; each worker has some of them."""
    parts = []
    for worker in range(workers):
        dataset.position.epoch, dataset.position.batch = 1, 2
        first, count = worker * replicas, workers * replicas
        mine = list(dataset.own([Share(index, count) for index in range(first, first + replicas)]))
        parts.append([mine[number : number + replicas] for number in range(0, len(mine), replicas)])
    return [[*chain.from_iterable(steps)] for steps in zip(*parts, strict=True)]


def assert_same(dataset, workers: int, replicas: int) -> None:
    dataset.position.epoch, dataset.position.batch = 1, 2
    whole = list(dataset)
    found = of_replicas(dataset, workers, replicas)
    assert len(found) == len(whole) > 2
    for batch, parts in zip(whole, found, strict=True):
        sizes = [len(keras.tree.flatten(part)[0]) for part in parts]
        assert max(sizes) - min(sizes) <= 1
        joined = keras.tree.map_structure(lambda *values: np.concatenate(values), *parts)
        keras.tree.map_structure(np.testing.assert_array_equal, joined, batch)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["next token", "masks", "whole words", "spans"])
@pytest.mark.parametrize("options", [{}, {"steps_per_epoch": 5, "drop_remainder": True}])
def test_rows_of_a_file_are_those_of_whole_batches(tokenizer, token_file, name, options):
    source = TokenBlocks(token_file, 24, next_tokens=name == "next token")
    dataset = batches(source, objectives(tokenizer)[name], 6, max_length=24, seed=3, **options)
    assert_same(dataset, workers=2, replicas=2)  # 2, 2, 1, 1 rows
    assert_same(dataset, workers=3, replicas=1)


@pytest.mark.integration
@pytest.mark.parametrize("batching", [{"batch_size": 4}, {"batch_tokens": 64}])
def test_rows_in_memory_are_those_of_whole_batches(batching):
    """Also of batches with fewer rows than replicas."""
    labelled = Rows.of(IDS, labels=[number % 2 for number in range(30)])
    pairs = Translations(Ragged.of(IDS), Ragged.of(IDS[::-1]))
    for source, objective in ((labelled, Classification(2)), (pairs, Translation(40, start_id=0))):
        dataset = batches(source, objective, max_length=24, seed=3, **batching)
        assert_same(dataset, workers=2, replicas=1)
        assert_same(dataset, workers=3, replicas=2)


def test_a_worker_reads_only_its_own_rows(tokenizer, token_file, monkeypatch):
    source = TokenBlocks(token_file, 24)
    dataset = batches(source, MaskedLM(tokenizer), 6, max_length=24)
    read, draw = [], TokenBlocks.draw
    monkeypatch.setattr(
        TokenBlocks, "draw", lambda self, blocks, offset: read.extend(blocks.tolist()) or draw(self, blocks, offset)
    )
    by_worker = []
    for worker in range(2):
        mine = dataset.own([Share(worker, 2)])
        dataset.position.epoch = 0
        read.clear()
        rows = sum(len(x["token_ids"]) for x, _ in mine)
        assert len(read) == rows
        by_worker.append([*read])
    assert sorted(by_worker[0] + by_worker[1]) == list(range(source.num_rows))
    assert len(by_worker[0]) == pytest.approx(source.num_rows / 2, abs=1)


def test_what_cannot_be_made_apart_is_made_whole(tokenizer):
    class Mean:
        """An objective that looks at all rows."""

        def check(self, rows):
            pass

        def __call__(self, rows, width, rng):
            return multiplied((rows.padded(width, 0), np.ones(rows.num_rows, np.int32)), np.float32(rows.num_rows))

    rows = Rows.of(IDS, labels=[0] * 30)
    assert batches(rows, Mean(), 4, max_length=24).own is None
    assert batches(rows, Classification(2), 4, max_length=24, accumulation_steps=2).own is None
    dataset = batches(rows, Classification(2), 4, max_length=24)
    assert dataset.own is not None and dataset.map(lambda x, y: (x, 1 - y)).own is None


def test_generators_of_rows_are_those_of_the_whole():
    whole = row_generators(np.random.default_rng(7), 5)
    own = row_generators(OwnDraws(np.random.default_rng(7), slice(3, 5), 5), 2)
    assert [one.random() for one in own] == [one.random() for one in whole[3:]]
