"""What a step of data-parallel training costs on paper: bytes moved, memory and seconds, each assumption by name.

Plain functions of numbers. `ASSUMPTIONS` holds every figure that is not counted, and where it comes from.
"""

from __future__ import annotations

from typing import NamedTuple


class Assumption(NamedTuple):
    """A figure of the paper model, its unit and where it comes from: `scale.py --assume NAME=VALUE` changes it."""

    value: float
    unit: str
    source: str


DATASHEET = "datasheet of the H100 SXM"
COUNTED = "counted: the graph of our GPT-2 block, mixed_bfloat16"  # by `scale_runs.kept_of_block`
ASSUMPTIONS = {
    "peak_flops": Assumption(989.4e12, "FLOP/s", f"{DATASHEET}: bfloat16, dense"),
    "utilisation": Assumption(
        0.3, "of peak_flops", "guess: nanoGPT's `about 4 days` of GPT-2 on 8 A100 are 0.29; ours was not run on a GPU"
    ),
    "gpu_memory": Assumption(80e9, "bytes", DATASHEET),
    "memory_bandwidth": Assumption(3.35e12, "bytes/s", DATASHEET),
    "nvlink": Assumption(450e9, "bytes/s out of a GPU", f"{DATASHEET}: 900e9 in both directions together"),
    "network": Assumption(50e9, "bytes/s out of a node", "chosen: one port of 400 Gbit/s a node"),
    "gpus_per_node": Assumption(8, "GPUs", "chosen: a DGX or HGX H100"),
    "link_utilisation": Assumption(0.8, "of nvlink and network", "guess"),
    "hop_seconds": Assumption(5e-6, "s for each of the 2 (n - 1) turns of the ring", "guess"),
    "overlap": Assumption(
        0.0, "of the shorter of compute and all-reduce", "read: AdamW sums all gradients in one pack after the last one"
    ),
    "gradient_bytes": Assumption(4, "bytes a parameter", "read: float32 in mixed precision too; measured (workers)"),
    "backward": Assumption(2, "forward passes", "Kaplan et al. 2020, section 2.1: 6 N FLOPs a token in all"),
    "recomputed": Assumption(1, "forward passes with rematerialisation", "all blocks computed again; an upper bound"),
    "update_traffic": Assumption(
        60, "bytes a parameter", "counted: norm of the gradients 4, clipping 8, decay 20, Adam's op 28"
    ),
    "kept_width": Assumption(46, "bytes a token, layer and hidden unit", f"{COUNTED}; the paper has 34"),
    "kept_scores": Assumption(7, "bytes a token, layer, head and key", f"{COUNTED}; the paper has 5"),
    "kept_long": Assumption(48, "bytes a token, layer and hidden unit", f"{COUNTED}, scores computed again"),
    "kept_input": Assumption(2, "bytes a token, layer and hidden unit", "the input of a block, bfloat16"),
    "allocator": Assumption(
        1.2, "of all bytes", "measured on the CPU: TensorFlow's allocator gives chunks of up to twice what is asked for"
    ),
    "masked": Assumption(0.15, "of an encoder's tokens have an output layer", "Devlin et al. 2019, section 3.1"),
    "logits": Assumption(
        12, "bytes a token and word of the vocabulary", "guess: logits, float32 copy and gradient; high on the CPU"
    ),
}
SCHEMES = ("plain", "long", "remat")
PUBLISHED = {
    "kept_width": 34,
    "kept_scores": 5,
    "kept_long": 34,
}  # Korthikanti et al. 2022, arXiv 2205.05198, section 4
FLOAT32 = {"kept_width": 74, "kept_scores": 9, "kept_long": 78, "kept_input": 4}  # counted alike


class Machine(NamedTuple):
    """The values of the assumptions."""

    peak_flops: float
    utilisation: float
    gpu_memory: float
    memory_bandwidth: float
    nvlink: float
    network: float
    gpus_per_node: float
    link_utilisation: float
    hop_seconds: float
    overlap: float
    gradient_bytes: float
    backward: float
    recomputed: float
    update_traffic: float
    kept_width: float
    kept_scores: float
    kept_long: float
    kept_input: float
    allocator: float
    masked: float
    logits: float


H100 = Machine(**{name: assumption.value for name, assumption in ASSUMPTIONS.items()})


class Sizes(NamedTuple):
    """What the model needs to know of a transformer; FLOPs are those of a forward pass, for a token.

    `vocabulary` is how many logits a token has, on average.
    """

    parameters: int
    flops: float
    layers: int
    width: int
    heads: int
    vocabulary: float


class Step(NamedTuple):
    """Seconds of one step, and what a GPU sends in it."""

    compute: float
    update: float
    all_reduce: float
    total: float
    sent: float


def forward_flops(layers: int, width: int, vocabulary: int, length: int) -> dict[str, float]:
    """FLOPs a token of a decoder of GPT-2's shape: products with weights, scores and sums of values, output layer."""
    return {
        "blocks": 2 * 12 * layers * width**2,
        "scores": 2 * 2 * layers * length * width,
        "logits": 2 * width * vocabulary,
    }


