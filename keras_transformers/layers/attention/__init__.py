"""Attention: the layer, its masks, its cache, and long texts in chunks."""
