"""The gated delta rule: a matrix of each head that forgets, and is corrected by each token; in chunks, or a step."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_transformers.utils.tensor_types import Tensor

CHUNK = 64  # tokens that are computed together
HIDDEN = -1e9  # logarithm of a decay to nothing


class Heads(NamedTuple):
    """The vectors of each token by heads, float32."""

    query: Tensor  # (B, N, T, H)
    key: Tensor  # (B, N, T, H)
    value: Tensor  # (B, N, T, V)
    decay: Tensor  # (B, N, T), logarithms of what is left of the memory, at most 0
    rate: Tensor  # (B, N, T), from 0 to 1: the share of a correction that is made


def step(heads: Heads, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Apply the gated delta rule for one token.

    With the memory S, a matrix, and the token's query q, key k, value v: S becomes `exp(decay) * S`, then
    `S + rate * k (v - k S)`, and the output is `q S`.
    Paper: Yang et al. 2024, https://arxiv.org/abs/2412.06464.

    Args:
        heads: Vectors of one token, T = 1.
        memory: (B, N, H, V).

    Returns:
        The output (B, N, 1, V) and the new memory.

    Example:

    >>> one = np.ones((1, 1, 1, 1), "float32")
    >>> output, memory = step(Heads(one, one, 5 * one, 0 * one[0], one[0]), 2 * one)
    >>> output.numpy().item()
    5.0
    """
    memory = memory * ops.expand_dims(ops.exp(heads.decay), -1)  # (B, N, H, V)
    missing = (heads.value - ops.matmul(heads.key, memory)) * ops.expand_dims(heads.rate, -1)  # (B, N, 1, V)
    memory = memory + ops.matmul(ops.swapaxes(heads.key, 2, 3), missing)
    return ops.matmul(heads.query, memory), memory


