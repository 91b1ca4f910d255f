"""Cross-encoders of sentence-transformers: what their folders say of the scores of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.settings.pair_messages import read_pair_template
from keras_transformers.checkpoints.settings.sentence_layers import ACTIVATIONS as THEIRS
from keras_transformers.checkpoints.settings.sentence_layers import SCORES, our_activation, read_layers, read_settings
from keras_transformers.checkpoints.settings.sentence_modules import LOGITS, MODULES, STATIC, modules_of
from keras_transformers.checkpoints.settings.sentence_transformers import (
    CONFIG,
    OF_PROMPTS,
    OF_STATES,
    count_of,
    length_file,
    prompts_of,
    read_length,
    read_pooling,
)
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.untrusted import shown

RANKING, CLASSIFICATION = "ranking", "classification"  # the tasks of one score, and of several
MODEL_TYPE = "CrossEncoder"
ACTIVATIONS = ("linear", "sigmoid")  # of the scores, by our names
NO_ACTIVATION = f' Write "{THEIRS["linear"]}" to read the scores as they are before an activation.'
KEY, OLD_KEY = "sentence_transformers", "sbert_ce_default_activation_function"  # of config.json
OF_SCORES = {"transformer_task": "sequence-classification", "module_output_name": SCORES}
LOGITS_NAME = "causal_logits"
PROCESSING, CHAT = "processing_kwargs", "chat_template"
OF_TEXT = {"transformer_task": "text-generation", "module_output_name": LOGITS_NAME}
OF_MODEL = {"model_type": MODEL_TYPE}


def is_cross_encoder(folder: str | Path) -> bool:
    """Return whether a folder of sentence-transformers is of a cross-encoder.

    Raises:
        ValueError: Its settings are damaged.
    """
    path = Path(folder, CONFIG)
    return path.is_file() and read_object(path).get("model_type") == MODEL_TYPE


def read_cross_encoder(
    folder: str | Path, values: Mapping[str, Any], labels: tuple[str, ...] | None, hidden_dim: int
) -> dict[str, Any]:
    """Read how a folder of sentence-transformers scores pairs.

    Args:
        folder: Folder with `modules.json`.
        values: Values of the model's config.json.
        labels: Labels of the model's classifier; None if it has none.
        hidden_dim: Size of a hidden state.

    Returns:
        `task`, its name; `labels`, one for each score; `problem` of `tasks.classification`; `max_length`, tokens of the
        longest pair, or None; and options of `tasks.ranking`: `activation`, `pooling`, `dense`, `score_tokens`,
        `pair_template`, `prompts` and `default_prompt`.

    Raises:
        ValueError: A file is missing or damaged, or a module or the value of an option is not supported. A key that is
            not known is told in a warning.
    """
    (first, model), *modules = [(kind, Path(folder, path)) for kind, path in modules_of(folder)]
    path = Path(folder, CONFIG)
    options = read_settings(path, OF_MODEL, {**OF_PROMPTS, "activation_fn": str, "keep_in_fp32_modules": list})
    found = {**prompts_of(options, path), "pooling": None, "dense": [], "score_tokens": None,
             "pair_template": None}  # fmt: skip
    fixed = OF_STATES if modules else OF_SCORES
    if first == STATIC:
        raise ValueError(f"{Path(folder, MODULES)} begins with {STATIC}, which reads no pairs: expected Transformer.")
    if modules and modules[0][0] == LOGITS:
        found["score_tokens"], labels, fixed = _read_tokens(modules[0][1] / "config.json"), ("LABEL_0",), OF_TEXT
        found["pair_template"] = _read_template(model, found["prompts"])
    elif modules:
        found |= _read_head(modules, found["prompts"], hidden_dim)
        count = found["dense"][-1]["units"]
        labels = labels if labels and len(labels) == count else tuple(f"LABEL_{number}" for number in range(count))
    elif not labels:
        raise ValueError(
            f"{Path(folder, MODULES)} has a Transformer alone, and the config.json beside it names no classifier: "
            "expected the class ...ForSequenceClassification in architectures. Save the model once more."
        )
    named = (options.get("activation_fn"), path)
    default = "sigmoid" if len(labels) == 1 else "linear"  # as in sentence-transformers
    activation = _our_activation(*named) or named_activation(values, model / "config.json") or default
    return {
        **found,
        "task": RANKING if len(labels) == 1 else CLASSIFICATION,
        "labels": labels,
        "problem": problem_of(activation, len(labels)),
        "activation": activation,
        "max_length": read_length(model, fixed, fixed is OF_TEXT),
    }


def _read_template(folder: Path, prompts: Mapping[str, str]) -> dict[str, str] | None:
    """Read how a chat template writes pairs; None where pairs are plain texts."""
    path = length_file(folder)
    values = read_object(path) if path.is_file() else {}
    check_types(values, {"modality_config": dict, PROCESSING: dict}, path)
    form = (values.get("modality_config") or {}).get("message")
    if form is None:
        return None
    options = values.get(PROCESSING) or {}
    if others := options.keys() - {CHAT}:
        raise ValueError(f"{path}: {PROCESSING} has {shown(sorted(others))}: only {CHAT!r} is supported.")
    variables = {key: value for key, value in (options.get(CHAT) or {}).items() if key != "restore_suffix"}
    template = read_pair_template(folder, form.get("format", "structured"), variables)
    if "{prompt}" not in template["text"] and any(prompts.values()):
        raise ValueError(f"{path}: the chat template has no place for the prompts of {CONFIG}. Remove them.")
    return template


def _read_tokens(path: Path) -> list[int]:
    """Read the ids of the tokens of a LogitScore: the one whose logit is the score, and perhaps one to subtract."""
    values = read_settings(path, {"module_input_name": LOGITS_NAME}, {"true_token_id": int, "false_token_id": int})
    ids = [values[key] for key in ("true_token_id", "false_token_id") if values.get(key) is not None]
    if values.get("true_token_id") is None or min(ids) < 0:
        raise ValueError(f"{path}: true_token_id and false_token_id must be token ids: received {shown(values)}.")
    return ids


def _read_head(modules: list[tuple[str, Path]], prompts: Mapping[str, str], hidden_dim: int) -> dict[str, Any]:
    """Read the modules that score what the Transformer gives: Pooling, and layers of which the last is a Dense."""
    path = modules[0][1] / "config.json"
    pooled = read_pooling(path)
    if not pooled["include_prompt"] and any(prompts.values()):
        raise ValueError(
            f"{path} says include_prompt false: in a CrossEncoder that has prompts only true is supported. Remove the "
            f"prompts from {CONFIG}, or set include_prompt to true, if the model was trained so."
        )
    layers = read_layers(modules[1:], hidden_dim * count_of(pooled["pooling"]), SCORES)
    if "units" not in layers[-1]:
        raise ValueError(
            f"{modules[-1][1]} is the last module, and no Dense: expected the Dense that gives the scores."
        )
    return {"pooling": pooled["pooling"], "dense": layers}


def problem_of(activation: str, count: int) -> str:
    """Return the problem of a classifier whose scores have an activation.

    Example:

    >>> problem_of("linear", 1), problem_of("linear", 3), problem_of("sigmoid", 3)
    ('regression', 'single_label', 'multi_label')
    """
    if activation == "sigmoid":
        return "multi_label"
    return "regression" if count == 1 else "single_label"


def named_activation(values: Mapping[str, Any], path: Path) -> str | None:
    """Return the activation of the scores that a config.json names, as versions 2 to 5 wrote it; None if none.

    Args:
        values: Values of the file.
        path: Path of the file, for errors.

    Raises:
        ValueError: It is not supported.
    """
    check_types(values, {KEY: dict, OLD_KEY: str}, path)
    own = values.get(KEY) or {}
    check_types(own, {"activation_fn": str}, path)
    return _our_activation(own.get("activation_fn") or values.get(OLD_KEY), path)


def written_activation(activation: str) -> dict[str, Any]:
    """Return the key of config.json that names the activation of the scores: the inverse of `named_activation`.

    Example:

    >>> named_activation(written_activation("sigmoid"), Path("config.json"))
    'sigmoid'
    """
    return {KEY: {"activation_fn": THEIRS[activation]}}


def _our_activation(named: str | None, path: Path) -> str | None:
    """Return our name of an activation of the scores, or None for none."""
    return None if named is None else our_activation(named, path, ACTIVATIONS, NO_ACTIVATION)
