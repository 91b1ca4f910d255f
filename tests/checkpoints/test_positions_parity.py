"""Two kinds of positions in one model, as MPNet has them: the numbers of `transformers`, padding in a text included."""

import numpy as np
import pytest

from keras_transformers.checkpoints.assign import assign
from keras_transformers.checkpoints.files.tensors import by_name, read_tensors
from keras_transformers.checkpoints.names.bert import BERT
from keras_transformers.checkpoints.names.table import their_name
from keras_transformers.config.choices import first_position
from keras_transformers.families import bert
from keras_transformers.models import encoder

pytestmark = pytest.mark.parity
BLOCK = "encoder.layer.{i}"
PARTS = {"query": "q", "key": "k", "value": "v", "output": "o"}
WEIGHTS = {ours: theirs.removeprefix("bert.") for ours, theirs in BERT.weights.items()}
WEIGHTS |= {f"encoder_block_{{i}}/attention/{ours}": f"{BLOCK}.attention.attn.{it}" for ours, it in PARTS.items()}
WEIGHTS |= {
    "encoder_block_{i}/attention_norm": f"{BLOCK}.attention.LayerNorm",
    "positions": "encoder.relative_attention_bias",
}


def test_learned_and_relative_positions(tmp_path, ours, theirs):
    """A text of more tokens than the exact buckets of distances, so that the logarithmic ones count, too."""
    reference = theirs.make(
        tmp_path, "MPNetModel", vocab_size=90, num_hidden_layers=2, num_attention_heads=4, hidden_size=32,
        intermediate_size=64, max_position_embeddings=66, layer_norm_eps=1e-2,
    )  # fmt: skip
    config = bert(
        90, num_layers=2, num_heads=4, hidden_dim=32, intermediate_dim=64, max_length=64, num_segments=0, epsilon=1e-2,
        positions=["learned", "relative"], pad_id=1, position_offset=first_position(),
    )  # fmt: skip
    model = encoder(config)
    tensors = by_name(((tensor.name, tensor) for tensor in read_tensors(tmp_path)), tmp_path)
    names = BERT._replace(weights=WEIGHTS, prefix="")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}
    assign(model, kept, lambda path: their_name(path, names))
    inputs = ours.batch(config)
    inputs["token_ids"][:, 7] = config.pad_id  # typed in the text
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < 1e-4
    model.get_layer("positions").embeddings.assign(np.zeros((32, 4)))
    assert ours.difference(ours.predict(model, inputs), expected) > 1e-2
