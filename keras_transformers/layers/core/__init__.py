"""Basic layers: dense, dropout, embedding, normalisation, and how tables are read."""
