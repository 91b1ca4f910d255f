"""Compile a tokenizer.json into core TensorFlow ops."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.bert import PAD
from keras_transformers.text.graph.added_tokens import AddedTokens
from keras_transformers.text.graph.decode import WordPieceDecoder
from keras_transformers.text.graph.normalize import BertNormalizer
from keras_transformers.text.graph.post_process import Template
from keras_transformers.text.graph.split import BertPreTokenizer
from keras_transformers.text.graph.wordpiece import WordPiece

# What can be compiled, by the names of tokenizer.json; a further component is a file beside these and a line here.
NORMALIZERS: dict[str | None, Callable] = {None: lambda config: _unchanged, "BertNormalizer": BertNormalizer}
PRE_TOKENIZERS = {"BertPreTokenizer": BertPreTokenizer}
MODELS = {"WordPiece": WordPiece}
POST_PROCESSORS = dict.fromkeys((None, "TemplateProcessing", "BertProcessing"), Template)
DECODERS = {"WordPiece": WordPieceDecoder}


def compile_text(tokenizer_json: str, pad_id: int | None = None) -> TextGraph:
    """Make TensorFlow ops that do to text what the `tokenizers` library does by this tokenizer.json.

    Use it to put text handling into an exported model, or into a tf.data pipeline.

    Args:
        tokenizer_json: the content of a tokenizer.json.
        pad_id: what `encode` fills rows up with; None for the id of [PAD].

    Returns:
        A `TextGraph`.

    Raises:
        ValueError: naming the component that cannot be compiled.

    Example:

    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["the cat danced", "the cat sat"], vocabulary_size=40)
    >>> graph = compile_text(tokenizer.to_json())
    >>> rows = graph.encode(tf.constant(["The cat", "danced"]), max_length=8)
    >>> rows["token_ids"].shape
    TensorShape([2, 4])
    """
    return TextGraph(tokenizers.Tokenizer.from_str(tokenizer_json), pad_id)


class TextGraph(tf.Module):
    """Text to ids and back in core ops: works eagerly, in tf.function and tf.data, and in a SavedModel.

    Its methods are plain functions, so that a SavedModel holds nothing but the signatures that use them.
    """

    def __init__(self, library: tokenizers.Tokenizer, pad_id: int | None):
        super().__init__()
        config = json.loads(library.to_str())
        self.pad_id = library.token_to_id(PAD) if pad_id is None else pad_id
        if self.pad_id is None:
            raise ValueError(f"The tokenizer has no {PAD} token to pad with. Pass a pad_id, or add it.")
        self.normalize = _component("normalizer", config, NORMALIZERS)(config["normalizer"])
        self.split = _component("pre_tokenizer", config, PRE_TOKENIZERS)(config["pre_tokenizer"])
        self.model = _component("model", config, MODELS)(config["model"])
        self.template = _component("post_processor", config, POST_PROCESSORS)(config["post_processor"])
        self.decoder = _component("decoder", config, DECODERS)(library)
        self.cut_typed = _added_tokens(library, normalized=False)
        self.cut_normalized = _added_tokens(library, normalized=True)

    @tf.autograph.experimental.do_not_convert
    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Texts (B,) string to ids (B, None) int32, without special tokens; not cut to any length.

        Bytes that are not UTF-8 count as U+FFFD, as in `bytes.decode("utf-8", "replace")`.
        """
        points = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")
        points = self.cut_normalized(self.normalize(self.cut_typed(points)))
        return self.model(self.split(points))

    @tf.autograph.experimental.do_not_convert
    def encode(self, texts: tf.Tensor, pairs: tf.Tensor | None = None, *, max_length: int) -> dict[str, tf.Tensor]:
        """Texts, or pairs of texts, to the inputs of a model, special tokens included.

        Args:
            texts: (B,) string.
            pairs: (B,) string, the second of each pair.
            max_length: the most tokens of a row; the longer text of a pair gives way first.

        Returns:
            token_ids (B, T) int32, padded on the right to the longest row; segment_ids (B, T) int32;
            padding_mask (B, T) bool, True for tokens; truncated (B,) bool.
        """
        second = None if pairs is None else self.tokenize(pairs)
        return self.template(self.tokenize(texts), second, max_length, self.pad_id)

    @tf.autograph.experimental.do_not_convert
    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        """Ids (B, T) int32 to texts (B,) string, special tokens left out."""
        return self.decoder(ids)


def _component(part: str, config: dict[str, Any], known: dict[str | None, Any]) -> Any:
    name = config[part] and config[part]["type"]
    if name not in known:
        raise ValueError(
            f"The {part} {name!r} of this tokenizer.json cannot be compiled into TensorFlow ops. "
            f"Expected one of {list(known)}. Tokenise in Python, or write the component (text/graph)."
        )
    return known[name]


def _added_tokens(library: tokenizers.Tokenizer, normalized: bool) -> Callable:
    """Cut out those added tokens that are looked for in the text as typed, or those in the normalised text."""
    tokens: dict[str, int] = {}
    added = library.get_added_tokens_decoder()
    for i, token in sorted(added.items(), key=lambda item: (not item[1].special, item[0])):
        if token.normalized == normalized:
            rewrite = normalized and library.normalizer
            content = library.normalizer.normalize_str(token.content) if rewrite else token.content
            tokens.setdefault(content, i)  # of equal contents the library takes the first
    single_words = [i for i, token in added.items() if token.single_word]
    return AddedTokens(tokens, single_words) if tokens else _unchanged


def _unchanged(points: tf.RaggedTensor) -> tf.RaggedTensor:
    return points
