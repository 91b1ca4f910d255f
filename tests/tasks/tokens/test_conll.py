"""CoNLL, CoNLL-U and JSON lines: what is read, and where an error is."""

from __future__ import annotations

import json

import pytest

from keras_transformers.tasks.tokens.conll import read_annotated, read_conll


@pytest.fixture
def write(tmp_path):
    def make(content, name="rows.conll"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_tabs_or_spaces(write, end):
    for tab in ("\t", " ", "   "):
        lines = f"Ann{tab}NNP{tab}B-x\nleft{tab}VBD{tab}O\n\n\nHi{tab}UH{tab}O".replace("\n", end)
        assert read_conll(write(lines)) == ([["Ann", "left"], ["Hi"]], [["B-x", "O"], ["O"]])
        assert read_conll(write(lines), 1)[1] == [["NNP", "VBD"], ["UH"]]


def test_what_is_no_word(write):
    """A byte order mark, the start of a document, comments, lines of white space; but "#" may be a word."""
    lines = "\ufeff-DOCSTART- -X- O\n\n# id 7 domain=news\nAnn _ B-x\n# _ O\n \t\n# a new one\n# _ O\nHi _ O\n"
    assert read_conll(write(lines)) == ([["Ann", "#"], ["#", "Hi"]], [["B-x", "O"], ["O", "O"]])
    assert read_conll(write("#\tO\n#now\tO\n\n#\tO")) == ([["#", "#now"], ["#"]], [["O", "O"], ["O"]])


def test_odd_characters_are_words(write):
    """Unicode knows more line ends and spaces than a file of rows does."""
    words = ["\u2028", "\u00a0", "a\u3000b", "\u200d", "\x1c"]
    assert read_conll(write("".join(f"{word} O\n" for word in words))) == ([words], [["O"] * 5])
    assert read_conll(write("10 000\tO")) == ([["10 000"]], [["O"]])


CONLLU = """# sent_id = 1
# text = Don't go!
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	VB	_	3	aux	_	_
2	n't	not	PART	RB	_	3	advmod	_	_
2.1	you	you	PRON	PRP	_	_	_	_	_
3	go	go	VERB	VB	_	0	root	_	SpaceAfter=No

# sent_id = 2
1	10 000	10000	NUM	CD	_	0	root	_	_
2	#	#	SYM	#	_	1	dep	_	_
"""


def test_conllu(write):
    path = write(CONLLU, "rows.conllu")
    words, labels = read_conll(path)
    assert words == [["Do", "n't", "go"], ["10 000", "#"]]
    assert labels == [["AUX", "PART", "VERB"], ["NUM", "SYM"]]
    assert read_annotated(write(CONLLU, "ROWS.CONLLU")) == (words, labels)
    assert read_conll(path, "xpos")[1] == read_conll(path, 4)[1] == [["VB", "RB", "VB"], ["CD", "#"]]


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        ("Ann\tO\nleft\n", None, r"line 2: 1 columns; expected 2: \['left'\]"),
        ("Ann\tO\nleft\t\n", None, "line 2: 1 columns"),
        ("Ann\tx\tO\nleft\t\tO\n", 1, "line 2: the label is empty"),
        ("Ann\tO\n\nleft x O\n", None, "line 3: 3 columns; expected 2"),
        ("Ann\nleft\n", None, "the first row has one column; expected a word and its label"),
        ("Ann\tO\n", 2, "no column 2 of labels; expected a number from 1 to 1"),
        ("Ann\tO\n", 0, "no column 0"),
        ("Ann\tO\n", "ner", "no column 'ner'"),
        ("Ann\tO\n", 1.0, "no column 1.0"),
        ("Ann\tO\n", True, "no column True"),
        ("", None, "no rows"),
        ("\n# only this\n\n", None, "no rows"),
        (b"Ann\tO\n\xff\tO\n", None, "line 2, byte 6: 0xff cannot be decoded as utf-8"),
    ],
)
def test_errors_of_conll(write, content, column, message):
    with pytest.raises(ValueError, match=message):
        read_conll(write(content), column)


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        (CONLLU.replace("\tgo\tVERB", "\tVERB"), None, "line 7: 9 columns; expected 10"),
        (CONLLU.replace("\tVERB", "\t"), None, "line 7: the label is empty"),
        ("# sent_id = 1\n\n" + CONLLU, None, "line 2: the sentence before has no words"),
        (CONLLU.replace("1-2\t", "\n1-2\t"), None, "line 3: the sentence before has no words"),
        (CONLLU, "ner", "no column 'ner' of labels; expected one of id, form, lemma, upos"),
        (CONLLU, 10, "no column 10"),
        (CONLLU, 1.0, "no column 1.0"),
        ("Ann\tB-x\n", None, "line 1: expected a row of CoNLL-U, which begins with a number"),
    ],
)
def test_errors_of_conllu(write, content, column, message):
    with pytest.raises(ValueError, match=message):
        read_conll(write(content, "rows.conllu"), column)


