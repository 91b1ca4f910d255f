"""Resumable training: `Resume`, its saved states, and what identifies a run."""
