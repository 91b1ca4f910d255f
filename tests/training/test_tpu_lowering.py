"""What Keras' trainer on JAX runs is lowered for TPUs on a CPU: one device, and 8 by data and by model.

The partitioner and the compiler of TPUs do not run here: a module is what they are given. A call of the host, or an op
that TPUs lack, is an error of `jax.export`.
"""

from __future__ import annotations

import json
from pathlib import Path

import processes
import pytest

SCRIPT = Path(__file__).with_name("lowered.py")
STEPS = {"train_step", "test_step", "predict_step"}
AXES = {"one": [], "data": ["batch"], "2x4": ["batch", "model"]}
# Unsigned 64-bit numbers count the random bits of dropout; signed ones are attributes, such as paddings.
TYPES = {"f32", "bf16", "i1", "i16", "i32", "i64", "ui32", "ui64"}
QUICK = ["classification-plain-one", "llama-bfloat16-2x4", "translation-accumulated-data"]
# And the function of their answers.
ENCODERS = {
    "classification": "compute", "masked_lm": "compute", "token_classification": "answer",
    "question_answering": "answer", "sentence_embedding": "embed",
}  # fmt: skip
WRITERS = ["gpt2", "llama", "qwen3", "lfm2", "qwen3_5_text", "translation", "lstm", "cnn"]
WAYS = ["accumulated", "bfloat16", "lora", "rematerialized", "averaged"]


def lower(*runs):
    """What `lowered.py` prints of each run, by its name."""
    pytest.importorskip("jax")
    flags = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
    printed = processes.run(SCRIPT.read_text(), *runs, KERAS_BACKEND="jax", XLA_FLAGS=flags)
    return dict(json.loads(line[6:]) for line in printed.splitlines() if line.startswith("RESULT"))


def check(name, programs):
    kind, way, layout = name.split("-")
    answers = {"start", "advance"} if kind in WRITERS else {ENCODERS[kind]}
    assert {step for step, _ in programs} == STEPS | answers
    for step, program in programs:
        assert program["platforms"] == ["tpu"] and program["devices"] == (1 if layout == "one" else 8), step
        assert set(program["types"]) <= TYPES and not program["dynamic"] and not program["calls"], (step, program)
        assert ("bf16" in program["types"]) == (way == "bfloat16"), step
        if step in STEPS or kind in ENCODERS:
            assert program["axes"] == AXES[layout], step


@pytest.mark.integration
def test_a_few_tasks():
    for name, programs in lower(*QUICK).items():
        check(name, programs)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*ENCODERS, *WRITERS])
def test_each_kind(kind):
    for name, programs in lower(*[f"{kind}-plain-{layout}" for layout in AXES]).items():
        check(name, programs)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classification", "llama", "translation"])
def test_each_way_of_training(kind):
    for name, programs in lower(*[f"{kind}-{way}-{layout}" for way in WAYS for layout in ("one", "2x4")]).items():
        check(name, programs)


@pytest.mark.slow
def test_a_program_for_each_shape_of_a_batch():
    """Two epochs of texts of three buckets; the last batch is smaller, or it is left out or filled."""
    options = ({}, {"drop_remainder": True}, {"pad_remainder": True})
    whole, dropped, padded = lower(*[f"compilations-{json.dumps(each)}" for each in options]).values()
    assert whole["compiled"] == len(whole["shapes"]) <= 3 * 2
    assert {length for _, length in whole["shapes"]} == {16, 32, 48}
    for found in (dropped, padded):
        assert found["compiled"] == 3 and found["shapes"] == [[8, 16], [8, 32], [8, 48]]
