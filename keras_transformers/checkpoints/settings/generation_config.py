"""Conversion of Hugging Face's generation_config.json to generation settings, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.settings.generation_keys import CHANGING, FIELDS, check_keys, warn_unknown
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.generation.request import is_bias
from keras_transformers.utils.json_file import NUMBER, Kind, check_types, read_object
from keras_transformers.utils.number_checks import is_finite, is_size, is_token_id
from keras_transformers.utils.untrusted import shown

SETTINGS = (*FIELDS, "temperature", "suppressed_ids", "bad_words_ids", "stop", "kept")
SWITCHES = ("early_stopping", "renormalize", "remove_invalid_values")
LISTS = ("suppress_tokens", "begin_suppress_tokens", "sequence_bias", "forced_decoder_ids",
         "exponential_decay_length_penalty")  # fmt: skip
EMPTY: tuple[Any, ...] = (None, [], {})
NOT_KEPT = {"bos_token_id", "eos_token_id", "decoder_start_token_id"}  # these are of the configuration
NOT_KEPT |= {"_from_model_config"}  # with it, old versions of transformers would forget this file
TOP_K = 50  # the default of transformers for sampling
LENGTHS = {"max_length": "max_new_tokens", "min_length": "min_new_tokens"}
KINDS: dict[str, Kind] = dict.fromkeys(
    (*FIELDS.values(), *LENGTHS, "temperature", "num_return_sequences", "max_time"), NUMBER
)
KINDS |= dict.fromkeys(("renormalize_logits", "remove_invalid_values", "do_sample"), bool)
for name in ("early_stopping", *LISTS):  # the first may also be a word
    del KINDS[name]


def read_generation(
    folder: str | Path, has_source: bool = True, config: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Read the generation settings of a checkpoint.

    Args:
        folder: Folder in Hugging Face layout. Without generation_config.json, config.json is read.
        has_source: Whether the model has an encoder. Without one, `max_length` and `min_length` are ignored, as they
            count the prompt too.
        config: The values of config.json; read from the folder when None.

    Returns:
        A dict of the settings that the file has. They are arguments of `generate` (`temperature`, if the file sets
        `do_sample`; `top_k`, `top_p`, `min_p`, `seed`, `length_penalty`, `coverage_penalty`, `early_stopping`,
        `no_repeat_ngram`, `repetition_penalty`, `max_new_tokens`, `min_new_tokens`, `num_beams`, `stop`); `renormalize`
        (beam search scales the probabilities of the allowed tokens to sum to 1); token ids: `forced_bos_id` follows the
        first token of a row, `forced_eos_id` ends a text of the maximum length, `suppressed_ids` (a tuple, of
        `bad_words_ids`) are never generated; and what has the name that it has in `transformers`: `bad_words_ids` of
        several tokens, `suppress_tokens`, `begin_suppress_tokens`, `sequence_bias`, `forced_decoder_ids`,
        `encoder_repetition_penalty`, `encoder_no_repeat_ngram_size`, `exponential_decay_length_penalty`,
        `remove_invalid_values`, and of samples only (there with `do_sample`) `typical_p`, `epsilon_cutoff` and
        `eta_cutoff`. `kept` are the other keys of the file, which `make_generation` writes again.

    Raises:
        ValueError: A file is missing or not JSON, a value is of the wrong type, or the file asks for texts that cannot
            be given here (`generation_keys.REFUSED`).

    Example:

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> values = {"num_beams": 6, "max_length": 512, "bad_words_ids": [[58100]]}
    >>> _ = (folder / "generation_config.json").write_text(json.dumps(values))
    >>> read_generation(folder)
    {'num_beams': 6, 'max_new_tokens': 511, 'suppressed_ids': (58100,)}
    """
    path = Path(folder, "generation_config.json")
    if path.is_file():
        values = read_object(path)
        warn_unknown(values, path)
    else:  # old checkpoints have these keys in config.json
        path = path.with_name("config.json")
        values = read_object(path) if config is None else dict(config)
        names = FAMILIES.get(str(values.get("model_type")))
        changing = CHANGING.difference(
            names.fields.values() if names else ()
        )  # not where `max_length` is a size of the model
        values = {key: value for key, value in values.items() if key in {*changing, "bos_token_id"}}
    check_types(values, KINDS, path)
    check_keys(values, path, has_source)
    rest = dict(values)
    settings = _take_settings(rest, has_source)
    try:
        check_settings(settings)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    kept = {key: value for key, value in rest.items() if key in values and key not in NOT_KEPT}
    if not is_token_id(kept.get("pad_token_id"), 2**31):
        kept.pop("pad_token_id", None)
    return settings | {"kept": kept} if kept else settings


def keep_generation(folder: str | Path) -> dict[str, Any]:
    """Return the settings for a task that writes no text: all of generation_config.json, to be written again.

    Raises:
        ValueError: The file is not JSON.
    """
    path = Path(folder, "generation_config.json")
    values = read_object(path) if path.is_file() else {}
    return {"kept": {key: value for key, value in values.items() if key not in NOT_KEPT}} if values else {}


