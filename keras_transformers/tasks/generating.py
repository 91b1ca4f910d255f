"""Text to text: what all tasks that generate do alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any, ClassVar

import keras
import numpy as np

from keras_transformers.checkpoints.generation_config import check_settings
from keras_transformers.generation.decode import Forced
from keras_transformers.generation.knobs import KNOBS, knobs_of, make_request
from keras_transformers.heads import language_model_head
from keras_transformers.tasks.answer import check_exportable
from keras_transformers.tasks.base import Task
from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training import metrics


class GeneratingTask(Task):
    """A task whose answers are texts.

    Args:
        config, tokenizer, max_length, outputs, dtype: As for `Task`.
        generation: How texts are generated unless a caller says otherwise: values of `num_beams` and the knobs, and
            token ids that are prescribed, as `checkpoints.generation_config.read_generation` gives them. `save` keeps
            them.

    Raises:
        ValueError: As for `Task`; or `generation` has an unknown name.
    """

    from_checkpoint = ("generation",)
    _has_source: ClassVar[bool] = False

    def __init__(self, *arguments: Any, generation: Mapping[str, Any] | None = None, **options: Any):
        self.generation = dict(generation or {})
        check_settings(self.generation)
        super().__init__(*arguments, **options)

    def _backbone(self) -> keras.Model:
        """The model without its head."""
        raise NotImplementedError

    def _build(self) -> keras.Model:
        backbone = self._backbone()
        embedding = backbone.get_layer("token_embedding")
        logits = language_model_head(self.config, embedding, backbone.output["hidden_states"], self.dtype)
        return keras.Model(backbone.input, {"logits": logits, **self._extra(backbone)}, name=f"{self.name}_model")

    def _metrics(self) -> dict[str, list]:
        return {"logits": [metrics.Accuracy(), metrics.Perplexity(), metrics.MeanCrossEntropy()]}

    @property
    def _num_beams(self) -> int:
        return self.generation.get("num_beams", 1)

    @property
    def _forced(self) -> Forced:
        ids = (self.generation.get(name) for name in ("forced_bos_id", "forced_eos_id"))
        never, renormalize = self.generation.get("suppressed_ids", ()), self.generation.get("renormalize", False)
        return Forced(*ids, tuple(never), renormalize)

    @property
    def _new_tokens(self) -> int:
        """The most new tokens, where nobody says."""
        return min(int(KNOBS["max_new_tokens"].neutral), self.max_length // 2)

    def predict(
        self,
        texts: Sequence[str],
        *,
        stop: Sequence[str] = (),
        num_beams: int | None = None,
        num_sequences: int = 1,
        token_bias: Mapping[int, float] | None = None,
        batch_size: int = 16,
        **knobs: Any,
    ) -> list[dict[str, Any]]:
        """What `generate` gives, with scores.

        Args:
            texts, stop, num_beams, num_sequences, token_bias, batch_size, **knobs: As for `generate`.

        Returns:
            One dict a text: `generated_text`, `score` (the sum of the log-probabilities that the model gives to its
            tokens; of beams, with the penalties and over length ** `length_penalty`) and `num_tokens`, or lists of
            them with `num_sequences` > 1; `truncated`, whether a prompt was cut at its beginning or a source at its
            end; and `error`, empty when all is well.
        """
        texts, num_beams = check_texts("texts", texts), self._num_beams if num_beams is None else num_beams
        _check_counts(num_beams, num_sequences, batch_size)
        wanted = self._request(len(texts), stop, token_bias, knobs, num_beams)
        # Texts of like length need less padding and end together; the longest, which need most memory, come first.
        order = np.argsort([-len(text) for text in texts], kind="stable")
        answers = []
        for start in range(0, len(texts), batch_size):
            rows = order[start : start + batch_size]
            request = {name: column[rows] for name, column in wanted.items()}
            columns = self.service.answer([texts[row] for row in rows], num_sequences, request, num_beams)
            answers += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return [answers[place] for place in np.argsort(order)]

    def _request(
        self, rows: int, stop: Sequence[str], token_bias: Mapping[int, float] | None, knobs: dict, num_beams: int = 1
    ) -> dict[str, Any]:
        size = self.config.vocabulary_size
        if wrong := {i: bias for i, bias in (token_bias or {}).items() if not 0 <= i < size or isnan(bias)}:
            raise ValueError(f"token_bias takes numbers for token ids below {size}: received {wrong}.")
        own = {"max_new_tokens": self._new_tokens} | self.generation
        if own["max_new_tokens"] >= self.max_length:  # would leave no room for a prompt
            own["max_new_tokens"] = self._new_tokens
        known = knobs_of(num_beams, self._has_source)
        knobs = {name: value for name, value in own.items() if name in known} | knobs
        return make_request(rows, stop, token_bias or {}, knobs, num_beams, self._has_source)

    def _saved_options(self) -> dict[str, Any]:
        return {"generation": self.generation} if self.generation else {}

    def generate(self, texts: Sequence[str], **options: Any) -> list[str] | list[list[str]]:
        """Continue prompts, or rewrite texts (translate them, say), by the same traced function that `export` saves.

        Args:
            texts: Any number of strings. An empty prompt starts from nothing.
            **options: Each one value, or one a text:
                `max_new_tokens` (the checkpoint's; else of a continuation 64, or half of `max_length` if that is less)
                and `min_new_tokens`;
                `temperature` (the checkpoint's; else 0, the likeliest token; 1 samples from the model's own
                distribution);
                `top_k`, `top_p`, `min_p`, which leave out unlikely tokens;
                `repetition_penalty` (1) and `no_repeat_ngram` (a length);
                `seed` of the samples;
                `length_penalty` (1) of beams: above 0, longer texts score better, as scores are divided by
                length ** `length_penalty`; `coverage_penalty` (0) of beams beside an encoder: what a source token
                costs that got little attention; `early_stopping` (False): end with the first `num_beams` texts, rather
                than when no better one can come.
                What the checkpoint says of any other of these goes before the value in parentheses, too.
                For all texts: `num_beams` (the checkpoint's, or 1), with more than one beam search instead of sampling;
                `stop`, at most 64 strings, of at most 1,024 bytes, before the first of which a text ends;
                `num_sequences` (1) for each prompt, with beams the best;
                `token_bias`, a number to add to the logits of tokens, by id, minus infinity to suppress one;
                `batch_size` (16), prompts at a time, those of like length together.

        Returns:
            The new texts, without the prompts; with `num_sequences` > 1 a list of them for each prompt.

        Raises:
            ValueError: The texts are one str, an option is unknown or out of range, or a text cannot be answered.

        Example: see the class.
        """
        answers = self.predict(texts, **options)
        for row, answer in enumerate(answers):
            if answer["error"]:
                raise ValueError(f"text {row} cannot be answered: {answer['error']}")
        return [answer["generated_text"] for answer in answers]

    def stream(
        self, text: str, *, stop: Sequence[str] = (), token_bias: Mapping[int, float] | None = None, **knobs: Any
    ) -> Iterator[str]:
        """`generate` for one text without beams, piece by piece as tokens come; the pieces are whole characters.

        Args:
            text: The prompt, or the source.
            stop: Strings before which the text ends.
            token_bias, **knobs: As for `generate`.

        Returns:
            An iterator of the pieces of the new text.

        Raises:
            ValueError: As for `generate`.
        """
        check_texts("text", [text])
        return self.service.stream(text, self._request(1, stop, token_bias, knobs))

    def export(
        self,
        folder: str,
        *,
        stop: Sequence[str] = (),
        num_beams: int | None = None,
        num_sequences: int = 1,
        **knobs: Any,
    ) -> None:
        """Write a SavedModel that generates texts, with the cache and the text handling inside.

        Its signature `serving_default` takes `text` (B,) strings; `generate` takes the knobs of `generate` besides,
        each (B,), and `stop` (B, n) strings, filled with empty ones. Both return `generated_text`, `score` and
        `num_tokens`, each (B,), or (B, n) with `num_sequences` > 1, and `truncated` and `error`, both (B,). A request
        whose knobs have more or fewer rows than there are texts is refused (`InvalidArgumentError`).

        Args:
            folder: Such as `"serving/novel/1"`. Replaced if it is a SavedModel; an interrupted export leaves the old
                one.
            stop, **knobs: Of `serving_default`.
            num_beams, num_sequences: As for `generate`, fixed for good.

        Raises:
            ValueError: The backend is not TensorFlow, a knob is out of range, or the folder holds something else.
        """
        check_exportable()
        from keras_transformers.export import export

        num_beams = self._num_beams if num_beams is None else num_beams
        _check_counts(num_beams, num_sequences)
        example = self._request(1, stop, None, knobs, num_beams)
        with self._exported_service() as service:
            service.projection.refresh()
            functions = service.signatures(example, num_sequences, num_beams)
            export(folder, service.module, functions, example)


def _check_counts(num_beams: int, num_sequences: int, batch_size: int = 1) -> None:
    counts = {"num_beams": num_beams, "num_sequences": num_sequences, "batch_size": batch_size}
    if wrong := {name: count for name, count in counts.items() if not isinstance(count, int) or count < 1}:
        raise ValueError(f"{sorted(counts)} must be integers of at least 1: received {wrong}.")
    if 1 < num_beams < num_sequences:
        raise ValueError(f"{num_beams} beams give no {num_sequences} texts: num_sequences is at most num_beams.")
