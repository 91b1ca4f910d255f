"""Convert generation_config.json of Hugging Face to generation settings, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.config import TransformerConfig
from keras_transformers.json_file import NUMBER, check_types, read_object
from keras_transformers.number_checks import is_finite, is_token_id
from keras_transformers.outside import shown

FIELDS = {
    "num_beams": "num_beams",
    "length_penalty": "length_penalty",
    "no_repeat_ngram": "no_repeat_ngram_size",
    "repetition_penalty": "repetition_penalty",
    "early_stopping": "early_stopping",
    "max_new_tokens": "max_new_tokens",
    "min_new_tokens": "min_new_tokens",
    "forced_bos_id": "forced_bos_token_id",
    "forced_eos_id": "forced_eos_token_id",
    "renormalize": "renormalize_logits",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "coverage_penalty": "coverage_penalty",  # this and the seed are our own; transformers ignores them
    "seed": "seed",
}
SETTINGS = (*FIELDS, "temperature", "suppressed_ids")
IDS, SWITCHES = ("forced_bos_id", "forced_eos_id"), ("early_stopping", "renormalize")
TOP_K = 50  # the default of transformers for sampling
LENGTHS = {"max_length": "max_new_tokens", "min_length": "min_new_tokens"}
KINDS = dict.fromkeys((*FIELDS.values(), *LENGTHS, "temperature"), NUMBER) | {"renormalize_logits": bool}
del KINDS["early_stopping"]  # which may also be a word


def read_generation(folder: str | Path, has_source: bool = True) -> dict[str, Any]:
    """Reads the generation settings of a checkpoint.

    Args:
        folder: In the Hugging Face layout. Without generation_config.json, config.json is read.
        has_source: Whether the model has an encoder. Without one, `max_length` and `min_length` are ignored, as they
            count the prompt too.

    Returns:
        A dict of the settings that the file has. They are arguments of `generate` (`temperature`, if the file sets
        `do_sample`; `top_k`, `top_p`, `min_p`, `seed`, `length_penalty`, `coverage_penalty`, `early_stopping`,
        `no_repeat_ngram`, `repetition_penalty`, `max_new_tokens`, `min_new_tokens`), `num_beams`, `renormalize` (beam
        search scales the probabilities of the allowed tokens to sum to 1), and token ids: `forced_bos_id` follows the
        first token of a row, `forced_eos_id` ends a text of the maximum length, `suppressed_ids` (a tuple) are never
        generated.

    Raises:
        ValueError: A file is missing or not JSON, a value is not a number, `bad_words_ids` has a word of several
            tokens, or `early_stopping` is "never".

    Example:

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> values = {"num_beams": 6, "max_length": 512, "bad_words_ids": [[58100]]}
    >>> _ = (folder / "generation_config.json").write_text(json.dumps(values))
    >>> read_generation(folder)
    {'num_beams': 6, 'max_new_tokens': 511, 'suppressed_ids': (58100,)}
    """
    path = Path(folder, "generation_config.json")
    path = path if path.is_file() else path.with_name("config.json")
    values = read_object(path)
    check_types(values, KINDS, path)
    for length, new_tokens in (LENGTHS if has_source else {}).items():
        if values.get(length) is not None and values.get(new_tokens) is None:
            values[new_tokens] = max(values[length] - 1, 0)  # without the decoder's start token

    settings = {ours: values[theirs] for ours, theirs in FIELDS.items() if values.get(theirs) is not None}
    if values.get("do_sample"):
        settings = {"temperature": 1.0 if values.get("temperature") is None else values["temperature"]} | settings
        settings = {"top_k": TOP_K} | settings

    if not isinstance(settings.get("early_stopping", False), bool):
        raise ValueError(f"{path}: early_stopping is true or false here: received {shown(settings['early_stopping'])}.")
    if suppressed := values.get("bad_words_ids"):
        if not isinstance(suppressed, list) or not all(map(_is_one_token, suppressed)):
            raise ValueError(
                f"{path}: bad_words_ids other than of one token id each are not supported: {shown(suppressed)}."
            )
        settings["suppressed_ids"] = tuple(word[0] for word in suppressed)
    return settings


def _is_one_token(word: Any) -> bool:
    return isinstance(word, list) and len(word) == 1 and type(word[0]) is int and 0 <= word[0] < 2**31


def make_generation(config: TransformerConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a generation_config.json: the inverse of `read_generation`, and the special tokens.

    Raises:
        ValueError: As `check_settings`.
    """
    check_settings(settings)
    eos = list(config.eos_ids) if len(config.eos_ids) > 1 else next(iter(config.eos_ids), None)
    pad = config.pad_id or None if config.kind == "decoder" else config.pad_id  # 0 where a decoder has none
    ids = {"bos": config.bos_id, "eos": eos, "pad": pad, "decoder_start": config.decoder_start_id}
    values = {f"{name}_token_id": number for name, number in ids.items() if number is not None}
    values |= {theirs: settings[ours] for ours, theirs in FIELDS.items() if ours in settings}
    if "suppressed_ids" in settings:
        values["bad_words_ids"] = [[number] for number in settings["suppressed_ids"]]
    if settings.get("temperature"):
        values |= {"do_sample": True, "temperature": settings["temperature"], "top_k": settings.get("top_k", 0)}
    return values


def check_settings(settings: Mapping[str, Any], vocabulary_size: int = 2**31) -> None:
    """Raises a `ValueError` for settings that are unknown or of the wrong type: they could not be saved and read."""
    if not isinstance(settings, Mapping):
        raise ValueError(f"generation settings are a dict of {list(SETTINGS)}: received {shown(settings)}.")
    if unknown := sorted(set(settings) - set(SETTINGS), key=str):
        raise ValueError(f"unknown generation settings {unknown}; known are {list(SETTINGS)}.")
    for name, value in settings.items():
        if name == "suppressed_ids":
            is_right = isinstance(value, (list, tuple)) and all(is_token_id(item, vocabulary_size) for item in value)
            expected = f"a list of token ids below {vocabulary_size}"
        elif name in IDS:
            is_right, expected = is_token_id(value, vocabulary_size), f"a token id below {vocabulary_size}"
        elif name in SWITCHES:
            is_right, expected = isinstance(value, bool), "True or False"
        else:
            is_right = is_finite(value)
            expected = "a finite number"
        if not is_right:
            raise ValueError(
                f"the generation setting {name} must be {expected}: received {shown(value)}. Or leave it out."
            )
