"""Settings of tasks that generate texts, and the service that reads, writes and is exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import keras
import numpy as np

from keras_transformers.checkpoints.settings.generation_config import check_settings
from keras_transformers.generation.decoding import Decoding, make_decoding
from keras_transformers.generation.draft import Draft
from keras_transformers.generation.prescribed import Prescribed, prescribed_by
from keras_transformers.generation.prompts import CHATS, TEXTS, longest_text
from keras_transformers.generation.request import Request, check_bias, make_request, sampling_parameters_of
from keras_transformers.generation.spelling import Spelling, spell
from keras_transformers.generation.text_choices import ChoiceReader
from keras_transformers.tasks.answers.services import Compiling, check_counts, generation_backend
from keras_transformers.tasks.contract.parts import MadeService, Setup
from keras_transformers.text.same_tokens import difference
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.untrusted import shown

DRAFT_TOKENS = 5  # guesses at a time: faster than 3 where all are right, as fast at a third (`benchmarks/draft.py`)


class WritingSetup(Compiling):
    """The settings of a task that generates texts, and the service that they make.

    Args:
        setup: Setup of the task.
        model: The model, with the head of a language model.
        target: The tokenizer of the generated texts.
        new_tokens: The default of `max_new_tokens`.
        generation: Defaults of `num_beams`, of the sampling parameters and of the other settings of a checkpoint, as
            `checkpoints.settings.generation_config.read_generation` returns them; `save` writes them.

    Raises:
        ValueError: `generation` has an unknown name.
    """

    def __init__(
        self,
        setup: Setup,
        model: keras.Model,
        target: Tokenizer,
        new_tokens: int,
        generation: Mapping[str, Any] | None,
    ):
        self.setup, self.model, self.target, self.new_tokens = setup, model, target, new_tokens
        self.made_service: MadeService | None = None
        self.kept: dict[str, Any] = {}
        self.generation = generation or {}

    @property
    def generation(self) -> dict[str, Any]:
        """Return the default settings of generation."""
        return self._generation

    @generation.setter
    def generation(self, settings: Mapping[str, Any]):
        check_settings(settings, self.setup.config.vocabulary_size)
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
        self.kept = plain.pop("kept", self.kept)
        self._generation = plain

    def saved(self) -> dict[str, Any]:
        """Return the settings that `Task.save` writes."""
        settings = self.generation | {"kept": self.kept} if self.kept else self.generation
        return {"generation": settings} if settings else {}

    def request(
        self,
        rows: int,
        stop: Sequence[str] | None = None,
        token_bias: Mapping[int, float] | None = None,
        parameters: Mapping[str, Any] | None = None,
        num_beams: int = 1,
        choices: Sequence[str] | None = None,
    ) -> Request:
        """Return a request for `rows` texts: the given options, then `generation`, then neutral values."""
        token_bias = check_bias(token_bias, self.setup.config.vocabulary_size)
        settings = {"max_new_tokens": self.new_tokens} | self.generation
        if settings["max_new_tokens"] >= longest_text(self.setup.config, self.setup.max_length):  # no room for a prompt
            settings["max_new_tokens"] = self.new_tokens
        known = sampling_parameters_of(num_beams, self.has_source)
        values = {name: value for name, value in settings.items() if name in known} | dict(parameters or {})
        if choices is None:
            return make_request(rows, self.stop_of(stop), token_bias, values, num_beams, self.has_source)
        ids = self.choice_reader(choices, self.choice_room)
        values["max_new_tokens"] = ids.shape[1] + 1  # and the end token
        return make_request(rows, (), token_bias, values, num_beams, self.has_source, ids)

    @property
    def choice_reader(self) -> ChoiceReader:
        """Return the reader of choices."""
        config = self.setup.config
        if not config.eos_ids:
            raise ValueError("choices need a model with an end token: give config.eos_ids one.")
        lead = [token for _, token in sorted(self.prescribed().forced)] if self.has_source else []
        return ChoiceReader(self.target, self.spelling, self.has_source, lead)

    @property
    def spelling(self) -> Spelling:
        """Text that each token adds."""
        return spell(self.target, self.setup.config, begins=self.has_source)

    @property
    def choice_room(self) -> int:
        """Tokens of a choice, at most: one token of a prompt stays, and the end token follows."""
        return longest_text(self.setup.config, self.setup.max_length) - 2

    @property
    def has_source(self) -> bool:
        """Return whether an encoder reads the text, which is then rewritten rather than continued."""
        return self.setup.config.kind == "encoder_decoder"

    @property
    def num_beams(self) -> int:
        """Return the checkpoint's number of beams, or 1."""
        return self.generation.get("num_beams", 1)

    def decoding(
        self, num_beams: Any, num_sequences: Any, prompt_lookup: Any, draft: Any = None, draft_tokens: Any = None
    ) -> tuple[Decoding, int]:
        """Return how to decode, and the number of texts for each prompt."""
        num_beams = self.num_beams if num_beams is None else num_beams
        num_beams, num_sequences = check_counts(num_beams=num_beams, num_sequences=num_sequences)
        if 1 < num_beams < num_sequences:
            raise ValueError(f"{num_beams} beams give no {num_sequences} texts: num_sequences is at most num_beams.")
        if prompt_lookup is not None and self.setup.config.has_states:
            raise ValueError(
                f"prompt_lookup={prompt_lookup!r} takes back wrong guesses, and the state of a block without attention "
                "cannot forget a token. Leave prompt_lookup out."
            )
        longest = longest_text(self.setup.config, self.setup.max_length)
        if draft is None:
            if draft_tokens is not None:
                raise ValueError(f"draft_tokens={draft_tokens!r} are guessed by a draft: give draft, or leave it out.")
            return make_decoding(num_beams, prompt_lookup, longest), num_sequences
        small = self.drafter(draft)
        sizes = self.setup.config.vocabulary_size, small.setup.config.vocabulary_size
        record = Draft(None, DRAFT_TOKENS if draft_tokens is None else draft_tokens, *sizes)
        decoding = make_decoding(num_beams, prompt_lookup, longest, record)
        service = cast(Any, small).service  # the class of a task's answers has it; made after all checks
        if on_tensorflow():
            service.output_matrix.refresh()
        return decoding._replace(draft=cast(Draft, decoding.draft)._replace(service=service)), num_sequences

    def drafter(self, draft: Any) -> WritingSetup:
        """Return the answers of a draft; raise a `ValueError` if it is no task that can guess for this model."""
        small = getattr(getattr(draft, "parts", None), "answers", None)
        if self.has_source or not isinstance(small, WritingSetup) or small.has_source:
            raise ValueError(
                "draft is for causal_lm: a loaded task of a small model that continues texts, beside one of a large "
                f"model that does: received {shown(draft)} for {self.setup.kind.name}. Leave draft out."
            )
        if small.compiled:
            raise ValueError("a draft is not compiled apart from the model: set draft.compiled = False.")
        check_draft(self.setup, small.setup)
        return small

    def make_service(self, **options: Any) -> Any:
        """Return a service with the current weights: reader, program and writer of the backend.

        Args:
            **options: Options of a `GenerationService`.
        """
        setup, (readers, service, tokens) = self.setup, generation_backend(self.setup)
        classes = {TEXTS: readers.PromptReader, CHATS: readers.ChatReader}
        classes = {TEXTS: readers.SourceReader} if self.has_source else classes
        forms = {form: reader_class(setup.config, tokens, setup.max_length) for form, reader_class in classes.items()}
        if on_tensorflow():
            options = {"compiled": self.compiled} | options
        return service(setup.config, self.model, forms, self.spelling, self.prescribed(), **options)

    def form_of(self, special_tokens: bool) -> str:
        """Return the form of texts, by whether the tokenizer adds special tokens."""
        if not special_tokens and self.has_source:
            raise ValueError("special_tokens=False is for decoders, whose prompts have them written. Leave it out.")
        return TEXTS if special_tokens else CHATS

    def stop_of(self, stop: Sequence[str] | None) -> Sequence[str]:
        """Return stop strings, by the settings when None."""
        return self.generation.get("stop", ()) if stop is None else stop

    def prescribed(self) -> Prescribed:
        """Return the settings of a checkpoint that a request cannot change."""
        return prescribed_by(self.generation, self.setup.config.eos_ids)

    def choose_functions(
        self, service: Any, request: Request, num_sequences: int, decoding: Decoding
    ) -> dict[str, Any]:
        """Return the signature `choose` of an export; none for models without an end token, or with guesses.

        Args:
            service: The `GenerationService`.
            request: The request of `serving_default`, one row.
            num_sequences, decoding: As for the service.
        """
        if not self.setup.config.eos_ids or decoding.guesser:
            return {}
        from keras_transformers.generation.serving.graph_choices import GraphChoices, choose_signature

        choices = GraphChoices(self.choice_reader, self.setup.graph_of(self.target), self.choice_room)
        service.module.choice_tables = choices.graph
        return {"choose": choose_signature(service, choices, request, num_sequences, decoding)}


def check_draft(large: Setup, small: Setup) -> None:
    """Check that a small model can guess the tokens of a large one.

    Args:
        large, small: Setups of their tasks.

    Raises:
        ValueError: The tokenizers differ, the small one reads shorter texts, or a block has a state.
    """
    for name, setup in (("draft", small), ("this model", large)):
        if setup.config.has_states:
            raise ValueError(
                "draft takes back wrong guesses, and the state of a block without attention cannot forget a token: "
                f"{name} has such blocks. "
                + ("Leave draft out." if setup is large else "Take a draft that has attention in all blocks.")
            )
    if differs := difference(large.tokenizer, small.tokenizer):
        raise ValueError(
            "draft must have the tokenizer of this model, as token ids are compared: of this model's (the first) and "
            f"the draft's (the second), {differs}. Take a draft of the same tokenizer, such as a smaller model of the "
            "same family."
        )
    lengths = [longest_text(setup.config, setup.max_length) for setup in (large, small)]
    if lengths[1] < lengths[0]:
        raise ValueError(
            f"draft reads texts of at most {lengths[1]} tokens, and this model writes up to {lengths[0]}. Load the "
            f"draft with a larger max_length, or this model with max_length={lengths[1]}."
        )
