"""The compiler from tokenizer.json to core TensorFlow ops."""
