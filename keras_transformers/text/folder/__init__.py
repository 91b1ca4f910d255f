"""Tokenizer files of a Hugging Face folder: reading, checks against each other, writing."""
