"""How tasks answer: one pass or written text, on both backends, and as a SavedModel."""
