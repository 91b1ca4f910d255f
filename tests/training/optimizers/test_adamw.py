"""AdamW on one replica: Keras' steps, clipping, exclusions, accumulation, averages, half precision, saving."""

import keras
import numpy as np
import pytest

from keras_transformers import families
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.optimizers.schedules import WarmupInverseSqrt, WarmupLinear

MODELS = {
    "bert": (families.bert, encoder),
    "gpt2": (families.gpt2, decoder),
    "llama": (families.llama, decoder),
    "t5": (families.t5, encoder_decoder),
    "bart": (families.bart, encoder_decoder),
}
rng = np.random.default_rng(0)
X = rng.normal(size=(32, 5)).astype("float32")
Y = rng.integers(-1, 3, 32)
COUNTS = (Y >= 0).reshape(4, 8).sum(1)


def fitted(optimizer, batch_size=8, epochs=2, weights=None, callbacks=(), compiled=None):
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(8, "tanh"), keras.layers.LayerNormalization(), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((5,)), *layers])
    model.compile(optimizer, CrossEntropy(), jit_compile=False)
    options = {"batch_size": batch_size, "epochs": epochs, "sample_weight": weights, "callbacks": list(callbacks)}
    model.fit(X, Y, shuffle=False, verbose=0, **options)
    return model


def difference(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one.get_weights(), other.get_weights(), strict=True))


@pytest.mark.integration
@pytest.mark.parametrize("clip_norm", [None, 0.05, 100.0])
def test_equals_keras(clip_norm):
    theirs = keras.optimizers.AdamW(0.01, weight_decay=0.1, epsilon=1e-6, global_clipnorm=clip_norm)
    theirs.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    assert difference(fitted(AdamW(0.01, 0.1, clip_norm)), fitted(theirs)) < 1e-6


