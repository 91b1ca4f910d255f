"""Files in other encodings: the error names those that decode the whole file, and bad bytes with their place."""

import pytest

from keras_transformers.text.files.other_encodings import encodings_of
from keras_transformers.text.files.text_files import TextFiles

GERMAN = "Grüße aus Zürich, schöne Bäume und große Häuser.\n" * 5
TEXTS = {
    "cp1252": GERMAN,
    "cp1250": "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy.\n" * 5,
    "cp1251": "Привет, как дела? Сегодня хорошая погода.\n" * 5,
    "koi8-r": "Привет, как дела? Сегодня хорошая погода.\n" * 5,
    "cp866": "Привет, как дела? Сегодня хорошая погода.\n" * 5,
    "cp1253": "Καλημέρα, τι κάνεις σήμερα;\n" * 5,
    "shift_jis": "今日はとても良い天気ですね。散歩に行きましょう。\n" * 5,
    "euc_jp": "今日はとても良い天気ですね。散歩に行きましょう。\n" * 5,
    "iso2022_jp": "今日はとても良い天気ですね。散歩に行きましょう。\n" * 5,
    "gb18030": "今天天气很好，我们去散步吧。\n" * 5,
    "big5": "今天天氣很好，我們去散步吧。\n" * 5,
    "euc_kr": "오늘 날씨가 참 좋네요. 산책하러 갑시다.\n" * 5,
    "utf-16-le": GERMAN,
    "utf-16-be": "今天天气很好，我们去散步吧。\n" * 5,
    "utf-16": GERMAN,
    "utf-32": GERMAN,
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_error_names_an_encoding_with_which_the_file_is_read(tmp_path, encoding):
    (tmp_path / "a.txt").write_bytes(TEXTS[encoding].encode(encoding))
    with pytest.raises(ValueError, match=rf"a\.txt.*encoding='{encoding}'") as error:
        TextFiles(tmp_path / "a.txt")
    assert "latin" not in str(error.value).lower()
    assert "".join(TextFiles(tmp_path / "a.txt", encoding=encoding)) == TEXTS[encoding]


TABLES = {
    "a.csv": "id,text\n1,Zürich\n",
    "a.tsv": "text\nZürich\n",
    "a.jsonl": '{"text": "Zürich"}\n',
    "a.json": '[{"text": "Zürich"}]',
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(tmp_path, name):
    (tmp_path / name).write_bytes(TABLES[name].encode("cp1252"))
    with pytest.raises(
        ValueError, match=rf"{name}, line \d, byte \d+: 0xfc cannot be decoded as utf-8.*'cp1252' \(.*Zürich"
    ):
        "".join(TextFiles(tmp_path / name))
    assert "".join(TextFiles(tmp_path / name, encoding="cp1252")) == "Zürich"
    assert "".join(TextFiles(tmp_path / name, errors="replace")) == "Z\ufffdrich"


def test_one_bad_byte_in_good_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(GERMAN.encode() + b"bad \xff here\n" + GERMAN.encode())
    message = r"a\.txt, line 6, byte \d+: 0xff .*All else is utf-8, and only 1 place is not: .*errors='replace' reads"
    with pytest.raises(ValueError, match=message) as error:
        TextFiles(tmp_path / "a.txt")
    assert "cp125" not in str(error.value)
    assert "".join(TextFiles(tmp_path / "a.txt", errors="replace")) == f"{GERMAN}bad \ufffd here\n{GERMAN}"


def test_a_cut_character_at_the_end(tmp_path):
    (tmp_path / "a.txt").write_bytes(GERMAN.encode() + "ö".encode()[:1])
    assert "".join(TextFiles(tmp_path / "a.txt", errors="replace")) == f"{GERMAN}\ufffd"


def test_replacing_does_not_hide_another_encoding(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXTS["koi8-r"].encode("koi8-r"))
    with pytest.raises(ValueError, match=r"165 of 210 characters cannot be decoded as utf-8, too many .*: 'koi8-r'"):
        TextFiles(tmp_path / "a.txt", errors="replace")


def test_a_mark_of_another_encoding(tmp_path):
    (tmp_path / "a.txt").write_text("\ufeffZürich", encoding="utf-8")
    with pytest.raises(ValueError, match=r"byte order mark of UTF-8: expected cp1252"):
        TextFiles(tmp_path / "a.txt", encoding="cp1252")
    (tmp_path / "b.txt").write_bytes("\ufeffZürich".encode("utf-16-le"))
    assert "".join(TextFiles(tmp_path / "b.txt", encoding="utf-16-le")) == "Zürich"
    assert "".join(TextFiles(tmp_path / "a.txt", encoding="utf-8-sig")) == "Zürich"


@pytest.mark.parametrize(
    ("content", "advice"), [("你好，世界。\n".encode("utf-16-le"), "utf-16-le"), (b"plain", "utf-8")]
)
def test_utf16_without_its_mark(tmp_path, content, advice):
    (tmp_path / "a.txt").write_bytes(content * 50)
    with pytest.raises(ValueError, match=rf"a\.txt cannot be decoded as utf-16 \(.*BOM\).*'{advice}'"):
        TextFiles(tmp_path / "a.txt", encoding="utf-16")


@pytest.mark.parametrize(
    ("written", "read", "message"),
    [
        ("utf-8", "cp1252", r"a\.txt is read as cp1252, and is text in 'utf-8', too, with 'Grüße,': check encoding="),
        ("utf-8", "gbk", "a.txt is read as gbk, and is text in 'utf-8'"),
        ("cp1252", "latin-1", r"a\.txt: iso8859-1 makes a control character of 0x84, which is '„' in 'cp1252'"),
    ],
)
def test_an_encoding_that_decodes_and_is_wrong(tmp_path, written, read, message):
    (tmp_path / "a.txt").write_bytes("Grüße, „so“ sagt er’s.\n".encode(written) * 4)
    with pytest.warns(UserWarning, match=message):
        TextFiles(tmp_path / "a.txt", encoding=read, errors="replace")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-8", "gbk"])
def test_an_encoding_that_is_right(tmp_path, encoding):
    text = "你好，世界。\n" if encoding == "gbk" else GERMAN
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    assert "".join(TextFiles(tmp_path / "a.txt", encoding=encoding)) == text


@pytest.mark.parametrize("content", [b"", b"\x81\x8d\xff\xfe\xc0" * 99, b"\xff"])
def test_no_encoding_and_hostile_bytes(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    assert "latin-1" not in encodings_of(tmp_path / "a.txt")


def test_errors_are_checked(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(ValueError, match=r"Received errors='ignore': expected 'strict'.* or 'replace'"):
        TextFiles(tmp_path / "a.txt", errors="ignore")


def test_colours_of_a_terminal_are_text(tmp_path):
    (tmp_path / "a.log").write_text("\x1b[31mred\x1b[0m $\n")
    assert "".join(TextFiles(tmp_path / "a.log")) == "\x1b[31mred\x1b[0m $\n"


@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp"])
def test_japanese_is_not_taken_for_another_language(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes(("すべての幸福な家庭は互いに似ている。不幸な家庭はそれぞれに不幸である。\n" * 20).encode(encoding))
    assert encodings_of(path)[0] == encoding


def test_single_zero_bytes_are_not_taken_for_utf16(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"The fox ran far.\0\n")
    with pytest.raises(ValueError, match="a zero byte") as error:
        TextFiles(tmp_path / "a.txt")
    assert "utf-16" not in str(error.value)
    (tmp_path / "a.txt").write_bytes("Все счастливые семьи похожи друг на друга.\n".encode("utf-16-be"))
    with pytest.raises(ValueError, match="The whole file is text in 'utf-16-be'"):
        TextFiles(tmp_path / "a.txt")