def _take_settings(rest: dict[str, Any], has_source: bool) -> dict[str, Any]:
    """Take the used values out of the values of a file, and return them as settings."""
    for length, new_tokens in (LENGTHS if has_source else {}).items():
        if rest.get(length) is not None and rest.get(new_tokens) is None:
            rest[new_tokens] = max(rest.pop(length) - 1, 0)  # without the decoder's start token
    if rest.get("force_bos_token_to_be_generated"):
        del rest["force_bos_token_to_be_generated"]
        bos = rest.get("bos_token_id")
        rest["forced_bos_token_id"] = _default(rest.get("forced_bos_token_id"), _default(bos, 0))  # 0 is BART's
    settings = {}
    if rest.get("do_sample"):
        del rest["do_sample"]
        settings = {"temperature": _default(rest.pop("temperature", None), 1.0), "top_k": TOP_K}
    settings |= {ours: rest.pop(theirs) for ours, theirs in FIELDS.items() if rest.get(theirs) not in EMPTY}
    if stop := rest.get("stop_strings"):
        del rest["stop_strings"]
        settings["stop"] = [stop] if isinstance(stop, str) else stop
    if words := rest.get("bad_words_ids"):
        del rest["bad_words_ids"]
        is_list = isinstance(words, list)
        single = [word[0] for word in words if isinstance(word, list) and len(word) == 1] if is_list else []
        settings |= {"suppressed_ids": tuple(single)} if single else {}
        longer = [word for word in words if not (isinstance(word, list) and len(word) == 1)] if is_list else words
        settings |= {"bad_words_ids": longer} if longer else {}
    return settings


def _default(value: Any, default: Any) -> Any:
    return default if value is None else value


def make_generation(config: TransformerConfig, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a generation_config.json: the inverse of `read_generation`, and the special tokens.

    Raises:
        ValueError: As `check_settings`.
    """
    check_settings(settings)
    eos = list(config.eos_ids) if len(config.eos_ids) > 1 else next(iter(config.eos_ids), None)
    ids = {"bos": config.bos_id, "eos": eos, "pad": config.pad_id, "decoder_start": config.decoder_start_id}
    values = {f"{name}_token_id": number for name, number in ids.items() if number is not None}
    values |= settings.get("kept", {})
    values |= {theirs: settings[ours] for ours, theirs in FIELDS.items() if ours in settings}
    words = [*([number] for number in settings.get("suppressed_ids", ())), *settings.get("bad_words_ids", ())]
    values |= {"bad_words_ids": words} if words else {}
    values |= {"stop_strings": settings["stop"]} if settings.get("stop") else {}
    if settings.get("temperature"):
        values |= {"do_sample": True, "temperature": settings["temperature"], "top_k": settings.get("top_k", 0)}
    return values


def check_settings(settings: Mapping[str, Any], vocabulary_size: int = 2**31) -> None:
    """Raise a `ValueError` for settings that are unknown or of the wrong type: they could not be saved and read."""
    if not isinstance(settings, Mapping):
        raise ValueError(f"generation settings are a dict of {list(SETTINGS)}: received {shown(settings)}.")
    if unknown := sorted(set(settings) - set(SETTINGS), key=str):
        raise ValueError(f"unknown generation settings {unknown}; known are {list(SETTINGS)}.")
    checks = _checks(vocabulary_size)
    for name, value in settings.items():
        is_right, expected = checks.get(name, (is_finite, "a finite number"))
        if not is_right(value):
            raise ValueError(
                f"the generation setting {name} must be {expected}: received {shown(value)}. Or leave it out."
            )


def _checks(size: int) -> dict[str, tuple[Callable[[Any], bool], str]]:
    """Return checks of the settings that are more than a finite number, with the words for what is expected."""

    def is_id(value):
        return is_token_id(value, size)

    def is_ids(value):
        return _is_list(value, is_id)

    def is_words(value):
        return bool(value) and is_ids(value)

    def within(low, high, open_low=False):
        return lambda value: is_finite(value) and low <= value <= high and not (open_low and value == low)

    ids, one = f"a list of token ids below {size}", (is_id, f"a token id below {size}")
    share = (within(0, 1), "in [0, 1]")
    return {
        **dict.fromkeys(("forced_bos_id", "forced_eos_id"), one),
        **dict.fromkeys(SWITCHES, (lambda value: isinstance(value, bool), "True or False")),
        **dict.fromkeys(("suppressed_ids", "suppress_tokens", "begin_suppress_tokens"), (is_ids, ids)),
        "bad_words_ids": (lambda value: _is_list(value, is_words), f"a list of words, each {ids}"),
        "sequence_bias": (_pairs_of(is_words, is_bias), f"a list of pairs of {ids} and a number"),
        "forced_decoder_ids": (_pairs_of(is_size, is_id), f"a list of pairs of a place, from 1 on, and {one[1]}"),
        "exponential_decay_length_penalty": (
            lambda value: _pairs_of(lambda start: is_token_id(start, 2**31), within(0, 1e6, True))([value]),
            "a number of tokens and a factor above 0",
        ),
        "encoder_no_repeat_ngram_size": (lambda value: is_token_id(value, 2**31), "an integer of 0 or more"),
        "encoder_repetition_penalty": (within(1e-6, 1e6), "in [1e-6, 1e6]"),
        "typical_p": (within(0, 1, True), "in (0, 1]"),
        **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), share),
        "stop": (lambda value: _is_list(value, lambda text: isinstance(text, str) and text), "a list of str"),
        "kept": (lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value), "a dict"),
    }


def _is_list(value: Any, is_item: Callable[[Any], Any]) -> bool:
    return isinstance(value, (list, tuple)) and all(map(is_item, value))


def _pairs_of(is_first: Callable[[Any], bool], is_second: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check whether a value is a list of pairs."""
    return lambda value: _is_list(
        value,
        lambda pair: _is_list(pair, lambda _: True) and len(pair) == 2 and is_first(pair[0]) and is_second(pair[1]),
    )
