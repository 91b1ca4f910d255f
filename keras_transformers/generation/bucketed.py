"""Text to text on JAX: reader and writer in Python, the program compiled once for each bucket of sizes."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.data.batches.batching import bucket, power_of_two
from keras_transformers.generation.decoding import SAMPLES, Decoding, made_once
from keras_transformers.generation.prefix import Prefix, PrefixStates
from keras_transformers.generation.prescribed import Prescribed
from keras_transformers.generation.program import make_program
from keras_transformers.generation.prompts import TEXTS, check_answer
from keras_transformers.generation.python_text import PromptReader, SourceReader, Writer
from keras_transformers.generation.request import Request
from keras_transformers.generation.spelling import Spelling, token_bytes
from keras_transformers.generation.state import State
from keras_transformers.generation.stream import pieces_of
from keras_transformers.heads.language_model import head_of
from keras_transformers.utils.compiled import Compiled


class BucketedService:
    """A language model from text to text, without TensorFlow.

    Numbers of rows and lengths are rounded up, so that few programs are compiled.

    Args:
        config: Configuration of the model.
        model: A model made from `models.decoder` or `models.encoder_decoder`, with its `language_model_head`.
        readers: Texts to prompts, by their form: a `python_text.PromptReader` or `SourceReader` for "text", perhaps a
            `ChatReader` for "chat", conversations that are written as text.
        spelling: Text that each token adds.
        prescribed: Generation settings of the checkpoint.
    """

    def __init__(
        self,
        config: TransformerConfig,
        model: keras.Model,
        readers: Mapping[str, PromptReader | SourceReader],
        spelling: Spelling,
        prescribed: Prescribed,
    ):
        self.model, self.readers, self.longest = model, readers, readers[TEXTS].longest
        self.writer = Writer(spelling, begins=config.kind == "encoder_decoder")
        self.program = make_program(config, model, token_bytes(spelling), head_of(config, model), prescribed)
        self.prefixes: Mapping[str, Prefix] = {}
        self.prefix = PrefixStates(model, self.program, partial(Compiled, model))
        self._compiled: dict[Decoding, dict[str, Compiled]] = {}

    def behind(self, prefixes: Mapping[str, Prefix]) -> BucketedService:
        """Return the service of texts behind a prefix, by their form; it shares the compiled programs."""
        service = copy.copy(self)
        service.prefixes = prefixes
        return service

    def answer(
        self, texts: Sequence[str], sequences: int, request: Request, decoding: Decoding = SAMPLES, form: str = TEXTS
    ) -> dict[str, list]:
        """Return the outputs for texts as lists, by name; with `sequences` > 1, a row's output is a list, too."""
        rows = decoding.rows(sequences)
        state, request, row_columns = self._start(texts, rows, request, decoding, form)
        written = self._run(decoding, "advance", state, request, self.longest).written
        new = [content.decode("utf-8", "replace") for content in self.writer(written)]
        columns = {"generated_text": new, "score": written.score.tolist(), "num_tokens": written.num_new.tolist()}
        for name, column in columns.items():
            of_prompts = [column[row * rows :][:sequences] for row in range(len(texts))]
            columns[name] = [row[0] for row in of_prompts] if sequences == 1 else of_prompts
        return columns | row_columns

    def stream(self, text: str, request: Request, decoding: Decoding = SAMPLES, form: str = TEXTS) -> Iterator[str]:
        """Yield one generated text piece by piece.

        Raises:
            ValueError: No text can be generated.
        """
        longest_stop = int(request.stop.lengths.max())
        state, request, columns = self._start([text], 1, request, decoding, form)
        check_answer(columns["truncated"][0], columns["error"][0], self.readers[form].max_length)

        def contents():
            nonlocal state
            while not state.finished.all():
                state = self._run(decoding, "advance", state, request, 1)
                yield self.contents(state)[0]

        return pieces_of(contents(), longest_stop)

    def begin(
        self, texts: Sequence[str], request: Request, form: str = TEXTS
    ) -> tuple[State, Request, dict[str, list]]:
        """Return state and request before the first token of a sample, and the errors and cuts of each text."""
        return self._start(texts, 1, request, SAMPLES, form)

    def turn(self, state: State, request: Request) -> State:
        """Return the state with one more token of a sample."""
        return self._run(SAMPLES, "advance", state, request, 1)

    def contents(self, state: State) -> list[bytes]:
        """Return the bytes of each text so far."""
        return self.writer(state.written)

    def _start(
        self, texts: Sequence[str], number: int, request: Request, decoding: Decoding, form: str
    ) -> tuple[State, Request, dict[str, list]]:
        """Return state and request of `number` rows a text before the first token; and errors and cuts of each text."""
        prefix: Any = self.prefixes.get(form, ())
        reader: Any = self.readers[form]
        read = partial(reader.behind, np.asarray(prefix.token_ids)) if prefix else reader
        prompts = read(texts, request.max_new_tokens)
        lengths = prompts.lengths
        limit = np.minimum(lengths + request.max_new_tokens, self.longest)
        limit = np.where(prompts.error == "", limit, lengths).astype(np.int32)
        room = bucket(limit.max() - lengths.min(), self.longest)

        # The number of rows is rounded up to a power of two: rows beyond the texts repeat the last one.
        index = np.minimum(np.arange(power_of_two(len(texts))), len(texts) - 1)
        source = {name: column[index] for name, column in prompts.source.items()}
        inputs = (prompts.token_ids[index], lengths[index], limit[index], request.rows(index), source)
        state, request = self._run(decoding, "start", *inputs, prefix, number, room)
        return state, request, {"truncated": prompts.truncated.tolist(), "error": prompts.error.tolist()}

    def _run(self, decoding: Decoding, name: str, *inputs: Any) -> Any:
        """Call a compiled function."""
        functions = made_once(self._compiled, decoding, decoding, partial(self._compile, decoding))
        return functions[name](self.program.token_bytes, *inputs)

    def _compile(self, decoding: Decoding) -> dict[str, Compiled]:
        own = decoding.program(self.program)
        others = [] if decoding.draft is None else [decoding.draft.service.model]

        def start(token_bytes, prompts, lengths, limit, request, source, prefix, number, room):
            return own.start(decoding.method, prompts, lengths, limit, request, number, source, room, prefix)

        def advance(token_bytes, state, request, turns):
            program = dataclasses.replace(own, token_bytes=token_bytes)
            return program.advance(decoding.method, state, request, turns)

        compiled = partial(Compiled, self.model, others=others)
        return {"start": compiled(start, static=(7, 8)), "advance": compiled(advance)}
