"""Normalisers as TensorFlow ops."""
