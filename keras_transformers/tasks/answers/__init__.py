"""Predictions of tasks: by one forward pass or by generation, on both backends, and as a SavedModel."""
