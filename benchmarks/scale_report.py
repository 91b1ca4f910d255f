"""What `scale.py` measured, how far the paper model's terms miss it, and what the model gives for many GPUs."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scale_model import (
    ASSUMPTIONS,
    FLOAT32,
    H100,
    SCHEMES,
    Machine,
    Sizes,
    all_reduce_bytes,
    forward_flops,
    kept_bytes,
    least_scheme,
    memory,
    most_rows,
    state_bytes,
    step,
)
from scale_runs import HEADS, HELD_OUT

TERMS = {
    "fixed": ("ms a step", 1e3),
    "blocks": ("ms a GFLOP of products with weights", 1e12),
    "scores": ("ms a GFLOP of scores and sums of values", 1e12),
    "logits": ("ms a GFLOP of the output layer, softmax and loss with it", 1e12),
    "parameters": ("ms a million parameters updated", 1e9),
}
PAPER_MODELS = {"bert_base_en_uncased": 512, "gpt2": 1024, "gpt2_xl": 1024}
GPUS = (1, 8, 256)
SHOWN_ROWS = (8, 32)
GB = 1e9


def terms(row: dict[str, Any]) -> dict[str, float]:
    """What a measured step has of each term; FLOPs of the forward and the backward pass."""
    tokens = row["rows"] * row["length"]
    flops = forward_flops(row["layers"], row["width"], row["vocabulary"], row["length"])
    products = {name: 3.0 * value * tokens for name, value in flops.items()}
    return {"fixed": 1.0, **products, "parameters": float(row["parameters"])}


def gradient_flops(row: dict[str, Any]) -> float:
    return sum(terms(row)[name] for name in ("blocks", "scores", "logits"))


def fit(table: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """The factors, none below 0, of the columns of a table (rows, terms) with the least squares of relative errors."""
    used, scaled = list(range(table.shape[1])), table / seconds[:, None]
    sizes = np.linalg.norm(scaled, axis=0)
    while True:
        solved = np.linalg.lstsq(scaled[:, used] / sizes[used], np.ones(len(seconds)), rcond=None)[0] / sizes[used]
        if (solved >= 0).all():
            break
        del used[int(np.argmin(solved * sizes[used]))]
    factors = np.zeros(table.shape[1])
    factors[used] = solved
    return factors


def left_out(table: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """For each row, what the others say of it."""
    rows = range(len(seconds))
    return np.array([table[row] @ fit(np.delete(table, row, 0), np.delete(seconds, row)) for row in rows])


def cpu(row: dict[str, Any]) -> float:
    return statistics.median(row["cpu"])


def is_held_out(row: dict[str, Any]) -> bool:
    return all(row[name] == value for name, value in HELD_OUT._asdict().items())


def fitted(rows: Sequence[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table of terms of the rows that are fitted, their seconds, and the factors."""
    table = np.array([list(terms(row).values()) for row in rows])
    seconds = np.array([cpu(row) for row in rows])
    return table, seconds, fit(table, seconds)


def steps_table(rows: Sequence[dict[str, Any]]) -> str:
    """One process: what was measured, and the errors of one rate and of all terms."""
    inside, outside = [row for row in rows if not is_held_out(row)], [row for row in rows if is_held_out(row)]
    table, seconds, factors = fitted(inside)
    flops = np.array([[gradient_flops(row)] for row in inside])
    rate = fit(flops, seconds)[0]
    others, alone = left_out(table, seconds), left_out(flops, seconds)
    lines = [["layers", "width", "vocabulary", "length", "rows", "GFLOP", "cpu ms", "from", "to", "GFLOP/s",
              "one rate", "all terms", "left out"]]  # fmt: skip
    for index, row in enumerate([*inside, *outside]):
        work, found = gradient_flops(row), cpu(row)
        guess = float(np.array(list(terms(row).values())) @ factors)
        without = others[index] if index < len(inside) else guess
        numbers = [f"{work / 1e9:.1f}", *(f"{1e3 * value:.0f}" for value in (found, min(row["cpu"]), max(row["cpu"])))]
        errors = [percent(value / found) for value in (work * rate, guess, without)]
        sizes = [str(row[name]) for name in lines[0][:5]]
        lines.append([*sizes, *numbers, f"{work / found / 1e9:.0f}", *errors])
    worst = {
        "one rate, each left out": np.abs(alone / seconds - 1),
        "all terms": np.abs(table @ factors / seconds - 1),
        "all terms, each left out": np.abs(others / seconds - 1),
    }  # fmt: skip
    errors = [
        f"{name}: mean {100 * found.mean():.0f} %, worst {100 * found.max():.0f} %" for name, found in worst.items()
    ]
    text = [
        f"- {name}: {factor * scale:.3g} {unit}"
        for (name, (unit, scale)), factor in zip(TERMS.items(), factors, strict=True)
    ]
    note = f"One rate: {1 / rate / 1e9:.0f} GFLOP/s. Errors, {'; '.join(errors)}. Last row: {len(outside)} held out."
    return "\n".join([markdown(lines), "", note, "Terms:", *text])


