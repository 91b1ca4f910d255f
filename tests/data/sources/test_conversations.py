"""Conversations in files: four layouts, and what is refused."""

from __future__ import annotations

import json

import pytest

from keras_transformers.data.sources.conversations import holds_conversations, read_conversations

TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
SYSTEM = {"role": "system", "content": "Be kind."}
LAYOUTS = [
    ({"messages": TALK}, TALK),
    ({"messages": TALK, "system": "Be kind."}, [SYSTEM, *TALK]),
    ({"messages": TALK, "prompt": "Hi", "completion": "no"}, TALK),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": "H"}, {"text": "i"}]}, TALK[1]]}, TALK),
    ({"messages": [TALK[0], TALK[1] | {"name": None}]}, TALK),
    ({"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}, TALK),
    ({"conversations": TALK, "system": "Be kind."}, [SYSTEM, *TALK]),
    ({"prompt": "Hi", "completion": "Hello"}, TALK),
    ({"prompt": TALK[:1], "completion": TALK[1:], "id": 7}, TALK),
    ({"prompt": TALK[:1], "completion": TALK[1:], "system": "Be kind."}, [SYSTEM, *TALK]),
    ({"instruction": "Hi", "output": "Hello", "input": ""}, TALK),
    (
        {"instruction": "Hi", "output": "Hello", "input": "now", "system": "Be kind.", "history": [["Hi", "Hello"]]},
        [SYSTEM, *TALK, {"role": "user", "content": "Hi\n\nnow"}, TALK[1]],
    ),
]


def written(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(("record", "expected"), LAYOUTS)
def test_layouts(record, expected, tmp_path):
    assert read_conversations(written(tmp_path / "a.jsonl", record, record)) == [expected] * 2
    (tmp_path / "a.json").write_text(json.dumps([record]), encoding="utf-8")
    assert read_conversations(tmp_path / "a.json") == [expected]
    assert holds_conversations(record)


def test_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"messages": [TALK, TALK]}), tmp_path / "a.parquet")
    assert read_conversations(tmp_path / "a.parquet") == [TALK] * 2


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"text": "a"}, r"the record has \['text'\]: expected messages"),
        ({"messages": []}, "must be a list of messages"),
        ({"messages": "Hi"}, "must be a list of messages"),
        ({"messages": ["Hi"]}, r"'messages'\[0\] must be an object with role and content"),
        ({"messages": [{"role": "user"}, TALK[1]]}, r"'messages'\[0\] must have a content"),
        ({"messages": [{"role": 1, "content": "a"}, TALK[1]]}, r"'messages'\[0\] must be an object"),
        ({"messages": [TALK[0] | {"content": [{"type": "image_url"}]}, TALK[1]]}, "a part that is no text"),
        ({"messages": TALK[:1]}, "no answer of the assistant"),
        ({"messages": TALK[1:]}, "no answer of the assistant"),
        ({"messages": TALK, "tools": [{"name": "f"}]}, "'tools' is not learned from"),
        ({"messages": TALK, "images": ["a.png"]}, "'images' is not learned from"),
        ({"conversations": [{"from": "tool", "value": "a"}]}, r"'conversations'\[0\] must be from one of"),
        ({"conversations": [{"from": ["gpt"], "value": "a"}]}, r"'conversations'\[0\] must be from one of"),
        ({"conversations": [{"from": "human", "value": 7}]}, "'value' must be text"),
        ({"conversations": [{"from": "human", "value": "a", "weight": 0}]}, "'weight', which is not followed"),
        ({"messages": TALK, "chat_template_kwargs": {"think": True}}, "'chat_template_kwargs' is not learned from"),
        ({"instruction": "Hi", "output": "a", "history": 5}, "'history' must be a list of pairs"),
        ({"prompt": "Hi", "completion": None}, "'completion' must be text"),
        ({"prompt": [*TALK, TALK[0]], "completion": TALK[1:]}, "'prompt' has answers of the assistant"),
        ({"instruction": "Hi", "output": "a", "history": [["b"]]}, "'history' must be a list of pairs"),
        ({"instruction": None, "output": "a"}, "'instruction' must be text"),
    ],
)
def test_refused_records(record, error, tmp_path):
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2: .*" + error):
        read_conversations(written(tmp_path / "a.jsonl", {"messages": TALK}, record))


def test_refused_files(tmp_path):
    (tmp_path / "a.csv").write_text("prompt,completion\na,b\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.csv: expected conversations in a file named \.jsonl"):
        read_conversations(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a\.jsonl: no records"):
        read_conversations(written(tmp_path / "a.jsonl"))
    with pytest.raises(ValueError, match=r"b\.jsonl"):
        read_conversations(tmp_path / "b.jsonl")
    (tmp_path / "c.jsonl").write_text('{"messages": [], "messages": []}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="the object has 'messages' more than once"):
        read_conversations(tmp_path / "c.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        '{"messages": [{"role": "user", "content": "a", "content": "b"}, {"role": "assistant", "content": "c"}]}',
        '{"conversations": [{"from": "human", "value": "a", "value": "b"}, {"from": "gpt", "value": "c"}]}',
        '{"instruction": "a", "input": "b", "input": "c", "output": "d"}',
    ],
)
def test_no_key_occurs_twice(line, tmp_path):
    (tmp_path / "a.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 1: the object has '(content|value|input)' more than once"):
        read_conversations(tmp_path / "a.jsonl")
