"""The cases of `gpu.py` with our models on JAX."""

from __future__ import annotations

import resource
from typing import Any

from gpu_cases import FIRST, MODEL, STEPS, Work, ids_of, sentences, texts_of, training_flops, weight_bytes


def characters(vocabulary: int) -> Any:
    """Return a tokenizer whose tokens are single characters."""
    from keras_transformers.text.tokenizer import Tokenizer
    from keras_transformers.text.vocabularies import character_vocabulary

    words = {chr(FIRST + number): number for number in range(vocabulary - 2)}
    words |= {"<unk>": vocabulary - 2, "<pad>": vocabulary - 1}
    return Tokenizer(character_vocabulary.build(words, [chr(FIRST), "<pad>"]))


def multiply(sizes: dict[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    one, other = jax.random.normal(jax.random.key(0), (2, sizes["size"], sizes["size"]), jnp.bfloat16)
    product = jax.jit(jnp.matmul)
    return Work(lambda: product(one, other).block_until_ready(), flops=2 * sizes["size"] ** 3)


def copy(sizes: dict[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    array = jnp.zeros(sizes["size"] // 4, jnp.float32)
    negative = jax.jit(jnp.negative)  # reads all and writes all
    return Work(lambda: negative(array).block_until_ready(), moved=2 * sizes["size"])


def _learner(sizes: dict[str, Any], steps: int) -> tuple[Any, Any]:
    """Return a compiled task and a data set of `steps` whole batches."""
    from keras_transformers import families
    from keras_transformers.tasks import Task
    from keras_transformers.text.tokenizer import Tokenizer

    rows, length = sizes["rows"], sizes["length"]
    rates = {name: sizes[name] for name in ("dropout", "attention_dropout")}
    shape = sizes["layers"], sizes["heads"], sizes["width"]
    if sizes.get("causal"):
        config = families.gpt2(sizes["vocabulary"], *shape, max_length=length, **rates)
        task = Task("causal_lm", config, characters(sizes["vocabulary"]), dtype="mixed_bfloat16")
        texts, labels = texts_of(ids_of(sizes | {"rows": rows * steps, "length": length + 1})), None
    else:
        config = families.bert(sizes["vocabulary"], *shape, max_length=max(length, 128), **rates)
        tokenizer = Tokenizer.from_folder(MODEL)
        task = Task("classification", config, tokenizer, labels=["a", "b"], max_length=length, dtype="mixed_bfloat16")
        texts, labels = ["word " * (length + 2)] * (rows * steps), ["a", "b"] * (rows * steps // 2)
    task.compile()
    return task.model, task.dataset(texts, labels, batch_size=rows, buckets=(length,))


def train(sizes: dict[str, Any]) -> Work:
    import jax

    model, dataset = _learner(sizes, 1)
    batch = jax.device_put(dataset[0])
    assert batch[0]["token_ids"].shape == (sizes["rows"], sizes["length"]), batch[0]["token_ids"].shape
    model.train_on_batch(*batch)  # makes the variables of the optimizer and the metrics
    groups = model.trainable_variables, model.non_trainable_variables, model.optimizer.variables
    state = tuple([variable.value for variable in group] for group in (*groups, model.metrics_variables))

    def call() -> None:
        nonlocal state
        for _ in range(STEPS):
            logs, state = model.train_function(state, iter([batch]))
        jax.block_until_ready(logs)

    return Work(call, STEPS, flops=STEPS * training_flops(sizes))


def fit(sizes: dict[str, Any]) -> Work:
    from keras_transformers.tasks.fit.late_logs import LateCallbacks

    model, dataset = _learner(sizes, 2 * STEPS)

    def call() -> None:
        callbacks = LateCallbacks([], add_history=True, epochs=1, steps=len(dataset), model=model)
        model.fit(dataset, shuffle=False, verbose=0, callbacks=callbacks)

    return Work(call, 2 * STEPS, flops=2 * STEPS * training_flops(sizes))


def block(sizes: dict[str, Any]) -> Work:
    import jax
    import jax.numpy as jnp

    from keras_transformers import EncoderBlock

    layer = EncoderBlock(sizes["heads"], 4 * sizes["width"], dtype="mixed_bfloat16")
    x = jax.random.normal(jax.random.key(0), (sizes["rows"], sizes["length"], sizes["width"]), jnp.bfloat16)
    layer(x[:, :8])
    weights = [variable.value for variable in layer.trainable_variables]
    others = [variable.value for variable in layer.non_trainable_variables]

    def loss(weights, x):
        return layer.stateless_call(weights, others, x)[0].astype("float32").sum()

    gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))
    return Work(lambda: jax.block_until_ready(gradients(weights, x)), flops=training_flops(sizes))


def generate(sizes: dict[str, Any]) -> Work:
    from keras_transformers.families import gpt2
    from keras_transformers.tasks import Task

    config = gpt2(sizes["vocabulary"], sizes["layers"], sizes["heads"], sizes["width"], max_length=1024)
    task = Task("causal_lm", config, characters(sizes["vocabulary"]), dtype=sizes["dtype"])
    return _written(task, sizes, sizes["new"] * weight_bytes(sizes))


def translate(sizes: dict[str, Any]) -> Work:
    from keras_transformers.families import marian
    from keras_transformers.tasks import Task

    ids = {"pad_id": sizes["vocabulary"] - 1, "decoder_start_id": sizes["vocabulary"] - 1, "eos_ids": [0]}
    shape = sizes["layers"], sizes["heads"], sizes["width"]
    config = marian(sizes["vocabulary"], *shape, intermediate_dim=4 * sizes["width"], max_length=512, **ids)
    return _written(Task("seq2seq_lm", config, characters(sizes["vocabulary"])), sizes, 0)


def _written(task: Any, sizes: dict[str, Any], moved: float) -> Work:
    options = {"max_new_tokens": sizes["new"], "min_new_tokens": sizes["new"], "batch_size": sizes["rows"]}
    texts = texts_of(ids_of(sizes))

    def call() -> None:
        answers = task.predict(texts, num_beams=sizes.get("beams", 1), **options)
        assert all(answer["num_tokens"] == sizes["new"] for answer in answers)

    return Work(call, sizes["rows"] * sizes["new"], "token", moved=moved)


def embed(sizes: dict[str, Any]) -> Work:
    import zoo

    task, texts = zoo.load(str(MODEL), "sentence_embedding"), sentences(sizes["count"])
    return Work(lambda: task.embed(texts, batch_size=sizes["rows"], verbose=0), sizes["count"], "sentence")


def used() -> tuple[str, float]:
    """Return the name of JAX's device, and the most memory that was in use there."""
    import jax

    device = jax.local_devices()[0]
    most = (device.memory_stats() or {}).get("peak_bytes_in_use")
    return device.device_kind, most or 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def made(side: str, does: str, sizes: dict[str, Any]) -> Work:
    """Return the work of a case; `side` is "ours"."""
    return globals()[does](sizes)