def chunked(heads: Heads, memory: Tensor, starts: Tensor | None = None, size: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Apply the gated delta rule for all tokens of a row: the outputs of `step`, one token after the other.

    Within a chunk, the corrections of all tokens are the solution of a triangular system of equations. From chunk to
    chunk the memory changes by one product and one sum.
    Papers: Yang et al. 2024, https://arxiv.org/abs/2412.06464; chunks, Yang et al. 2024,
    https://arxiv.org/abs/2406.06484.

    Args:
        heads: Vectors of all tokens.
        memory: (B, N, H, V), before the first one.
        starts: Boolean (B, T), where a text begins, with an empty memory; a row is one text when None.
        size: Tokens of a chunk, c.

    Returns:
        The outputs (B, N, T, V) and the memory after the last token.

    Example:

    >>> one = np.ones((1, 1, 3, 1), "float32")
    >>> outputs, memory = chunked(Heads(one, one, one, 0 * one[..., 0], one[..., 0]), 0 * one[:, :, :1])
    >>> outputs.numpy().ravel().tolist()
    [1.0, 1.0, 1.0]
    """
    (batch, number, length, width) = ops.shape(heads.value)
    extra = (-length) % size
    heads = Heads(*(_in_chunks(x, extra, size) for x in heads))  # (B, N, C, c, ...)
    seams = None if starts is None else _seams(ops.pad(ops.cast(starts, "int32"), [(0, 0), (0, extra)]), size)
    chunk = _solved(heads, seams)

    change = chunk.left * ops.eye(heads.key.shape[-1]) - ops.matmul(chunk.to_end, chunk.read)  # (B, N, C, H, H)
    added = ops.matmul(chunk.to_end, chunk.written)  # (B, N, C, H, V)
    both = ops.moveaxis(ops.concatenate([change, added], axis=-1), 2, 0)  # (C, B, N, H, H + V)
    memory, before = ops.scan(_next, memory, both)  # (B, N, H, V), (C, B, N, H, V)

    before = ops.moveaxis(before, 0, 2)  # (B, N, C, H, V)
    outputs = ops.matmul(chunk.query, before)  # (B, N, C, c, V)
    outputs = outputs + ops.matmul(chunk.scores, chunk.written - ops.matmul(chunk.read, before))
    return ops.reshape(outputs, (batch, number, -1, width))[:, :, :length], memory


def _next(memory: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
    """Return the memory (B, N, H, V) after a chunk, and the one before it."""
    width = memory.shape[-2]
    return ops.matmul(both[..., :width], memory) + both[..., width:], memory


class _Seams(NamedTuple):
    """Places where texts meet, in rows of several texts, each 0 or 1."""

    inside: Tensor  # (B, 1, C, c, c), whether two tokens are of one text
    reads: Tensor  # (B, 1, C, c, 1), whether a token is of the text that was there before its chunk
    keeps: Tensor  # (B, 1, C, c, 1), whether it is of the text at the end of its chunk
    stays: Tensor  # (B, 1, C, 1, 1), whether these two are one


def _seams(starts: Tensor, size: int) -> _Seams:
    rows = ops.shape(starts)[0]
    texts = ops.reshape(ops.cumsum(starts, axis=1), (rows, 1, -1, size, 1))  # (B, 1, C, c, 1)
    last = texts[:, :, :, -1:]  # (B, 1, C, 1, 1)
    before = ops.pad(last, [(0, 0), (0, 0), (1, 0), (0, 0), (0, 0)])[:, :, :-1]
    found = (texts == ops.swapaxes(texts, 3, 4), texts == before, texts == last, last == before)
    return _Seams(*(ops.cast(x, "float32") for x in found))


class _Chunks(NamedTuple):
    """The tensors of all chunks that do not depend on the memory before them."""

    query: Tensor  # (B, N, C, c, H), for the memory before the chunk
    scores: Tensor  # (B, N, C, c, c), of queries and keys in the chunk
    written: Tensor  # (B, N, C, c, V), corrections of an empty memory
    read: Tensor  # (B, N, C, c, H), and the part of them that the memory before the chunk takes away, as keys
    to_end: Tensor  # (B, N, C, H, c), keys at the end of the chunk
    left: Tensor  # (B, N, C, 1, 1), share of the memory before the chunk that is left after it


def _solved(heads: Heads, seams: _Seams | None) -> _Chunks:
    """Solve the equations of the corrections in each chunk, whose tokens see those before them."""
    size, total = heads.decay.shape[3], ops.expand_dims(ops.cumsum(heads.decay, axis=3), -1)  # (B, N, C, c, 1)
    earlier = ops.tril(ops.ones((size, size)))  # (c, c)
    decays = ops.exp(ops.where(earlier > 0, total - ops.swapaxes(total, 3, 4), HIDDEN))  # (B, N, C, c, c)
    from_start, to_end, left = ops.exp(total), ops.exp(total[:, :, :, -1:] - total), ops.exp(total[:, :, :, -1:])
    if seams is not None:
        decays, from_start = decays * seams.inside, from_start * seams.reads
        to_end, left = to_end * seams.keeps, left * seams.stays

    rate, keys = ops.expand_dims(heads.rate, -1), ops.swapaxes(heads.key, 3, 4)  # (B, N, C, c, 1), (B, N, C, H, c)
    identity = ops.eye(size)
    system = identity + ops.matmul(heads.key * rate, keys) * decays * (earlier - identity)  # (B, N, C, c, c)
    wanted = ops.concatenate([heads.value * rate, heads.key * rate * from_start], axis=-1)  # (B, N, C, c, V + H)
    solved, width = ops.solve_triangular(system, wanted, lower=True), heads.value.shape[-1]
    return _Chunks(
        query=heads.query * from_start,
        scores=ops.matmul(heads.query, keys) * decays,
        written=solved[..., :width],
        read=solved[..., width:],
        to_end=ops.swapaxes(heads.key * to_end, 3, 4),
        left=left,
    )


def _in_chunks(x: Tensor, extra: Tensor | int, size: int) -> Tensor:
    """Reshape (B, N, T, ...) to (B, N, C, c, ...), with zeros at the end."""
    rows, number, rest = ops.shape(x)[0], x.shape[1], x.shape[3:]
    padded = ops.pad(x, [(0, 0), (0, 0), (0, extra), *((0, 0) for _ in rest)])
    return ops.reshape(padded, (rows, number, -1, size, *rest))
