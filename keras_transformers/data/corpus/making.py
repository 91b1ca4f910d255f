"""The steps in which a corpus is made; a repeated call resumes at the interrupted step."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keras_transformers.data.corpus.copies import HeldOutCopies
from keras_transformers.data.corpus.held_out_split import FEWEST_CHARACTERS, SidedText, Split, given_sides
from keras_transformers.data.corpus.survey import Survey, Tell, survey_text
from keras_transformers.data.corpus.token_file import tokenizer_digest
from keras_transformers.data.corpus.token_writer import JOURNAL, UNCOPIED, Progress, TokenWriter, forget_tokens
from keras_transformers.data.corpus.tokenized import write_documents, write_tokens
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_json
from keras_transformers.utils.safe_files import replace_file

SURVEY = "survey.json"
MOST_BYTES = 1 << 28  # of a JSON file of a corpus: the names of a million files
LEAK = 0.05  # share of the held-out characters that are copies: prose without copies has up to 4 %
TOLD = 1 << 20  # characters between two calls of `tell`


@dataclass(frozen=True)
class CorpusFacts:
    """The facts that were found when a corpus was made.

    Attributes:
        files: A tuple of (name, bytes, sha256) for each file, those that were given as held out among them.
        characters, documents, lines, longest_line: int, of the whole text; the last one in characters.
        train_tokens, held_out_tokens: int.
        unknown_tokens: int, number of unknown tokens.
        unknown_examples: Up to ten of these texts.
        shared_lines: float, the share of the held-out lines that training has too, as a whole; of lines of at least 12
            characters, or fewer where most lines are short: see `HeldOutCopies`.
        repeated_lines: float, the share of such lines of all the text that occurred before, estimated from a sample.
        copied_characters: float, the share of the held-out characters, white space left out, that are in such lines or
            in runs of at least 32 (16 ideographs) that training has too.
        uncopied_characters: float, the share that is left without copies and without the few characters between two.
    """

    files: tuple[tuple[str, int, str], ...]
    characters: int
    documents: int
    lines: int
    longest_line: int
    train_tokens: int
    held_out_tokens: int
    unknown_tokens: int
    unknown_examples: tuple[str, ...]
    shared_lines: float
    repeated_lines: float
    copied_characters: float
    uncopied_characters: float

    @property
    def is_leaking(self) -> bool:
        """Return whether so much of the held-out text is in the training text, too, that its loss is too low."""
        return self.copied_characters > LEAK


@dataclass(frozen=True)
class Making:
    """One call of `make_corpus` that has something to make.

    Args:
        files, held_out_files, tokenizer, folder: As for `make_corpus`.
        key: A hash of what determines the corpus.
        tell: As `progress` of `make_corpus`.
    """

    files: TextFiles
    held_out_files: TextFiles | None
    tokenizer: Tokenizer
    folder: Path
    key: str
    tell: Tell

    def make(self, share: float, end_id: int | None, seed: int) -> CorpusFacts:
        """Make what is missing in the folder, and return the facts."""
        survey = self._survey()
        counts = survey.characters, survey.documents, share, seed, survey.lengths
        split = None if self.held_out_files else Split.of(*counts)
        copies = HeldOutCopies()
        for piece in self._pieces(split, "comparing", survey):
            copies.note(piece)
        with TokenWriter(self.folder, self.tokenizer.vocabulary_size, self.key) as writer:
            write_tokens(self._pieces(split, "tokenizing", survey), self.tokenizer, writer, end_id, copies)
            self._check_sides(writer.progress)
            writer.describe(self.tokenizer.vocabulary_size, tokenizer_digest(self.tokenizer))
        facts = _facts(survey, writer.progress, copies)
        shutil.rmtree(self.folder / UNCOPIED, ignore_errors=True)  # of another corpus
        if facts.is_leaking:
            self._write_uncopied(list(copies.uncopied()), writer.progress.characters[1], end_id)
        return facts

    def _write_uncopied(self, texts: list[tuple[str, bool]], held_out: int, end_id: int | None) -> None:
        """Write the tokens of what is left of so many held-out characters without copies, if that is enough."""
        if sum(len(text) for text, _ in texts) >= min(FEWEST_CHARACTERS, held_out / 2):
            write_documents(self.folder / UNCOPIED, texts, self.tokenizer, end_id)

    def clear(self) -> None:
        """Remove what only an unfinished corpus needs."""
        for name in (SURVEY, JOURNAL):
            (self.folder / name).unlink(missing_ok=True)

    def _survey(self) -> Survey:
        """Return the survey of this text, which a killed call may have left; else begin anew."""
        path = self.folder / SURVEY
        with contextlib.suppress(ValueError, TypeError, KeyError):  # there is none, or it is damaged
            values = read_json(path, "the survey of a corpus", MOST_BYTES)
            if values["key"] == self.key:
                found = values["survey"]
                files, lengths = tuple(map(tuple, found["files"])), tuple(found["lengths"])
                return Survey(**{**found, "files": files, "lengths": lengths})
        forget_tokens(self.folder)
        parts = [survey_text(files, self.tell) for files in (self.files, self.held_out_files) if files]
        survey = sum(parts[1:], parts[0])
        replace_file(path, json.dumps({"key": self.key, "survey": asdict(survey)}))
        return survey

    def _pieces(self, split: Split | None, what: str, survey: Survey) -> Iterator[SidedText]:
        """Yield the text in pieces, and tell how far it is."""
        done = told = 0
        for piece in split.pieces(self.files) if split else given_sides(self.files, self.held_out_files):
            yield piece
            done += len(piece.text)
            if done - told >= TOLD:
                told = done
                self.tell(what, done, survey.characters)

    def _check_sides(self, progress: Progress) -> None:
        for side, count, characters in zip(("training", "held-out"), progress.tokens, progress.characters, strict=True):
            if count < 2:
                raise ValueError(
                    f"The {side} text of {characters} characters, from {self.files.files[0]}, gives {count} tokens: "
                    "expected at least 2. Give more text."
                )


def _facts(survey: Survey, progress: Progress, copies: HeldOutCopies) -> CorpusFacts:
    counts: dict[str, Any] = asdict(survey) | {"files": survey.files}
    counts.pop("lengths")  # they were for the split
    return CorpusFacts(
        **counts,
        train_tokens=progress.tokens[0],
        held_out_tokens=progress.tokens[1],
        unknown_tokens=progress.unknown,
        unknown_examples=tuple(progress.examples),
        **copies.shares()._asdict(),
    )
