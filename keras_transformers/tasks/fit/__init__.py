"""How tasks are fine-tuned and evaluated: options, held-out data, labels of outputs."""
