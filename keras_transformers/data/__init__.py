"""From token ids to the dicts of arrays that a model takes: sources, objectives and the batch pipeline."""
