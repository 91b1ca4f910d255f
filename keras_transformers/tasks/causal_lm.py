"""Language modelling from left to right: train on texts, or on inputs and targets; generate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras

from keras_transformers.data.batching import BUCKETS
from keras_transformers.data.next_token import NextToken
from keras_transformers.data.packing import next_token_source
from keras_transformers.data.rows import Ragged
from keras_transformers.data.token_stream import TokenStream
from keras_transformers.generation.knobs import KNOBS, make_request
from keras_transformers.heads import language_model_head
from keras_transformers.models import decoder
from keras_transformers.tasks.answer import check_exportable
from keras_transformers.tasks.base import Task
from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training import losses, metrics
from keras_transformers.training.distribute import on_tensorflow


class CausalLMTask(Task):
    """Guess the next token.

    Papers: GPT, Radford et al. 2018; GPT-2, Radford et al. 2019.

    Args:
        config, tokenizer, max_length, outputs, dtype: As for `Task`.

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], 280, model="byte_pair")
    >>> sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    >>> task = CausalLMTask(gpt2(tokenizer.vocabulary_size, **sizes, eos_ids=[tokenizer.eos_id]), tokenizer)
    >>> history = task.fit(["a fine film", "a dull film"], epochs=1, verbose=0)
    >>> len(task.generate(["a fine", "a"], max_new_tokens=5, temperature=0.7, num_sequences=2)[0])
    2
    """

    name = "causal_lm"
    kinds = ("decoder",)

    def _build(self) -> keras.Model:
        backbone = decoder(self.config, outputs=self.outputs, dtype=self.dtype)
        embedding = backbone.get_layer("token_embedding")
        logits = language_model_head(self.config, embedding, backbone.output["hidden_states"], self.dtype)
        return keras.Model(backbone.input, {"logits": logits, **self._extra(backbone)}, name="causal_lm_model")

    def _objective(self) -> NextToken:
        return NextToken(self.config.vocabulary_size, self.config.pad_id)

    def _losses(self) -> dict[str, keras.losses.Loss]:
        return {"logits": losses.CrossEntropy()}

    def _metrics(self) -> dict[str, list]:
        return {"logits": [metrics.Accuracy(), metrics.Perplexity(), metrics.MeanCrossEntropy()]}

    def dataset(
        self,
        texts: Any,
        labels: Sequence[str] | None = None,
        *,
        packing: str | None = "documents",
        batch_size: int = 32,
        buffer_size: int = 1024,
        **settings: Any,
    ) -> Any:
        """What `task.model.fit` takes.

        Args:
            texts: A list of strings; or a `tf.data.Dataset` of strings, or of (text, label), for corpora larger than
                memory, tokenised on the fly.
            labels: What the model is to write after each text (completion); only this is a target then.
            packing: `"documents"`: rows of `max_length` tokens that hold several texts, which do not see each other;
                `"blocks"`: all texts in one, cut into rows, as in pre-training; None: one text a row.
            batch_size: Rows, over all replicas.
            buffer_size: Rows that a stream keeps in memory.
            **settings: As for `Task.dataset`.

        Returns:
            A `tf.data.Dataset`, or on other backends a `keras.utils.PyDataset`, of (inputs, labels).

        Raises:
            ValueError: There are no texts, texts and labels are not as many, or the packing is unknown.
        """
        options = {"packing": packing, "end_id": next(iter(self.config.eos_ids), None)}
        if hasattr(texts, "element_spec"):
            tokenize = self.text_graph.tokenize
            source = TokenStream(texts, tokenize, self.max_length, buffer_size=buffer_size, **options)
        else:
            targets = None if labels is None else self._ids(labels, special_tokens=False)
            source = next_token_source(self._ids(texts), self.max_length, targets=targets, **options)
        return self._batches(source, batch_size, **({"buckets": () if packing else BUCKETS} | settings))

    def _ids(self, texts: Sequence[str], special_tokens: bool = True) -> Ragged:
        return Ragged.of([row.ids for row in self.tokenizer.encode(texts, special_tokens=special_tokens)])

    def _make_service(self) -> Any:
        if not on_tensorflow():
            from keras_transformers.generation.bucketed import BucketedService

            return BucketedService(self.config, self.model, self.tokenizer, self.max_length)
        from keras_transformers.generation.service import GenerationService

        spelled = self.tokenizer.token_bytes()
        return GenerationService(self.config, self.model, self.text_graph, spelled, self.max_length)

    def predict(
        self,
        texts: Sequence[str],
        *,
        stop: Sequence[str] = (),
        num_beams: int = 1,
        num_sequences: int = 1,
        token_bias: Mapping[int, float] | None = None,
        batch_size: int = 16,
        **knobs: Any,
    ) -> list[dict[str, Any]]:
        """Continue texts, and say how: what `generate` gives, with scores.

        Args:
            texts, stop, num_beams, num_sequences, token_bias, batch_size, **knobs: As for `generate`.

        Returns:
            One dict a text: `generated_text`, `score` (the sum of the log-probabilities that the model gives to its
            tokens; of beams, with the penalties and over length ** `length_penalty`) and `num_tokens`, or lists of
            them with `num_sequences` > 1; `truncated`, whether the prompt was cut at its beginning; and `error`, empty
            when all is well.
        """
        texts = check_texts("texts", texts)
        _check_counts(num_beams, num_sequences, batch_size)
        wanted = self._request(len(texts), stop, token_bias, knobs, num_beams)
        answers = []
        for start in range(0, len(texts), batch_size):
            rows = slice(start, start + batch_size)
            request = {name: column[rows] for name, column in wanted.items()}
            columns = self.service.answer(texts[rows], num_sequences, request, num_beams)
            answers += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return answers

    def _request(
        self, rows: int, stop: Sequence[str], token_bias: Mapping[int, float] | None, knobs: dict, num_beams: int = 1
    ) -> dict[str, Any]:
        new = min(int(KNOBS["max_new_tokens"].neutral), self.max_length // 2)
        return make_request(rows, stop, token_bias or {}, {"max_new_tokens": new} | knobs, num_beams)

    def generate(self, texts: Sequence[str], **options: Any) -> list[str] | list[list[str]]:
        """Continue texts, by the same traced function that `export` saves.

        Args:
            texts: Prompts, any number of strings; an empty one starts from nothing.
            **options: Each one value, or one a text:
                `max_new_tokens` (64, or half of `max_length` if that is less) and `min_new_tokens`;
                `temperature` (0, the likeliest token; 1 samples from the model's own distribution);
                `top_k`, `top_p`, `min_p`, which leave out unlikely tokens;
                `repetition_penalty` (1) and `no_repeat_ngram` (a length);
                `seed` of the samples;
                `length_penalty` (1) of beams: above 0, longer texts score better, as scores are divided by
                length ** `length_penalty`.
                For all texts: `num_beams` (1), with more than one beam search instead of sampling;
                `stop`, strings before which a text ends; `num_sequences` (1) for each prompt, with beams the best;
                `token_bias`, a number to add to the logits of tokens, by id, minus infinity to suppress one;
                `batch_size` (16), prompts at a time.

        Returns:
            The continuations, without the prompts; with `num_sequences` > 1 a list of them for each prompt.

        Raises:
            ValueError: The texts are one str, an option is unknown or out of range, or a prompt cannot be continued.

        Example: see the class.
        """
        answers = self.predict(texts, **options)
        for row, answer in enumerate(answers):
            if answer["error"]:
                raise ValueError(f"text {row} cannot be continued: {answer['error']}")
        return [answer["generated_text"] for answer in answers]

    def stream(
        self, text: str, *, stop: Sequence[str] = (), token_bias: Mapping[int, float] | None = None, **knobs: Any
    ) -> Iterator[str]:
        """Continue one text, piece by piece as tokens come; the pieces are whole characters.

        Args:
            text: The prompt.
            stop: Strings before which the text ends.
            token_bias, **knobs: As for `generate`.

        Returns:
            An iterator of the pieces of the continuation.

        Raises:
            ValueError: As for `generate`.
        """
        check_texts("text", [text])
        return self.service.stream(text, self._request(1, stop, token_bias, knobs))

    def export(
        self, folder: str, *, stop: Sequence[str] = (), num_beams: int = 1, num_sequences: int = 1, **knobs: Any
    ) -> None:
        """Write a SavedModel that continues texts, with the cache and the text handling inside.

        Its signature `serving_default` takes `text` (B,) strings; `generate` takes the knobs of `generate` besides,
        each (B,), and `stop` (B, n) strings, filled with empty ones. Both return `generated_text`, `score` and
        `num_tokens`, each (B,), or (B, n) with `num_sequences` > 1, and `truncated` and `error`, both (B,).

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
