"""Training of new translators, and other models that write text from text, on anybody's pairs."""
