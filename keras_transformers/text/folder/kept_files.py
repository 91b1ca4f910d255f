"""The original files that a tokenizer keeps, and what its tokenizer_config.json says of roles, cutting and types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import tokenizers
from tokenizers import processors

from keras_transformers.text.folder.class_options import CLASS, CONFIG, TYPED, content
from keras_transformers.text.folder.extra_tokens import NAMED, SPECIAL_MAP
from keras_transformers.text.pipelines.components import A, B, Piece, component, make_template, parts
from keras_transformers.text.vocabularies.vocabulary import ROLES
from keras_transformers.utils.untrusted import shown

SIDE, INPUTS = "truncation_side", "model_input_names"
LEFT, RIGHT = "left", "right"
TYPES = "token_type_ids"
TASK = "zoo_task"  # our own key of config.json: facts of the task that `architectures` does not say
WITH_TYPES, WITHOUT_TYPES = ["input_ids", TYPES, "attention_mask"], ["input_ids", "attention_mask"]
Kept = Mapping[str, bytes]  # name to content
ENDS = {"RobertaProcessing": (("", 0), ("", 0))}  # what the constructor needs, before the state is set


def options_in(kept: Kept) -> dict[str, Any]:
    """Return the values of a tokenizer_config.json among kept files, without a class whose code is not kept."""
    options = _all_options_in(kept)
    left_out = ("auto_map", CLASS) if "auto_map" in options else ()
    return {key: value for key, value in options.items() if key not in left_out}


def _all_options_in(kept: Kept) -> dict[str, Any]:
    return json.loads(kept[CONFIG]) if CONFIG in kept else {}


def with_options(kept: Kept, options: Mapping[str, Any]) -> dict[str, bytes]:
    """Return kept files whose tokenizer_config.json holds these values."""
    return {**kept, CONFIG: json.dumps(options).encode()}


def roles_in(kept: Kept) -> dict[str, str]:
    """Return the special tokens by role, such as `eos_token`, that kept files name."""
    options = options_in(kept)
    if SPECIAL_MAP in kept and options.get("added_tokens_decoder") is None:
        options |= json.loads(kept[SPECIAL_MAP])
    return {role: token for role in NAMED if (token := content(options.get(role))) is not None}


def named_roles(library: tokenizers.Tokenizer, kept: Kept) -> dict[str, str]:
    """Return the special tokens by role that `write` names: from kept files, or else the usual ones."""
    return roles_in(kept) if SPECIAL_MAP in kept or options_in(kept) else usual_roles(library)


def usual_roles(library: tokenizers.Tokenizer) -> dict[str, str]:
    """Return the special tokens by role, recognised by their names."""
    specials = {token.content for token in library.get_added_tokens_decoder().values() if token.special}
    roles = {role: next((token for token in tokens if token in specials), None) for role, tokens in ROLES.items()}
    return {role: token for role, token in roles.items() if token}


def saying(library: tokenizers.Tokenizer, kept: Kept, values: Mapping[str, Any]) -> dict[str, bytes]:
    """Return kept files that say more: the name of one special token by its role, or the side that is cut."""
    return with_options(kept, {**named_roles(library, kept), **options_in(kept), **values})


def without_class(kept: Kept, has_types: bool) -> dict[str, bytes]:
    """Return the kept files without a class, for a pipeline that was changed, so that its class may not build it.

    Without it tokens would have types: the files then say whether they have.
    """
    if CONFIG not in kept:
        return dict(kept)
    left_out = (CLASS, "add_bos_token", "add_eos_token")
    options = {key: value for key, value in options_in(kept).items() if key not in left_out}
    types = {} if has_types else {INPUTS: WITHOUT_TYPES}
    return with_options(kept, types | options)


def check_encoding(options: Mapping[str, Any], source: Any) -> None:
    """Check what a tokenizer_config.json says of cutting and types.

    Args:
        options: Values of the file.
        source: Path of the file, for error messages.

    Raises:
        ValueError: The side is neither left nor right, or the names of inputs are no list of str.
    """
    side, names = options.get(SIDE), options.get(INPUTS)
    if side not in (None, LEFT, RIGHT):
        raise ValueError(
            f'{source}: {SIDE} must be "{RIGHT}", which keeps the beginning of a long text, or "{LEFT}", which keeps '
            f"its end: received {shown(side)}. Correct the file."
        )
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(
            f"{source}: {INPUTS} must be a list of str, such as {json.dumps(WITH_TYPES)}: received {shown(names)}. "
            "Correct the file."
        )


def truncation_side(library: tokenizers.Tokenizer, kept: Kept) -> str:
    """Return the side on which a long text is cut, as `transformers` does: tokenizer_config.json decides it.

    Where that says nothing, the truncation of tokenizer.json does, of which nothing else is used.

    Args:
        library: The pipeline, as read.
        kept: The kept files.
    """
    return options_in(kept).get(SIDE) or (library.truncation or {}).get("direction", RIGHT)


def with_side(library: tokenizers.Tokenizer, kept: Kept, side: str) -> dict[str, bytes]:
    """Return kept files that say on which side a long text is cut, where only tokenizer.json does."""
    is_said = side == RIGHT or options_in(kept).get(SIDE) == side
    return dict(kept) if is_said else saying(library, kept, {SIDE: side})


def gives_types(kept: Kept) -> bool:
    """Return whether tokens get the types, or segments, of the template; if not, all are 0, as in `transformers`.

    `model_input_names` says it, else the class, of which most give none. Files that name no class give types.
    """
    return _gives_types(_all_options_in(kept))


def _gives_types(options: Mapping[str, Any]) -> bool:
    if options.get(INPUTS) is not None:
        return TYPES in options[INPUTS]
    return not options.get(CLASS) or options[CLASS].removesuffix("Fast") in TYPED


def types_option(config: Mapping[str, Any], kept: Kept) -> dict[str, list[str]]:
    """Return the `model_input_names` that a tokenizer_config.json lacks, so that nobody need know it by its class.

    Args:
        config: The values that are written, the class among them.
        kept: The files that the tokenizer keeps, which say whether tokens have types.
    """
    given = gives_types(kept)
    if config.get(INPUTS) is not None or (given and _gives_types(config)):
        return {}
    return {INPUTS: WITH_TYPES if given else WITHOUT_TYPES}


def class_without_types(kept: Kept) -> str | None:
    """Return the class for which tokens have no types; None if they have, or `model_input_names` says it."""
    options = _all_options_in(kept)
    return None if _gives_types(options) or options.get(INPUTS) is not None else options[CLASS]


def untyped(library: tokenizers.Tokenizer) -> processors.PostProcessor | None:
    """Return the post-processor of a pipeline, with type 0 for all tokens; None if the pipeline's gives no other type.

    Example:

    >>> library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}))
    >>> library.post_processor = processors.TemplateProcessing("$A", "$A $B:1", [])
    >>> library.post_processor = untyped(library)
    >>> library.encode("a", "a").type_ids, untyped(library)
    ([0, 0], None)
    """
    own = None if library.post_processor is None else json.loads(library.post_processor.__getstate__())
    found = [_untyped_part(part) for part in parts(own)]
    if not any(was_typed for _, was_typed in found):
        return None
    made = [part for part, _ in found]
    return made[0] if len(made) == 1 else processors.Sequence(made)


def _untyped_part(part: dict[str, Any]) -> tuple[processors.PostProcessor, bool]:
    """Return a post-processor with type 0 for all tokens, and whether the pipeline's gives another type."""
    if part["type"] == "BertProcessing":
        (end, end_id), (start, start_id) = part["sep"], part["cls"]
        pair: list[tuple[Piece, int]] = [(piece, 0) for piece in (start, A, end, B, end)]
        return make_template([start, A, end], pair, {start: start_id, end: end_id}), True
    if part["type"] != "TemplateProcessing":
        return component(getattr(processors, part["type"])(*ENDS.get(part["type"], ())), part), False
    pieces = [next(iter(piece.values())) for name in ("single", "pair") for piece in part[name]]
    was_typed = any(piece["type_id"] for piece in pieces)
    for piece in pieces:
        piece["type_id"] = 0
    return component(processors.TemplateProcessing(), part), was_typed
