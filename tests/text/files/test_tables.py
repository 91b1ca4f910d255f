"""Text of tables: `field` is followed in every format, a record is a document, a wrong field is refused."""

import csv
import io
import json

import pytest
from packing import ENDINGS, table, write_packed

from keras_transformers.text.files.decoded_blocks import lines_of
from keras_transformers.text.files.separated import has_quotes, open_separated
from keras_transformers.text.files.text_files import TextFiles

TEXTS = ["one, two", 'say "three"\nfour', "five\tsix", "seven"]
ROWS = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS)]
PLAIN = [{"id": str(number), "text": text} for number, text in enumerate(("one", 'say "two', '"three"', "four"))]


QUOTED = ['a\t"b ""c""."\n', 'd\t"e\n']  # the last row goes on


def texts(path, **options) -> list[str]:
    return [section.text for section in TextFiles(path, **options).sections(1000)]


FILES = {
    "a.csv": table(ROWS),
    "semicolons.csv": table(ROWS, ";"),
    "tabs.csv": table(ROWS, "\t"),
    "excel.csv": "\ufeff" + table(ROWS, ";"),
    "quoted.csv": table(ROWS, ",", csv.QUOTE_ALL),
    "a.tsv": table(ROWS, "\t"),
    "quoted.tsv": table(ROWS, "\t", csv.QUOTE_ALL),
    "a.jsonl": "\n".join(map(json.dumps, ROWS)),
    "a.json": json.dumps(ROWS),
    "indented.json": json.dumps(ROWS, indent=2),
    "lines.json": "\n".join(map(json.dumps, ROWS)),
}


@pytest.mark.parametrize("ending", ["", *ENDINGS])
@pytest.mark.parametrize("name", FILES)
def test_the_field_is_read(tmp_path, name, ending):
    path = write_packed(tmp_path / f"{name}{ending}", FILES[name])
    assert texts(path) == texts(path, field="text") == TEXTS
    assert texts(path, field="id") == ["0", "1", "2", "3"]
    assert all(section.ends_document for section in TextFiles(path).sections(1000))


@pytest.mark.parametrize("name", FILES)
def test_an_unknown_field_is_refused(tmp_path, name):
    path = write_packed(tmp_path / name, FILES[name])
    with pytest.raises(ValueError, match=rf"{name}, .* no (column )?'body'; the \w+ has 'id', 'text'\. Say field="):
        TextFiles(path, field="body")


def test_a_table_without_the_usual_field_is_refused(tmp_path):
    path = write_packed(tmp_path / "a.csv", "id,tweet\n1,The fox.\n")
    with pytest.raises(ValueError, match=r"no column 'text'; the file has 'id', 'tweet'\. Say field=, .*\.txt"):
        TextFiles(path)


def test_a_field_of_plain_text_is_refused(tmp_path):
    path = write_packed(tmp_path / "a.txt", '{"body": "The fox."}\n')
    with pytest.raises(ValueError, match=r"Received field='body', .*a\.txt is plain text, without fields"):
        TextFiles(path, field="body")
    other = write_packed(tmp_path / "b.jsonl", '{"body": "The fox."}\n')
    assert texts([path, other], field="body") == ['{"body": "The fox."}\n', "The fox."]


def test_a_table_without_header(tmp_path):
    path = write_packed(tmp_path / "a.csv", "1,The fox.\n2,A dog.\n")
    assert texts(path, field="1") == ["The fox.", "A dog."]
    with pytest.raises(ValueError, match="no column 2; the file has 0, 1"):
        TextFiles(path, field="2")


def test_a_field_of_an_object(tmp_path):
    for name, content in {"a.jsonl": '{"m": {"t": "The fox."}}\n', "a.json": '[{"m": {"t": "The fox."}}]'}.items():
        assert texts(write_packed(tmp_path / name, content), field="m.t") == ["The fox."]
        with pytest.raises(ValueError, match=r"no 'm\.u'; the object has 'm\.t'"):
            TextFiles(tmp_path / name, field="m.u")


def test_a_field_of_a_struct_of_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"m": [{"t": "The fox."}], "m.n": ["A dog."]}), tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet", field="m.t") == ["The fox."]
    assert texts(tmp_path / "a.parquet", field="m.n") == ["A dog."]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "a"}, {"text": "b"}', r"record 2 \(from line 1\): not JSON .*the \] of its array is missing"),
        ('[{"text": "a"},\n{"text": "b', r"record 2 \(from line 2\): not JSON \(Unterminated string"),
        ('[{"text": "a"} {"text": "b"}]', "record 1 .*expected a comma or ]"),
        ('[{"text": "a"}] x', "record 1 .*or more follows"),
        ('[{"text": "a"},]', "record 2 .*not JSON"),
        ('["a"]', "record 1: expected a JSON object.* received 'a'"),
        ('{"text": {"0": "a"}}', r"record 1: expected text as 'text', received \{'0': 'a'\}"),
        ('{"data": []}', r"record 1: no 'text'; the object has 'data'"),
        ('[{"text": "a", "n": ' + "9" * 5000 + "}]", "4300 digits"),
        ('[{"text": ' + "[" * 200_000, "record 1 .*recursion"),
        ("[]", "is without any text"),
        ('[{"text": "a"}, {"text": "b", "text": "c"}]', "record 2: the object has 'text' more than once"),
    ],
)
def test_json_arrays_that_are_wrong(tmp_path, content, message):
    path = write_packed(tmp_path / "a.json", content)
    with pytest.raises(ValueError, match=message):
        texts(path)


