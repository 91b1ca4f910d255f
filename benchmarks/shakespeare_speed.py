"""Training steps a second of nanoGPT's recipe for Tiny Shakespeare: torch, keras-nlp and ours in turns.

    python benchmarks/shakespeare_speed.py DATA/tinyshakespeare/input.txt [--turns 5] [--steps 100]

The recipe is that of `shakespeare_torch.py`; keras-nlp's GPT-2 has biases. Read the ratios: the turns are interleaved.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import shakespeare_torch as recipe
from shakespeare_torch import HEADS, LAYERS, LENGTH, ROWS, VOCABULARY, WIDTH, Torch
from turns import compare

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def make_task(text: str, seed: int, **compile_options: Any) -> Any:
    """The model, compiled with nanoGPT's optimizer."""
    import keras

    from keras_transformers.families import gpt2
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer
    from keras_transformers.training.optimizers.adamw import AdamW

    keras.utils.set_random_seed(seed)
    tokenizer = Tokenizer.train([text], VOCABULARY, model="character")
    options = {"dropout": 0.0, "attention_dropout": 0.0, "use_bias": False, "activation": "gelu"}
    task = Task("causal_lm", gpt2(VOCABULARY, LAYERS, HEADS, WIDTH, LENGTH, **options), tokenizer)
    peak, warmup = recipe.PEAK, recipe.WARMUP
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, recipe.STEPS - warmup, alpha=recipe.LEAST / peak, warmup_target=peak, warmup_steps=warmup
    )
    task.compile(AdamW(schedule, recipe.DECAY, recipe.CLIP, beta_2=recipe.BETA_2, epsilon=1e-8), **compile_options)
    return task


def ours(train: str, **compile_options: Any) -> Callable[[int], None]:
    """Steps by `fit`."""
    task = make_task(train, 0, **compile_options)
    dataset = task.dataset([train], packing="blocks", batch_size=ROWS, drop_remainder=True).repeat()
    return lambda steps: task.model.fit(dataset, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0)


def keras_nlp(train: str, **compile_options: Any) -> Callable[[int], None]:
    """Steps by `fit` of its GPT-2, which has biases, on the same batches."""
    import keras
    import keras_nlp as library

    source = make_task(train, 0)
    dataset = source.dataset([train], packing="blocks", batch_size=ROWS, drop_remainder=True).repeat()
    dataset = dataset.map(lambda inputs, labels: (inputs, keras.ops.maximum(labels, 0)))  # its loss knows no padding
    backbone = library.models.GPT2Backbone(
        VOCABULARY, LAYERS, HEADS, WIDTH, 4 * WIDTH, dropout=0.0, max_sequence_length=LENGTH
    )
    logits = backbone.token_embedding(backbone.output, reverse=True)
    model = keras.Model(backbone.input, logits)
    optimizer = keras.optimizers.AdamW(recipe.PEAK, recipe.DECAY, beta_2=recipe.BETA_2, global_clipnorm=recipe.CLIP)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), **compile_options)
    return lambda steps: model.fit(dataset, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0)


def torch(train: str) -> Callable[[int], None]:
    """Steps of plain torch."""
    model = Torch(train)
    ids = model.ids(train)
    return lambda steps: model.fit(ids, steps)


def speed(train: str, turns: int, steps: int) -> None:
    """Print steps a second of each competitor."""
    made = {
        "torch": torch(train),
        "keras-nlp": keras_nlp(train, jit_compile=False),
        "keras-nlp, XLA": keras_nlp(train, jit_compile=True),
        "keras-nlp, XLA, 10 at once": keras_nlp(train, jit_compile=True, steps_per_execution=10),
        "ours": ours(train),
        "ours, XLA": ours(train, jit_compile=True),
        "ours, XLA, 10 at once": ours(train, jit_compile=True, steps_per_execution=10),
    }
    compare({name: partial(run, steps) for name, run in made.items()}, turns, steps, "steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    text = options.text.read_text(encoding="utf-8")
    speed(text[: int(0.9 * len(text))], options.turns, options.steps)


if __name__ == "__main__":
    main()
