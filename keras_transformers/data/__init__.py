"""Batches for training: sources of rows, training objectives and the batch pipeline."""
