"""Text from files of every kind and size: exact, in flat memory, and what is wrong is told with its place."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformers.text.files.text_files import TextFiles
from keras_transformers.text.tokenizer import Tokenizer

ODD = "Zwölf Boxkämpfer\r\njagen Viktor\n\nüber den großen Sylter Deich. 犬も歩けば棒に当たる。\n 🎉 end"


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes = "The fox ran.\n") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def joined(*paths, **options) -> str:
    return "".join(TextFiles(list(paths), **options))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.md", "a"])
def test_plain_text_is_exact(write, name):
    path = write(name, ODD)
    files = TextFiles(path)
    assert "".join(files) == "".join(files) == ODD
    assert files.size == path.stat().st_size and files.files == (path,)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 50, 1000])
def test_sections_are_the_whole_text_and_no_longer_than_asked(write, size):
    path = write("a.txt", ODD * 3)
    sections = list(TextFiles(path).sections(size))
    assert "".join(section.text for section in sections) == ODD * 3
    assert max(len(section.text) for section in sections) <= size
    assert [section.ends_document for section in sections] == [False] * (len(sections) - 1) + [True]
    before = ""
    for section in sections:
        assert section.line == 1 + before.count("\n")
        before += section.text


def test_sections_do_not_depend_on_how_a_file_is_read(write, monkeypatch):
    path = write("a.txt", ODD * 50)
    expected = list(TextFiles(path).sections(40))
    for block in (1, 5, 64):
        monkeypatch.setattr("keras_transformers.text.files.decoded_blocks.BLOCK", block)
        assert list(TextFiles(path).sections(40)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two\n\nthree\nfour five", ["one two\n\n", "three\nfour five"]),
        ("one two\r\n\r\nthree\nfour five", ["one two\r\n\r\n", "three\nfour five"]),
        ("one two\nthree four five", ["one two\n", "three four five"]),
        ("one two three four five", ["one two three", " four five"]),
        ("onetwothreefourfive", ["onetwothreefour", "five"]),
    ],
)
def test_sections_are_cut_where_it_hurts_least(write, text, expected):
    path = write("a.txt", text)
    assert [section.text for section in TextFiles(path).sections(15)] == expected


def test_a_folder_has_its_files_sorted_each_once_and_no_hidden_ones(write, tmp_path):
    write("texts/b.txt", "b"), write("texts/a/c.txt", "c"), write("texts/.git/d.txt", "d"), write("texts/.e", "e")
    (tmp_path / "texts/link.txt").symlink_to(tmp_path / "texts/b.txt")
    (tmp_path / "texts/z.txt").symlink_to(tmp_path / "texts/b.txt")
    files = TextFiles([tmp_path / "texts", tmp_path / "texts/b.txt", str(tmp_path / "texts/*.txt")])
    assert "".join(files) == "cb"


def test_a_folder_of_spark_has_its_tables(write, tmp_path):
    for name in ("_SUCCESS", "_metadata", "_committed_123", "_delta_log/0.json", "part-0.csv", "_mine.txt"):
        write(name, "text\nHi.\n")
    assert [file.name for file in TextFiles(tmp_path).files] == ["_mine.txt", "part-0.csv"]


def test_patterns(write, tmp_path):
    write("a.txt", "a"), write("b/c.txt", "c"), write("b/d.md", "d"), write("e[1].txt", "e")
    assert joined(str(tmp_path / "**/*.txt")) == "ace"
    assert joined(tmp_path / "e[1].txt") == "e"  # a file of that name is no pattern


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonlines", "a.ndjson", "a.jsonl.gz", "A.JSONL"])
def test_json_lines(write, name):
    records = [{"text": ODD}, {"id": 3, "text": ""}, {"text": "two"}]
    path = write(name, "\r\n\n".join(map(json.dumps, records)))
    assert [section[::2] for section in TextFiles(path).sections(1000)] == [(ODD, 1), ("two", 5)]
    path = write("b.jsonl", '{"body": "three"}\n')
    assert joined(path, field="body") == "three"


def test_a_long_record_is_one_document_of_several_sections(write):
    path = write("a.jsonl", json.dumps({"text": "word " * 100}) + '\n{"text": "end"}')
    sections = list(TextFiles(path).sections(99))
    assert [section.ends_document for section in sections] == [False] * 5 + [True, True]
    assert {section.line for section in sections[:6]} == {1}


def test_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": [ODD, "", *map(str, range(1000))], "id": range(1002)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=300)
    sections = list(TextFiles(tmp_path / "a.parquet").sections(1000))
    assert [section.text for section in sections] == [ODD, *map(str, range(1000))]
    assert all(section.ends_document for section in sections) and sections[-1].line == 1002
    with pytest.raises(ValueError, match=r"a\.parquet: no column 'body'; the file has 'text', 'id'\. Say field="):
        TextFiles(tmp_path / "a.parquet", field="body")
    parquet.write_table(pyarrow.table({"text": ["a", None]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet, row 2: expected text as 'text', received None"):
        joined(tmp_path / "b.parquet")
    parquet.write_table(pyarrow.table({"text": [1, 2]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"row 1: expected text as 'text', received 1"):
        joined(tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"d\.parquet is no Parquet file, or damaged"):
        TextFiles(tmp_path / "d.parquet")


def test_parquet_without_pyarrow(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ValueError, match=r"is read by pyarrow, which is not installed .*pip install pyarrow"):
        TextFiles(write("a.parquet"))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("latin-1", "größer\r\n"), ("utf-16", ODD), ("utf-16-le", ODD), ("gbk", "犬歩棒当"), ("cp1252", "œ")],
)
def test_other_encodings(write, monkeypatch, encoding, text):
    monkeypatch.setattr("keras_transformers.text.files.decoded_blocks.BLOCK", 3)
    assert joined(write("a.txt", text.encode(encoding)), encoding=encoding) == text


def test_a_byte_order_mark_is_left_out(write):
    assert joined(write("a.txt", "\ufeffThe fox.\ufeff")) == "The fox.\ufeff"
    assert joined(write("a.jsonl", '\ufeff{"text": "The fox."}')) == "The fox."


def late(content: bytes) -> bytes:
    """A few mebibytes before it: the begin of the file, which is looked at first, is good."""
    return b"The fox ran away.\n" * 200_000 + content


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"one\ngr\xf6sser", r"line 2, byte 6: 0xf6 cannot be decoded as utf-8 .* encoding=.* iconv -f"),
        ("a.txt", "\ufeffone\n".encode() + b"gr\xf6sser", r"a\.txt, line 2, byte 9: 0xf6"),
        ("a.txt", late(b"gr\xf6sser"), r"a\.txt, line 200,001, byte 3,600,002: 0xf6"),
        ("a.txt", b"one\n" + "ö".encode()[:1], r"a\.txt, line 2, byte 4: 0xc3 .*unexpected end"),
        ("a.txt.gz", late(b"gr\xf6sser"), r"a\.txt\.gz, line 200,001, byte 3,600,002"),
        ("a.txt", "one".encode("utf-16"), r"byte order mark of UTF-16.*encoding='utf-16'.*iconv -f UTF-16"),
        ("a.txt", b"one\ntwo\0", r"a\.txt, line 2: a zero byte, so it is a binary file"),
        ("a.txt", late(b"one\ntwo\0"), r"a\.txt, line 200,002: a zero byte"),
        ("a.jsonl", '{"text": "a"}\n{"text": "b"', r"a\.jsonl, line 2: not JSON"),
        ("a.jsonl", '{"text": "a"}\n["b"]', r"a\.jsonl, line 2: expected a JSON object.* received \['b'\]"),
        ("a.jsonl", '{"body": "a", "id": 1}', r"a\.jsonl, line 1: no 'text'; the object has 'body', 'id'\. Say field="),
        ("a.jsonl", "{}", r"the object has no keys"),
        ("a.jsonl", '{"text": null}', r"a\.jsonl, line 1: expected text as 'text', received None"),
        ("a.json", '{"text": {"0": "a", "1": "b"}}', r"a\.json, record 1: expected text .* orient='records'"),
        ("a.csv", "sep=;\ntext;id\na;1\n", r"no column 'text'.* Its first line, sep=, is a note for Excel"),
        ("a.csv", "text|id\na|1\n", r"no column 'text'.* separated by vertical bars"),
        ("a.jsonl", '{"text": "a\\ud800"}', r"line 1: the lone surrogate '\\ud800' at character 1"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\xf6"}', r"a\.jsonl, line 2, byte 24: 0xf6"),
        ("a.jsonl", b'{"text": ' + b"[" * 100_000, r"a\.jsonl, line 1: not JSON"),
        ("a.parquet.gz", "a", r"Unpack the \.gz first"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(write, name, content, message):
    path = write(name, content)
    with pytest.raises(ValueError, match=message):
        joined(path)


@pytest.mark.parametrize("content", [b"one\ngr\xf6sser", b"one\ntwo\0"])
def test_what_the_begin_shows_is_told_before_any_work(write, content):
    write("a.txt"), write("b.txt", content)
    with pytest.raises(ValueError, match=r"b\.txt, line 2"):
        TextFiles(write("c.txt").parent)


def test_a_damaged_gz(write, tmp_path):
    content = write("a.txt.gz", ODD * 1000).read_bytes()
    for damaged in (content[:-100], content[:-8], b"no gz at all", content[:40] + b"x" + content[41:]):
        (tmp_path / "b.txt.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"b\.txt\.gz.*(damaged|line)"):
            joined(tmp_path / "b.txt.gz")


def test_missing_and_empty(write, tmp_path):
    write("train.txt"), write("empty.txt", ""), write("empty.txt.gz", ""), write("empty.jsonl", '{"text": ""}')
    (tmp_path / "folder/.hidden").mkdir(parents=True)
    for paths, message in {
        "trian.txt": r"trian\.txt: there is no such file or folder\. The nearest names there are \['train\.txt'\]",
        "*.csv": r"\*\.csv: no file matches this pattern",
        "folder": r"folder is a folder without files",
        "empty.txt": r"empty\.txt is without a byte",
    }.items():
        with pytest.raises(ValueError, match=message):
            TextFiles(tmp_path / paths)
    for name in ("empty.txt.gz", "empty.jsonl"):
        with pytest.raises(ValueError, match="is without any text"):
            joined(tmp_path / name)
    assert joined(tmp_path / "empty.txt", tmp_path / "train.txt") == "The fox ran.\n"


@pytest.mark.parametrize(
    ("paths", "options", "message"),
    [
        ([], {}, "Received no path"),
        ([3], {}, "Received 3 as a path"),
        ("", {}, "Received '' as a path"),
        ("a.txt", {"encoding": "utf-9"}, "Received encoding='utf-9'"),
        ("a.txt", {"encoding": "hex"}, "Received encoding='hex'"),
        ("a.txt", {"field": ""}, "Received field=''"),
    ],
)
def test_settings_are_checked(write, monkeypatch, tmp_path, paths, options, message):
    write("a.txt")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        TextFiles(paths, **options)
    with pytest.raises(ValueError, match="Received size=0"):
        next(TextFiles("a.txt").sections(0))


def test_a_pipe_is_refused(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe or a device"):
        TextFiles(tmp_path / "pipe")


def test_a_tokenizer_learns_from_files(write):
    path = write("a.txt", "the cat danced\nthe cat sat\n" * 10)
    assert Tokenizer.train(TextFiles(path), 280, model="byte_pair").encode(["the cat"])


MEASURE = """
import resource, sys
from keras_transformers.text.files.text_files import TextFiles
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(map(len, TextFiles(sys.argv[1])))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.integration
@pytest.mark.parametrize("character", ["x", "ö", "x "])
def test_one_long_line_takes_flat_memory(tmp_path, character):
    """200 MB in one line, read in 30 MB."""
    count = 200_000_000 // len(character.encode())
    with (tmp_path / "a.txt").open("w") as file:
        for _ in range(100):
            file.write(character * (count // 100))
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "a.txt")]
    root = Path(__file__).parents[3]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
    characters, grown = map(int, output.split())
    assert characters == count * len(character) and grown < 30


