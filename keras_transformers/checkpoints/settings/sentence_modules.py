"""The list of modules of a sentence-transformers folder: what they are, and where they are."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from keras_transformers.utils.json_file import read_json
from keras_transformers.utils.untrusted import shown

MODULES = "modules.json"
MOST_LETTERS = 60  # of the name of a module's folder; no file system takes more than 255 bytes
LAYERS = ("Dense", "LayerNorm", "Dropout", "Normalize")  # behind the pooling, in any order
STATIC = "StaticEmbedding"  # a mean of vectors of tokens, which needs no Pooling
LOGITS = "LogitScore"  # of a cross-encoder: the logit of a token after the pair
MASKED, SPLADE = "MLMTransformer", "SpladePooling"  # of a sparse encoder: logits of a masked language model
SUPPORTED = ("Transformer", "Pooling", STATIC, LOGITS, MASKED, SPLADE, *LAYERS)
ORDER = re.compile(
    rf"Transformer( {LOGITS})?|(Transformer|{MASKED}) {SPLADE}|(Transformer Pooling|{STATIC})( ({'|'.join(LAYERS)}))*"
)
EXPECTED = (
    "expected Transformer and Pooling, or StaticEmbedding, and any number of Dense, LayerNorm, Dropout and Normalize, "
    "in this order, in folders of this one; for a CrossEncoder Transformer alone, or Transformer and "
    f"LogitScore; for a SparseEncoder Transformer, or {MASKED}, and {SPLADE}"
)
TEACHER = (
    "a model of Transformer and Pooling can learn its vectors: take those that sentence-transformers computes as "
    'labels of task="sentence_embedding", loss="regression"'
)
ROUTED = (
    "it has modules for each kind of text. Load the modules of one kind, from a copy of the folder whose "
    "modules.json lists them in place of it (router_config.json names them)"
)
REMEDIES = {
    "WeightedLayerPooling": f"no weighted mean of the layers is computed here. Train the model anew without it, or "
    f"{TEACHER}",
    "Router": ROUTED,
    "Asym": ROUTED,
    "SparseStaticEmbedding": "it gives each token of a text a weight from a table, without a model. Look up the "
    "weights of a query in your own code, and load the model of the documents: its task.search takes sparse vectors",
    "SparseAutoEncoder": "no sparse code of a dense vector (CSR) is computed here. Load the dense model, from a copy "
    "of the folder whose modules.json ends before it",
}


def is_sentence_transformer(folder: str | Path) -> bool:
    """Return whether a checkpoint folder is one of sentence-transformers."""
    return Path(folder, MODULES).is_file()


def transformer_folder(folder: str | Path) -> Path:
    """Return the folder of the model itself: the given one, or one in it (`0_Transformer`), as old versions wrote it.

    Raises:
        ValueError: It is of sentence-transformers, and its first module is no Transformer, or others are not supported.
    """
    return Path(folder, modules_of(folder)[0][1] if is_sentence_transformer(folder) else "")


def is_static(folder: str | Path) -> bool:
    """Return whether a folder holds the table of a StaticEmbedding: the given one, or one in it."""
    root = next((place for place in (Path(folder), Path(folder).parent) if is_sentence_transformer(place)), None)
    return root is not None and modules_of(root)[0][0] == STATIC


def modules_of(folder: str | Path) -> list[tuple[str, str]]:
    """Return the kind and the path of each module of a folder, in order.

    Raises:
        ValueError: The list is damaged, or has modules that are not supported.
    """
    path = Path(folder, MODULES)
    modules = read_json(path, "a list of modules")
    try:
        types = [str(module["type"]) for module in modules]
        paths = [module["path"] for module in modules]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is no list of modules ({error!r}). Fetch or write it again.") from error
    if foreign := [name for name in types if not name.startswith("sentence_transformers.")]:
        raise ValueError(
            f"{path} has modules that are code beside the model, which is not run here: {shown(foreign)}. Load the "
            "model alone, from a copy of the folder without modules.json."
        )
    kinds = [name.rpartition(".")[2] for name in types]
    if unknown := next((kind for kind in kinds if kind not in SUPPORTED), None):
        remedy = REMEDIES.get(unknown, f"{EXPECTED}. {TEACHER[0].upper()}{TEACHER[1:]}")
        raise ValueError(f"{path} has the module {shown(unknown)}, which is not supported: {remedy}.")
    if not ORDER.fullmatch(" ".join(kinds)) or not all(map(_is_inside, paths)):
        raise ValueError(f"{path} has the modules {shown(kinds)} in {shown(paths)}: {EXPECTED}.")
    return [*zip(kinds, paths, strict=True)]


def _is_inside(place: Any) -> bool:
    """Return whether a value is the name of a folder in this one, or of this one."""
    is_name = isinstance(place, str) and place != ".." and "\0" not in place and place == os.path.basename(place)
    return is_name and len(place) <= MOST_LETTERS
