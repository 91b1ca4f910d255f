"""Bundled models that tests export, one for each task; and the warm-up requests of an export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# The model, and the options to load and to export it, for each task whose export is described.
BUNDLED = {
    "classification": ("mini_bert_en", {"labels": ["gut", 'so "so"', "schl\\echt 😀"], "seed": 0}, {}),
    "token_classification": ("mini_bert_en", {"labels": ["O", "B-person", "I-person"], "seed": 0}, {}),
    "question_answering": ("mini_bert_en", {"seed": 0}, {}),
    "sentence_embedding": ("minilm_mini_en", {}, {}),
    "ranking": ("mini_bert_en", {"seed": 0}, {}),
    "multiple_choice": ("mini_bert_en", {"seed": 0}, {}),
    "masked_lm": ("mini_bert_en", {}, {}),
    "pretraining": ("mini_bert_en", {}, {}),
    "causal_lm": ("gpt_mini_en", {}, {"max_new_tokens": 20}),
    "seq2seq_lm": ("transformer_mini_en_de", {}, {}),
}


class Exported(NamedTuple):
    """A task, and the folder of its export."""

    task: Any
    folder: Path


def warm_up_records(folder: Path) -> list[bytes]:
    import tensorflow as tf

    file = folder / "assets.extra" / "tf_serving_warmup_requests"
    return [record.numpy() for record in tf.data.TFRecordDataset(str(file))]


def warm_up_requests(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of a signature, and the values of its inputs, of each request."""
    import tensorflow as tf
    from tensorflow.core.framework.tensor_pb2 import TensorProto

    from keras_transformers.tasks.exports import saved_model

    message = saved_model._messages()["PredictionLog"]
    for request in (message.FromString(record).predict_log.request for record in warm_up_records(folder)):
        values = {entry.key: tf.make_ndarray(TensorProto.FromString(entry.value)) for entry in request.inputs}
        yield request.model_spec.signature_name, {name: tf.constant(value) for name, value in values.items()}


# As TF Serving asks: a session, in a process of its own.
SESSION = """
import json, sys
import tensorflow as tf

v1, (_, folder, text, output, *names) = tf.compat.v1, sys.argv[1:]
with tf.Graph().as_default(), v1.Session() as session:
    signatures = v1.saved_model.load(session, ["serve"], folder).signature_def
    for name in names:
        answer, given = signatures[name].outputs[output].name, signatures[name].inputs["text"].name
        found = session.run(answer, {given: [text]})[0]
        print(json.dumps(found.decode() if isinstance(found, bytes) else found.tolist()))
"""


def session_answers(folder: Path, text: str, output: str, *names: str) -> list[Any]:
    """An output of some signatures for one text, from a session."""
    from processes import run

    return [json.loads(line) for line in run(SESSION, str(folder), text, output, *names).splitlines()[-len(names) :]]
