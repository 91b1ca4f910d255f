"""The runs of `train` on own text, from the options of the command line."""
