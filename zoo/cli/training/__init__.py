"""The records of `train`: the options that they give to the command, and the one that a command line asks for."""
