"""Positions: absolute ones added to embeddings, relative ones added to scores, rotary ones."""
