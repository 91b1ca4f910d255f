"""Documents of sentences: reading from a text file, splitting by a simple rule, storage as one flat array of ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from keras_transformers.text.files.decoded_blocks import lines_of

# A full stop, an optional closing quote, then whitespace and no lower-case letter; not after a title or an initial.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))"
    r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\b[A-Z]\.)"
    r"\s+(?![a-z])"
)


def split_sentences(paragraph: str) -> list[str]:
    """Split a paragraph into sentences at full stops; for pre-training, where some wrong splits do no harm.

    >>> split_sentences('"Come, Mr. Holmes!" said he. "It is late." I rose.')
    ['"Come, Mr. Holmes!" said he.', '"It is late."', 'I rose.']
    """
    return [sentence for sentence in _SENTENCE_END.split(paragraph.strip()) if sentence]


def read_documents(path: str | Path, encoding: str = "utf-8", errors: str = "strict") -> Iterator[list[str]]:
    """Read a text file, which may be compressed, with one paragraph per line; yield one list of sentences per document.

    A blank line ends a document, and so does a title: a line that starts with `= ` and ends with ` =`. Titles are left
    out.
    """
    document: list[str] = []
    for line in map(str.strip, lines_of(Path(path), encoding, errors, ends="")):
        if line and not (line.startswith("= ") and line.endswith(" =")):
            document += split_sentences(line)
        elif document:
            yield document
            document = []
    if document:
        yield document


@dataclass(frozen=True)
class Documents:
    """Encoded documents: sentence `i` is `flat[sentences[i]:sentences[i + 1]]`, and a document a range of sentences.

    Args:
        flat: (tokens,) int32 ids, no special tokens.
        sentences: List of the starts of the sentences in `flat`, then the length of `flat`.
        starts: List of the number of each document's first sentence, then the number of sentences.
    """

    flat: np.ndarray
    sentences: list[int]
    starts: list[int]

    @classmethod
    def of(cls, documents: Iterable[list[list[int]]]) -> Documents:
        """Build documents from lists of encoded sentences; empty sentences and documents are left out."""
        flat: list[np.ndarray] = []
        lengths: list[int] = []
        counts: list[int] = []
        for document in documents:
            sentences = [np.asarray(sentence, np.int32) for sentence in document if len(sentence)]
            if sentences:
                flat.append(np.concatenate(sentences))
                lengths += map(len, sentences)
                counts.append(len(sentences))
        if len(counts) < 2:
            raise ValueError(
                f"Received {len(counts)} document(s): next-sentence pairs need at least 2, blank lines between."
            )
        return cls(np.concatenate(flat), [0, *accumulate(lengths)], [0, *accumulate(counts)])

    @classmethod
    def encode(cls, documents: Iterable[list[str]], tokenizer) -> Documents:
        """Build documents from lists of sentences, encoded by a `text.Tokenizer`."""
        return cls.of([row.ids for row in tokenizer.encode(texts, special_tokens=False)] for texts in documents)