def test_json_arrays_of_any_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformers.text.files.decoded_blocks.BLOCK", 3)
    assert texts(write_packed(tmp_path / "a.json", json.dumps(ROWS, indent=1))) == TEXTS


@pytest.mark.parametrize(
    "content", [table(PLAIN, "\t", csv.QUOTE_ALL), 'id\ttext\n0\tone\n1\tsay "two\n2\t"three"\n3\tfour\n']
)
def test_quotes_of_a_tsv_are_text_unless_the_file_quotes(tmp_path, content):
    assert texts(write_packed(tmp_path / "a.tsv", content)) == [row["text"] for row in PLAIN]


def test_a_tsv_that_quotes_behind_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformers.text.files.separated.SAMPLE", 40)
    content = table([{"id": "1", "text": 'a "b"\nc'}] * 20, "\t")
    assert texts(write_packed(tmp_path / "a.tsv", content)) == ['a "b"\nc'] * 20
    assert has_quotes(QUOTED, is_whole=False) and not has_quotes(QUOTED)


def test_rows_of_old_macs(tmp_path):
    table = open_separated(write_packed(tmp_path / "a.csv", "text,id\ra,1\rb,2\r"), ".csv")
    assert [row for _, row in table.rows] == [["text", "id"], ["a", "1"], ["b", "2"]]


def test_lines_are_documents(tmp_path):
    path = write_packed(tmp_path / "names.txt.gz", "\ufeffAnna\r\n\n Bob \nEve")
    sections = list(TextFiles(path, lines=True).sections(1000))
    assert [section.text for section in sections] == ["Anna", " Bob ", "Eve"]
    assert [section.line for section in sections] == [1, 3, 4] and all(section.ends_document for section in sections)
    assert "".join(TextFiles(path)) == "Anna\r\n\n Bob \nEve"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\nThe fox.\n".encode("utf-16"), "begins with a byte order mark of UTF-16"),
        ("text\nThe fox.\n".encode("utf-16-le"), "The whole file is text in 'utf-16-le'"),
        (b"te\0xt\nThe fox.\n", "line 1: a zero byte"),
        (b"\x1f\x8b\x08" + bytes(9), "compressed by gzip: name it .gz"),
    ],
)
def test_a_table_whose_header_cannot_be_read_is_not_an_empty_one(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "other.csv").write_text("text\nThe dog.\n")
    with pytest.raises(ValueError, match=message):
        TextFiles(tmp_path)


def test_fields_of_objects_within_objects(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"page": {"body": {"text": "The fox."}}}\n')
    assert texts(path, field="page.body.text") == ["The fox."]
    with pytest.raises(ValueError, match=r"no 'page\.body\.title'"):
        TextFiles(path, field="page.body.title")


@pytest.mark.parametrize("line", ['{"a": {"b": "one", "b": "two"}}', '{"a": {"b": "one"}, "a": {"b": "two"}}'])
def test_a_key_that_an_object_within_has_twice(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(ValueError, match=r"line 1: the object has '[ab]' more than once"):
        TextFiles(tmp_path / "a.jsonl", field="a.b")


def test_columns_of_parquet_of_one_name(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table([["one"], ["two"]], names=["text", "text"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="2 columns are named 'text'"):
        TextFiles(tmp_path / "a.parquet")


@pytest.mark.parametrize("ends", ["\n", ""])
def test_lines_of_many_blocks(tmp_path, monkeypatch, ends):
    monkeypatch.setattr("keras_transformers.text.files.decoded_blocks.BLOCK", 3)
    path, text = tmp_path / "a.txt", "a long\r\nline\rof many\n\nblocks\r\r\nand its last\r"
    path.write_bytes(text.encode())
    assert list(lines_of(path, "utf-8", ends=ends)) == list(io.StringIO(text, newline=ends))


@pytest.mark.parametrize("name", ["a.tmx", "a.TMX.gz"])
def test_a_translation_memory_is_no_text(tmp_path, name):
    path = write_packed(tmp_path / name, "<tmx><body/></tmx>")
    with pytest.raises(ValueError, match=r"is a translation memory, .* give it as --pairs"):
        TextFiles(path)
