"""Generation with a draft beside generation without, in processor time, for several rates of right guesses.

    python benchmarks/draft.py [--scales 0 0.05 0.1] [--guesses 3 5 7] [--turns 2] [--new 48] [--layers 24] [--own 2]

The model is a GPT-2 as wide as the 124M one, with more layers and random weights, whose head is a matrix of its own;
the draft has its first layers, embeddings and head. What the other layers of the model add is scaled: with 0 the draft
is always right, and the larger the scale, the less often. So the times are those of any GPT-2 of these sizes.

Turns are interleaved: read the ratios. It is checked that both texts are the same.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np
from prompt_lookup import FIRST, VOCABULARY, Case

HEADS, WIDTH, LENGTH, PROMPT = 12, 768, 1024, 64
OUTPUTS = ("attention/output", "feed_forward/output")


def make(layers: int, tokenizer: Any) -> Any:
    """Return a task with random weights."""
    import keras

    from keras_transformers.families import gpt2
    from keras_transformers.tasks import Task

    keras.utils.set_random_seed(0)
    sizes = {"num_heads": HEADS, "hidden_dim": WIDTH, "max_length": LENGTH, "tie_embeddings": False}
    return Task("causal_lm", gpt2(VOCABULARY, layers, **sizes), tokenizer)


def shared_weights(large: Any, small: Any) -> None:
    """Give a draft the weights of a model's layers that have the same paths; matrices of both are enlarged before."""
    for weight in large.model.weights:
        if len(weight.shape) > 1:
            weight.assign(3 * weight)
    weights = {weight.path: weight for weight in large.model.weights}
    for weight in small.model.weights:
        weight.assign(weights[weight.path])


def scale_rest(large: Any, first: int, values: dict[str, np.ndarray], scale: float) -> None:
    """Scale what the layers from the first one on add to the hidden states."""
    blocks = tuple(f"decoder_block_{index}/" for index in range(first, large.config.num_layers))
    for weight in large.model.weights:
        if any(block in weight.path for block in blocks) and any(name in weight.path for name in OUTPUTS):
            weight.assign(scale * values.setdefault(weight.path, weight.numpy()))


class Pair:
    """A model and its draft, with texts to continue."""

    def __init__(self, layers: int, own: int, new: int):
        import tokenizers

        from keras_transformers.text.tokenizer import Tokenizer

        words = {chr(FIRST + number): number for number in range(VOCABULARY - 1)}
        pair = chr(FIRST), chr(FIRST + 1)
        library = tokenizers.Tokenizer(tokenizers.models.BPE(words | {"".join(pair): VOCABULARY - 1}, [pair]))
        library.decoder = tokenizers.decoders.Fuse()
        tokenizer = Tokenizer(library)
        self.large, self.small, self.own, self.values = make(layers, tokenizer), make(own, tokenizer), own, {}
        shared_weights(self.large, self.small)
        ids = np.random.default_rng(0).integers(2, VOCABULARY - 1, (2, PROMPT))
        self.case = Case(self.large, ["".join(chr(FIRST + token) for token in row) for row in ids], max_new_tokens=new)

    def compare(self, scale: float, guesses: list[int], turns: int) -> None:
        """Print a line for each number of guesses."""
        scale_rest(self.large, self.own, self.values, scale)
        ways: list[dict[str, Any]] = [{}, *({"draft": self.small, "draft_tokens": number} for number in guesses)]
        seconds: list[list[float]] = [[] for _ in ways]
        (_, texts, tokens), *others = (self.case.run(1, **way) for way in ways)
        for _ in range(turns):
            for way, times in zip(ways, seconds, strict=True):
                times.append(self.case.run(1, **way)[0])
        without, *rates = (tokens / statistics.median(times) for times in seconds)
        for way, rate, (_, same, _) in zip(ways[1:], rates, others, strict=True):
            passes, number = self.case.turns(**way), way["draft_tokens"]
            right = (tokens - passes) / (passes * number)
            print(
                f"scale {scale:<5} guesses {number}: {rate:6.1f} tokens a second of the processor, without "
                f"{without:6.1f}, ratio {rate / without:.2f}; {tokens / passes:.2f} tokens a pass, {right:.0%} of the "
                f"guesses accepted; {sum(map(str.__eq__, texts, same))} of {len(texts)} texts equal, "
                f"{len({*texts[0]})} distinct tokens in the first",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", nargs="+", type=float, default=[0.0, 0.05, 0.1])
    parser.add_argument("--guesses", nargs="+", type=int, default=[3, 5, 7])
    for name, number in {"turns": 2, "new": 48, "layers": 24, "own": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    pair = Pair(options.layers, options.own, options.new)
    for scale in options.scales:
        pair.compare(scale, options.guesses, options.turns)


if __name__ == "__main__":
    main()
