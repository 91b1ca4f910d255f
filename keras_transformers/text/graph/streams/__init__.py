"""Streams of code points: operations, tables of Unicode, and tracking of where each value came from."""
