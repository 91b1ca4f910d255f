"""The trained model from which a run starts: its task, the parts that the result keeps, and its licence."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformers.checkpoints.settings.names import architecture_of, names_of
from keras_transformers.config.limits import most_tokens
from keras_transformers.families.table import modern_name, their_name
from zoo.loading.checkpoint import Checkpoint
from zoo.loading.find import find
from zoo.loading.place import stands_for
from zoo.registry.entry import Entry
from zoo.scratch.text_tasks import OF_MODELS

SENTINEL = "<extra_id_0>"
NOT_STATED = "not stated"
LICENCE = re.compile(r"^(?:\| *)?licen[cs]e[^:|\n]*[:|] *([^|\n]+?) *\|?$", re.IGNORECASE | re.MULTILINE)
MOST_CHARACTERS = 100_000  # of a README that are searched


class Origin:
    """A trained model whose training continues on plain text.

    Args:
        name: As for `zoo.load`.

    Attributes:
        checkpoint: Files of the checkpoint; the weights are not read yet.
        learns: Task that the model is trained on with plain text.

    Raises:
        ValueError: There is no such model, it has no weights, or its kind does not learn from plain text.
    """

    def __init__(self, name: str):
        self.name, self.checkpoint = name, find(name)
        self.stored = self.checkpoint.check()
        self.learns = OF_MODELS[self.config.kind]
        if self.learns.hides_spans:
            self._check_sentinels()
        if self.learns.hides_tokens:
            _id_of(self.checkpoint, "mask_id", f"{name} has no token that hides others ([MASK])")

    @property
    def config(self) -> Any:
        """Return the `TransformerConfig`."""
        return self.checkpoint.config

    @property
    def most_tokens(self) -> int:
        """Return the longest row that the model takes."""
        return most_tokens(self.config)

    @cached_property
    def max_length(self) -> int:
        """Longest text in tokens, as the checkpoint says."""
        return self.checkpoint.options({"max_length"}).get("max_length", self.config.max_length)

    @property
    def end_id(self) -> int | None:
        """Return the token behind a document; None if the model has none."""
        if self.learns.hides_tokens:
            return _id_of(self.checkpoint, self.learns.end_role)
        return self.config.eos_ids[0] if self.config.eos_ids else None

    @cached_property
    def has_head(self) -> bool:
        """Return whether the checkpoint has the output layers of its task.

        Only the output layers of masked LM are looked for here; others are checked when the model is loaded.
        """
        if not self.learns.hides_tokens:
            return True
        names = names_of(self.config, self.name, self.stored.extra["architecture"])
        first = names.architectures[architecture_of(self.learns.name, self.config.family)][0]
        wanted = their_name(f"{first}/kernel", names)[0]
        return any(modern_name(tensor.name, names) == wanted for tensor in self.stored.tensors())

    @cached_property
    def lost(self) -> list[str]:
        """Return the parts of the checkpoint that the result lacks."""
        names = names_of(self.config, self.name)
        kept = names.architectures[architecture_of(self.learns.name, self.config.family)]
        layers = [
            layer for layer in names.architectures.get(self.stored.extra["architecture"], ()) if layer not in kept
        ]
        phrases = [f"its {layer.replace('_', '-')} layer" for layer in layers]
        if self.checkpoint.labels and "classifier" in layers:
            phrases[layers.index("classifier")] += f" of the labels {', '.join(self.checkpoint.labels)}"
        if options := self.checkpoint.options({"pooling", "normalize"}, self.checkpoint.task):
            is_scaled = " and their scaling to length one" if options.get("normalize") else ""
            phrases.append(f"its pooling to vectors of texts ({options.get('pooling', 'mean')}){is_scaled}")
        return phrases

    @property
    def result(self) -> str:
        """Return the result of a run on plain text, in a sentence or two."""
        sentence = f"a {self.learns.result}"
        if self.made_for_another:
            sentence += f"; {self.name} was made for {self.made_for_another}: fine-tune the result for that again"
        if self.lost:
            sentence += f" ({' and '.join(self.lost)} {'is' if len(self.lost) == 1 else 'are'} not in it)"
        return sentence

    @property
    def made_for_another(self) -> str | None:
        """Return the task that it was made for, if that is another than what the run makes, with separate outputs."""
        made_for = self.checkpoint.task
        return None if made_for in (self.learns.name, *self.learns.parts_of) else made_for

    @cached_property
    def licence(self) -> str:
        """Return the licence of its weights, as the zoo or its README says."""
        place = stands_for(self.name)
        if isinstance(place, Entry):
            return place.licence
        if isinstance(place, str) and place.startswith("hf:"):
            return f"see https://huggingface.co/{place.removeprefix('hf:').partition('@')[0]}"
        return licence_in(Path(place) / "README.md") if isinstance(place, Path) else NOT_STATED

    def _check_sentinels(self) -> None:
        """Raise a `ValueError` for a model that cannot fill hidden spans: a translator, or one without sentinels."""
        tokenizer = self.checkpoint.tokenizer
        if self.config.family != "t5":
            raise ValueError(
                f"{self.name} ({self.config.family}) translates a source text into a target text, so it cannot learn "
                "from plain text. Give pairs: --source FILE --target FILE trains a new translator; python -m zoo "
                f"finetune {self.name} --task seq2seq_lm --train pairs.tsv --text 0 --label 1 fine-tunes this one."
            )
        try:
            tokenizer.token_to_id(SENTINEL)
        except ValueError:
            raise ValueError(
                f"the tokenizer of {self.name} has no {SENTINEL}, which marks a hidden span of text: expected "
                "T5's <extra_id_0> to <extra_id_99>. Give a T5 whose tokenizer has them, such as t5_small; or pairs of "
                "texts, by python -m zoo finetune --task seq2seq_lm."
            ) from None


def content_digest(checkpoint: Checkpoint) -> str:
    """Return a hash of what a checkpoint holds: its configuration, its tokenizer and the values of its weights.

    Args:
        checkpoint: Checkpoint with weights.
    """
    stored = checkpoint.check()
    state = hashlib.blake2b(json.dumps(stored.values, sort_keys=True, default=str).encode(), digest_size=6)
    state.update(checkpoint.tokenizer.to_json(pretty=False).encode())
    for tensor in sorted((tensor for tensor in stored.tensors() if tensor.is_weight), key=lambda tensor: tensor.name):
        state.update(f"{tensor.name} {tensor.dtype} {tensor.shape}".encode())
        state.update(np.ascontiguousarray(tensor.read()).tobytes())
    return state.hexdigest()


def licence_in(readme: Path) -> str:
    """Return the licence that a model card states, in its header or in a table; else `"not stated"`.

    Args:
        readme: The file; it may be missing.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "README.md")
    >>> _ = path.write_text("---\\nlicense: mit\\n---\\n# A model")
    >>> licence_in(path), licence_in(path.with_name("none.md"))
    ('mit', 'not stated')
    """
    if not readme.is_file():
        return NOT_STATED
    found = LICENCE.search(readme.read_text(encoding="utf-8", errors="replace")[:MOST_CHARACTERS])
    return found[1].strip("'\"") if found else NOT_STATED


def _id_of(checkpoint: Checkpoint, role: str, fault: str = "the tokenizer lacks a special token") -> int:
    try:
        return getattr(checkpoint.tokenizer, role)
    except ValueError as error:
        raise ValueError(f"{fault}: {error} Give a model that was trained as a masked language model.") from error
