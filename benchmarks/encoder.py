"""Speed of a BERT-base encoder, ours against keras-nlp, torch (transformers) and ONNX Runtime, in one run.

    python benchmarks/encoder.py infer [--batches 1 32] [--length 128] [--turns 7]
    python benchmarks/encoder.py train [--batches 8] [--length 128] [--turns 5]
    python benchmarks/encoder.py update
    python benchmarks/encoder.py peak

Random weights and token ids, no padding. `infer` runs the encoder; `train` is a step of fine-tuning a classifier with
AdamW, clipping and dropout. Turns are interleaved: read the ratios. Two threads each. `update` is the optimizer's part
of that step alone. `peak` measures products of the sizes of this model alone, for the part of the machine's peak that a
step reaches. `TF_ENABLE_ONEDNN_OPTS=0` in the environment switches oneDNN off. ONNX Runtime: `pip install onnx
onnxruntime onnxscript`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial

from turns import compare

from zoo.terminal.environment import set_environment

set_environment()
VOCABULARY = 30_522
PEERS = {
    "infer": ("ours", "ours XLA", "ours bfloat16", "keras-nlp", "keras-nlp XLA", "torch", "onnxruntime"),
    "train": ("ours", "ours XLA", "ours bfloat16", "keras-nlp", "keras-nlp XLA", "keras-nlp bfloat16", "torch"),
}


def token_ids(batch: int, length: int):
    """Random tokens, int32 (B, T)."""
    import numpy as np

    return np.random.default_rng(0).integers(1000, VOCABULARY, (batch, length), "int32")


def dtype_of(name: str) -> str:
    return "mixed_bfloat16" if "bfloat16" in name else "float32"


def model_inputs(batch: int, length: int) -> dict:
    ids = token_ids(batch, length)
    return {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}


def infer_ours(name: str, layers: int, batch: int, length: int) -> Callable[[], object]:
    import tensorflow as tf

    from keras_transformers.families import bert
    from keras_transformers.models import encoder

    model = encoder(bert(VOCABULARY, layers, 12, 768), dtype=dtype_of(name))
    return _traced(
        model, {key: tf.constant(value) for key, value in model_inputs(batch, length).items()}, "XLA" in name
    )


def infer_keras_nlp(name: str, layers: int, batch: int, length: int) -> Callable[[], object]:
    import tensorflow as tf

    inputs = {key: tf.constant(value) for key, value in model_inputs(batch, length).items()}
    return _traced(_keras_nlp_backbone(layers, length, dtype_of(name)), inputs, "XLA" in name)


def _traced(model, inputs: dict, jit: bool) -> Callable[[], object]:
    import tensorflow as tf

    function = tf.function(lambda x: model(x, training=False), jit_compile=jit, autograph=False)

    def run():
        return tf.nest.flatten(function(inputs))[0].numpy()

    return run


def _keras_nlp_backbone(layers: int, length: int, dtype: str):
    import keras_nlp

    return keras_nlp.models.BertBackbone(
        VOCABULARY, num_layers=layers, num_heads=12, hidden_dim=768, intermediate_dim=3072,
        max_sequence_length=max(length, 512), dtype=dtype,
    )  # fmt: skip


def _torch_model(layers: int, classifier: bool):
    import torch
    import transformers

    torch.set_num_threads(2)
    config = transformers.BertConfig(vocab_size=VOCABULARY, num_hidden_layers=layers, num_labels=2)
    return (transformers.BertForSequenceClassification if classifier else transformers.BertModel)(config)


def infer_torch(name: str, layers: int, batch: int, length: int) -> Callable[[], object]:
    import torch

    model, ids = _torch_model(layers, False).eval(), torch.tensor(token_ids(batch, length)).long()

    def run():
        with torch.inference_mode():
            return model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state

    return run


def infer_onnx(name: str, layers: int, batch: int, length: int) -> Callable[[], object]:
    import onnxruntime
    import torch

    model = _torch_model(layers, False).eval()
    ids = torch.tensor(token_ids(batch, length)).long()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    with tempfile.TemporaryDirectory() as folder:
        inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids))
        names = ["input_ids", "attention_mask", "token_type_ids"]
        torch.onnx.export(model, inputs, f"{folder}/model.onnx", input_names=names, output_names=["states", "pooled"])
        session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
    fed = {name: value.numpy() for name, value in zip(names, inputs, strict=True)}
    fed = {one.name: fed[one.name] for one in session.get_inputs()}
    return lambda: session.run(["states"], fed)


def train_ours(name: str, layers: int, batch: int, length: int) -> Callable[[], object]:
    import keras
    import numpy as np
    import tensorflow as tf

    from keras_transformers.families import bert
    from keras_transformers.heads import classification_head, pooler
    from keras_transformers.models import encoder
    from keras_transformers.training.losses.target_losses import CrossEntropy
    from keras_transformers.training.optimizers.adamw import AdamW

    config, dtype = bert(VOCABULARY, layers, 12, 768), dtype_of(name)
    backbone = encoder(config, dtype=dtype)
    pooled = pooler(config, backbone.output["hidden_states"], dtype)
    model = keras.Model(backbone.input, classification_head(config, pooled, 2, dtype))
    model.compile(AdamW(2e-5), CrossEntropy(), jit_compile="XLA" in name)
    data = tf.data.Dataset.from_tensors((model_inputs(batch, length), np.zeros(batch, "int32")))
    return _fitted(model, data)


def train_keras_nlp(name: str, layers: int, batch: int, length: int) -> Callable[[], object]:
    import keras
    import keras_nlp
    import numpy as np
    import tensorflow as tf

    backbone = _keras_nlp_backbone(layers, length, dtype_of(name))
    model = keras_nlp.models.BertTextClassifier(backbone, 2, preprocessor=None, dropout=0.1)
    optimizer = keras.optimizers.AdamW(2e-5, weight_decay=0.01, global_clipnorm=1.0)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, jit_compile="XLA" in name)
    data = tf.data.Dataset.from_tensors((model_inputs(batch, length), np.zeros(batch, "int32")))
    return _fitted(model, data)


def _fitted(model, data, steps: int = 2) -> Callable[[], object]:
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    data = data.repeat(steps).with_options(options)
    return lambda: model.fit(data, epochs=1, verbose=0, shuffle=False)


def train_torch(name: str, layers: int, batch: int, length: int, steps: int = 2) -> Callable[[], object]:
    import torch

    model, ids = _torch_model(layers, True).train(), torch.tensor(token_ids(batch, length)).long()
    optimizer = torch.optim.AdamW(model.parameters(), 2e-5)
    labels = torch.zeros(batch, dtype=torch.long)

    def run():
        for _ in range(steps):
            optimizer.zero_grad()
            model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return run


MAKERS = {
    ("infer", "ours"): infer_ours, ("infer", "keras-nlp"): infer_keras_nlp, ("infer", "torch"): infer_torch,
    ("infer", "onnxruntime"): infer_onnx, ("train", "ours"): train_ours, ("train", "keras-nlp"): train_keras_nlp,
    ("train", "torch"): train_torch,
}  # fmt: skip


def update(layers: int, turns: int) -> None:
    """One update of all weights, clipped and decayed, with gradients that are there: ours beside Keras' AdamW."""
    import keras
    import tensorflow as tf

    from keras_transformers.families import bert
    from keras_transformers.models import encoder
    from keras_transformers.training.optimizers.adamw import AdamW

    shapes = [weight.shape for weight in encoder(bert(VOCABULARY, layers, 12, 768)).trainable_weights]
    gradients = [tf.random.normal(shape, stddev=1e-3) for shape in shapes]
    optimizers = {
        "ours": AdamW(2e-5),
        "Keras": keras.optimizers.AdamW(2e-5, weight_decay=0.01, global_clipnorm=1.0, epsilon=1e-6),
    }

    def runner(optimizer) -> Callable[[], object]:
        weights = [keras.Variable(gradient) for gradient in gradients]
        optimizer.build(weights)
        step = tf.function(lambda: optimizer.apply(gradients, weights), autograph=False)
        return lambda: (step(), optimizer.iterations.numpy())

    compare({name: runner(optimizer) for name, optimizer in optimizers.items()}, turns, 1, "updates")


