import csv

import pytest
from packing import ENDINGS, write_packed

from keras_transformers.data.sources.text_tables import Table, check_columns, place_of, read_rows, read_table


@pytest.fixture
def write(tmp_path):
    def make(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def test_csv_with_quotes_byte_order_mark_and_windows_line_ends(write):
    path = write("a.csv", '\ufefftext,label\r\n"a, ""b""\nc",x\r\n\r\nd,y\r\n')
    assert read_table(path, label="label") == Table(['a, "b"\nc', "d"], None, ["x", "y"])


def test_tsv_knows_no_quotes_and_columns_by_number(write):
    path = write("a.tsv", 'say "hi\t1\n"bye" now\t0\n')
    assert read_table(path, text=0, label=1) == Table(['say "hi', '"bye" now'], None, ["1", "0"])


@pytest.mark.parametrize("name", ["a.CSV", "a.Tsv", "a.JSONL"])
def test_endings_in_capitals(write, name):
    contents = {"csv": 'text\n"a,\tb"\n', "tsv": 'text\n"a\n', "jsonl": '{"text": "c"}'}
    expected = {"csv": "a,\tb", "tsv": '"a', "jsonl": "c"}
    kind = name[2:].lower()
    assert read_table(write(name, contents[kind])).texts == [expected[kind]]


def test_the_place_of_a_row(write):
    """Lines of a file are not its rows: quoted fields have several, and blank lines are no rows."""
    path = write("a.csv", 'text,label\n"a\nb",x\n\nc,y\n')
    assert [place_of(path, "text", row).partition(", ")[2] for row in (1, 2)] == ["row 1 (line 3)", "row 2 (line 5)"]
    assert place_of(write("b.jsonl", '\n{"text": "a"}'), "text", 1).endswith("b.jsonl, row 1 (line 2)")
    assert place_of(write("c.tsv", "a\tb\n"), 0, 1).endswith("c.tsv, row 1 (line 1)")


@pytest.mark.parametrize("delimiter", ";\t")
def test_csv_parted_by_semicolons_or_tabs(write, delimiter):
    path = write("a.csv", f'text{delimiter}label\n"a{delimiter}b"{delimiter}x\n')
    assert read_table(path, label="label") == Table([f"a{delimiter}b"], None, ["x"])


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.ndjson", "a.json"])
def test_every_format_compressed(tmp_path, name, ending):
    content = {"csv": "text,label\na,x\n", "tsv": "text\tlabel\na\tx\n"}.get(name[2:], '{"text": "a", "label": "x"}\n')
    path = write_packed(tmp_path / f"{name}{ending}", content)
    assert read_table(path, label="label") == Table(["a"], None, ["x"])
    check_columns(path, ["text"])
    assert place_of(path, "text", 1).startswith(f"{path}, row 1 (")


def test_parquet(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a", "b"], "label": [1, 0]}), tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet", label="label") == Table(["a", "b"], None, [1, 0])
    assert place_of(tmp_path / "a.parquet", "text", 2) == f"{tmp_path}/a.parquet, row 2"
    with pytest.raises(ValueError, match="no column 'body'; the file has 'text', 'label'"):
        read_table(tmp_path / "a.parquet", "body")


def test_other_encodings(write):
    path = write("a.csv", "text\nZürich\n".encode("cp1252"))
    assert read_table(path, encoding="cp1252").texts == ["Zürich"]
    assert read_table(path, errors="replace").texts == ["Z\ufffdrich"]
    with pytest.raises(ValueError, match="Received encoding='utf-9'"):
        read_table(path, encoding="utf-9")


def test_pairs(write):
    path = write("a.tsv", "label\tone\ttwo\n0\ta\tb\n")
    assert read_table(path, "one", "two", "label") == Table(["a"], ["b"], ["0"])


def test_json_lines_keep_the_type_of_labels(write):
    path = write("a.jsonl", '{"text": "a\u2028b", "label": [0, 1]}\n\n{"label": [1, 1], "text": "c"}\r\n')
    assert read_table(path, label="label") == Table(["a\u2028b", "c"], None, [[0, 1], [1, 1]])


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("a.csv", "text,label\na,b,c\n", {}, "line 2: 3 fields; expected 2"),
        ("a.tsv", "a\tb\nc\n", {"text": 0}, "line 2: 1 fields; expected 2"),
        ("a.csv", "txt,label\na,b\n", {}, "line 1: no column 'text'; the file has 'txt', 'label'"),
        ("a.csv", "a,b\n", {"text": 0, "label": 2}, "no column 2; the file has 0, 1"),
        ("a.csv", 'text\n"a\n', {}, "line 2: a quote .* opens here and is never closed"),
        (
            "a.csv",
            'text\na\n\n"b\nc\nd\n',
            {},
            "line 4: a quote .* opens here and is never closed. Close it, or double",
        ),
        ("a.csv", 'text\n"b\nc "d" e\n', {}, "line 3, in the row that begins in line 2: ',' expected after"),
        ("a.CSV", "txt;label\na;b\n", {}, "no column 'text'; the file has 'txt', 'label'"),
        ("a.csv", "txt\tlabel\na\tb\n", {}, "no column 'text'; the file has 'txt', 'label'"),
        ("a.csv", "a;b\nc,d\n", {"text": 0}, "line 2: 2 fields; expected 1"),
        ("a.csv", "text,label\na;b\n", {}, "line 2: 1 fields; expected 2 .* separated by semicolons"),
        (
            "a.csv",
            'text,label\n"a", "b, c"\n',
            {},
            "line 2: 3 fields; .* No space may occur between a comma and a quote",
        ),
        (
            "a.csv",
            "words,tag\na,b\n",
            {},
            "the file has 'words', 'tag'. Name the columns: text= and label=",
        ),
        ("a.csv", "text\n", {}, "no rows"),
        ("a.csv", "", {}, "no rows"),
        ("a.csv", b"text\nok\n\xe9t\xe9\n", {}, "line 3, byte 8: 0xe9 cannot be decoded as utf-8"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', {}, "line 2: not JSON"),
        ("a.jsonl", '{"text": "a", "n": ' + "9" * 5_000 + "}", {}, r"a\.jsonl, line 1: .*4300 digits"),
        ("a.jsonl", '\n{"text": ' + "[" * 200_000 + "]" * 200_000 + "}", {}, r"a\.jsonl, line 2: .*recursion"),
        ("a.jsonl", '["a"]\n', {}, "line 1: expected a JSON object"),
        ("a.jsonl", '{"text": "a"}\n{"txt": "a"}\n', {}, "line 2: no 'text'; the object has 'txt'"),
        ("a.jsonl", '{"text": "a"}\n{"text": null}\n', {}, "row 2 .line 2.: 'text' is None; expected a string"),
        ("a.xlsx", "", {}, r"\.csv, \.tsv, \.jsonl"),
        ("a.csv", "text\na\n", {"text": "text", "label": 1}, "all names .* or all numbers"),
        ("a.csv", "text,label,text\na,b,c\n", {"label": "label"}, "line 1: 2 columns are named 'text'"),
        ("a.tsv", "label\ttext\tlabel\na\tb\tc\n", {"label": "label"}, "line 1: 2 columns are named 'label'"),
        ("a.jsonl", '{"text": "a"}\n{"text": "b", "text": "c"}\n', {}, "line 2: the object has 'text' more than once"),
    ],
)
def test_errors(write, name, content, columns, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(name, content), **columns)