def test_decay_leaves_biases_and_norms_alone():
    """With a gradient of zero, all that moves is what decays."""
    optimizer = AdamW(0.1, weight_decay=0.5)
    variables = [keras.Variable(np.ones(2, "float32"), name=n) for n in ("kernel", "bias", "gamma", "beta")]
    optimizer.apply([np.zeros(2, "float32")] * 4, variables)
    assert [round(float(v.numpy()[0]), 6) for v in variables] == [0.95, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", MODELS)
def test_of_every_family_only_matrices_decay(name):
    """Norms, biases and T5's relative positions stay; projections and tables of tokens and positions decay."""
    family, model = MODELS[name]
    config = family(50, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=8, max_length=16)
    variables = model(config).trainable_variables
    before = [np.array(v) for v in variables]
    AdamW(0.1, weight_decay=0.5).apply([np.zeros(v.shape, "float32") for v in variables], variables)
    moved = {v.path for v, old in zip(variables, before, strict=True) if not np.array_equal(v, old)}
    relative = {"encoder_positions/embeddings", "decoder_positions/embeddings"} if name.startswith("t5") else set()
    assert moved == {v.path for v in variables if len(v.shape) > 1} - relative


@pytest.mark.integration
def test_accumulation_equals_one_large_batch():
    """Batches with unequal numbers of targets, weighted as the pipeline does: `k * n_micro / n_macro`."""
    weights = np.repeat(4 * COUNTS / COUNTS.sum(), 8).astype("float32")
    assert len(set(COUNTS)) > 1
    options = {"weight_decay": 0.1, "clip_norm": 0.05, "ema_momentum": 0.5}
    parts = fitted(AdamW(WarmupLinear(0.05, 2, 9), accumulation_steps=4, **options), weights=weights, epochs=3)
    whole = fitted(AdamW(WarmupLinear(0.05, 2, 9), **options), batch_size=32, epochs=3)
    assert int(parts.optimizer.iterations) == int(whole.optimizer.iterations) == 3
    assert difference(parts, whole) < 1e-6
    unweighted = fitted(AdamW(WarmupLinear(0.05, 2, 9), accumulation_steps=4, **options), epochs=3)
    assert difference(unweighted, whole) > 1e-4


@pytest.mark.integration
def test_nothing_moves_between_updates():
    model = fitted(AdamW(0.01, accumulation_steps=5, ema_momentum=0.9), epochs=1)  # 4 of 5 batches
    assert int(model.optimizer.iterations) == 0
    assert difference(model, fitted(AdamW(0.01), epochs=0)) == 0


@pytest.mark.integration
def test_fit_ends_with_the_averages_and_swaps_them_in_to_evaluate():
    plain = fitted(AdamW(0.05), epochs=1)
    averaged = fitted(AdamW(0.05, ema_momentum=0.9), epochs=1, callbacks=[keras.callbacks.SwapEMAWeights()])
    assert difference(plain, averaged) > 1e-3
    start = fitted(AdamW(0.05), epochs=0)
    assert difference(averaged, start) < difference(plain, start)


@pytest.mark.integration
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("accumulation_steps", [1, 2])
def test_mixed_precision(policy, accumulation_steps):
    previous = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        half = fitted(AdamW(0.02, accumulation_steps=accumulation_steps))
    finally:
        keras.config.set_dtype_policy(previous)
    scaled = isinstance(half.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (policy == "mixed_float16")
    assert int(half.optimizer.iterations) == 8 // accumulation_steps
    full = fitted(AdamW(0.02, accumulation_steps=accumulation_steps))
    assert difference(half, full) < 0.05 < difference(full, fitted(AdamW(0.02), epochs=0))


@pytest.mark.integration
@pytest.mark.parametrize("accumulation_steps", [1, 3])
def test_a_saved_model_keeps_arguments_and_state(tmp_path, accumulation_steps):
    rate = WarmupLinear(0.05, 2, 20)
    optimizer = AdamW(rate, 0.2, 7.0, accumulation_steps, 0.7, 0.8, 0.9, 1e-5, ["bias"], "mine")
    model = fitted(optimizer)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.get_config() == optimizer.get_config()
    assert loaded.optimizer.clip_norm == 7.0 and loaded.optimizer.no_decay == ("bias",)
    for each in (model, loaded):
        each.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    assert difference(model, loaded) == 0


def test_a_variable_without_gradient_is_left_out():
    used, unused = keras.Variable([3.0, 4.0]), keras.Variable([1.0])
    optimizer = AdamW(0.1, 0.0, clip_norm=1.0)
    optimizer.apply([np.array([3.0, 4.0], "float32"), None], [used, unused])
    assert float(unused.numpy()[0]) == 1.0 and float(used.numpy()[0]) < 3.0


OUT_OF_RANGE = [
    ("clip_norm", 0.0), ("clip_norm", -1.0), ("clip_norm", "1"), ("clip_norm", True), ("accumulation_steps", 0),
    ("accumulation_steps", 2.0), ("accumulation_steps", "2"), ("weight_decay", -1), ("weight_decay", None),
    ("weight_decay", "0.1"), ("weight_decay", float("nan")), ("ema_momentum", 1.0), ("ema_momentum", "0.9"),
    ("ema_momentum", float("nan")), ("beta_1", "x"), ("beta_2", -0.1), ("epsilon", float("inf")),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "value"), OUT_OF_RANGE)
def test_arguments_out_of_range(argument, value):
    with pytest.raises(ValueError, match=f"{argument}={value!r}; expected"):
        AdamW(0.1, **{argument: value})


def test_a_rate_that_follows_a_schedule_is_not_set():
    schedule = keras.optimizers.schedules.CosineDecay(0.1, 10)
    optimizer = AdamW(schedule)
    with pytest.raises(ValueError, match=r"follows a schedule.*received 0\.5 for it"):
        optimizer.learning_rate = 0.5
    optimizer.learning_rate = keras.optimizers.schedules.CosineDecay(0.5, 10)
    assert float(optimizer.learning_rate) == 0.5
    constant = AdamW(0.1)
    constant.learning_rate = 0.5
    assert float(constant.learning_rate) == 0.5 and constant.get_config()["learning_rate"] == 0.5


def test_one_name_is_no_list():
    with pytest.raises(ValueError, match="`no_decay`, received one str"):
        AdamW(0.1, no_decay="bias")


@pytest.mark.parity
@pytest.mark.parametrize("epsilon", [1e-8, 1e-9])
def test_adam_of_the_transformer_is_that_of_torch(epsilon):
    """Betas 0.9 and 0.98, no decay, inverse square root warm-up, the norm of the gradient clipped to 25."""
    import torch

    rate = WarmupInverseSqrt(0.005, 3, initial=1e-7)
    optimizer = AdamW(rate, 0.0, 25.0, beta_2=0.98, epsilon=epsilon)
    ours = keras.Variable(np.ones(7, "float32"))
    theirs = torch.nn.Parameter(torch.ones(7))
    torch_adam = torch.optim.Adam([theirs], betas=(0.9, 0.98), eps=epsilon)
    for step in range(12):
        gradient = rng.normal(size=7).astype("float32") * (100 if step % 2 else 1)
        optimizer.apply([gradient], [ours])
        theirs.grad = torch.tensor(gradient)
        torch.nn.utils.clip_grad_norm_([theirs], 25.0)
        torch_adam.param_groups[0]["lr"] = float(rate(step))
        torch_adam.step()
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), atol=1e-6)


def test_without_decay_weights_are_not_read_for_it(monkeypatch):
    optimizer = AdamW(0.1, weight_decay=0.0)
    monkeypatch.setattr(optimizer, "_use_weight_decay", lambda variable: pytest.fail("asked for decay"))
    optimizer.apply([np.zeros(2, "float32")], [keras.Variable(np.ones(2, "float32"))])
