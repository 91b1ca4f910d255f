from __future__ import annotations

import pytest

from keras_transformers.layers import Attention


@pytest.mark.parametrize("window", [5, None, (1,), (1, 2, 3), "ab", (-1, 0), (0, 1.5), (True, 0), ["1", 0]])
def test_no_such_window(window):
    with pytest.raises(ValueError, match="window must be two numbers of tokens, before and after a query"):
        Attention(1, window=window)
