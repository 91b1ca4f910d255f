"""A student cut out of a teacher, and taught to give its vectors: for recipes of small encoders."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformers.data.rows import InMemory, Ragged, Rows
from keras_transformers.text.bert import SPECIAL_TOKENS
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.tokenizer import Tokenizer

LAST_LETTER = 0x250  # single characters below are kept, however rare: Latin letters, digits and punctuation


def cut_vocabulary(tokenizer: Tokenizer, texts: Sequence[str], size: int) -> tuple[Tokenizer, np.ndarray]:
    """A WordPiece tokenizer with the pieces of another one that are the most frequent in some texts.

    Args:
        tokenizer: BERT's pipeline, lower-cased.
        texts: Where pieces are counted.
        size: Pieces to keep. Special tokens and single Latin characters are among them; the rarest are those that no
            text has, by their ids.

    Returns:
        The new tokenizer, and for each of its ids the old one, in ascending order, (size,).
    """
    pieces = [tokenizer.id_to_token(number) for number in range(tokenizer.vocabulary_size)]
    counts = Counter(number for row in tokenizer.encode(texts, special_tokens=False) for number in row.ids)

    def is_needed(piece: str) -> bool:
        letter = piece.removeprefix("##")
        return piece in SPECIAL_TOKENS or (len(letter) == 1 and ord(letter) < LAST_LETTER)

    best_first = sorted(range(len(pieces)), key=lambda number: (not is_needed(pieces[number]), -counts[number], number))
    kept = np.sort(best_first[:size])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vocab.txt")
        path.write_text("".join(f"{pieces[number]}\n" for number in kept), encoding="utf-8")
        return Tokenizer.from_vocab(path), kept


def cut_weights(student: keras.Model, teacher: keras.Model, layers: Sequence[int], kept: np.ndarray) -> None:
    """Give a student the weights of some layers of its teacher, and the rows of its pieces and positions.

    Args:
        student: Of as many blocks as `layers`.
        teacher: Of the same widths.
        layers: For each block of the student the number of the teacher's.
        kept: (V,) the teacher's ids of the student's.
    """
    weights = {weight.path: keras.ops.convert_to_numpy(weight) for weight in teacher.weights}
    for weight in student.weights:
        block, *rest = weight.path.split("/", 1)
        name, _, number = block.rpartition("_")
        source = f"{name}_{layers[int(number)]}/{rest[0]}" if name == "encoder_block" else weight.path
        rows = kept if weight.path == "token_embedding/embeddings" else slice(weight.shape[0])
        weight.assign(weights[source][rows])


@dataclass(frozen=True)
class Lessons(InMemory):
    """Texts as student and teacher read them, as a source for `batches`.

    Args:
        students: The student's tokens.
        teachers: The teacher's tokens.
        places: For each of the student's tokens the place of the same token in the teacher's row, or -1.
    """

    students: Rows
    teachers: Rows
    places: Ragged

    @classmethod
    def read(cls, texts: Sequence[str], student: Tokenizer, teacher: Tokenizer, kept: np.ndarray, max_length: int):
        """Encode texts twice. `kept`: the teacher's ids of the student's."""
        encoded = [tokenizer.encode(texts, max_length=max_length) for tokenizer in (student, teacher)]
        places = [places_of(*rows, kept) for rows in zip(*encoded, strict=True)]
        return cls(*(Rows.of([row.ids for row in rows]) for rows in encoded), Ragged.of(places))

    @property
    def num_rows(self) -> int:
        return self.students.num_rows

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row: of the teacher, which needs the most, as each of its pieces is one or more of ours."""
        return np.maximum(self.students.lengths, self.teachers.lengths)

    def __getitem__(self, indices: Any) -> Lessons:
        return Lessons(self.students[indices], self.teachers[indices], self.places[indices])


def places_of(student: Encoded, teacher: Encoded, kept: np.ndarray) -> np.ndarray:
    """For each token of the student's row the place of the same token in the teacher's, -1 where words are cut unlike.

    Args:
        student, teacher: One text.
        kept: (V,) the teacher's ids of the student's.
    """
    ours, theirs = kept[student.ids], np.array(teacher.ids)
    if np.array_equal(ours, theirs):
        return np.arange(len(ours))
    places, their_words = np.full(len(ours), -1), _words(teacher)
    for word, our_places in _words(student).items():
        their_places = their_words.get(word, [])
        if ours[our_places].tolist() == theirs[their_places].tolist():
            places[our_places] = their_places
    return places


def _words(row: Encoded) -> dict[int | None, list[int]]:
    """The places of the tokens of each word, by its number; None for special tokens."""
    words: dict[int | None, list[int]] = {}
    for place, word in enumerate(row.word_ids):
        words.setdefault(word, []).append(place)
    return words


@dataclass(frozen=True)
class Teaching:
    """The objective of a student: the inputs of its model, and what the teacher makes of the same texts.

    Args:
        teach: From a teacher's inputs to its `hidden_states` (B, S, D) and `embedding` (B, D).
        pad_id: The id of padding.
    """

    teach: Callable[[dict[str, np.ndarray]], dict[str, Any]]
    pad_id: int = 0

    def check(self, rows: Lessons) -> None:
        """Accepts all."""

    def __call__(self, rows: Lessons, width: int, rng: np.random.Generator | None = None) -> tuple:
        taught = self.teach(rows.teachers.padded(width, self.pad_id))
        places = rows.places.padded(width, -1)  # (B, T)
        states = np.asarray(taught["hidden_states"], np.float32)  # (B, T, D)
        states = np.take_along_axis(states, np.maximum(places, 0)[..., None], axis=1)
        states[places < 0] = np.nan  # no target
        labels = {"hidden_states": states, "embedding": np.asarray(taught["embedding"], np.float32)}
        return rows.students.padded(width, self.pad_id), labels
