"""Loss scaling for float16, on any number of replicas and micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.training.workers.distribute import all_reduce_sum


@keras.saving.register_keras_serializable("keras_transformers")
class LossScaleOptimizer(keras.optimizers.LossScaleOptimizer):
    """Keras' `LossScaleOptimizer`, which skips a step if the gradients of any replica overflow.

    For `mixed_float16`, around `AdamW`. Keras checks the gradients of the first replica only, before they are summed:
    an overflow in another one makes all weights NaN. With gradient accumulation, an overflow in one micro-batch skips
    the whole update; the next update starts with a new micro-batch.

    Paper: Micikevicius et al. 2017, "Mixed Precision Training", https://arxiv.org/abs/1710.03740.

    Args:
        inner_optimizer: The optimizer that takes the steps.
        initial_scale: The first factor of the loss; halved at each overflow.
        dynamic_growth_steps: Steps without overflow after which the scale is doubled.

    Example:

    >>> from keras_transformers.training.optimizers.adamw import AdamW
    >>> optimizer, weight = LossScaleOptimizer(AdamW(0.1, weight_decay=0.0)), keras.Variable([1.0])
    >>> optimizer.apply([np.array([np.inf], "float32")], [weight])
    >>> float(weight[0]), float(optimizer.dynamic_scale)
    (1.0, 16384.0)
    """

    def check_finite(self, grads: Sequence) -> Any:
        overflows = ops.logical_not(super().check_finite(grads))
        return ops.equal(all_reduce_sum(ops.cast(overflows, "float32")), 0.0)

    def _stateful_handle_non_finite_grads(self) -> None:
        super()._stateful_handle_non_finite_grads()
        if hasattr(self.inner_optimizer, "skip_micro_batch"):
            self.inner_optimizer.skip_micro_batch()

    def _stateless_handle_non_finite_grads(self, optimizer_variables: Sequence, trainable_variables: Sequence) -> tuple:
        mapping = list(zip(self.variables, optimizer_variables, strict=True))
        with keras.StatelessScope(state_mapping=mapping) as scope:
            self._stateful_handle_non_finite_grads()
        return trainable_variables, [scope.get_current_value(variable) for variable in self.variables]
