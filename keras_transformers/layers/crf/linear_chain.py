"""A conditional random field over the labels of a text, and the layer that finds the best path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.layers.attention.given_masks import Sizes, checked_padding
from keras_transformers.layers.crf.path_scores import best_path, packed, unpacked
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_positive, check_shape, check_vectors
from keras_transformers.layers.interface.layer_options import Layer
from keras_transformers.utils.number_checks import is_count
from keras_transformers.utils.tensor_types import Tensor

BOUNDARY = -1
FORBIDDEN = -1e4  # its exponential is 0, while the score of a text that has such a step is finite


@keras.saving.register_keras_serializable("keras_transformers")
class CRF(Layer):
    """Linear-chain conditional random field: labels that depend on the labels before them.

    It adds a score for each step from a label to the next one, learned with the model by `CRFLoss`. `Viterbi` returns
    the labels of its output, and `BestPath` measures them. All is computed in float32.
    Papers: Lafferty et al. 2001, "Conditional Random Fields", https://repository.upenn.edu/cis_papers/159; on top of a
    neural network, Lample et al. 2016, https://arxiv.org/abs/1603.01360.

    Args:
        forbidden: Pairs of labels (from, to) of which the second never follows the first; -1 is the boundary of a text:
            (-1, 2) if none begins with label 2, (2, -1) if none ends with it.
        scale: Factor of the weights: the scores of steps are `scale` times the weights. Adam changes a weight by about
            the learning rate in each update, whatever its gradient: at rates of fine-tuning, such as 2e-4, scores that
            are weights would stay near zero.
        initializer: Keras initializer of the weights.

    Call arguments:
        scores: (B, T, C), the score of each label at each position.
        padding_mask: (B, T), non-zero for positions of the chain: the others, anywhere, have no label. Keras' mask of
            `scores` if None; without one, all.
        mask: Keras' mask of `scores`.

    Returns:
        The scores of paths, float32 (B, T + C + 1, C + 1), for `CRFLoss`, `BestPath` and `Viterbi`.

    Raises:
        ValueError: A pair is not of two labels, or the scores have another shape.

    Example:

    >>> layer = CRF(forbidden=[(-1, 1)])
    >>> scores = layer(np.array([[[1.0, 2.0], [0.0, 3.0]]]))
    >>> tuple(scores.shape), np.array(Viterbi()(scores)).tolist()
    ((1, 5, 3), [[0, 1]])
    """

    def __init__(
        self, forbidden: Sequence[Sequence[int]] = (), scale: float = 1.0, initializer: Any = "zeros", **kwargs: Any
    ):
        super().__init__(**kwargs)
        check_positive(scale=scale)
        self.supports_masking, self.autocast = True, False
        self.scale, self.initializer = scale, initializer
        if not isinstance(forbidden, (list, tuple, np.ndarray)):
            raise ValueError(f"forbidden must be a list of pairs of labels: received {forbidden!r}.")
        self.forbidden = [_pair(pair) for pair in forbidden]

    def build(self, scores_shape):
        check_shape(scores_shape, "scores")
        self.expect_width(scores_shape)
        count = scores_shape[-1]
        options = {"initializer": self.initializer, "autocast": False}
        self.transitions = self.add_weight((count, count), name="transitions", **options)  # to the column's label
        self.start_transitions = self.add_weight((count,), name="start_transitions", **options)
        self.end_transitions = self.add_weight((count,), name="end_transitions", **options)
        self.penalties = _penalties(self.forbidden, count)

    def call(self, scores, padding_mask=None, mask=None):
        check_vectors(scores=scores)
        padding_mask = carried(self, scores, mask, "scores") if padding_mask is None else padding_mask
        if padding_mask is None:
            real = ops.ones_like(scores[..., 0])  # (B, T)
        else:
            sizes = Sizes(scores.shape[0], None, scores.shape[1], scores.shape[1])
            real = checked_padding(padding_mask, sizes)[:, 0]  # (B, T)
        return packed(scores, real, self.steps())

    def steps(self) -> Tensor:
        """Return the score of each step, float32 (C + 1, C + 1), with the boundary as the last row and column."""
        within = ops.concatenate([self.transitions, self.start_transitions[None]])  # (C + 1, C)
        ends = ops.pad(self.end_transitions, [[0, 1]])[:, None]  # (C + 1, 1)
        scores = self.scale * ops.cast(ops.concatenate([within, ends], axis=1), "float32")
        return scores + ops.convert_to_tensor(self.penalties)

    def compute_output_spec(self, scores, padding_mask=None, mask=None):
        check_vectors(scores=scores)
        batch, length, count = scores.shape
        return keras.KerasTensor((batch, length and length + count + 1, count + 1), dtype="float32")

    def compute_mask(self, *inputs: Any, **named: Any) -> None:
        """Return None: the output says which positions are real."""


@keras.saving.register_keras_serializable("keras_transformers")
class Viterbi(keras.layers.Layer):
    """The labels of the best path through a text.

    Paper: Viterbi 1967, https://doi.org/10.1109/TIT.1967.1054010.

    Call arguments:
        path_scores: (B, T + C + 1, C + 1), the output of a `CRF`.

    Returns:
        int32 (B, T), -1 for positions that are not part of the chain.

    Example:

    >>> np.array(Viterbi()(CRF()(np.array([[[1.0, 2.0], [5.0, 3.0]]]), padding_mask=np.array([[1, 0]])))).tolist()
    [[1, -1]]
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.autocast = False

    def call(self, path_scores):
        return best_path(unpacked(path_scores))

    def compute_output_spec(self, path_scores):
        batch, length, states = path_scores.shape
        return keras.KerasTensor((batch, length and length - states), dtype="int32")


def _pair(pair: Any) -> list[int]:
    is_pair = isinstance(pair, (list, tuple, np.ndarray)) and len(pair) == 2
    if not is_pair or not all(number == BOUNDARY or is_count(number) for number in pair):
        raise ValueError(
            "forbidden must be pairs of labels (from, to), numbers from 0 on, or -1 for the boundary of a text: "
            f"received {pair!r}."
        )
    return [int(number) for number in pair]


def _penalties(forbidden: list[list[int]], count: int) -> np.ndarray:
    """Return what is added to each step (C + 1, C + 1)."""
    if wrong := [pair for pair in forbidden if max(pair) >= count]:
        raise ValueError(f"forbidden has the pair {wrong[0]}: there are the labels 0 to {count - 1}, and -1.")
    penalties = np.zeros((count + 1, count + 1), np.float32)
    for before, after in forbidden:
        penalties[before, after] = FORBIDDEN  # the boundary, -1, is the last row and column
    return penalties
