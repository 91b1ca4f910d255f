"""Hostile files of texts, of tables and of pairs, compressed or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fuzzing import fuzz
from hostile import damaged
from hypothesis import strategies as st
from packing import ENDINGS, packed, table

from keras_transformers.text.files.text_files import TextFiles
from zoo.scratch.pairs.pair_files import read_table_pairs

# The doubt about a wrong encoding, which tests/text/files expects.
pytestmark = pytest.mark.filterwarnings("ignore:.*is read as .*, and is text in:UserWarning")

ROWS = [
    {"text": 'one, "two"\nthree', "de": "Grüße\tan alle", "en": "Greetings"},
    {"text": "a", "de": "b", "en": "c"},
] * 3
TMX = (
    '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><header srclang="en"/><body><tu>'
    '<tuv xml:lang="en"><seg>Hi <hi>you</hi></seg></tuv><tuv xml:lang="de"><seg>Hallo</seg></tuv></tu></body></tmx>'
)
NESTED = [{"translation": row, "text": "a"} for row in ROWS]
CONTENTS = {
    "a.csv": table(ROWS), "b.csv": table(ROWS, ";"), "a.tsv": table(ROWS, "\t"),
    "a.jsonl": "\n".join(map(json.dumps, ROWS)),
    "a.json": json.dumps(ROWS), "b.json": json.dumps(NESTED, indent=1), "a.tmx": TMX, "a.txt": "Hi.\tHallo!\n" * 9,
}  # fmt: skip


@st.composite
def files(draw):
    name = draw(st.sampled_from(sorted(CONTENTS)))
    path = Path(name + draw(st.sampled_from(["", *ENDINGS])))
    content = CONTENTS[name].encode(draw(st.sampled_from(["utf-8", "utf-8", "cp1252", "utf-16", "utf-16-le"])))
    content = draw(damaged(content)) if draw(st.booleans()) else content
    content = packed(path, content)
    return path.name, draw(damaged(content)) if draw(st.booleans()) else content


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"errors": "replace"}, {"lines": True, "encoding": "cp1252"}])
def test_texts(tmp_path, options):
    def read(file):
        (tmp_path / file[0]).write_bytes(file[1])
        for text in TextFiles(tmp_path / file[0], **options):
            text.encode()

    fuzz(read, files(), examples=150)


@pytest.mark.integration
def test_pairs(tmp_path):
    def read(file):
        (tmp_path / file[0]).write_bytes(file[1])
        pairs = read_table_pairs(tmp_path / file[0])
        assert len(pairs.sources) == len(pairs.targets) > 0

    fuzz(read, files(), examples=150)
