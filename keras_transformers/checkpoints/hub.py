"""Downloads of checkpoint folders from the Hugging Face hub or a mirror of it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from keras_transformers.checkpoints.files.tensors import PICKLED, SAFE
from keras_transformers.checkpoints.settings.sentence_modules import is_static, transformer_folder
from keras_transformers.utils.untrusted import shown

FILES = (
    "config.json",
    "model.safetensors",
    "model-*-of-*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "additional_chat_templates/*.jinja",
    "vocab.txt",
    "vocab.json",
    "target_vocab.json",
    "target_tokenizer.json",
    "merges.txt",
    "*.model",
    "*.spm",
    "generation_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "[1-9]_*/config.json",
    "[1-9]_Dense*/model.safetensors",
    "[1-9]_LayerNorm*/model.safetensors",
    "adapter_config.json",
    "adapter_model.safetensors",
)
ADAPTER = "adapter_config.json"
PICKLED_FILES = (PICKLED, "adapter_model.bin", "pytorch_model-*-of-*.bin", f"{PICKLED}.index.json")
PICKLED_MODULES = (f"[1-9]_Dense*/{PICKLED}", f"[1-9]_LayerNorm*/{PICKLED}")
TENSORFLOW_FILES = ("tf_model.h5", "tf_model-*-of-*.h5", "tf_model.h5.index.json")
WORD = r"\w[\w.+-]*"  # part of a name; no backslash, which separates folders on Windows
REPO, REVISION = re.compile(rf"{WORD}(/{WORD})?", re.ASCII), re.compile(rf"{WORD}(/{WORD})*", re.ASCII)


def parse(name: str) -> tuple[str, str | None]:
    """Split `"hf:org/repo@revision"` into repository and revision.

    Args:
        name: Name of a repository, with or without `hf:`; `@revision` is a branch, a tag or a commit.

    Returns:
        The repository, and the revision or None.

    Raises:
        ValueError: There is no repository, or nothing after `@`.

    Example:

    >>> parse("hf:google-bert/bert-base-uncased@main")
    ('google-bert/bert-base-uncased', 'main')
    """
    repo, at, revision = name.removeprefix("hf:").partition("@")
    if not repo or (at and not revision):
        raise ValueError(f"expected 'hf:org/repo' or 'hf:org/repo@revision'; received {shown(name)}.")
    return repo, revision or None


def _check_names(repo: str, revision: str | None) -> None:
    """Refuse names that lead out of the cache, in which both become paths."""
    if not REPO.fullmatch(repo) or ".." in repo:
        raise ValueError(f"{shown(repo)} is not the name of a repository: expected 'org/repo'.")
    if revision is not None and (not REVISION.fullmatch(revision) or ".." in revision):
        raise ValueError(f"{shown(revision)} is not the name of a revision: expected a branch, a tag or a commit.")


def download(
    repo: str,
    revision: str | None = None,
    cache_dir: str | os.PathLike | None = None,
    *,
    files: tuple[str, ...] = FILES,
    pickled: bool = False,
) -> Path:
    """Download a checkpoint once, and return its folder in the cache.

    The environment variables of `huggingface_hub` are read at each call: `HF_ENDPOINT` names a mirror,
    `HF_HUB_OFFLINE=1` uses the cache only, `HF_TOKEN` gives access to gated repositories.

    Args:
        repo: Name of the repository, such as `"google-bert/bert-base-uncased"`.
        revision: Branch, tag or commit; the main branch when None. Pin a commit to always get the same weights.
        cache_dir: Folder for the files; None for the cache of `huggingface_hub`.
        files: Name patterns of the files to download. If a folder of sentence-transformers keeps its model in a
            subfolder (`0_Transformer`), they are downloaded from the subfolder, too.
        pickled: Also fetch `pytorch_model.bin` or its shards, the old format of weights. Those of TensorFlow,
            `tf_model.h5` or its shards, are fetched where there are no others.

    Returns:
        The folder that holds the files.

    Raises:
        ValueError: A name leads out of the cache; the repository, the revision or the weights do not exist, access is
            refused, or the network fails: the message names the file and how to provide it. Or it is of
            sentence-transformers, and has modules that are not supported.
    """
    _check_names(repo, revision)
    wanted = [*files, *PICKLED_FILES, *PICKLED_MODULES] if pickled else [*files]
    folder = _fetch(repo, revision, cache_dir, wanted)
    commit, model = folder.name, transformer_folder(folder)
    place = f"{glob.escape(model.name)}/" if model != folder else ""
    if place:
        _fetch(repo, commit, cache_dir, wanted, place)
    if not _weights_in(model, pickled) and not (model / ADAPTER).is_file():
        _fetch(repo, commit, cache_dir, TENSORFLOW_FILES, place)
    _check_files(model, repo, pickled)
    return folder


def _fetch(
    repo: str, revision: str | None, cache_dir: str | os.PathLike | None, wanted: Sequence[str], place: str = ""
) -> Path:
    from huggingface_hub import snapshot_download  # slow to import

    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        folder = snapshot_download(
            repo,
            revision=revision,
            cache_dir=None if cache_dir is None else os.fspath(cache_dir),
            endpoint=endpoint,
            allow_patterns=[f"{place}{name}" for name in wanted],
            # A "*" stands for folders, too, and other folders hold the same in other formats.
            ignore_patterns=[f"{place}*/{name}" for name in wanted if name.startswith("*")],
            local_files_only=_offline(),
        )
    except Exception as error:  # of requests, httpx or httpx2, by version: the only common base class
        raise ValueError(_explain(error, repo, revision, endpoint)) from error
    return Path(folder)


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _explain(error: Exception, repo: str, revision: str | None, endpoint: str | None) -> str:
    from huggingface_hub import errors

    place = endpoint or "the Hugging Face hub"
    wanted = f"config.json and model.safetensors of {repo!r} (revision {revision or 'main'!r})"
    by_hand = "Or fetch the files by other means and give the path of their folder as the name."
    if isinstance(error, errors.HFValidationError):
        return f"{repo!r} is not the name of a repository: expected 'org/repo'."
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{place} has {repo!r}, but not its revision {revision!r}. Give an existing branch, tag or commit."
    if isinstance(error, errors.GatedRepoError):
        return f"{repo!r} is gated. Accept its terms on its page, then set HF_TOKEN to a token of that account."
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{place} does not show {repo!r}. Check the spelling; if it is private, set HF_TOKEN. {by_hand}"
    if isinstance(error, errors.LocalEntryNotFoundError):
        why = "HF_HUB_OFFLINE is set" if _offline() else f"{place} does not answer ({error.__cause__ or error})"
        return f"wanted {wanted}: {why}, and the cache does not hold it. Download it with a network. {by_hand}"
    return f"wanted {wanted} from {place}, but the download failed: {error} Call again to resume it. {by_hand}"


def _weights_in(folder: Path, pickled: bool) -> list[str]:
    """Return the names of the weights in a folder, or of the indexes of their shards."""
    names = [SAFE, f"{SAFE}.index.json", *([PICKLED, PICKLED_FILES[-1]] if pickled else []), *TENSORFLOW_FILES[::2]]
    return [name for name in names if (folder / name).is_file()]


def _check_files(folder: Path, repo: str, pickled: bool) -> None:
    if (folder / ADAPTER).is_file():  # of peft: the model is elsewhere
        return
    if not (folder / "config.json").is_file() and not (is_static(folder) and (folder / "tokenizer.json").is_file()):
        raise ValueError(f"{repo!r} holds no config.json, so it is no transformers checkpoint.")
    if not _weights_in(folder, pickled):
        remedy = "" if pickled else f" If it holds {PICKLED}, an old format, ask for it with pickled=True."
        raise ValueError(f"{repo!r} holds neither {SAFE} nor {TENSORFLOW_FILES[0]}, nor shards of them.{remedy}")
