"""`task.model.export(format="onnx")`, Keras' own export, beside ONNX Runtime."""

from __future__ import annotations

import every_task
import numpy as np
import pytest

pytestmark = pytest.mark.parity
WIDTHS = {"mask_positions": 2}


@pytest.mark.parametrize("name", ["classification", "masked_lm", "causal_lm", "seq2seq_lm"])
def test_onnx_runtime_gives_the_same_numbers(tmp_path, name):
    """Exact GELU among them: TensorFlow's own takes `erfc`, which is no operator of ONNX."""
    pytest.importorskip("tf2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = every_task.make(name).model
    inputs = {key: np.ones((2, WIDTHS.get(key, 5)), "int32") for key in model.input}
    expected = model(inputs, training=False)["logits"]  # Keras exports models that were called
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    found = session.run(["logits"], {one.name: inputs[one.name.partition(":")[0]] for one in session.get_inputs()})
    np.testing.assert_allclose(found[0], expected, atol=1e-5)
