"""Texts to answers by one pass without TensorFlow: read in Python, computed by a program for each bucket of sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np

from keras_transformers.data.batches.batching import power_of_two
from keras_transformers.tasks.answers.readers import PythonReader
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.utils.compiled import Compiled
from keras_transformers.utils.device_rows import with_divided_rows


class PythonService:
    """A reader in Python, and signatures that JAX compiles; on other backends they run op by op.

    Lengths are rounded up to buckets, and numbers of rows to powers of two, so that few programs are compiled: one for
    each bucket and each power of two that is asked for.

    Args:
        model: The model whose weights the signatures use.
        signatures: Functions to compile, by name.
        reader: The reader that they call.
    """

    def __init__(self, model: keras.Model, signatures: Mapping[str, Signature], reader: PythonReader):
        self.signatures, self.reader = signatures, reader
        self.programs = {name: Compiled(model, signature.compute) for name, signature in signatures.items()}

    def start(
        self, name: str, columns: Sequence[Sequence], batch_size: int | None = None
    ) -> Callable[[], dict[str, np.ndarray]]:
        """Start to compute the outputs of a signature.

        Args:
            name: Name of the signature.
            columns: One for each input, of as many rows; but for those that all rows share.
            batch_size: The number of rows of most batches: theirs is not rounded up.

        Returns:
            A function that waits for the outputs, and returns them as `run` does.
        """
        signature, count = self.signatures[name], len(columns[0])
        rows = min(power_of_two(count), batch_size or power_of_two(count))
        own = len(columns) - signature.shared
        # Rows beyond the texts repeat the last one.
        padded = [[*column, *(column[-1] for _ in range(rows - count))] for column in columns[:own]]
        columns = [*padded, *columns[own:]]
        found = self.programs[name](with_divided_rows(signature.read(self.reader, *columns)))

        def finish() -> dict[str, np.ndarray]:
            numbers = {name: keras.ops.convert_to_numpy(column) for name, column in found.items()}
            return {name: np.asarray(column)[:count] for name, column in signature.write(numbers, *columns).items()}

        return finish

    def run(self, name: str, columns: Sequence[Sequence]) -> dict[str, np.ndarray]:
        """Return the outputs of a signature by name, as arrays; strings in them are `str`."""
        return self.start(name, columns)()
