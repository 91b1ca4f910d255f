"""An iterator that is read ahead."""

from __future__ import annotations

import pytest

from keras_transformers.utils.ahead import ahead


@pytest.mark.parametrize("count", [0, 1, 3, 9])
@pytest.mark.parametrize("number", [0, 1, 5])
def test_items_are_read_ahead_and_stay_in_order(count, number):
    taken = []
    items = ahead((taken.append(item) or item for item in range(number)), count)
    for place, item in enumerate(items):
        assert item == place and len(taken) == min(place + count + 1, number)
    assert len(taken) == number
