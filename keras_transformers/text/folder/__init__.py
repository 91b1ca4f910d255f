"""Tokenizer files of a Hugging Face folder: read, checked against each other, written."""
