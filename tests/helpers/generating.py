"""Small language models that generate: on token ids, on any backend, and on text."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from arrays import randomize, to_numpy
from keras import ops
from small_decoders import small_config, whole

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import gpt2
from keras_transformers.generation.decoding import Decoding
from keras_transformers.generation.draft import Draft
from keras_transformers.generation.prefix import PrefixStates
from keras_transformers.generation.program import make_program
from keras_transformers.generation.request import make_request
from keras_transformers.generation.spelling import Spelling, token_bytes
from keras_transformers.heads import language_model_head
from keras_transformers.heads.language_model import head_of
from keras_transformers.models import decoder
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

EOS = 0
PROMPTS = [[5, 9, 2, 7, 7, 1], [3, 8], [11, 4, 6, 1]]
CORPUS = ["A wärm day, a brïght day.", "日本語の文", "the cat sat on the mat", "naïve 😀 smile", "one, two, three."]


class Text(NamedTuple):
    """What came of one prompt: new tokens, and their score."""

    ids: list[int]
    score: float
    kept: int  # bytes before the stop string


def language_model(config: TransformerConfig, dtype: str = "float32") -> keras.Model:
    """A decoder with its head."""
    body = decoder(config, dtype=dtype)
    logits = language_model_head(config, body.get_layer("token_embedding"), body.output["hidden_states"], dtype)
    return keras.Model(body.input, {"logits": logits})


def small_generator(family: str = "gpt2", dtype: str = "float32", **options: Any) -> Generator:
    """A random model of 30 tokens, whose weights all matter."""
    sizes = {"vocabulary_size": 30, "max_length": 48, "eos_ids": [EOS], "tie_embeddings": family == "gpt2"}
    config = small_config(family, **(sizes | options))
    return Generator(config, lively(language_model(config, dtype)))


def lively(model: keras.Model) -> keras.Model:
    """Random weights with which a text does not just repeat a token; large biases would make it."""
    for weight in randomize(model, scale=0.7).weights:
        if weight.path.endswith(("bias", "beta")):
            weight.assign(0.15 * weight)
    return model


class Generator:
    """A model that continues token ids; token i spells the letter `chr(64 + i % 64)`.

    Args:
        config, model: The model, with its head.
    """

    def __init__(self, config: TransformerConfig, model: keras.Model):
        self.config, self.model = config, model
        spelled, size = [bytes([64 + i % 64]) for i in range(config.vocabulary_size)], config.vocabulary_size
        table = token_bytes(Spelling(spelled, [b""] * size, [True] * size))
        self.program = make_program(config, model, table, head_of(config, model), in_place=True)
        self.functions = {}

    def logits(self, ids: list[int]) -> np.ndarray:
        """(T, V), by one pass over the whole row."""
        return to_numpy(self.model(whole(np.array([ids], "int32")))["logits"])[0]

    def log_probs(self, prompt: list[int], new: list[int]) -> np.ndarray:
        """(n, V), what the model says before each of the new tokens."""
        logits = self.logits([*prompt, *new])[len(prompt) - 1 : -1].astype("float64")
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def __call__(
        self, prompts: list[list[int]], num_beams: int = 1, sequences: int = 1, stop: Any = (), bias: Any = None,
        prompt_lookup: int | None = None, turns: int | None = None, prefix: Any = (), draft: Generator | None = None,
        guesses: int = 4, **parameters: Any,
    ) -> list[list[Text]]:  # fmt: skip
        """The texts of each prompt, perhaps behind the ids of a prefix, after so many turns; a draft's are of guesses.

        Parameters are one number, or one a prompt.
        """
        prompts = [[*prefix[-1:], *prompt] for prompt in prompts]
        decoding = Decoding(num_beams, prompt_lookup, draft and draft.as_draft(guesses, self.config))
        rows = decoding.rows(sequences)
        request = make_request(len(prompts), stop, bias or {}, {"max_new_tokens": 12} | parameters, num_beams)
        lengths = np.array([len(prompt) for prompt in prompts], "int32")
        padded = np.zeros((len(prompts), lengths.max()), "int32")
        for row, prompt in zip(padded, prompts, strict=True):
            row[: len(prompt)] = prompt
        lengths += max(len(prefix) - 1, 0)
        limit = np.minimum(lengths + request.max_new_tokens, self.config.max_length).astype("int32")
        inputs = (padded, lengths, limit, request, np.int32(self.config.max_length if turns is None else turns))
        before = PrefixStates(self.model, self.program, lambda function: function)(prefix) if prefix else ()
        run = self._function(decoding, inputs, before)
        written = keras.tree.map_structure(to_numpy, run(*inputs, np.int32(rows)))
        texts = [
            Text(ids[length - new : length].tolist(), float(score), int(kept))
            for ids, length, new, kept, score in zip(*written, strict=True)
        ]
        return [texts[row : row + sequences] for row in range(0, len(texts), rows)]

    def as_draft(self, guesses: int, large: TransformerConfig) -> Draft:
        return Draft(self, guesses, large.vocabulary_size, self.config.vocabulary_size)

    def _function(self, decoding: Decoding, inputs: Any, prefix: Any = ()) -> Any:
        """All in one, traced once on TensorFlow; with a prefix each time."""
        method, program = decoding.method, decoding.program(self.program)

        def run(prompts, lengths, limit, request, turns, rows, room=None):
            state, request = program.start(method, prompts, lengths, limit, request, rows, {}, room, prefix)
            return program.advance(method, state, request, turns).written

        if keras.backend.backend() != "tensorflow":
            room = int(inputs[2].max() - inputs[1].min())
            return lambda *arrays: run(*keras.tree.map_structure(ops.convert_to_tensor, arrays[:-1]), arrays[-1], room)
        if prefix or decoding not in self.functions:
            import tensorflow as tf

            specs = tf.nest.map_structure(lambda x: tf.TensorSpec([None] * x.ndim, x.dtype), [*inputs, np.int32(1)])
            function = tf.function(run, input_signature=specs, autograph=False)
            if prefix:
                return function
            self.functions[decoding] = function
        return self.functions[decoding]


def ids_of(answers: list[list[Text]]) -> list[list[list[int]]]:
    return [[text.ids for text in texts] for texts in answers]


def causal_lm(dtype: str | None = None, end_token: bool = True, layers: int = 2, **options: Any) -> Task:
    """A random model on text: its tokens are bytes and pairs of them, also parts of characters."""
    tokenizer = Tokenizer.train(CORPUS, 290, model="byte_pair")
    keras.utils.set_random_seed(0)
    ends = [tokenizer.eos_id] if end_token else []
    config = gpt2(tokenizer.vocabulary_size, layers, 4, 16, max_length=48, eos_ids=ends, **options)
    task = Task("causal_lm", config, tokenizer, dtype=dtype)
    lively(task.model)
    return task
