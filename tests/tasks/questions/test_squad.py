"""Files in the format of SQuAD: what is read, and where an error is."""

from __future__ import annotations

import json

import pytest
import questions

from keras_transformers.tasks.questions.squad import read_squad


@pytest.fixture
def write(tmp_path):
    def make(content):
        path = tmp_path / "train.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return make


def test_both_versions(write):
    found = read_squad(write(questions.squad(answers=[*questions.ANSWERS[:-1], None])))
    assert found.questions == questions.QUESTIONS and found.contexts == questions.CONTEXTS
    assert found.answers == [*([answer] for answer in questions.ANSWERS[:-1]), []]
    assert found.ids == [f"q{number}" for number in range(8)]


def test_what_may_be_missing(write):
    """Titles, ids and whether a question is impossible; other keys; where nobody asks for answers, these too."""
    question = {"question": "Where?", "answers": [{"text": "😀 Oslo", "answer_start": 3, "votes": 2}]}
    content = {"data": [{"paragraphs": [{"context": "In 😀 Oslo", "qas": [question, question | {"id": 7}]}]}]}
    found = read_squad(write(content))
    assert found.ids == ["1", "7"] and found.answers == [[(3, "😀 Oslo")]] * 2
    del question["answers"]
    content["data"][0]["paragraphs"][0]["qas"] = [question]
    assert read_squad(write(content), labelled=False) == (["Where?"], ["In 😀 Oslo"], [[]], ["1"])
    with pytest.raises(ValueError, match=r"article 1, paragraph 1, question 1: .*'answers'.*received 'question'"):
        read_squad(write(content))


def test_impossible_questions_have_no_answer(write):
    content = questions.squad()
    question = content["data"][0]["paragraphs"][0]["qas"][0]
    question |= {"is_impossible": True, "plausible_answers": question["answers"]}
    del question["answers"]
    assert read_squad(write(content)).answers[0] == []


def change(path, value):
    content = questions.squad()
    *keys, last = path
    place = content
    for key in keys:
        place = place[key]
    place[last] = value
    return content


QUESTION = ("data", 0, "paragraphs", 2, "qas", 0)
WHERE = r"train\.json, article 1 \('Places'\), paragraph 3, question 'q2': "
WRONG = {
    "shifted": (
        (*QUESTION, "answers", 0, "answer_start"),
        1,
        WHERE + "the answer 'Ann' is not at character 1.*'nn '.*0",
    ),
    "nowhere": ((*QUESTION, "answers", 0, "text"), "Eve", WHERE + "the answer 'Eve'.*'Ann' is there.*nor anywhere"),
    "other case": ((*QUESTION, "answers", 0, "text"), "ann", WHERE + "the answer 'ann'.*'Ann'"),
    "no start": ((*QUESTION, "answers", 0), {"text": "Ann"}, WHERE + "expected answers as"),
    "empty": ((*QUESTION, "answers", 0, "text"), "", WHERE + "expected answers as"),
    "answers": ((*QUESTION, "answers"), "Ann", WHERE + "'answers' is 'Ann'; expected a list"),
    "impossible": ((*QUESTION, "is_impossible"), "false", WHERE + "'is_impossible' is 'false'; expected a bool"),
    "question": ((*QUESTION, "question"), None, WHERE + "'question' is 'None'; expected a str"),
    "no object": (QUESTION, "Who?", r"paragraph 3, question 1: expected an object"),
    "context": (("data", 0, "paragraphs", 2, "context"), 3, r"paragraph 3: 'context' is '3'; expected a str"),
    "paragraphs": (("data", 0), {}, r"article 1: expected an object with 'paragraphs', as SQuAD has it; received none"),
    "data": (("data",), {}, r"'data' is '\{\}'; expected a list"),
    "no questions": (("data",), [], "no questions; expected at least one"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_the_place(write, case):
    path, value, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        read_squad(write(change(path, value)))


@pytest.mark.parametrize(
    ("content", "message"), [("{", "not JSON"), ("[]", "'data', as SQuAD has it; received list"), ("[" * 9999, "JSON")]
)
def test_what_is_no_such_file(write, content, message):
    with pytest.raises(ValueError, match=message):
        read_squad(write(content))
    with pytest.raises(ValueError, match="no such file"):
        read_squad("no/such.json")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "count", "answers"),
    [
        ("squad_v1.1/dev-v1.1.json", 10_570, 34_726), ("squadshifts/new_wiki_v1.0.json", 7_938, None),
        ("squadshifts/amazon_reviews_v1.0.json", 9_885, None), ("squadshifts/reddit_v1.0.json", 9_803, None),
        ("xquad/xquad.de.json", 1_190, None), ("xquad/xquad.en.json", 1_190, None),
    ],
)  # fmt: skip
def test_real_files(data_dir, name, count, answers):
    found = read_squad(data_dir / name)
    assert [len(column) for column in found] == [count] * 4 and len(set(found.ids)) == count
    assert answers in (None, sum(map(len, found.answers)))
