"""tokenizer.json compiled into core TensorFlow ops."""
