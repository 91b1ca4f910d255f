"""Texts of a regular expression or a JSON schema: a mask of tokens before each turn, by the library `llguidance`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.generation.request import Request
from keras_transformers.generation.spelling import Spelling
from keras_transformers.generation.state import State
from keras_transformers.utils.untrusted import shown

STUCK = "No token of the vocabulary continues the text as the grammar requires."
JSON_STYLE = {"whitespace_pattern": r"\x20"}  # one space where there may be any: some models would write no end of them
CUT = "max_new_tokens ended the text before it was whole."


class Turns(Protocol):
    """A service that takes one turn after the other: `service.GenerationService` or `bucketed.BucketedService`."""

    def turn(self, state: State, request: Request) -> State:
        """Return the state with one more token for each unfinished row."""


class Grammar:
    """A regular expression or a JSON schema, for the vocabulary of a decoder.

    Args:
        config: Configuration of the model.
        spelling: Text that each token adds.
        pattern: Regular expression that the whole new text matches, in the syntax of Rust's crate `regex`.
        json_schema: JSON schema of the new text, which has at most one space where white space may be.

    Raises:
        ValueError: The library is missing, both are given or none, one is wrong or not supported, or the model is no
            decoder with an end token.
    """

    def __init__(self, config: TransformerConfig, spelling: Spelling, pattern: Any = None, json_schema: Any = None):
        name, value = ("json_schema", json_schema) if pattern is None else ("pattern", pattern)
        if (pattern is None) == (json_schema is None):
            raise ValueError("give a pattern or a json_schema, one of them.")
        if config.kind != "decoder" or not config.eos_ids or any(spelling.rests):
            raise ValueError(f"{name} is for decoders with an end token, whose tokens hold their spaces themselves.")
        self.eos_ids, self.size = [*config.eos_ids], config.vocabulary_size
        library = _library(name)
        self.tokens = library.LLTokenizer(library.TokenizerWrapper(Vocabulary(spelling, self.eos_ids[0])))
        self.grammar = _source(library, pattern, json_schema)
        self.matcher_class = library.LLMatcher
        if error := self.matcher_class.validate_grammar(self.grammar, self.tokens):
            raise ValueError(f"{name} cannot be followed: received {shown(value)}. {' '.join(error.split())}")

    def guide(self, rows: int) -> Guide:
        """Return the guide of so many texts, which have not begun."""
        return Guide(self, [self.matcher_class(self.tokens, self.grammar, log_level=0) for _ in range(rows)])


class Guide:
    """The places of B texts in a grammar.

    Args:
        grammar: The grammar.
        matchers: B matchers of the library.

    Attributes:
        errors: Why a text is not whole, by the number of its row.
    """

    def __init__(self, grammar: Grammar, matchers: list[Any]):
        self.grammar, self.matchers = grammar, matchers
        self.errors: dict[int, str] = {}

    def states(self, service: Turns, state: State, request: Request) -> Iterator[State]:
        """Yield the state after each turn, until all rows have ended.

        Args:
            service: Service that takes the turns.
            state, request: State before the first turn, of B rows, and their request.
        """
        finished = ops.convert_to_numpy(state.finished)
        while not finished.all():
            allowed = self.allowed(finished)
            finished = finished | ~allowed.any(1)
            state = state._replace(finished=ops.convert_to_tensor(finished))
            state = service.turn(state, request._replace(allowed=ops.convert_to_tensor(allowed)))
            lengths = ops.convert_to_numpy(state.lengths)
            tokens = np.take_along_axis(ops.convert_to_numpy(state.token_ids), lengths[:, None] - 1, 1)[:, 0]
            self.follow(tokens.tolist(), finished)
            finished = ops.convert_to_numpy(state.finished)
            yield state

    def allowed(self, finished: np.ndarray) -> np.ndarray:
        """Return the tokens that may come next, boolean (B, V), all in rows that have ended."""
        allowed = np.ones((len(self.matchers), self.grammar.size), bool)
        for row, matcher in enumerate(self.matchers):
            if finished[row]:
                continue
            bits = np.frombuffer(matcher.compute_bitmask(), np.uint8)
            allowed[row] = np.unpackbits(bits, bitorder="little")[: self.grammar.size]
            allowed[row, self.grammar.eos_ids] = allowed[row, self.grammar.eos_ids[0]]
            if not allowed[row].any():
                self.errors[row] = STUCK
        return allowed

    def follow(self, tokens: list[int], finished: np.ndarray) -> None:
        """Take the tokens of a turn, one a row, but in rows that had ended before it."""
        for row, (matcher, token) in enumerate(zip(self.matchers, tokens, strict=True)):
            if not finished[row]:
                matcher.consume_token(self.grammar.eos_ids[0] if token in self.grammar.eos_ids else token)

    def told(self, error: list[str]) -> list[str]:
        """Return the errors of texts, also for texts that are not whole."""
        for row, matcher in enumerate(self.matchers[: len(error)]):
            if not error[row] and not matcher.is_accepting():
                error[row] = self.errors.get(row, CUT)
        return error


class Vocabulary:
    """The vocabulary of a model, as `llguidance` reads it.

    Args:
        spelling: Text that each token adds.
        eos_id: Id of the end token.
    """

    bos_token_id = None

    def __init__(self, spelling: Spelling, eos_id: int):
        self.eos_token_id = eos_id
        self.special_token_ids = [number for number, is_text in enumerate(spelling.is_text) if not is_text]
        self.tokens = list(spelling.bodies)
        for number in self.special_token_ids:
            self.tokens[number] = b"\xff[%d]" % number  # 0xff, no byte of UTF-8, marks tokens without text
        self.numbers = {token: number for number, token in reversed([*enumerate(self.tokens)])}
        self.longest = max(map(len, self.tokens))

    def __call__(self, content: bytes) -> list[int]:
        """Return tokens that spell bytes, the longest first: for bytes that a grammar leaves no choice of."""
        ids: list[int] = []
        while content:
            sizes = range(min(len(content), self.longest), 0, -1)
            size = next((size for size in sizes if content[:size] in self.numbers), 0)
            if not size:
                break
            ids.append(self.numbers[content[:size]])
            content = content[size:]
        return ids


def _library(name: str) -> Any:
    try:
        import llguidance
    except ImportError as error:
        raise ValueError(
            f'{name} needs the library llguidance: pip install "keras_transformers[constrained]".'
        ) from error
    return llguidance


def _source(library: Any, pattern: Any, json_schema: Any) -> str:
    """Return the grammar in the library's syntax."""
    if pattern is not None:
        if not isinstance(pattern, str) or not pattern:
            raise ValueError(f"pattern is a regular expression, a str: received {shown(pattern)}.")
        return library.LLMatcher.grammar_from_regex(pattern)
    if not isinstance(json_schema, Mapping):
        raise ValueError(f'json_schema is a dict, such as {{"type": "object"}}: received {shown(json_schema)}.')
    return library.LLMatcher.grammar_from_json_schema(json.dumps(json_schema), JSON_STYLE)
