"""Pre-tokenisers as TensorFlow ops."""
