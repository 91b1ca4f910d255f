"""What trains a Transformer-Tiny in `encoder_decoder.py`: ours and its peers, each a function of a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def batches(data: Path, count: int) -> list[tuple[dict[str, Any], Any]]:
    """The first batches of an epoch, as arrays."""
    from zoo.transformer_tiny import make_task

    task, english, german = make_task(data)
    dataset = task.dataset(english, german, batch_tokens=4096, seed=1)
    return [
        ({name: array.numpy() for name, array in inputs.items()}, labels.numpy())
        for inputs, labels in dataset.take(count)
    ]


def ours(data: Path, dtype: str = "float32", **options: Any) -> Callable[[dict, Any], object]:
    """The zoo's model with the optimizer of its recipe."""
    from keras_transformers.training.optimizers.adamw import AdamW
    from zoo.transformer_tiny import make_task

    task, *_ = make_task(data, dtype=dtype)
    task.compile(AdamW(1e-3, 0.0, 25.0, beta_2=0.98, epsilon=1e-8), metrics=[], **options)
    return task.model.train_on_batch


def marian(data: Path) -> Callable[[dict, Any], object]:
    """MarianMTModel of transformers, with torch's label-smoothed loss."""
    import torch
    import transformers

    import zoo

    torch.set_num_threads(2)
    tiny = zoo.describe("transformer_tiny").config
    config = transformers.MarianConfig(
        vocab_size=tiny.vocabulary_size, d_model=128, encoder_layers=4, decoder_layers=4,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256, decoder_ffn_dim=256, dropout=0.3,
        pad_token_id=tiny.pad_id, decoder_start_token_id=tiny.decoder_start_id,
        eos_token_id=tiny.eos_ids[0], scale_embedding=True, activation_function="relu",
    )  # fmt: skip
    model = transformers.MarianMTModel(config).train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, (0.9, 0.98), fused=True)

    def step(inputs: dict, labels: Any) -> None:
        tensors = {name: torch.from_numpy(array).long() for name, array in inputs.items()}
        logits = model(
            input_ids=tensors["encoder_token_ids"], attention_mask=tensors["encoder_padding_mask"],
            decoder_input_ids=tensors["token_ids"],
        ).logits  # fmt: skip
        _learn(torch, optimizer, model, logits, labels)

    return step


def torch(data: Path) -> Callable[[dict, Any], object]:
    """`torch.nn.Transformer` with shared embeddings."""
    import torch as library
    from torch import nn

    import zoo

    library.set_num_threads(2)
    vocabulary = zoo.describe("transformer_tiny").config.vocabulary_size

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, 128), nn.Embedding(256, 128)
            self.body = nn.Transformer(128, 4, 4, 4, 256, 0.3, batch_first=True)

        def embed(self, ids):
            return self.tokens(ids) * 128**0.5 + self.positions.weight[: ids.shape[1]]

        def forward(self, source, padding, target):
            causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
            options = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
            states = self.body(self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True, **options)
            return states @ self.tokens.weight.T

    model = Model().train()
    optimizer = library.optim.Adam(model.parameters(), 1e-3, (0.9, 0.98), fused=True)

    def step(inputs: dict, labels: Any) -> None:
        tensors = {name: library.from_numpy(array).long() for name, array in inputs.items()}
        logits = model(tensors["encoder_token_ids"], tensors["encoder_padding_mask"] == 0, tensors["token_ids"])
        _learn(library, optimizer, model, logits, labels)

    return step


def keras_nlp(data: Path, **options: Any) -> Callable[[dict, Any], object]:
    """Its TransformerEncoder and TransformerDecoder, with the loss that Keras has."""
    import keras
    import keras_nlp as library

    import zoo

    tiny = zoo.describe("transformer_tiny").config
    names = ("encoder_token_ids", "encoder_padding_mask", "token_ids")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    tokens = library.layers.ReversibleEmbedding(tiny.vocabulary_size, 128)
    sides = [
        keras.layers.Dropout(0.3)(x + library.layers.SinePositionEncoding()(x))
        for x in (tokens(inputs[name]) * 128**0.5 for name in names[::2])
    ]
    source, target = sides
    for _ in range(4):
        source = library.layers.TransformerEncoder(256, 4, 0.3)(source, padding_mask=inputs[names[1]])
    for _ in range(4):
        block = library.layers.TransformerDecoder(256, 4, 0.3)
        target = block(target, source, encoder_padding_mask=inputs[names[1]])
    model = keras.Model(inputs, tokens(target, reverse=True))
    smoothed = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1, reduction="none")

    def loss(labels, logits):
        losses = smoothed(keras.ops.one_hot(keras.ops.maximum(labels, 0), tiny.vocabulary_size), logits)
        real = keras.ops.cast(labels >= 0, losses.dtype)
        return keras.ops.sum(losses * real) / keras.ops.sum(real)

    model.compile(
        keras.optimizers.Adam(1e-3, 0.9, 0.98, global_clipnorm=25.0), loss, **({"jit_compile": False} | options)
    )
    return lambda inputs, labels: model.train_on_batch({name: inputs[name] for name in names}, labels)


def _learn(torch: Any, optimizer: Any, model: Any, logits: Any, labels: Any) -> None:
    targets = torch.from_numpy(labels).long().reshape(-1)
    loss = torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), targets, ignore_index=-1, label_smoothing=0.1
    )
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 25.0)
    optimizer.step()


TRAINERS: dict[str, Callable[[Path], Callable[[dict, Any], object]]] = {
    "ours": ours,
    "bfloat16": lambda data: ours(data, dtype="mixed_bfloat16"),
    "xla": lambda data: ours(data, jit_compile=True),
    "torch": torch,
    "marian": marian,
    "keras-nlp": keras_nlp,
    "keras-nlp, XLA": lambda data: keras_nlp(data, jit_compile=True),
}
