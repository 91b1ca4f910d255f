"""Peak memory and time of a training step of a BERT-base of 12 blocks, with and without rematerialisation.

    python benchmarks/remat.py            # TensorFlow: the memory of a process of its own
    KERAS_BACKEND=jax python benchmarks/remat.py    # JAX: what the compiled step asks for

Prints a line for each setting: the most memory, what of it came with the steps, and the seconds of a step.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

BATCH, LENGTH, STEPS = 2, 512, 3


def make(remat: bool, jit: bool):
    """A compiled model and one batch for it."""
    import keras
    import numpy as np

    from keras_transformers.families import bert
    from keras_transformers.models import encoder
    from keras_transformers.training.losses.target_losses import CrossEntropy
    from keras_transformers.training.rematerialize import rematerialize

    keras.utils.set_random_seed(0)
    model = encoder(bert(1_000, num_layers=12, num_heads=12, hidden_dim=768, max_length=LENGTH))
    rematerialize(model, remat)
    model = keras.Model(model.input, keras.layers.Dense(2)(model.output["hidden_states"]))
    model.compile(keras.optimizers.SGD(1e-3), CrossEntropy(), jit_compile=jit)
    ids = np.random.default_rng(0).integers(1, 1_000, (BATCH, LENGTH)).astype("int32")
    return model, {name: (ids if name == "token_ids" else ids // ids) for name in model.input}, ids % 2


def peak() -> float:
    """Of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def on_tensorflow(remat: bool, jit: bool) -> tuple[float, float, float, float]:
    model, inputs, labels = make(remat, jit)
    before, seconds, losses = peak(), [], []
    for _ in range(STEPS + 1):
        start = time.perf_counter()
        losses.append(float(model.train_on_batch(inputs, labels)))
        seconds.append(time.perf_counter() - start)
    return peak(), peak() - before, min(seconds[1:]), losses[-1]


def on_jax(remat: bool) -> tuple[float, float, float, float]:
    import jax

    model, inputs, labels = make(remat, jit=True)
    model.train_on_batch(inputs, labels)  # makes the variables of loss, metrics and optimizer
    groups = (model.trainable_variables, model.non_trainable_variables, model.optimizer.variables)
    state = tuple([variable.value for variable in group] for group in (*groups, model.metrics_variables))
    step = jax.jit(model.train_step, donate_argnums=0).lower(state, (inputs, labels, None)).compile()
    sizes, seconds = step.memory_analysis(), []
    for _ in range(STEPS):
        start = time.perf_counter()
        logs, state = step(state, (inputs, labels, None))
        jax.block_until_ready(state)
        seconds.append(time.perf_counter() - start)
    temporary = sizes.temp_size_in_bytes / 2**20
    whole = temporary + (sizes.argument_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes) / 2**20
    return whole, temporary, min(seconds), float(logs["loss"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["kept", "remat"], help="this setting alone, in this process")
    parser.add_argument("--jit", action="store_true", help="compile with XLA on TensorFlow")
    options = parser.parse_args()
    if options.only is None:
        jit = ["--jit"] if options.jit else []
        for setting in ("kept", "remat"):
            subprocess.run([sys.executable, __file__, "--only", setting, *jit], check=True)
        return
    import keras

    remat, backend = options.only == "remat", keras.config.backend()
    measured = on_jax(remat) if backend == "jax" else on_tensorflow(remat, options.jit)
    print(
        f"{backend}{' jit' if options.jit else ''} {options.only}: peak {measured[0]:.0f} MB, with the steps "
        f"{measured[1]:.0f} MB, {measured[2]:.2f} s a step, loss {measured[3]:.6f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
