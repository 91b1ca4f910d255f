"""Generation speed of a GPT-2 size, ours against keras-nlp, torch (transformers) and CTranslate2, in one run.

    python benchmarks/decoder.py [--batches 1 8] [--layers 12] [--turns 5] [--peers ours export torch]

Random weights; 32 tokens of prompt, 128 new ones, greedy. Turns are interleaved: read the ratios. `ours` takes text and
gives text, `export` is the same in a SavedModel, `compiled` and `int8` are exports with these options; the peers take
and give token ids. Two threads each.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import partial

from turns import compare

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

PROMPT, NEW, VOCABULARY = 32, 128, 50257
SIZES = {"num_heads": 12, "hidden_dim": 768, "max_length": 1024}


class Ours:
    """Text in, text out, on a vocabulary of GPT-2's size whose tokens are single characters."""

    def __init__(self, layers: int, dtype: str = "float32"):
        import tokenizers

        from keras_transformers.families import gpt2
        from keras_transformers.tasks import Task
        from keras_transformers.text.tokenizer import Tokenizer

        words = {chr(0x10000 + i): i for i in range(VOCABULARY - 1)}
        pair = chr(0x10000), chr(0x10001)
        library = tokenizers.Tokenizer(tokenizers.models.BPE(words | {"".join(pair): VOCABULARY - 1}, [pair]))
        library.decoder = tokenizers.decoders.Fuse()
        self.task = Task("causal_lm", gpt2(VOCABULARY, layers, **SIZES), Tokenizer(library), dtype=dtype)

    def prompts(self, batch: int) -> list[str]:
        return ["".join(chr(0x10000 + 7 * i + row + 2) for i in range(PROMPT)) for row in range(batch)]

    def __call__(self, batch: int) -> None:
        answers = self.task.predict(self.prompts(batch), max_new_tokens=NEW)
        assert all(answer["num_tokens"] == NEW for answer in answers)


class Exported(Ours):
    """The same, exported with these options, and loaded."""

    def __init__(self, layers: int, **options):
        import tensorflow as tf

        super().__init__(layers)
        with tempfile.TemporaryDirectory() as folder:
            self.task.export(f"{folder}/1", max_new_tokens=NEW, **options)
            self.loaded = tf.saved_model.load(f"{folder}/1")
        self.constant = tf.constant

    def __call__(self, batch: int) -> None:
        answer = self.loaded.signatures["serving_default"](text=self.constant(self.prompts(batch)))
        assert (answer["num_tokens"].numpy() == NEW).all()


class KerasNLP:
    """`generate` of keras-nlp without its text pipeline."""

    def __init__(self, layers: int):
        import keras_nlp

        sizes = {"hidden_dim": 768, "intermediate_dim": 3072, "num_heads": 12, "max_sequence_length": 1024}
        backbone = keras_nlp.models.GPT2Backbone(VOCABULARY, num_layers=layers, **sizes)
        self.model = keras_nlp.models.GPT2CausalLM(backbone=backbone, preprocessor=None)
        self.model.compile(sampler="greedy", jit_compile=False)

    def __call__(self, batch: int) -> None:
        import numpy as np

        ids = np.zeros((batch, PROMPT + NEW), "int32")
        ids[:, :PROMPT] = 7 * np.arange(PROMPT) + np.arange(batch)[:, None]
        mask = np.broadcast_to(np.arange(PROMPT + NEW) < PROMPT, ids.shape)
        self.model.generate({"token_ids": ids, "padding_mask": mask}, stop_token_ids=None)


class Torch:
    """`generate` of transformers."""

    def __init__(self, layers: int):
        import torch
        import transformers

        torch.set_num_threads(2)
        config = transformers.GPT2Config(n_layer=layers, eos_token_id=None, bos_token_id=None)
        self.torch, self.model = torch, transformers.GPT2LMHeadModel(config).eval()

    def __call__(self, batch: int) -> None:
        ids = 7 * self.torch.arange(PROMPT) + self.torch.arange(batch)[:, None]
        options = {"max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0}
        answer = self.model.generate(ids, attention_mask=self.torch.ones_like(ids), **options)
        assert answer.shape[1] == PROMPT + NEW


class CTranslate2(Torch):
    """The same weights in CTranslate2."""

    def __init__(self, layers: int, **options):
        super().__init__(layers)
        import ctranslate2
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast

        words = {f"t{i}": i for i in range(VOCABULARY)}
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel(words, "t0")), bos_token="t0", eos_token="t0", unk_token="t0"
        )
        with tempfile.TemporaryDirectory() as folder:
            self.model.save_pretrained(f"{folder}/hf")
            tokenizer.save_pretrained(f"{folder}/hf")
            ctranslate2.converters.TransformersConverter(f"{folder}/hf").convert(f"{folder}/ct2")
            self.generator = ctranslate2.Generator(f"{folder}/ct2", inter_threads=1, intra_threads=2, **options)

    def __call__(self, batch: int) -> None:
        prompts = [[f"t{7 * i + row}" for i in range(PROMPT)] for row in range(batch)]
        options = {"max_length": NEW, "min_length": NEW, "sampling_topk": 1, "include_prompt_in_result": False}
        answers = self.generator.generate_batch(prompts, end_token=[], **options)
        assert all(len(answer.sequences_ids[0]) == NEW for answer in answers)


MAKERS: dict[str, Callable[[int], Callable[[int], None]]] = {
    "ours": Ours,
    "bfloat16": lambda layers: Ours(layers, "bfloat16"),
    "export": Exported,
    "compiled": partial(Exported, compiled=True),
    "int8": partial(Exported, compute="int8"),
    "compiled int8": partial(Exported, compiled=True, compute="int8"),
    "keras-nlp": KerasNLP,
    "torch": Torch,
    "ctranslate2": CTranslate2,
    "ctranslate2 int8": partial(CTranslate2, compute_type="int8"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--peers", nargs="+", choices=MAKERS, default=list(MAKERS))
    arguments = parser.parse_args()
    made = {name: MAKERS[name](arguments.layers) for name in arguments.peers}
    for batch in arguments.batches:
        print(f"batch {batch}")
        runs = {name: partial(work, batch) for name, work in made.items()}
        compare(runs, arguments.turns, batch * NEW, "tokens")


if __name__ == "__main__":
    main()
