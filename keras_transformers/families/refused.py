"""Families of `transformers` that are refused by name, with the reason: what their blocks have and ours have not."""

from __future__ import annotations

PER_LAYER = "an embedding of each token for each block"
REFUSED = {
    "embedding_gemma2": f"{PER_LAYER}, and parts that read images and sound",
    "embedding_gemma2_text": PER_LAYER,
    "gemma3n": f"{PER_LAYER}, several residual streams (AltUp), sparse activations, and blocks that share keys",
    "gemma4": f"{PER_LAYER}, blocks with heads of different widths that share keys and values, and mixtures of experts",
    "recurrent_gemma": "recurrent blocks of gated linear units between those with attention",
    "t5gemma": "two stacks of Gemma 2's blocks, with norms around the cross-attention",
    "vaultgemma": "Gemma 2's blocks without the norms on outputs of sublayers",
}
REFUSED |= {f"{name}_text": REFUSED[name] for name in ("gemma3n", "gemma4")}


def reason_of(family: object) -> str | None:
    """Return the reason for which a family is refused; None if there is none.

    Args:
        family: The `model_type` of a config.json.

    Example:

    >>> reason_of("embedding_gemma2_text"), reason_of("gemma3_text")
    ('an embedding of each token for each block', None)
    """
    return REFUSED.get(family) if isinstance(family, str) else None
