"""The head of a cross-encoder: the family's classifier, or pooling and layers as sentence-transformers has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.settings.sentence_transformers import TASK as OF_VECTORS
from keras_transformers.heads import text_classification_head
from keras_transformers.heads.text_vectors import pooled, vector_layers
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.vectors.vector_options import check_layers, check_pooling
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.untrusted import shown


class ScoreHead:
    """A head that scores a text, or a pair of texts.

    Args:
        setup: Setup of the task.
        count: Scores of a text.
        pooling: As in `tasks.sentence_embedding`; None for the classifier of the family.
        dense: Layers behind the pooling, the last of which has as many units as there are scores; none without pooling.

    Attributes:
        layer: Name of the layer whose outputs are the scores.

    Raises:
        ValueError: The pooling or a layer is unknown, the last layer has another number of units, or there are layers
            and no pooling.
    """

    def __init__(self, setup: Setup, count: int, pooling: Any, dense: Any):
        if setup.config.kind == "decoder" and (pooling is not None or dense):
            raise ValueError(
                f"pooling and dense are for encoders: received {shown(pooling)} and {shown(dense)} for a decoder, "
                "whose last token is read. Leave them out."
            )
        self.setup, self.count, self.pooling, self.dense = setup, count, pooling, check_layers(dense)
        self.ways = [] if pooling is None else check_pooling(pooling)
        self.layer = f"vector_dense_{len(self.dense) - 1}" if self.ways else "classifier"
        if not self.ways and self.dense:
            raise ValueError(f"dense layers follow a pooling: received {shown(dense)} and no pooling. Give both.")
        if self.ways and (not self.dense or self.dense[-1].get("units") != count):
            raise ValueError(
                f"with pooling={shown(pooling)}, dense has to end in a layer of {count} units, one for each score: "
                f"received {shown(dense)}. Without pooling the model has the classifier of its family."
            )

    def scores(self, hidden_states: Tensor, padding_mask: Tensor) -> Tensor:
        """Return the scores (B, C) of hidden states (B, T, D)."""
        if not self.ways:
            config, dtype = self.setup.config, self.setup.dtype
            return text_classification_head(config, hidden_states, padding_mask, self.count, dtype)
        vectors = pooled(self.ways, hidden_states, padding_mask)
        for layer in vector_layers(self.dense):
            vectors = layer(vectors)
        return vectors

    def saved(self, activation: str, prompts: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the options of `save_folder` that write the head, its activation and its prompts."""
        modules = {"pooling": self.pooling, "dense": self.dense, "activation": activation, **(prompts or {})}
        bare = {"architecture": architecture_of(OF_VECTORS, self.setup.config.family)} if self.ways else {}
        labels = [f"LABEL_{number}" for number in range(self.count)]
        return {"labels": labels, "activation": activation, "sentence_transformer": modules, **bare}
