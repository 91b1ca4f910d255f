"""Generation as TensorFlow functions from text to text, which `generate` calls and exports save."""
