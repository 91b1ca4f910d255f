"""Text from standard input, kept in a file, as a run reads its text several times."""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from pathlib import Path
from typing import BinaryIO

from keras_transformers.utils.safe_files import full_disk_as_error

STDIN = "-"


def keep_standard_input(path: Path, source: BinaryIO | None = None) -> Path:
    """Copy standard input to a file; a file with the same text is left as it is, so that a repeated run knows it.

    Args:
        path: The file.
        source: Binary stream to read instead of standard input.

    Returns:
        `path`.

    Raises:
        ValueError: Standard input is empty, or there is no space on the disk.
    """
    source = sys.stdin.buffer if source is None else source
    new = path.with_name(f"{path.name}.new")
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = "Standard input was not kept whole, and nothing else has begun."
    with full_disk_as_error(path, kept), open(new, "wb") as file:
        shutil.copyfileobj(source, file)
    if not new.stat().st_size:
        new.unlink()
        raise ValueError("standard input is empty: expected text to train on. Pipe it in, or give files to --text.")
    if path.is_file() and filecmp.cmp(path, new, shallow=False):
        new.unlink()
    else:
        os.replace(new, path)
    return path
