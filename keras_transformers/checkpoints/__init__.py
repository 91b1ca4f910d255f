"""Checkpoints: read from folders of many programs, loaded into a model, and saved in the Hugging Face layout."""
