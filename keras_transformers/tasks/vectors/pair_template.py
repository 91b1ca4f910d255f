"""The text that a language model reads of a query and a document: fixed texts around them, which are never cut."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

import tokenizers

from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.utils.text_checks import check_text
from keras_transformers.utils.untrusted import shown

FIELD = re.compile(r"\{(query|document|prompt)\}")


@dataclasses.dataclass(frozen=True)
class PairTemplate:
    """Texts around a query and a document.

    Args:
        text: Text with the fields `{query}`, `{document}` and perhaps `{prompt}`; if it is too long, its end is cut.
        pair: A second text with the rest of the fields, whose tokens follow the tokens of `text`; of the two the longer
            one is cut.
        prefix: Text before, with its special tokens; never cut.
        suffix: Text behind, whose last token is followed by the token of the score; never cut.
        instruction: Text in place of `{prompt}` where no prompt is given.

    Raises:
        ValueError: A part is no text, or the fields do not occur once each.

    Example:

    >>> PairTemplate("A: {query}", " B: {document}").write(["cat"], ["dog"])
    (['A: cat'], [' B: dog'])
    """

    text: str
    pair: str = ""
    prefix: str = ""
    suffix: str = ""
    instruction: str = ""

    def __post_init__(self):
        for name, part in dataclasses.asdict(self).items():
            if not isinstance(part, str):
                raise ValueError(f"{name} of pair_template must be a text: received {shown(part)}.")
            check_text(f"pair_template[{name!r}]", part, 0)
        found = FIELD.findall(self.text) + FIELD.findall(self.pair)
        if sorted({*found, "query", "document"}) != sorted(found) or FIELD.search(self.prefix + self.suffix):
            raise ValueError(
                "text and pair of pair_template must have the fields {query} and {document} once, {prompt} at most "
                f"once, and prefix and suffix none: received {shown(dataclasses.asdict(self))}."
            )

        if self.instruction and "prompt" not in found:
            raise ValueError(
                "instruction of pair_template stands in place of {prompt}, which text and pair do not have: received "
                f"{shown(self.instruction)}. Leave it out."
            )

    @property
    def values(self) -> dict[str, str]:
        """Return the parts that are not empty, by name."""
        return {name: part for name, part in dataclasses.asdict(self).items() if part}

    @property
    def has_prompt(self) -> bool:
        """Return whether there is a place for a prompt."""
        return "{prompt}" in self.text + self.pair

    def write(self, texts: Any, pairs: Any, prompts: Any = "") -> tuple[Any, Any]:
        """Return the texts of pairs, and second ones or None: lists of str, or (B,) strings in TensorFlow.

        Args:
            texts, pairs: Queries and documents, (B,).
            prompts: A prompt for all of them, or one for each; an empty one is `instruction`.
        """
        if isinstance(texts, list) and (pairs is None or len(pairs) != len(texts)):
            received = "no pairs" if pairs is None else f"{len(pairs)} pairs"
            raise ValueError(f"received {len(texts)} texts and {received}: expected one pair for each text.")
        columns = {"query": texts, "document": pairs, "prompt": self._instructed(prompts)}
        if not self.has_prompt:
            columns["query"] = _joined([prompts, texts], texts)
        first, second = (
            [columns[piece] if number % 2 else piece for number, piece in enumerate(FIELD.split(text))]
            for text in (self.text, self.pair)
        )
        return _joined(first, texts), _joined(second, texts) if self.pair else None

    def _instructed(self, prompts: Any) -> Any:
        if isinstance(prompts, str):
            return prompts or self.instruction
        if isinstance(prompts, list):
            return [prompt or self.instruction for prompt in prompts]
        import tensorflow as tf

        return tf.where(prompts == "", self.instruction, prompts)

    def around(self, setup: Setup) -> Setup:
        """Return a setup whose tokenizer puts the tokens of prefix and suffix around texts, and never cuts them."""
        tokenizer = setup.tokenizer
        around = (self.prefix, self.suffix)
        ends = [tokenizer.encode([text], special_tokens=False)[0].ids if text else [] for text in around]
        if (count := sum(map(len, ends))) >= setup.max_length:
            raise ValueError(
                f"prefix and suffix of pair_template are {count} tokens, and leave no room for texts in max_length="
                f"{setup.max_length}. Give a larger max_length, or shorter parts."
            )
        names = [(f"pair_template_{number}", ids) for number, ids in enumerate(ends)]
        special = {
            name: {"id": name, "ids": [*ids], "tokens": [tokenizer.id_to_token(number) for number in ids]}
            for name, ids in names
            if ids
        }
        before, behind = ([{"SpecialToken": {"id": name, "type_id": 0}}] if ids else [] for name, ids in names)
        first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
        config = json.loads(tokenizer.to_json())
        config["post_processor"] = {
            "type": "TemplateProcessing", "single": [*before, first, *behind],
            "pair": [*before, first, second, *behind], "special_tokens": special,
        }  # fmt: skip
        return setup.with_tokenizer(tokenizer.with_library(tokenizers.Tokenizer.from_str(json.dumps(config))))


def make_template(values: Any) -> PairTemplate:
    """Return the template of a dict of its parts.

    Raises:
        ValueError: It is none, or has unknown parts.

    Example:

    >>> make_template({"text": "{query} {document}"}).has_prompt
    False
    """
    if isinstance(values, PairTemplate):
        return values
    known = [field.name for field in dataclasses.fields(PairTemplate)]
    if not isinstance(values, Mapping) or "text" not in values or {*values} - {*known}:
        raise ValueError(
            f"pair_template must be a dict with 'text', a text with {{query}} and {{document}}, and others of {known}: "
            f"received {shown(values)}."
        )
    return PairTemplate(**values)


def _joined(pieces: list[Any], like: Any) -> Any:
    """Join pieces to one text a row: str for all rows, or one for each."""
    if isinstance(like, list):
        columns = [[piece] * len(like) if isinstance(piece, str) else piece for piece in pieces]
        return ["".join(row) for row in zip(*columns, strict=True)]
    import tensorflow as tf

    return tf.strings.join(pieces)
