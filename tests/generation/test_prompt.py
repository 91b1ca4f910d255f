from __future__ import annotations

import numpy as np
import pytest
from arrays import to_numpy
from keras import ops

from keras_transformers.generation.decode import Choices
from keras_transformers.generation.prompt import start_prompts
from keras_transformers.generation.sampling import sample
from keras_transformers.generation.stop import stop_strings


def prefill(inputs):
    return {"cache": [{name: ops.zeros((*inputs["token_ids"].shape[:1], 1, 6, 2)) for name in ("key", "value")}]}


@pytest.mark.parametrize("limits, places", [([3, 4], 6), ([3, 6], 6), ([9, 2], 9)])
def test_there_is_room_for_the_padded_prompts_and_for_the_longest_text(limits, places):
    prompts, lengths = np.array([[5, 6, 0, 0, 0, 0], [7, 0, 0, 0, 0, 0]], "int32"), np.array([2, 1], "int32")
    choices = Choices({}, stop_strings(2, []), None, None, np.zeros(2, "int32"))
    state = start_prompts(prefill, sample, None, prompts, lengths, np.array(limits, "int32"), choices, 1)
    token_ids, cache = to_numpy(state["token_ids"]), state["cache"][0]
    assert token_ids.shape == (2, places) and cache["key"].shape == cache["value"].shape == (2, 1, places, 2)
    np.testing.assert_array_equal(token_ids[:, :6], prompts)
    assert not token_ids[:, 6:].any()
