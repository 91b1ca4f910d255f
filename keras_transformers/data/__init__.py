"""Turn token ids into batches for a model: sources of rows, training objectives and the batch pipeline."""
