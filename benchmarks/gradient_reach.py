"""How far gradients reach in small decoders, before and after they learn to recall the first token of a text.

    python benchmarks/gradient_reach.py [--seeds 3] [--steps 300] [--out benchmarks/gradient_reach.jsonl] [--plot FILE]

For each model and seed, the norm of d(output T) / d(input 1) for T = 1, 2, 4, ... 64: fresh, and after training to give
at the last place the first token of 24 random ones; and, for T = 8, 16, 24, the same with back-propagation truncated to
16 tokens. A line of the file is one run; the table holds means over the seeds. Models have two blocks of width 32,
without dropout; the convolutions are of width 3, so that they see 5 tokens.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_transformers.analysis.signals.gradient_range import (
    gradient_reach,
    plot_gradient_reach,
    truncated_texts,
    whole_texts,
)
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import convolutional, gpt2, recurrent
from keras_transformers.heads import language_model_head
from keras_transformers.models import decoder

VOCABULARY, LEARNED, ROWS, TRUNCATED = 16, 24, 64, 16
LENGTHS = (1, 2, 4, 8, 16, 24, 32, 64)
CUT_LENGTHS = (8, 16, 24)  # a graph for each: fewer
SIZES = {"vocabulary_size": VOCABULARY, "num_layers": 2, "hidden_dim": 32, "max_length": 64, "dropout": 0.0}
MODELS: dict[str, Callable[[], TransformerConfig]] = {
    **{name: lambda name=name: recurrent(**SIZES, mixer=name) for name in ("simple_rnn", "gru", "lstm")},
    "cnn": lambda: convolutional(**SIZES, kind="decoder"),
    "transformer": lambda: gpt2(**SIZES, num_heads=4, attention_dropout=0.0, initializer_range=0.1),
}
OUT = Path(__file__).with_suffix(".jsonl")


def run(name: str, seed: int, steps: int) -> list[dict]:
    """One model: a line fresh, a line trained, a line with truncated back-propagation."""
    keras.utils.set_random_seed(seed)
    config = MODELS[name]()
    body = decoder(config, dtype="float32")
    states = body.output["hidden_states"]
    logits = language_model_head(config, body.get_layer("token_embedding"), states[:, -1])
    model = keras.Model(body.input, {"logits": logits})

    text = np.random.default_rng(seed).integers(0, VOCABULARY, max(LENGTHS))
    lines = []
    for when in ("fresh", "trained"):
        if when == "trained":
            accuracy = train(model, seed, steps)
        embedded = keras.ops.convert_to_numpy(body.get_layer("token_embedding")(text[None]))[0]  # (T, D)
        reach = gradient_reach(whole_texts(config, body), embedded)
        norms = {length: reach(length) for length in LENGTHS}
        lines.append({"model": name, "seed": seed, "when": when, "norms": norms})
    lines[-1] |= {"steps": steps, "accuracy": accuracy}
    truncated = gradient_reach(truncated_texts(config, body, TRUNCATED), embedded, any_length=False)
    norms = {length: truncated(length) for length in CUT_LENGTHS}
    return [*lines, {"model": name, "seed": seed, "when": f"trained, cut at {TRUNCATED}", "norms": norms}]


def train(model: keras.Model, seed: int, steps: int) -> float:
    """Teach it to give the first token; the accuracy on texts that it has not seen."""
    random = np.random.default_rng(seed + 1000)
    texts = random.integers(0, VOCABULARY, (ROWS * (steps + 8), LEARNED)).astype("int32")
    inputs, labels = {"token_ids": texts, "padding_mask": np.ones_like(texts)}, {"logits": texts[:, 0]}
    seen = ROWS * steps
    data = tf.data.Dataset.from_tensor_slices((inputs, labels))
    model.compile(
        keras.optimizers.Adam(3e-3, clipnorm=1.0),
        {"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": ["accuracy"]},
        jit_compile=False,
    )
    model.fit(data.take(seen).batch(ROWS), verbose=0)
    return float(model.evaluate(data.skip(seen).batch(ROWS), verbose=0, return_dict=True)["accuracy"])


def table(lines: list[dict]) -> str:
    """Means over the seeds, in Markdown."""
    rows = [["model", "when", "accuracy", *(f"T = {length}" for length in LENGTHS)]]
    rows.append(["---"] * len(rows[0]))
    for name, when in dict.fromkeys((line["model"], line["when"]) for line in lines):
        found = [line for line in lines if (line["model"], line["when"]) == (name, when)]
        scores = [line["accuracy"] for line in found if "accuracy" in line]
        norms = [[norm_of(line, length) for line in found] for length in LENGTHS]
        shown = ["" if None in values else f"{statistics.fmean(values):.2g}" for values in norms]
        rows.append([name, when, f"{statistics.fmean(scores):.2f}" if scores else "", *shown])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def norm_of(line: dict, length: int) -> float | None:
    """The norm of a line, whether it has been in a file, where keys are strings, or not; None where there is none."""
    return line["norms"].get(length, line["norms"].get(str(length)))


def main() -> None:
    """Run all that the file does not hold yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--plot", type=Path, help="a picture of the fresh and the trained models")
    options = parser.parse_args()
    options.out.touch()
    lines = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {(line["model"], line["seed"]) for line in lines}
    for name, seed in ((name, seed) for seed in range(options.seeds) for name in MODELS):
        if (name, seed) not in done:
            new = run(name, seed, options.steps)
            with open(options.out, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in new)
            lines += new
    print(table(lines))
    if options.plot:
        curves: dict[str, dict[int, list[float]]] = {}
        for line in lines:
            norms = curves.setdefault(f"{line['model']}, {line['when']}", {})
            for length in LENGTHS:
                norms.setdefault(length, []).append(norm_of(line, length))
        plot_gradient_reach({name: norms for name, norms in curves.items() if "cut" not in name}).savefig(options.plot)


if __name__ == "__main__":
    main()
