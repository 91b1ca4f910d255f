"""Files of a sentence-transformers folder besides the model: its modules, its prompts, and the longest text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from keras_transformers.checkpoints.files.tensors import Tensor, read_tensors
from keras_transformers.checkpoints.names.table import OF_VECTORS
from keras_transformers.checkpoints.settings.sentence_modules import modules_of
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown, warn_user

TASK = "sentence_embedding"
CONFIG = "config_sentence_transformers.json"
LENGTH = "sentence_bert_config.json"
OLD_LENGTHS = tuple(
    f"sentence_{family}_config.json"
    for family in ("roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# Ways of pooling, in the order in which old folders have several: their name, and the flag of old folders.
POOLINGS = {
    "first": ("cls", "pooling_mode_cls_token"),
    "max": ("max", "pooling_mode_max_tokens"),
    "mean": ("mean", "pooling_mode_mean_tokens"),
    "mean_sqrt_length": ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"),
    "weighted_mean": ("weightedmean", "pooling_mode_weightedmean_tokens"),
    "last": ("lasttoken", "pooling_mode_lasttoken"),
}
ACTIVATIONS = {
    "linear": "torch.nn.modules.linear.Identity",
    "tanh": "torch.nn.modules.activation.Tanh",
    "relu": "torch.nn.modules.activation.ReLU",
    "gelu": "torch.nn.modules.activation.GELU",
    "silu": "torch.nn.modules.activation.SiLU",
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
}
VECTOR = "sentence_embedding"  # the name that modules have for the vector of a text
# The values of options that are followed; another value is refused.
OF_TRANSFORMER = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
OF_NORMALIZE = {"module_input_name": VECTOR, "module_output_name": VECTOR}
OF_DENSE = {**OF_NORMALIZE, "use_residual": False}
OF_MODEL = {"model_type": "SentenceTransformer"}


def read_sentence_transformer(folder: str | Path) -> dict[str, Any]:
    """Read how a folder of sentence-transformers makes vectors.

    Args:
        folder: With `modules.json`.

    Returns:
        `max_length`, tokens of the longest text, or None; and options of `tasks.sentence_embedding`: `pooling`,
        `include_prompt`, `dense`, `normalize`, `prompts`, `default_prompt` and `truncate_dim`.

    Raises:
        ValueError: A file is missing or damaged; a module, a way of pooling or the value of an option is not
            supported; or texts are to be lower-cased and the tokenizer does not do so. A key that is not known is told
            in a warning.

    Example:

    >>> import tempfile
    >>> from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_sentence_transformer(folder, 384, 256, pooling="mean", prompts={"query": "query: "})
    >>> read = read_sentence_transformer(folder)
    >>> read["pooling"], read["max_length"], read["prompts"]
    ('mean', 256, {'query': 'query: '})
    """
    modules = modules_of(folder)
    places = {kind: [Path(folder, path) for name, path in modules if name == kind] for kind, _ in modules}
    for place in places.get("Normalize", ()):
        _read(place / "config.json", OF_NORMALIZE, {}, needed=False)
    return {
        **_read_pooling(places["Pooling"][0] / "config.json"),
        "dense": [_read_dense(place / "config.json") for place in places.get("Dense", ())],
        "normalize": "Normalize" in places,
        **_read_prompts(Path(folder, CONFIG)),
        "max_length": _read_length(places["Transformer"][0]),
    }


def dense_tensors(folder: str | Path, pickled: bool = False) -> list[Tensor]:
    """List the tensors of the Dense modules of a folder, by the names that `checkpoints.names` has for them.

    Args:
        folder: With `modules.json`.
        pickled: Whether to accept the old `pytorch_model.bin` of a module; no code in it is run.

    Raises:
        ValueError: The file of a module is missing or damaged.
    """
    places = [Path(folder, path) for kind, path in modules_of(folder) if kind == "Dense"]
    return [
        tensor._replace(name=f"{OF_VECTORS}{number}.{tensor.name}")
        for number, place in enumerate(places)
        for tensor in read_tensors(place, pickled)
    ]


def _read(path: Path, fixed: Mapping[str, Any], kinds: Mapping[str, Any], needed: bool = True) -> dict[str, Any]:
    """Return the values of a settings file, checked; warn of keys that are not known.

    Args:
        path: Of the file.
        fixed: The one value of each option that is followed.
        kinds: The types of further options; None for any.
        needed: Whether the file has to be there.
    """
    if not needed and not path.is_file():
        return {}
    values = read_object(path)
    for key, value in fixed.items():
        if values.get(key, value) not in (value, None):
            raise ValueError(f"{path} says {key} {shown(values[key])}: only {value!r} is supported.")
    check_types(values, {key: kind for key, kind in kinds.items() if kind}, path)
    if unknown := sorted(key for key, value in values.items() if key not in {*fixed, *kinds} and value):
        warn_user(f"{path} has the keys {shown(unknown)}, which nothing here follows: vectors may be others.")
    return values


def _read_pooling(path: Path) -> dict[str, Any]:
    flags = {flag: bool for _, flag in POOLINGS.values()}
    widths = {"word_embedding_dimension": int, "embedding_dimension": int}
    values = _read(path, {}, {**flags, **widths, "pooling_mode": None, "include_prompt": bool})
    # Version 5 writes names; older ones write a flag for each way, and take the mean where none is set.
    named = values.get("pooling_mode") or [theirs for theirs, flag in POOLINGS.values() if values.get(flag)] or "mean"
    named = named if isinstance(named, list) else [named]
    ours = {theirs: name for name, (theirs, _) in POOLINGS.items()}
    if not all(isinstance(name, str) and name in ours for name in named):
        raise ValueError(f"{path} says pooling by {shown(named)}: expected one or more of {sorted(ours)}.")
    return {
        "pooling": ours[named[0]] if len(named) == 1 else [ours[name] for name in named],
        "include_prompt": values.get("include_prompt") is not False,
    }


def _read_dense(path: Path) -> dict[str, Any]:
    kinds = {"in_features": int, "out_features": int, "bias": bool, "activation_function": str}
    values = _read(path, OF_DENSE, kinds)
    if not is_size(values.get("out_features")):
        raise ValueError(
            f"{path}: out_features must be a number above 0: received {shown(values.get('out_features'))}."
        )
    named = values.get("activation_function") or ACTIVATIONS["tanh"]  # their default
    last = {theirs.rpartition(".")[2]: name for name, theirs in ACTIVATIONS.items()}
    activation = last.get(named.rpartition(".")[2]) if named.startswith("torch.nn.") else None
    if activation is None:
        raise ValueError(f"{path} says the activation {shown(named)}: expected one of {[*ACTIVATIONS.values()]}.")
    return {"units": values["out_features"], "activation": activation, "use_bias": values.get("bias") is not False}


def _read_prompts(path: Path) -> dict[str, Any]:
    kinds = {"prompts": dict, "default_prompt_name": str, "truncate_dim": int, "similarity_fn_name": str}
    values = _read(path, OF_MODEL, {**kinds, "__version__": None, "requirements": None}, needed=False)
    prompts = values.get("prompts") or {}
    if wrong := {name: text for name, text in prompts.items() if not isinstance(text, str)}:
        raise ValueError(f"{path}: prompts must be texts by name: received {shown(wrong)}.")
    default = values.get("default_prompt_name")
    if default is not None and default not in prompts:
        raise ValueError(f"{path}: default_prompt_name is {shown(default)}: expected one of {shown(sorted(prompts))}.")
    if (most := values.get("truncate_dim")) is not None and most < 1:
        raise ValueError(f"{path}: truncate_dim must be a number above 0, or null: received {shown(most)}.")
    if (similarity := values.get("similarity_fn_name")) not in (None, "cosine"):
        warn_user(
            f"{path} says similarity_fn_name {shown(similarity)}: `search` and `similarity` take the cosine here."
        )
    # Version 5 writes these two for a model that has none.
    prompts = {} if default is None and prompts == {"query": "", "document": ""} else prompts
    return {"prompts": prompts, "default_prompt": default, "truncate_dim": values.get("truncate_dim")}


def _read_length(folder: str | Path) -> int | None:
    """Return the tokens of the longest text, or None where no file says so."""
    paths = (Path(folder, name) for name in (LENGTH, *OLD_LENGTHS))
    path = next((path for path in paths if path.is_file()), Path(folder, LENGTH))
    kinds = {"max_seq_length": int, "do_lower_case": bool, "modality_config": None}
    limits = _read(path, OF_TRANSFORMER, kinds, needed=False)
    if (most := limits.get("max_seq_length")) is not None and most < 1:
        raise ValueError(f"{path}: max_seq_length must be a number of tokens above 0: received {shown(most)}.")
    if limits.get("do_lower_case") and not _is_lowercasing(folder):
        raise ValueError(
            f"{path} says do_lower_case, and the tokenizer beside it keeps capital letters: make it "
            "lower-case texts, in tokenizer.json or tokenizer_config.json, or set do_lower_case to false."
        )
    return most


def _is_lowercasing(folder: str | Path) -> bool:
    """Return whether the tokenizer of a folder lower-cases texts."""
    letters = " ".join(ascii_lowercase)
    small, capital = Tokenizer.from_folder(folder).encode([letters, letters.upper()])
    return small.ids == capital.ids
