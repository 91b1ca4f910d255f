"""Tasks: a model with its tokenizer, objective and answers. `zoo.load` makes them."""

from keras_transformers.tasks.task import Task

__all__ = ["Task"]
