"""Tokenisation of a corpus, in batches that the library spreads over the cores while a thread reads ahead."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from keras_transformers.data.corpus.copies import HeldOutCopies
from keras_transformers.data.corpus.held_out_split import SidedText
from keras_transformers.data.corpus.read_ahead import read_ahead
from keras_transformers.data.corpus.token_writer import TokenWriter, write_token_file
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.id_table import IdTable, encoded_ids
from keras_transformers.text.tokenizer import Tokenizer

BATCH = 1 << 20  # characters that are tokenised at once
COMMIT = 8  # batches between two commits: some seconds
MOST_EXAMPLES = 10


def write_tokens(
    pieces: Iterable[SidedText], tokenizer: Tokenizer, writer: TokenWriter, end_id: int | None, copies: HeldOutCopies
) -> None:
    """Tokenise what the writer's progress lacks, and commit it.

    Args:
        pieces: The whole text.
        tokenizer: Tokenizer, whose special tokens are not added.
        writer: Writer that takes the tokens.
        end_id: Token at the end of a document; None for none.
        copies: Looks at all pieces.
    """
    unknown, table = unknown_id(tokenizer), IdTable.of(tokenizer)
    for number, batch in enumerate(read_ahead(_batches(pieces, copies))):
        if number < writer.progress.batches:
            continue
        rows = encoded_ids(tokenizer, table, [piece.text for piece in batch])
        for piece, (ids, row) in zip(batch, rows, strict=True):
            _append(writer, piece, ids, end_id)
            if row is not None and unknown is not None and (places := np.flatnonzero(ids == unknown)).size:
                _note_unknown(writer, piece.text, row, places)
        writer.progress.batches += 1
        if not writer.progress.batches % COMMIT:
            writer.commit()
    writer.commit()


def write_documents(folder: Path, texts: Iterable[tuple[str, bool]], tokenizer: Tokenizer, end_id: int | None) -> None:
    """Tokenise some megabytes of text into a file of tokens.

    Args:
        folder: Folder to write.
        texts: Each with whether it ends a document.
        tokenizer, end_id: As for `write_tokens`.
    """
    end = np.array([] if end_id is None else [end_id], np.int64)
    ids, characters = [end[:0]], 0
    for text, ends_document in texts:
        ids += [np.array(tokenizer.encode([text], special_tokens=False)[0].ids, np.int64), end[: int(ends_document)]]
        characters += len(text)
    write_token_file(folder, np.concatenate(ids), characters, tokenizer)


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Return the id of the unknown token; None if there is none.

    Example:

    >>> unknown_id(Tokenizer.train(["film"], 60)), unknown_id(Tokenizer.train(["film"], 280, model="byte_pair"))
    (1, None)
    """
    model = json.loads(tokenizer.to_json(pretty=False))["model"]
    token = model.get("unk_token")
    return model.get("unk_id") if token is None else model["vocab"].get(token)


def _batches(pieces: Iterable[SidedText], copies: HeldOutCopies) -> Iterator[list[SidedText]]:
    """Yield the pieces in lists of about a million characters; empty documents have no piece."""
    batch: list[SidedText] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece.text)
        if size >= BATCH:
            copies.add(batch)
            yield batch
            batch, size = [], 0
    if batch:
        copies.add(batch)
        yield batch


def _append(writer: TokenWriter, piece: SidedText, ids: np.ndarray, end_id: int | None) -> None:
    progress, side = writer.progress, int(piece.is_held_out)
    writer.append(side, ids)
    progress.characters[side] += len(piece.text)
    progress.is_open[side] = True
    if piece.ends_document:
        for number in (0, 1):  # both sides have a part of it where sections are held out
            if progress.is_open[number] and end_id is not None:
                writer.append(number, np.array([end_id]))
            progress.is_open[number] = False


def _note_unknown(writer: TokenWriter, text: str, row: Encoded, places: np.ndarray) -> None:
    progress = writer.progress
    progress.unknown += len(places)
    if len(progress.examples) < MOST_EXAMPLES:
        offsets = row.offsets
        found = dict.fromkeys(text[slice(*offsets[place])][:40] for place in places[:1000])
        new = [example for example in found if example and example not in progress.examples]
        progress.examples += new[: MOST_EXAMPLES - len(progress.examples)]
