"""Not a test: `lowered.py HELPERS RUN...` lowers the steps of small tasks for TPUs on a CPU, and prints what they hold,
a line of JSON for each run. A run is `KIND-WAY-LAYOUT`, such as `llama-lora-2x4`; or `compilations-` and options
of a data set as JSON, which trains on texts of mixed lengths and counts programs.

A process of its own, with 8 virtual devices: JAX takes their number only before it starts. Nothing is lowered from
copies of the steps: `jax.jit` of Keras' trainer and `Compiled` are replaced, so that `fit`, `evaluate` and `predict`
lower the programs that they would run.
"""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from typing import Any

sys.path.insert(0, sys.argv[1])
sys.modules["tensorflow"] = None

import every_task  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tiny  # noqa: E402
import translating  # noqa: E402
from family_case import SIZES  # noqa: E402
from family_cases import DECODERS  # noqa: E402
from keras.src.backend.jax import trainer  # noqa: E402

from keras_transformers.families import bert, convolutional, recurrent, transformer  # noqa: E402
from keras_transformers.layers.attention import fused_attention  # noqa: E402
from keras_transformers.layers.core import dropout  # noqa: E402
from keras_transformers.layers.core.accelerator import Accelerator  # noqa: E402
from keras_transformers.tasks import Task  # noqa: E402
from keras_transformers.training.lora import add_lora  # noqa: E402
from keras_transformers.training.rematerialize import rematerialize  # noqa: E402
from keras_transformers.training.workers.layouts import model_parallel  # noqa: E402
from keras_transformers.utils.compiled import Compiled  # noqa: E402

ROWS = 8  # of a batch
ENCODERS = ("classification", "masked_lm", "token_classification", "question_answering", "sentence_embedding")
DROPOUT = {"dropout": 0.1, "attention_dropout": 0.1}
FIT = {"epochs": 1, "batch_size": ROWS, "verbose": 0, "clip_norm": 1.0}
WAYS = {"accumulated": {"accumulation_steps": 2}, "averaged": {"ema_momentum": 0.9}}
lowered: dict[tuple[str, str], jax.export.Exported] = {}  # by name and shapes


def make(kind: str, dtype: str | None) -> Task:
    """Return a task of one or two blocks; heads and inner widths divide by 4."""
    keras.utils.set_random_seed(0)
    small = SIZES | {"max_length": 16, "num_layers": 1}
    if kind in ENCODERS:
        own = {"vocabulary_size": tiny.tokenizer().vocabulary_size, **DROPOUT}
        labels = {"labels": 2} if "classification" in kind else {}
        return Task(kind, bert(**(small | own)), tiny.tokenizer(), dtype=dtype, **labels)
    if kind == "translation":
        config = transformer(40, 1, 4, 16, max_length=16, eos_ids=[2], pad_id=0, **DROPOUT)
        return Task("seq2seq_lm", config, translating.characters(config), dtype=dtype)
    tokenizer = tiny.byte_tokenizer()
    small |= {"vocabulary_size": tokenizer.vocabulary_size, "eos_ids": [tokenizer.eos_id], "pad_id": 1}
    if kind in ("lstm", "cnn"):
        config = {"lstm": recurrent, "cnn": convolutional}[kind](**small, kind="decoder", intermediate_dim=16)
    else:
        configure, own = DECODERS[kind]
        config = configure(**(small | {"num_layers": 2} | own))
    return Task("causal_lm", config, tokenizer, dtype=dtype)


def distribute(kind: str, layout: str) -> None:
    if layout == "data":
        keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
    elif layout != "one":
        shape = [int(number) for number in layout.split("x")]
        keras.distribution.set_distribution(model_parallel(make(kind, None).config, shape))


def prepare(task: Task, way: str) -> Task:
    if way == "lora":
        add_lora(task.model, rank=2)
    elif way == "rematerialized":
        rematerialize(task.model)
    return task


