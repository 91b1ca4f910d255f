"""Reading and writing of SentencePiece model files (.spm, .model) without the sentencepiece library.

They are protocol buffers; a tokenizer needs only a dozen of their fields:
https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from keras_transformers.utils.untrusted import read_bytes, shown

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # kinds of pieces
UNIGRAM, BPE = 1, 2  # kinds of models; words (3) and characters (4) are not supported
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
Value = int | bytes
V = TypeVar("V", int, bytes)
Fields = list[tuple[int, Value | float]]


class Piece(NamedTuple):
    """One token: its text, its score (a log-probability in unigram models) and its kind."""

    text: str
    score: float
    kind: int = NORMAL


@dataclass(frozen=True)
class SentencePieceModel:
    """The fields of a .spm file that a tokenizer needs.

    Args:
        pieces: Pieces by id.
        kind: UNIGRAM or BPE.
        charsmap: The precompiled normaliser; b"" for none.
        byte_fallback: Whether characters that are in no piece are spelled in bytes.
        dummy_prefix: Whether each text begins with a space, so that its first word has the same pieces as inside a
            text.
        extra_spaces: Whether all spaces are kept; if not, they are dropped at the ends, and runs become one space.
    """

    pieces: tuple[Piece, ...]
    kind: int = UNIGRAM
    charsmap: bytes = b""
    byte_fallback: bool = False
    dummy_prefix: bool = True
    extra_spaces: bool = False

    @property
    def unk_id(self) -> int:
        """Id of the unknown piece."""
        return next(i for i, piece in enumerate(self.pieces) if piece.kind == UNKNOWN)


def read(path: str | Path) -> SentencePieceModel:
    """Read a .spm or .model file."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"No SentencePiece model at {path}. Expected a .spm or .model file.")
    try:
        return parse(read_bytes(path, "a .spm or .model file"))
    except ValueError as error:
        raise ValueError(f"{path} cannot be used: {error}") from error


def parse(data: bytes) -> SentencePieceModel:
    """Parse the bytes of a file."""
    messages: dict[int, list[bytes]] = {1: [], 2: [], 3: [], 5: []}
    for number, value in _fields(data):
        if number in messages:
            messages[number].append(_typed(value, bytes))

    pieces, trainer, normalizer, denormalizer = messages.values()
    if not (pieces and trainer and normalizer):
        raise ValueError(_BROKEN.format("its pieces, trainer or normaliser are missing"))
    options, rules = dict(_fields(trainer[-1])), dict(_fields(normalizer[-1]))
    if any(dict(_fields(rule)).get(2) for rule in denormalizer):
        raise ValueError("its denormaliser rewrites decoded text, which tokenizer.json cannot do. Train without one.")

    model = SentencePieceModel(
        pieces=tuple(_piece(dict(_fields(piece))) for piece in pieces),
        kind=_typed(options.get(3, UNIGRAM), int),
        charsmap=_typed(rules.get(2, b""), bytes),
        byte_fallback=bool(options.get(35, False)),
        dummy_prefix=bool(rules.get(3, True)),
        extra_spaces=not rules.get(4, True),
    )
    _check(model, whole_words_end=bool(options.get(24, False)), bare_spaces=not rules.get(5, True))
    return model


def serialize(model: SentencePieceModel) -> bytes:
    """Return the bytes of a file, for `read` and for the sentencepiece library."""
    ids = {piece.text: i for i, piece in enumerate(model.pieces) if piece.kind in (UNKNOWN, CONTROL)}
    unknown = model.pieces[model.unk_id].text
    trainer: Fields = [(3, model.kind), (4, len(model.pieces)), (35, int(model.byte_fallback)), (40, model.unk_id)]
    trainer += [(41 + i, ids.get(name, -1)) for i, name in enumerate(("<s>", "</s>", "<pad>"))]
    trainer += [(45, unknown.encode())]
    normalizer: Fields = [(1, b"nmt_nfkc" if model.charsmap else b"identity"), (2, model.charsmap)]
    normalizer += [(3, int(model.dummy_prefix)), (4, int(not model.extra_spaces)), (5, 1)]
    pieces: Fields = [
        (1, _message([(1, piece.text.encode()), (2, float(piece.score)), (3, piece.kind)])) for piece in model.pieces
    ]
    return _message([*pieces, (2, _message(trainer)), (3, _message(normalizer))])


_BROKEN = "it is not a whole SentencePiece model, {}. Copy or download it again."


def _check(model: SentencePieceModel, whole_words_end: bool, bare_spaces: bool) -> None:
    kinds = [piece.kind for piece in model.pieces]
    if model.kind not in (UNIGRAM, BPE):
        raise ValueError(f"it is a model of the kind {model.kind} (words or characters). Expected unigram or BPE.")
    if kinds.count(UNKNOWN) != 1:
        raise ValueError(_BROKEN.format(f"{kinds.count(UNKNOWN)} of its pieces are the unknown one, not 1"))
    refused = {
        "treat_whitespace_as_suffix": whole_words_end,
        "escape_whitespaces=false": bare_spaces,
        "unused pieces": UNUSED in kinds,
    }
    if named := [name for name, is_used in refused.items() if is_used]:
        raise ValueError(f"its {', '.join(named)} cannot be expressed in a tokenizer.json. Train a model without.")


def _piece(fields: dict[int, Value]) -> Piece:
    if 1 not in fields:
        raise ValueError(_BROKEN.format("a piece has no text"))
    try:
        text = _typed(fields[1], bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(_BROKEN.format(f"a piece is not UTF-8 ({error})")) from error
    score = _typed(fields.get(2, bytes(4)), bytes)
    if len(score) != 4:
        raise ValueError(_BROKEN.format(f"the score of piece {shown(text)} has {len(score)} bytes, not 4"))
    (number,) = struct.unpack("<f", score)
    if not math.isfinite(number):
        raise ValueError(_BROKEN.format(f"the score of piece {shown(text)} is {number}, not finite"))
    return Piece(text, number, _typed(fields.get(3, NORMAL), int))


def _typed(value: Value, kind: type[V]) -> V:
    if not isinstance(value, kind):
        raise ValueError(_BROKEN.format(f"a field is {type(value).__name__}, not {kind.__name__}"))
    return value


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield (number, value) of each field of a message: an int, or bytes (strings, messages, fixed-size numbers)."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size, at = _varint(data, at) if wire == _BYTES else (_FIXED.get(wire), at)
        if size is None or at + size > len(data):
            raise ValueError(_BROKEN.format(f"it breaks off or is damaged {len(data) - at} bytes before an end"))
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer (stored in groups of 7 bits) that begins at `at`, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError(_BROKEN.format("it breaks off inside a number"))
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError(_BROKEN.format("a number in it has no end"))


def _message(fields: Fields) -> bytes:
    """Return fields in wire format."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts += [_number(number << 3 | _VARINT), _number(value)]
        elif isinstance(value, float):
            parts += [_number(number << 3 | _FIXED32), struct.pack("<f", value)]
        else:
            parts += [_number(number << 3 | _BYTES), _number(len(value)), value]
    return b"".join(parts)


def _number(value: int) -> bytes:
    """Return an integer in groups of 7 bits."""
    value &= (1 << 64) - 1  # a negative number takes ten bytes
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
