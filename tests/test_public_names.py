"""`keras_transformers.NAME`: few names, all documented, and nothing imported before one is asked for."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformers


@pytest.mark.parametrize("name", keras_transformers.__all__)
def test_a_name_resolves_and_is_documented(name):
    value = getattr(keras_transformers, name)
    assert inspect.getdoc(value), name
    assert getattr(value, "__name__", "").rpartition(".")[2] == name
    assert getattr(keras_transformers, name) is value


def test_they_are_few_and_listed():
    assert len(keras_transformers.__all__) == len(set(keras_transformers.__all__)) <= 45
    assert "__version__" in dir(keras_transformers)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"no attribute 'Atention'; its names are .*Attention"):
        _ = keras_transformers.Atention
    with pytest.raises(ImportError):
        from keras_transformers import Atention  # noqa: F401


def test_a_type_checker_sees_the_same_names():
    tree = ast.parse(Path(keras_transformers.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = {alias.name: node.module for node in block.body for alias in node.names}
    assert all(alias.asname == alias.name for node in block.body for alias in node.names)
    modules = {name: f"keras_transformers.{module}" for name, module in keras_transformers._MODULES.items()}
    assert imports == {"families": "keras_transformers"} | modules


SCRIPT = """
import sys
import keras_transformers
assert set(keras_transformers.__all__) < set(dir(keras_transformers))
assert keras_transformers.__version__ and keras_transformers.__all__
loaded = {"tensorflow", "keras", "numpy", "jax", "tokenizers"} & set(sys.modules)
assert not loaded, loaded
assert [name for name in sys.modules if name.startswith("keras_transformers.")] == ["keras_transformers.quiet"]
from keras_transformers import TransformerConfig
assert "tensorflow" not in sys.modules
"""


def test_the_import_alone_imports_nothing():
    root = str(Path(keras_transformers.__file__).resolve().parent.parent)
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=root, check=True)
