"""Text to text on JAX: tokens by the Python tokenizer, the loop compiled once for each bucket of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformers.config import TransformerConfig
from keras_transformers.data.batching import BUCKETS
from keras_transformers.data.rows import Ragged
from keras_transformers.generation.beam import BeamSearch
from keras_transformers.generation.decode import UNFORCED, Choices, Decoder, Forced, State, advance
from keras_transformers.generation.knobs import KNOBS
from keras_transformers.generation.prompt import EMPTY, NO_ROOM, begin_id, start_prompts
from keras_transformers.generation.sampling import sample
from keras_transformers.generation.spelling import NOTHING_YET, spell, token_bytes
from keras_transformers.generation.stop import stop_strings
from keras_transformers.generation.stream import pieces_of
from keras_transformers.models.decoder import prefill, step


class BucketedService:
    """A causal language model that takes prompts and gives their continuations, without TensorFlow.

    Numbers of rows and lengths are rounded up, so that few programs are compiled.

    Args:
        config: Of the model.
        model: A model made from `models.decoder`, with its `language_model_head`.
        tokenizer: Text to ids.
        max_length: Tokens of prompt and text together, at most.
        forced: Tokens that the checkpoint prescribes.
    """

    has_source = False
    outputs: tuple[str, ...] = ()  # of a step, beside hidden states and cache

    def __init__(
        self, config: TransformerConfig, model: keras.Model, tokenizer: Any, max_length: int, forced: Forced = UNFORCED
    ):
        self.forced = forced
        self.config, self.model, self.tokenizer, self.max_length = config, model, tokenizer, max_length
        self.prefill, self.step = prefill(model), step(config, model, self.outputs)
        self.head = keras.Model(self.prefill.output["hidden_states"], model.output["logits"])
        self.spelling = spell(tokenizer, config, begins=self.has_source)
        self.token_bytes = token_bytes(self.spelling)
        self._programs = {}  # compiled functions, by number of beams

    def answer(
        self, texts: Sequence[str], sequences: int, wanted: dict[str, np.ndarray], num_beams: int = 1
    ) -> dict[str, list]:
        """Answers to texts as lists, by name; those of a row are lists with `sequences` > 1."""
        rows = num_beams if num_beams > 1 else sequences
        state, choices, about = self._start(texts, rows, wanted, num_beams)
        state = self._run(num_beams, "advance", state, choices, self.max_length)
        state = state | state.get("hypotheses", {})
        text = [content.decode("utf-8", "replace") for content in self._contents(state)]
        columns = {"generated_text": text, "score": state["score"].tolist(), "num_tokens": state["new"].tolist()}
        for name, column in columns.items():
            of_prompts = [column[row * rows :][:sequences] for row in range(len(texts))]
            columns[name] = [row[0] for row in of_prompts] if sequences == 1 else of_prompts
        return columns | about

    def stream(self, text: str, wanted: dict[str, np.ndarray]) -> Iterator[str]:
        """One text, as it grows."""
        state, choices, about = self._start([text], 1, wanted, 1)
        if error := about["error"][0]:
            raise ValueError(f"the text cannot be answered: {error}")

        def contents():
            nonlocal state
            while not state["finished"].all():
                state = self._run(1, "advance", state, choices, 1)
                yield self._contents(state)[0]

        return pieces_of(contents(), wanted["stop"][0])

    def _start(
        self, texts: Sequence[str], rows: int, wanted: dict[str, np.ndarray], num_beams: int
    ) -> tuple[State, Choices, dict[str, list]]:
        """The state before the first token of each text, how it goes on, what to say of each row beside the text."""
        new = wanted["max_new_tokens"]
        prompts, about, source = self._prompts(texts, new)
        lengths = np.array([len(ids) for ids in prompts], np.int32)
        limit = np.where(np.array(about["error"]) == "", np.minimum(lengths + new, self.max_length), lengths)
        width = self._bucket(lengths.max())
        room = self._bucket(limit.max() - lengths.min())
        count = 1 << (len(texts) - 1).bit_length()
        last = np.minimum(np.arange(count), len(texts) - 1)  # rows beyond the texts repeat the last one
        ids = Ragged.of(prompts).padded(width, self.config.pad_id)
        source = {name: column[last] for name, column in source.items()}
        own = {name: np.repeat(column[last], rows, axis=0) for name, column in wanted.items()}
        knobs = {name: column for name, column in own.items() if name in KNOBS}
        stops = stop_strings(count * rows, wanted["stop"][0])
        number = np.tile(np.arange(rows, dtype=np.int32), count)
        choices = Choices(knobs, stops, own["bias_ids"], own["bias_values"], number)
        inputs = (ids[last], lengths[last], limit[last].astype(np.int32), choices, source, rows, room)
        return self._run(num_beams, "start", *inputs), choices, about

    def _bucket(self, number: int) -> int:
        return next((bucket for bucket in BUCKETS if number <= bucket < self.max_length), self.max_length)

    def _prompts(self, texts: Sequence[str], new: np.ndarray) -> tuple[list[list[int]], dict[str, list], dict]:
        """Ids of the prompts; too long ones lose their beginning, so that the new tokens fit in.

        Then what to say of each row, and what `start_prompts` takes for a source.
        """
        prompts, about, first = [], {"truncated": [], "error": []}, begin_id(self.config)
        for encoded, number in zip(self.tokenizer.encode(texts), new, strict=True):
            ids, special = np.array(encoded.ids, np.int32), np.array(encoded.special_mask, bool)
            room = self.max_length - int(number) - special.sum()
            cut = np.cumsum(~special) <= (~special).sum() - max(room, 1)
            ids = ids[special | ~cut].tolist()
            no_room = NO_ROOM.format(max_length=self.max_length) if room < 1 else ""
            about["truncated"].append(bool((~special).sum() > max(room, 1)))
            about["error"].append(no_room or (EMPTY if not ids and first is None else ""))
            prompts.append(ids or [first or 0])
        return prompts, about, {}

    def _contents(self, state: State) -> list[bytes]:
        """The bytes of each text, before its stop string."""
        columns = (state[name].tolist() for name in ("token_ids", "lengths", "new", "kept_bytes"))
        contents = []
        for ids, length, new, kept in zip(*columns, strict=True):
            before = NOTHING_YET if self.has_source else ids[length - new - 1]
            contents.append(self.spelling.text(ids[length - new : length], before)[:kept])
        return contents

    def _run(self, num_beams: int, name: str, *inputs: Any) -> State:
        """One of the compiled functions, with the weights of now: they are arguments, not constants of it."""
        if num_beams not in self._programs:
            self._programs[num_beams] = self._compile(num_beams)
        weights = [variable.value for variable in self.model.variables]
        return self._programs[num_beams][name]((weights, self.token_bytes), *inputs)

    def _compile(self, num_beams: int) -> dict[str, Callable]:
        import jax

        method = BeamSearch(num_beams) if num_beams > 1 else sample

        def start(arrays, prompts, lengths, limit, choices, source, rows, room):
            with self._weights(arrays[0]):
                return start_prompts(self.prefill, method, None, prompts, lengths, limit, choices, rows, room, source)

        def go_on(arrays, state, choices, tokens):
            ids = (self.config.eos_ids, self.config.pad_id)
            decoder = Decoder(self._one_step, self._project, *ids, arrays[1], self.forced)
            with self._weights(arrays[0]):
                return advance(decoder, method, state, choices, tokens)

        return {"start": jax.jit(start, static_argnums=(6, 7)), "advance": jax.jit(go_on)}

    def _weights(self, values: list[Any]) -> keras.StatelessScope:
        return keras.StatelessScope(state_mapping=list(zip(self.model.variables, values, strict=True)))

    def _one_step(self, token_ids: Any, places: Any, cache: Any) -> tuple[Any, Any]:
        outputs = self.step({"token_ids": token_ids, "cache_positions": places, "cache": cache})
        return outputs["hidden_states"][:, 0], outputs["cache"]

    def _project(self, hidden_states: Any) -> Any:
        return self.head(hidden_states[:, None])[:, 0]
