"""Tasks: a model with its tokenizer, objective and answer. `zoo.load` makes them."""

from keras_transformers.tasks.base import Task
from keras_transformers.tasks.causal_lm import CausalLMTask
from keras_transformers.tasks.classification import ClassificationTask
from keras_transformers.tasks.masked_lm import MaskedLMTask
from keras_transformers.tasks.pretraining import PretrainingTask
from keras_transformers.tasks.seq2seq_lm import Seq2SeqLMTask

TASKS = {task.name: task for task in (CausalLMTask, ClassificationTask, MaskedLMTask, PretrainingTask, Seq2SeqLMTask)}

__all__ = ["TASKS", "CausalLMTask", "ClassificationTask", "MaskedLMTask", "PretrainingTask", "Seq2SeqLMTask", "Task"]
