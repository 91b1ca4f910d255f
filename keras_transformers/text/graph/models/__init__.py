"""Tokenisation algorithms as TensorFlow ops: words to ids."""
