"""How texts are decoded: samples or beams, with or without prompt lookup; fixed when a function is traced."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras_transformers.generation.beam import BeamSearch
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
    """

    num_beams: int = 1
    prompt_lookup: int | None = None

    @property
    def method(self) -> Method:
        """Return the method that chooses tokens."""
        return BeamSearch(self.num_beams) if self.num_beams > 1 else Sampling()

    def program(self, program: Program) -> Program:
        """Return the program of a model that decodes so."""
        return program if self.prompt_lookup is None else with_lookup(program, self.prompt_lookup)

    def rows(self, sequences: Any) -> Any:
        """Return the rows of the state for each text, of which so many sequences are returned."""
        return self.num_beams if self.num_beams > 1 else sequences


SAMPLES = Decoding()  # greedy, too; one token a turn


def make_decoding(num_beams: int, prompt_lookup: Any = None, longest: int = MOST_GUESSES + 1) -> Decoding:
    """Return how to decode.

    Args:
        num_beams: As in `Decoding`.
        prompt_lookup: As in `Decoding`; from outside.
        longest: Longest text of the model, in tokens: a pass reads no more.

    Raises:
        ValueError: `prompt_lookup` is no integer from 1 to `MOST_GUESSES`, or there are beams, too.

    Example:

    >>> make_decoding(1, 7), make_decoding(1, 7, longest=5)
    (Decoding(num_beams=1, prompt_lookup=7), Decoding(num_beams=1, prompt_lookup=4))
    """
    if prompt_lookup is None:
        return Decoding(num_beams)
    if not is_size(prompt_lookup) or prompt_lookup > MOST_GUESSES:
        raise ValueError(
            f"prompt_lookup is a number of tokens to guess, from 1 to {MOST_GUESSES}, such as 7; None for no guesses: "
            f"received {prompt_lookup!r}."
        )
    if num_beams > 1:
        raise ValueError(
            f"prompt_lookup guesses one continuation of a text, beams are several: received "
            f"prompt_lookup={prompt_lookup} with num_beams={num_beams}. Give num_beams=1, or leave prompt_lookup out."
        )
    return Decoding(num_beams, min(int(prompt_lookup), max(longest - 1, 1)))
