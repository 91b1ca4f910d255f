"""Streams of code points: operations on them, tables of Unicode, and where each value came from."""
