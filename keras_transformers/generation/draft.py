"""Assisted generation: a small model of the same tokens guesses the next ones, and the large model checks them.

Papers: Leviathan et al. 2023, https://arxiv.org/abs/2211.17192; Chen et al. 2023, https://arxiv.org/abs/2302.01318.
They accept a guess by chance, so that samples have the large model's distribution; here a guess is accepted if the
large model chooses the same token, so that texts are the same as without a draft, also samples of a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from keras import ops

from keras_transformers.generation.guessing import NO_GUESS, GuessingProgram
from keras_transformers.generation.program import Method, Program
from keras_transformers.generation.request import Request
from keras_transformers.generation.state import Cache, State
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.tensor_types import Tensor

IMPOSSIBLE = -1e9  # logit of tokens that the small model does not have


class Draft(NamedTuple):
    """A small model that guesses tokens.

    Args:
        service: Service of the small model, of the same backend; its `program` and `model` are used.
        guesses: Tokens that are guessed at a time.
        vocabulary_size, own_size: Rows of the output matrix of the large model, and of the small one; where they
            differ, no text has the tokens beyond.
    """

    service: Any
    guesses: int
    vocabulary_size: int
    own_size: int

    @property
    def variables(self) -> list[Any]:
        """Return the variables that an export stores."""
        return [self.service.module.weights, self.service.module.output_matrix]


NOTHING = Draft(None, 1, 0, 0)


@dataclass(frozen=True)
class DraftModel(Program):
    """The `Program` of the small model.

    Its cache may hold wrong guesses after a row's end. The next pass begins with the last two tokens of the row, which
    replace them: the last one is new, the one before is when all guesses were right. A ring has places enough for the
    guesses beside the tokens in sight.

    Args:
        draft: The small model and sizes.
    """

    draft: Draft = NOTHING

    @property
    def pass_tokens(self) -> int:
        """Return the number of tokens beyond those in sight that a ring has places for, and one."""
        return self.draft.guesses + 1

    def read(self, state: State, token_ids: Tensor, places: Tensor) -> tuple[Tensor, Cache]:
        """Compute the logits (B, T, V) after tokens, V of the large model: see `Program.read`."""
        size, own = self.draft.vocabulary_size, self.draft.own_size
        logits, cache = super().read(state, ops.minimum(token_ids, own - 1), places)
        beyond = [(0, 0), (0, 0), (0, max(size - own, 0))]
        return ops.pad(logits[:, :, :size], beyond, constant_values=IMPOSSIBLE), cache

    def guess(self, method: Method, state: State, request: Request) -> tuple[Tensor, State]:
        """Generate the next tokens of each row: int32 (B, n), and the state with the new cache of the small model.

        Tokens are chosen as the large model's are, with the same penalties and the same noise of samples.
        """
        left = state.limit - state.lengths - 1  # the pass that checks adds one token itself
        finished, cache = ops.logical_or(state.finished, left < 1), cast(Cache, state.draft)
        ahead = state._replace(finished=finished, cache=cache, draft=())
        places = ops.maximum(ops.expand_dims(state.lengths, 1) + ops.convert_to_tensor([-2, -1], "int32"), 0)  # (B, 2)
        logits, cache = self.read(ahead, take_at(state.token_ids, places), places)
        ahead = method(self, ahead._replace(cache=cache), logits[:, 1], request)
        most = ops.minimum(self.draft.guesses, ops.max(ops.where(state.finished, 0, left)))
        ahead = self.advance(method, ahead, request, most - 1)

        places = ops.expand_dims(state.lengths, 1) + ops.arange(self.draft.guesses, dtype="int32")  # (B, n)
        is_guess = places < ops.expand_dims(ahead.lengths, 1)
        guesses = take_at(ahead.token_ids, ops.where(is_guess, places, 0))
        return ops.where(is_guess, guesses, NO_GUESS), state._replace(draft=ahead.cache)


@dataclass(frozen=True)
class DraftProgram(GuessingProgram):
    """A `GuessingProgram` for which a small model guesses.

    Args:
        draft: The small model and sizes.
    """

    draft: Draft = NOTHING

    @property
    def drafter(self) -> DraftModel:
        """Return the small model's program, with the large one's ends and settings, so that it chooses as that does."""
        own = {"eos_ids": self.eos_ids, "token_bytes": self.token_bytes, "prescribed": self.prescribed}
        return DraftModel(**vars(self.draft.service.program) | own, draft=self.draft)

    def start(
        self, method: Method, prompts: Tensor, lengths: Tensor, limit: Tensor, request: Request, number: Tensor | int,
        source: dict[str, Tensor], room: Tensor | int | None = None, prefix: Any = (),
    ) -> tuple[State, Request]:  # fmt: skip
        """Run the forward pass of both models over the prompts: see `Program.start`. The small one reads a prefix."""
        state, request = super().start(method, prompts, lengths, limit, request, number, source, room, prefix)
        rows = ops.shape(prompts)[0]
        if prefix:
            before = ops.broadcast_to(prefix.token_ids[:-1], (rows, ops.shape(prefix.token_ids)[0] - 1))
            prompts = ops.concatenate([before, prompts], axis=1)  # (B, F - 1 + P)
        prompts = ops.minimum(prompts, self.draft.own_size - 1)
        _, cache = self.drafter.read_prompts(prompts, lengths, limit, source, room)
        order = ops.repeat(ops.arange(rows, dtype="int32"), number)  # (B * n,)
        return state._replace(draft=cache.rows(order)), request

    def loop(
        self, goes_on: Callable, method: Method, request: Request, count: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """Take turns as long as a condition holds: see `Program.loop`."""
        drafter = self.drafter

        def body(count, state):
            guesses, state = drafter.guess(method, state, request)
            return count + 1, self.check(method, state, request, guesses)

        return ops.while_loop(goes_on, body, (count, state))


def with_draft(program: Program, draft: Draft) -> DraftProgram:
    """Return a program that a small model assists.

    Args:
        program: The program without, of a decoder.
        draft: The small model and sizes.
    """
    return DraftProgram(**vars(program), guesses=draft.guesses, draft=draft)
