"""Reading and writing of the tokenizer files of a Hugging Face folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from keras_transformers.text.folder import marian_tokenizers, vocabulary_files
from keras_transformers.text.folder.class_options import CLASS, CONFIG, OF_CODE, T5, TYPED, class_of_model, follow
from keras_transformers.text.folder.expansion_limit import check_expansion
from keras_transformers.text.folder.extra_tokens import ADDED, SPECIAL_MAP, add_tokens_of
from keras_transformers.text.folder.kept_files import (
    INPUTS,
    TASK,
    WITH_TYPES,
    check_encoding,
    gives_types,
    options_in,
    types_option,
    untyped,
    usual_roles,
    with_options,
)
from keras_transformers.text.folder.vocabulary_files import (
    DEBERTA_FILE,
    FAIRSEQ_FILE,
    FIXED_ROLES,
    LLAMA_FILE,
    T5_CLASSES,
    T5_FILE,
)
from keras_transformers.text.pipelines.library import panics_as_errors
from keras_transformers.text.vocabularies import byte_pair_vocabulary, wordpiece_vocabulary
from keras_transformers.utils.json_file import check_types, read_object
from keras_transformers.utils.untrusted import MOST_LETTERS, read_bytes, shown

MARIAN, GENERIC = "MarianTokenizer", "PreTrainedTokenizerFast"
OPTIONS = {  # the keys of tokenizer_config.json that are used, and their types
    CLASS: str,
    "do_lower_case": bool,
    "strip_accents": bool,
    "tokenize_chinese_chars": bool,
    "add_prefix_space": bool,
    "keep_accents": bool,
    "split_by_punct": bool,
    "add_bos_token": bool,
    "add_eos_token": bool,
    "src_lang": str,
    "separate_vocabs": bool,
    "extra_ids": int,
    "legacy": bool,
}
TARGET = "target_tokenizer.json"  # the target's tokenizer, if it differs from the source's
# Files that are saved unchanged for other programs, and not used here.
KEPT = (
    CONFIG, SPECIAL_MAP, ADDED, "chat_template.jinja", "additional_chat_templates/*.jinja",
    T5_FILE, LLAMA_FILE, DEBERTA_FILE, FAIRSEQ_FILE,
)  # fmt: skip
VOCABULARIES = (
    "vocab.txt",
    "merges.txt",
    TARGET,
    *marian_tokenizers.SIDES,
    marian_tokenizers.VOCABULARY,
    marian_tokenizers.TARGET_VOCABULARY,
)
Read = tuple[tokenizers.Tokenizer, dict[str, bytes]]  # a tokenizer, and the original files to keep with it


def read_json(path: str | Path) -> tokenizers.Tokenizer:
    """Read a tokenizer.json."""
    if not Path(path).is_file():
        raise ValueError(f"No tokenizer file at {path}. Expected a tokenizer.json.")
    return parse_json(read_bytes(path, "a tokenizer.json"), path)


def parse_json(content: bytes, source: Any) -> tokenizers.Tokenizer:
    """Parse the content of a tokenizer.json; error messages name its `source`."""
    try:
        with panics_as_errors():
            library = tokenizers.Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises bare Exception, or ValueError
        reason = str(error)[:MOST_LETTERS]
        raise ValueError(
            f"{source} is not a tokenizer.json that `tokenizers` can read: {reason}. Fetch it again."
        ) from error
    check_expansion(library, source)
    return library


def read(folder: str | Path, config: Mapping[str, Any] | None = None) -> Read:
    """Read tokenizer.json; else the vocabulary files, with the options of tokenizer_config.json.

    Args:
        folder: Folder with these files.
        config: The values of its config.json; read from there when None.
    """
    folder = Path(folder)
    if (folder / TARGET).is_file() or _has_sides(folder):
        raise ValueError(
            f"{folder} holds two tokenizers, for source and target. Expected one: use Tokenizer.pair_from_folder."
        )
    options = _options(folder)
    model = _model_values(folder, config)
    name, of_model = _class_names(folder, options, model)
    if has_json := (folder / "tokenizer.json").is_file():
        library = read_json(folder / "tokenizer.json")
    else:
        library, of_model = vocabulary_files.read(folder, name, of_model, options)
    roles = {} if has_json else FIXED_ROLES.get(of_model or "", {})
    all_options, named = add_tokens_of(folder, library, options, CONFIG, roles)
    follow(library, name or of_model, all_options, folder / CONFIG, has_json)
    if not has_json:
        library = vocabulary_files.without_renamed(library, of_model, all_options, named)

    kept = _kept(folder)
    is_untyped = not has_json or (of_model not in (None, *TYPED) and untyped(library) is not None)
    if not options.get(CLASS) and (
        name or is_untyped
    ):  # the class is from config.json, which is not kept, or the files
        kept = with_options(kept, {**options, CLASS: name or of_model})
    if TASK in model and not gives_types(kept) and options.get(INPUTS) is None and untyped(library):
        kept = with_options(kept, {**options_in(kept), INPUTS: WITH_TYPES})  # saved here, before `write` said it
    return library, kept


def read_pair(folder: str | Path, config: Mapping[str, Any] | None = None) -> tuple[Read, Read]:
    """Return the tokenizers of source and target, from the files of Marian or of `write_pair`; else one for both.

    Args:
        folder, config: As for `read`.
    """
    folder = Path(folder)
    if (folder / TARGET).is_file():
        kept = _kept(
            folder, (*KEPT, *marian_tokenizers.SIDES, marian_tokenizers.VOCABULARY, marian_tokenizers.TARGET_VOCABULARY)
        )
        return (read_json(folder / "tokenizer.json"), kept), (read_json(folder / TARGET), kept)
    if _has_sides(folder):
        options = _options(folder)
        source, target = marian_tokenizers.read(folder, options)
        for library, _ in (source, target)[: 1 if options.get("separate_vocabs") else 2]:
            add_tokens_of(folder, library, options, CONFIG)
        return (source[0], source[1] | _kept(folder)), target
    both = read(folder, config)
    return both, both


def _has_sides(folder: Path) -> bool:
    """Return whether there are Marian's files of two tokenizers; of one for both sides, there is a tokenizer.json."""
    found = [path for name in marian_tokenizers.SIDES if (path := folder / name).is_file()]
    if len(found) < 2 or not (folder / "tokenizer.json").is_file():
        return bool(found)
    return read_bytes(found[0]) != read_bytes(found[1])


