"""Vocabularies by algorithm: read, trained, and made a tokenizer."""
