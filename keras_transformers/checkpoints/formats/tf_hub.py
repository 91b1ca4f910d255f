"""SavedModels of TF-Hub (now on Kaggle) that hold a BERT: read from their variables, no graph is run or parsed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from keras_transformers.checkpoints.formats import google_bert, tf_models
from keras_transformers.checkpoints.formats.bert_checkpoint import Facts, find_vocabulary, store
from keras_transformers.checkpoints.formats.tf_checkpoint import (
    VALUE,
    find_prefix,
    is_object_based,
    load_checkpoint,
    read_variables,
)
from keras_transformers.checkpoints.stored import Stored, UserOptions
from keras_transformers.utils.untrusted import shown

WRITER = "TF-Hub"
GRAPHS = ("saved_model.pb", "saved_model.pbtxt", "tfhub_module.pb")
LOWER_CASE = f"do_lower_case{VALUE}"
OURS = re.compile(r"(?:.*/)?(?:token_embedding/embeddings|(?:en|de)coder_block_\d+/.*)")
WARM_UP = "assets.extra/tf_serving_warmup_requests"
IMAGE = re.compile(r"(?:.*/)?(?:conv|batch_norm|bn|block|stem)[^/]*/.*", re.IGNORECASE)


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read the folder of a SavedModel, with `variables/` and `assets/vocab.txt`."""
    if not any((place / name).is_file() for name in GRAPHS):
        return None
    prefix = find_prefix(place / "variables") if (place / "variables").is_dir() else None
    if prefix is None:
        raise ValueError(
            f"{place} is a SavedModel without variables/variables.index: expected one that holds a BERT. Fetch the "
            "files of its folder `variables` too, or give the folder of the model that it was exported from."
        )
    reader = load_checkpoint(prefix)
    if not is_object_based(reader):
        return _read_module(place, prefix, reader, user_options)
    objects = tf_models.read_objects(prefix, reader)
    if not tf_models.is_bert(objects):
        _refuse(place, [tensor.name for tensor in objects.variables.values()])
    lowercase = None
    if LOWER_CASE in objects.variables:
        lowercase = bool(objects.variables[LOWER_CASE].read())
    variables = {key: tensor for key, tensor in objects.variables.items() if key != LOWER_CASE}
    bert = tf_models.read_bert(objects._replace(variables=variables), place)
    options = {"hidden_act": "gelu_new", "num_attention_heads": bert.num_heads}
    facts = Facts(WRITER, place, bert.tensors, options, prefix, find_vocabulary(place / "assets"), lowercase)
    return store(facts._replace(architecture=bert.architecture, assumed=bert.assumed), user_options)


def _read_module(place: Path, prefix: Path, reader: object, user_options: UserOptions) -> Stored:
    """Read a module of TensorFlow 1, which has the names of google-research/bert."""
    variables = read_variables(prefix, reader)
    if not any(map(google_bert.BERT.fullmatch, variables)):
        _refuse(place, [*variables])
    tensors = google_bert.to_torch(variables, prefix)
    clause = "the activation is gelu, as in the models that Google published"
    vocabulary = find_vocabulary(place / "assets")
    return store(
        Facts(WRITER, place, tensors, {"hidden_act": "gelu_new"}, prefix, vocabulary, assumed=[clause]), user_options
    )


def _refuse(place: Path, names: list[str]) -> NoReturn:
    """Raise the error of a SavedModel of another model."""
    if (place / WARM_UP).is_file() or sum(bool(OURS.fullmatch(name)) for name in names) > 1:
        raise ValueError(
            f"{place} is a SavedModel of a model of this library, as `task.export` writes it to be served: it holds "
            "no configuration and no tokenizer to train on with. Give the folder that `task.save` wrote."
        )
    kind = " It seems to be a model of images." if any(map(IMAGE.fullmatch, names)) else ""
    held = f"its variables are {shown(sorted({*names}))}" if names else "it holds no variables"
    raise ValueError(
        f"{place} is a SavedModel that holds no BERT encoder: {held}.{kind} Expected an encoder of TF-Hub, such as "
        "bert_en_uncased_L-12_H-768_A-12, or the folder of a model that is not exported."
    )
