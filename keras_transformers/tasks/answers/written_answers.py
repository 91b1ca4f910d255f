"""Predictions that are generated texts: what causal and sequence-to-sequence language models share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from keras_transformers.data.sources.rows import tell_cut
from keras_transformers.generation.prompts import BLANK
from keras_transformers.generation.text_choices import check_choice_options
from keras_transformers.tasks.answers.by_length import Limits, answer_chunks, chunk_sizes, read_chunks, token_counts
from keras_transformers.tasks.answers.guided_answers import answer_guided, make_grammar, stream_guided
from keras_transformers.tasks.answers.likelihoods import ScoredWriting
from keras_transformers.tasks.answers.progress import Progress
from keras_transformers.tasks.answers.services import (
    check_compiled,
    check_compute,
    check_counts,
    check_exportable,
    merged_service,
)
from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training.workers.distribute import is_chief
from keras_transformers.utils.keras_private import strategy_of

NO_EXAMPLES: Mapping[str, Any] = MappingProxyType({})
CHOICE_EXAMPLES = {"choices": [["yes", "no"]]}  # of the warm-up request


class Writing(ScoredWriting):
    """Generation of texts from texts, and their scores.

    Args:
        setup, model, target, new_tokens, generation: As for `WritingSetup`.
    """

    def predict(
        self, texts: Sequence[str], *, choices: Sequence[str] | None = None, pattern: str | None = None,
        json_schema: Mapping[str, Any] | None = None, stop: Sequence[str] | None = None, num_beams: int | None = None,
        prompt_lookup: int | None = None, draft: Any = None, draft_tokens: int | None = None, num_sequences: int = 1,
        token_bias: Mapping[int, float] | None = None, prefix: str | None = None, special_tokens: bool = True,
        batch_size: int = 16, verbose: Any = "auto", **parameters: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return generated texts with their scores.

        Args:
            texts, choices, pattern, json_schema, stop, num_beams, prompt_lookup, draft, draft_tokens, num_sequences,
                token_bias, prefix, special_tokens, batch_size, verbose, **parameters: As for `generate`.

        Returns:
            One dict a text: `help(task.predict)` names its keys.
        """
        texts, limits = check_texts("texts", texts), Limits(*check_counts(batch_size=batch_size))
        more = {"choices": choices, "stop": stop, "prompt_lookup": prompt_lookup, "draft": draft, **parameters}
        more |= {"num_beams": num_beams, "num_sequences": num_sequences}
        if grammar := make_grammar(self, pattern, json_schema, more):
            num_beams, stop = 1, ()
        decoding, num_sequences = self.decoding(num_beams, num_sequences, prompt_lookup, draft, draft_tokens)
        request = self.request(len(texts), stop, token_bias, parameters, decoding.num_beams, choices)
        check_choice_options(request.choices.shape[1], stop, parameters, decoding, num_sequences)
        service, form = self.service_behind(prefix, special_tokens, request), self.form_of(special_tokens)

        def answer(rows: list[tuple]) -> Iterator[dict[str, Any]]:
            texts, numbers = map(list, zip(*rows, strict=True))
            if grammar is None:
                columns = service.answer(texts, num_sequences, request.rows(numbers), decoding, form)
            else:
                columns = answer_guided(service, texts, request.rows(numbers), form, grammar)
            return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

        chunks = read_chunks([texts, range(len(texts))], [list, list], chunk_sizes(limits.rows, growing=False))
        count, progress = token_counts(self.setup.tokenizer, self.setup.max_length), Progress(verbose, len(texts))
        return [*answer_chunks(chunks, answer, lambda rows: count([row[:1] for row in rows]), limits, progress)]

    def predict_stream(self, texts: Iterable[str], *, batch_size: int = 16, **options: Any) -> Iterator[dict[str, Any]]:
        """Yield what `predict` returns, one text at a time: for more texts than fit in memory.

        Args:
            texts: Strings; an iterator is read some hundreds at a time.
            batch_size, **options: As for `generate`, each one value for all texts.

        Returns:
            An iterator of dicts, in the order of the texts.

        Raises:
            ValueError: As for `predict`; for the texts of an iterator, once they are read.
        """
        options = {"batch_size": batch_size, "verbose": 0} | options
        self.predict([], **options)  # checks the options before a text is read
        sizes = chunk_sizes(batch_size, growing=True, most=0)
        chunks = read_chunks([texts], [partial(check_texts, "texts")], sizes)
        return (answer for rows in chunks for answer in self.predict([text for (text,) in rows], **options))

    def generate(self, texts: Sequence[str], **options: Any) -> list[str] | list[list[str]]:
        """Continue prompts, or rewrite texts (such as translate them), by the same traced function that `export` saves.

        Args:
            texts: Any number of strings; too long ones are cut, with a warning. With an encoder, a blank text gives an
                empty one. A decoder continues an empty prompt from its first token, or else its end token, as in
                `transformers`; if it has neither, it returns an empty text.
            **options: Each one value, or one per text:
                `max_new_tokens` (the checkpoint's; else of a continuation 64, or half of `max_length` if that is less)
                and `min_new_tokens`;
                `temperature` (the checkpoint's; else 0, the likeliest token; 1 samples from the model's own
                distribution);
                `top_k`, `top_p`, `min_p`, which exclude unlikely tokens;
                `repetition_penalty` (1) and `no_repeat_ngram` (a length);
                `seed` of the samples;
                `length_penalty` (1) of beams: above 0, longer texts score better, as scores are divided by
                length ** `length_penalty`; `coverage_penalty` (0) of beams with an encoder: the cost of a source token
                that got little attention; `early_stopping` (False): end with the first `num_beams` texts, rather than
                when no better one is possible.
                Settings of the checkpoint replace the defaults in parentheses.
                For all texts: `num_beams` (the checkpoint's, or 1); more than one is beam search instead of sampling;
                `prompt_lookup`, such as 7: so many tokens at a time are guessed from where the last two or three stood
                before in the prompt, the source or the new text, and checked in one pass: the same text, faster where
                it quotes or repeats; not with beams;
                `draft`, the task of a smaller model with the same tokenizer, which guesses `draft_tokens` (5) at a
                time: the same text, too, faster where the two often agree; `causal_lm` without beams;
                `choices`, such as ["yes", "no"]: the new text is exactly one of these strings, and ends there; a
                decoder's should begin with a space where a word begins. With as many `num_beams`, the likeliest; not
                with `stop`, `max_new_tokens`, `min_new_tokens`, `prompt_lookup` or `draft`;
                `pattern`, a regular expression that the whole new text matches, or `json_schema`, a dict that it obeys:
                by llguidance (extra `constrained`), token by token in Python; a text that `max_new_tokens` cuts has an
                error. Decoders without beams, and not in an export;
                `stop` (the checkpoint's), at most 64 strings of 1,024 bytes: a text ends before the first of them;
                `num_sequences` (1) for each prompt; of beams, the best ones;
                `token_bias`, a number to add to the logits of tokens, by id; minus infinity suppresses a token;
                `prefix`, a str before every prompt, such as a long instruction: it is read once, and its state is kept
                for later calls until the weights change. The two are tokenized apart, and no token joins them; special
                tokens before a text come before the prefix. A prompt that is too long loses its beginning, the prefix
                stays. Decoders only;
                `special_tokens` (True); False for texts in which a chat template has written them: none are added, and
                a text that is too long is refused;
                `batch_size` (16), prompts at a time, of similar length; `verbose`, as for `OnePass.predict`.

        Returns:
            The new texts, without the prompts; with `num_sequences` > 1 a list of them for each prompt.

        Raises:
            ValueError: The texts are one str, an option is unknown or out of range, or a text cannot be answered.

        Example:

        >>> from keras_transformers import Task, Tokenizer
        >>> from keras_transformers.families import gpt2
        >>> tokenizer = Tokenizer.train(["the cat sat on the mat"], 280, model="byte_pair")
        >>> task = Task("causal_lm", gpt2(tokenizer.vocabulary_size, 1, 2, 16, max_length=32), tokenizer)
        >>> plain = task.generate(["the cat sat on the cat"], max_new_tokens=8)
        >>> plain == task.generate(["the cat sat on the cat"], max_new_tokens=8, prompt_lookup=3)
        True
        """
        answers = self.predict(texts, **options)
        tell_cut([answer["truncated"] for answer in answers], self.setup.max_length)
        for row, answer in enumerate(answers):
            if answer["error"] and answer["error"] not in BLANK:
                raise ValueError(f"text {row} cannot be answered: {answer['error']}")
        return [answer["generated_text"] for answer in answers]

    def stream(
        self, text: str, *, choices: Sequence[str] | None = None, pattern: str | None = None,
        json_schema: Mapping[str, Any] | None = None, stop: Sequence[str] | None = None,
        token_bias: Mapping[int, float] | None = None, prompt_lookup: int | None = None, draft: Any = None,
        draft_tokens: int | None = None, prefix: str | None = None,
        special_tokens: bool = True, **parameters: Any,
    ) -> Iterator[str]:  # fmt: skip
        """Generate one text without beams and yield it piece by piece; the pieces are whole characters.

        Args:
            text: The prompt, or the source.
            stop: Strings before which the text ends.
            choices, pattern, json_schema, token_bias, prompt_lookup, draft, draft_tokens, prefix, special_tokens,
                **parameters: As for `generate`.

        Returns:
            An iterator of the pieces of the new text.

        Raises:
            ValueError: As for `generate`.
        """
        check_texts("text", [text])
        more = {"choices": choices, "stop": stop, "prompt_lookup": prompt_lookup, "draft": draft, **parameters}
        grammar, form = make_grammar(self, pattern, json_schema, more), self.form_of(special_tokens)
        decoding, _ = self.decoding(1, 1, prompt_lookup, draft, draft_tokens)
        request = self.request(1, () if grammar else stop, token_bias, parameters, choices=choices)
        check_choice_options(request.choices.shape[1], stop, parameters, decoding, 1)
        service = self.service_behind(prefix, special_tokens, request)
        if grammar is not None:
            return stream_guided(service, text, request, form, grammar)
        return service.stream(text, request, decoding, form)

    def export(
        self,
        folder: str | os.PathLike,
        *,
        choices: Sequence[str] | None = None,
        stop: Sequence[str] | None = None,
        num_beams: int | None = None,
        prompt_lookup: int | None = None,
        draft: Any = None,
        draft_tokens: int | None = None,
        num_sequences: int = 1,
        prefix: str | None = None,
        compiled: bool = False,
        compute: str | None = None,
        more: Callable[..., dict[str, Any]] | None = None,
        examples: Mapping[str, Any] = NO_EXAMPLES,
        **parameters: Any,
    ) -> None:
        """Write a SavedModel that generates texts, with the cache and the tokenizer inside.

        A request whose sampling parameters have more or fewer rows than there are texts is refused
        (`InvalidArgumentError`).

        Signatures:
            `serving_default`, `generate`, `choose`, `score`: `help(task.export)` lists what they take and return.

        Args:
            folder: Folder to write, such as `"serving/novel/1"`. It is replaced if it is a SavedModel; an interrupted
                export leaves the old one.
            choices: As for `generate`: `serving_default` answers with one of them.
            stop, **parameters: Sampling parameters of `serving_default`.
            num_beams, prompt_lookup, draft, draft_tokens, num_sequences: As for `generate`; a request cannot change
                them. The weights of a draft are stored, too.
            prefix: As for `generate`: its state is stored, and a server never reads it.
            compiled: Whether XLA compiles the generation: rows are padded to powers of two, lengths to one of few. The
                first request of each size takes some seconds more, for which there are warm-up requests of one text.
                The server needs XLA. Not with `prompt_lookup` or `draft`.
            compute: `"int8"` to round matrices and the table of tokens to 8 bits, and the activations before each
                product: a step reads a quarter of the bytes, which with `compiled` makes it faster on a CPU. The server
                needs XLA. None for the dtype of the model.
            more: Function from the service, the request, `num_sequences` and `Decoding` to further signatures by name.
            examples: Values of their inputs, by name, for the warm-up requests.

        Raises:
            ValueError: The backend is not TensorFlow, an option is out of range, or the folder holds something else.
        """
        check_compute(compute)
        check_compiled(compiled, prompt_lookup, draft)
        check_exportable()
        if not is_chief(strategy_of(self.model)):
            return
        from keras_transformers.tasks.exports.saved_model import export

        decoding, num_sequences = self.decoding(num_beams, num_sequences, prompt_lookup, draft, draft_tokens)
        request = self.request(1, stop, None, parameters, decoding.num_beams, choices)
        check_choice_options(request.choices.shape[1], stop, parameters, decoding, num_sequences)
        ids = None if prefix is None else self.prefix_ids(prefix, True, request)
        make = None if compiled == self.compiled else partial(self.make_service, compiled=compiled)
        with merged_service(self, make, compute) as service:
            service.output_matrix.refresh()
            if ids is not None or decoding.draft is not None:
                service = service.storing(decoding.draft, ids)
            functions = service.signatures(request, num_sequences, decoding)
            functions |= more(service, request, num_sequences, decoding) if more else {}
            functions |= self.choose_functions(service, request, num_sequences, decoding)
            functions |= self.score_functions(service.module)
            values = {**request._asdict(), **CHOICE_EXAMPLES, "stop": [list(self.stop_of(stop))], **examples}
            export(folder, service.module, functions, values, requests=service.warm_up_requests(request))
