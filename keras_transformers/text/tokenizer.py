"""The tokenizer: text to ids and back, with the `tokenizers` library."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import tokenizers

from keras_transformers.text.encode import encode
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.folder import kept_files
from keras_transformers.text.folder import tokenizer_folder as folder_files
from keras_transformers.text.pipelines.library import Guard, count_ids, refusals_as_errors
from keras_transformers.text.sentencepiece import sentencepiece_pipeline, spm_file
from keras_transformers.text.vocabularies import byte_pair_vocabulary, wordpiece_vocabulary
from keras_transformers.text.vocabularies.learn import train
from keras_transformers.text.vocabularies.vocabulary import Vocabulary
from keras_transformers.text.wider_vocabulary import check_new_tokens, files_with, widened
from keras_transformers.utils.text_checks import check_texts
from keras_transformers.utils.untrusted import shown

if TYPE_CHECKING:
    import tensorflow as tf

NO_FILES: Mapping[str, bytes] = MappingProxyType({})


class Tokenizer(Vocabulary):
    """A tokenizer: text to ids and back, as defined by a tokenizer.json. Thread-safe; can be copied and pickled.

    Use it wherever Python handles text; `text.graph.compile_text` compiles the same tokenizer.json to TensorFlow ops.
    Make one with `from_file`, `from_folder`, `from_vocab`, `from_merges`, `from_sentencepiece` or `train`; two, for
    source and target, with `pair_from_folder`.

    Args:
        library: A `tokenizers.Tokenizer`.
        files: Name to content of its original files, which `save` writes again; tokenizer_config.json names the special
            tokens by role, the side on which long texts are cut, and says whether tokens have types (segments).

    Attributes:
        files: Name to content of the files that `save` writes again.
        truncation_side: `"right"`, if the beginning of a long text is kept, or `"left"`, if its end is.
        has_types: Whether tokens have the types (segments) of the template; all are 0 if not.

    Example:

    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> tokenizer.decode(tokenizer.encode(["The cat sat"])[0].ids)
    'the cat sat'
    """

    def __init__(self, library: tokenizers.Tokenizer, files: Mapping[str, bytes] = NO_FILES):
        count_ids(library)  # the library's to_str goes through all ids up to the largest, for a minute if it is 2^32
        if isinstance(library.model, tokenizers.models.Unigram):
            # Writing and reading a score may change its last digit, and so the order of ties: done before any use.
            library = tokenizers.Tokenizer.from_str(library.to_str())
        super().__init__(library, kept_files.roles_in(files))
        self.truncation_side = kept_files.truncation_side(library, files)
        self.files = kept_files.with_side(library, files, self.truncation_side)
        untyped = None if kept_files.gives_types(files) else kept_files.untyped(library)
        self._guard = Guard(library, self.truncation_side, untyped)  # held while the library's state is set or used
        self.has_types, self.untyped_by = untyped is None, untyped and kept_files.class_without_types(files)

    def __reduce__(self) -> tuple:
        with self._guard():
            return _from_json, (self._library.to_str(), self.files)

    @classmethod
    def from_file(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer.json."""
        return cls(folder_files.read_json(path))

    @classmethod
    def from_json(cls, tokenizer_json: str) -> Tokenizer:
        """Read the content of a tokenizer.json: the inverse of `to_json`."""
        if not isinstance(tokenizer_json, str):
            raise ValueError(f"Expected the content of a tokenizer.json, a str: received {shown(tokenizer_json)}.")
        return cls(folder_files.parse_json(tokenizer_json.encode("utf-8", "replace"), "this str"))

    @classmethod
    def from_folder(cls, folder: str | Path, config: Mapping[str, Any] | None = None) -> Tokenizer:
        """Read a Hugging Face folder: tokenizer.json, else vocab.txt (BERT, MPNet), vocab.json and merges.txt (GPT), or
        a SentencePiece model (T5, ALBERT, DeBERTa, XLM-R, CamemBERT).

        Args:
            folder, config: A folder with these files; the values of its config.json, None to read them.
        """
        with refusals_as_errors(folder):
            return cls(*folder_files.read(folder, config))

    @classmethod
    def pair_from_folder(
        cls, folder: str | Path, config: Mapping[str, Any] | None = None
    ) -> tuple[Tokenizer, Tokenizer]:
        """Read the tokenizers of source and target texts; the same one twice if a folder holds only one.

        The files are Marian's (source.spm, target.spm, vocab.json; target_vocab.json with `separate_vocabs` in
        tokenizer_config.json), files of `save_pair`, or any that `from_folder` reads. The target's tokenizer encodes
        target texts and decodes the model's output.

        Args:
            folder, config: as for `from_folder`.
        """
        with refusals_as_errors(folder):
            source, target = folder_files.read_pair(folder, config)
            first = cls(*source)
            return first, first if target is source else cls(*target)

    @classmethod
    def from_sentencepiece(cls, path: str | Path) -> Tokenizer:
        """Read a SentencePiece model (.spm, .model; unigram or BPE): its ids, without special tokens around texts."""
        with refusals_as_errors(path):
            return cls(sentencepiece_pipeline.build(spm_file.read(path)))

    @classmethod
    def from_vocab(
        cls, path: str | Path, lowercase: bool = True, strip_accents: bool | None = None, split_chinese: bool = True
    ) -> Tokenizer:
        """Read a vocab.txt for BERT's pipeline. None for `strip_accents` means the value of `lowercase`."""
        with refusals_as_errors(path):
            vocabulary = wordpiece_vocabulary.read_vocabulary(path)
            return cls(wordpiece_vocabulary.build(vocabulary, lowercase, strip_accents, split_chinese, path))

    @classmethod
    def from_merges(cls, vocabulary_path: str | Path, merges_path: str | Path) -> Tokenizer:
        """Read vocab.json and merges.txt for GPT-2's pipeline; GPT-1's or BART's, if the vocabulary is of that kind."""
        with refusals_as_errors(vocabulary_path):
            return cls(byte_pair_vocabulary.build(*byte_pair_vocabulary.read(vocabulary_path, merges_path)))

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | os.PathLike | Sequence[os.PathLike] | tf.data.Dataset,
        vocabulary_size: int | None = None,
        lowercase: bool | None = None,
        model: str = "wordpiece",
        special_tokens: Sequence[str] | None = None,
    ) -> Tokenizer:
        """Learn a vocabulary, the same in every run; special tokens get the ids from 0.

        Args:
            texts: The corpus, read once: an iterable of str; a Path, or a list of Paths, of files and folders, as
                `TextFiles` reads them; or a `tf.data.Dataset` of strings, one by one or in batches.
            vocabulary_size: Maximum tokens; a small corpus may give fewer. Optional but for the first three models.
            lowercase: Whether to lower-case the text. None means True for "wordpiece", which then strips accents, too,
                but of scripts that need their marks (all but Latin and Greek); and False for "unigram". The other
                models do not lower-case.
            model: One of
                "wordpiece": BERT's pipeline.
                "byte_pair": GPT-2's pipeline. Every string decodes to itself.
                "unigram": SentencePiece's pipeline. Texts end in </s>. For a joint vocabulary, train on both languages.
                "character": the characters of the corpus, by code point. Another character is <unk> if that is among
                the special tokens, otherwise an error of `encode`.
                "words": the words between whitespace, the most frequent first. Texts end in </s>. Decoding joins the
                parts of words at "@@ ", as subword-nmt writes them.
                "bytes": the 256 bytes of UTF-8, for any language and none. Every string decodes to itself. Nothing is
                learned, so the texts are not read, and may be [].
            special_tokens: None for the default: <|endoftext|> for "byte_pair" and "bytes"; <pad>, </s>, <unk> for
                "unigram"; <s>, <pad>, </s>, <unk> for "words"; none for "character". "wordpiece" always has [PAD],
                [UNK], [CLS], [SEP], [MASK], and takes no others.

        Raises:
            ValueError: There is no text in the corpus, a file is missing or cannot be read, a text is no str, the
                vocabulary is too small, or an option is not one of the model.

        Example:

        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "play.txt")
        >>> _ = path.write_text("ROMEO:\\nBut, soft! what light through yonder window breaks?", encoding="utf-8")
        >>> tokenizer = Tokenizer.train(path, vocabulary_size=270, model="byte_pair")
        >>> tokenizer.decode(tokenizer.encode(["ROMEO: soft!"])[0].ids)
        'ROMEO: soft!'
        >>> Tokenizer.train([], model="bytes").encode(["é"])[0].ids  # after <|endoftext|>, byte b is token 1 + b
        [196, 170]
        """
        return cls(train(texts, vocabulary_size, lowercase, model, special_tokens))

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
            pairs: B strings, the second text of each pair.
            max_length: Maximum tokens of a row, special tokens included; None for no limit.
            truncation: The text that is cut, on the tokenizer's `truncation_side`: "longest_first", "only_first",
                "only_second"; or "error" to raise an error.
            special_tokens: Whether to add the template's special tokens ([CLS] and [SEP] for BERT).
            stride: If > 0, a long text gives several windows that overlap by `stride` tokens; the last part of the
                text comes first if it is cut on the left.

        Returns:
            B `Encoded`; with a stride, at least B, in the order of the texts (see `Encoded.row`).
        """
        texts = check_texts("texts", texts)
        pairs = None if pairs is None else check_texts("pairs", pairs)
        return encode(self._library, self._guard, texts, pairs, max_length, truncation, special_tokens, stride)

    @overload
    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str: ...

    @overload
    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str | list[str]: ...

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str | list[str]:
        """Turn ids back into text: a str for one row of ids, a list of str for a batch (lists, arrays or tensors)."""
        ids = ids.numpy() if hasattr(ids, "numpy") else ids
        rows = [row.tolist() if hasattr(row, "tolist") else row for row in ids]
        is_batch = getattr(ids, "ndim", 1) > 1 or any(isinstance(row, Sequence) for row in rows)
        rows = rows if is_batch else [rows]

        unknown = sorted({i for row in rows for i in row if not 0 <= i < self.vocabulary_size})
        if unknown:
            raise ValueError(f"Ids {unknown[:5]} are not in the vocabulary: expected 0 to {self.vocabulary_size - 1}.")

        with self._guard():
            texts = self._library.decode_batch(rows, skip_special_tokens=skip_special_tokens)
        return texts if is_batch else texts[0]

    def to_json(self, pretty: bool = True) -> str:
        """Return the tokenizer.json of this tokenizer, with what else its files say: the side on which texts are cut,
        and whether tokens have types. Without `pretty` it is on one line, for machines.
        """
        with self._guard.shown():
            return self._library.to_str(pretty=pretty)

    def post_processor(self) -> dict[str, Any] | None:
        """Return the post-processor of the tokenizer.json, which puts special tokens around texts; None for none."""
        component = self._library.post_processor
        return None if component is None else json.loads(component.__getstate__())

    def with_library(self, library: tokenizers.Tokenizer) -> Tokenizer:
        """Return a tokenizer of a changed copy of this one's pipeline, with the same files."""
        return Tokenizer(library, kept_files.without_class(self.files, self.has_types))

    def with_tokens(self, tokens: Sequence[str]) -> Tokenizer:
        """Return a tokenizer with new tokens, which get the next ids; `tasks.new_tokens` also widens the model.

        Args:
            tokens: Words, such as `["metformin"]`, each of which becomes one token wherever it occurs in a text.

        Raises:
            ValueError: A token is in the vocabulary, is there twice, begins or ends with whitespace, or cannot be found
                in a text or decoded.

        Example:

        >>> tokenizer = Tokenizer.train([], model="bytes").with_tokens(["metformin"])
        >>> tokenizer.encode(["a metformin"])[0].ids
        [98, 33, 257]
        """
        tokens = check_new_tokens(tokens)
        with self._guard():
            library = widened(self._library, tokens)
        return Tokenizer(library, files_with(self.files, library, tokens))

    def named_roles(self) -> dict[str, str]:
        """Return the special tokens by role, such as `eos_token`, that `save` writes."""
        return kept_files.named_roles(self._library, self.files)

    def with_role(self, role: str, token: str) -> Tokenizer:
        """Return a tokenizer that names one of its special tokens by a role, such as `pad_token`."""
        return self.with_files(kept_files.saying(self._library, self.files, {role: token}))

    def with_files(self, files: Mapping[str, bytes]) -> Tokenizer:
        """Return a tokenizer of the same pipeline with other `files`."""
        return Tokenizer(self._library, files)

    def save(self, folder: str | Path, max_length: int | None = None, has_segments: bool = False) -> None:
        """Write the files that `transformers` reads, `max_length` and perhaps types (`has_segments`) among them."""
        with self._guard():
            folder_files.write(folder, self._library, self.files, max_length, has_segments)

    @staticmethod
    def save_pair(folder: str | Path, source: Tokenizer, target: Tokenizer, max_length: int | None = None) -> None:
        """Write the tokenizers of source and target for `pair_from_folder`; `max_length` as in `save`.

        Unigram tokenizers are also written as Marian's files: .spm and vocab.json.
        """
        first, second = sorted((source, target), key=id)  # always lock in one order, so that threads cannot deadlock
        with first._guard(), second._guard():
            sides = (source._library, source.files), (target._library, target.files)
            folder_files.write_pair(folder, *sides, max_length)


def _from_json(tokenizer_json: str, files: Mapping[str, bytes]) -> Tokenizer:
    return Tokenizer(tokenizers.Tokenizer.from_str(tokenizer_json), files)