@pytest.mark.parametrize("content", ['[{"text": "a", "entities": []}]', '{"words": ["a"], "labels": ["O"]}'])
def test_json_is_no_conll(write, content):
    with pytest.raises(
        ValueError, match=r"line 1: JSON, where CoNLL was expected. Write one object a line into .*jsonl"
    ):
        read_conll(write(content + "\n"))


def test_a_comment_may_have_a_tab(write):
    assert read_conll(write("# text = a\tb\na\tO\n")) == ([["a"]], [["O"]])
    assert read_conll(write("# a\tb\tc\na\tO\n")) == ([["a"]], [["O"]])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="there is no such file"):
        read_conll(tmp_path / "none.conll")


ENTITY = {"start": 0, "end": 3, "label": "x"}


def test_json_lines(write):
    rows = [{"text": "Ann left", "entities": [ENTITY], "id": 7}, {"words": ["Hi"], "labels": ["O"]}]
    path = write("\n\n".join(json.dumps(row) for row in rows), "rows.jsonl")
    assert read_annotated(path) == (["Ann left", ["Hi"]], [[(0, 3, "x")], ["O"]])
    assert read_annotated(write("Ann\tB-x\n", "rows.annotated")) == ([["Ann"]], [["B-x"]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "line 2: not JSON"), ("[]", "expected a JSON object"),
        ('{"text": "a", "text": "b"}', "has 'text' more than once"), ('{"text": "a"}', "the line has text"),
        ('{"words": ["a"], "text": "a"}', "the line has words, text"), ('{"text": 1, "entities": []}', "'text' is 1"),
        ('{"text": "a", "entities": {}}', "'entities' is {}; expected a list of objects"),
        ('{"words": ["a"], "labels": [1]}', "'labels' is .*; expected a list of strings"),
        ('{"text": "a", "entities": [{"start": 0, "end": 1}]}', "an entity is"),
        ('{"text": "a", "entities": [{"start": true, "end": 1, "label": "x"}]}', "an entity is"),
    ],
)  # fmt: skip
def test_errors_of_json_lines(write, row, message):
    first = json.dumps({"text": "Ann", "entities": []})
    with pytest.raises(ValueError, match=message):
        read_annotated(write(f"{first}\n{row}\n", "rows.jsonl"))


def test_formats_that_are_refused(write):
    with pytest.raises(ValueError, match="expected CoNLL"):
        read_annotated(write("text,label\na,b\n", "rows.csv"))
    with pytest.raises(ValueError, match="which have no column 1"):
        read_annotated(write("{}", "rows.jsonl"), 1)


def test_without_labels(write):
    assert read_annotated(write("Ann\nleft\n\nHi\n"), labelled=False) == ([["Ann", "left"], ["Hi"]], None)
    assert read_annotated(write(CONLLU, "a.conllu"), labelled=False)[0][1] == ["10 000", "#"]
    rows = [{"text": "Ann left"}, {"words": ["Hi"]}]
    path = write("\n".join(json.dumps(row) for row in rows), "rows.jsonl")
    assert read_annotated(path, labelled=False) == (["Ann left", ["Hi"]], None)


PUBLISHED = {
    "wnut17/wnut17train.conll": (3394, 62730, 1975), "wnut17/emerging.dev.conll": (1009, 15733, 836),
    "wnut17/emerging.test.annotated": (1287, 23394, 1079), "ud_ewt/en_ewt-ud-train.conllu": (12544, 204577, 0),
    "ud_ewt/en_ewt-ud-dev.conllu": (2001, 25147, 0), "ud_ewt/en_ewt-ud-test.conllu": (2077, 25094, 0),
}  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_real_files_have_the_published_numbers(data_dir, name):
    """Of sentences, words and entities: Derczynski et al. 2017, https://aclanthology.org/W17-4418; stats.xml of UD."""
    words, labels = read_annotated(data_dir / name)
    flat = [label for row in labels for label in row]
    assert (len(words), sum(map(len, words)), sum(label[:2] == "B-" for label in flat)) == PUBLISHED[name]
    assert len(set(flat)) == (13 if "wnut" in name else 17)
