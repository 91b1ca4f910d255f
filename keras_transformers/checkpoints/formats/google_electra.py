"""Checkpoints of google-research/electra: a discriminator and its generator, and fine-tuned discriminators."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor, zeros
from keras_transformers.checkpoints.formats.bert_checkpoint import Facts, find_vocabulary, store
from keras_transformers.checkpoints.formats.google_bert import KINDS, LEAVES, as_torch
from keras_transformers.checkpoints.formats.tf_checkpoint import find_prefix, load_checkpoint, read_variables
from keras_transformers.checkpoints.stored import Stored, UserOptions, folder_of
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.untrusted import shown

WRITER = "google-research/electra"
CONFIG = "config.json"  # of `transformers`, which is put beside to convert it
ELECTRA = re.compile(r"electra/(?:embeddings|encoder)/.*")
DISCRIMINATOR = ("electra/encoder/", "electra/embeddings_project/", "discriminator_predictions/", "task_specific/")
GENERATOR = ("generator/", "generator_predictions/")
OWN_EMBEDDINGS = "generator/embeddings/"  # of a generator that does not share those of the discriminator
TABLE = re.compile(r"electra/embeddings/(?:word|position|token_type)_embeddings")
HEADS = {
    "discriminator_predictions/dense": "discriminator_predictions.dense",
    "discriminator_predictions/dense_1": "discriminator_predictions.dense_prediction",
    "generator_predictions/dense": "generator_predictions.dense",
    "generator_predictions/LayerNorm": "generator_predictions.LayerNorm",
}
OUTPUT_BIAS = "generator_predictions/output_bias"
TASK = re.compile(r"task_specific/([^/]+)/(.+)")
MASKED_LM = "masked_lm"


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder of a published or trained ELECTRA, or of one that run_finetuning.py wrote.

    The discriminator is read; or for the task `masked_lm` the generator.
    """
    prefix = find_prefix(place)
    if prefix is None:
        return None
    variables = read_variables(prefix, load_checkpoint(prefix))
    if not any(map(ELECTRA.fullmatch, variables)):
        return None
    is_generator = user_options.task == MASKED_LM and OUTPUT_BIAS in variables
    chosen = _generator(variables) if is_generator else _discriminator(variables)
    heads = {name: tensor for name, tensor in chosen.items() if TASK.fullmatch(name)}
    head, clauses = _task_head(heads, user_options.task)
    tensors = [as_torch(x, torch_name(name) or name) for name, x in chosen.items() if name not in heads] + head
    folder = folder_of(place)
    options, source = ({}, prefix) if is_generator else _read_options(folder, prefix)
    if "hidden_act" not in options:
        options["hidden_act"] = "gelu"  # the exact one, by erf
        clauses.append("the activation is gelu, as in the models that Google published")
    facts = Facts(WRITER, place, tensors, options, source, find_vocabulary(folder), assumed=clauses)
    return store(facts._replace(model_type="electra"), user_options)


def _read_options(folder: Path, prefix: Path) -> tuple[dict[str, Any], Path]:
    """Return the options of a config.json in the folder, and its path."""
    path = folder / CONFIG
    if not path.is_file():
        return {}, prefix
    values = read_object(path)
    check_types(values, KINDS, path)
    return {key: values[key] for key in KINDS if values.get(key) is not None}, path


