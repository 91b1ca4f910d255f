"""Tasks: a model with its tokenizer, training objective and predictions. `zoo.load` makes them."""

from keras_transformers.tasks.task import Task

__all__ = ["Task"]
