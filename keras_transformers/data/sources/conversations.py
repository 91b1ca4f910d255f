"""Conversations in files of JSON lines, JSON or Parquet, in the layouts that are in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from keras_transformers.text.files.decoded_blocks import check_encoding, check_errors
from keras_transformers.text.files.packed import kind_of
from keras_transformers.text.files.records import JSON, PARQUET, objects, place
from keras_transformers.utils.untrusted import check_file, shown

Message = dict[str, Any]
Record = Mapping[str, Any]
USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
SPEAKERS = {  # of ShareGPT's layout
    **dict.fromkeys(("human", "user"), USER),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "model", "bot"), ASSISTANT),
    SYSTEM: SYSTEM,
}
# What a model would have to see besides messages, or what would say which answers it learns.
UNREAD = ("tools", "functions", "documents", "images", "videos", "audios", "chat_template_kwargs")
UNLEARNED = ("weight", "loss", "train", "mask", "masked")  # keys of a message of ShareGPT's


def read_conversations(path: str | Path, encoding: str = "utf-8", errors: str = "strict") -> list[list[Message]]:
    """Read conversations to learn from, as lists of messages with `role` and `content`.

    Each record has one of these layouts, the first that fits:

    - `messages`: dicts with `role` and `content`, as OpenAI's and Hugging Face's; perhaps with `system`;
    - `conversations`: dicts with `from` (human, gpt, system) and `value`, as ShareGPT's; perhaps with `system`;
    - `prompt` and `completion`: two texts, or two lists of messages;
    - `instruction` and `output`, perhaps with `input`, `system` and `history` (pairs), as Alpaca's.

    Args:
        path: A file named `.jsonl`, `.ndjson`, `.json` or `.parquet`.
        encoding, errors: As for `text_tables.read_table`.

    Returns:
        A list of conversations.

    Raises:
        ValueError: The file has another format or no records; a record has no such layout, no answer, or something that
            is not learned from, such as tools or images. The message has the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "chats.jsonl")
    >>> _ = path.write_text('{"instruction": "Add.", "input": "1 + 1", "output": "2"}\\n')
    >>> [[turn["content"] for turn in talk] for talk in read_conversations(path)]
    [['Add.\\n\\n1 + 1', '2']]
    """
    path = Path(path)
    check_file(path)
    if kind_of(path) not in (*JSON, PARQUET):
        raise ValueError(
            f"Received {path}: expected conversations in a file named {', '.join((*JSON, PARQUET))}. Prompts and "
            "answers in columns of CSV or TSV are read as texts and labels."
        )
    found = []
    for number, record in objects(path, check_encoding(encoding), check_errors(errors)):
        try:
            found.append(_conversation(record))
        except ValueError as error:
            raise ValueError(f"{place(path, number)}: {error}") from None
    if not found:
        raise ValueError(f"{path}: no records; expected at least one.")
    return found


def holds_conversations(record: Record) -> bool:
    """Return whether a record has one of the layouts.

    Example:

    >>> holds_conversations({"messages": []}), holds_conversations({"text": ""})
    (True, False)
    """
    return any(keys <= record.keys() for keys in map(set, LAYOUTS))


def _conversation(record: Record) -> list[Message]:
    layout = next((keys for keys in LAYOUTS if {*keys} <= record.keys()), None)
    if layout is None:
        raise ValueError(
            f"the record has {shown(sorted(record))}: expected messages, conversations, prompt and completion, or "
            "instruction and output."
        )
    _check_once(record)
    if unread := [key for key in UNREAD if record.get(key)]:
        raise ValueError(f"{unread[0]!r} is not learned from. Leave such records, or the key, out.")
    messages = LAYOUTS[layout](record)
    if not any(turn["role"] == ASSISTANT for turn in messages[1:]):
        raise ValueError("there is no answer of the assistant behind another message.")
    return messages


def _check_once(record: Record) -> None:
    if twice := getattr(record, "twice", ()):
        raise ValueError(f"the object has {shown(twice[0])} more than once.")


def _of_messages(record: Record) -> list[Message]:
    return _system(record) + _messages(record["messages"], "messages")


def _messages(value: Any, name: str) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{name!r} must be a list of messages: received {shown(value)}.")
    return [_message(turn, name, index) for index, turn in enumerate(value)]


def _message(turn: Any, name: str, index: int) -> Message:
    if not isinstance(turn, Mapping) or not isinstance(turn.get("role"), str):
        raise ValueError(f"{name!r}[{index}] must be an object with role and content: received {shown(turn)}.")
    _check_once(turn)
    kept = {key: value for key, value in turn.items() if value is not None}
    if isinstance(kept.get("content"), list):  # parts, as OpenAI's
        kept["content"] = "".join(_part(part, f"{name!r}[{index}]") for part in kept["content"])
    if not isinstance(kept.get("content"), str):
        raise ValueError(f"{name!r}[{index}] must have a content that is text: received {shown(kept.get('content'))}.")
    return kept


def _part(part: Any, where: str) -> str:
    text = part.get("text") if isinstance(part, Mapping) and part.get("type", "text") == "text" else None
    if not isinstance(text, str):
        raise ValueError(f"{where} has a part that is no text: received {shown(part)}. Leave such records out.")
    return text


def _of_speakers(record: Record) -> list[Message]:
    turns = record["conversations"]
    if not isinstance(turns, list) or not turns:
        raise ValueError(f"'conversations' must be a list of messages: received {shown(turns)}.")
    if all(isinstance(turn, Mapping) and "role" in turn for turn in turns):
        return _system(record) + _messages(turns, "conversations")
    return _system(record) + [_spoken(turn, index) for index, turn in enumerate(turns)]


def _spoken(turn: Any, index: int) -> Message:
    speaker = turn.get("from") if isinstance(turn, Mapping) else None
    if not isinstance(speaker, str) or speaker not in SPEAKERS:
        raise ValueError(f"'conversations'[{index}] must be from one of {[*SPEAKERS]}: received {shown(turn)}.")
    _check_once(turn)
    if told := [key for key in UNLEARNED if turn.get(key) is not None]:
        raise ValueError(
            f"'conversations'[{index}] has {told[0]!r}, which is not followed: all answers are learned. Leave the key "
            "out."
        )
    return {"role": SPEAKERS[speaker], "content": _text(turn, "value")}


def _of_prompt(record: Record) -> list[Message]:
    if isinstance(record["prompt"], list):
        if any(isinstance(turn, Mapping) and turn.get("role") == ASSISTANT for turn in record["prompt"]):
            raise ValueError("'prompt' has answers of the assistant, which would be learned, too: use 'messages'.")
        return _system(record) + _messages(record["prompt"], "prompt") + _messages(record["completion"], "completion")
    return [*_system(record), _said(USER, record, "prompt"), _said(ASSISTANT, record, "completion")]


def _of_instruction(record: Record) -> list[Message]:
    asked = _text(record, "instruction")
    if record.get("input"):
        asked += "\n\n" + _text(record, "input")
    messages = _system(record)
    history = record.get("history") or []
    if not isinstance(history, list):
        raise ValueError(f"'history' must be a list of pairs of texts: received {shown(history)}.")
    for turn in history:
        if not (isinstance(turn, list) and len(turn) == 2 and all(isinstance(text, str) for text in turn)):
            raise ValueError(f"'history' must be a list of pairs of texts: received {shown(turn)} in it.")
        messages += [{"role": USER, "content": turn[0]}, {"role": ASSISTANT, "content": turn[1]}]
    return [*messages, {"role": USER, "content": asked}, _said(ASSISTANT, record, "output")]


def _system(record: Record) -> list[Message]:
    return [_said(SYSTEM, record, "system")] if record.get("system") else []


def _said(role: str, record: Record, key: str) -> Message:
    return {"role": role, "content": _text(record, key)}


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be text: received {shown(value)}.")
    return value


LAYOUTS: dict[tuple[str, ...], Callable[[Record], list[Message]]] = {
    ("messages",): _of_messages,
    ("conversations",): _of_speakers,
    ("prompt", "completion"): _of_prompt,
    ("instruction", "output"): _of_instruction,
}
