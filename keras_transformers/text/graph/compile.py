"""The compiler from a tokenizer.json to core TensorFlow ops, and the compiled tokenizer."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.added_tokens import AddedTokens
from keras_transformers.text.graph.outputs.decode import Decoder
from keras_transformers.text.graph.outputs.locate import locate
from keras_transformers.text.graph.outputs.post_process import Template
from keras_transformers.text.graph.outputs.windows import lay_out_windows
from keras_transformers.text.graph.streams.code_points import piece_starts
from keras_transformers.text.graph.streams.streams import Stream, Tracked
from keras_transformers.text.graph.streams.trace import traced_once
from keras_transformers.text.graph.streams.tracking import tracked
from keras_transformers.text.pipelines.components import parts, refuse
from keras_transformers.text.pipelines.library import count_ids, panics_as_errors
from keras_transformers.text.vocabularies.wordpiece_vocabulary import PAD

# The components that can be compiled, by their names in tokenizer.json. Each is in a module of this folder, which is
# imported for a file that names it.
NORMALIZERS = {
    "BertNormalizer": "normalizers.normalize.BertNormalizer",
    "Lowercase": "normalizers.normalize.lowercase",
    "NFC": "normalizers.canonical.Compose",
    "NFD": "normalizers.canonical.Decompose",
    "NFKC": "normalizers.canonical.Compose",
    "NFKD": "normalizers.canonical.Decompose",
    "Nmt": "normalizers.normalize.nmt",
    "Precompiled": "normalizers.precompiled.Precompiled",
    "Prepend": "normalizers.normalize.Prepend",
    "Replace": "normalizers.replace.replace_pattern",
    "Strip": "normalizers.normalize.Strip",
    "StripAccents": "normalizers.normalize.strip_accents",
}
PRE_TOKENIZERS = {
    "BertPreTokenizer": "pre_tokenizers.split_words.BertPreTokenizer",
    "ByteLevel": "pre_tokenizers.byte_level.ByteLevel",
    "CharDelimiterSplit": "pre_tokenizers.splits.split_at_character",
    "Digits": "pre_tokenizers.split_words.Digits",
    "FixedLength": "pre_tokenizers.split_words.FixedLength",
    "Metaspace": "pre_tokenizers.metaspace.Metaspace",
    "Punctuation": "pre_tokenizers.delimiters.Punctuation",
    "Split": "pre_tokenizers.splits.split_by_pattern",
    "UnicodeScripts": "pre_tokenizers.scripts.UnicodeScripts",
    "Whitespace": "pre_tokenizers.class_runs.whitespace",
    "WhitespaceSplit": "pre_tokenizers.split_words.WhitespaceSplit",
}
MODELS = {
    "BPE": "models.byte_pair.BytePair",
    "Unigram": "models.unigram.Unigram",
    "WordLevel": "models.whole_words.WordLevel",
    "WordPiece": "models.wordpiece.WordPiece",
}


def compile_text(tokenizer_json: str, pad_id: int | None = None) -> TextGraph:
    """Compile a tokenizer.json into TensorFlow ops with the same results as the `tokenizers` library.

    Use it to put text handling into an exported model, or into a tf.data pipeline.

    Args:
        tokenizer_json: The content of a tokenizer.json.
        pad_id: The id that `encode` pads rows with; None for the id of [PAD].

    Returns:
        A `TextGraph`.

    Raises:
        ValueError: A component cannot be compiled; the message names it.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> graph = compile_text(tokenizer.to_json())
    >>> rows = graph.encode(tf.constant(["The cat", "danced"]), max_length=8)
    >>> rows["token_ids"].shape
    TensorShape([2, 4])
    """
    with panics_as_errors():
        return TextGraph(tokenizers.Tokenizer.from_str(tokenizer_json), pad_id)


class TextGraph(tf.Module):
    """A compiled tokenizer: core ops that work eagerly, in tf.function and tf.data, and in a SavedModel.

    Its methods are plain functions, so that a SavedModel holds only the signatures that use them. `tokenize` is traced
    once for all functions and data sets that use it.
    """

    def __init__(self, library: tokenizers.Tokenizer, pad_id: int | None):
        super().__init__()
        count_ids(library)  # before any table is made, and before to_str, which goes through all ids up to the largest
        config = json.loads(library.to_str())
        pad_id = library.token_to_id(PAD) if pad_id is None else pad_id
        if pad_id is None:
            raise ValueError(f"The tokenizer has no {PAD} token to pad with. Pass a pad_id, or add it.")
        self.pad_id = pad_id

        self.normalizers = _components("normalizer", config, NORMALIZERS)
        self.splitters = _components("pre_tokenizer", config, PRE_TOKENIZERS)
        for splitter in self.splitters:
            if hasattr(splitter, "spells"):  # of ByteLevel
                splitter.spells = not _found("pre_tokenizers.byte_level.reads_bytes")(config)
        self.front, self.front_step = self._front()

        kind = config["model"]["type"]
        if kind not in MODELS:
            raise refuse("model", kind, MODELS)
        self.model = _found(MODELS[kind])(config, library)

        processors = parts(config["post_processor"])
        trims = [part for part in processors if part.get("trim_offsets")]
        self.trim = _found("outputs.trim.Trim")(trims, config["model"], library) if trims else None
        keeps_end = (config["truncation"] or {}).get("direction") == "Left"
        self.template = Template(processors, self.trim, keeps_end)
        self.decoder = Decoder(config, library)
        self.cut_typed = _added_tokens(library, normalized=False)
        self.cut_normalized = _added_tokens(library, normalized=True)
        self._tokenize_once = traced_once(self._tokenize)
        self._locate_once = traced_once(self._locate)

    def _front(self) -> tuple[Any, Callable | None]:
        """Return the `Front` and the Metaspace that needs it (scheme "first", after other steps), or two Nones."""
        for i, splitter in enumerate(self.splitters):
            if getattr(splitter, "scheme", None) == "first" and (self.normalizers or i):  # of Metaspace
                return _found("pre_tokenizers.first_character.Front")(self.normalizers, self.splitters[:i]), splitter
        return None, None

    @tf.autograph.experimental.do_not_convert
    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Convert texts (B,) string to ids (B, None) int32, without special tokens or truncation.

        Bytes that are not UTF-8 become U+FFFD, as in `bytes.decode("utf-8", "replace")`.
        """
        return self._tokenize_once(texts)

    def _tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return self.model(*self._split(_decoded(texts)))

    def _locate(self, texts: tf.Tensor) -> Tracked:
        """Convert texts (B,) string to ids (B, None) with their positions in the texts: see `locate`."""
        typed = tracked(_decoded(texts))
        spans = tf.pad(typed.spans, [[0, 0], [0, 2]]) if self.trim else typed.spans  # `AddedTokens` counts spaces there
        points, starts = self._split(Tracked(typed.points, spans))
        return locate(typed, points, starts, self.model(points, starts), self.trim)

    def _split(self, points: Stream) -> tuple[Stream, tf.Tensor]:
        """Normalise and pre-tokenise typed code points (B, None); return them, and where words begin, (N,) bool."""
        points = self.cut_typed(points)
        front = self.front and self.front(points)
        for normalizer in self.normalizers:
            points = normalizer(points)
        points = self.cut_normalized(points)
        starts = piece_starts(points)
        for splitter in self.splitters:
            front_args = (self.front.mark(points, front),) if splitter is self.front_step else ()
            points, starts = splitter(points, starts, *front_args)
        return points, starts

    @tf.autograph.experimental.do_not_convert
    def encode(
        self,
        texts: tf.Tensor,
        pairs: tf.Tensor | None = None,
        *,
        max_length: int,
        with_offsets: bool = False,
        truncation: str = "longest_first",
    ) -> dict[str, tf.Tensor]:
        """Convert texts, or pairs of texts, to the inputs of a model, special tokens included.

        Args:
            texts: (B,) string.
            pairs: (B,) string, the second text of each pair.
            max_length: Maximum tokens of a row. Texts keep their beginning, or their end if the direction of the
                truncation in tokenizer.json is "Left".
            with_offsets: Whether to return the position of each token in its text, too.
            truncation: "longest_first" cuts the longer text of a pair; "only_first" the first one, which is an error
                where the second leaves it no room.

        Returns:
            token_ids (B, T) int32, padded on the right to the longest row; segment_ids (B, T) int32;
            padding_mask (B, T) bool, True for tokens; truncated (B,) bool. With offsets, also
            offsets (B, T, 2) int32: start and stop (half-open) of each token in its text, in code points; (0, 0) for
            special tokens and padding. word_ids (B, T) int32: the word of its text that each token belongs to, and
            sequence_ids (B, T) int32: its text, 0 or 1 for the second of a pair; -1 for special tokens and padding.

        Offsets and word_ids equal the library's, with one exception. If byte-pair encoding drops letters without a
        token, the library's offsets of the tokens after them are too small: in "xab" without a token for "x" it gives
        "a" the offsets (0, 1), not (1, 2) as here.

        Example:

        >>> from keras_transformers.text.tokenizer import Tokenizer
        >>> graph = compile_text(Tokenizer.train(["the cat sat"], vocabulary_size=40).to_json())
        >>> rows = graph.encode(tf.constant(["The cat"]), max_length=8, with_offsets=True)
        >>> rows["offsets"].numpy().tolist()
        [[[0, 0], [0, 3], [4, 7], [0, 0]]]
        """
        tokenize = self._locate_once if with_offsets else self.tokenize
        second = None if pairs is None else tokenize(pairs)
        return self.template(tokenize(texts), second, max_length, self.pad_id, truncation)

    @tf.autograph.experimental.do_not_convert
    def encode_windows(
        self, texts: tf.Tensor, pairs: tf.Tensor, *, max_length: int, stride: int, most_question: int | None = None
    ) -> dict[str, tf.Tensor]:
        """Cut pairs of texts into windows, as the library does with the truncation "only_second".

        Use it for questions and contexts: a context that is too long is cut into several windows, each with the whole
        question.

        If a question leaves so little room that windows could not advance (at most `stride` tokens), the library raises
        an error, or panics. Here the question is cut, so that one row does not fail the batch: to half the tokens of a
        window without special tokens and `stride`, or to the room that a short context leaves, if that is more.

        Args:
            texts: (B,) string, the questions.
            pairs: (B,) string, the contexts: only they are cut into windows.
            max_length: Maximum tokens of a window.
            stride: Number of tokens of the context that successive windows share.
            most_question: Maximum tokens of a question whose context needs several windows; a longer question is cut to
                it, or to the room that a short context leaves. None for as many as let windows advance.

        Returns:
            The outputs of `encode` with offsets, for W windows: first the windows of the first pair, then the windows
            of the next, and so on; from the end of a context to its beginning, if texts are cut on the left. row (W,)
            int32:
            the pair of each window. truncated (B,) bool: True where a question was cut.

        Windows equal the library's, with one exception: it gives contexts the segment 1 in all windows of a pair but
        the first, against the template.

        Raises:
            ValueError: `max_length` leaves no room for text, or the windows would not advance by `stride`.
        """
        first, second = self._locate_once(texts), self._locate_once(pairs)
        return lay_out_windows(self.template, first, second, max_length, stride, self.pad_id, most_question)

    @tf.autograph.experimental.do_not_convert
    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        """Convert ids (B, T) int32 to texts (B,) string, without special tokens."""
        return self.decoder(ids)


