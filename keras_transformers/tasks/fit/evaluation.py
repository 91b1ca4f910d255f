"""Evaluate a model in one pass over its data: its metrics, and further scores of its outputs."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np

from keras_transformers.tasks.answers.progress import Progress
from keras_transformers.tasks.contract.scorer import Scorer
from keras_transformers.utils.device_rows import with_divided_rows
from keras_transformers.utils.keras_private import strategy_of


def evaluate(model: keras.Model, dataset: Any, scorer: Scorer | None = None, verbose: Any = 0) -> dict[str, Any]:
    """Return the metrics of a model over a data set, and the scores of its outputs.

    Args:
        model: Compiled model.
        dataset: Data set from `data.pipeline`, with labels.
        scorer: Computes further scores. None for metrics alone.
        verbose: As for `Progress`.

    Returns:
        Numbers by name, lists for metrics of several values; no loss, which Keras averages over batches.
    """
    progress = Progress(verbose, dataset.num_batches, "batch")
    if scorer is None:
        return _plain(_metrics(model, dataset, progress))
    # Only Keras' own step updates the metrics of replicas: the model then reads the data twice.
    distributed = strategy_of(model) is not None
    results = _metrics(model, dataset, progress) if distributed else None

    model.reset_metrics()
    left = math.inf if dataset.num_rows is None else dataset.num_rows
    for inputs, labels, *weights in dataset:
        count = min(len(keras.tree.flatten(inputs)[0]), left)  # without the rows that fill the last batch
        left -= count
        outputs = model.predict_on_batch(with_divided_rows(inputs))  # each replica of `tf.distribute` has all
        rows = keras.tree.map_structure(lambda array, count=count: array[:count], (inputs, labels, outputs))
        scorer.add(*rows)
        if not distributed:
            model.compute_metrics(inputs, labels, outputs, *weights)
            progress.add(1)
    return _plain(results or model.get_metrics_result()) | scorer.result()


def _plain(results: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in results.items() if not name.endswith("loss")}


def _metrics(model: keras.Model, dataset: Any, progress: Progress) -> dict[str, Any]:
    counting = keras.callbacks.LambdaCallback(
        on_test_batch_end=lambda step, logs: progress.add(step + 1 - progress.done)
    )
    results = model.evaluate(dataset, return_dict=True, verbose=0, callbacks=[counting])
    progress.finish()
    return results
