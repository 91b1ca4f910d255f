"""Vectors of tokens: `StaticEmbedding` of sentence-transformers, and the folders of model2vec."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from keras_transformers.checkpoints.files.tensors import PICKLED, SAFE, Tensor, read_tensors
from keras_transformers.checkpoints.settings.sentence_modules import is_sentence_transformer
from keras_transformers.checkpoints.stored import Stored, UserOptions, parsed
from keras_transformers.families.baselines.without_attention import STATIC, TABLE
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.untrusted import shown

OF_SENTENCE_TRANSFORMERS, MAPPING, WEIGHTS = "embedding.weight", "mapping", "weights"
WRITER, TOKENIZER, CONFIG = "model2vec", "tokenizer.json", "config.json"
OF_ENCODE = 512  # tokens of a text that `StaticModel.encode` of model2vec reads when nothing is said


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder of `model.safetensors` and `tokenizer.json`, perhaps with the config.json of model2vec."""
    values = read_object(place / CONFIG) if (place / CONFIG).is_file() else {}
    if values.get("model_type", STATIC.model_type) != STATIC.model_type or not (place / TOKENIZER).is_file():
        return None
    if not any((place / name).is_file() for name in (SAFE, *([PICKLED] if user_options.pickled else []))):
        return None
    tensors = {tensor.name: tensor for tensor in read_tensors(place, user_options.pickled)}
    found = next((tensors[name] for name in (OF_SENTENCE_TRANSFORMERS, TABLE) if name in tensors), None)
    if found is None and not values:
        return None
    table = _table(found, tensors, place)
    said = read_object(place / TOKENIZER)
    sizes = {"vocab_size": table.shape[0], "hidden_dim": table.shape[1], "seq_length": _longest(said, place)}
    own: dict[str, Any] = {key: values[key] for key in ("normalize", "zoo_task") if key in values}
    return parsed(
        {**own, **sizes, "model_type": STATIC.model_type, "architectures": [*STATIC.architectures]},
        place / CONFIG,
        writer=WRITER,
        place=place,
        tensors=lambda: [table],
        tokenizers=lambda: (_without_special_tokens(said, place),) * 2,
        assumed=_assumed(said, place),
    )


def _table(table: Tensor | None, tensors: Mapping[str, Tensor], place: Path) -> Tensor:
    """Return the tensor that has a row for each token id.

    model2vec may store fewer rows, the number of the row of each token, and a weight of each token.
    """
    mapping, weights = tensors.get(MAPPING), tensors.get(WEIGHTS)
    rows = mapping.shape if mapping else table.shape[:1] if table else ()
    has_weights = weights is None or weights.shape == rows
    if table is None or len(table.shape) != 2 or len(rows) != 1 or not has_weights:
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        raise ValueError(
            f"the weights in {place} have the shapes {shown(shapes)}: expected {OF_SENTENCE_TRANSFORMERS} or {TABLE} "
            f"with a row for each token, optionally {MAPPING} with the row of each token and {WEIGHTS} with a number "
            "for each token. Fetch or write the folder again."
        )
    if mapping is None and weights is None:
        return table._replace(name=TABLE)
    return Tensor(TABLE, (*rows, table.shape[1]), "float32", partial(_folded, table, mapping, weights, place))


def _folded(table: Tensor, mapping: Tensor | None, weights: Tensor | None, place: Path) -> np.ndarray:
    """Return a row for each token id, times its weight."""
    vectors = table.read().astype(np.float32)
    if mapping is not None:
        numbers = mapping.read()
        if numbers.dtype.kind not in "iu" or (numbers < 0).any() or (numbers >= len(vectors)).any():
            raise ValueError(
                f"{MAPPING} in {place} has numbers that are no row of {len(vectors)}. Fetch or write the folder again."
            )
        vectors = vectors[numbers]
    return vectors if weights is None else vectors * weights.read().astype(np.float32)[:, None]


def _longest(tokenizer: Mapping[str, Any], place: Path) -> int:
    """Return the tokens of the longest text: as tokenizer.json says, else what its library reads."""
    truncation = tokenizer.get("truncation") or {}
    if isinstance(truncation, Mapping) and isinstance(truncation.get("max_length"), int):
        return truncation["max_length"]
    return OF_ENCODE if _is_of_model2vec(place) else STATIC.configure(1, 1).max_length


def _is_of_model2vec(place: Path) -> bool:
    return not any(map(is_sentence_transformer, (place, place.parent)))


def _assumed(tokenizer: Mapping[str, Any], place: Path) -> list[str]:
    """Return a clause on unknown tokens, if model2vec, which has no modules.json, would leave some out."""
    model = tokenizer.get("model")
    has_unknown = isinstance(model, Mapping) and (model.get("unk_token") or model.get("unk_id")) is not None
    clause = "unknown tokens count in the mean of a text, as in sentence-transformers; model2vec leaves them out"
    return [clause] if has_unknown and _is_of_model2vec(place) else []


def _without_special_tokens(values: Mapping[str, Any], place: Path) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json; both libraries add no special tokens to a text."""
    tokenizer = Tokenizer.from_file(place / TOKENIZER)  # checks the file
    bare = {**values, "post_processor": None, "truncation": None, "padding": None}
    return tokenizer.with_library(tokenizers.Tokenizer.from_str(json.dumps(bare)))