def workers_table(rows: Sequence[dict[str, Any]], factors: np.ndarray) -> str:
    """The same batch by several processes: bytes beside the ring's, and what of the cost the model explains."""
    ones = {row["vocabulary"]: row for row in rows if row["workers"] == 1}
    replicated = [index for index, name in enumerate(TERMS) if name in ("fixed", "parameters")]

    def extra(row: dict[str, Any]) -> float:
        """Seconds that n workers take beside one: each has its own update."""
        own = np.array(list(terms(row).values()))[replicated] @ factors[replicated]
        return (row["workers"] - 1) * float(own)

    def more(row: dict[str, Any]) -> float:
        return cpu(row) - cpu(ones[row["vocabulary"]]) - extra(row)

    pairs = [row for row in rows if row["workers"] == 2]
    a_byte = statistics.fmean(more(row) / total_sent(row) for row in pairs)
    lines = [
        ["workers", "parameters", "sent MB", "one ring MB", "ratio", "cpu ms", "of one", "model", "error", "wall ms"]
    ]
    for row in rows:
        sent, ring = statistics.median(row["sent"]), all_reduce_bytes(row["parameters"], row["workers"])
        guess = cpu(ones[row["vocabulary"]]) + extra(row) + a_byte * total_sent(row)
        shown = [f"{row['workers']}", f"{row['parameters']}", f"{sent / 1e6:.2f}", f"{ring / 1e6:.2f}"]
        ratio = f"{sent / ring:.3f}" if ring else ""
        times = [f"{1e3 * cpu(row):.0f}", f"{cpu(row) / cpu(ones[row['vocabulary']]):.2f}", f"{1e3 * guess:.0f}"]
        lines.append([*shown, ratio, *times, percent(guess / cpu(row)), f"{1e3 * statistics.median(row['wall']):.0f}"])
    note = f"Fitted on 2 workers: {1e9 * a_byte:.2f} ns of processor a byte sent. The 4 are held out."
    return f"{markdown(lines)}\n\n{note}"


def total_sent(row: dict[str, Any]) -> float:
    return row["workers"] * statistics.median(row["sent"])


def step_bytes(row: dict[str, Any], machine: Machine) -> float:
    """What the model has a step take beside weights and moments, in float32, before the allocator."""
    sizes = Sizes(row["parameters"], 0.0, row["layers"], row["width"], HEADS, row["vocabulary"])
    kept = kept_bytes(sizes, row["length"], "plain", machine._replace(**FLOAT32))
    return row["rows"] * row["length"] * kept + state_bytes()["gradients"] * row["parameters"]


def memory_table(rows: Sequence[dict[str, Any]], machine: Machine) -> str:
    """TensorFlow's own count of bytes on the CPU, float32, beside the model's."""
    lines = [
        ["layers", "width", "vocabulary", "length", "rows", "state B/parameter", "model", "step MB", "model", "ratio"]
    ]
    for row in rows:
        model = step_bytes(row, machine)
        state = state_bytes()["weights"] + state_bytes()["moments"]
        numbers = [f"{row['state_bytes'] / row['parameters']:.1f}", f"{state}", f"{row['step_bytes'] / 1e6:.1f}"]
        lines.append([*(str(row[name]) for name in lines[0][:5]), *numbers, f"{model / 1e6:.1f}",
                      f"{row['step_bytes'] / model:.2f}"])  # fmt: skip
    return markdown(lines)


def sizes_of(name: str, length: int, machine: Machine) -> Sizes:
    """Of a model of the zoo; FLOPs counted in its graph, and of the layers that find masked tokens."""
    import zoo
    from keras_transformers.analysis.cost.model_flops import flops_per_token

    described = zoo.describe(name)
    config = described.config
    flops, logits = flops_per_token(config, length), float(config.vocabulary_size)
    if config.kind == "encoder":
        logits *= machine.masked
        flops += machine.masked * 2 * config.hidden_dim * (config.vocabulary_size + config.hidden_dim)
    return Sizes(described.parameters, flops, config.num_layers, config.hidden_dim, config.num_heads, logits)


