"""From texts to answers: by the traced function that `export` saves, or eagerly where there is no TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_transformers.text.tokenizer import check_texts
from keras_transformers.training.distribute import on_tensorflow


def predict(task: Any, texts: Sequence[str], pairs: Sequence[str] | None, batch_size: int) -> list[dict[str, Any]]:
    """One answer for each text, a batch at a time: what `Task.predict` of all tasks does."""
    texts, pairs = check_texts("texts", texts), None if pairs is None else check_texts("pairs", pairs)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"received {len(texts)} texts and {len(pairs)} pairs: expected one pair for each text.")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1: received {batch_size}.")
    answers = []
    for start in range(0, len(texts), batch_size):
        chunk = slice(start, start + batch_size)
        columns = _columns(task, texts[chunk], None if pairs is None else pairs[chunk])
        rows = zip(*columns.values(), strict=True)
        answers += [task._describe(dict(zip(columns, row, strict=True))) for row in rows]
    return answers


def _columns(task: Any, texts: list[str], pairs: list[str] | None) -> dict[str, np.ndarray]:
    """The named outputs of the export, as arrays."""
    if on_tensorflow():
        return task.service.run(texts, pairs)
    encoded = task.tokenizer.encode(texts, pairs, max_length=task.max_length)
    rows = task._rows(encoded)
    inputs = rows.padded(int(rows.lengths.max()), task.config.pad_id)
    inputs = {name: keras.ops.convert_to_tensor(array) for name, array in inputs.items()}
    inputs |= task._more_inputs(inputs["token_ids"])
    answer = task._served(task.served_model(inputs, training=False), inputs)
    answer["truncated"] = [row.truncated for row in encoded]
    return {name: np.asarray(column) for name, column in answer.items()}


def check_exportable() -> None:
    """Raises a `ValueError` where there is no TensorFlow."""
    if not on_tensorflow():
        raise ValueError(
            f"only the TensorFlow backend can export a SavedModel: received {keras.backend.backend()!r}. Save the "
            "folder with task.save, and export it in a process with KERAS_BACKEND=tensorflow."
        )


def look_up(names: Sequence[str], numbers: Any) -> Any:
    """Names by number, and `""` for -1: strings in a TensorFlow tensor, or on other backends in a numpy array.

    Example:

    >>> tuple(look_up(["no", "yes"], np.array([1, -1, 0])).shape)
    (3,)
    """
    names = ["", *names]
    if on_tensorflow():
        import tensorflow as tf

        return tf.gather(tf.constant(names), numbers + 1)
    return np.array(names, object)[keras.ops.convert_to_numpy(numbers) + 1]
