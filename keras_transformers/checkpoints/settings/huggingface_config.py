"""Conversion of Hugging Face's config.json to a `TransformerConfig`, labels and problem, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from keras_transformers.checkpoints.settings.label_names import read_labels
from keras_transformers.checkpoints.settings.names import FAMILIES, REMOTE, Names, family_names, names_of
from keras_transformers.checkpoints.settings.special_ids import possible_ids
from keras_transformers.config.filled_values import has_biases
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.rotary_keys import (
    PARAMETERS,
    SCALING,
    THETA,
    flat_parameters,
    read_scaling,
    written_keys,
)
from keras_transformers.text.folder.kept_files import TASK
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.untrusted import shown

PROBLEMS = {
    "single_label": "single_label_classification",
    "multi_label": "multi_label_classification",
    "regression": "regression",
}
GENERATION = ("bos_token_id", "eos_token_id", "decoder_start_token_id")
PAD = "pad_token_id"
FORGOTTEN = (
    "output_initializer_range",
    "embedding_initializer_range",
    "dropout",
    "embedding_dropout",
    "activation_dropout",
    "pooler_dropout",
    "classifier_dropout",
)  # fields for training only, which a format may lose: trained weights do not need them


def read_config(folder: str | Path, warn: bool = True) -> tuple[TransformerConfig, dict[str, Any]]:
    """Read the config.json of a checkpoint folder.

    Args:
        folder: Folder in Hugging Face layout.
        warn: Whether to warn of special tokens that are left out: see `special_ids`.

    Returns:
        The configuration, and a dict of the file's other facts: `architecture`, the class of `transformers` or None;
        `labels`, a tuple of names in the order of the logits; `problem`: `"single_label"`, `"multi_label"` or
        `"regression"`, these two None for models that are not classifiers; `fault`, why the labels' names cannot be
        used, if so; and `task`, a dict of `name` and options, if a task of ours wrote it.

    Raises:
        ValueError: The file is missing or not JSON, the family or one of its options is not supported, or a size is
            missing.
    """
    path = Path(folder, "config.json")
    return parse_config(read_object(path), path, warn)


def parse_config(values: dict[str, Any], path: Path, warn: bool = True) -> tuple[TransformerConfig, dict[str, Any]]:
    """Parse the values of a config.json, or of another program's file with the same keys: see `read_config`.

    Args:
        values: Values by the keys of `transformers`.
        path: Path of the config.json, for errors; a generation_config.json beside it is read, too.
        warn: As for `read_config`.
    """
    values = _flatten(values, path) | _read_generation(path.with_name("generation_config.json"), values)
    family = _of_type(values, path, "model_type", str, "")
    names = family_names(REMOTE.get(family, family), path) if family else _without_family(values, path)
    try:
        values = _read_values(values, names, path)
        return _read_model(values, names, path, warn), _read_extra(values, names, path)
    except (TypeError, AttributeError, ArithmeticError) as error:  # from a value of the wrong type
        raise ValueError(f"{path} has a value of the wrong type ({error}). Fetch or write it again.") from error


def _read_values(values: dict[str, Any], names: Names, path: Path) -> dict[str, Any]:
    try:
        values = names.read(values)
        if names.fields.get("rotary_scaling") == SCALING:
            values[SCALING] = read_scaling(values[SCALING], values.get(names.fields["max_length"]))
        return values
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _read_model(values: dict[str, Any], names: Names, path: Path, warn: bool) -> TransformerConfig:
    _check_options(values, names, path)
    fields = {ours: values[theirs] for ours, theirs in names.fields.items() if values.get(theirs) is not None}
    if missing := [names.fields[ours] for ours in names.required if ours not in fields]:
        raise ValueError(f"{path} lacks {missing}.")
    if "activation" in fields:
        fields["activation"] = names.activations[fields["activation"]]
    if isinstance(fields.get("eos_ids"), int):
        fields["eos_ids"] = (fields["eos_ids"],)
    try:
        return names.configure(**possible_ids(fields, path, warn))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _without_family(values: dict[str, Any], path: Path) -> NoReturn:
    """Raise the error for a file without `model_type`, with a remedy if its class implies one."""
    architecture = _architecture(values, path)
    known = [names.model_type for names in FAMILIES.values() if architecture in names.architectures]
    remedy = f'Write "model_type": "{known[0]}" in it, for the class {architecture}, or f' if known else "F"
    raise ValueError(
        f"{path} has no model_type: expected one of {sorted(FAMILIES)}. {remedy}etch the config.json of a model again."
    )


def _flatten(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """Copy the options of rotary positions to the top."""
    for key in (PARAMETERS, SCALING):
        _of_type(values, path, key, dict, {})
    options = flat_parameters(values) if values.get(PARAMETERS) or values.get(SCALING) else {}
    return values | options | {SCALING: options}


def _read_generation(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the special tokens of generation_config.json, if it exists; `transformers` prefers them to config.json.

    Padding alone is taken from config.json first: each file keeps its value (`generation_config.make_generation`). -1
    in either means none, as in Llama's.
    """
    values = read_object(path) if path.is_file() else {}
    pads = [number for number in (config.get(PAD), values.get(PAD)) if number is not None]
    read = {key: values[key] for key in GENERATION if values.get(key) is not None}
    return read | ({PAD: next((number for number in pads if number != -1), pads[0])} if pads else {})


