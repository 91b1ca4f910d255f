"""Folders of `transformers`: config.json, the weights of PyTorch or TensorFlow, and the tokenizer's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.files.other_programs import tell_other
from keras_transformers.checkpoints.files.tensors import INDEX, PICKLED, SAFE, Tensor, framework_of, read_tensors
from keras_transformers.checkpoints.hub import TENSORFLOW_FILES
from keras_transformers.checkpoints.stored import Stored, Tokenizers, UserOptions, parsed
from keras_transformers.families.baselines.without_attention import STATIC
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_object
from keras_transformers.utils.untrusted import shown

CONFIG = "config.json"
TORCH, TENSORFLOW = "transformers (PyTorch)", "transformers 4 (TensorFlow)"
OF_TORCH, OF_TENSORFLOW = (SAFE, INDEX), TENSORFLOW_FILES[::2]
OF_PICKLE = (PICKLED, f"{PICKLED}.index.json")


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder of `transformers`, or one that was saved here; the weights of PyTorch, if it holds both."""
    path = place / CONFIG
    if not path.is_file():
        return None
    values = read_object(path)
    if _is_of_another(place, values):
        return None
    if "model_type" not in values and (other := tell_other(place)):
        raise ValueError(other)
    stored: Stored = parsed(
        values,
        path,
        writer=TENSORFLOW if _is_of_tensorflow(place, user_options.pickled) else TORCH,
        place=place,
        tensors=lambda: _read_tensors(place, user_options.pickled),
        tokenizers=lambda: _read_tokenizers(place, values, stored.config.kind == "encoder_decoder"),
    )
    return stored


def _is_of_another(folder: Path, values: Mapping[str, Any]) -> bool:
    """Return whether the config.json is of Keras or model2vec, or was put beside a TensorFlow checkpoint."""
    if "class_name" in values and "model_type" not in values:
        return True
    if values.get("model_type") == STATIC.model_type and (folder / "tokenizer.json").is_file():
        return True
    return any(folder.glob("*.index")) and not _holds(folder, (*OF_TORCH, *OF_TENSORFLOW, *OF_PICKLE))


def _read_tokenizers(folder: Path, values: Mapping[str, Any], is_pair: bool) -> Tokenizers:
    """Read the tokenizers of source and target; `values` is the content of config.json, which is not read again."""
    return Tokenizer.pair_from_folder(folder, values) if is_pair else (Tokenizer.from_folder(folder, values),) * 2


def _is_of_tensorflow(folder: Path, pickled: bool) -> bool:
    """Return whether the weights to be read are of a `TF...` class."""
    if _holds(folder, OF_TORCH):
        return framework_of(folder) == "tf"
    is_asked = pickled and _holds(folder, OF_PICKLE)
    return _holds(folder, OF_TENSORFLOW) and not is_asked


def _holds(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).is_file() for name in names)


def _read_tensors(folder: Path, pickled: bool) -> list[Tensor]:
    if _is_of_tensorflow(folder, pickled):
        return _read_tensorflow(folder)
    if (framework := framework_of(folder)) not in (None, "pt", "np"):
        raise ValueError(
            f"the weights in {folder} have the format {shown(framework)}: expected 'pt' or 'tf', as `transformers` "
            "wrote it for PyTorch and TensorFlow. Fetch the weights of PyTorch, or save the model once more from there."
        )
    return read_tensors(folder, pickled)


def _read_tensorflow(folder: Path) -> list[Tensor]:
    from keras_transformers.checkpoints.formats import transformers_tf  # most folders have none of its files

    if not _holds(folder, OF_TORCH):
        return transformers_tf.read_weights(folder)
    tensors = read_tensors(folder, names_of=transformers_tf.names_in_shards)
    return [transformers_tf.to_torch(tensor) for tensor in tensors]
