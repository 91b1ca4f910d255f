"""Conditional random fields: a layer of transitions between labels, and the sums and maxima over paths of labels."""
