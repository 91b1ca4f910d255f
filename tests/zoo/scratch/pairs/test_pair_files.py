"""Pairs of two files or of a table, and what is told of files that do not belong together."""

from __future__ import annotations

import csv
import gzip
import json

import pytest
import rule_pairs
from packing import ENDINGS, table, write_packed

from zoo.scratch.pairs.pair_files import read_line_pairs, read_table_pairs


def test_lines_of_two_files(tmp_path):
    english, german = rule_pairs.write(tmp_path, 50)
    pairs = read_line_pairs(english, german)
    assert (pairs.sources, pairs.targets) == rule_pairs.sentences(50)
    assert pairs.place(1, 0) == f"{german}, line 1"


def test_line_ends_and_compression(tmp_path):
    """A carriage return is no part of a line, other separators of Unicode are; the last line may lack its end."""
    source, target = tmp_path / "a.en.gz", tmp_path / "a.de"
    source.write_bytes(gzip.compress("\ufeffOne\u2028line\r\n\r\nTwo".encode()))
    target.write_bytes(b"Eine\r\n\r\nZwei\r\n")
    assert read_line_pairs(source, target)[:2] == (["One\u2028line", "", "Two"], ["Eine", "", "Zwei"])


def test_unlike_numbers_of_lines(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("Hi.\nRun!\nStop!\nGo on.\n")
    target.write_text("Hallo!\nLauf!\nHalt!\n")
    with pytest.raises(ValueError) as error:
        read_line_pairs(source, target)
    message = str(error.value)
    assert f"{source} has 4 lines and {target} has 3" in message
    assert (
        f"The last line of {target}, 3, is 'Halt!'; line 3 of {source} is 'Stop!', and its last, 4, is 'Go on.'"
        in message
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        (b"", "contains no text"),
        (b"Hallo\nGr\xfc\xdf Gott\n", "line 2"),
        ("Hallo\n".encode("utf-16"), "UTF-16"),
        (b"Ha\0llo\n", "a zero byte, so it is a binary file"),
    ],
)
def test_files_that_are_no_text(tmp_path, content, message):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("Hello\nGood day\n")
    if content is not None:
        target.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read_line_pairs(source, target)
    assert str(target) in str(error.value)


def test_one_file_twice(tmp_path):
    (tmp_path / "a.en").write_text("Hi.\n")
    with pytest.raises(ValueError, match="both source and target"):
        read_line_pairs(tmp_path / "a.en", tmp_path / "a.en")


