"""From text files to a corpus of token ids on the disk, made once and used again."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformers.data.corpus.making import MOST_BYTES, CorpusFacts, Making
from keras_transformers.data.corpus.survey import Tell, sampled_stamps
from keras_transformers.data.corpus.token_file import TokenFile, tokenizer_digest
from keras_transformers.data.corpus.token_writer import SIDES, UNCOPIED
from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import read_json
from keras_transformers.utils.number_checks import is_count, is_number, is_token_id
from keras_transformers.utils.safe_files import full_disk_as_error, locked, replace_file
from keras_transformers.utils.untrusted import shown

FACTS = "corpus.json"
FORMAT = 4  # raised when the same text would be written otherwise
KEPT = "The finished parts are kept: make room, and repeat the call to resume."


class Corpus(NamedTuple):
    """The tokens to train on, those held out, and what was found in making them."""

    train: TokenFile
    held_out: TokenFile
    facts: CorpusFacts

    @property
    def measured(self) -> TokenFile:
        """Return the held-out tokens to measure a loss on: where too much is also in the training text, those without
        copies, if there are enough of them.
        """
        uncopied = self.held_out.folder.parent / UNCOPIED
        is_enough = self.facts.is_leaking and uncopied.is_dir()
        return TokenFile.open(uncopied) if is_enough else self.held_out


def make_corpus(
    files: TextFiles,
    tokenizer: Tokenizer,
    folder: str | os.PathLike,
    *,
    held_out_share: float = 0.05,
    held_out_files: TextFiles | None = None,
    end_id: int | None = None,
    seed: int = 0,
    progress: Tell | None = None,
) -> Corpus:
    """Write the tokens of text files into a folder, or open them there, if the same call has made them before.

    The text is read three times: to check and count it, to find the held-out lines, and to tokenise it, which takes
    nearly all the time. All of it takes flat memory. A killed call resumes when it is repeated, and ends
    in the same bytes. What is in the folder is used again, in milliseconds, as long as the files (by path, size,
    time of change and a hash of samples), the tokenizer and the settings are the same; else it is made anew.

    Args:
        files: The text.
        tokenizer: Cuts it. Its special tokens are not added.
        folder: Folder to write; it is made if missing.
        held_out_share: Share of the text that is held out, in (0, 0.5], but at most some 5 MB of it. A corpus of
            enough documents, at least 20, holds out whole documents at equal distances, if these can have about the
            share, any other one sections. If the share is less than 1,024 characters, a section of 1,024 is held out.
        held_out_files: Instead, text that was held out already.
        end_id: The token to append to each document; None for none.
        seed: Random seed for the held-out split.
        progress: Called with what is done ("reading", "comparing", "tokenizing"), how much of it, and of how much.

    Returns:
        `Corpus(train, held_out, facts)`.

    Raises:
        ValueError: A setting is out of range, a place in a file is no text, the text is too short for two sides, a file
            changed meanwhile, another process writes to the folder, or there is no space on the disk. The finished
            parts are kept, and the same call resumes.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "fox.txt").write_text("The quick fox ran.\\n" * 1000)
    >>> tokenizer = Tokenizer.train(["The quick fox ran."], 280, model="byte_pair")
    >>> corpus = make_corpus(TextFiles(folder / "fox.txt"), tokenizer, folder / "corpus")
    >>> corpus.train.num_tokens > corpus.held_out.num_tokens > 0
    True
    """
    _check_settings(files, held_out_files, tokenizer, held_out_share, end_id, seed)
    settings = {"held_out_share": held_out_share, "end_id": end_id, "seed": seed}
    place, tell = Path(folder), progress or (lambda *done: None)

    def key() -> str:
        return _key(files, held_out_files, {**settings, "tokenizer": tokenizer_digest(tokenizer)})

    started = key()
    if made := _made(place, started):
        return made
    with full_disk_as_error(place, KEPT):
        place.mkdir(parents=True, exist_ok=True)
        with locked(place) as is_free:
            if is_free is False:
                raise ValueError(f"Another process makes the corpus in {place}: wait for it, or give another folder.")
            if made := _made(place, started):  # by the process that held the lock
                return made
            (place / FACTS).unlink(missing_ok=True)  # what is there is no whole corpus from here on
            making = Making(files, held_out_files, tokenizer, place, started, tell)
            facts = making.make(held_out_share, end_id, seed)
            if key() != started:
                raise ValueError(f"A file changed while its tokens were written into {place}: call again.")
            replace_file(place / FACTS, json.dumps({"key": started, "facts": asdict(facts)}, indent=1))
            making.clear()
    return open_corpus(place)


def open_corpus(folder: str | os.PathLike) -> Corpus:
    """Open a corpus that `make_corpus` has written, whatever became of its text.

    Raises:
        ValueError: There is none, or it is not whole.
    """
    values = read_json(Path(folder) / FACTS, "the facts of a corpus, from make_corpus", MOST_BYTES)
    try:
        facts = CorpusFacts(**{name: _frozen(value) for name, value in values["facts"].items()})
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{folder} holds no whole corpus ({error}). Remove it, and make it again.") from error
    train, held_out = (TokenFile.open(Path(folder) / side) for side in SIDES)
    return Corpus(train, held_out, facts)


def _made(folder: Path, key: str) -> Corpus | None:
    """Return the corpus in a folder if it is whole and has this key."""
    if not (folder / FACTS).is_file():
        return None
    try:
        values = read_json(folder / FACTS, "the facts of a corpus", MOST_BYTES)
        return open_corpus(folder) if values["key"] == key else None
    except (ValueError, TypeError, KeyError):
        return None


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _key(files: TextFiles, held_out_files: TextFiles | None, settings: dict[str, Any]) -> str:
    """Return a hash of what determines a corpus."""
    read = [one and [sampled_stamps(one.files), *one.reading] for one in (files, held_out_files)]
    return hashlib.blake2b(json.dumps([FORMAT, read, settings]).encode(), digest_size=16).hexdigest()


def _check_settings(
    files: Any, held_out_files: Any, tokenizer: Tokenizer, share: Any, end_id: int | None, seed: Any
) -> None:
    for name, given in {"files": files, "held_out_files": held_out_files}.items():
        if not isinstance(given, TextFiles) and not (given is None and given is held_out_files):
            raise ValueError(f"Received {name}={shown(given)}: expected text.files.text_files.TextFiles(paths).")
    if not (is_number(share) and 0 < share <= 0.5):
        raise ValueError(f"Received held_out_share={share!r}: expected a number above 0, at most 0.5.")
    if not is_count(seed):
        raise ValueError(f"Received seed={seed!r}: expected a whole number of at least 0.")
    if end_id is not None and not is_token_id(end_id, tokenizer.vocabulary_size):
        raise ValueError(f"Received end_id={end_id!r}: expected None, or an id below {tokenizer.vocabulary_size}.")
    if both := held_out_files and set(map(Path.resolve, files.files)) & set(map(Path.resolve, held_out_files.files)):
        raise ValueError(f"{min(both)} is among the files to train on and among those held out: leave one out.")
