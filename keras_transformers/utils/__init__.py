"""Helpers that all rooms use: checks of numbers, untrusted files and JSON, access to private parts of Keras."""