ROWS = [("Hi.", "Hallo!"), ('"Stop," he said.', "„Halt“, sagte er."), ("Go on.", "Mach weiter.")]


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.tsv", "".join(f"{one}\t{other}\n" for one, other in ROWS), (None, None)),
        ("a.txt", "".join(f"{one}\t{other}\tsomebody\n" for one, other in ROWS) + "\n", (None, None)),
        ("a.tsv", "".join(f"{other}\t{one}\n" for one, other in ROWS), (1, 0)),
        ("a.tsv", "id\ten\tde\n" + "".join(f"1\t{one}\t{other}\n" for one, other in ROWS), ("en", "de")),
        (
            "a.csv",
            "source,target\n"
            + "".join(f'"{one}","{other}"\n' for one, other in ((a.replace('"', '""'), b) for a, b in ROWS)),
            (None, None),
        ),
        ("a.jsonl", "".join(json.dumps({"en": one, "de": other}) + "\n" for one, other in ROWS), ("en", "de")),
    ],
)
def test_tables(tmp_path, name, content, columns):
    (tmp_path / name).write_text(content, encoding="utf-8")
    pairs = read_table_pairs(tmp_path / name, *columns)
    assert list(zip(*pairs[:2], strict=True)) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        (
            "a.tsv",
            "Hi.\tHallo!\nRun! Lauf!\n",
            (),
            "a.tsv, line 2: no column 1, counted from 0: 1 texts separated by tabs",
        ),
        ("a.tsv", "\n\n", (), "no rows"),
        ("a.csv", "one,two\nHi.,Hallo!\n", (), "no column 'source'; the file has 'one', 'two'"),
        ("a.csv", "source,target\n", (), "no rows"),
        ("a.jsonl", '{"source": "Hi.", "target": 3}\n', (), "'target' is 3; expected a string"),
        ("a.tsv", "Hi.\tHallo!\n", (1, 1), "are both 1"),
        ("a.tsv", "Hi.\tHallo!\n", (-1, 0), "received -1 as a column: expected a name, or a number from 0"),
        ("a.tsv", "en\tde\tfr\nHi.\tHallo!\tSalut!\n", (), "line 1: the columns 'en', 'de', 'fr': which two"),
        ("a.tsv", "en\ten\nHi.\tHello!\n", (), "line 1: the columns 'en', 'en': which two"),
        ("a.tsv", "\0Hi.\tHallo!\n", (), "line 1: a zero byte"),
        ("a.dat", "en\tde\nHi.\tHallo!\n", ("en", "de"), "expected a file named .csv, .tsv, .jsonl"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, name, content, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_table_pairs(tmp_path / name, *columns)


QUOTED = [("Hi.", "Hallo!"), ('"Stop," he\nsaid.', "a\ttab; a, comma"), ("Go on.", "Mach weiter.")]


def read(path, *columns, **options) -> list[tuple[str, str]]:
    return list(zip(*read_table_pairs(path, *columns, **options)[:2], strict=True))


NAMES = [
    ("source", "target"), ("src", "tgt"), ("en", "de"), ("eng", "deu"), ("de-DE", "en_GB"), ("src_text", "trg_text"),
    ("English sentences", "German sentences"),
]  # fmt: skip


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("delimiter", "\t,;")
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
def test_columns_are_found_by_name(tmp_path, names, delimiter, name):
    rows = [{"id": str(number), **dict(zip(names, pair, strict=True))} for number, pair in enumerate(QUOTED)]
    path = write_packed(tmp_path / name, table(rows, delimiter))
    assert read(path) == read(path, *names) == QUOTED
    assert read(path, names[1]) == read(path, *names[::-1]) == [pair[::-1] for pair in QUOTED]
    assert read(write_packed(tmp_path / name, table(rows, delimiter, csv.QUOTE_ALL))) == QUOTED


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl", "a.json", "a.tmx"])
def test_compressed_tables(tmp_path, name, ending):
    contents = {
        "tsv": "Hi.\tHallo!\n", "csv": "en,de\nHi.,Hallo!\n", "jsonl": '{"en": "Hi.", "de": "Hallo!"}\n',
        "json": '[{"en": "Hi.", "de": "Hallo!"}]', "tmx": tmx([("Hi.", "Hallo!")]),
    }  # fmt: skip
    assert read(write_packed(tmp_path / f"{name}{ending}", contents[name[2:]])) == [("Hi.", "Hallo!")]


def test_lines_of_compressed_files(tmp_path):
    paths = [write_packed(tmp_path / "a.en.zst", "Hi.\nRun!"), write_packed(tmp_path / "a.de.xz", "Hallo!\nLauf!\n")]
    assert read_line_pairs(*paths)[:2] == (["Hi.", "Run!"], ["Hallo!", "Lauf!"])
    with pytest.raises(ValueError, match=r"a\.csv is a table, not a file with one text per line: give --pairs"):
        read_line_pairs(write_packed(tmp_path / "a.csv", "en\nHi.\n"), paths[0])


TATOEBA = "1276\tLet's try.\t4231\tLass es uns versuchen!\r\n1277\tI sleep.\t77\tIch schlafe.\r\n"


def test_tatoeba(tmp_path):
    path = write_packed(tmp_path / "a.tsv", f"\ufeff{TATOEBA}")
    assert read(path) == [("Let's try.", "Lass es uns versuchen!"), ("I sleep.", "Ich schlafe.")]
    assert "column 1" in read_table_pairs(path).place(0, 0) and "column 3" in read_table_pairs(path).place(1, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\tHi.\tHallo!\n2\tRun!\tLauf!\n", "column 0, .* has numbers or addresses, such as '2'"),
        ("nr\tone\tother\n1\tHi.\tHallo!\n", "column 0, .* has numbers or addresses, such as '1'"),
        ("0.97\tHi.\tHallo!\n0.5\tRun!\tLauf!\n", "column 0, .* has numbers or addresses"),
        ("https://a.org\thttps://b.org\tHi.\tHallo!\n", "column 0, .* has numbers or addresses"),
        ("id_1\tHi.\tHallo!\nid_2\tRun!\tLauf!\n", "column 0, .* has numbers or addresses, such as 'id_2'"),
        ("12345678-90ab-cdef-1234-567890abcdef\tHi.\tHallo!\n", "column 0, .* has numbers or addresses"),
        ("".join(f"eng\tHi {n}.\tdeu\tHallo {n}.\n" for n in range(12)), "column 0, .* has one text in all rows"),
    ],
)
def test_columns_without_texts_are_refused_unless_named(tmp_path, content, message):
    path = write_packed(tmp_path / "a.tsv", content)
    with pytest.raises(ValueError, match=f"a.tsv: {message}.*--source-column and --target-column"):
        read(path)
    assert len(read(path, 0, 1)) == content.count("\n")


