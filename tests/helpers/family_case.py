"""A row of the table of families for tests, and the sizes of its small models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keras_transformers import families
from keras_transformers.config.transformer_config import TransformerConfig

SIZES = {"vocabulary_size": 30, "num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 8}
STACKS = SIZES | {"num_layers": 1, "num_decoder_layers": 2, "intermediate_dim": 24}
# Of models that are compared with those of `transformers`. A value that is lost on the way to it shows: none is usual.
UNUSUAL = {"vocabulary_size": 90, "num_layers": 3, "num_heads": 4, "hidden_dim": 32, "max_length": 24, "epsilon": 1e-2,
           "pad_id": 3}  # fmt: skip


class Case(NamedTuple):
    """What tests know of a family beyond its tables.

    Args:
        make: The family's function.
        own: Options of its small models, where it needs some.
        variants: More small models that are compared with those of `transformers`, by name: options of each.
        published: Arguments of `make` by the number of weights that they make, as published: of an encoder with its
            pooler, if it has one, or of a language model.
        is_ours: Whether no class of `transformers` computes it.
        unusual: Options in place of those of `UNUSUAL`, which the family's format cannot hold.
    """

    make: Callable[..., TransformerConfig]
    own: Mapping[str, Any] = {}
    variants: Mapping[str, Mapping[str, Any]] = {}
    published: Mapping[int, Mapping[str, Any]] = {}
    unusual: Mapping[str, Any] = {}
    is_ours: bool = False

    @property
    def family(self) -> str:
        """Return the family's name in config.json."""
        return self.small().family

    def small(self, **options: Any) -> TransformerConfig:
        """Return a small configuration; any field may be changed."""
        return self.make(**(SIZES | {**self.own} | options))

    def compared(self, variant: str = "") -> TransformerConfig:
        """Return a small configuration with values that are not the usual ones."""
        own = {**self.own, **UNUSUAL, **self.unusual, **(self.variants[variant] if variant else {})}
        return self.make(**(SIZES | own))


def sized(*sizes: int, **options: Any) -> dict[str, Any]:
    """Return arguments of a family's function: vocabulary, layers, heads, width and perhaps the inner width."""
    return {**dict(zip(families.sizes.SIZES, sizes, strict=False)), **options}
