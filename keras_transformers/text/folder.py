"""Read and write the tokenizer files of a Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers

from keras_transformers.json_file import check_types, read_object
from keras_transformers.outside import MOST_LETTERS, read_bytes, shown
from keras_transformers.text import bert, byte_pair, marian, sentencepiece, spm_file
from keras_transformers.text.added_tokens import add_tokens_of
from keras_transformers.text.growth import check_growth
from keras_transformers.text.library import panics_as_errors
from keras_transformers.text.vocabulary import ROLES

BYTE_PAIR_CLASSES = ("GPT2Tokenizer", "OpenAIGPTTokenizer", "BartTokenizer", "RobertaTokenizer")
T5_FILE, T5_CLASSES = "spiece.model", ("T5Tokenizer", "MT5Tokenizer")
CONFIG = "tokenizer_config.json"
OPTIONS = {  # the keys of tokenizer_config.json that are used, and their types
    "tokenizer_class": str,
    "do_lower_case": bool,
    "strip_accents": bool,
    "tokenize_chinese_chars": bool,
    "add_prefix_space": bool,
    "separate_vocabs": bool,
    "extra_ids": int,
}
TARGET = "target_tokenizer.json"  # the target's tokenizer, where it is not the source's
Read = tuple[tokenizers.Tokenizer, dict[str, bytes]]  # a tokenizer, and the original files to keep with it


def read_json(path: str | Path) -> tokenizers.Tokenizer:
    """Read a tokenizer.json."""
    if not Path(path).is_file():
        raise ValueError(f"No tokenizer file at {path}. Expected a tokenizer.json.")
    return parse_json(read_bytes(path, "a tokenizer.json"), path)


def parse_json(content: bytes, source: Any) -> tokenizers.Tokenizer:
    """Parse the content of a tokenizer.json; `source` says in errors where it comes from."""
    try:
        with panics_as_errors():
            library = tokenizers.Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises bare Exception, or ValueError
        said = str(error)[:MOST_LETTERS]
        raise ValueError(f"{source} is not a tokenizer.json that `tokenizers` can read: {said}") from error
    check_growth(library, source)
    return library


def read(folder: str | Path) -> Read:
    """Read tokenizer.json; else the vocabulary files, with the options of tokenizer_config.json."""
    folder = Path(folder)
    if (folder / TARGET).is_file() or (marian.is_folder(folder) and not _is_joint(folder)):
        raise ValueError(
            f"{folder} holds two tokenizers, for source and target. Expected one: use Tokenizer.pair_from_folder."
        )
    kept = {T5_FILE: read_bytes(folder / T5_FILE)} if (folder / T5_FILE).is_file() else {}
    options = _options(folder)
    if (folder / "tokenizer.json").is_file():
        library = read_json(folder / "tokenizer.json")
    else:
        library = _read_t5(folder, options) if kept else _read_vocabulary(folder, options)
    add_tokens_of(folder, library, options, CONFIG)
    return library, kept


def read_pair(folder: str | Path) -> tuple[Read, Read]:
    """The tokenizers of source and target, from Marian's files or those of `write_pair`; else one for both."""
    folder = Path(folder)
    if (folder / TARGET).is_file():
        names = {*marian.SIDES, marian.VOCABULARY, marian.TARGET_VOCABULARY}
        kept = {name: read_bytes(folder / name) for name in names if (folder / name).is_file()}
        return (read_json(folder / "tokenizer.json"), kept), (read_json(folder / TARGET), kept)
    if marian.is_folder(folder) and not _is_joint(folder):
        source, target = marian.read(folder, _options(folder))
        return source, target
    both = read(folder)
    return both, both


def _is_joint(folder: Path) -> bool:
    """Whether Marian's files belong to one tokenizer for both sides, and tokenizer.json holds it."""
    source, target = (folder / name for name in marian.SIDES)
    written = all(path.is_file() for path in (folder / "tokenizer.json", source, target))
    return written and read_bytes(source) == read_bytes(target)


