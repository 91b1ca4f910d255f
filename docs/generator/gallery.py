"""The pages of `python -m zoo explore` that the gallery shows, written when the site is built."""

from __future__ import annotations

import hashlib
import logging
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "gallery"
LOG = logging.getLogger("mkdocs.plugins.generator")
COMMAND = re.compile(r"^python -m zoo (explore .* --html (\w+)\.html)$", re.MULTILINE)
NOT_MADE = "<!doctype html><title>{name}</title><p>This build of the site has no pages of <code>explore</code>.</p>"


def commands() -> dict[str, str]:
    """Return the commands that the page of the gallery shows, by the name of the file that each writes."""
    return {name: command for command, name in COMMAND.findall((ROOT / "docs" / "gallery.md").read_text("utf-8"))}


def written(full: bool) -> dict[str, bytes]:
    """Return the pages, by their place in the site; stand-ins, which say so, where the build is not a full one."""
    return {
        f"explore/{name}.html": made(name, command) if full else NOT_MADE.format(name=name).encode()
        for name, command in commands().items()
    }


def made(name: str, command: str) -> bytes:
    """Return the page that a command writes, from the cache where neither it nor the code has changed."""
    key = hashlib.sha256(f"{command} {code_and_assets()}".encode()).hexdigest()[:16]
    kept = CACHE / f"{name}-{key}.html"
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        begun, words = time.monotonic(), shlex.split(command)
        words[-1] = str(kept)
        subprocess.run([sys.executable, "-m", "zoo", *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        LOG.info("%s.html written in %.0f s", name, time.monotonic() - begun)
    return kept.read_bytes()


def code_and_assets() -> str:
    """Return a hash of all that the pages follow from: this file, the code of the repository, styles and scripts."""
    rooms = (ROOT / "keras_transformers", ROOT / "zoo")
    code = sorted(file for room in rooms for pattern in ("*.py", "assets/*") for file in room.rglob(pattern))
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in code:
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()
