"""Scores of texts: the log-probabilities that a language model gives their tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import keras
from keras import ops

from keras_transformers.heads.language_model import head_of
from keras_transformers.layers.core.gather import take_at
from keras_transformers.models.decoder import prefill
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.prefixed_writing import PrefixedWriting
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.row_chunks import Spec, in_chunks
from keras_transformers.tasks.answers.score_rows import PROBLEMS, PythonRows, RowFacts
from keras_transformers.tasks.answers.signatures import Signature, look_up
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.text.tokenizer import Tokenizer, check_texts
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.tensor_types import Tensor

NAME = "score"  # of the signature
LOGITS = 2**23  # numbers of a chunk of positions: 32 MiB, whatever the length of the texts and the vocabulary
NAN = float("nan")
SPECS = {"own": Spec("float32", ()), "end": Spec("float32", ())}


class ScoredWriting(PrefixedWriting):
    """The scores of texts, for a task that generates texts.

    Args:
        setup, model, target, new_tokens, generation: As for `WritingSetup`.
    """

    def score(
        self, texts: Iterable[str], continuations: Iterable[str] | None = None, *, batch_size: int = 16,
        verbose: Any = "auto",
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Score texts, or continuations of prompts, by the log-probabilities of their tokens, in nats.

        Use it to compare texts, to choose the likeliest of several answers, or for the perplexity of a corpus.
        A continuation's tokens are the tokens of prompt + continuation beyond the prompt's, where whitespace at the end
        of the prompt belongs to the continuation: as in lm-evaluation-harness. Without continuations, all tokens of a
        text are scored that have another one before them: the first one only if the tokenizer puts a token, such as
        `<s>`, before texts. A continuation of an empty prompt is scored behind that token, or else behind the first
        token of the model's texts, as `generate` does.

        Args:
            texts: Any number of strings: texts, or prompts. With an encoder, the sources.
            continuations: One for each prompt, not empty. With an encoder they are the targets, and needed.
            batch_size: Texts at a time, of similar length.
            verbose: As for `OnePass.predict`.

        Returns:
            One dict a text:

            - `log_probability` (float): the sum over the scored tokens, without the end token.
            - `num_tokens` (int): the number of scored tokens.
            - `perplexity` (float): exp(-`log_probability` / `num_tokens`).
            - `end_log_probability` (float): that the text ends there: with several end tokens, in any of them. None if
              the model has no end token.
            - `perplexity_with_end` (float): the perplexity with the end as one more token; None without an end token.
            - `tokens`: pairs of each scored token, as it stands in the vocabulary, and its log-probability.
            - `truncated` (bool): whether the text was too long and lost its beginning; a source as in `generate`.
            - `error` (str): why the text has no score, such as a continuation that exceeds the model; numbers are NaN.

        Raises:
            ValueError: The texts are one str, a continuation is empty, there are not as many as texts, or none beside
                an encoder.

        Example:

        >>> from keras_transformers import Task, Tokenizer
        >>> from keras_transformers.families import gpt2
        >>> tokenizer = Tokenizer.train(["the cat sat on the mat"], 280, model="byte_pair")
        >>> task = Task("causal_lm", gpt2(tokenizer.vocabulary_size, 1, 2, 16, max_length=32), tokenizer)
        >>> (score,) = task.score(["the cat sat on the"], [" mat"])
        >>> [token for token, _ in score["tokens"]], score["num_tokens"]
        (['Ġmat'], 1)
        """
        return self.scores.predict(texts, self._checked(continuations), batch_size=batch_size, verbose=verbose)

    def score_stream(
        self, texts: Iterable[str], continuations: Iterable[str] | None = None, *, batch_size: int = 16,
        verbose: Any = 0,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Yield what `score` returns, one text at a time: for more texts than fit in memory.

        Args:
            texts, continuations: As for `score`; iterators are read some thousands at a time, at first some dozens.
            batch_size, verbose: As for `score`.

        Returns:
            An iterator of dicts, in the order of the texts.

        Raises:
            ValueError: As for `score`; for the texts of an iterator, once they are read.
        """
        return self.scores.predict_stream(texts, self._checked(continuations), batch_size=batch_size, verbose=verbose)

    @cached_property
    def scores(self) -> OnePass:
        """Return the predictions that score texts."""
        signatures = score_signatures(self.setup, self.model, self.target)
        describe = partial(_described, self.target, bool(self.setup.config.eos_ids))
        readers = (partial(check_texts, "texts"), _check_continuations)
        return OnePass(self.setup, self.model, signatures, describe, read_columns=readers)

    def score_functions(self, module: Any) -> dict[str, Any]:
        """Return the signatures of an export that score texts; a module keeps their tables.

        Args:
            module: The `tf.Module` with the variables of the model.
        """
        service = self.scores.make_service()
        module.score_tables = self.setup.graph_of(self.target)
        return {NAME: service.signatures[NAME]}

    def _checked(self, continuations: Iterable[str] | None) -> Iterable[str] | None:
        if continuations is None and self.has_source:
            raise ValueError("a target is scored beside its source: give score(sources, targets).")
        return continuations


def _check_continuations(continuations: Any) -> list[str]:
    checked = check_texts("continuations", continuations)
    if "" in checked:
        raise ValueError(f"continuation {checked.index('')} is empty: leave it out, with its prompt.")
    return checked


def score_signatures(setup: Setup, model: keras.Model, target: Tokenizer) -> dict[str, Signature]:
    """Return the signatures that score continuations, and texts alone.

    Args:
        setup: Setup of the task.
        model: A model with the head of a language model.
        target: Tokenizer of the texts that the model writes.
    """
    facts = RowFacts.of(setup, target)
    if on_tensorflow():
        from keras_transformers.tasks.answers.graph_score_rows import GraphRows

        rows: Any = GraphRows(facts, setup, setup.graph_of(target))
    else:
        rows = PythonRows(facts, setup, target)

    def read(reader: Reader, texts: Any, continuations: Any) -> Tensors:
        return rows(texts, continuations)

    def read_alone(reader: Reader, texts: Any) -> Tensors:
        if not on_tensorflow():
            return rows(texts, [""] * len(texts))
        import tensorflow as tf

        return rows(texts, tf.fill(tf.shape(texts), ""))

    def write(found: Tensors, *columns: Any) -> Tensors:
        messages = [problem.format(max_length=facts.max_length) for problem in PROBLEMS]
        error = look_up(messages, found["problem"])
        return {name: column for name, column in found.items() if name != "problem"} | {"error": error}

    compute = partial(_compute, prefill(setup.config, model), head_of(setup.config, model), setup.config)
    signatures = {NAME: Signature(("text", "continuation"), read, compute, write)}
    return signatures if facts.is_target else signatures | {"text": Signature(("text",), read_alone, compute, write)}


def _compute(reader: keras.Model, project: Any, config: Any, rows: Tensors) -> Tensors:
    """Compute the scores of rows, as `GraphRows` returns them."""
    lengths, num_scored, columns = rows["lengths"][:, None], rows["num_scored"][:, None], rows["columns"]
    width = ops.shape(rows["token_ids"])[1]
    mask = ops.cast(ops.arange(width, dtype="int32") < lengths, "int32")  # (B, T)
    inputs = rows | {"padding_mask": mask, "text_lengths": lengths}
    states = reader({name: inputs[name] for name in reader.input}, training=False)["hidden_states"]  # (B, T, D)

    places = ops.clip(lengths - num_scored - 1 + columns, 0, width - 1)  # (B, M), before each scored token and the end
    token_ids = take_at(rows["token_ids"], ops.minimum(places + 1, width - 1))  # (B, M)
    own, end = _log_probabilities(take_at(states, places), token_ids, project, config)  # (B, M) each
    is_scored = columns < num_scored  # (B, M)
    own, token_ids = ops.where(is_scored, own, 0.0), ops.where(is_scored, token_ids, -1)
    end = take_at(end, num_scored)[:, 0] if config.eos_ids else ops.full_like(own[:, 0], NAN)  # (B,)

    total, count = ops.sum(own, axis=1), ops.cast(num_scored[:, 0], "float32")  # (B,)
    numbers = {
        "log_probability": total,
        "perplexity": ops.exp(-total / ops.maximum(count, 1.0)),
        "end_log_probability": end,
        "perplexity_with_end": ops.exp(-(total + end) / (count + 1.0)),
    }
    is_fine = rows["problem"] < 0
    numbers = {name: ops.where(is_fine, number, NAN) for name, number in numbers.items()}
    tokens = {"token_ids": token_ids[:, :-1], "token_log_probabilities": own[:, :-1]}
    given = {"num_tokens": rows["num_scored"], "truncated": rows["truncated"], "problem": rows["problem"]}
    return {**numbers, **tokens, **given}


def _log_probabilities(states: Tensor, token_ids: Tensor, project: Any, config: Any) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities of tokens (B, M), and of an end there, from the states (B, M, D) before them."""
    shape, size = ops.shape(token_ids), states.shape[-1]

    def score(chunk: Tensors) -> Tensors:
        logits = ops.cast(project(chunk["states"]), "float32")  # (C, V)
        all_tokens = ops.logsumexp(logits, axis=-1)  # (C,)
        own = take_at(logits, chunk["token_ids"][:, None])[:, 0] - all_tokens
        ends = ops.stack([logits[:, end_id] for end_id in config.eos_ids or (0,)], axis=-1)
        return {"own": own, "end": ops.logsumexp(ends, axis=-1) - all_tokens}

    columns = {"states": ops.reshape(states, (-1, size)), "token_ids": ops.reshape(token_ids, (-1,))}
    found = in_chunks(score, columns, SPECS, max(LOGITS // config.vocabulary_size, 1))
    return ops.reshape(found["own"], shape), ops.reshape(found["end"], shape)


def _described(target: Tokenizer, has_end: bool, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `score` returns for a row of the outputs."""
    count = int(row["num_tokens"])
    pairs = zip(row["token_ids"][:count].tolist(), row["token_log_probabilities"][:count].tolist(), strict=True)
    end = {name: float(row[name]) if has_end else None for name in ("end_log_probability", "perplexity_with_end")}
    return {
        "log_probability": float(row["log_probability"]),
        "num_tokens": count,
        "perplexity": float(row["perplexity"]),
        **end,
        "tokens": [(target.id_to_token(token), number) for token, number in pairs],
        "error": str(row["error"]),
    }
