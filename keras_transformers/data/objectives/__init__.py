"""Training objectives: from rows of token ids to inputs, targets and weights."""
