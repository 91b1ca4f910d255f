"""Signals through layers: path lengths and gradients."""
