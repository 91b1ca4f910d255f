"""Families with an encoder and a decoder."""
