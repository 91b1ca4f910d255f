"""Encoder and decoder blocks, and their parts: feed-forward, residual, rematerialisation."""
