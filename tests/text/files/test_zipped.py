"""A .zip of several files is read like a folder of them."""

import io
import zipfile

import pytest

from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.files.zipped import MOST_FILES, one_file, parts_of


def archive(path, files, method=zipfile.ZIP_DEFLATED):
    """Write a .zip of files by name, or of pairs of names and contents."""
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in files.items() if isinstance(files, dict) else files:
            packed.writestr(name, content)
    return path


def test_texts_in_the_order_of_their_names(tmp_path):
    files = {
        "notes/b.txt": "Beta.\n",
        "a.txt": "Alpha.\n",
        "c.jsonl": '{"text": "Gamma."}\n',
        "d.csv": 'id,text\n1,"Del,\nta."\n',
        "e.json": '[{"text": "E."}]',
        "notes/": "",
        "README": "What it is.",
        "notes/LICENSE.txt": "Terms.",
        "_about.txt": "About.",
        "__MACOSX/._a.txt": "\0",
        ".hidden/x.txt": "\0",
    }
    path = archive(tmp_path / "all.zip", files)
    (tmp_path / "z.txt").write_text("Z.")
    texts = TextFiles([path, tmp_path / "z.txt"])
    expected = ["Alpha.\n", "Gamma.", "Del,\nta.", "E.", "Beta.\n", "Z."]
    assert list(texts) == list(texts) == expected
    assert texts.files == (path, tmp_path / "z.txt") and texts.text_size == sum(map(len, expected))
    assert [str(section.file.relative_to(tmp_path)) for section in texts.sections(99)][2:4] == [
        "all.zip/d.csv",
        "all.zip/e.json",
    ]
    assert list(TextFiles(tmp_path, lines=True)) == [text.strip() for text in expected]


def test_one_file_beside_what_tells_about_it(tmp_path):
    path = archive(tmp_path / "deu-eng.zip", {"_about.txt": "From Tatoeba.", "deu.txt": "Hi.\tHallo!\n"})
    assert parts_of(path) == (path,) and one_file(path).name == "deu.txt" and list(TextFiles(path)) == ["Hi.\tHallo!\n"]
    assert list(TextFiles(archive(tmp_path / "readme.zip", {"README.txt": "All there is."}))) == ["All there is."]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": "text", "b.txt": b"\xe9"}, r"a\.zip/b\.txt, line 1, byte 0: 0xe9 cannot be decoded as utf-8"),
        ({"a.txt": "text", "b.txt": b"\0"}, r"a\.zip/b\.txt, line 1: a zero byte"),
        ({"a.txt": "text", "b.pdf": b"%PDF-1.4"}, r"a\.zip/b\.pdf is not a text file, it is a PDF"),
        ({"a.txt": "text", "b.txt.gz": b"\x1f\x8b"}, r"a\.zip/b\.txt\.gz is an archive, or is compressed twice"),
        ({"a.txt": "text", "b.zip": b"PK"}, r"a\.zip/b\.zip is an archive"),
        ({"a.txt": "text", "b.csv": "id\n1\n"}, r"a\.zip/b\.csv, line 1: no column 'text'; the file has 'id'"),
        (
            {"a.txt": "text", "b.parquet": "PAR1"},
            r"a\.zip/b\.parquet: Parquet is compressed .* Unpack the \.zip",
        ),
        ({"a.txt": "text", "b.tmx": "<tmx/>"}, r"a\.zip/b\.tmx is a translation memory"),
        ({}, r"a\.zip has 0 files: expected 1 to 1,000"),
        ({"empty/": ""}, r"a\.zip has 0 files"),
        ({f"{number}.txt": "a" for number in range(MOST_FILES + 1)}, "has 1,001 files: .* Unpack it"),
        ({"a.txt": "", "b.txt": ""}, r"a\.zip is without any text"),
    ],
)
def test_what_is_no_text_is_told_with_its_name(tmp_path, files, message):
    with pytest.raises(ValueError, match=message):
        list(TextFiles(archive(tmp_path / "a.zip", files)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_of_one_name(tmp_path):
    path = archive(tmp_path / "a.zip", [("a.txt", "one"), ("a.txt", "two")])
    with pytest.raises(ValueError, match="two files of one name"):
        TextFiles(path)


def test_names_that_lead_out_of_the_archive_are_read_within(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    names = ("../secret.txt", "./a.txt", str(tmp_path / "secret.txt"))
    assert list(TextFiles(archive(tmp_path / "a.zip", dict.fromkeys(names, "inner")))) == ["inner"] * 3


def test_a_damaged_one_among_others(tmp_path):
    path = archive(tmp_path / "a.zip", {"a.txt": "Alpha. " * 99, "b.txt": "Beta. " * 99}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"Beta. Beta.", b"Beta. Bxta.", 1))
    with pytest.raises(ValueError, match=r"a\.zip/b\.txt.* the \.zip is damaged .*CRC"):
        list(TextFiles(path))
    whole = io.BytesIO(path.read_bytes()).getvalue()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a\.zip: the \.zip is damaged or cut short"):
        TextFiles(path)


def test_it_changes_while_it_is_read(tmp_path):
    path = archive(tmp_path / "a.zip", {"a.txt": "Alpha.", "b.txt": "Beta."})
    sections = TextFiles(path).sections(9)
    assert next(sections).text == "Alpha."
    archive(path, {"a.txt": "Alpha.", "c.txt": "Gamma."})
    with pytest.raises(ValueError, match=r"a\.zip/b\.txt is not in the \.zip any more"):
        list(sections)