@pytest.mark.parametrize("names", ["en,de,fr", "id,text", "text,label", "one,two"])
def test_names_that_do_not_say_which(tmp_path, names):
    path = write_packed(tmp_path / "a.csv", f"{names}\n{names}\n")
    listed = ", ".join(map(repr, names.split(",")))
    with pytest.raises(ValueError, match=rf"a\.csv: no column 'source'; the file has {listed}\. Name the columns"):
        read(path)


TRANSLATIONS = [{"id": "0", "translation": {"en": one, "de": other}} for one, other in QUOTED]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "lines.json"])
def test_translations_of_datasets(tmp_path, name):
    content = json.dumps(TRANSLATIONS) if name == "a.json" else "\n".join(map(json.dumps, TRANSLATIONS))
    path = write_packed(tmp_path / name, content)
    assert read(path) == read(path, "en", "de") == read(path, "translation.en", "translation.de") == QUOTED
    assert read(path, "de", "en") == read(path, "de") == [pair[::-1] for pair in QUOTED]
    with pytest.raises(ValueError, match=r"no column 'fr'; the file has 'id', 'translation\.en', 'translation\.de'"):
        read(path, "fr", "en")


def test_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"en": ["Hi."], "de": ["Hallo!"]}), tmp_path / "flat.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(TRANSLATIONS), tmp_path / "nested.parquet")
    assert read(tmp_path / "flat.parquet") == [("Hi.", "Hallo!")]
    assert read(tmp_path / "nested.parquet") == read(tmp_path / "nested.parquet", "en", "de") == QUOTED
    parquet.write_table(pyarrow.Table.from_pylist([*TRANSLATIONS, {"id": "9"}]), tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match=r"gap\.parquet, row 4: .*translation\.en"):
        read(tmp_path / "gap.parquet")


def test_a_value_that_is_no_text(tmp_path):
    path = write_packed(tmp_path / "a.jsonl", '{"translation": {"en": "Hi.", "de": null}}\n')
    with pytest.raises(ValueError, match=r"a\.jsonl, line 1: 'translation\.de' is None; expected a string"):
        read(path)


def test_names_with_braces(tmp_path):
    path = write_packed(tmp_path / "a{b}.csv", "source {x},target\nHi.,Hallo!\n")
    assert read_table_pairs(path).place(0, 0).endswith("a{b}.csv, row 1, column 'source {x}'")


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_other_encodings(tmp_path, encoding):
    path = write_packed(tmp_path / "a.tsv", "en\tde\nHi.\tGrüß Gott\n".encode(encoding))
    assert read(path, encoding=encoding) == [("Hi.", "Grüß Gott")]
    with pytest.raises(ValueError, match=f"encoding='{encoding}'"):
        read(path)


def test_a_bad_byte(tmp_path):
    path = write_packed(tmp_path / "a.tsv", "Grüß Gott\tHi.\n".encode() + b"a\tb\xff\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2, byte 19: 0xff .*errors='replace'"):
        read(path)
    assert read(path, errors="replace") == [("Grüß Gott", "Hi."), ("a", "b\ufffd")]


def tmx(pairs, languages=("en", "de"), header='<header srclang="en"/>') -> str:
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = "\n".join(
        f"<tu>{''.join(variant.format(*one) for one in zip(languages, pair, strict=True))}</tu>" for pair in pairs
    )
    return f'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx>{header}<body>{units}</body></tmx>'


