"""The residual stream: what each sub-layer of a model reads and adds, and the logit lens."""