def test_the_size_of_a_compressed_text(write, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow.parquet.write_table(pyarrow.table({"text": ["The fox ran. " * 9000] * 2}), tmp_path / "c.parquet")
    paths = [write("a.txt.gz", "The fox ran.\n" * 9000), write("b.txt", ODD), tmp_path / "c.parquet"]
    files = TextFiles(paths)
    assert files.text_size == 3 * 9000 * 13 + len(ODD.encode()) and files.size < files.text_size / 20
    assert TextFiles(paths[1]).text_size == TextFiles(paths[1]).size


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_file_that_has_gone_meanwhile(write, name):
    path = write(name)
    files = TextFiles(path)
    path.unlink()
    with pytest.raises(
        ValueError, match=r"a\.txt.* cannot be read \(No such file or directory\)\. It was there before"
    ):
        "".join(files)


def test_folders_that_are_left_out(write, tmp_path):
    kept, _ = write("texts/a.txt"), write("texts/mine.run/tokens.bin", b"\0")
    run = tmp_path / "texts" / "mine.run"
    for given in (tmp_path / "texts", tmp_path / "texts" / "**" / "*.*"):
        assert TextFiles(given, without=[run, tmp_path / "none"]).files == (kept,)
    own = write("texts/mine.run/stdin.txt")
    assert TextFiles(own, without=[run]).files == (own,)  # what is named is wanted
    with pytest.raises(ValueError, match="is a folder without files"):
        TextFiles(run, without=[run])


@pytest.mark.parametrize("block", [20, 1 << 20])  # the first one has to show it
def test_line_ends_of_old_macs_are_lines(tmp_path, monkeypatch, block):
    monkeypatch.setattr("keras_transformers.text.files.decoded_blocks.BLOCK", block)
    (tmp_path / "a.txt").write_bytes("one\rtwö\r\rthree\r".encode())
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "one"}\r{"text": "two"}\r')
    assert [section.text for section in TextFiles(tmp_path / "b.jsonl").sections(100)] == ["one", "two"]
    assert "".join(TextFiles(tmp_path / "a.txt")) == "one\ntwö\n\nthree\n"
    assert [section.line for section in TextFiles(tmp_path / "a.txt").sections(5)][-1] > 2


