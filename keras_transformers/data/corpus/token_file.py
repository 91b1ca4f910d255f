"""A file of token ids, read by memory map."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import mmap
import os
from pathlib import Path

import numpy as np

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.safe_files import replace_file

TOKENS, DESCRIPTION = "tokens.bin", "token_file.json"
BLOCK = 1 << 22  # tokens that are hashed at a time


class TokenFile:
    """The token ids of a corpus in a file, mapped into memory: nothing is read before it is asked for.

    `make_corpus` writes them; `TokenFile.open` reads one.

    Attributes:
        folder: `pathlib.Path`.
        tokens: uint16 (n,), or uint32 if the vocabulary is larger than that; read-only.
        num_tokens, num_characters: int.
        vocabulary_size: int, of the tokenizer.
        digest: str, of all tokens.
        tokenizer_digest: str, of the tokenizer that wrote them: see `tokenizer_digest`.
    """

    def __init__(self, folder: Path, description: Description):
        self.folder = folder
        self.num_tokens, self.num_characters = description.num_tokens, description.num_characters
        self.vocabulary_size = description.vocabulary_size
        self.digest, self.tokenizer_digest = description.digest, description.tokenizer_digest
        self._map = _mapped(folder / TOKENS)
        self.tokens = np.frombuffer(self._map, token_dtype(self.vocabulary_size))
        if self.tokens.size != self.num_tokens:
            raise ValueError(
                f"{folder / TOKENS} has {self.tokens.size:,} tokens: expected {self.num_tokens:,}. Remove the folder, "
                "and make the corpus again."
            )

    @classmethod
    def open(cls, folder: str | os.PathLike) -> TokenFile:
        """Open a file of tokens that `make_corpus` has written: the folder `train` or `held_out` of a corpus.

        Raises:
            ValueError: There is none in the folder, or not a whole one.
        """
        return cls(Path(folder), Description.read(Path(folder)))

    def __repr__(self) -> str:
        return f"TokenFile({str(self.folder)!r}, {self.num_tokens:,} tokens of {self.num_characters:,} characters)"

    def __reduce__(self) -> tuple:
        return TokenFile.open, (self.folder,)

    def forget(self) -> None:
        """Let the system take back the memory of what was read, which counts as this process's otherwise."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


@dataclasses.dataclass(frozen=True)
class Description:
    """The description of a file of tokens, in a JSON file beside it; see `TokenFile`."""

    num_tokens: int
    num_characters: int
    vocabulary_size: int
    digest: str
    tokenizer_digest: str

    @classmethod
    def read(cls, folder: Path) -> Description:
        """Read the description of the file of tokens in a folder."""
        path = folder / DESCRIPTION
        if not path.is_file():
            raise ValueError(f"{folder} holds no tokens (there is no {DESCRIPTION}): expected what make_corpus writes.")
        values = read_object(path)
        kinds = {field.name: {"int": int, "str": str}[str(field.type)] for field in dataclasses.fields(cls)}
        if missing := sorted(kinds.keys() - values.keys()):
            raise ValueError(f"{path} lacks {missing[0]!r}. Remove the folder, and make the corpus again.")
        check_types(values, kinds, path)
        return cls(**{name: values[name] for name in kinds})

    def write(self, folder: Path) -> None:
        """Write it beside the file of tokens, which is whole then."""
        replace_file(folder / DESCRIPTION, json.dumps(dataclasses.asdict(self), indent=1))


def token_dtype(vocabulary_size: int) -> np.dtype:
    """Return the type of the ids of a vocabulary in a file: uint16 if they fit, else uint32; little-endian.

    >>> token_dtype(65536), token_dtype(65537)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<u4")


def tokenizer_digest(tokenizer: Tokenizer) -> str:
    """Return a hash of how a tokenizer cuts text; the special tokens that it puts around texts do not matter.

    Example:

    >>> tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    >>> other = Tokenizer.train(["a dull film"], 280, model="byte_pair")
    >>> tokenizer_digest(tokenizer) == tokenizer_digest(tokenizer) != tokenizer_digest(other)
    True
    """
    pipeline = json.loads(tokenizer.to_json(pretty=False))
    cutting = {name: part for name, part in pipeline.items() if name not in ("post_processor", "truncation", "padding")}
    return hashlib.blake2b(json.dumps(cutting).encode(), digest_size=16).hexdigest()


def tokens_digest(path: Path, dtype: np.dtype) -> str:
    """Return a hash of the tokens in a file."""
    state = hashlib.blake2b(dtype.str.encode(), digest_size=16)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            state.update(block)
    return state.hexdigest()


def _mapped(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # the latter for an empty file
        raise ValueError(f"{path} cannot be read ({error}). Remove the folder, and make the corpus again.") from error
