"""Small models of `transformers`, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def make_reference(
    folder: Path, architecture: str, options: dict, generation: dict, scale: float, bias: float = 0.3
) -> Any:
    """A model of `transformers`, saved: matrices many times as large as at the start, no bias zero, no norm one."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    kind = getattr(transformers, architecture)
    model = kind(kind.config_class(**options)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:
                continue  # Marian's sines, which no file holds
            if weight.ndim > 1:
                weight.mul_(scale)
            else:
                is_gain = ("norm" in name or "ln_" in name) and not name.endswith("bias")
                weight.normal_(float(is_gain), 0.3 if is_gain else bias)
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    return model
