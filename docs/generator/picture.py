"""Take the picture of `explore` that the README shows, in the system's Chromium: `python docs/generator/picture.py`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "explore.png"
COMMAND = ["explore", "transformer_mini_en_de", "The cat danced."]
SIZE = {"width": 1000, "height": 620}


def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        page_file = Path(folder, "page.html")
        subprocess.run([sys.executable, "-m", "zoo", *COMMAND, "--html", str(page_file)], cwd=ROOT, check=True)
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        page.goto(page_file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((part) => part.removeAttribute('open'))")
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
