"""Tokenizer: text to ids and back, by the `tokenizers` library and its tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from keras_transformers.text import bert

TRUNCATIONS = ("longest_first", "only_first", "only_second", "error")


@dataclass(frozen=True)
class Encoded:
    """One encoded text (or one window of it, with a stride). Lists are made when asked for: they cost more than ids."""

    encoding: tokenizers.Encoding
    row: int  # which of the texts this is

    @property
    def ids(self) -> list[int]:
        return self.encoding.ids

    @property
    def segment_ids(self) -> list[int]:
        return self.encoding.type_ids

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of every token in characters of its own text; (0, 0) for special tokens."""
        return self.encoding.offsets

    @property
    def special_mask(self) -> list[int]:
        """1 for the tokens that the template added."""
        return self.encoding.special_tokens_mask

    @property
    def word_ids(self) -> list[int | None]:
        """The word of its text that each token belongs to; None for special tokens."""
        return self.encoding.word_ids

    @property
    def truncated(self) -> bool:
        return bool(self.encoding.overflowing)


class Tokenizer:
    """Text to ids and back, as tokenizer.json says.

    Use it wherever Python handles text; `text.graph.compile_text` makes TensorFlow ops of the same tokenizer.json.
    Make one with `from_file`, `from_folder`, `from_vocab` or `train`.

    Args:
        library: a `tokenizers.Tokenizer`.

    Example:

    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> tokenizer.decode(tokenizer.encode(["The cat sat"])[0].ids)
    'the cat sat'
    """

    def __init__(self, library: tokenizers.Tokenizer):
        self._library = library
        self._library.no_padding()
        self._library.no_truncation()

    @classmethod
    def from_file(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer.json."""
        if not Path(path).is_file():
            raise ValueError(f"No tokenizer file at {path}. Expected a tokenizer.json.")
        try:
            return cls(tokenizers.Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path} is not a tokenizer.json that `tokenizers` can read: {error}") from error

    @classmethod
    def from_folder(cls, folder: str | Path) -> Tokenizer:
        """Read a Hugging Face folder: its tokenizer.json, else vocab.txt (and tokenizer_config.json)."""
        folder = Path(folder)
        if (folder / "tokenizer.json").is_file():
            return cls.from_file(folder / "tokenizer.json")
        if not (folder / "vocab.txt").is_file():
            raise ValueError(f"No tokenizer in {folder}: expected tokenizer.json or vocab.txt.")
        config = folder / "tokenizer_config.json"
        options = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
        return cls.from_vocab(
            folder / "vocab.txt",
            lowercase=options.get("do_lower_case", True),  # `transformers` assumes the same when it is not stated
            strip_accents=options.get("strip_accents"),
            split_chinese=options.get("tokenize_chinese_chars", True),
        )

    @classmethod
    def from_vocab(
        cls, path: str | Path, lowercase: bool = True, strip_accents: bool | None = None, split_chinese: bool = True
    ) -> Tokenizer:
        """Put BERT's pipeline around a vocab.txt. Accents are stripped when lower-casing, unless told otherwise."""
        return cls(bert.build(bert.read_vocabulary(path), lowercase, strip_accents, split_chinese))

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int, lowercase: bool = True) -> Tokenizer:
        """Learn a WordPiece vocabulary (BERT's pipeline); the special tokens get ids 0 to 4. Deterministic.

        Args:
            texts: the corpus, read once.
            vocabulary_size: the largest number of tokens; a small corpus may give fewer.
            lowercase: lower-case the text and strip its accents.
        """
        if isinstance(texts, str):
            raise ValueError("Expected an iterable of str to train on, received one str. Pass [text] or its lines.")
        return cls(bert.build(bert.train_vocabulary(texts, vocabulary_size, lowercase), lowercase))

    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        max_length: int | None = None,
        truncation: str = "longest_first",
        special_tokens: bool = True,
        stride: int = 0,
    ) -> list[Encoded]:
        """Turn texts, or pairs of texts, into ids.

        Args:
            texts: B strings.
            pairs: B strings, the second of each pair.
            max_length: the most tokens of a row, special tokens included; None for no limit.
            truncation: what gives way: "longest_first", "only_first", "only_second", or "error" to refuse.
            special_tokens: add those of the template ([CLS] and [SEP] for BERT).
            stride: with a stride > 0, a long text gives several windows that share `stride` tokens.

        Returns:
            B `Encoded`; with a stride, at least B, in the order of the texts (see `Encoded.row`).
        """
        inputs = check_texts("texts", texts)
        if pairs is not None:
            pairs = check_texts("pairs", pairs)
            if len(pairs) != len(inputs):
                raise ValueError(
                    f"Received {len(inputs)} texts and {len(pairs)} pairs. Expected one pair for each text."
                )
            inputs = list(zip(inputs, pairs, strict=True))
        self._set_truncation(max_length, truncation, stride, pairs is not None, special_tokens)
        try:
            encodings = self._library.encode_batch(inputs, add_special_tokens=special_tokens)
        except Exception as error:  # the library raises bare Exception, and says "too short" of what is not cut
            raise ValueError(
                f"Cannot cut every row to max_length={max_length} with truncation={truncation!r}: the other text alone "
                f'is too long. Use "longest_first" or a larger max_length. ({error})'
            ) from error
        finally:
            self._library.no_truncation()
        if truncation == "error":
            _check_lengths(encodings, max_length)
        if stride == 0:
            return [Encoded(encoding, row) for row, encoding in enumerate(encodings)]
        return [Encoded(window, row) for row, first in enumerate(encodings) for window in [first, *first.overflowing]]

    def _set_truncation(
        self, max_length: int | None, truncation: str, stride: int, is_pair: bool, special_tokens: bool
    ) -> None:
        if truncation not in TRUNCATIONS:
            raise ValueError(f"Unknown truncation {truncation!r}. Expected one of {list(TRUNCATIONS)}.")
        if truncation == "only_second" and not is_pair:
            raise ValueError('truncation="only_second" needs `pairs`. Pass them, or use "only_first".')
        if max_length is None:
            if stride:
                raise ValueError(f"stride={stride} needs a max_length: windows are made of what is cut.")
            return
        added = self._library.num_special_tokens_to_add(is_pair) if special_tokens else 0
        if max_length <= added:
            raise ValueError(f"max_length={max_length} leaves no room for text beside {added} special tokens.")
        if not 0 <= stride < max_length - added:
            raise ValueError(
                f"stride={stride} with max_length={max_length} and {added} special tokens: "
                f"expected 0 <= stride < {max_length - added}, or the windows would not advance."
            )
        if truncation != "error":
            self._library.enable_truncation(max_length, stride=stride, strategy=truncation)

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str | list[str]:
        """Turn ids back into text: a str for one row of ids, a list of str for a batch (lists, arrays or tensors)."""
        ids = ids.numpy() if hasattr(ids, "numpy") else ids
        rows = [row.tolist() if hasattr(row, "tolist") else row for row in ids]
        is_batch = getattr(ids, "ndim", 1) > 1 or any(isinstance(row, Sequence) for row in rows)
        rows = rows if is_batch else [rows]
        unknown = sorted({i for row in rows for i in row if not 0 <= i < self.vocabulary_size})
        if unknown:
            raise ValueError(f"Ids {unknown[:5]} are not in the vocabulary: expected 0 to {self.vocabulary_size - 1}.")
        texts = self._library.decode_batch(rows, skip_special_tokens=skip_special_tokens)
        return texts if is_batch else texts[0]

    @cached_property
    def vocabulary_size(self) -> int:
        """Number of rows that an embedding needs: the largest id + 1, added tokens included."""
        return max(self._library.get_vocab().values()) + 1

    @property
    def pad_id(self) -> int:
        return self.token_to_id(bert.PAD)

    @property
    def unk_id(self) -> int:
        return self.token_to_id(bert.UNK)

    @property
    def cls_id(self) -> int:
        return self.token_to_id(bert.CLS)

    @property
    def sep_id(self) -> int:
        return self.token_to_id(bert.SEP)

    @property
    def mask_id(self) -> int:
        return self.token_to_id(bert.MASK)

    @cached_property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of all special tokens, ascending."""
        return tuple(sorted(i for i, token in self._library.get_added_tokens_decoder().items() if token.special))

    @cached_property
    def is_continuation(self) -> np.ndarray:
        """(V,) bool: True for the pieces that continue a word ("##ing")."""
        mask = np.zeros(self.vocabulary_size, dtype=bool)
        mask[[i for token, i in self._library.get_vocab().items() if token.startswith(bert.CONTINUATION)]] = True
        return mask

    def id_to_token(self, token_id: int) -> str:
        token = self._library.id_to_token(int(token_id)) if token_id >= 0 else None
        if token is None:
            raise ValueError(f"No token has id {token_id}. The vocabulary holds 0 to {self.vocabulary_size - 1}.")
        return token

    def token_to_id(self, token: str) -> int:
        token_id = self._library.token_to_id(token)
        if token_id is None:
            raise ValueError(f"{token!r} is not in the vocabulary of {self.vocabulary_size} tokens.")
        return token_id

    def to_json(self) -> str:
        """The tokenizer.json of this tokenizer."""
        return self._library.to_str(pretty=True)

    def save(self, folder: str | Path) -> None:
        """Write tokenizer.json, tokenizer_config.json and, for WordPiece, vocab.txt: what `transformers` reads."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        pipeline = json.loads(self.to_json())
        files = {
            "tokenizer.json": self.to_json(),
            "tokenizer_config.json": json.dumps(bert.folder_config(pipeline), indent=2),
        }
        if pipeline["model"]["type"] == "WordPiece":
            vocabulary = pipeline["model"]["vocab"]
            files["vocab.txt"] = "".join(f"{token}\n" for token in sorted(vocabulary, key=vocabulary.get))
        for name, content in files.items():
            (folder / name).write_bytes(content.encode("utf-8"))


def check_texts(name: str, texts: Sequence[str]) -> list[str]:
    """The texts as a list; a `ValueError` if they are one str, or not all str."""
    if isinstance(texts, str):
        raise ValueError(f"Expected a list of str for `{name}`, received one str. Pass [text].")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"Expected a list of str for `{name}`, received {type(text).__name__} at row {row}.")
    return texts


def _check_lengths(encodings: list[tokenizers.Encoding], max_length: int | None) -> None:
    lengths = [len(encoding) for encoding in encodings]
    if max_length is not None and max(lengths, default=0) > max_length:
        row = lengths.index(max(lengths))
        raise ValueError(
            f"Row {row} has {lengths[row]} tokens, more than max_length={max_length}. Shorten the text, raise "
            'max_length, or allow cutting: truncation="longest_first", or a stride for several windows.'
        )