def test_tmx_with_several_texts_of_a_language(tmp_path):
    variants = (("EN", "Hi."), ("de", "Hallo!"), ("en", "Hello."), ("en", "Hi."), ("de", "Servus!"))
    unit = "".join(f'<tuv xml:lang="{name}"><seg>{text}</seg></tuv>' for name, text in variants)
    path = write_packed(tmp_path / "a.tmx", f'<tmx><header srclang="EN"/><body><tu>{unit}</tu></body></tmx>')
    assert read(path) == [("Hi.", "Hallo!"), ("Hi.", "Servus!"), ("Hello.", "Hallo!"), ("Hello.", "Servus!")]
    many = "".join(f'<tuv xml:lang="en"><seg>{number}</seg></tuv>' for number in range(101))
    with pytest.raises(ValueError, match=r"b\.tmx, line 1: a unit has more than 100 texts in en"):
        read(write_packed(tmp_path / "b.tmx", f"<tmx><body><tu>{many}</tu></body></tmx>"))


@pytest.mark.parametrize("rows", ["1276\teng\tHi.\n1277\tdeu\tHallo\n", "1\tHi.\n2\tNo.\n"])
def test_sentences_are_no_names_of_languages(tmp_path, rows):
    with pytest.raises(ValueError, match="column 0, counted from 0, has numbers"):
        read(write_packed(tmp_path / "a.tsv", rows))
    assert read(write_packed(tmp_path / "b.tsv", "Hi.\tNo.\nRun!\tLauf!\n")) == [("Hi.", "No."), ("Run!", "Lauf!")]


def test_tmx(tmp_path):
    text = "Hi <bpt i='1'>&lt;b&gt;</bpt>you<ept i='1'>&lt;/b&gt;</ept>\n &amp; <hi>me</hi>."
    path = write_packed(tmp_path / "a.tmx", tmx([(text, "Hallo!"), ("Run!", "Lauf!")], ("en-US", "DE")))
    expected = [("Hi you & me.", "Hallo!"), ("Run!", "Lauf!")]
    assert read(path) == read(path, "en", "de") == read(path, "en-US") == expected
    assert read(path, "de") == [pair[::-1] for pair in expected]
    turned = write_packed(tmp_path / "b.tmx", tmx([("Hi.", "Hallo!")], header='<header srclang="de"/>'))
    assert read(turned) == [("Hallo!", "Hi.")]
    wide = write_packed(
        tmp_path / "c.tmx", tmx([("Hi.", "Grüß dich!")]).replace("?>", ' encoding="UTF-16"?>').encode("utf-16")
    )
    assert read(wide) == [("Hi.", "Grüß dich!")]
    lacking = write_packed(tmp_path / "d.tmx", tmx([("Hi.", "Hallo!")]).replace("</body>", f"{HALF}</body>"))
    assert read(lacking) == [("Hi.", "Hallo!"), ("Alone.", "")]


HALF = '<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv></tu>'
LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><tmx><body><tu>&b;</tu></body></tmx>'


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (LAUGHS, (), "line 1: the file declares the entity 'a', which may grow without end"),
        ('<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><t>&a;</t>', (), "declares the entity 'a'"),
        ('<!DOCTYPE t [<!ENTITY % a SYSTEM "http://a.org">%a;]><t/>', (), "declares the entity 'a'"),
        (tmx([("Hi.", "Hallo!")])[:-20], (), "line 3: not XML, or cut short"),
        ("no XML", (), "line 1: not XML"),
        ('<?xml version="1.0" encoding="foo"?><tmx/>', (), "line 1: it declares an encoding that is not read here"),
        ('<?xml version="1.0" encoding="shift_jis"?><tmx/>', (), "line 1: it declares an encoding that is not read"),
        (tmx([("a &foo; b", "c")]), (), "line 3: the entity 'foo' is declared in another"),
        ("<tmx/>", (), "expected two languages, found none"),
        (tmx([("a", "b", "c")], ("en", "de", "fr")), (), "expected two languages, found en, de, fr.*--source-column"),
        (tmx([("a", "b", "c")], ("en", "de", "fr")), ("en", "es"), "no language 'es'; the file has en, de, fr"),
        ("<tmx><tu><tuv><seg>a</seg></tuv></tu></tmx>", (), "a <tuv> has no xml:lang"),
        (tmx([("Hi.", "Hallo!")]), ("en", "en"), "are both 'en'"),
    ],
)
def test_tmx_that_is_refused(tmp_path, content, columns, message):
    path = write_packed(tmp_path / "a.tmx", content)
    with pytest.raises(ValueError, match=message) as error:
        read(path, *columns)
    assert str(path) in str(error.value)
