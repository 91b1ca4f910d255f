"""AdamW that takes the same step on any number of replicas and micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training.workers.distribute import all_reduce_sum, dense, on_tensorflow, run_if
from keras_transformers.utils.keras_private import adam_moments, is_decayed, optimized_variables
from keras_transformers.utils.number_checks import is_finite, is_number, is_size

# gamma and beta belong to layer norm, scale to RMS norm, and "positions/embeddings" to relative positions only.
NO_DECAY = ("bias", "gamma", "beta", "scale", "positions/embeddings")

SCHEDULED = (
    "the learning rate follows a schedule, so that nothing else can set it: {}. Expected a constant one: in task.fit "
    "learning_rate= a number with schedule='constant'; for task.model.fit, task.compile() before it; in AdamW a "
    "number. Or leave the callback that sets it out."
)


@keras.saving.register_keras_serializable("keras_transformers")
class AdamW(keras.optimizers.AdamW):
    """AdamW with clipping by global norm, decay exclusions, gradient accumulation and weight averaging.

    For fine-tuning and pre-training, with the losses of `training.losses`. Unlike `keras.optimizers.AdamW` it

    - clips the gradient of the whole batch: Keras clips each replica's gradient before the sum;
    - accumulates gradients under `MirroredStrategy` too;
    - counts updates, not micro-batches, in `iterations` and so for the learning rate, and averages weights once per
      update;
    - keeps its arguments in a saved model.

    In mixed_float16 on several replicas, wrap it in `training.loss_scale.LossScaleOptimizer`, as tasks do.

    Paper: Loshchilov and Hutter 2017, https://arxiv.org/abs/1711.05101.

    Args:
        learning_rate: Float or `LearningRateSchedule` (a function of the number of updates).
        weight_decay: Each update subtracts `learning_rate * weight_decay` times the weight.
        clip_norm: Largest global norm of the gradient; None: no clipping.
        accumulation_steps: Micro-batches per update. Their gradients are averaged. To divide by the number of targets
            in all of them, weight each micro-batch by `accumulation_steps * its targets / all targets`.
        ema_momentum: Momentum of the moving averages of the weights. `fit` ends with the averages as weights, and
            `keras.callbacks.SwapEMAWeights` can use them; None: no averages.
        beta_1: Decay of the first moment.
        beta_2: Decay of the second moment.
        epsilon: Added to the root of the second moment; 1e-6 is BERT's.
        no_decay: Variables without weight decay, by name, or by the end of the path if it has a `/`. By default these
            are biases and norms, as in BERT and GPT, and T5's biases of relative positions.
        name: Name of the optimizer.

    Raises:
        ValueError: If an argument is out of range; later, if `learning_rate` is set while it follows a schedule.

    Example:

    >>> optimizer = AdamW(2e-5, weight_decay=0.01, clip_norm=1.0, accumulation_steps=4)
    >>> AdamW.from_config(optimizer.get_config()).accumulation_steps
    4
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 1e-4,
        weight_decay: float = 0.01,
        clip_norm: float | None = 1.0,
        accumulation_steps: int = 1,
        ema_momentum: float | None = None,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        no_decay: Sequence[str] = NO_DECAY,
        name: str = "adamw",
    ):
        averages = {} if ema_momentum is None else {"use_ema": True, "ema_momentum": ema_momentum}
        _check_options(clip_norm, accumulation_steps, ema_momentum)
        for rate, number in {
            "weight_decay": weight_decay,
            "beta_1": beta_1,
            "beta_2": beta_2,
            "epsilon": epsilon,
        }.items():
            if not (is_finite(number) and number >= 0):
                raise ValueError(f"Received {rate}={number!r}; expected a number from 0 on.")
        super().__init__(learning_rate, weight_decay, beta_1, beta_2, epsilon, name=name, **averages)
        self.clip_norm = clip_norm
        self.accumulation_steps = int(accumulation_steps)
        self.no_decay = tuple(check_texts("no_decay", no_decay, is_ordered=False))

    @keras.optimizers.AdamW.learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        try:
            keras.optimizers.AdamW.learning_rate.fset(self, value)
        except TypeError as error:
            raise ValueError(SCHEDULED.format(f"received {value!r} for it")) from error

    def build(self, variables: list) -> None:
        if self.built:
            return
        self.exclude_from_weight_decay(var_list=[v for v in variables if self._is_spared(v)])
        super().build(variables)
        if self.accumulation_steps > 1:
            options = {"aggregation": "only_first_replica"}  # after the sum, all replicas assign the same values
            self._sums = [self._sum_of(v, **options) for v in variables]
            self._micro_steps = self.add_variable((), dtype="int", name="micro_steps", **options)
            self._overflows = self.add_variable((), dtype="int", name="overflows", **options)

    def _sum_of(self, variable: keras.Variable, **options: str) -> keras.Variable:
        """Create the variable for the sum of a variable's gradients; on JAX spread over the devices as that one is."""
        if on_tensorflow():
            return self.add_variable(variable.shape, dtype=variable.dtype, name="sum", **options)
        return self.add_variable_from_reference(variable, name="sum")

    def _is_spared(self, variable: keras.Variable) -> bool:
        ends = [name for name in self.no_decay if "/" in name]
        return variable.name in self.no_decay or any(variable.path.endswith(end) for end in ends)

    def apply(self, grads: Sequence, trainable_variables: Sequence | None = None) -> None:
        if not self.built:
            if trainable_variables is None:
                raise ValueError("received gradients without variables: give them, or build the optimizer first.")
            self.build(list(trainable_variables))
        sums = _sum_over_replicas([dense(g) for g in grads])
        if self.accumulation_steps == 1:
            self._step(sums, trainable_variables)
        elif on_tensorflow():
            self._accumulate(sums, trainable_variables)
        else:
            self._accumulate_stateless(sums, trainable_variables)

    def _step(self, sums: Sequence, variables: Sequence | None) -> None:
        """Update the variables from gradients that are already summed over the replicas."""
        if self.clip_norm is not None:
            sums = clip_by_global_norm(sums, self.clip_norm)
        super().apply(sums, variables)

    def _all_reduce_sum_gradients(self, grads_and_vars: Sequence[tuple]) -> Sequence[tuple]:
        """Return the gradients as they are: `apply` has summed them over the replicas, as Keras would here."""
        return grads_and_vars

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one variable as Keras does; on TensorFlow in one op, and with weight decay.

        Each of Keras' twelve ops reads and writes all weights.
        """
        if not on_tensorflow():
            super().update_step(gradient, variable, learning_rate)
            return
        import tensorflow as tf

        dtype, (first, second) = variable.dtype, adam_moments(self, variable)
        rate, step = tf.cast(learning_rate, dtype), tf.cast(self.iterations.value + 1, dtype)
        if self.weight_decay and is_decayed(self, variable):
            variable.assign_sub(variable * (rate * tf.constant(self.weight_decay, dtype)))
        beta_1, beta_2 = tf.constant(self.beta_1, dtype), tf.constant(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle, m=first.value.handle, v=second.value.handle,
            beta1_power=tf.pow(beta_1, step), beta2_power=tf.pow(beta_2, step), lr=rate,
            beta1=beta_1, beta2=beta_2, epsilon=tf.constant(self.epsilon, dtype), grad=tf.cast(gradient, dtype),
        )  # fmt: skip

    def _accumulate(self, grads: Sequence, variables: Sequence | None) -> None:
        self._add(grads)
        run_if(self._may_step, lambda: self._step(self._means(grads), variables))
        run_if(self._is_due, self._start_again)

    def _accumulate_stateless(self, grads: Sequence, variables: Sequence | None) -> None:
        """Update every time and undo it if no update is due, as JAX has no conditional assignment."""
        self._add(grads)
        state = [*optimized_variables(self), *self.variables]
        before = [v.value for v in state]
        self._step(self._means(grads), variables)
        for variable, value in zip(state, before, strict=True):
            variable.assign(ops.where(self._may_step(), variable.value, value))
        self._start_again(self._is_due())

    def skip_micro_batch(self) -> None:
        """Count a micro-batch whose gradients overflowed; its whole update is skipped."""
        if self.accumulation_steps > 1:
            self._micro_steps.assign_add(1)
            self._overflows.assign(1)
            self._start_again(self._is_due())

    def _add(self, grads: Sequence) -> None:
        for total, grad in zip(self._sums, grads, strict=True):
            if grad is not None:
                total.assign_add(grad)
        self._micro_steps.assign_add(1)

    def _is_due(self) -> Any:
        return ops.equal(self._micro_steps % self.accumulation_steps, 0)

    def _may_step(self) -> Any:
        return ops.logical_and(self._is_due(), ops.equal(self._overflows, 0))

    def _start_again(self, condition: Any = True) -> None:
        for variable in (self._overflows, *self._sums):
            variable.assign(ops.where(condition, ops.zeros_like(variable.value), variable.value))

    def finalize_variable_values(self, var_list: Sequence) -> None:
        if self.iterations.numpy():  # before the first update the averages are zero
            super().finalize_variable_values(var_list)

    def _apply_weight_decay(self, variables: Sequence) -> None:
        if self.weight_decay and not on_tensorflow():  # there `update_step` does it
            super()._apply_weight_decay(variables)

    def _means(self, grads: Sequence) -> list:
        return [
            None if g is None else s.value / self.accumulation_steps for s, g in zip(self._sums, grads, strict=True)
        ]

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        kept = ("learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "name")
        return {key: config[key] for key in kept} | {
            "clip_norm": self.clip_norm,
            "accumulation_steps": self.accumulation_steps,
            "ema_momentum": self.ema_momentum if self.use_ema else None,
            "no_decay": list(self.no_decay),
        }


def _check_options(clip_norm: Any, accumulation_steps: Any, ema_momentum: Any) -> None:
    """Raise a `ValueError` for an option of `AdamW` that is out of range."""
    if clip_norm is not None and not (is_number(clip_norm) and clip_norm > 0):
        raise ValueError(f"Received clip_norm={clip_norm!r}; expected a positive number, or None for no clipping.")
    if not is_size(accumulation_steps):
        raise ValueError(f"Received accumulation_steps={accumulation_steps!r}; expected a whole number, at least 1.")
    if ema_momentum is not None and not (is_number(ema_momentum) and 0 <= ema_momentum < 1):
        raise ValueError(
            f"Received ema_momentum={ema_momentum!r}; expected a number in [0, 1), or None for no averages."
        )


def clip_by_global_norm(grads: Sequence, clip_norm: float) -> list:
    """Scale all gradients so that their global L2 norm is at most `clip_norm`.

    None stays None; one NaN makes all NaN.

    Example:

    >>> [float(g) for g in clip_by_global_norm([np.float32(3.0), None, np.float32(4.0)], 1.0) if g is not None]
    [0.6000000238418579, 0.800000011920929]
    """
    norm = ops.sqrt(sum(_squares(g) for g in grads if g is not None))
    scale = clip_norm / ops.maximum(norm, clip_norm)
    return [None if g is None else g * ops.cast(scale, g.dtype) for g in grads]


def _squares(gradient: Any) -> Any:
    """Return the sum of squares, in float32; on TensorFlow no array of squares is made."""
    gradient = ops.cast(gradient, "float32")
    if not on_tensorflow():
        return ops.sum(ops.square(gradient))
    import tensorflow as tf

    return 2.0 * tf.nn.l2_loss(gradient)


def _sum_over_replicas(grads: Sequence) -> list:
    sums = iter(all_reduce_sum([g for g in grads if g is not None]))
    return [None if g is None else next(sums) for g in grads]
