"""What every room leans on: checks of numbers, untrusted files and JSON, the private parts of Keras that are used."""
