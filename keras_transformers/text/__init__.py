"""Conversion of text to ids and back, independent of models."""