def test_columns_that_nobody_asks_for_may_have_one_name(write):
    assert read_table(write("a.csv", "text,x,x\na,b,c\n")).texts == ["a"]
    assert read_table(write("a.jsonl", '{"text": "a", "x": 1, "x": 2}\n')).texts == ["a"]
    assert read_table(write("a.jsonl", '{"text": "a", "x": {"text": 1, "text": 2}}\n')).texts == ["a"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_long_field(write, name):
    """The library's own limit is 131,072 characters, and one for the whole process: it is as it was afterwards."""
    limit, text = csv.field_size_limit(), "a" * 200_000
    assert read_table(write(name, f"text\n{text}\n")).texts == [text]
    assert csv.field_size_limit() == limit
    with pytest.raises(ValueError, match="line 2: 2 fields"):
        read_table(write(name, f"text\n{text},\t\n"))
    assert csv.field_size_limit() == limit


def test_missing_file(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read_table(tmp_path / "none.csv")


@pytest.mark.data
def test_shared_data_sets(data_dir):
    sst2 = read_table(data_dir / "sst2" / "train.tsv", text=0, label=1)
    assert len(sst2.texts) == 6920 and set(sst2.labels) == {"0", "1"}
    banking = read_table(data_dir / "banking77" / "train.csv", label="category")
    assert len(banking.texts) == 10003 and len(set(banking.labels)) == 77


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"text\na\nb\nc,d\n", "line 4: 2 fields"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "b"}\n[]\n', "line 3: expected a JSON object"),
        ("a.csv", b"text\na\nb\n" + b"\xe9\n" * 9, "line 4, byte"),
    ],
)
def test_rows_before_a_fault_are_read(write, name, content, message):
    content = (
        content.replace(b"b\n", b"b\n" * 9000, 1) if b"\xe9" in content else content
    )  # a file is decoded in blocks
    path = write(name, content)
    check_columns(path, ["text"])
    rows = read_rows(path, ["text"])
    assert [next(rows), next(rows)] == [["a"], ["b"]]
    with pytest.raises(
        ValueError, match=message.replace("line 4, byte", "line 9,003, byte 18,007: 0xe9 cannot be decoded as utf-8")
    ):
        list(rows)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_a_header_that_is_read_as_a_row_is_told(write, name):
    sign = "," if name == "rows.csv" else "\t"
    path = write(name, f"Sentence{sign}label\na{sign}x\n")
    with pytest.warns(UserWarning, match=f"{name}: its first row, 'Sentence', 'label', looks like a header"):
        assert read_table(path, 0, label=1).texts == ["Sentence", "a"]


@pytest.mark.parametrize(("sign", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_columns_by_number_that_are_not_parted_by_commas(write, sign, name):
    path = write("rows.csv", f"a{sign}b\n\nc{sign}d\ne{sign}f\n")
    with pytest.raises(ValueError, match=rf"rows\.csv: all lines have 1 {name} and no commas"):
        read_table(path, 0)
    assert read_table(write("rows.csv", "a; b\nc\nd; e; f\n"), 0).texts == ["a; b", "c", "d; e; f"]
    assert read_table(write("rows.csv", '"a; b"\n"c; d"\n"e; f"\n'), 0).texts == ["a; b", "c; d", "e; f"]
