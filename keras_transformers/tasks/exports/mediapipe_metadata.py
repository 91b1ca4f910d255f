"""Metadata in LiteRT files by which MediaPipe reads text: the vocabulary, the order of the inputs, and the labels."""

from __future__ import annotations

import importlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.tasks.contract.from_ids import FromIds, Tensors
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.untrusted import shown

PARSER = "1.1.0"  # the oldest version of a parser that knows the tokenizer's description
FILES = VOCABULARY, LABELS = "vocab.txt", "labels.txt"
# The names that MediaPipe finds the inputs by.
INPUTS = {"input_ids": "ids", "attention_mask": "mask", "token_type_ids": "segment_ids"}


def check_task(task: Any) -> None:
    """Raise an error for what MediaPipe cannot hold, and tell what it reads otherwise.

    Args:
        task: A `Task`.

    Raises:
        ImportError: MediaPipe is missing, whose description of metadata is used.
        ValueError: MediaPipe has no such task or tokenizer.

    Warns:
        UserWarning: The tokenizer strips accents, which MediaPipe's does not, or has further tokens.
    """
    try:
        _schema()
    except ImportError as error:
        raise ImportError(
            f'mediapipe=True needs {error.name}, which is not installed: pip install "keras_transformers[mediapipe]".'
        ) from error
    answers = task.parts.answers
    is_single = getattr(getattr(answers, "classes", None), "problem", "") == "single_label"
    if not is_single and "sentence_embedding" not in _outputs(answers.from_ids):
        raise ValueError(
            "mediapipe=True is for classification with one label a text and for sentence_embedding: received "
            f"{task.name}. Leave it out: the file then takes token ids."
        )
    if len(answers.from_ids.names) < len(INPUTS):
        raise ValueError(
            f"MediaPipe gives three inputs, and this {task.config.family} has no segments: leave mediapipe out."
        )
    if broken := [name for name in answers.labels if name.splitlines() != [name]]:
        raise ValueError(
            f"mediapipe=True writes a label a line, and {shown(broken)} are empty or have line breaks: rename them, or "
            "leave mediapipe out."
        )
    _check_tokenizer(task.tokenizer)


def _outputs(from_ids: FromIds) -> Tensors:
    """Return the outputs for one token."""
    return from_ids.run(*(np.ones((1,) * from_ids.rank, "int32") for _ in from_ids.names))


def _check_tokenizer(tokenizer: Tokenizer) -> None:
    pipeline = json.loads(tokenizer.to_json(pretty=False))
    normalizer = pipeline["normalizer"] or {}
    is_bert = pipeline["model"]["type"] == "WordPiece" and normalizer.get("type") == "BertNormalizer"
    if not (is_bert and normalizer["lowercase"]):
        raise ValueError(
            "mediapipe=True is for the tokenizers of uncased BERT models (WordPiece, lower case): MediaPipe has no "
            "other that answers are equal with. Leave it out: the file then takes the token ids of your own tokenizer."
        )
    if added := [token["content"] for token in pipeline["added_tokens"] if not token["special"]]:
        warnings.warn(
            f"MediaPipe does not know the tokens that were added to the vocabulary: {shown(added)}.", stacklevel=7
        )
    if normalizer["strip_accents"] is not False:
        warnings.warn(
            "MediaPipe does not strip accents, as this model's tokenizer does: texts with accented letters are read "
            "as other tokens there.",
            stacklevel=7,
        )


def outputs_of(from_ids: FromIds) -> Callable[[Tensors], Tensors]:
    """Return a function from a model's outputs to the one that MediaPipe reads: probabilities, or a vector."""

    def outputs(found: Tensors) -> Tensors:
        named = from_ids.outputs(found)
        if "sentence_embedding" in named:
            return {"sentence_embedding": named["sentence_embedding"]}
        return {"probabilities": ops.softmax(ops.cast(named["logits"], "float32"))}

    return outputs


def with_metadata(content: bytes, names: Sequence[str], tokenizer: Tokenizer, labels: Sequence[str]) -> bytes:
    """Return a LiteRT file with the metadata of MediaPipe's TextClassifier, or, without labels, of its TextEmbedder.

    Args:
        content: A file that takes one row of a fixed number of tokens, with the three inputs of `INPUTS`; it returns
            probabilities (1, C), or a vector (1, D).
        names: Names of the inputs, in the order of the file.
        tokenizer: The tokenizer.
        labels: Labels of the classes; none for vectors.
    """
    schema = _schema()
    head = _head(schema, labels)
    vocabulary = json.loads(tokenizer.to_json(pretty=False))["model"]["vocab"]
    options = schema.BertTokenizerOptionsT()
    options.vocabFile = [_file(schema, VOCABULARY, schema.AssociatedFileType.VOCABULARY)]
    unit = schema.ProcessUnitT()
    unit.optionsType, unit.options = schema.ProcessUnitOptions.BertTokenizerOptions, options
    subgraph = schema.SubGraphMetadataT()
    subgraph.inputTensorMetadata = [_tensor(schema, INPUTS[name]) for name in names]
    subgraph.outputTensorMetadata, subgraph.inputProcessUnits = [head], [unit]
    model = schema.ModelMetadataT()
    model.name = "text classifier" if labels else "text embedder"
    model.subgraphMetadata, model.minParserVersion = [subgraph], PARSER
    files = {VOCABULARY: sorted(vocabulary, key=vocabulary.__getitem__)} | ({LABELS: [*labels]} if labels else {})
    return _with_files(_with_buffer(content, _packed(model)), files)


def _head(schema: Any, labels: Sequence[str]) -> Any:
    """Return the description of the output."""
    head = _tensor(schema, "probability" if labels else "embedding")
    head.content = schema.ContentT()
    head.content.contentPropertiesType = schema.ContentProperties.FeatureProperties
    head.content.contentProperties = schema.FeaturePropertiesT()
    if labels:
        head.associatedFiles = [_file(schema, LABELS, schema.AssociatedFileType.TENSOR_AXIS_LABELS)]
    return head


def _tensor(schema: Any, name: str) -> Any:
    tensor = schema.TensorMetadataT()
    tensor.name = name
    return tensor


def _file(schema: Any, name: str, kind: int) -> Any:
    file = schema.AssociatedFileT()
    file.name, file.type = name, kind
    return file


def _packed(model: Any) -> bytes:
    import flatbuffers

    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"M001")
    return bytes(builder.Output())


def _with_buffer(content: bytes, metadata: bytes) -> bytes:
    """Return a LiteRT file with one more buffer, of metadata."""
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    model = flatbuffer_utils.convert_bytearray_to_object(bytearray(content))
    buffer, entry = schema.BufferT(), schema.MetadataT()
    buffer.data = [*metadata]
    model.buffers.append(buffer)
    entry.name, entry.buffer = b"TFLITE_METADATA", len(model.buffers) - 1
    model.metadata = [*(model.metadata or []), entry]
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def _with_files(content: bytes, files: dict[str, list[str]]) -> bytes:
    """Return the content with text files in a zip archive behind it, a line for each entry."""
    whole = io.BytesIO(content)
    whole.seek(0, io.SEEK_END)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_STORED) as archive:
        for name, lines in files.items():
            archive.writestr(zipfile.ZipInfo(name), "".join(f"{line}\n" for line in lines))
    return whole.getvalue()


def _schema() -> Any:
    return importlib.import_module("mediapipe.tasks.metadata.metadata_schema_py_generated")