def _decoded(texts: tf.Tensor) -> tf.RaggedTensor:
    return tf.strings.unicode_decode(texts, "UTF-8", errors="replace")


def _found(path: str) -> Any:
    """Return a component by its module in this folder and its name there."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)


def _components(part: str, config: dict[str, Any], known: Mapping[str, str]) -> list[Any]:
    components = parts(config[part])
    unknown = [component["type"] for component in components if component["type"] not in known]
    if unknown:
        raise refuse(part, unknown[0], known)
    return [_found(known[component["type"]])(component) for component in components]


def _added_tokens(library: tokenizers.Tokenizer, normalized: bool) -> Callable:
    """Build the ops for the added tokens that are matched in the typed text, or for those matched in the normalised
    text.
    """
    tokens: dict[str, int] = {}
    added = library.get_added_tokens_decoder()
    for i, token in sorted(added.items(), key=lambda item: (not item[1].special, item[0])):
        if token.normalized == normalized:
            normalizer = library.normalizer if normalized else None
            content = normalizer.normalize_str(token.content) if normalizer else token.content
            tokens.setdefault(content, i)  # if two have the same content, the library takes the first
    tokens.pop("", None)  # a token that normalises to nothing never matches
    return AddedTokens(tokens, added) if tokens else _unchanged


def _unchanged(points: Stream) -> Stream:
    return points
