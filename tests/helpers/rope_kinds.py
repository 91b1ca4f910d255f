"""Options of rotary positions as files have them, one of each kind, for small models: heads of 8, 32 tokens."""

ORIGINAL = 12  # tokens of the first training
YARN = {"rope_type": "yarn", "factor": 2.5, "original_max_position_embeddings": ORIGINAL}
LONG = {
    "rope_type": "longrope", "original_max_position_embeddings": ORIGINAL,
    "short_factor": [1.0, 1.1, 1.3, 1.5], "long_factor": [1.5, 2.5, 4.0, 9.0],
}  # fmt: skip
ROPES = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 0.2, "high_freq_factor": 0.8,
        "original_max_position_embeddings": ORIGINAL,
    },
    "yarn": YARN,
    "yarn-mscale": YARN | {"mscale": 1.3, "mscale_all_dim": 0.7},
    "yarn-turns": YARN | {"beta_fast": 4, "beta_slow": 0.5, "truncate": False},
    "yarn-attention": YARN | {"attention_factor": 0.8},
    "longrope": LONG,
    "longrope-factor": LONG | {"factor": 3.0},
    "longrope-attention": LONG | {"attention_factor": 1.2},
}  # fmt: skip
