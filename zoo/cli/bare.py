"""Answers a text with an export where only TensorFlow can be imported, as on a server.

A script: `python zoo/cli/bare.py FOLDER TEXT [TEXT_PAIR]`.
"""

import json
import os
import sys

BLOCKED = (
    "keras", "keras_transformers", "zoo", "tokenizers", "safetensors", "huggingface_hub",
    "transformers", "tensorflow_text", "keras_hub", "keras_nlp",
)  # fmt: skip


def main(folder: str, *texts: str) -> None:
    """Print the answer as JSON."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.modules.update(dict.fromkeys(BLOCKED))  # first: TensorFlow imports an installed Keras by itself
    from quiet import start_tensorflow, without_start_up_messages

    with without_start_up_messages():
        tf = start_tensorflow()
    signatures = tf.saved_model.load(folder).signatures
    signature = signatures["pair" if len(texts) > 1 else "serving_default"]
    rows = {name: tf.constant([text]) for name, text in zip(("text", "text_pair"), texts, strict=False)}
    print(json.dumps({name: plain(value[0].numpy()) for name, value in signature(**rows).items()}))


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
