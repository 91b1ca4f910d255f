"""nanoGPT's CPU recipe on tinyshakespeare: its validation loss, and training steps a second beside torch and keras-nlp.

    python benchmarks/shakespeare.py DATA/tinyshakespeare/input.txt [--seeds 0 1 2] [--speed]

The recipe (github.com/karpathy/nanoGPT, `config/train_shakespeare_char.py` with its README's options for a CPU): 4
layers, 4 heads, width 128, 64 characters, 12 rows a step, 2,000 steps, no biases, no dropout. It publishes a loss of
1.88 on 20 random batches of the last tenth of the text; here it is the mean over all of that tenth, of our model and of
the same recipe in plain torch. With --speed the turns of the competitors are interleaved: read the ratios.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from turns import compare

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

VOCABULARY, LAYERS, HEADS, WIDTH, LENGTH, ROWS, STEPS = 65, 4, 4, 128, 64, 12, 2000
PEAK, LEAST, WARMUP, DECAY, CLIP, BETA_2 = 1e-3, 1e-4, 100, 0.1, 1.0, 0.99


def split(path: Path) -> tuple[str, str]:
    """The first nine tenths of the text, and the rest."""
    text = path.read_text(encoding="utf-8")
    return text[: int(0.9 * len(text))], text[int(0.9 * len(text)) :]


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
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, STEPS - WARMUP, alpha=LEAST / PEAK, warmup_target=PEAK, warmup_steps=WARMUP
    )
    task.compile(AdamW(schedule, DECAY, CLIP, beta_2=BETA_2, epsilon=1e-8), **compile_options)
    return task


def quality(train: str, valid: str, seed: int) -> float:
    """Loss over the whole of the validation text after the recipe."""
    task = make_task(train + valid, seed, jit_compile=True, steps_per_execution=10)
    dataset = task.dataset([train], packing="blocks", batch_size=ROWS, seed=seed, drop_remainder=True)
    task.model.fit(dataset.repeat(), steps_per_epoch=STEPS, epochs=1, shuffle=False, verbose=0)
    return task.evaluate([valid], batch_size=64, dataset_options={"packing": "blocks"})["cross_entropy"]


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
    optimizer = keras.optimizers.AdamW(PEAK, DECAY, beta_2=BETA_2, global_clipnorm=CLIP)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), **compile_options)
    return lambda steps: model.fit(dataset, steps_per_epoch=steps, epochs=1, shuffle=False, verbose=0)


class Torch:
    """The recipe in plain torch: nanoGPT's model, with fused attention and optimizer, on rows drawn at random."""

    def __init__(self, text: str, seed: int = 0):
        import torch
        from torch import nn

        torch.set_num_threads(2)
        torch.manual_seed(seed)
        self.torch, self.letters, self.updates = torch, sorted(set(text)), 0
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.body = nn.Sequential(*(self._block(nn) for _ in range(LAYERS)), nn.LayerNorm(WIDTH, bias=False))
        self.weights = [*self.tokens.parameters(), *self.positions.parameters(), *self.body.parameters()]
        matrices, norms = ([w for w in self.weights if (w.ndim > 1) == wanted] for wanted in (True, False))
        for weight in matrices:
            nn.init.normal_(weight, 0.0, 0.02)
        for block in self.body[:-1]:
            for layer in (block.mix, block.outer):
                nn.init.normal_(layer.weight, 0.0, 0.02 / math.sqrt(2 * LAYERS))
        groups = [{"params": matrices, "weight_decay": DECAY}, {"params": norms, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, PEAK, (0.9, BETA_2), fused=True)

    def _block(self, nn: Any) -> Any:
        from torch.nn import functional

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, bias=False) for _ in range(2))
                self.heads, self.mix = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
                self.inner = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
                self.outer = nn.Linear(4 * WIDTH, WIDTH, bias=False)

            def forward(self, x):
                shape = (len(x), LENGTH, HEADS, WIDTH // HEADS)
                parts = self.heads(self.norms[0](x)).split(WIDTH, 2)
                query, key, value = (part.view(shape).transpose(1, 2) for part in parts)
                mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
                x = x + self.mix(mixed.transpose(1, 2).reshape(x.shape))
                return x + self.outer(functional.gelu(self.inner(self.norms[1](x))))

        return Block()

    def ids(self, text: str) -> Any:
        number = {letter: i for i, letter in enumerate(self.letters)}
        return self.torch.tensor([number[letter] for letter in text])

    def loss(self, rows: Any) -> Any:
        states = self.body(self.tokens(rows[:, :-1]) + self.positions.weight)
        logits = states @ self.tokens.weight.T
        return self.torch.nn.functional.cross_entropy(logits.view(-1, VOCABULARY), rows[:, 1:].reshape(-1))

    def fit(self, ids: Any, steps: int) -> None:
        for _ in range(steps):
            progress = min(max(self.updates - WARMUP, 0) / (STEPS - WARMUP), 1.0)
            rate = LEAST + (PEAK - LEAST) * (1 + math.cos(math.pi * progress)) / 2
            for group in self.optimizer.param_groups:
                group["lr"] = rate * min(1.0, (self.updates + 1) / (WARMUP + 1))
            starts = self.torch.randint(len(ids) - LENGTH, (ROWS, 1)) + self.torch.arange(LENGTH + 1)
            self.optimizer.zero_grad()
            self.loss(ids[starts]).backward()
            self.torch.nn.utils.clip_grad_norm_(self.weights, CLIP)
            self.optimizer.step()
            self.updates += 1

    def evaluate(self, text: str) -> float:
        """The loss over all whole rows of a text."""
        ids = self.ids(text)
        count = (len(ids) - 1) // LENGTH
        rows = ids[self.torch.arange(count)[:, None] * LENGTH + self.torch.arange(LENGTH + 1)]
        with self.torch.no_grad():
            parts = rows.split(64)
            return sum(float(self.loss(part)) * len(part) for part in parts) / count


def torch_quality(train: str, valid: str, seed: int) -> float:
    """What the recipe gives in torch, measured as ours."""
    model = Torch(train + valid, seed)
    model.fit(model.ids(train), STEPS)
    return model.evaluate(valid)


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
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    train, valid = split(arguments.text)
    if arguments.speed:
        speed(train, arguments.turns, steps=100)
    for name, measure in {"ours": quality, "torch": torch_quality}.items():
        losses = []
        for seed in arguments.seeds:
            begin = time.perf_counter()
            losses.append(measure(train, valid, seed))
            print(f"{name}, seed {seed}: {losses[-1]:.4f} ({time.perf_counter() - begin:.0f} s)", flush=True)
        if losses:
            spread = statistics.stdev(losses) if len(losses) > 1 else math.nan
            print(f"{name}: mean {statistics.mean(losses):.4f}, standard deviation {spread:.4f}", flush=True)


if __name__ == "__main__":
    main()
