"""One request to an export in a process that can import TensorFlow only, as on a server.

A script: `python zoo/cli/bare.py FOLDER TEXT [TEXT_PAIR]`; of question answering,
FOLDER QUESTION CONTEXT; of multiple choice, FOLDER TEXT CHOICE CHOICE ...
"""

import json
import os
import runpy
import sys
from typing import Any

INPUTS: tuple[tuple[str, ...], ...] = (
    ("text",),
    ("text", "text_pair"),
    ("question", "context"),
)  # of signatures that take a text, or a pair
CHOICES = ("text", "choices")  # of a signature that takes several texts beside one
QUIET = os.path.join(os.path.dirname(__file__), "..", "..", "keras_transformers", "quiet.py")
BLOCKED = (
    "keras", "keras_transformers", "zoo", "tokenizers", "safetensors", "huggingface_hub",
    "transformers", "tensorflow_text", "keras_hub", "keras_nlp",
)  # fmt: skip


def main(folder: str, *texts: str) -> None:
    """Print the answer as JSON; without arguments, JSON on standard input has the texts, or the inputs by name."""
    given: Any = list(texts) or json.load(sys.stdin)
    blocked: dict[str, Any] = dict.fromkeys(BLOCKED)
    sys.modules.update(blocked)  # first: TensorFlow imports an installed Keras by itself
    runpy.run_path(QUIET)["QuietImport"].install()
    import tensorflow as tf

    loaded = tf.saved_model.load(folder)  # kept: signatures alone do not keep their variables
    signatures = {frozenset(one.structured_input_signature[1]): one for one in loaded.signatures.values()}
    if isinstance(given, dict):
        inputs = given
    elif frozenset(CHOICES) in signatures:
        inputs = dict(zip(CHOICES, (given[0], given[1:]), strict=True))
    else:
        names = next(names for names in INPUTS if len(names) == len(given) and frozenset(names) in signatures)
        inputs = dict(zip(names, given, strict=True))
    rows = {name: tf.constant([value]) for name, value in inputs.items()}
    answer = signatures[frozenset(rows)](**rows)
    print(json.dumps({name: plain(answer[name][0].numpy()) for name in sorted(answer)}))


def plain(value: Any) -> Any:
    """Return arrays, numbers and bytes as what JSON has."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
