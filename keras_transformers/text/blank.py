"""Texts of which nothing is to be read."""

# What `str.strip` leaves nothing of, for TensorFlow's regular expressions.
BLANK = r"[\s\v\x1c-\x1f\x{85}\pZ]*"