@pytest.mark.parametrize("block", [1, 4, 5, 1 << 20])
@pytest.mark.parametrize("text", ["one\r\ntwo\r\n", "one\ntw\ro\n", "one"])
def test_other_line_ends_stay(tmp_path, monkeypatch, text, block):
    monkeypatch.setattr("keras_transformers.text.files.decoded_blocks.BLOCK", block)
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert "".join(TextFiles(tmp_path / "a.txt")) == text


CARD = "---\nlicense: mit\n---\n# Films\n"


@pytest.mark.parametrize(
    ("files", "left_out"),
    [
        (
            {"data/train.jsonl": '{"text": "Ann."}', "README.md": "# Films", "LICENSE": "Terms."},
            ["LICENSE", "README.md"],
        ),
        ({"data/train.txt": "Ann.", "README.md": CARD}, ["README.md"]),
        ({"guide.md": "Ann.", "README.md": "# How"}, []),
        ({"README.md": CARD}, []),
    ],
)
@pytest.mark.parametrize("pattern", ["", "**/*"])
def test_what_tells_about_a_data_set_is_no_text_of_it(tmp_path, recwarn, files, left_out, pattern):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    found = TextFiles(tmp_path / pattern).files
    assert sorted({*files} - {str(path.relative_to(tmp_path)) for path in found}) == left_out
    told = [str(warning.message) for warning in recwarn if "tell about the data" in str(warning.message)]
    assert len(told) == bool(left_out) and all(str(tmp_path / name) in told[0] for name in left_out)
    assert len(TextFiles([tmp_path, tmp_path / "README.md"]).files) == len(found) + ("README.md" in left_out)
