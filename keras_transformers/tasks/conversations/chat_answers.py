"""Answers in conversations, which the checkpoint's chat template writes as prompts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keras_transformers.generation.decoding import Decoding
from keras_transformers.generation.prompts import CHATS
from keras_transformers.generation.request import Request
from keras_transformers.tasks.answers.services import check_exportable
from keras_transformers.tasks.answers.written_answers import Writing
from keras_transformers.tasks.conversations.system_prefix import system_message, system_text, without_beginning
from keras_transformers.text.chat.template import NO_VARIABLES, ChatTemplate, Message, has_template, need_template
from keras_transformers.utils.text_checks import listed
from keras_transformers.utils.untrusted import shown

NEW_TOKENS = 512  # of an answer, where neither the checkpoint nor the caller says
CHAT_EXAMPLES = {"role": [["user"]], "content": [["warm up"]]}  # of the warm-up request


class ChatWriting(Writing):
    """Generation of texts from texts, and of answers in conversations.

    Args:
        setup, model, target, new_tokens, generation: As for `WritingSetup`.
    """

    def predict(
        self, texts: Sequence[str] | None = None, *, messages: Any = None,
        template_variables: Mapping[str, Any] = NO_VARIABLES, **options: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return generated texts with their scores.

        Args:
            texts, messages, template_variables, **options: As for `generate`.

        Returns:
            One dict a text, or a conversation: `help(task.predict)` names its keys.
        """
        texts, options = self._prompts(texts, messages, template_variables, options)
        return super().predict(texts, **options)

    def generate(
        self, texts: Sequence[str] | None = None, *, messages: Any = None,
        template_variables: Mapping[str, Any] = NO_VARIABLES, **options: Any,
    ) -> list[str] | list[list[str]]:  # fmt: skip
        """Continue prompts, or answer conversations, by the same traced function that `export` saves.

        Args:
            texts: Any number of strings; too long ones are cut, with a warning. An empty prompt is continued from the
                model's first token, or else its end token, as in `transformers`; if it has neither, an empty text is
                returned.
            messages: Instead, any number of conversations, as for `chat`.
            template_variables: As for `chat`.
            **options: As for `Writing.generate`. Of conversations, `prefix` is their system prompt: a message that
                comes before `messages`.

        Returns:
            The new texts, without the prompts; with `num_sequences` > 1 a list of them for each prompt.

        Raises:
            ValueError: The texts are one str, an option is unknown or out of range, or a text cannot be answered; or as
                for `chat`.
        """
        texts, options = self._prompts(texts, messages, template_variables, options)
        return super().generate(texts, **options)

    def stream(
        self, text: str | None = None, *, messages: Sequence[Message] | None = None,
        template_variables: Mapping[str, Any] = NO_VARIABLES, **options: Any,
    ) -> Iterator[str]:  # fmt: skip
        """Generate one text, or answer one conversation, without beams and yield it piece by piece.

        Args:
            text: The prompt.
            messages, template_variables: Instead, one conversation, as for `chat`.
            **options: As for `Writing.stream`.

        Returns:
            An iterator of the pieces of the new text; they are whole characters.

        Raises:
            ValueError: As for `generate`.
        """
        texts = None if text is None else [text]
        conversations = None if messages is None else [messages]
        (prompt,), options = self._prompts(texts, conversations, template_variables, options)
        return super().stream(prompt, **options)

    def chat(
        self, messages: Sequence[Message], *, template_variables: Mapping[str, Any] = NO_VARIABLES, **options: Any
    ) -> Any:
        """Answer a conversation: write it by the checkpoint's chat template, and generate the assistant's answer.

        Args:
            messages: The conversation so far, dicts with `role` (`"system"`, `"user"` or `"assistant"`) and `content`.
            template_variables: Values that the chat template reads, such as `{"enable_thinking": False}` or
                `{"date_string": "26 Jul 2024"}`; `tools` is a list of JSON schemas, if the template uses them.
            **options: As for `generate`; `max_new_tokens` is the checkpoint's, else 512, or half of `max_length` if
                that is less.

        Returns:
            The answer, a str; with `num_sequences` > 1 a list of them.

        Raises:
            ValueError: The tokenizer has no chat template, a message is wrong, the template refuses the conversation or
                reads no such variable, or the conversation is longer than the model; or as for `generate`.

        Example:

        >>> from keras_transformers import Task, Tokenizer
        >>> from keras_transformers.families import gpt2
        >>> from keras_transformers.text.chat.template import with_template
        >>> tokenizer = Tokenizer.train(["the cat sat on the mat"], 280, model="byte_pair")
        >>> tokenizer = with_template(tokenizer, "{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}")
        >>> task = Task("causal_lm", gpt2(tokenizer.vocabulary_size, 1, 2, 16, max_length=32), tokenizer)
        >>> answer = task.chat([{"role": "user", "content": "the cat"}], max_new_tokens=5)
        >>> answer == task.generate(["user: the cat. "], special_tokens=False, max_new_tokens=5)[0]
        True
        """
        return self.generate(messages=[messages], template_variables=template_variables, **options)[0]

    def export(
        self, folder: str | os.PathLike, *, chat: bool | None = None,
        template_variables: Mapping[str, Any] = NO_VARIABLES,
        template_inputs: Mapping[str, bool | str] = NO_VARIABLES, **options: Any,
    ) -> None:  # fmt: skip
        """Write a SavedModel that generates texts, with the cache, the tokenizer and the chat template inside.

        A request whose sampling parameters have more or fewer rows than there are texts is refused
        (`InvalidArgumentError`).

        Signatures:
            `serving_default`, `generate`, `choose`, `score` and `chat`: `help(task.export)` lists what they take and
            return.

        Args:
            folder: Folder to write, such as `"serving/novel/1"`. It is replaced if it is a SavedModel; an interrupted
                export leaves the old one.
            chat: Whether to write the signatures of conversations. None for yes, if the tokenizer has a chat template
                that can be compiled; a warning says why not.
            template_variables: Values that the chat template reads, as for `chat`; a request cannot change them.
            template_inputs: Variables that are inputs of these signatures instead, each (B,), with an example, a bool
                or str, such as `{"enable_thinking": True}`.
            **options: As for `Writing.export`. With `prefix`, the signatures of conversations have it as a system
                prompt before the messages.

        Raises:
            ValueError: The backend is not TensorFlow, an option is out of range, the folder holds something else, or
                with `chat=True` the chat template cannot be compiled: the error names the part.
        """
        check_exportable()
        more = self._chat_signatures(chat, template_variables, template_inputs, options)
        examples = CHAT_EXAMPLES | {name: [value] for name, value in template_inputs.items()}
        super().export(folder, more=more, examples=examples, **options)

    def _prompts(
        self, texts: Any, messages: Any, variables: Mapping[str, Any], options: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the texts to continue, and the options: conversations are written by the template."""
        if (texts is None) == (messages is None):
            raise ValueError("give either texts or messages, one of them.")
        if messages is None:
            if variables is not NO_VARIABLES and variables != {}:
                raise ValueError(f"template_variables belong to messages: received {shown(variables)} without them.")
            return texts, dict(options)
        template, defaults = need_template(self.setup.tokenizer), {}
        conversations = listed(messages)
        if conversations is None:
            raise ValueError(
                "messages is a list of conversations, each a list of dicts with role and content: received "
                f"{shown(messages)}."
            )
        if "max_new_tokens" not in self.generation and options.get("choices") is None:
            defaults = {"max_new_tokens": self._new_tokens}
        options = defaults | {"special_tokens": False} | dict(options)
        if (prompt := options.get("prefix")) is None:
            return [_written(template, each, index, variables) for index, each in enumerate(conversations)], options
        beginning = system_text(template, prompt, variables, self.setup.tokenizer)
        written = [
            _written(template, each, index, variables, [system_message(prompt)])
            for index, each in enumerate(conversations)
        ]
        return without_beginning(written, beginning, self.setup.tokenizer), options | {"prefix": beginning}

    @property
    def _new_tokens(self) -> int:
        return min(NEW_TOKENS, self.setup.max_length // 2)

    def _chat_signatures(
        self, chat: bool | None, variables: Mapping[str, Any], inputs: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Any:
        """Return a function that returns the signatures of conversations; None if there are none."""
        if chat is False or (chat is None and not has_template(self.setup.tokenizer)):
            return None
        from keras_transformers.generation.serving.chat_service import CompiledTemplate, check_inputs

        check_inputs(inputs)
        try:
            template = need_template(self.setup.tokenizer)
        except ValueError as error:
            return _without_chat(chat, error)
        template.check_variables(variables)
        template.check_names([*variables, *inputs])
        system, prompt = None, options.get("prefix")
        try:
            if prompt is not None:
                system = prompt, system_text(template, prompt, {**variables, **inputs}, self.setup.tokenizer)
            compiled = CompiledTemplate(template, variables, inputs, system)
        except ValueError as error:
            return _without_chat(chat, error)
        has_number = "max_new_tokens" in {*options, *self.generation}
        new_tokens = None if has_number else self._new_tokens

        def signatures(service: Any, request: Request, sequences: int, decoding: Decoding) -> dict[str, Any]:
            if system is not None:
                service.store(CHATS, service.prefix(self.prefix_ids(system[1], False, request)))
            return compiled.signatures(service, request, sequences, decoding, new_tokens)

        return signatures


def _without_chat(chat: bool | None, error: ValueError) -> None:
    if chat:
        raise error
    warnings.warn(f"the export has no signature chat, as {error}", stacklevel=4)


def _written(
    template: ChatTemplate, messages: Sequence[Message], index: int, variables: Mapping[str, Any],
    before: Sequence[Message] = (),
) -> str:  # fmt: skip
    if isinstance(messages, Mapping):
        raise ValueError(
            f"conversation {index} is a message, {shown(messages)}: expected a list of messages. For a single "
            "conversation, use chat or stream."
        )
    try:
        template.check_variables(variables)
        return template.render([*before, *messages] if before else messages, **variables)
    except ValueError as error:
        raise ValueError(f"conversation {index}: {error}") from None