def _options(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    options = read_object(path) if path.is_file() else {}
    check_types(options, OPTIONS, path)
    check_encoding(options, path)
    return options


def _model_values(folder: Path, config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the values of config.json: the given values, or the content of the file."""
    path = folder / "config.json"
    model = config if config is not None else read_object(path) if path.is_file() else {}
    check_types(model, {CLASS: str, "model_type": str}, path)
    return model


def _class_names(folder: Path, options: dict[str, Any], model: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the tokenizer's class that the folder names, and the class by its model's type; without "Fast"."""
    name = (options.get(CLASS) or model.get(CLASS) or "").removesuffix("Fast") or None
    if name in OF_CODE:
        source = folder / (CONFIG if options.get(CLASS) else "config.json")
        raise ValueError(
            f"{source} names the class {name}, which splits texts by code in Python, so that no file determines its "
            "ids. Expected a pipeline that a tokenizer.json describes: write one, with the class "
            "PreTrainedTokenizerFast."
        )
    return name, class_of_model(model.get("model_type", ""))


def _kept(folder: Path, patterns: Sequence[str] = KEPT) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): read_bytes(path) for path in _found(folder, patterns)}


def _found(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()]


def read_max_length(folder: str | Path) -> int | float | None:
    """Return the largest number of tokens of a text, from tokenizer_config.json; None if it is not given.

    `transformers` writes 10^30 for tokenizers without a limit.
    """
    length = _options(Path(folder)).get("model_max_length")
    if length is None or (type(length) in (int, float) and length >= 1):
        return length
    raise ValueError(
        f"{Path(folder, CONFIG)} says model_max_length={shown(length)}. Expected a number of tokens above 0: correct "
        "the file, or give max_length."
    )


