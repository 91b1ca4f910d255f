"""Weights of a checkpoint: into a model, and from a model into a folder."""