def lower(program: Any, name: str, *arguments: Any) -> Any:
    """Lower a program for TPUs, note what it holds, and return zeros in the form of its results: it does not run."""
    key = name, str(jax.tree.map(np.shape, arguments))
    if key not in lowered:
        lowered[key] = jax.export.export(program, platforms=["tpu"])(*arguments)
    exported = lowered[key]
    zeros = [jnp.asarray(np.zeros(array.shape, array.dtype)) for array in exported.out_avals]
    return jax.tree.unflatten(exported.out_tree, zeros)


def facts(exported: jax.export.Exported) -> dict[str, Any]:
    text = exported.mlir_module()
    shardings = re.findall(r"sdy.sharding<@\w+, \[(.*?)\]", text)
    return {
        "platforms": exported.platforms,
        "devices": exported.nr_devices,
        "axes": sorted({axis for sharding in shardings for axis in re.findall(r'"(\w+)"', sharding)}),
        "types": sorted({*re.findall(r"tensor<(?:[0-9?]+x)*([a-z]\w*)", text)}),
        "calls": sorted({*re.findall(r"custom_call @([\w.]+)", text)}),
        "dynamic": sorted({*re.findall(r"tensor<[^>]*\?[^>]*>", text)}),
    }


def lower_everything() -> None:
    """Lower, in place of running, the steps of Keras' trainer and the programs of answers, as on a TPU."""
    trainer.jit = lambda function, **options: partial(lower, jax.jit(function, **options), function.__name__)
    Compiled.__call__ = lambda self, *arguments: lower(
        self.program, self.function.__name__, [variable.value for variable in self.variables], *arguments
    )
    # Weights have any value: drawing them would take half of the time.
    jax.random.truncated_normal = lambda key, lower, upper, shape, dtype: jnp.asarray(np.zeros(shape, dtype))
    fused_attention.accelerator = dropout.accelerator = lambda: Accelerator("tpu")


def steps(kind: str, way: str, layout: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the programs of a task by name, of training, evaluation and answers, and what they hold."""
    lower_everything()
    distribute(kind, layout)
    task = prepare(make(kind, "mixed_bfloat16" if way == "bfloat16" else None), way)
    use = every_task.USES[task.name]
    learns = {name: rows * (2 * ROWS // len(rows)) for name, rows in use.learns.items()}
    lowered.clear()
    task.fit(**learns, validation_data=learns, **FIT, **WAYS.get(way, {}))
    task.model.predict(task.dataset(**learns, batch_size=ROWS), verbose=0)
    task.evaluate(**learns, batch_size=ROWS, verbose=0)
    asked = [column * (2 * ROWS // len(column)) for column in use.asked]
    task.predict(*asked, batch_size=ROWS, **({"max_new_tokens": 4} if task.kind.writes_text else {}))
    keras.distribution.set_distribution(None)
    return [(name, facts(exported)) for (name, _), exported in lowered.items()]


def compilations(options: str) -> dict[str, Any]:
    """Return the shapes of the batches of two epochs, and the number of train steps that were compiled for them."""
    programs, shapes = [], set()

    def compiled(function, **options):
        program = jax.jit(function, **options)
        programs.append((function.__name__, program))

        def run(state, data):
            if function.__name__ == "train_step":
                shapes.add(data[0]["token_ids"].shape)
            return program(state, data)

        return run

    trainer.jit = compiled
    task = Task("classification", tiny.config(max_length=48), tiny.tokenizer(), labels=2)
    texts = ["a fine day " * (1 + number % 14) for number in range(44)]
    labels = np.arange(44) % 2
    task.fit(texts, labels, epochs=2, batch_size=8, verbose=0, dataset_options=json.loads(options))
    sizes = [program._cache_size() for name, program in programs if name == "train_step"]
    return {"shapes": sorted(shapes), "compiled": sum(sizes)}


if __name__ == "__main__":
    for run in sys.argv[2:]:
        name, *others = run.split("-")
        result = compilations(*others) if name == "compilations" else steps(name, *others)
        print("RESULT" + json.dumps([run, result]), flush=True)
