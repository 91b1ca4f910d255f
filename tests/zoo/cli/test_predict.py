"""`predict`."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command_line import LABELS, ROWS, fail, invoke, run

from keras_transformers.tasks.vectors.quantized import quantize, vector_ranges
from zoo.cli.predict import columns_of

pytestmark = pytest.mark.usefixtures("loaded_once")


def json_lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.integration
def test_predict_takes_arguments_lines_and_files(folders, table):
    model, texts = folders["classification"], list(LABELS)
    answers = json_lines(run("predict", model, *texts))
    assert [answer["text"] for answer in answers] == texts
    assert {answer["label"] for answer in answers} <= {"bad", "good"}
    assert answers == json_lines(run("predict", model, stdin="\r\n".join(texts)))
    assert answers == json_lines(run("predict", model, "--file", table("rows.tsv", ROWS), "--text", "0"))
    one_by_one = json_lines(run("predict", model, *texts, "--batch-size", "1"))
    assert [answer["label"] for answer in one_by_one] == [answer["label"] for answer in answers]


@pytest.mark.integration
def test_verbs_read_other_encodings(folders, tmp_path):
    text, encoding = "a fine film – größer", ("--encoding", "cp1252")
    (tmp_path / "rows.csv").write_bytes(f"text,label\n{text},good\na dull book,bad\n".encode("cp1252"))
    (tmp_path / "lines.txt").write_bytes(f"{text}\n".encode("cp1252"))
    model = folders["classification"]
    for given in ({"file": "rows.csv"}, {"file": "lines.txt", "stdin": True}):
        path = tmp_path / given["file"]
        done = (
            run("predict", model, *encoding, stdin=path.read_bytes())
            if "stdin" in given
            else run("predict", model, "--file", path, *encoding)
        )
        assert json_lines(done)[0]["text"] == text
    report = json.loads(run("evaluate", model, "--data", tmp_path / "rows.csv", "--json", *encoding))
    assert report["classes"]["good"]["support"] == 1
    lines = ("generate", folders["causal_lm"], "--file", tmp_path / "lines.txt", "--max-new-tokens", 1)
    assert run(*lines, *encoding).startswith(text)
    (tmp_path / "one.txt").write_bytes(b"a fine d\xe9")
    lines = (*lines[:3], tmp_path / "one.txt", *lines[4:])
    assert run(*lines, "--errors", "replace").startswith("a fine d\ufffd")
    for command in (lines, ("evaluate", model, "--data", tmp_path / "rows.csv")):
        assert "--encoding cp1252" in fail(*command)[1]


@pytest.mark.integration
def test_predict_takes_pairs(folders, table):
    file = table("pairs.jsonl", [{"q": "a fine film", "a": "the day"}])
    (answer,) = json_lines(run("predict", folders["classification"], "--file", file, "--text", "q", "--text-pair", "a"))
    assert (answer["text"], answer["text_pair"]) == ("a fine film", "the day")


@pytest.mark.integration
def test_predict_fills_gaps(folders):
    (answer,) = json_lines(run("predict", folders["pretraining"], "a [MASK] film"))
    assert len(answer["fills"][0]) == 5


@pytest.mark.integration
def test_predict_prints_json_for_what_cannot_be_answered(folders):
    blank = json.loads(run("predict", folders["seq2seq_lm"], " "), parse_constant=pytest.fail)
    assert blank["score"] == 0 and blank["error"].startswith("The text is blank")


@pytest.mark.integration
def test_predict_takes_pairs_and_choices_as_arguments(folders, tmp_path):
    import zoo

    for task in ("ranking", "multiple_choice"):
        zoo.load(folders["masked_lm"], task).save(tmp_path / task)
    pairs = json_lines(run("predict", tmp_path / "ranking", "a fine film", "the day", "a song", "the play"))
    assert [(pair["text"], pair["text_pair"]) for pair in pairs] == [("a fine film", "the day"), ("a song", "the play")]
    assert all("score" in pair for pair in pairs)
    (answer,) = json_lines(run("predict", tmp_path / "multiple_choice", "a fine", "film", "day", "book"))
    assert answer["text_pair"] == ["film", "day", "book"] and len(answer["probabilities"]) == 3
    assert "received one text" in fail("predict", tmp_path / "multiple_choice", "a fine")[1]


@pytest.mark.integration
def test_predict_takes_a_task(folders):
    (answer,) = json_lines(run("predict", folders["masked_lm"], "a film", "--task", "sentence_embedding"))
    assert len(answer["embedding"]) == 16


@pytest.mark.integration
def test_predict_writes_a_table(folders, table, tmp_path):
    out = tmp_path / "answers.csv"
    assert run("predict", folders["classification"], "--file", table("rows.csv", ROWS), "--out", out) == ""
    rows = [*csv.DictReader(out.open(encoding="utf-8", newline=""))]
    assert [row["text"] for row in rows] == list(LABELS)
    assert [*rows[0]] == ["text", "label", "probabilities.bad", "probabilities.good", "truncated"]
    assert all(len(row["probabilities.bad"]) <= 6 for row in rows)
    assert "one of the files to read" in fail("predict", folders["classification"], "--file", out, "--out", out)[1]


@pytest.mark.integration
def test_predict_keeps_the_answers_before_a_broken_row(folders, tmp_path):
    file, out = tmp_path / "rows.csv", tmp_path / "answers.csv"
    file.write_text("text\n" + "a fine film\n" * 6 + "one,two\n")
    result = invoke("predict", folders["classification"], "--file", file, "--out", out, "--batch-size", "2")
    assert result.exit_code == 2 and f"{file}, line 8: 2 fields" in result.stderr
    (partial,) = tmp_path.glob("answers.csv*")
    assert partial != out and f"The answers so far are in {partial}." in result.stderr
    assert len(partial.read_text().splitlines()) == 5  # a header, and the first chunk: two batches


def test_columns_keep_no_row_that_all_have_given():
    class Text(str):
        living = 0

        def __init__(self, _):
            Text.living += 1

        def __del__(self):
            Text.living -= 1

    rows, texts = columns_of((Text(number),) for number in range(2000))
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        assert row == (text,)
        assert Text.living < 200, number


@pytest.mark.integration
def test_predict_takes_labels_of_the_user(folders, table, tmp_path):
    import zoo

    zoo.load(folders["masked_lm"], "classification", labels=["entailment", "not_entailment"]).save(tmp_path / "nli")
    options = ("--labels", "film, day,,book", "--template", "It is a {}.")
    answers = json_lines(run("predict", tmp_path / "nli", *LABELS, *options))
    assert [answer["text"] for answer in answers] == list(LABELS)
    assert all([*answer["probabilities"]] == ["film", "day", "book"] for answer in answers)
    assert answers == json_lines(run("predict", tmp_path / "nli", "--file", table("rows.csv", ROWS), *options))
    several = json_lines(run("predict", tmp_path / "nli", *LABELS, *options, "--multi-label", "--batch-size", "2"))
    assert all({"labels", "probabilities"} <= answer.keys() for answer in several)
    assert "labels ['bad', 'good']" in fail("predict", folders["classification"], "a film", *options)[1]
    for other in (("a",), ("a", "b", "--task", "ranking")):
        refused = fail("predict", folders["masked_lm"], *other, *options)[1]
        assert "--labels need a classifier: received a model for" in refused


ODD_LABELS = {
    ("--labels", " , "): "--labels must be different names, separated by commas",
    ("--labels", "a,b, a"): "--labels must be different names, separated by commas: received 'a,b, a'",
    ("--template", "{}"): "give --labels too",
    ("--multi-label",): "give --labels too",
    ("--labels", "a", "--text-pair", "b"): "leave --text-pair out",
}


@pytest.mark.parametrize(("options", "message"), ODD_LABELS.items())
def test_labels_that_predict_refuses(options, message):
    assert message in fail("predict", "minilm_mini_en", "a text", *options)[1]


@pytest.fixture(scope="module")
def vectors(folders, tmp_path_factory):
    """A folder of sentence-transformers with prompts, and its task."""
    import zoo

    folder = tmp_path_factory.mktemp("vectors") / "model"
    task = zoo.load(folders["masked_lm"], "sentence_embedding", prompts={"query": "the ", "passage": "a dull "})
    task.save(folder)
    return folder, task


@pytest.mark.integration
def test_predict_takes_a_prompt_a_width_and_a_precision(vectors, tmp_path):
    folder, task = vectors
    texts, file = list(LABELS), tmp_path / "ranges.json"
    options = ("--prompt", "query", "--truncate-dim", "12")
    expected = task.embed(texts, prompt="query", truncate_dim=12)
    found = [answer["embedding"] for answer in json_lines(run("predict", folder, *texts, *options))]
    np.testing.assert_allclose(found, expected, rtol=1e-3)  # of four digits
    ranges = vector_ranges(np.concatenate([expected - 0.01, expected + 0.01]))  # no number is at a border
    file.write_text(json.dumps(ranges.tolist()))
    for precision in ("int8", "uint8", "binary", "ubinary"):
        of_ranges = ("--ranges", file) if precision.endswith("int8") else ()
        chunks = run("predict", folder, *texts, *options, "--precision", precision, *of_ranges, "--batch-size", "2")
        answers = json_lines(chunks)
        packed = quantize(expected, precision, ranges if of_ranges else None)
        assert [answer["embedding"] for answer in answers] == packed.tolist()
        assert [*answers[0]] == ["text", "embedding", "truncated"]


@pytest.mark.integration
def test_predict_prints_the_likeliest_labels(folders, table, tmp_path):
    import zoo

    model, texts = folders["classification"], list(LABELS)
    whole = json_lines(run("predict", model, *texts))
    answers = json_lines(run("predict", model, *texts, "--top", "1"))
    assert [{**row["probabilities"]} for row in answers] == [
        {row["label"]: row["probabilities"][row["label"]]} for row in whole
    ]
    assert json_lines(run("predict", model, *texts, "--top", "9")) == whole
    file = table("pairs.jsonl", [{"q": "a fine film", "a": "the day"}])
    (pair,) = json_lines(run("predict", model, "--file", file, "--text", "q", "--text-pair", "a", "--top", "1"))
    assert len(pair["probabilities"]) == 1
    run("predict", model, *texts, "--top", "1", "--out", tmp_path / "top.csv")
    with open(tmp_path / "top.csv", newline="") as written:
        rows = [*csv.DictReader(written)]
    assert [json.loads(row["probabilities"]) for row in rows] == [row["probabilities"] for row in answers]
    assert [*rows[0]] == ["text", "label", "probabilities", "truncated"]
    numbers = zoo.load(folders["masked_lm"], "classification", labels=["stars"], problem="regression")
    numbers.save(tmp_path / "numbers")
    nli = zoo.load(folders["masked_lm"], "classification", labels=["entailment", "other"])
    nli.save(tmp_path / "nli")
    for folder, options, message in (
        (folders["masked_lm"], (), "--top is for the labels of a classifier: received it for masked_lm"),
        (tmp_path / "nli", ("--labels", "film, day"), "received it for labels that are given. Leave it out."),
        (tmp_path / "numbers", (), "a regression has scores: received 3"),
    ):
        assert message in fail("predict", folder, "a film", "--top", "3", *options)[1]
    assert "Invalid value for '--top'" in fail("predict", model, "a film", "--top", "0")[1]


@pytest.mark.integration
def test_predict_prints_sparse_vectors(folders, tmp_path):
    import zoo

    sparse = {"pooling": "max", "activation": "relu"}
    task = zoo.load(folders["masked_lm"], "sentence_embedding", sparse=sparse)
    task.save(tmp_path / "model")
    texts = list(LABELS)
    for answer, expected in zip(
        json_lines(run("predict", tmp_path / "model", *texts)), task.predict(texts), strict=True
    ):
        assert answer["tokens"] == expected["tokens"] and answer["token_ids"] == expected["token_ids"].tolist()
        np.testing.assert_allclose(answer["weights"], expected["weights"], rtol=1e-3)
    for precision in ("binary", "ubinary"):
        said = fail("predict", tmp_path / "model", "a film", "--precision", precision)[1]
        assert "--precision is for dense vectors: received a model with sparse vectors. Leave it out." in said


@pytest.mark.integration
def test_predict_compares_pairs_with_a_prompt(vectors, table):
    folder, task = vectors
    file = table("pairs.jsonl", [{"q": "a fine film", "a": "the day"}])
    pair = ("--file", file, "--text", "q", "--text-pair", "a")
    (answer,) = json_lines(run("predict", folder, *pair, "--prompt", "passage", "--truncate-dim", "4"))
    one, other = task.embed(["a fine film", "the day"], prompt="passage", truncate_dim=4)
    assert answer["similarity"] == pytest.approx(one @ other / np.linalg.norm(one) / np.linalg.norm(other), rel=1e-3)


@pytest.mark.integration
def test_predict_refuses_options_of_vectors_that_do_not_fit(vectors, folders, tmp_path):
    folder, _ = vectors
    wide = tmp_path / "ranges.json"
    wide.write_text("[[0.0, 0.0], [1.0, 1.0]]")
    for model, options, message in (
        (folder, ("--prompt", "document"), "default_prompt must be one of ['passage', 'query']: received 'document'"),
        (folder, ("--truncate-dim", "17"), "truncate_dim must be in [1, 16]"),
        (folder, ("--precision", "int8", "--ranges", wide), "of each of 16 numbers"),
        (folders["masked_lm"], ("--precision", "binary"), "received a model for masked_lm"),
        (
            folders["masked_lm"],
            ("--prompt", "query"),
            "default_prompt belongs to --task ranking or ",
        ),
    ):
        assert message in fail("predict", model, "a film", *options)[1]


ODD_PRECISIONS = {
    ("--precision", "int4"): "precision must be one of",
    ("--precision", "int8"): "--precision int8 needs --ranges",
    ("--precision", "binary", "--ranges", "pyproject.toml"): "ranges are for int8 and uint8",
    ("--precision", "uint8", "--ranges", "nothing.json"): "nothing.json: there is no such file",
    ("--precision", "uint8", "--ranges", "pyproject.toml"): "pyproject.toml",
    ("--precision", "binary", "--text-pair", "b"): "leave --text-pair out",
}


@pytest.mark.parametrize(("options", "message"), ODD_PRECISIONS.items())
def test_precisions_that_predict_refuses(options, message):
    assert message in fail("predict", "minilm_mini_en", "a text", *options)[1]