def bytes_table(models: dict[str, Sizes]) -> str:
    """Memory a parameter, and what fits."""
    lines = [["", *state_bytes(2, True, True, True), "all", *models]]
    cases = {
        "float32": {}, "mixed": {"mixed": True}, "mixed, several GPUs": {"workers": 2, "mixed": True},
        "+ accumulation": {"workers": 2, "mixed": True, "accumulation": True},
        "+ averages": {"workers": 2, "mixed": True, "accumulation": True, "averages": True},
    }  # fmt: skip
    for name, options in cases.items():
        parts = state_bytes(**options)
        total = sum(parts.values())
        shown = [str(parts.get(part, "")) for part in lines[0][1 : -1 - len(models)]]
        lines.append(
            [name, *shown, str(total), *(f"{total * sizes.parameters / GB:.2f} GB" for sizes in models.values())]
        )
    return markdown(lines)


def activations_table(models: dict[str, Sizes], machine: Machine) -> str:
    lines = [
        ["model", "scheme", "kB a token", "of it a layer", *(f"GB, {rows} rows" for rows in SHOWN_ROWS), "most rows"]
    ]
    for name, sizes in models.items():
        length = PAPER_MODELS[name]
        for scheme in SCHEMES:
            kept = kept_bytes(sizes, length, scheme, machine)
            layer = kept - kept_bytes(sizes._replace(layers=sizes.layers - 1), length, scheme, machine)
            needs = [f"{memory(sizes, rows, length, scheme, machine, workers=2) / GB:.1f}" for rows in SHOWN_ROWS]
            fits = str(most_rows(sizes, length, scheme, machine, workers=2))
            lines.append([f"{name}, {length}", scheme, f"{kept / 1e3:.0f}", f"{layer / 1e3:.1f}", *needs, fits])
    return markdown(lines)


def time_table(models: dict[str, Sizes], machine: Machine) -> str:
    """Milliseconds of a step with the cheapest scheme that fits, and how much of so many single GPUs' speed is left."""
    lines = [["model", "rows a GPU", "kept", "GPUs", "sent GB", "compute ms", "update ms", "all-reduce ms", "step ms",
              "tokens/s", "of single GPUs", "hidden"]]  # fmt: skip
    for name, rows, gpus in itertools.product(models, SHOWN_ROWS, GPUS):
        sizes, length = models[name], PAPER_MODELS[name]
        scheme = least_scheme(sizes, rows, length, machine, max(GPUS))
        if scheme is None:
            continue
        variants = (machine, machine._replace(overlap=1.0))
        steps = [step(sizes, rows * length, gpus, variant, scheme == "remat") for variant in variants]
        one, found = step(sizes, rows * length, 1, machine, scheme == "remat"), steps[0]
        times = [f"{1e3 * value:.1f}" for value in (found.compute, found.update, found.all_reduce, found.total)]
        speeds = [f"{gpus * rows * length / found.total:.3g}", *(f"{one.total / other.total:.2f}" for other in steps)]
        lines.append([f"{name}, {length}", str(rows), scheme, str(gpus), f"{found.sent / GB:.2f}", *times, *speeds])
    return markdown(lines)


def assume(options: Iterable[str]) -> Machine:
    """The assumptions with some of them changed: `NAME=VALUE`."""
    changed = {}
    for option in options:
        name, _, value = option.partition("=")
        try:
            changed[name] = float(value)
        except ValueError:
            raise ValueError(f"Received {option!r}; expected NAME=VALUE, such as utilisation=0.4.") from None
    if unknown := sorted(changed.keys() - ASSUMPTIONS.keys()):
        raise ValueError(f"Received {unknown}; expected names among {sorted(ASSUMPTIONS)}.")
    return H100._replace(**changed)


def assumptions_table(machine: Machine) -> str:
    lines = [["assumption", "value", "unit", "from"]]
    for name, known in ASSUMPTIONS.items():
        value = getattr(machine, name)
        lines.append([name, f"{value:g}", known.unit, known.source if value == known.value else "--assume"])
    return markdown(lines)


def report(rows: Sequence[dict[str, Any]], machine: Machine) -> str:
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in ("machine", "step", "workers")}
    facts = [", ".join(f"{name} {value}" for name, value in row.items() if name != "kind") for row in kinds["machine"]]
    factors = fitted([row for row in kinds["step"] if not is_held_out(row)])[2]
    models = {name: sizes_of(name, length, machine) for name, length in PAPER_MODELS.items()}
    parts = {
        "Measured": "\n".join([*facts, "Seconds are those of the processor, medians of the turns."]),
        "One process": steps_table(kinds["step"]),
        "Workers over loopback, one batch": workers_table(kinds["workers"], factors),
        "Memory of a step, float32": memory_table(kinds["step"], machine),
        "Paper: assumptions": assumptions_table(machine),
        "Paper: bytes a parameter": bytes_table(models),
        "Paper: activations (mixed_bfloat16), and all of a GPU's memory": activations_table(models, machine),
        "Paper: seconds (`hidden`: with overlap=1)": time_table(models, machine),
    }  # fmt: skip
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items())


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, f"|{' --- |' * len(lines[0])}", *body])