def _options(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        return {}
    options = read_object(path)
    check_types(options, OPTIONS, path)
    return {key: value for key, value in options.items() if value is not None}


def read_max_length(folder: str | Path) -> int | float | None:
    """The largest number of tokens of a text, from tokenizer_config.json; None if it is not given.

    `transformers` writes 10^30 for tokenizers without a limit.
    """
    length = _options(Path(folder)).get("model_max_length")
    if length is None or (type(length) in (int, float) and length >= 1):
        return length
    raise ValueError(
        f"{Path(folder, CONFIG)} says model_max_length={shown(length)}. Expected a number of tokens above 0: correct "
        "the file, or give max_length."
    )


def _read_t5(folder: Path, options: dict[str, Any]) -> tokenizers.Tokenizer:
    name = options.get("tokenizer_class", T5_CLASSES[0]).removesuffix("Fast")
    if name not in T5_CLASSES:
        raise ValueError(
            f"Cannot build a {name[:100]} from {T5_FILE} in {folder}: expected one of {list(T5_CLASSES)}. {_PROVIDE}"
        )
    return sentencepiece.build_t5(spm_file.read(folder / T5_FILE), options.get("extra_ids", 100))


_PROVIDE = (
    "Provide its tokenizer.json: `AutoTokenizer.from_pretrained(...).save_pretrained(...)` of `transformers` writes it."
)


def _read_vocabulary(folder: Path, options: dict[str, Any]) -> tokenizers.Tokenizer:
    if (folder / "vocab.txt").is_file():
        return bert.build(
            bert.read_vocabulary(folder / "vocab.txt"),
            lowercase=options.get("do_lower_case", True),  # `transformers` assumes the same when it is not stated
            strip_accents=options.get("strip_accents"),
            split_chinese=options.get("tokenize_chinese_chars", True),
        )
    if not (folder / "vocab.json").is_file():
        raise ValueError(
            f"No tokenizer in {folder}: expected tokenizer.json, vocab.txt, vocab.json and merges.txt, {T5_FILE}, or "
            f"{', '.join(marian.SIDES)} and {marian.VOCABULARY}."
        )
    _check_byte_pair(folder, options)
    return byte_pair.build(*byte_pair.read(folder / "vocab.json", folder / "merges.txt"))


def _check_byte_pair(folder: Path, options: dict[str, Any]) -> None:
    """Refuse pipelines that have a vocab.json and merges.txt, too, but would silently give other ids."""
    name = options.get("tokenizer_class", BYTE_PAIR_CLASSES[0]).removesuffix("Fast")
    if name not in BYTE_PAIR_CLASSES or options.get("add_prefix_space"):
        raise ValueError(
            f"Cannot build a {name[:100]} from vocab.json and merges.txt in {folder}: expected one of "
            f"{list(BYTE_PAIR_CLASSES)}, without add_prefix_space. {_PROVIDE}"
        )


def write(
    folder: str | Path, library: tokenizers.Tokenizer, kept: dict[str, bytes], max_length: int | None = None
) -> None:
    """Write the files that `transformers` reads: tokenizer.json, tokenizer_config.json and the vocabulary files."""
    pipeline = json.loads(library.to_str())
    config = _t5_class(pipeline) if T5_FILE in kept else bert.folder_class(pipeline) or byte_pair.folder_class(pipeline)
    kind = pipeline["model"]["type"]
    files = {name: content for name, content in kept.items() if name == T5_FILE}
    if kind in ("WordPiece", "BPE"):
        vocabulary_files = (bert if kind == "WordPiece" else byte_pair).vocabulary_files(pipeline)
        files |= {name: content.encode("utf-8") for name, content in vocabulary_files.items()}
    _write(folder, library, config or {"tokenizer_class": "PreTrainedTokenizerFast"}, files, max_length)


def write_pair(folder: str | Path, source: Read, target: Read, max_length: int | None = None) -> None:
    """Write the files that `read_pair` reads; Marian's files, too, if both are SentencePiece models."""
    (library, kept), (target_library, target_kept) = source, target
    kept = kept | target_kept
    is_marian = set(marian.SIDES) <= kept.keys()
    if not is_marian and T5_FILE not in kept and marian.can_be(library) and marian.can_be(target_library):
        kept, is_marian = marian.files(library, target_library), True
    if not is_marian:
        write(folder, library, kept, max_length)
    else:
        config = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": marian.TARGET_VOCABULARY in kept}
        _write(folder, library, config, kept, max_length)
    if library.to_str() != target_library.to_str():
        (Path(folder) / TARGET).write_text(target_library.to_str(pretty=True), encoding="utf-8")


def _write(
    folder: str | Path,
    library: tokenizers.Tokenizer,
    config: dict[str, Any],
    files: dict[str, bytes],
    max_length: int | None,
) -> None:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    specials = {token.content for token in library.get_added_tokens_decoder().values() if token.special}
    roles = {role: next((token for token in tokens if token in specials), None) for role, tokens in ROLES.items()}
    config = config | {role: token for role, token in roles.items() if token}
    if max_length is not None:
        config["model_max_length"] = max_length

    files = files | {
        "tokenizer.json": library.to_str(pretty=True).encode("utf-8"),
        CONFIG: json.dumps(config, indent=2).encode("utf-8"),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _t5_class(pipeline: dict[str, Any]) -> dict[str, Any]:
    extra = [token for token in pipeline["added_tokens"] if token["content"].startswith("<extra_id_")]
    return {"tokenizer_class": T5_CLASSES[0], "extra_ids": len(extra)}
