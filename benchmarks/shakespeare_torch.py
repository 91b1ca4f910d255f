"""nanoGPT's recipe for Tiny Shakespeare on a CPU in plain torch: the peer of `shakespeare.py`, which runs it.

    python benchmarks/shakespeare_torch.py train.txt valid.txt metrics.jsonl [--steps 2000] [--seed 1]

The recipe is github.com/karpathy/nanoGPT's `config/train_shakespeare_char.py` with its README's options for a CPU: 4
layers, 4 heads, width 128, 64 characters, 12 rows a step, 2,000 steps, no biases, no dropout, no compilation; every 250
steps the loss of 20 random batches of held-out text. The last line is the loss over all held-out rows.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

VOCABULARY, LAYERS, HEADS, WIDTH, LENGTH, ROWS, STEPS = 65, 4, 4, 128, 64, 12, 2000
PEAK, LEAST, WARMUP, DECAY, CLIP, BETA_2 = 1e-3, 1e-4, 100, 0.1, 1.0, 0.99
EVERY, BATCHES = 250, 20  # steps between two measurements, and batches of one


class Torch:
    """The recipe in plain torch: nanoGPT's model, with fused attention and optimizer, on rows drawn at random."""

    def __init__(self, text: str, seed: int = 0, steps: int = STEPS):
        import torch
        from torch import nn

        torch.manual_seed(seed)
        self.torch, self.letters, self.updates, self.steps = torch, sorted(set(text)), 0, steps
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
            progress = min(max(self.updates - WARMUP, 0) / max(self.steps - WARMUP, 1), 1.0)
            rate = LEAST + (PEAK - LEAST) * (1 + math.cos(math.pi * progress)) / 2
            for group in self.optimizer.param_groups:
                group["lr"] = rate * min(1.0, (self.updates + 1) / (WARMUP + 1))
            self.optimizer.zero_grad()
            self.loss(self.batch(ids)).backward()
            self.torch.nn.utils.clip_grad_norm_(self.weights, CLIP)
            self.optimizer.step()
            self.updates += 1

    def batch(self, ids: Any) -> Any:
        """Rows from random places."""
        starts = self.torch.randint(len(ids) - LENGTH, (ROWS, 1))
        return ids[starts + self.torch.arange(LENGTH + 1)]

    def sampled_loss(self, ids: Any) -> float:
        """The loss of some random batches."""
        with self.torch.no_grad():
            return sum(float(self.loss(self.batch(ids))) for _ in range(BATCHES)) / BATCHES

    def evaluate(self, text: str) -> float:
        """The loss over all whole rows of a text."""
        ids = self.ids(text)
        count = (len(ids) - 1) // LENGTH
        rows = ids[self.torch.arange(count)[:, None] * LENGTH + self.torch.arange(LENGTH + 1)]
        with self.torch.no_grad():
            parts = rows.split(64)
            return sum(float(self.loss(part)) * len(part) for part in parts) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("train", "valid", "metrics"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    train, valid = (path.read_text(encoding="utf-8") for path in (options.train, options.valid))
    model = Torch(train, options.seed, options.steps)
    ids, held_out = model.ids(train), model.ids(valid)
    while model.updates < options.steps:
        model.fit(ids, min(EVERY, options.steps - model.updates))
        row = {"step": model.updates, "loss_by_character": model.sampled_loss(held_out)}
        with options.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    print(json.dumps({"loss (nats a character)": model.evaluate(valid)}), flush=True)


if __name__ == "__main__":
    main()
