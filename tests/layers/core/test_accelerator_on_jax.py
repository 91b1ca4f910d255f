from __future__ import annotations

from types import SimpleNamespace

import jax
import keras
import pytest

from keras_transformers.layers.core.accelerator import Accelerator, accelerator


@pytest.mark.parametrize(
    ("platform", "version", "capability", "expected"),
    [
        ("gpu", "PJRT C API\ncuda 12090", "9.0", Accelerator("gpu", 9.0)),
        ("gpu", "PJRT C API\ncuda 12090", "12.0", Accelerator("gpu", 12.0)),
        ("gpu", "PJRT C API\nrocm 60300", "gfx942", Accelerator("gpu")),
        ("tpu", "PJRT C API\nTFRT TPU v5", None, Accelerator("tpu")),
    ],
)
def test_devices(platform, version, capability, expected, monkeypatch):
    device = SimpleNamespace(
        platform=platform, client=SimpleNamespace(platform_version=version), compute_capability=capability
    )
    monkeypatch.setattr(jax, "devices", lambda name: [device])
    assert accelerator() == expected


def test_keras_device_comes_first(monkeypatch):
    with keras.device("cpu"):
        monkeypatch.setattr(jax, "devices", lambda name: [SimpleNamespace(platform="gpu")])
        assert accelerator() == Accelerator("cpu")
