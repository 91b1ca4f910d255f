"""The keys of Hugging Face's generation_config.json: which are read, refused, ignored with a warning, or technical."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.utils.untrusted import shown, warn_user

# Keys with the same name in our settings.
SAME = (
    "num_beams", "length_penalty", "repetition_penalty", "early_stopping", "max_new_tokens", "min_new_tokens", "top_k",
    "top_p", "min_p", "suppress_tokens", "begin_suppress_tokens", "sequence_bias", "encoder_repetition_penalty",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "forced_decoder_ids", "typical_p",
    "epsilon_cutoff", "eta_cutoff", "remove_invalid_values",
    "coverage_penalty", "seed",  # these two are our own; transformers ignores them
)  # fmt: skip
FIELDS = {name: name for name in SAME} | {
    "no_repeat_ngram": "no_repeat_ngram_size",
    "forced_bos_id": "forced_bos_token_id",
    "forced_eos_id": "forced_eos_token_id",
    "renormalize": "renormalize_logits",
}  # the keys of settings
READ_APART = ("do_sample", "temperature", "max_length", "min_length", "bad_words_ids", "stop_strings",
              "force_bos_token_to_be_generated")  # fmt: skip
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")  # `huggingface_config` reads them
# Keys that change the text, with the value besides null that does not.
REFUSED = {
    "guidance_scale": 1, "num_beam_groups": 1, "penalty_alpha": 0, "watermarking_config": None, "constraints": None,
    "force_words_ids": None, "dola_layers": None, "token_healing": False, "top_h": None,
}  # fmt: skip
WARNED = {
    "max_time": (None, "texts end at their length, not after a time"),
    "num_return_sequences": (1, "num_sequences=... of generate gives several texts for one"),
    "min_length": (0, "it counts the prompt too; min_new_tokens does not"),
}
# Keys for speed, memory and other outputs of `generate` of transformers: the text is the same.
TECHNICAL = (
    "use_cache", "cache_implementation", "cache_config", "max_cache_len", "return_legacy_cache", "use_mtp",
    "output_attentions", "output_hidden_states", "output_scores", "output_logits", "return_dict_in_generate",
    "is_assistant", "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold",
    "prompt_lookup_num_tokens", "max_matching_ngram_size", "assistant_early_exit", "assistant_lookbehind",
    "target_lookbehind", "assistant_ensemble_weight", "speculation_type", "compile_config", "disable_compile",
    "continuous_batching_config", "low_memory", "prefill_chunk_size", "transformers_version",
    "diversity_penalty",  # of num_beam_groups
)  # fmt: skip
CHANGING = {*FIELDS.values(), *READ_APART, *REFUSED, *WARNED}
KNOWN = {*CHANGING, *TOKENS, *TECHNICAL}


def check_keys(values: Mapping[str, Any], path: Path, has_source: bool) -> None:
    """Refuse keys that would change the text and are not supported, and warn of those that are ignored.

    Args:
        values: Values of the file.
        path: Path of the file, for the messages.
        has_source: Whether the model has an encoder: `min_length` is followed then.

    Raises:
        ValueError: A key of `REFUSED` has an effect.
    """
    sampled, beams = bool(values.get("do_sample")), (values.get("num_beams") or 1) > 1
    idle = {"top_h": not sampled, "penalty_alpha": sampled or beams, "num_beam_groups": not beams}
    refused = [key for key in REFUSED if _has_effect(values, key, REFUSED[key]) and not idle.get(key)]
    if refused:
        received = ", ".join(f"{key}={shown(values[key])}" for key in refused)
        raise ValueError(
            f"{path}: {received} is not supported: the texts would differ from the ones that transformers generates. "
            "Take it out of the file to generate without it."
        )
    ignored = {key: why for key, (neutral, why) in WARNED.items() if _has_effect(values, key, neutral)}
    if has_source:
        ignored.pop("min_length", None)
    if sampled and beams:
        ignored["do_sample"] = "beams are searched, not sampled"
    for key, why in ignored.items():
        warn_user(f"{path}: {key}={shown(values[key])} is not followed: {why}.")


def warn_unknown(values: Mapping[str, Any], path: Path) -> None:
    """Warn of unknown keys: one may be misspelled."""
    unknown = sorted(key for key in values.keys() - KNOWN if not key.startswith("_"))
    nearest = {key: next(iter(difflib.get_close_matches(key, KNOWN, 1, 0.8)), None) for key in unknown[:5]}
    if unknown:
        names = ", ".join(f"{shown(key)} ({near}?)" if near else f"{shown(key)}" for key, near in nearest.items())
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        warn_user(f"{path}: unknown keys, which change nothing: {names}{more}.")


def _has_effect(values: Mapping[str, Any], key: str, neutral: Any) -> bool:
    """Return whether a key has a value that is neither empty nor neutral."""
    value = values.get(key)
    return value is not None and value != neutral and value not in (False, [], {}, "")
