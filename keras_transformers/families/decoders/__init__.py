"""Families of decoders."""
