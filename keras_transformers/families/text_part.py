"""The text part of a model that reads images, too: its options in config.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.families.rotary_keys import SCALING, flat_parameters
from keras_transformers.utils.untrusted import shown, warn_user

KEY = "text_config"
IDS = ("pad_token_id", "bos_token_id", "eos_token_id")


def read_text_part(
    values: dict[str, Any], model_type: str, images: Sequence[str], classes: Mapping[str, str]
) -> dict[str, Any]:
    """Return the options of the text part of a model that reads images, with a warning; others as they are.

    Args:
        values: Values of config.json.
        model_type: The model's type, whose text part is `<model_type>_text`.
        images: Keys that belong to images.
        classes: Classes of the text part, by the classes of the whole model.

    Raises:
        ValueError: `text_config` is no object.
    """
    text = values.get(KEY)
    if text is None:
        return values
    if not isinstance(text, dict):
        raise ValueError(f"{KEY} must be an object: received {shown(text)}.")
    found = ", ".join(key for key in images if key in values) or f"model_type {model_type}"
    warn_user(
        f"the model reads images, too ({found}): only its text part is loaded, and images are refused. `save` writes "
        f"the text part, as a {model_type}_text."
    )
    kept = {key: value for key, value in values.items() if key not in (*images, KEY, SCALING)}
    ids = {key: values[key] for key in IDS if key in values}
    architectures = [classes.get(name, name) for name in values.get("architectures") or []]
    return kept | text | ids | {SCALING: flat_parameters(text), "architectures": architectures}
