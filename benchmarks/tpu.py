"""Steps at real sizes, compiled for TPUs by their compiler, without a TPU: seconds, and bytes of each chip's memory.

    pip install jax libtpu
    KERAS_BACKEND=jax python benchmarks/tpu.py [--cases BERT-base GPT-2 ...] [--topology v5e:2x4] [--library libtpu.so]

`fit` lowers its step as on a TPU (tests/training/lowered.py), and libtpu compiles it for a topology: for one chip, and
for all of them, which share a batch. A line of JSON for each, with megabytes of each chip's memory: `state_mb`, of
weights, optimizer and inputs; `temporary_mb`, the most that a step needs beside. Nothing runs, so there are no times of
steps. BERT-base takes minutes to compile on two cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
HELPERS = ROOT / "tests" / "helpers"


class Case(NamedTuple):
    """A model of the zoo, its task, and the rows and tokens of a chip's batch."""

    model: str
    task: str
    rows: int
    tokens: int


CASES = {
    "mini": Case("mini_bert_en", "classification", 32, 128),
    "BERT-base": Case("bert_base_en_uncased", "classification", 32, 128),
    "BERT-base long": Case("bert_base_en_uncased", "classification", 8, 512),
    "ModernBERT-base": Case("modernbert_base", "classification", 8, 512),
    "GPT-2": Case("gpt2", "causal_lm", 8, 1024),
    "Qwen3-0.6B": Case("qwen3_0_6b", "causal_lm", 2, 1024),
    "Transformer-base": Case("transformer_base", "seq2seq_lm", 64, 64),
}


def compile_step(case: Case, lowered: dict[str, Any], devices: Any) -> dict[str, Any]:
    """Lower the train step of a case, and compile it for the chips of a topology."""
    import jax
    import keras
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    if devices.size > 1:
        keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
    fit_one_batch(case, devices.size)
    keras.distribution.set_distribution(None)

    mesh = Mesh(devices.reshape(-1), ("batch",))
    begun, result = time.perf_counter(), {}
    (exported,) = (each for (name, _), each in lowered.items() if name == "train_step")
    shardings = [each or NamedSharding(mesh, PartitionSpec()) for each in exported.in_shardings_jax(mesh)]
    inputs = [
        jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)
        for array, sharding in zip(exported.in_avals, shardings, strict=True)
    ]
    arguments, options = jax.tree.unflatten(exported.in_tree, inputs)
    compiled = jax.jit(exported.call, donate_argnums=0).lower(*arguments, **options).compile()
    memory = compiled.memory_analysis()
    result["seconds"] = round(time.perf_counter() - begun, 1)
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    result["state_mb"], result["temporary_mb"] = held >> 20, memory.temp_size_in_bytes >> 20
    result["all_reduces"] = compiled.as_text().count(" all-reduce(") + compiled.as_text().count(" all-reduce-start(")
    return result | {"chips": devices.size}


def fit_one_batch(case: Case, chips: int) -> None:
    """Call `fit` of a task with a batch of full rows."""
    from dataclasses import replace

    import tiny
    import translating

    import zoo
    from keras_transformers.tasks import Task

    config = replace(zoo.describe(case.model).config, max_length=case.tokens)
    rows = case.rows * chips
    texts, labels, tokenizer, options = ["a fine day " * case.tokens] * rows, None, tiny.byte_tokenizer(), {}
    if case.task == "classification":
        labels, tokenizer, options = [0, 1] * (rows // 2), tiny.tokenizer(), {"labels": 2}
    elif case.task == "seq2seq_lm":
        tokenizer = translating.characters(config)
        texts = [translating.text_of([5, 6, 7] * case.tokens)] * rows
        labels = texts
    task = Task(case.task, config, tokenizer, dtype="mixed_bfloat16", **options)
    task.fit(texts, labels, epochs=1, batch_size=rows, verbose=0, clip_norm=1.0)


def main() -> None:
    """Compile the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES], help="Cases to compile.")
    parser.add_argument("--topology", default="v5e:2x4", help="Topology whose chips share a batch.")
    parser.add_argument("--library", help="Path of libtpu.so, if the package libtpu is not installed.")
    arguments = parser.parse_args()
    if arguments.library is None:
        found = importlib.util.find_spec("libtpu")
        if found is None or found.origin is None:
            parser.error("the compiler of TPUs is not installed: pip install libtpu, or give its --library.")
        arguments.library = str(Path(found.origin).with_name("libtpu.so"))
    count = math.prod(map(int, arguments.topology.split(":")[1].split("x")))
    os.environ.update(TPU_SKIP_MDS_QUERY="1", TPU_LIBRARY_PATH=arguments.library, JAX_PLATFORMS="cpu")
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count} --xla_backend_optimization_level=0"
    sys.argv = ["lowered.py", str(HELPERS)]
    lowering = runpy.run_path(str(ROOT / "tests" / "training" / "lowered.py"), run_name="lowering")
    lowering["lower_everything"]()

    import numpy as np
    from jax.experimental import topologies

    chips = topologies.get_topology_desc(platform="tpu", topology_name=arguments.topology).devices
    for name in arguments.cases:
        for devices in (chips[:1], chips):
            lowering["lowered"].clear()
            found = compile_step(CASES[name], lowering["lowered"], np.array(devices))
            print(json.dumps({"case": name, **CASES[name]._asdict(), **found}), flush=True)


if __name__ == "__main__":
    main()
