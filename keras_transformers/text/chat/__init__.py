"""Chat templates: messages to a prompt, in Python and as core TensorFlow ops."""
