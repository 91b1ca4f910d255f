"""Positions: absolute (added to embeddings), relative (added to scores) and rotary."""
