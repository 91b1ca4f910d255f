"""Transformers for text, built with the Keras 3 functional API."""

__version__ = "0.1.0"
