"""The outputs of a task's model for token ids, for runtimes whose clients have the tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformers.utils.tensor_types import Tensor

Tensors = dict[str, Tensor]
# The inputs by the names that `transformers` gives them, in its order, and ours.
COLUMNS = {"input_ids": "token_ids", "attention_mask": "padding_mask", "token_type_ids": "segment_ids"}


def logits_alone(outputs: Tensors) -> Tensors:
    """Return the logits of a model, as classes of `transformers` with one head name them."""
    return {"logits": outputs["logits"]}


def no_more_columns(token_ids: Tensor) -> Tensors:
    """Return no inputs: for models that take only what the tokenizer gives."""
    return {}


class FromIds(NamedTuple):
    """The outputs of a model for token ids, by the names that the class of `transformers` and Optimum give them.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("classification", config, tokenizer, labels=["negative", "positive"])
    >>> from_ids = task.parts.answers.from_ids
    >>> from_ids.names
    ('input_ids', 'attention_mask', 'token_type_ids')
    >>> from_ids.run(ops.ones((1, 3), "int32"), ops.ones((1, 3), "int32"), ops.zeros((1, 3), "int32"))["logits"].shape
    TensorShape([1, 2])
    """

    model: keras.Model  # takes a dict of `token_ids` and perhaps others, (B, T), or (B, C, T) for C choices
    num_segments: int  # of the model: with one, it is no input
    outputs: Callable[[Tensors], Tensors] = logits_alone  # from the model's outputs to the named ones
    more_inputs: Callable[[Tensor], Tensors] = no_more_columns  # from token ids to inputs that no tokenizer gives

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the inputs."""
        has_segments = self.num_segments > 1 and "segment_ids" in self.model.input
        return (*COLUMNS,) if has_segments else (*COLUMNS,)[:2]

    @property
    def rank(self) -> int:
        """Return the number of axes of each input."""
        return len(self.model.input["token_ids"].shape)

    def run(self, *columns: Tensor) -> Tensors:
        """Return the named outputs in float32, for integers of `names` in their order."""
        given = {COLUMNS[name]: ops.cast(column, "int32") for name, column in zip(self.names, columns, strict=True)}
        given |= self.more_inputs(given["token_ids"])
        given.setdefault("segment_ids", ops.zeros_like(given["token_ids"]))
        outputs = self.outputs(self.model({name: given[name] for name in self.model.input}, training=False))
        return {name: ops.cast(value, "float32") for name, value in outputs.items()}

    def traced(self, scope: Callable[[], Any], dtype: str = "int32") -> Any:
        """Return `run` as a `tf.function` that is traced in a scope, with inputs of any number of rows and tokens."""
        import tensorflow as tf

        def run(*columns: Any) -> Tensors:
            with scope():
                return self.run(*columns)

        specs = [tf.TensorSpec([None] * self.rank, dtype, name=name) for name in self.names]
        return tf.function(run, input_signature=specs, autograph=False)

    @property
    def examples(self) -> dict[str, Any]:
        """Return values of the inputs that warm a server up: one token."""
        one: Any = 1
        for _ in range(self.rank):
            one = [one]
        return {name: one if name == "attention_mask" else _zeros(self.rank) for name in self.names}


def _zeros(rank: int) -> Any:
    return 0 if rank == 0 else [_zeros(rank - 1)]
