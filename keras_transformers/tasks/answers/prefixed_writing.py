"""Prefixes of prompts, which a task reads once: checks, and the service of the texts behind one."""

from __future__ import annotations

from typing import Any, cast

from keras_transformers.generation.prefix import check_prefix
from keras_transformers.generation.request import MOST, Request
from keras_transformers.models.decoder import goes_by_length
from keras_transformers.tasks.answers.services import current_service
from keras_transformers.tasks.answers.writing_setup import WritingSetup


class PrefixedWriting(WritingSetup):
    """The service of a task that generates texts, perhaps behind a prefix.

    Args:
        setup, model, target, new_tokens, generation: As for `WritingSetup`.
    """

    @property
    def service(self) -> Any:
        """Return the service that generates: reader, program and writer; on TensorFlow `export` saves it."""
        settings = self.prescribed(), self.compiled
        return current_service(cast(Any, self), settings)  # the class that has it is an `Answers`

    def service_behind(self, prefix: str | None, special_tokens: bool, request: Request) -> Any:
        """Return the service of texts behind a prefix, whose state is kept; `service` itself without one."""
        if prefix is None:
            return self.service
        ids = self.prefix_ids(prefix, special_tokens, request)
        return self.service.behind({self.form_of(special_tokens): self.service.prefix(ids)})

    def prefix_ids(self, prefix: str, special_tokens: bool, request: Request) -> list[int]:
        """Return the token ids of a prefix.

        Args:
            prefix: Text before every prompt.
            special_tokens: As for `form_of`.
            request: The request of the texts behind it.

        Raises:
            ValueError: The model has an encoder, or positions whose scale depends on the length of a text; `prefix` is
                no str, has no tokens, or leaves no room.
        """
        check_prefix(prefix)
        if self.has_source:
            raise ValueError("prefix is for decoders, which continue texts; this model has an encoder. Leave it out.")
        if goes_by_length(self.setup.config):
            raise ValueError(
                "prefix is read before the lengths of the texts are known, on which the positions of this model depend "
                "(longrope). Put the prefix before each text instead."
            )
        ids = self.setup.tokenizer.encode([prefix], special_tokens=special_tokens)[0].ids
        if not ids:
            raise ValueError(f"prefix has no tokens: received {prefix!r}. Leave it out.")
        least = int(request.max_new_tokens.min(initial=MOST))
        if least < MOST and len(ids) + 1 + least > self.setup.max_length:
            raise ValueError(
                f"prefix has {len(ids)} tokens, max_new_tokens is {least}: with a prompt they exceed the "
                f"{self.setup.max_length} tokens of the model. Shorten the prefix, or give fewer max_new_tokens."
            )
        return ids
