"""The pattern of blank texts."""

# Matches the texts that `str.strip` makes empty, in the syntax of TensorFlow's regular expressions.
BLANK = r"[\s\v\x1c-\x1f\x{85}\pZ]*"
