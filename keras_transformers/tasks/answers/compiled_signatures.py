"""Signatures that XLA compiles for one short row, for servers that read one text at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.layers.core.int8_weights import without_xla
from keras_transformers.tasks.answers.readers import Reader
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.exports.compiled_lengths import MOST_TOKENS, compiled_lengths

UNCOMPILED = "_uncompiled"  # the ending of the names of the same signatures without XLA
WORD = "a "  # a token, or two, in most vocabularies


def compiled(signature: Signature) -> Signature:
    """Return a signature whose numbers XLA computes for one row of at most `MOST_TOKENS` tokens.

    Args:
        signature: A signature whose answer has the same shape for texts of all lengths. One that reads two texts by
            themselves is not changed: XLA would compile a program for each pair of lengths.
    """
    import tensorflow as tf

    by_xla = tf.function(signature.compute, jit_compile=True, autograph=False)

    def compute(encoded: Any) -> Any:
        if not isinstance(encoded, Mapping):
            return signature.compute(encoded)
        columns = tf.nest.flatten(encoded)
        is_short = [tf.size(column) <= MOST_TOKENS for column in columns]
        is_one = [tf.shape(column)[0] == 1 for column in columns]
        return tf.cond(tf.reduce_all([*is_short, *is_one]), lambda: by_xla(encoded), lambda: signature.compute(encoded))

    return signature._replace(compute=compute)


def with_compiled(signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Return signatures as `compiled` makes them, and the same without XLA under names with `UNCOMPILED`.

    Signatures that `takes_single_texts` excludes stay as they are.

    Args:
        signatures: Signatures by name; the signatures without XLA that `with_uncompiled` adds stay as they are.
    """
    fitting = {
        name: signature
        for name, signature in signatures.items()
        if takes_single_texts(signature) and not name.endswith(UNCOMPILED)
    }
    by_xla = {name: compiled(signature) for name, signature in fitting.items()}
    return {**{name + UNCOMPILED: signature for name, signature in fitting.items()}, **signatures} | by_xla


def with_uncompiled(signatures: Mapping[str, Signature]) -> dict[str, Signature]:
    """Return signatures whose products XLA computes, and the same without XLA under names with `UNCOMPILED`."""

    def uncompiled(signature: Signature) -> Signature:
        def compute(encoded: Any) -> Any:
            with without_xla():
                return signature.compute(encoded)

        return signature._replace(compute=compute)

    return {**signatures, **{name + UNCOMPILED: uncompiled(signature) for name, signature in signatures.items()}}


def takes_single_texts(signature: Signature) -> bool:
    """Return whether a signature reads one string a row for each input, as one row: no list of labels or choices."""
    return not signature.shared and not signature.windows and set(signature.ranks) == {1}


def check_fixed_sizes(functions: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise a `ValueError` if no signature is compiled, or the size of an answer of one depends on the text.

    Args:
        functions: `tf.function`s of `with_compiled` by name.
        names: Names of the signatures that are compiled.
    """
    if not names:
        raise ValueError(
            f"compiled=True is for single texts, read at once: {', '.join(functions)} take lists, or read windows of a "
            "text. Leave compiled out."
        )
    for name in names:
        outputs = functions[name].get_concrete_function().structured_outputs
        if open_ended := [key for key, output in outputs.items() if None in output.shape[1:]]:
            raise ValueError(
                "compiled=True pads texts to a few lengths, so it is for tasks whose answers have the same size for "
                f"every text, such as labels, scores and vectors: the size of {', '.join(open_ended)} in the signature "
                f"{name!r} depends on the text. Leave compiled out."
            )


def compiling_requests(
    signatures: Mapping[str, Signature], read: Reader, max_length: int
) -> dict[str, list[dict[str, list[str]]]]:
    """Return requests of one text for each length that XLA compiles, by the name of their signature.

    Args:
        signatures: Signatures by name; only those that take one string for each input of a row have requests.
        read: The reader of the task, on TensorFlow; prompts and templates of a signature count as tokens, too.
        max_length: Longest text in tokens.
    """
    import tensorflow as tf

    requests, lengths = {}, compiled_lengths(max_length)
    for name, signature in signatures.items():
        if not takes_single_texts(signature):
            continue
        rows = [(WORD * words, *[""] * (len(signature.inputs) - 1)) for words in range(MOST_TOKENS)]
        encoded = signature.read(read, *map(tf.constant, zip(*rows, strict=True)))
        if not isinstance(encoded, Mapping):
            continue
        sizes = tf.math.count_nonzero(encoded["padding_mask"], axis=1).numpy().tolist()
        first = {bisect_left(lengths, size): row for size, row in reversed([*zip(sizes, rows, strict=True)])}
        texts = [first[place] for place in sorted(first) if place < len(lengths)]
        requests[name] = [{key: [text] for key, text in zip(signature.inputs, row, strict=True)} for row in texts]
    return requests
