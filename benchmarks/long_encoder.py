"""Speed of an encoder of the zoo on one text of a given length, beside the same model of `transformers` on torch.

    python benchmarks/long_encoder.py modernbert_base [--lengths 512 2048 8192] [--turns 5] [--threads 2]

Random weights and token ids. Turns are interleaved: read the ratios.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from turns import compare

from zoo.terminal.environment import set_environment

set_environment()


def ours(config, ids: np.ndarray) -> Callable[[], object]:
    """Our encoder, traced for any length as `predict` and exports are."""
    import tensorflow as tf

    from keras_transformers.models import encoder

    model = encoder(config, dtype="float32")
    given = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    specs = {name: tf.TensorSpec((None, None), tf.int32) for name in model.input}
    function = tf.function(lambda inputs: model(inputs, training=False), input_signature=[specs], autograph=False)
    inputs = {name: tf.constant(given[name], tf.int32) for name in model.input}
    return lambda: function(inputs)["hidden_states"].numpy()


def theirs(config, ids: np.ndarray, threads: int) -> Callable[[], object]:
    """The bare class of `transformers`, with its own choice of attention (torch's)."""
    import torch
    import transformers

    from keras_transformers.checkpoints.settings.huggingface_config import make_config
    from keras_transformers.checkpoints.settings.names import architecture_of

    torch.set_num_threads(threads)
    architecture = architecture_of("sentence_embedding", config.family)
    kind = getattr(transformers, architecture)
    model = kind(kind.config_class(**make_config(config, architecture))).eval()
    tokens = torch.tensor(ids)

    def run():
        with torch.inference_mode():
            return model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="modernbert_base")
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 2048, 8192])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    import tensorflow as tf

    import zoo

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    config = zoo.describe(options.name).config
    for length in options.lengths:
        ids = np.random.default_rng(0).integers(5, config.vocabulary_size, (1, length))
        made = {f"ours {length}": ours(config, ids), f"torch {length}": theirs(config, ids, options.threads)}
        compare(made, options.turns, length, "tokens")


if __name__ == "__main__":
    main()
