"""Layers in place of self-attention: recurrence and convolution."""
