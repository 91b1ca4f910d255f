"""Archives of two files of lines, as OPUS and others give them."""

import zipfile

import pytest

from zoo.scratch.pairs.pair_files import read_table_pairs

DE, EN = "Hallo!\r\n\nLauf!", "Hi.\n\nRun!\n"
NOTES = {"README": "Corpus Name: Books", "LICENSE": "Terms."}
OPUS = {
    **NOTES,
    "Books.de-en.de": DE,
    "Books.de-en.en": EN,
    "Books.de-en.ids": "a\tb\t1\t1\n" * 3,
    "Books.de-en.xml": "<a/>",
}


def write(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("files", "columns", "swapped"),
    [
        (OPUS, (None, None), False),
        (OPUS, ("de", "en"), False),
        (OPUS, ("en", "de"), True),
        (OPUS, ("EN", None), True),
        (OPUS, (None, "de"), True),
        ({"en-de/train.en": EN, "en-de/train.de": DE, "__MACOSX/en-de/._train.en": "\0"}, (None, None), False),
        ({"a.zh_CN": DE, "a.zh_TW": EN}, (None, None), False),
        ({"a.src": DE, "a.tgt": EN}, ("src", "tgt"), False),
        ({"a.de": DE, "a.en": EN, "a.fr": "x"}, ("de", "en"), False),
        ({"train.de": DE, "train.en": EN, "note.en": "x"}, (None, None), False),
    ],
)
def test_the_two_files_are_found(tmp_path, files, columns, swapped):
    pairs = read_table_pairs(write(tmp_path / "de-en{1}.txt.zip", files), *columns)
    expected = (["Hallo!", "", "Lauf!"], ["Hi.", "", "Run!"])
    assert pairs[:2] == (expected[::-1] if swapped else expected)
    assert pairs.place(0, 2).startswith(f"{tmp_path}/de-en{{1}}.txt.zip/") and pairs.place(0, 2).endswith(", line 3")


@pytest.mark.parametrize(
    ("files", "columns", "message"),
    [
        ({"a.de": DE, "a.en": EN, "a.fr": "x"}, (None, None), r"'a\.fr'\): expected two .* Give --source-column"),
        ({"a.de": DE, "a.en": EN, "a.fr": "x"}, ("de", None), "expected two that differ"),
        (OPUS, ("fr", None), r"has 4 files \('Books\.de-en\.de', .*expected two that differ"),
        ({"a.de": DE, "a.en": EN, "b.de": DE, "b.en": EN}, (None, None), r"'b\.de', 'b\.en'\): expected two"),
        ({"a.txt": DE, "b.txt": EN}, (None, None), r"--source and --target"),
        ({"a.de": DE, "a.en": "Hi.\nRun!\nStop!\nGo.\n"}, (None, None), r"zip/a\.de has 3 lines and .*zip/a\.en has 4"),
        ({"a.de": DE, "a.en": ""}, (None, None), r"a\.en contains no text"),
        ({"a.de": DE, "a.en": b"\xe9\n"}, (None, None), r"a\.en, line 1, byte 0: 0xe9 cannot be decoded as utf-8"),
    ],
)
def test_what_is_not_clear_is_refused_with_the_files(tmp_path, files, columns, message):
    with pytest.raises(ValueError, match=message):
        read_table_pairs(write(tmp_path / "a.zip", files), *columns)


def test_a_table_beside_what_tells_about_it(tmp_path):
    path = write(
        tmp_path / "deu-eng.zip", {"_about.txt": "About.", "deu.txt": "Hi.\tHallo!\tCC-BY\nRun!\tLauf!\tCC-BY\n"}
    )
    assert read_table_pairs(path)[:2] == (["Hi.", "Run!"], ["Hallo!", "Lauf!"])
