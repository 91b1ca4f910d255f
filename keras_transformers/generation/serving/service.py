"""Text to text as TensorFlow functions: reader, program and writer; `generate` calls what `export` saves."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.generation.decoding import SAMPLES, Decoding, made_once
from keras_transformers.generation.draft import Draft
from keras_transformers.generation.prefix import Prefix, PrefixStates
from keras_transformers.generation.prescribed import Prescribed
from keras_transformers.generation.program import make_program
from keras_transformers.generation.prompts import TEXTS, check_answer
from keras_transformers.generation.request import Request, sampling_parameters_of
from keras_transformers.generation.serving.columns import (
    COUNT,
    ERROR,
    REQUEST,
    STOP,
    TEXT,
    no_errors,
    padded_request,
    padded_source,
    prefix_specs,
    request_tensors,
    squeezed,
    tiled,
    with_rows_of_zeros,
)
from keras_transformers.generation.serving.compiled_loop import compiled as compiled_program
from keras_transformers.generation.serving.compiled_loop import padded_lengths, power_of_two
from keras_transformers.generation.serving.graph_text import (
    PromptReader,
    SourceReader,
    Writer,
    parameter_specs,
    request_of,
)
from keras_transformers.generation.serving.output_matrix import OutputMatrix
from keras_transformers.generation.spelling import Spelling, token_bytes
from keras_transformers.generation.state import State
from keras_transformers.generation.stream import pieces_of
from keras_transformers.text.strings import decoded

# Places; a cache for the longest text would be carried, and with beams copied, at each step beside an encoder.
CACHE_INCREMENT = 32


class GenerationService:
    """A language model from text to text.

    Args:
        config: Configuration of the model.
        model: A model made from `models.decoder` or `models.encoder_decoder`, with a `language_model_head`.
        readers: Texts to prompts, by their form: a `graph_text.PromptReader` or `SourceReader` for "text", perhaps a
            `ChatReader` for "chat", conversations that are written as text.
        spelling: Text that each token adds.
        prescribed: Generation settings of the checkpoint.
        compiled: Whether XLA compiles the loop; rows and lengths are then padded, so that there are few programs.

    Attributes:
        module: The weights and tables, to be saved.
        prefixes: The prefix of all texts of a form, where it has one: see `behind`.
        prefix: Function from token ids to a prefix, `prefix.PrefixStates`.
    """

    def __init__(
        self,
        config: TransformerConfig,
        model: keras.Model,
        readers: Mapping[str, PromptReader | SourceReader],
        spelling: Spelling,
        prescribed: Prescribed,
        compiled: bool = False,
    ):
        self.compiled = compiled
        self.readers, self.longest = readers, readers[TEXTS].longest
        self.has_source = config.kind == "encoder_decoder"
        self.output_matrix = OutputMatrix(config, model)
        increment = CACHE_INCREMENT if self.has_source else None
        tables = token_bytes(spelling)
        program = make_program(config, model, tables, self.output_matrix, prescribed, not compiled, increment)
        self.program = compiled_program(program, self.longest) if compiled else program
        self.writer = Writer(spelling, begins=self.has_source)
        self.module = tf.Module()
        self.module.graph = readers[TEXTS].graph
        self.module.weights = [variable.value for variable in model.variables]
        self.module.output_matrix = self.output_matrix.matrix
        self.prefixes: Mapping[str, Any] = {}
        self.origin = self  # traced functions keep it, as it holds no prefix
        self.prefix = PrefixStates(model, self.program, lambda function: tf.function(function, autograph=False))
        self._runs: dict[tuple[str, Decoding, bool], Callable] = {}  # traced functions
        self._starts: dict[tuple[str, Decoding, bool], Any] = {}
        self._advances: dict[Decoding, Callable] = {}  # traced functions of `stream`

    def behind(self, prefixes: Mapping[str, Prefix]) -> GenerationService:
        """Return the service of texts behind a prefix, by their form; it shares the traced functions."""
        service = copy.copy(self)
        service.prefixes = {form: tf.nest.map_structure(tf.convert_to_tensor, each) for form, each in prefixes.items()}
        return service

    def storing(self, draft: Draft | None = None, ids: Sequence[int] | None = None) -> GenerationService:
        """Return a service to be saved, whose module holds the weights of a draft, and the prefix `ids` of texts."""
        service, module = self.behind({}), tf.Module()
        for name in ("graph", "weights", "output_matrix"):
            setattr(module, name, getattr(self.module, name))
        module.draft = [] if draft is None else draft.variables
        service.module = module
        if ids is not None:
            service.store(TEXTS, service.prefix(ids))
        return service

    def store(self, form: str, prefix: Prefix) -> None:
        """Put a prefix before all texts of a form, as variables of the module."""
        stored = tf.nest.map_structure(lambda x: tf.Variable(x, trainable=False), prefix)
        setattr(self.module, f"prefix_of_{form}", stored)
        self.prefixes = {**self.prefixes, form: stored}

    def write(
        self, text: tf.Tensor, error: tf.Tensor, sequences: tf.Tensor, request: Request, decoding: Decoding,
        form: str = TEXTS, prefix: Any = (),
    ) -> dict[str, tf.Tensor]:  # fmt: skip
        """Generate new texts for texts: the function that is traced.

        Args:
            text: string (B,).
            error: string (B,), why nothing is generated for a row; "" where something is.
            sequences: int32, n texts for each prompt.
            request: Request of B rows.
            decoding: Decoding options.
            form: Form of the texts, one of `readers`.
            prefix: A `Prefix` before each text.

        Returns:
            `generated_text`, `score` and `num_tokens`, each (B, n); `truncated`, whether the prompt was cut at its
            beginning, or the source at its end, and `error`, empty when all is well, both (B,).
        """
        rows = decoding.rows(sequences)
        count = tf.size(text)
        size = power_of_two(count) if self.compiled else tf.maximum(count, 1)  # there is no maximum of nothing
        text, error, request = tf.nest.map_structure(partial(with_rows_of_zeros, size), (text, error, request))
        state, request, row_columns = self.start(text, error, rows, request, decoding, form, prefix)
        written = self.advance(state, request, self.longest, decoding).written
        new = tf.strings.unicode_transcode(self.writer(written), "UTF-8", "UTF-8", errors="replace")
        columns = {"generated_text": new, "score": written.score, "num_tokens": written.num_new}
        columns = {name: tf.reshape(column, [-1, rows])[:, :sequences] for name, column in columns.items()}
        return {name: column[:count] for name, column in {**columns, **row_columns}.items()}

    def start(
        self, text: tf.Tensor, error: tf.Tensor, number: tf.Tensor, request: Request, decoding: Decoding, form: str,
        prefix: Any = (),
    ) -> tuple[State, Request, dict[str, tf.Tensor]]:  # fmt: skip
        """Return state and request of `number` rows a text before the first token; and errors and cuts of each text."""
        reader: Any = self.readers[form]
        read = partial(reader.behind, prefix.token_ids) if prefix else reader
        prompts = read(text, request.max_new_tokens, error)
        limit = tf.minimum(prompts.lengths + request.max_new_tokens, self.longest)
        limit = tf.where(prompts.error == "", limit, prompts.lengths)
        source = prompts.source
        if self.compiled:
            source, request = padded_source(source, reader.max_length), padded_request(request)
        state, request = decoding.program(self.program).start(
            decoding.method, prompts.token_ids, prompts.lengths, limit, request, number, source, prefix=prefix
        )
        return state, request, {"truncated": prompts.truncated, "error": prompts.error}

    def advance(self, state: State, request: Request, turns: int, decoding: Decoding) -> State:
        """Return the state after so many turns at most."""
        return decoding.program(self.program).advance(decoding.method, state, request, turns)

    def run(
        self, text: tf.Tensor, error: tf.Tensor, sequences: tf.Tensor, request: Request, decoding: Decoding = SAMPLES,
        form: str = TEXTS,
    ) -> dict[str, tf.Tensor]:  # fmt: skip
        """Call `write`, traced once for each `form` and `decoding`, with and without prefix."""
        function = self._traced(self._runs, self.origin.write, form, decoding)
        return function(text, error, sequences, request, self.prefixes.get(form, ()))

    def _traced(self, functions: dict, function: Callable, form: str, decoding: Decoding) -> Any:
        """Return `write` or `start` of the origin as a traced function."""
        prefix = self.prefixes.get(form, ())

        def make() -> Any:
            return tf.function(
                lambda text, error, number, request, prefix: function(
                    text, error, number, request, decoding, form, prefix
                ),
                input_signature=[TEXT, ERROR, COUNT, REQUEST, prefix_specs(prefix)],
                autograph=False,
            )

        return made_once(functions, (form, decoding, bool(prefix)), decoding, make)

    def answer(
        self, texts: Sequence[str], sequences: int, request: Request, decoding: Decoding = SAMPLES, form: str = TEXTS
    ) -> dict[str, list]:
        """Return the outputs for texts as lists, by name; with `sequences` > 1, a row's output is a list, too."""
        self.output_matrix.refresh()
        text, error = tf.constant(texts, tf.string), no_errors(texts)
        columns = self.run(text, error, sequences, request_tensors(request), decoding, form)
        return {name: decoded(column.numpy()).tolist() for name, column in squeezed(columns, sequences).items()}

    def stream(self, text: str, request: Request, decoding: Decoding = SAMPLES, form: str = TEXTS) -> Iterator[str]:
        """Yield one generated text piece by piece.

        Raises:
            ValueError: No text can be generated.
        """
        state, rows, columns = self.begin([text], request, form, decoding)
        check_answer(columns["truncated"][0], columns["error"][0], self.readers[form].max_length)

        def contents():
            nonlocal state
            while not state.finished.numpy()[0]:
                state = self._advance(decoding)(state, rows)
                yield self.contents(state)[0]

        return pieces_of(contents(), int(request.stop.lengths.max()))

    def begin(
        self, texts: Sequence[str], request: Request, form: str = TEXTS, decoding: Decoding = SAMPLES
    ) -> tuple[State, Request, dict[str, list]]:
        """Return state and request before the first token of a sample, and the errors and cuts of each text."""
        self.output_matrix.refresh()
        inputs = tf.constant(texts, tf.string), no_errors(texts), 1, request_tensors(request)
        state, rows, columns = self._start(form, decoding)(*inputs, self.prefixes.get(form, ()))
        return state, rows, {name: decoded(column.numpy()).tolist() for name, column in columns.items()}

    def turn(self, state: State, request: Request) -> State:
        """Return the state with one more token of a sample."""
        return self._advance(SAMPLES)(state, request)

    def contents(self, state: State) -> list[bytes]:
        """Return the bytes of each text so far."""
        return self.writer(state.written).numpy().tolist()

    def _start(self, form: str, decoding: Decoding) -> Any:
        return self._traced(self._starts, self.origin.start, form, decoding)

    def _advance(self, decoding: Decoding) -> Callable:
        def make():
            started = self._start(TEXTS, decoding).get_concrete_function().structured_outputs[:2]
            origin = self.origin
            return tf.function(
                lambda state, request: origin.advance(state, request, 1, decoding),
                input_signature=tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype), started),
                autograph=False,
            )

        return made_once(self._advances, decoding, decoding, make)

    def signatures(self, defaults: Request, sequences: int, decoding: Decoding = SAMPLES) -> dict[str, Any]:
        """Return the signatures of an export: `serving_default`, and `generate`, whose inputs are sampling parameters.

        Args:
            defaults: The request of `serving_default`, one row.
            sequences: Texts for each prompt.
            decoding: Decoding options.
        """
        names = list(sampling_parameters_of(decoding.num_beams, self.has_source))

        def serve(text):
            request, error = tiled(defaults, tf.size(text)), tf.fill(tf.shape(text), "")
            return squeezed(self.run(text, error, sequences, request, decoding), sequences)

        def generate(text, stop, *columns):
            request, error = request_of(dict(zip(names, columns, strict=True)), stop, tf.size(text))
            return squeezed(self.run(text, error, sequences, request, decoding), sequences)

        specs = parameter_specs(names)
        return {
            "serving_default": tf.function(serve, input_signature=[TEXT], autograph=False),
            "generate": tf.function(generate, input_signature=[TEXT, STOP, *specs], autograph=False),
        }

    def warm_up_requests(self, defaults: Request) -> dict[str, list[dict[str, list[str]]]]:
        """Return requests of one text, by signature, for each number of places that XLA compiles a program for.

        Args:
            defaults: The request of `serving_default`, one row.
        """
        if not self.compiled:
            return {}
        reader, sample = self.readers[TEXTS], 64
        prompts = reader(tf.constant(["a " * sample]), tf.constant([1]), tf.constant([""]))
        tokens = [*prompts.source.values(), prompts.token_ids][0].shape[1] / sample  # of a word
        own = 0 if self.has_source else int(defaults.max_new_tokens[0])
        sizes = [int((0.75 * length - own) / tokens) for length in padded_lengths(reader.max_length)]
        counts = sorted({1, *(words for words in sizes if words > 1)})
        return {"serving_default": [{"text": ["a " * words]} for words in counts]}
