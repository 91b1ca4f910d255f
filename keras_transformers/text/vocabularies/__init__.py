"""Vocabularies by algorithm: reading, training, and tokenizers of them."""
