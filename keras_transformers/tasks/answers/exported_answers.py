"""Exports of tasks that answer by one forward pass: with plain or constant weights, by XLA, or with 8 bits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from keras_transformers.tasks.answers.compiled_signatures import (
    check_fixed_sizes,
    compiling_requests,
    takes_single_texts,
    with_compiled,
    with_uncompiled,
)
from keras_transformers.tasks.answers.services import check_compiled, check_compute, check_exportable, merged_service
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.training.workers.distribute import is_chief
from keras_transformers.utils.keras_private import strategy_of

IDS = "ids"  # the signature that takes token ids


def export_answers(answers: Any, folder: str | os.PathLike, frozen: bool, compiled: bool, compute: str | None) -> None:
    """Write a SavedModel from strings to predictions: see `OnePass.export`.

    Args:
        answers: The predictions of a task, a `OnePass`.
        folder, frozen, compiled, compute: As for `OnePass.export`.
    """
    _check_choices(frozen, compiled, compute)
    check_exportable()
    if not is_chief(strategy_of(answers.model)):
        return
    from keras_transformers.tasks.exports.saved_model import export

    def make() -> Any:
        signatures = answers.signatures
        if compute is not None:
            signatures = with_uncompiled(signatures)
        return compiled_service(answers, signatures) if compiled else answers.traced_service(signatures, frozen=frozen)

    is_current = not frozen and compiled == answers.compiled and compute is None
    with merged_service(answers, None if is_current else make, compute) as service:
        requests = {}
        if compiled:
            requests = compiling_requests(answers.signatures, answers.graph_reader(), answers.setup.max_length)
        signatures, examples = dict(service.signatures), dict(answers.examples)
        if answers.from_ids is not None and compute is None:
            signatures[IDS] = answers.from_ids.traced(service.scope)
            examples |= answers.from_ids.examples
        export(folder, service.module, signatures, examples, answers.labels, requests)


def compiled_service(answers: Any, signatures: Mapping[str, Signature]) -> Any:
    """Return a service whose answers to single texts XLA computes.

    Args:
        answers: The predictions of a task, a `OnePass`.
        signatures: Functions to trace, by name.

    Raises:
        ValueError: The size of an answer depends on the text, or all signatures take lists.
    """
    service = answers.traced_service(with_compiled(signatures), padded=True)
    names = [name for name, signature in answers.signatures.items() if takes_single_texts(signature)]
    check_fixed_sizes(service.signatures, names)
    return service


def _check_choices(frozen: Any, compiled: Any, compute: Any) -> None:
    """Raise a `ValueError` if an option of an export has another type, or two do not go together."""
    if not isinstance(frozen, bool):
        raise ValueError(f"frozen must be True or False: received {frozen!r}.")
    check_compiled(compiled)
    check_compute(compute)
    if frozen and compiled:
        raise ValueError("frozen=True arranges weights for TensorFlow's kernels, compiled=True uses XLA's: give one.")
    if frozen and compute is not None:
        raise ValueError(f"frozen=True stores weights as they are, compute={compute!r} rounded ones: give one.")
