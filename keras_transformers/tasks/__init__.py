"""Tasks: a model with its tokenizer, objective and answer. `zoo.load` makes them."""

from keras_transformers.tasks.base import Task
from keras_transformers.tasks.classification import ClassificationTask
from keras_transformers.tasks.masked_lm import MaskedLMTask
from keras_transformers.tasks.pretraining import PretrainingTask

TASKS = {task.name: task for task in (ClassificationTask, MaskedLMTask, PretrainingTask)}

__all__ = ["TASKS", "ClassificationTask", "MaskedLMTask", "PretrainingTask", "Task"]
