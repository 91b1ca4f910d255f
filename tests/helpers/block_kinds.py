"""Combinations of options that models have, as options of a block."""

from __future__ import annotations

# As the papers and release codes have them; `positions` is the kind of positions that the blocks see.
KINDS = {
    "transformer": {"activation": "relu", "norm_order": "post", "dropout": 0.1, "initializer_range": None},
    "bert": {"activation": "gelu", "norm_order": "post", "dropout": 0.1, "attention_dropout": 0.1, "epsilon": 1e-12},
    "gpt2": {"activation": "gelu_tanh", "norm_order": "pre", "dropout": 0.1, "attention_dropout": 0.1, "epsilon": 1e-5},
    "t5": {
        "positions": "relative", "norm": "rms", "norm_order": "pre", "scale": 1.0, "use_bias": False,
        "activation": "relu", "dropout": 0.1, "attention_dropout": 0.1, "epsilon": 1e-6,
    },
    "llama": {
        "positions": "rotary", "norm": "rms", "norm_order": "pre", "gated": True, "activation": "silu",
        "use_bias": False, "num_kv_heads": 1, "epsilon": 1e-6,
    },
    "bloom": {"positions": "alibi", "activation": "gelu_tanh", "norm_order": "pre", "epsilon": 1e-5},
}  # fmt: skip


def split_positions(options: dict) -> tuple[str | None, dict]:
    """The kind of positions, and the options of the block itself."""
    return options.get("positions"), {name: value for name, value in options.items() if name != "positions"}