def write(
    folder: str | Path,
    library: tokenizers.Tokenizer,
    kept: Mapping[str, bytes],
    max_length: int | None = None,
    has_segments: bool = False,
) -> None:
    """Write the files that `transformers` reads: tokenizer.json, tokenizer_config.json, the vocabulary, kept files."""
    pipeline = json.loads(library.to_str())
    kind = pipeline["model"]["type"]
    options: dict[str, Any] | None
    if T5_FILE in kept and (options_in(kept).get(CLASS) or T5).removesuffix("Fast") in T5_CLASSES:
        options = _t5_class(pipeline, options_in(kept))
    else:
        options = wordpiece_vocabulary.folder_class(pipeline) or byte_pair_vocabulary.folder_class(pipeline)
    files = {}
    if kind in ("WordPiece", "BPE"):
        texts = (wordpiece_vocabulary if kind == "WordPiece" else byte_pair_vocabulary).vocabulary_files(pipeline)
        files = {name: text.encode("utf-8") for name, text in texts.items()}
    _write(folder, library, options or {CLASS: GENERIC}, files | dict(kept), max_length, has_segments)


def write_pair(folder: str | Path, source: Read, target: Read, max_length: int | None = None) -> None:
    """Write the files that `read_pair` reads; Marian's files, too, if both are SentencePiece models."""
    (library, kept), (target_library, target_kept) = source, target
    kept = target_kept | kept
    is_marian = set(marian_tokenizers.SIDES) <= kept.keys()
    can_be = options_in(kept).get(CLASS, MARIAN) == MARIAN and T5_FILE not in kept
    if not is_marian and can_be and marian_tokenizers.can_be(library) and marian_tokenizers.can_be(target_library):
        kept, is_marian = kept | marian_tokenizers.files(library, target_library), True
    if not is_marian:
        write(folder, library, kept, max_length)
    else:
        options = {CLASS: MARIAN, "separate_vocabs": marian_tokenizers.TARGET_VOCABULARY in kept}
        _write(folder, library, options, kept, max_length)
    if library.to_str() != target_library.to_str():
        (Path(folder) / TARGET).write_text(target_library.to_str(pretty=True), encoding="utf-8")


def _write(
    folder: str | Path, library: tokenizers.Tokenizer, options: dict[str, Any], files: Mapping[str, bytes],
    max_length: int | None, has_segments: bool = False,
) -> None:  # fmt: skip
    """Write tokenizer.json and other files; tokenizer_config.json keeps its values, and gets the pipeline's options."""
    kept_options = options_in(files)
    config = {**kept_options, **options}
    if kept_options.get(CLASS):
        config[CLASS] = kept_options[CLASS]
    elif not kept_options and SPECIAL_MAP not in files:
        config = usual_roles(library) | config
    if has_segments and untyped(library):
        config |= types_option(config, files)
    if max_length is not None:
        config["model_max_length"] = max_length

    files = {
        **files,
        "tokenizer.json": library.to_str(pretty=True).encode("utf-8"),
        CONFIG: json.dumps(config, indent=2).encode("utf-8"),
    }
    for path in _found(Path(folder), (*KEPT, *VOCABULARIES)):  # files of an older tokenizer that are not written again
        path.unlink()
    for name, file_content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file_content)


def _t5_class(pipeline: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    extra = [token["content"] for token in pipeline["added_tokens"] if token["content"].startswith("<extra_id_")]
    is_listed = options.get("additional_special_tokens") or options.get("extra_special_tokens")
    return {CLASS: T5, "extra_ids": len(extra)} | ({} if is_listed else {"additional_special_tokens": extra})
