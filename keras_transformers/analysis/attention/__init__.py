"""Attention heads: recorded, drawn, rolled out, switched off."""
