"""TensorFlow checkpoints and graphs that no other reader takes: the error says what they hold."""

from __future__ import annotations

from pathlib import Path

from keras_transformers.checkpoints.formats.tf_checkpoint import (
    GRAPH,
    VALUE,
    find_prefix,
    load_checkpoint,
    read_variables,
)
from keras_transformers.checkpoints.stored import Stored, UserOptions
from keras_transformers.utils.untrusted import shown

READ = "a BERT of google-research/bert, TF-Hub or Model Garden, a GPT-2 of openai/gpt-2, a Transformer of OpenNMT-tf 2"


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Refuse a checkpoint that no other reader has taken."""
    prefix = find_prefix(place)
    if prefix is None:
        graphs = [path.name for pattern in ("*.meta", "*.pb", "*.pbtxt") for path in sorted(place.glob(pattern))]
        if graphs:
            raise ValueError(
                f"{place} holds the graph {shown(graphs)} and no checkpoint: expected its weights, PREFIX.index and "
                "PREFIX.data-00000-of-00001. Fetch them too; weights that are frozen in a graph are not read."
            )
        return None
    reader = load_checkpoint(prefix)
    variables = read_variables(prefix, reader)
    if not variables:
        held = sorted(key for key in reader.get_variable_to_shape_map() if key != GRAPH)
        raise ValueError(
            f"{prefix} holds no weights of a model, only what an optimizer or a training loop keeps, such as "
            f"{shown(held)}: expected {READ}. Save the checkpoint with the model in it."
        )
    names = [key.removesuffix(VALUE) for key in variables]
    raise ValueError(f"{prefix} is a checkpoint of another model: expected {READ}. Its variables are {shown(names)}.")
