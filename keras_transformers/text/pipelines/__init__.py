"""Pipelines of the `tokenizers` library: their components, and safe use of them."""
