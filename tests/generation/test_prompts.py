"""The tokens that texts begin with."""

from __future__ import annotations

import pytest
from small_decoders import small_config
from small_seq2seq import small_config as two_stacks

from keras_transformers.generation.prompts import begin_id, decoder_start_id


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ({"bos_id": 3, "eos_ids": [5]}, 3),
        ({"bos_id": 0, "eos_ids": [5]}, 0),
        ({"eos_ids": [5, 2]}, 5),
        ({"eos_ids": [0]}, 0),
        ({"eos_ids": []}, None),
    ],
)
def test_an_empty_prompt_begins_with_the_first_token_or_else_the_end_token(ids, expected):
    assert begin_id(small_config("gpt2", **ids)) == expected


def test_a_decoder_beside_an_encoder_needs_a_token_to_begin_with():
    config = two_stacks("t5")
    assert decoder_start_id(config.replace(decoder_start_id=0)) == 0
    with pytest.raises(ValueError, match=r"give config\.decoder_start_id one"):
        decoder_start_id(config.replace(decoder_start_id=None))
