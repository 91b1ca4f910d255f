"""Files of a sentence-transformers folder besides the model: its modules, its prompts, and the longest text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from keras_transformers.checkpoints.settings.sentence_layers import read_layers, read_settings
from keras_transformers.checkpoints.settings.sentence_modules import MODULES, STATIC, modules_of
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.untrusted import shown

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
OF_STATES = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
OF_MODEL = {"model_type": "SentenceTransformer"}
OF_PROMPTS = {"prompts": dict, "default_prompt_name": str, "__version__": None, "requirements": None}
MEAN: Mapping[str, Any] = {"pooling": "mean", "include_prompt": True}  # of a StaticEmbedding
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def read_sentence_transformer(folder: str | Path, hidden_dim: int | None = None) -> dict[str, Any]:
    """Read how a folder of sentence-transformers makes vectors.

    Args:
        folder: Folder with `modules.json`.
        hidden_dim: Size of a hidden state; None if it is not known, and not compared.

    Returns:
        `max_length`, tokens of the longest text, or None; and options of `tasks.sentence_embedding`: `pooling`,
        `include_prompt`, `dense`, `normalize`, `prompts`, `default_prompt`, `truncate_dim` and `similarity`.

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
    (first, model), *modules = [(kind, Path(folder, path)) for kind, path in modules_of(folder)]
    if first != STATIC and [kind for kind, _ in modules[:1]] != ["Pooling"]:
        raise ValueError(
            f"{Path(folder, MODULES)} has a Transformer without Pooling: expected Pooling behind it, or in {CONFIG} "
            "the model_type 'CrossEncoder'."
        )
    pooled = MEAN if first == STATIC else read_pooling(modules.pop(0)[1] / "config.json")
    layers = read_layers(modules, hidden_dim and hidden_dim * count_of(pooled["pooling"]))
    ends_in_norm = bool(layers) and layers[-1] == {"layer": "normalize"}
    return {
        **pooled,
        "dense": layers[:-1] if ends_in_norm else layers,
        "normalize": ends_in_norm,
        **read_options(Path(folder, CONFIG), OF_MODEL),
        "max_length": None if first == STATIC else read_length(model, OF_STATES),
    }


def model2vec_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `tasks.sentence_embedding` of a folder of model2vec without `modules.json`.

    Args:
        values: Values of its config.json.
    """
    return {"task": TASK, **MEAN, "dense": [], "normalize": values.get("normalize") is True}


def count_of(pooling: str | list[str]) -> int:
    """Return in how many ways, side by side, hidden states are pooled."""
    return 1 if isinstance(pooling, str) else len(pooling)


def read_pooling(path: Path) -> dict[str, Any]:
    """Read the settings of a Pooling module: `pooling` and `include_prompt`."""
    flags = {flag: bool for _, flag in POOLINGS.values()}
    widths = {"word_embedding_dimension": int, "embedding_dimension": int}
    values = read_settings(path, {}, {**flags, **widths, "pooling_mode": None, "include_prompt": bool})
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


def read_options(path: Path, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options of a model of vectors: prompts, the width that is kept, and the similarity.

    Args:
        path: Path of the file.
        fixed: Options that may have one value only.
    """
    kinds = {"truncate_dim": int, "similarity_fn_name": str}
    values = read_settings(path, fixed, {**OF_PROMPTS, **kinds}, needed=False)
    if (most := values.get("truncate_dim")) is not None and most < 1:
        raise ValueError(f"{path}: truncate_dim must be a number above 0, or null: received {shown(most)}.")
    similarity = similarity_of(values, path, "cosine")
    return {**prompts_of(values, path), "truncate_dim": values.get("truncate_dim"), "similarity": similarity}


def similarity_of(values: Mapping[str, Any], path: Path, default: str) -> str:
    """Return the similarity that the values of a file name, or a default."""
    if (similarity := values.get("similarity_fn_name") or default) not in SIMILARITIES:
        raise ValueError(
            f"{path} says similarity_fn_name {shown(similarity)}: expected one of {SIMILARITIES}. Write one of them."
        )
    return similarity


def prompts_of(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the prompts, and the name of the default one, of the values of a file."""
    prompts = values.get("prompts") or {}
    if wrong := {name: text for name, text in prompts.items() if not isinstance(text, str)}:
        raise ValueError(f"{path}: prompts must be texts by name: received {shown(wrong)}.")
    default = values.get("default_prompt_name")
    if default is not None and default not in prompts:
        raise ValueError(f"{path}: default_prompt_name is {shown(default)}: expected one of {shown(sorted(prompts))}.")
    # Version 5 writes these two for a model that has none.
    prompts = {} if default is None and prompts == {"query": "", "document": ""} else prompts
    return {"prompts": prompts, "default_prompt": default}


def length_file(folder: str | Path) -> Path:
    """Return the file of a Transformer with the length of texts, and how they are put."""
    paths = (Path(folder, name) for name in (LENGTH, *OLD_LENGTHS))
    return next((path for path in paths if path.is_file()), Path(folder, LENGTH))


def read_length(folder: str | Path, fixed: Mapping[str, Any], in_messages: bool = False) -> int | None:
    """Return the tokens of the longest text, or None where no file says so.

    Args:
        folder: Folder of the Transformer.
        fixed: Options that may have one value only.
        in_messages: Whether texts may be put in a chat template.

    Raises:
        ValueError: The value of an option is not supported, or texts are to be lower-cased or put in a chat template.
    """
    path = length_file(folder)
    kinds = {"max_seq_length": int, "do_lower_case": bool, "modality_config": dict}
    limits = read_settings(path, fixed, kinds | ({"processing_kwargs": dict} if in_messages else {}), needed=False)
    if "message" in (limits.get("modality_config") or {}) and not in_messages:
        raise ValueError(
            f"{path} says in modality_config that texts are put in the chat template of the tokenizer (message), which "
            "is not done here. Where the model was trained on plain texts, remove that entry."
        )
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