def peak(turns: int) -> None:
    """Products of BERT-base's sizes by themselves, GFLOP/s."""
    import tensorflow as tf

    for dtype in (tf.float32, tf.bfloat16):
        for rows, inner, columns in ((1024, 768, 768), (1024, 768, 3072), (1024, 3072, 768), (128, 768, 768)):
            one, other = (tf.cast(tf.random.normal(shape), dtype) for shape in ((rows, inner), (inner, columns)))
            product = tf.function(tf.matmul)
            name = f"{dtype.name} {rows}x{inner}x{columns}"
            work = {name: lambda product=product, one=one, other=other: [product(one, other) for _ in range(50)]}
            compare(work, turns, 50 * 2 * rows * inner * columns / 1e9, "GFLOP")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("infer", "train", "update", "peak"))
    parser.add_argument("--batches", type=int, nargs="+")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--peers", nargs="+")
    arguments = parser.parse_args()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(2)
    if arguments.what == "peak":
        peak(arguments.turns)
        return
    if arguments.what == "update":
        update(arguments.layers, arguments.turns)
        return
    steps = 2 if arguments.what == "train" else 1
    for batch in arguments.batches or {"infer": [1, 32], "train": [8]}[arguments.what]:
        print(f"{arguments.what}, batch {batch} x {arguments.length}, {arguments.layers} layers", flush=True)
        runs = {}
        for name in arguments.peers or PEERS[arguments.what]:
            make = MAKERS[arguments.what, name.split()[0]]
            runs[name] = partial(make, name, arguments.layers, batch, arguments.length)()
        compare(runs, arguments.turns, steps * batch, "examples")


if __name__ == "__main__":
    main()
