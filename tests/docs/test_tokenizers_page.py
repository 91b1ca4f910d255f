"""docs/tokenizers.md names the parts of tokenizer.json that the code compiles, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from keras_transformers.text.folder import vocabulary_files
from keras_transformers.text.graph.compile import MODELS, NORMALIZERS, PRE_TOKENIZERS
from keras_transformers.text.graph.normalizers import replace
from keras_transformers.text.graph.outputs.decode import ORDERS
from keras_transformers.text.graph.outputs.post_process import PARSERS
from keras_transformers.text.graph.pre_tokenizers import delimiters

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tokenizers.md").read_text(encoding="utf-8")
COMPILED = {
    "normalizer": NORMALIZERS,
    "pre_tokenizer": PRE_TOKENIZERS,
    "model": MODELS,
    "post_processor": ["ByteLevel", *PARSERS],
    "decoder": {name for order in ORDERS for name in re.findall(r"[A-Z]\w+", order)},
}


def test_parts_are_those_that_compile():
    rows = re.findall(r"^\| (\w+) \| (`.*`) \|$", PAGE.split("<!-- /parts -->")[0], re.MULTILINE)
    listed = {part: re.findall(r"`(\w+)`", names) for part, names in rows}
    assert listed == {part: sorted(names) for part, names in COMPILED.items()}


def test_patterns_and_limits():
    listed = PAGE.split("regular expressions that models use:\n")[1].split(".\n")[0]
    assert {*re.findall(r"`(.+?)`", listed)} == {*replace.PATTERNS}
    assert replace.LONGEST == delimiters.LONGEST == 64 and PAGE.count("of 1 to 64 characters") == 2


def test_files_of_encoders():
    for name, (file, _) in vocabulary_files.ENCODERS.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{file}` |"))
        assert name.removesuffix("Tokenizer").removesuffix("V2").lower() in re.sub(
            r"xlm-r\b", "xlmroberta", row.lower()
        )
