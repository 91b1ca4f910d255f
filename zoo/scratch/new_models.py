"""The models that can be made from own text: their sizes, and what each wants by default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from keras_transformers import families
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.text_tasks import HIDDEN_SPANS, MASKED_TOKENS, NEXT_TOKEN, TextTask

# Layers, heads and width: Turc et al. 2019, https://arxiv.org/abs/1908.08962, and BERT's two.
SIZES = {
    "tiny": (2, 2, 128), "mini": (4, 4, 256), "small": (4, 8, 512), "medium": (8, 8, 512), "base": (12, 12, 768),
    "large": (24, 16, 1024),
}  # fmt: skip
WIDTH = 768  # for which the families' initialisers are made
MOST_RATE = 2e-3  # the largest learning rate


@dataclass(frozen=True)
class NewModel:
    """The settings of a kind of model.

    Args:
        learns: The task that it is trained for.
        tokenizer: The kind of vocabulary that is learned for it.
        vocabulary_size: Size of a learned vocabulary; small corpora get a smaller one.
        make: Function from sizes (`vocabulary_size`, `num_layers`, `num_heads`, `hidden_dim`, `max_length`) and a
            tokenizer to a configuration.
        rate: The peak of the learning rate times the width: smaller models learn with larger rates.
        max_length: Tokens of a row.
        beta_2: The beta_2 of AdamW.
        near_start: Whether heads start out attending to near tokens (`near_start.attend_nearby`).
    """

    learns: TextTask
    tokenizer: str
    vocabulary_size: int
    make: Callable[[dict[str, Any], Tokenizer], TransformerConfig]
    rate: float
    max_length: int = 256
    beta_2: float = 0.98
    near_start: bool = False

    def learning_rate(self, hidden_dim: int) -> float:
        """Return the peak of the learning rate for a width.

        Example:

        >>> MODELS["gpt2"].learning_rate(256), round(MODELS["gpt2"].learning_rate(768), 5)
        (0.002, 0.00067)
        """
        return min(MOST_RATE, self.rate / hidden_dim)


def _start(sizes: dict[str, Any], most: float = 0.05) -> float:
    """Return the initialisers' range: a narrower model starts with larger weights, or attention stays flat for long."""
    return round(min(0.02 * (WIDTH / sizes["hidden_dim"]) ** 0.5, most), 4)


def _end_ids(tokenizer: Tokenizer) -> dict[str, Any]:
    return {"eos_ids": (tokenizer.eos_id,), "bos_id": tokenizer.eos_id}


def _gpt2(sizes: dict[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    return families.gpt2(**sizes, initializer_range=_start(sizes), **_end_ids(tokenizer))


def _llama(sizes: dict[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    intermediate_dim = -(-8 * sizes["hidden_dim"] // 3 // 32) * 32  # as many weights as in two matrices of 4 x D
    return families.llama(
        **sizes, intermediate_dim=intermediate_dim, tie_embeddings=True, initializer_range=_start(sizes),
        **_end_ids(tokenizer),
    )  # fmt: skip


def _lstm(sizes: dict[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    del sizes["num_heads"]
    return families.recurrent(**sizes, intermediate_dim=2 * sizes["hidden_dim"], **_end_ids(tokenizer))


def _bert(sizes: dict[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    return families.bert(**sizes, initializer_range=_start(sizes), pad_id=tokenizer.pad_id)


def _transformer(sizes: dict[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    """Return a Transformer in Marian's form, which `transformers` reads, as transformer_mini_en_de is."""
    return families.marian(
        **{"num_decoder_layers": max(sizes["num_layers"] // 2, 1)} | sizes, intermediate_dim=2 * sizes["hidden_dim"],
        activation="relu", pad_id=tokenizer.pad_id, eos_ids=(tokenizer.eos_id,),
    )  # fmt: skip


def _t5(sizes: dict[str, Any], tokenizer: Tokenizer) -> TransformerConfig:
    return families.t5(**sizes, pad_id=tokenizer.pad_id, eos_ids=(tokenizer.eos_id,))


decoder = partial(NewModel, NEXT_TOKEN, "byte_pair", 4_096)
MODELS = {
    "gpt2": decoder(_gpt2, 0.512),
    "llama": decoder(_llama, 0.512),
    "lstm": decoder(_lstm, 0.512),
    "bert": NewModel(MASKED_TOKENS, "wordpiece", 8_192, _bert, 0.256, 128, near_start=True),
    "t5": NewModel(HIDDEN_SPANS, "unigram", 8_192, _t5, 0.512),
    "transformer": NewModel(HIDDEN_SPANS, "unigram", 8_000, _transformer, 0.256, 128),
}


def new_model(name: str) -> NewModel:
    """Return what a kind of model wants.

    Raises:
        ValueError: There is no such kind.
    """
    if name not in MODELS:
        raise ValueError(f"--model must be one of {', '.join(MODELS)}: received {name!r}.")
    return MODELS[name]


def sizes_of(
    size: str | None, layers: int | None, heads: int | None, hidden_dim: int | None
) -> tuple[int, int, int] | None:
    """Return layers, heads and width: from a named size or as given; None for neither.

    Args:
        size: A name of `SIZES`.
        layers, heads, hidden_dim: Replace single values of the size; without a size, all three are needed.

    Raises:
        ValueError: There is no such size, one of the three is missing, or the heads do not divide the width.

    Example:

    >>> sizes_of("mini", 2, None, None)
    (2, 4, 256)
    """
    if size is not None and size not in SIZES:
        raise ValueError(f"--size must be one of {', '.join(SIZES)}: received {size!r}.")
    given = {"--layers": layers, "--heads": heads, "--hidden-dim": hidden_dim}
    if size is None and not any(given.values()):
        return None
    if size is None and (missing := [option for option, value in given.items() if value is None]):
        raise ValueError(f"a size needs {', '.join(given)}: {', '.join(missing)} is missing. Or give --size.")
    base = SIZES[size] if size is not None else (0, 0, 0)
    num_layers, num_heads, width = (value or usual for value, usual in zip(given.values(), base, strict=True))
    if width % num_heads:
        near = width // num_heads * num_heads or num_heads
        raise ValueError(
            f"--heads {num_heads} do not divide --hidden-dim {width}: give a width such as {near} or "
            f"{near + num_heads}, or a number of heads that divides it."
        )
    return num_layers, num_heads, width


def sized(
    name: str, size: tuple[int, int, int], tokenizer: Tokenizer, max_length: int, decoder_layers: int | None = None
) -> TransformerConfig:
    """Return the configuration of a kind of model.

    Args:
        name: A name of `MODELS`.
        size: Layers, heads and width.
        tokenizer: Tokenizer of the model.
        max_length: Longest text in tokens.
        decoder_layers: Number of decoder layers of an encoder-decoder; None for the default of the model.
            `"transformer"` has half as many as encoder layers, since the decoder dominates the cost of generation.
    """
    num_layers, num_heads, hidden_dim = size
    sizes = {"num_layers": num_layers, "num_heads": num_heads, "hidden_dim": hidden_dim, "max_length": max_length}
    if decoder_layers is not None:
        sizes["num_decoder_layers"] = decoder_layers
    return new_model(name).make({"vocabulary_size": tokenizer.vocabulary_size, **sizes}, tokenizer)
