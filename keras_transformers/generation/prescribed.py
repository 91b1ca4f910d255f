"""Constraints of generation that a checkpoint prescribes, the same for all texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Prescribed(NamedTuple):
    """Token ids that are forced or ruled out, and changes of the logits; all are off unless given.

    The text that a row has read is its source or, without an encoder, its prompt.

    Args:
        forced: Pairs of a position and the token there. Position 1 follows a row's first token: it is the first new one
            beside an encoder, or after a prompt of one token.
        last: The last token of a text that reaches its limit; None for any.
        never: Tokens that are never generated.
        never_first: Tokens that do not begin a new text, after the forced ones.
        biases: Pairs of a sequence of tokens and a number, which is added to the logit of its last token where a row
            ends in the others; minus infinity rules the sequence out.
        read_repetition: Greater than 1, tokens that the row has read are likelier; below 1 less likely.
        read_ngram: Length of n-grams that are not copied from the text that a row has read; 0 for no ban.
        decay: New tokens after which the end becomes likelier, and the base of the factor; None for never.
        typical_p, epsilon_cutoff, eta_cutoff: Sampling parameters; see `sampling`.
        finite: Whether NaN logits become 0, and infinite ones the largest numbers.
        renormalize: Whether in beam search the probabilities of the tokens that are left add up to 1 again.
    """

    forced: tuple[tuple[int, int], ...] = ()
    last: int | None = None
    never: tuple[int, ...] = ()
    never_first: tuple[int, ...] = ()
    biases: tuple[tuple[tuple[int, ...], float], ...] = ()
    read_repetition: float = 1.0
    read_ngram: int = 0
    decay: tuple[int, float] | None = None
    typical_p: float = 1.0
    epsilon_cutoff: float = 0.0
    eta_cutoff: float = 0.0
    finite: bool = False
    renormalize: bool = False


NOTHING = Prescribed()
SAME = {
    "forced_eos_id": "last",
    "encoder_repetition_penalty": "read_repetition",
    "encoder_no_repeat_ngram_size": "read_ngram",
    "typical_p": "typical_p",
    "epsilon_cutoff": "epsilon_cutoff",
    "eta_cutoff": "eta_cutoff",
    "remove_invalid_values": "finite",
    "renormalize": "renormalize",
}  # the field of `Prescribed` by the setting with the same value


def prescribed_by(settings: Mapping[str, Any], eos_ids: Iterable[int]) -> Prescribed:
    """Return what generation settings prescribe.

    Args:
        settings: As `read_generation` of `checkpoints` returns them; sampling parameters are ignored.
        eos_ids: Tokens that end a text. As in `transformers`, `suppressed_ids` do not rule them out.

    Example:

    >>> prescribed_by({"forced_bos_id": 5, "suppressed_ids": [2, 3]}, [2]) == Prescribed(forced=((1, 5),), never=(3,))
    True
    """
    first, decay = settings.get("forced_bos_id"), settings.get("exponential_decay_length_penalty")
    biases = {tuple(ids): float(bias) for ids, bias in settings.get("sequence_bias", ())}  # of equal ones the last
    biases |= {tuple(ids): float("-inf") for ids in settings.get("bad_words_ids", ())}
    suppressed = [token for token in settings.get("suppressed_ids", ()) if token not in set(eos_ids)]
    return Prescribed(
        forced=(() if first is None else ((1, first),)) + tuple(map(tuple, settings.get("forced_decoder_ids", ()))),
        never=(*suppressed, *settings.get("suppress_tokens", ())),
        never_first=tuple(settings.get("begin_suppress_tokens", ())),
        biases=tuple(biases.items()),
        decay=None if decay is None else tuple(decay),
        **{field: settings[name] for name, field in SAME.items() if name in settings},
    )
