"""Conversations as text, by the chat template of a checkpoint."""
