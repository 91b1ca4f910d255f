from __future__ import annotations

import pytest

from keras_transformers.layers import Attention


@pytest.mark.parametrize("reach", [5, None, (1,), (1, 2, 3), "ab", (-1, 0), (0, 1.5), (True, 0), ["1", 0]])
def test_no_such_reach(reach):
    with pytest.raises(ValueError, match="reach must be two numbers of places, before and after a query"):
        Attention(1, reach=reach)
