"""Prompts: texts that are put before the texts of a task, such as `"query: "`, each by a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.text_checks import check_text
from keras_transformers.utils.untrusted import shown

QUERY, DOCUMENT = ("query",), ("document", "passage", "corpus")  # as encode_query and encode_document have them


@dataclass(frozen=True)
class Prompts:
    """The prompts of a task.

    Args:
        texts: Prompts by name.
        default: Name of the prompt of a text for which none is given; None for no prompt.
        are_pooled: Whether the tokens of a prompt take part in the pooling.

    Raises:
        ValueError: They are no texts by name, or the default is none of them.

    Example:

    >>> prompts = Prompts({"query": "query: ", "passage": "passage: "})
    >>> prompts.text_of("query"), prompts.document, prompts.text_of(None)
    ('query: ', 'passage: ', '')
    """

    texts: Mapping[str, str]
    default: str | None = None
    are_pooled: bool = True

    def __post_init__(self):
        if not isinstance(self.texts, Mapping) or not all(isinstance(name, str) and name for name in self.texts):
            raise ValueError(
                f'prompts are texts by name, such as {{"query": "query: "}}: received {shown(self.texts)}.'
            )
        for name, text in self.texts.items():
            if not isinstance(text, str):
                raise ValueError(f"prompts must be texts: received {shown(text)} for {name!r}.")
            check_text(f"prompts[{name!r}]", text, 0)
        if not isinstance(self.are_pooled, bool):
            raise ValueError(f"include_prompt must be True or False: received {self.are_pooled!r}.")
        if self.default is not None:
            self._check("default_prompt", self.default)

    def text_of(self, name: str | None, text: str | None = None) -> str:
        """Return the prompt of a name, or a text of the user's own; the default one if neither is given.

        Raises:
            ValueError: There is no such name, or both are given.
        """
        if name is not None and text is not None:
            raise ValueError(f"received prompt={name!r} and prompt_text={text!r}: leave one of them out.")
        if text is not None:
            if not isinstance(text, str):
                raise ValueError(f"prompt_text must be a str: received {shown(text)}.")
            return check_text("prompt_text", text, 0)
        if name is None:
            return "" if self.default is None else self.texts[self.default]
        return self._check("prompt", name)

    def of_columns(self, names: Any) -> list[str]:
        """Return the prompts of the columns of rows to learn from, by names; None is the default one.

        Raises:
            ValueError: They are no list of names, or of prompts that are not pooled.
        """
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise ValueError(
                f"prompts are the names of one for each column of texts, such as ['query', 'document']: received "
                f"{shown(names)}."
            )
        found = [self.text_of(name) for name in names]
        if any(found) and not self.are_pooled:
            raise ValueError(
                "include_prompt=False leaves prompts out of the pooling, and `fit` would pool them: received "
                f"{found}. Learn without a prompt, or with include_prompt=True."
            )
        return found

    def _check(self, option: str, name: Any) -> str:
        if not isinstance(name, str) or name not in self.texts:
            remedy = "" if option != "prompt" else " For a text of your own `embed` takes prompt_text=."
            raise ValueError(f"{option} must be one of {sorted(self.texts)}: received {shown(name)}.{remedy}")
        return self.texts[name]

    @property
    def query(self) -> str:
        """Return the prompt of queries; the default one if there is none for them."""
        return self._of(QUERY)

    @property
    def document(self) -> str:
        """Return the prompt of documents; the default one if there is none for them."""
        return self._of(DOCUMENT)

    def has(self, names: Sequence[str]) -> bool:
        """Return whether there is a prompt of one of these names."""
        return any(name in self.texts for name in names)

    def _of(self, names: Sequence[str]) -> str:
        found = [self.texts[name] for name in names if name in self.texts]
        # sentence-transformers writes an empty prompt for documents beside one for passages.
        return next(filter(None, found), "") if found else self.text_of(None)

    @property
    def saved(self) -> dict[str, Any]:
        """Return the options of the task that hold them, as `save` stores them."""
        return {"prompts": {**self.texts}, "default_prompt": self.default, "include_prompt": self.are_pooled}


class PromptReader:
    """A function from texts, and prompts before them, to inputs of a model.

    Args:
        tokenizer: Tokenizer of the task.
        max_length: Longest text in tokens.
        counts_tokens: Whether the number of a prompt's tokens, `prompt_length` (B,), is among the inputs.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, counts_tokens: bool):
        self.tokenizer, self.max_length, self.counts_tokens = tokenizer, max_length, counts_tokens

    def same(self, reader: Reader, texts: Any, prompt: str) -> Tensors:
        """Return the inputs of texts (B,) that all have one prompt."""
        encoded = reader(before(prompt, texts) if prompt else texts)
        if not self.counts_tokens:
            return encoded
        (row,) = self.tokenizer.encode([prompt], max_length=self.max_length)
        count = len(row.ids) - self._ending if prompt else 0
        return {**encoded, "prompt_length": ops.cast(encoded["truncated"], "int32") * 0 + count}

    def each(self, reader: Reader, texts: Any, prompts: Any) -> Tensors:
        """Return the inputs of texts (B,) with a prompt each, (B,)."""
        encoded = reader(before(prompts, texts))
        if not self.counts_tokens:
            return encoded
        mask = ops.cast(reader(prompts)["padding_mask"], "int32")  # (B, T)
        counts = (ops.sum(mask, axis=1) - self._ending) * are_given(prompts)  # (B,)
        return {**encoded, "prompt_length": counts}

    @cached_property
    def _ending(self) -> int:
        """Return how many special tokens end a text, and are no part of a prompt: 1 or 0."""
        empty, full = self.tokenizer.encode(["", "a"])
        return int(bool(empty.ids) and empty.ids[-1] == full.ids[-1])


def before(prompt: Any, texts: Any) -> Any:
    """Put one prompt before texts (B,), or one before each, in Python lists or in TensorFlow.

    Example:

    >>> before("a ", ["b", "c"]), before(["a ", ""], ["b", "c"])
    (['a b', 'a c'], ['a b', 'c'])
    """
    if isinstance(texts, list):
        prompts = [prompt] * len(texts) if isinstance(prompt, str) else prompt
        return [one + text for one, text in zip(prompts, texts, strict=True)]
    import tensorflow as tf

    return tf.strings.join([prompt, texts])


def put_before(texts: Any, pairs: Any, prompts: Any) -> tuple[Any, Any]:
    """Return texts (B,) with a prompt for all, or one for each, and their pairs.

    Example:

    >>> put_before(["b"], ["c"], "a "), put_before(["b"], ["c"], "")
    ((['a b'], ['c']), (['b'], ['c']))
    """
    return (texts if isinstance(prompts, str) and not prompts else before(prompts, texts)), pairs


def are_given(prompts: Any) -> Tensor:
    """Return 1 for each prompt (B,) that is not empty, and 0 for the others: int32 (B,)."""
    if isinstance(prompts, list):
        return np.array([bool(prompt) for prompt in prompts], np.int32)
    import tensorflow as tf

    return tf.cast(tf.strings.length(prompts) > 0, tf.int32)


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise ValueError(f"default_prompt must be the name of a prompt: received {shown(name)}.")


# Checks of the options of a task with prompts.
OF_PROMPTS: dict[str, Callable[[Any], Any]] = {"prompts": Prompts, "default_prompt": _check_name}
