"""The score of a pair by a causal language model: the logit of one token after the pair, perhaps minus another's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformers.heads import language_model_head, last_token
from keras_transformers.models import decoder
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.number_checks import is_token_id
from keras_transformers.utils.untrusted import shown


def check_tokens(tokens: Any, vocabulary_size: int = 2**31) -> list[int | str]:
    """Return the tokens of a score as a list; raise a `ValueError` if they are not one or two ids, or texts."""
    is_list = isinstance(tokens, (list, tuple)) and len(tokens) in (1, 2)
    if not is_list or not all(isinstance(token, str) or is_token_id(token, vocabulary_size) for token in tokens):
        raise ValueError(
            "a decoder scores a pair by the token that follows it: score_tokens must be the token for a good pair, and "
            f"optionally the token for a bad pair, as text or id, each below {vocabulary_size}: received "
            f"{shown(tokens)}."
        )
    return [token if isinstance(token, str) else int(token) for token in tokens]


def token_ids(tokens: Any, tokenizer: Tokenizer, vocabulary_size: int) -> list[int]:
    """Return the ids of the tokens of a score; raise a `ValueError` if a text is not one token."""
    found = []
    for token in check_tokens(tokens, vocabulary_size):
        ids = [token] if isinstance(token, int) else tokenizer.encode([token], special_tokens=False)[0].ids
        if len(ids) != 1:
            raise ValueError(f"{shown(token)} of score_tokens is {len(ids)} tokens: expected one. Give its id.")
        found += ids
    return found


class LogitScore:
    """The score of a pair by the next token of a decoder, such as "yes" against "no".

    Paper: Nogueira et al. 2020, "Document Ranking with a Pretrained Sequence-to-Sequence Model",
    https://arxiv.org/abs/2003.06713.

    Args:
        setup: Setup of the task.
        tokens: The token whose logit is the score, and perhaps one whose logit is subtracted: ids or texts.

    Raises:
        ValueError: They are not one or two tokens of the vocabulary.
    """

    def __init__(self, setup: Setup, tokens: Any):
        self.setup, self.tokens = setup, token_ids(tokens, setup.tokenizer, setup.config.vocabulary_size)

    def scorer(self) -> keras.Model:
        """Return a model from the inputs of pairs (B, T) to `logits` (B, 1)."""
        setup = self.setup
        backbone = decoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
        state = last_token(backbone.output["hidden_states"], backbone.input["padding_mask"])  # (B, D)
        logits = language_model_head(setup.config, backbone.get_layer("token_embedding"), state, setup.dtype)  # (B, V)
        good, *bad = (logits[:, number : number + 1] for number in self.tokens)  # (B, 1) each
        outputs = {"logits": ops.subtract(good, bad[0]) if bad else good, **setup.optional_outputs(backbone)}
        return keras.Model(backbone.input, outputs, name="pair_scorer")

    def saved(self, activation: str, prompts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `save_folder` that write the tokens, the activation and the prompts."""
        modules = {"pooling": None, "score_tokens": self.tokens, "activation": activation, **prompts}
        return {"activation": activation, "sentence_transformer": modules}
