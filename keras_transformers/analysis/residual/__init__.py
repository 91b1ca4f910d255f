"""The residual stream: what each sub-layer of a model reads and adds, and what the model's head makes of it."""
