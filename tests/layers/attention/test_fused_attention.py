"""The choice of a kernel by what is asked; `test_fused_attention_on_jax.py` compares it with plain attention."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.layers.attention.fused_attention import chosen_kernel, kernel_options
from keras_transformers.layers.attention.scores import Visible
from keras_transformers.layers.core.accelerator import Accelerator

H100, A100, B200 = Accelerator("gpu", 9.0), Accelerator("gpu", 8.0), Accelerator("gpu", 10.0)
TPU = Accelerator("tpu")
SIZES = (512, 512, 64)


@pytest.mark.parametrize(
    ("expected", "device", "dtype", "sizes", "options"),
    [
        ("cudnn", H100, "bfloat16", SIZES, {}),
        ("cudnn", H100, "float16", SIZES, {}),
        ("cudnn", A100, "bfloat16", (512, 512, 128), {}),
        ("cudnn", H100, "bfloat16", (512, 512, 256), {}),
        ("cudnn", H100, "bfloat16", (7, 33, 64), {}),
        ("cudnn", H100, "bfloat16", (8192, 8192, 64), {"is_short": False}),
        ("cudnn", H100, "bfloat16", (128, 64, 64), {}),
        ("cudnn", H100, "bfloat16", (64, 128, 64), {"has_table": True}),
        ("cudnn", H100, "bfloat16", (600, 30, 64), {"has_table": True}),
        ("xla", TPU, "bfloat16", (7, 33, 20), {"has_table": True}),
        # No kernel, by what is asked:
        (None, Accelerator(), "bfloat16", SIZES, {}),
        (None, Accelerator("gpu"), "bfloat16", SIZES, {}),  # of another maker
        (None, Accelerator("gpu", 7.5), "bfloat16", SIZES, {}),
        (None, H100, "float32", SIZES, {}),
        (None, TPU, "float32", SIZES, {}),
        (None, H100, "bfloat16", (512, 512, 60), {}),
        (None, H100, "bfloat16", (512, 512, 264), {}),
        (None, A100, "bfloat16", (512, 512, 136), {}),
        (None, B200, "bfloat16", (512, 512, 256), {}),
        (None, H100, "bfloat16", (1, 512, 64), {}),  # one step of generation
        (None, H100, "bfloat16", (512, 1, 64), {}),
        (None, H100, "bfloat16", ("t", "t", 64), {}),  # sizes without a number
        (None, H100, "bfloat16", (7, 32, 64), {"has_table": True}),
        (None, H100, "bfloat16", (32, 7, 64), {"has_table": True}),
        (None, H100, "bfloat16", (128, 64, 64), {"has_table": True}),
        (None, H100, "bfloat16", (704, 704, 64), {"has_table": True}),
        (None, H100, "bfloat16", (8192, 8192, 64), {"has_table": True, "is_short": False}),  # quadratic memory
        (None, TPU, "bfloat16", (8192, 8192, 64), {"is_short": False}),
    ],
)
def test_a_kernel_is_chosen_for_what_it_takes(expected, device, dtype, sizes, options):
    assert chosen_kernel(device, dtype, sizes, **{"has_table": False, **options}) == expected


@pytest.mark.parametrize(
    ("visible", "bias", "expected"),
    [
        (Visible(), None, {}),
        (Visible(), 0, {}),
        (Visible(window=(None, 0)), None, {"is_causal": True}),
        (Visible(window=(None, 0)), 0, {"is_causal": True}),
        (Visible(window=(3, 0)), None, {"is_causal": True, "local_window_size": (3, 0)}),
        (Visible(window=(7, 0)), None, {"is_causal": True}),  # a window of all keys
        (Visible(window=(7, 0)), 0, {"is_causal": True}),
        (Visible(window=(3, 0)), 0, None),
        (Visible(window=(3, 3)), None, None),
        (Visible(window=(3, None)), None, None),
        (Visible(np.ones((1, 1, 8), bool)), None, None),
        (Visible(documents=np.ones((1, 8), "int32"), window=(None, 0)), None, None),
    ],
)
def test_what_hides_keys_without_a_mask(visible, bias, expected):
    assert kernel_options(visible, bias, keys=8) == expected