def _discriminator(variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the variables of the discriminator; all, where there is no other network."""
    has_other = any(name.startswith("generator/encoder/") for name in variables)
    is_bare = not any(name.startswith(DISCRIMINATOR[2:]) for name in variables)
    left_out = GENERATOR if has_other or not is_bare else ()
    return {name: tensor for name, tensor in variables.items() if not (left_out and name.startswith(left_out))}


def _generator(variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the variables of the generator, under the names that the discriminator's have."""
    if not any(name.startswith("generator/encoder/") for name in variables):  # one network for both
        return {name: x for name, x in variables.items() if not name.startswith(DISCRIMINATOR[2:])}
    has_own = any(name.startswith(OWN_EMBEDDINGS) for name in variables)
    left_out = (*DISCRIMINATOR, "electra/embeddings/") if has_own else DISCRIMINATOR
    kept = {name: tensor for name, tensor in variables.items() if not name.startswith(left_out)}
    return {re.sub(r"^generator/", "electra/", name): tensor for name, tensor in kept.items()}


def _task_head(variables: Mapping[str, Tensor], task: str | None) -> tuple[list[Tensor], list[str]]:
    """Return the head of a fine-tuned model for a task, by the names of PyTorch; without one, a clause that says why.

    The variables of a classifier of texts and of one of tokens have the same names: the task tells what they are.
    """
    if not variables:
        return [], []
    matches = {name: TASK.fullmatch(name) for name in variables}
    layers = {match[2]: variables[name] for name, match in matches.items() if match}
    trained = sorted({match[1] for match in matches.values() if match})
    found = {name: make(layers) for name, make in HEADS_OF_TASKS.items()} if len(trained) == 1 else {}
    if head := found.get(task or ""):
        return head, []
    clause = f"the head of the task {shown(trained)} is left out"
    if tasks := [f"task={name!r}" for name, head in found.items() if head]:
        return [], [f"{clause}: {' or '.join(tasks)} keeps it, whichever it was trained for"]
    held = sorted({name.rpartition("/")[0] for name in layers})
    return [], [f"{clause}: the classes of `transformers` have no layers like its {shown(held)}; train a new head"]


def _token_head(layers: Mapping[str, Tensor]) -> list[Tensor]:
    """Return the classifier of tokens, one dense layer; nothing for other layers."""
    if layers.keys() != {"dense/kernel", "dense/bias"}:
        return []
    return [as_torch(layers[f"dense/{leaf}"], f"classifier.{LEAVES[leaf]}") for leaf in ("kernel", "bias")]


def _text_head(layers: Mapping[str, Tensor]) -> list[Tensor]:
    """Return the classifier of texts: one dense layer, as the two with a gelu between them that `transformers` has.

    gelu(z) - gelu(-z) = z, so that the logits z and -z in the first layer make the second one's logits z.
    """
    if not (kept := _token_head(layers)):
        return []
    weight, bias = kept
    if len(weight.shape) != 2 or 2 * weight.shape[0] > weight.shape[1]:  # no room for z and -z
        return []
    count, width = weight.shape

    def both(values: np.ndarray) -> np.ndarray:
        twice = np.concatenate([values, -values])  # (2 C, ...)
        return np.pad(twice, [(0, width - 2 * count), *[(0, 0)] * (values.ndim - 1)])

    def difference(values: np.ndarray) -> np.ndarray:
        one = np.eye(count, dtype=values.dtype)
        return np.pad(np.concatenate([one, -one], axis=1), [(0, 0), (0, width - 2 * count)])  # (C, D)

    return [
        weight.map(both)._replace(name="classifier.dense.weight"),
        bias.map(both)._replace(name="classifier.dense.bias"),
        weight.map(difference)._replace(name="classifier.out_proj.weight"),
        zeros("classifier.out_proj.bias", (count,), weight.dtype),
    ]


def _span_head(layers: Mapping[str, Tensor]) -> list[Tensor]:
    """Return the head of questions whose start and end are a dense layer each (joint_prediction was off)."""
    ends = [layers.get(f"{name}/{leaf}") for leaf in ("kernel", "bias") for name in ("dense", "dense_1")]
    if len(layers) != 4 or not all(x is not None and x.shape[-1:] == (1,) for x in ends):
        return []
    start, end, start_bias, end_bias = (x for x in ends if x is not None)

    def weight() -> np.ndarray:
        return np.concatenate([start.read(), end.read()], axis=1).T  # (2, D)

    def bias() -> np.ndarray:
        return np.concatenate([start_bias.read(), end_bias.read()])

    return [
        Tensor("qa_outputs.weight", (2, start.shape[0]), start.dtype, weight),
        Tensor("qa_outputs.bias", (2,), start.dtype, bias),
    ]


HEADS_OF_TASKS: Mapping[str, Callable[[Mapping[str, Tensor]], list[Tensor]]] = {
    "classification": _text_head,
    "token_classification": _token_head,
    "question_answering": _span_head,
}


def torch_name(name: str) -> str | None:
    """Return the name in PyTorch's classes of a variable; None if ELECTRA has no such variable.

    Example:

    >>> torch_name("discriminator_predictions/dense_1/bias"), torch_name("electra/embeddings_project/kernel")
    ('discriminator_predictions.dense_prediction.bias', 'electra.embeddings_project.weight')
    """
    if TABLE.fullmatch(name):
        return f"{name.replace('/', '.')}.weight"
    if name == OUTPUT_BIAS:
        return "generator_lm_head.bias"
    stem, _, leaf = name.rpartition("/")
    if leaf not in LEAVES:
        return None
    if stem in HEADS:
        return f"{HEADS[stem]}.{LEAVES[leaf]}"
    if not stem.startswith("electra/"):
        return None
    return f"{stem.replace('layer_', 'layer/').replace('/', '.')}.{LEAVES[leaf]}"
