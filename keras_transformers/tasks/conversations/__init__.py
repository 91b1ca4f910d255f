"""Conversations of a language model: answers to them, rows to learn from them, scores of answers."""
