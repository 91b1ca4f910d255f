"""Settings beside the weights: config.json, generation_config.json, labels, pooling."""
