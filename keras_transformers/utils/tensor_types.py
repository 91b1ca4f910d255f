"""The type of tensors in annotations."""

from __future__ import annotations

from typing import Any

# Of the backend, with values or symbolic, or an array of NumPy: dtype and shape stand in the docstring or beside it.
Tensor = Any
