"""Answers a text, or a pair, with an export where only TensorFlow can be imported, as on a server.

A script: `python zoo/cli/bare.py FOLDER TEXT [TEXT_PAIR]`; of question answering,
FOLDER QUESTION CONTEXT; of multiple choice, FOLDER TEXT CHOICE CHOICE ...
"""

import json
import os
import runpy
import sys

INPUTS = (("text",), ("text", "text_pair"), ("question", "context"))  # of signatures that take a text, or a pair
CHOICES = ("text", "choices")  # of a signature that takes several texts beside one
QUIET = os.path.join(os.path.dirname(__file__), "..", "..", "keras_transformers", "quiet.py")
BLOCKED = (
    "keras", "keras_transformers", "zoo", "tokenizers", "safetensors", "huggingface_hub",
    "transformers", "tensorflow_text", "keras_hub", "keras_nlp",
)  # fmt: skip


def main(folder: str, *texts: str) -> None:
    """Print the answer as JSON; the texts are a JSON list on standard input, if there are no arguments."""
    texts = texts or json.load(sys.stdin)
    sys.modules.update(dict.fromkeys(BLOCKED))  # first: TensorFlow imports an installed Keras by itself
    runpy.run_path(QUIET)["QuietImport"].install()
    import tensorflow as tf

    loaded = tf.saved_model.load(folder)  # kept: signatures alone do not keep their variables
    signatures = {frozenset(one.structured_input_signature[1]): one for one in loaded.signatures.values()}
    if frozenset(CHOICES) in signatures:
        names, texts = CHOICES, (texts[0], list(texts[1:]))
    else:
        names = next(names for names in INPUTS if len(names) == len(texts) and frozenset(names) in signatures)
    rows = {name: tf.constant([text]) for name, text in zip(names, texts, strict=True)}
    answer = signatures[frozenset(names)](**rows)
    print(json.dumps({name: plain(answer[name][0].numpy()) for name in sorted(answer)}))


def plain(value):
    """Arrays, numbers and bytes as what JSON has."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
