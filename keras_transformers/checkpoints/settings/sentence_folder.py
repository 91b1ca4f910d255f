"""Writing of the files of a sentence-transformers folder besides the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.files.safetensors_file import write_tensors
from keras_transformers.checkpoints.files.tensors import SAFE, Tensor
from keras_transformers.checkpoints.names.table import OF_VECTORS
from keras_transformers.checkpoints.settings.sentence_modules import MODULES
from keras_transformers.checkpoints.settings.sentence_transformers import ACTIVATIONS, CONFIG, LENGTH, POOLINGS, VECTOR

NO_PROMPTS: Mapping[str, str] = {}
NO_TENSORS: Mapping[str, Tensor] = {}
SINCE_VERSION_2 = ("first", "max", "mean", "mean_sqrt_length")  # whose flags each version reads


def write_sentence_transformer(
    folder: str | Path,
    hidden_dim: int,
    max_length: int,
    *,
    pooling: str | Sequence[str] = "mean",
    include_prompt: bool = True,
    dense: Sequence[Mapping[str, Any]] = (),
    normalize: bool = True,
    prompts: Mapping[str, str] = NO_PROMPTS,
    default_prompt: str | None = None,
    truncate_dim: int | None = None,
    tensors: Mapping[str, Tensor] = NO_TENSORS,
) -> None:
    """Write the files that `read_sentence_transformer` and `dense_tensors` read, and each version of the library.

    Args:
        folder: Of the model.
        hidden_dim: Size of a hidden state.
        max_length: Tokens of the longest text.
        pooling, include_prompt, dense, normalize, prompts, default_prompt, truncate_dim: Of `tasks.sentence_embedding`.
        tensors: Of the dense layers, by the names that `checkpoints.names` has for them.
    """
    ways = [pooling] if isinstance(pooling, str) else [*pooling]
    kinds = ["Transformer", "Pooling", *("Dense" for _ in dense), *(["Normalize"] if normalize else [])]
    paths = [f"{index}_{kind}" if index else "" for index, kind in enumerate(kinds)]
    files: dict[str, Any] = {
        MODULES: [
            {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for index, (kind, path) in enumerate(zip(kinds, paths, strict=True))
        ],
        LENGTH: {"max_seq_length": max_length, "do_lower_case": False},
        CONFIG: {
            "model_type": "SentenceTransformer", "prompts": {**prompts}, "default_prompt_name": default_prompt,
            "similarity_fn_name": "cosine", **({"truncate_dim": truncate_dim} if truncate_dim else {}),
        },
        f"{paths[1]}/config.json": _pooling(hidden_dim, ways, include_prompt),
    }  # fmt: skip
    width = hidden_dim * len(ways)
    for number, (path, options) in enumerate(zip(paths[2:], dense, strict=False)):
        files[f"{path}/config.json"] = _dense(width, options)
        width = options["units"]
        _write_dense(Path(folder, path), f"{OF_VECTORS}{number}.", tensors)
    for name, values in files.items():
        file = Path(folder, name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    if normalize:
        Path(folder, paths[-1]).mkdir()  # empty, as sentence-transformers writes it


def _write_dense(folder: Path, prefix: str, tensors: Mapping[str, Tensor]) -> None:
    """Write the tensors of one dense layer, whose names begin with a prefix."""
    folder.mkdir()
    stored = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    write_tensors(folder / SAFE, stored)


def _pooling(hidden_dim: int, ways: list[str], include_prompt: bool) -> dict[str, Any]:
    """Return the settings of a Pooling module: flags, and names where flags do not say the order."""
    flags = {flag: name in ways for name, (_, flag) in POOLINGS.items() if name in (*SINCE_VERSION_2, *ways)}
    in_order = [name for name in POOLINGS if name in ways] == ways
    names = {} if in_order else {"pooling_mode": [POOLINGS[name][0] for name in ways]}
    prompt = {} if include_prompt else {"include_prompt": False}
    return {"word_embedding_dimension": hidden_dim, **flags, **names, **prompt}


def _dense(width: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a Dense module."""
    return {
        "in_features": width,
        "out_features": options["units"],
        "bias": options.get("use_bias", True),
        "activation_function": ACTIVATIONS[options.get("activation", "linear")],
        "module_input_name": VECTOR,
        "module_output_name": VECTOR,
    }
