"""Extractive question answering: answers in windows of a context, from reading files to scores."""
