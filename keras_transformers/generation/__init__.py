"""Text generation: readers of prompts, the one loop, sampling and beams, writers; services for TensorFlow and JAX."""