def decoder_parameters(layers: int, width: int, vocabulary: int, length: int) -> int:
    """Of GPT-2's shape, with biases and norms, learned positions and a tied output layer."""
    return layers * (12 * width**2 + 13 * width) + (vocabulary + length) * width + 2 * width


def all_reduce_bytes(parameters: float, workers: int, gradient_bytes: float = 4) -> float:
    """What each worker sends, and receives, in a ring: every part of the gradients but its own, twice."""
    return 2 * (workers - 1) / workers * gradient_bytes * parameters


def all_reduce_seconds(parameters: float, workers: int, machine: Machine = H100) -> float:
    """One ring through all GPUs. It leaves each node once, so that a node's network carries what one GPU sends."""
    rate = machine.nvlink if workers <= machine.gpus_per_node else min(machine.nvlink, machine.network)
    sent = all_reduce_bytes(parameters, workers, machine.gradient_bytes)
    return sent / (rate * machine.link_utilisation) + 2 * (workers - 1) * machine.hop_seconds


def state_bytes(
    workers: int = 1, mixed: bool = False, accumulation: bool = False, averages: bool = False
) -> dict[str, int]:
    """Bytes a parameter of a replica that trains with our AdamW.

    Weights, gradients and moments stay float32 in mixed precision: 16 bytes, as many as the 2 + 2 + 12 of ZeRO's paper
    with its half-precision weights and gradients. There, the casts of the weights are kept for the backward pass.
    TensorFlow joins all gradients in one tensor for the all-reduce, whose result is another: two float32 copies.
    """
    parts = {"weights": 4, "gradients": 4, "moments": 8}
    extras = {"casts": 2 * mixed, "sums": 4 * accumulation, "averages": 4 * averages, "buffers": 8 * (workers > 1)}
    return parts | {name: value for name, value in extras.items() if value}


def kept_bytes(sizes: Sizes, length: int, scheme: str, machine: Machine = H100) -> float:
    """Bytes of activations a token that wait for the backward pass, in mixed precision, the output layer's included.

    Args:
        sizes: Of the model.
        length: Tokens of a text.
        scheme: `plain`: all scores; `long`: scores are computed again; `remat`: whole blocks are, one at a time.
        machine: The assumptions.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"Received scheme={scheme!r}; expected one of {SCHEMES}.")
    plain = machine.kept_width * sizes.width + machine.kept_scores * sizes.heads * length
    logits = machine.logits * sizes.vocabulary
    if scheme == "remat":  # all inputs of blocks, and the inside of one
        return sizes.layers * machine.kept_input * sizes.width + plain + logits
    block = plain if scheme == "plain" else machine.kept_long * sizes.width
    return sizes.layers * block + logits


def memory(
    sizes: Sizes, rows: int, length: int, scheme: str, machine: Machine = H100, workers: int = 1, mixed: bool = True
) -> float:
    """Bytes that a GPU needs for a step on its rows, in mixed precision, without accumulation or averages."""
    state = sum(state_bytes(workers, mixed).values()) * sizes.parameters
    return machine.allocator * (state + rows * length * kept_bytes(sizes, length, scheme, machine))


def most_rows(sizes: Sizes, length: int, scheme: str, machine: Machine = H100, workers: int = 1) -> int:
    """Texts of a length that fit a GPU."""
    free = machine.gpu_memory - memory(sizes, 0, length, scheme, machine, workers)
    return max(0, int(free // (machine.allocator * length * kept_bytes(sizes, length, scheme, machine))))


def least_scheme(sizes: Sizes, rows: int, length: int, machine: Machine = H100, workers: int = 1) -> str | None:
    """The first scheme, they come by their costs, with which so many rows fit a GPU; None if there is none."""
    fits = (scheme for scheme in SCHEMES if rows <= most_rows(sizes, length, scheme, machine, workers))
    return next(fits, None)


def step(
    sizes: Sizes, tokens: int, workers: int, machine: Machine = H100, remat: bool = False, micro_batches: int = 1
) -> Step:
    """A step with so many tokens on each GPU in each micro-batch, whose gradients our AdamW sums each time."""
    passes = 1 + machine.backward + machine.recomputed * remat
    compute = passes * sizes.flops * tokens * micro_batches / (machine.peak_flops * machine.utilisation)
    update = machine.update_traffic * sizes.parameters / machine.memory_bandwidth
    times = micro_batches if workers > 1 else 0
    reduce = times * all_reduce_seconds(sizes.parameters, workers, machine)
    total = compute + update + reduce - machine.overlap * min(compute, reduce)
    sent = times * all_reduce_bytes(sizes.parameters, workers, machine.gradient_bytes)
    return Step(compute, update, reduce, total, sent)


def utilisation(flops: float, seconds: float, gpus: int, peak: float) -> float:
    """The part of the peak that a run of so many FLOPs reached."""
    return flops / (seconds * gpus * peak)


def epochs(steps: int, rows: int, length: int, tokens: float) -> float:
    """How often a run reads a corpus of so many tokens."""
    return steps * rows * length / tokens
