"""Names of labels as others write them: numbers, none, twice the same; and two tables that contradict each other."""

from pathlib import Path

import pytest

from keras_transformers.checkpoints.settings.label_names import read_labels

PATH = Path("config.json")
NAMES = {"0": "no", "1": "yes"}


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({}, ("LABEL_0", "LABEL_1")),
        ({"id2label": None, "label2id": None}, ("LABEL_0", "LABEL_1")),
        ({"num_labels": 1}, ("LABEL_0",)),
        ({"id2label": {"0": 0, "1": 1}, "label2id": {"0": 0, "1": 1}}, ("0", "1")),
        ({"id2label": {str(i): f"n{i}" for i in reversed(range(11))}}, tuple(f"n{i}" for i in range(11))),
        ({"id2label": NAMES, "label2id": {"no": 0, "yes": 1}}, ("no", "yes")),
        ({"id2label": NAMES, "label2id": {"no": "0", "yes": "1"}}, ("no", "yes")),
        ({"id2label": NAMES, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}, ("no", "yes")),
        ({"id2label": NAMES, "label2id": {"no": 0, "No": 0, "yes": 1}}, ("no", "yes")),
        ({"id2label": NAMES, "label2id": {"no": 0}}, ("no", "yes")),
    ],
)
def test_names_by_number(values, names):
    assert read_labels(values, PATH) == (names, "")


UNUSABLE = [
    {"1": "no", "2": "yes"}, {"0": "no", "2": "yes"}, {"0": "no", "00": "yes"}, {"0": "no", "1": "no"}, {"0": ""},
    {"0": None}, {"0": 1.5}, {"0": True}, {"0": ["no"]}, {"0": 1, "1": "1"},
]  # fmt: skip


@pytest.mark.parametrize("said", UNUSABLE, ids=str)
def test_names_that_cannot_be_used_say_why(said):
    names, fault = read_labels({"id2label": said}, PATH)
    assert names == tuple(f"LABEL_{index}" for index in range(len(said)))
    assert fault.startswith(f"config.json: id2label must give each number from 0 to {len(said) - 1} a different name")
    assert f"labels=[...]: {len(said)} names, in the order" in fault


@pytest.mark.parametrize("numbers", [{"no": 1, "yes": 0}, {"a": 0, "b": 1}, {"no": 0, "yes": 0}, {"yes": 0}], ids=str)
def test_two_tables_that_contradict_each_other_are_refused(numbers):
    with pytest.raises(ValueError, match=r"config\.json: id2label says that [01] is .*, and label2id .*Correct"):
        read_labels({"id2label": NAMES, "label2id": numbers}, PATH)


@pytest.mark.parametrize("count", [-1, 10**7, True, "3"])
def test_an_impossible_number_of_labels(count):
    with pytest.raises(ValueError, match=r"config\.json: num_labels"):
        read_labels({"num_labels": count}, PATH)