def _check_options(values: dict[str, Any], names: Names, path: Path) -> None:
    for key, expected in names.fixed.items():
        value = values.get(key, expected)
        is_unset = value is None and (not expected or isinstance(expected, str))
        if value != expected and not is_unset:
            raise ValueError(f"{path}: {key}={shown(values[key])} is not supported; only {expected!r} is.")
    for key, other in names.equal.items():
        if key in values and values[key] != values.get(other) and (values[key] or values.get(other)):
            received = f"{key}={shown(values[key])} with {other}={shown(values.get(other))}"
            raise ValueError(f"{path}: {received} is not supported; only equal values are.")
    activation = values.get(names.fields["activation"])
    check_types({names.fields["activation"]: activation}, {names.fields["activation"]: str}, path)
    if activation is not None and activation not in names.activations:
        raise ValueError(f"{path}: unknown activation {shown(activation)}; known are {sorted(names.activations)}.")


def _read_extra(values: dict[str, Any], names: Names, path: Path) -> dict[str, Any]:
    architecture = _architecture(values, path)
    extra: dict[str, Any] = {"architecture": architecture, "labels": None, "problem": None}
    if task := _of_type(values, path, TASK, dict, {}):
        extra["task"] = task
    is_known = architecture in names.architectures
    if not (str(architecture).endswith("Classification") if is_known else values.get("id2label")):
        return extra
    extra["labels"], fault = read_labels(values, path)
    extra |= {"fault": fault} if fault else {}
    ours_by_theirs = {theirs: ours for ours, theirs in PROBLEMS.items()}
    inferred = "regression" if len(extra["labels"]) == 1 else "single_label"  # as transformers does
    extra["problem"] = ours_by_theirs.get(_of_type(values, path, "problem_type", str, ""), inferred)
    return extra


def _architecture(values: dict[str, Any], path: Path) -> str | None:
    architecture = next(iter(_of_type(values, path, "architectures", list, [])), None)
    check_types({"architectures": architecture}, {"architectures": str}, path)
    return architecture


def _of_type(values: dict[str, Any], path: Path, key: str, kind: type, default: Any) -> Any:
    """Return the value of a key, or the default if it is missing or empty.

    Raises:
        ValueError: The value is of another type.
    """
    value = values.get(key) or default
    check_types({key: value}, {key: kind}, path)
    return value


def make_config(
    config: TransformerConfig,
    architecture: str,
    labels: Sequence[str] | None = None,
    problem: str | None = None,
) -> dict[str, Any]:
    """Return the content of a config.json: the inverse of `read_config`.

    Raises:
        ValueError: The family's format has no place for a value of `config`, or `architecture` or `problem` is unknown.
    """
    names = names_of(config, "a configuration")
    if architecture not in names.architectures:
        raise ValueError(f"architecture must be one of {sorted(names.architectures)}: received {architecture!r}.")

    our_values = config.to_dict() | {"use_bias": has_biases(config)}
    fields = {ours: our_values[ours] for ours in names.fields}
    if lost := _lost(config, names, our_values, fields):
        received = shown({name: our_values[name] for name in lost})
        raise ValueError(
            f"the {names.model_type} format of Hugging Face has no place for other values of {lost}: received "
            f"{received}. Leave them out, or keep the model by model.save(file)."
        )

    values = {names.fields[ours]: _their_value(ours, value, names) for ours, value in fields.items()}
    if wrong := {key: values[key] for key, only in names.fixed.items() if key in values and values[key] != only}:
        raise ValueError(f"the {names.model_type} format of Hugging Face has no place for the values {wrong}.")
    values |= {key: values[other] for key, other in names.equal.items()}
    if THETA in values:
        values |= written_keys(values)
    # dtype is what transformers computes in, whatever the weights are stored in.
    values |= {"architectures": [architecture], "model_type": names.model_type, "dtype": "float32"}

    if labels is not None:
        values["id2label"] = {str(index): label for index, label in enumerate(labels)}
        values["label2id"] = {label: index for index, label in enumerate(labels)}
    if problem is not None:
        if problem not in PROBLEMS:
            raise ValueError(f"problem must be one of {sorted(PROBLEMS)}: received {problem!r}.")
        values["problem_type"] = PROBLEMS[problem]
    return dict(sorted(names.write(values).items()))


def _lost(config: TransformerConfig, names: Names, values: dict[str, Any], fields: dict[str, Any]) -> list[str]:
    """Return the names of the values that the family's format cannot represent.

    Args:
        config: The configuration.
        names: Table of the family.
        values: All values of the configuration, by our names.
        fields: The values among them that the format has keys for.
    """
    read_back = names.configure(**{ours: value for ours, value in fields.items() if value is not None})
    lost = [key for key, value in read_back.to_dict().items() if values[key] != value and key not in FORGOTTEN]
    written = {theirs: getattr(config, ours) for ours, theirs in names.fields.items()}  # of equal names, the last
    lost += [ours for ours, theirs in names.fields.items() if getattr(config, ours) != written[theirs]]
    return lost if config.activation in names.activations.values() else [*lost, "activation"]


def _their_value(ours: str, value: Any, names: Names) -> Any:
    if ours == "activation":
        return next(theirs for theirs, known in names.activations.items() if known == value)
    if ours == "eos_ids":
        return list(value) if len(value) > 1 else next(iter(value), None)
    return value
