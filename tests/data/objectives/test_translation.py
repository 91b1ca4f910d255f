import warnings

import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.translation import Translation
from keras_transformers.data.sources.rows import Ragged
from keras_transformers.data.sources.translations import Translations, encode_translations
from keras_transformers.text.tokenizer import Tokenizer

END, START = 1, 3
ENGLISH = ["The cat danced.", "A dog", "The dog sat on the cat"]
GERMAN = ["Die Katze tanzte.", "Ein Hund", "Der Hund"]


@pytest.fixture(scope="module")
def tokenizers():
    return [Tokenizer.train(side, vocabulary_size=60) for side in (ENGLISH, GERMAN)]


def test_teacher_forcing():
    rows = Translations(Ragged.of([[5, 6, 7, END], [5, END]]), Ragged.of([[8, END], [9, 8, 9, END]]))
    inputs, labels = Translation(10, START, pad_id=2)(rows, np.array([5, 4]))
    expected = {
        "encoder_token_ids": [[5, 6, 7, END, 2], [5, END, 2, 2, 2]],
        "encoder_padding_mask": [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]],
        "token_ids": [[START, 8, 2, 2], [START, 9, 8, 9]],
        "padding_mask": [[1, 1, 0, 0], [1, 1, 1, 1]],
    }
    assert {name: array.tolist() for name, array in inputs.items()} == expected
    assert labels.tolist() == [[8, END, -1, -1], [9, 8, 9, END]]
    assert all(array.dtype == np.int32 for array in (*inputs.values(), labels))


def test_the_end_token_may_be_the_padding_or_the_start():
    """Marian's decoder starts with the padding token, BART's with the end token."""
    rows = Translations(Ragged.of([[5, 0]]), Ragged.of([[0, 7, 0]]))
    inputs, labels = Translation(10, start_id=0, pad_id=0)(rows, width=4)
    assert inputs["token_ids"].tolist() == [[0, 0, 7, 0]]
    assert inputs["padding_mask"].tolist() == [[1, 1, 1, 0]]
    assert labels.tolist() == [[0, 7, 0, -1]]


def test_each_side_has_its_own_width():
    rows = Translations(Ragged.of([[5] * 30] * 3), Ragged.of([[6] * 9] * 3))
    inputs, labels = next(iter(batches(rows, Translation(10, START), 3, max_length=64)))
    assert np.shape(inputs["encoder_token_ids"]) == (3, 32)
    assert np.shape(inputs["token_ids"]) == np.shape(labels) == (3, 16)


def test_the_same_as_transformers_makes_of_labels(tokenizers):
    pairs = encode_translations(ENGLISH, GERMAN, *tokenizers, max_length=32)
    inputs, labels = Translation(60, START)(pairs, 32)
    for row, (source, target) in enumerate(zip(ENGLISH, GERMAN, strict=True)):
        (source,), (target,) = tokenizers[0].encode([source]), tokenizers[1].encode([target])
        length = len(target.ids)
        assert inputs["encoder_token_ids"][row][: len(source.ids)].tolist() == source.ids
        assert inputs["token_ids"][row][:length].tolist() == [START, *target.ids[:-1]]
        assert labels[row].tolist() == target.ids + [-1] * (32 - length)


def test_blank_pairs_are_left_out_and_counted(tokenizers):
    with pytest.warns(UserWarning, match=r"2 of 5 pairs have a blank side and are left out \(the first is pair 1\)"):
        pairs = encode_translations([*ENGLISH, " \u00a0", "a"], [GERMAN[0], "\n", *GERMAN[1:], "b"], *tokenizers, 32)
    assert pairs.num_rows == 3
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="1 pairs, all with a blank side"):
        encode_translations([""], ["Hund"], *tokenizers, 32)


def test_long_texts_are_cut_before_their_end_token_and_counted(tokenizers):
    with pytest.warns(UserWarning, match="2 of 3 sources and 1 of 3 targets were cut to max_length=5 tokens"):
        pairs = encode_translations(ENGLISH, GERMAN, *tokenizers, max_length=5)
    assert pairs.lengths.max() == 5
    assert pairs.sources.padded(5, 0)[0, -1] == tokenizers[0].sep_id
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_translations(ENGLISH, GERMAN, *tokenizers, max_length=50)


def test_lines_that_do_not_match(tokenizers):
    with pytest.raises(ValueError, match="Received 3 sources and 2 targets"):
        encode_translations(ENGLISH, GERMAN[:2], *tokenizers, 32)
    with pytest.raises(ValueError, match="Received 1 sources and 2 targets"):
        Translations(Ragged.of([[1]]), Ragged.of([[1], [2]]))
    with pytest.raises(ValueError, match="received one str"):
        encode_translations("a", "b", *tokenizers, 32)


@pytest.mark.parametrize(
    "sources, targets, message",
    [
        ([[5], [10]], [[END]] * 2, "source token ids from 5 to 10: expected 0 to 9"),
        ([[5], [7]], [[END], [8, END]], "target token ids from 1 to 8: expected 0 to 7"),
        ([[5], []], [[END]] * 2, "source in row 1 is empty"),
        ([[5]] * 2, [[5, END], [5, 6]], r"target in row 1 has none of the end tokens \(1,\)"),
    ],
)
def test_rows_that_cannot_be_learnt(sources, targets, message):
    objective = Translation(8, START, end_ids=[END], source_vocabulary_size=10)
    with pytest.raises(ValueError, match=message):
        next(iter(batches(Translations(Ragged.of(sources), Ragged.of(targets)), objective, 2, max_length=16)))


@pytest.mark.data
def test_multi30k_makes_as_many_updates_as_fairseq(data_dir):
    """124 batches of at most 4,096 tokens, as fairseq's `--max-tokens` forms them (with batches of a multiple of 8)."""
    folder = data_dir / "multi30k_bpe"
    sides = []
    for language in ("en", "de"):
        lines = (folder / f"train.{language}").read_text(encoding="utf-8").splitlines()
        sides.append(Ragged.of([[1] * (len(line.split()) + 1) for line in lines]))
    elements = [x for x, _ in batches(Translations(*sides), Translation(2, 0), batch_tokens=4096, max_length=1024)]
    assert abs(len(elements) - 124) <= 8
    shapes = {(tuple(x["encoder_token_ids"].shape), tuple(x["token_ids"].shape)) for x in elements}
    assert len(shapes) <= 20
    masks = [np.asarray(x[name]) for x in elements for name in ("padding_mask", "encoder_padding_mask")]
    assert sum(mask.sum() for mask in masks) / sum(mask.size for mask in masks) > 0.88
