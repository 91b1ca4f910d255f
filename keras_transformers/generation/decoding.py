"""How texts are decoded: samples or beams, with or without guesses; fixed when a function is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras_transformers.generation.beam import BeamSearch
from keras_transformers.generation.draft import Draft, with_draft
from keras_transformers.generation.program import Method, Program
from keras_transformers.generation.prompt_lookup import with_lookup
from keras_transformers.generation.sampling import Sampling
from keras_transformers.utils.number_checks import is_size

MOST_GUESSES = 64


class Decoding(NamedTuple):
    """The method and its sizes.

    Args:
        num_beams: Beams, 1 for samples.
        prompt_lookup: Tokens that `prompt_lookup.LookupProgram` guesses at a time; None for a token a turn.
        draft: The small model that guesses, if one does.
    """

    num_beams: int = 1
    prompt_lookup: int | None = None
    draft: Draft | None = None

    @property
    def method(self) -> Method:
        """Return the method that chooses tokens."""
        return BeamSearch(self.num_beams) if self.num_beams > 1 else Sampling()

    @property
    def guesser(self) -> str:
        """Return the option by which tokens are guessed; "" for none."""
        return "draft" if self.draft is not None else "prompt_lookup" if self.prompt_lookup is not None else ""

    def program(self, program: Program) -> Program:
        """Return the program of a model that decodes so."""
        if self.draft is not None:
            return with_draft(program, self.draft)
        return program if self.prompt_lookup is None else with_lookup(program, self.prompt_lookup)

    def rows(self, sequences: Any) -> Any:
        """Return the rows of the state for each text, of which so many sequences are returned."""
        return self.num_beams if self.num_beams > 1 else sequences


SAMPLES = Decoding()  # greedy, too; one token a turn


def make_decoding(
    num_beams: int, prompt_lookup: Any = None, longest: int = MOST_GUESSES + 1, draft: Draft | None = None
) -> Decoding:
    """Return how to decode.

    Args:
        num_beams: As in `Decoding`.
        prompt_lookup: As in `Decoding`; from outside.
        longest: Longest text of the model, in tokens: a pass reads no more.
        draft: As in `Decoding`; its number of guesses is from outside.

    Raises:
        ValueError: The number of guesses is no integer from 1 to `MOST_GUESSES`, there are beams, too, or both kinds of
            guesses.

    Example:

    >>> make_decoding(1, 7), make_decoding(1, 7, longest=5)
    (Decoding(num_beams=1, prompt_lookup=7, draft=None), Decoding(num_beams=1, prompt_lookup=4, draft=None))
    """
    if draft is None and prompt_lookup is None:
        return Decoding(num_beams)
    if draft is not None and prompt_lookup is not None:
        raise ValueError(
            f"draft and prompt_lookup both guess the next tokens: received prompt_lookup={prompt_lookup!r} with a "
            "draft. Leave one of them out."
        )
    name, number = ("prompt_lookup", prompt_lookup) if draft is None else ("draft_tokens", draft.guesses)
    if not is_size(number) or number > MOST_GUESSES:
        raise ValueError(
            f"{name} is a number of tokens to guess, from 1 to {MOST_GUESSES}, such as 7; None for "
            f"{'no guesses' if draft is None else 'the default'}: received {number!r}."
        )
    if num_beams > 1:
        option = "draft" if draft is not None else name
        raise ValueError(
            f"{option} guesses one continuation of a text, beams are several: received {name}={number} with "
            f"num_beams={num_beams}. Give num_beams=1, or leave {option} out."
        )
    number = min(int(number), max(longest - 1, 1))
    return Decoding(num_beams, number) if draft is None else Decoding(num_beams, None, draft._replace(guesses=number))


def made_once(functions: dict[Any, Any], key: Any, decoding: Decoding, make: Callable[[], Any]) -> Any:
    """Return the function of a key, which is made if it is missing; functions of other drafts are then removed.

    Args:
        functions, decoding: As for `forget_drafts`.
        key: The key of the function: the decoding, or a tuple that holds it.
        make: Makes the function.
    """
    if key not in functions:
        forget_drafts(functions, decoding)
        functions[key] = make()
    return functions[key]


def forget_drafts(functions: dict[Any, Any], decoding: Decoding) -> None:
    """Remove the functions of other drafts than that of a decoding, whose weights would stay in memory.

    Args:
        functions: Functions by `Decoding`, or by a tuple whose second item is one.
        decoding: The decoding that is used now.
    """
    if decoding.draft is None:
        return
    for key in [*functions]:
        other = key if isinstance(key, Decoding) else key[1]
        if other.draft is not None and other.draft.service is not decoding.draft.service:
            functions.pop(key, None)
