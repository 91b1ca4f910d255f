"""Translation and training speed of encoder-decoders beside torch, keras-nlp and CTranslate2, in one run each.

    python benchmarks/encoder_decoder.py translate [--layers 6] [--turns 3] [--peers ours export torch keras-nlp ...]
    python benchmarks/encoder_decoder.py train DATA/multi30k_bpe [--turns 5] [--peers ours xla torch keras-nlp ...]

`translate`: a Marian base size with random weights, 100 sentences of 5 to 35 tokens, beams of 4, 24 new tokens each
(keras-nlp: a BART of that size, its nearest, token ids in and out). Batches of 25, in the order given but for ours in
process and CTranslate2, which put sentences of like length together.
`train`: the Transformer-Tiny of Wu et al. 2021 on batches of 4,096 tokens, real target tokens a second, dropout on.
Turns are interleaved: read the ratios. Two threads each. With TF_CPU_ALLOCATOR_USE_BFC=1 in the environment TensorFlow,
so ours and keras-nlp, keeps the memory of large tensors.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from turns import compare

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

VOCABULARY, WIDTH, INNER, HEADS = 58101, 512, 2048, 8
SENTENCES, NEW, BEAMS, ROWS = 100, 24, 4, 25
FIRST = 0x10000  # the character of token 0


def sources() -> list[list[int]]:
    random = np.random.default_rng(0)
    return [random.integers(5, VOCABULARY - 1, length).tolist() for length in random.integers(5, 36, SENTENCES)]


class Ours:
    """Text in, text out, on a vocabulary of Marian's size whose tokens are single characters."""

    def __init__(self, layers: int):
        from keras_transformers.families import marian
        from keras_transformers.tasks import Task
        from keras_transformers.text.tokenizer import Tokenizer
        from keras_transformers.text.vocabularies import character_vocabulary

        words = {chr(FIRST + number): number for number in range(VOCABULARY - 2)}
        words |= {"<unk>": VOCABULARY - 2, "<pad>": VOCABULARY - 1}
        ids = {"pad_id": VOCABULARY - 1, "decoder_start_id": VOCABULARY - 1, "eos_ids": [0]}
        config = marian(VOCABULARY, layers, HEADS, WIDTH, intermediate_dim=INNER, max_length=512, **ids)
        self.task = Task("seq2seq_lm", config, Tokenizer(character_vocabulary.build(words, [chr(FIRST), "<pad>"])))
        self.texts = ["".join(chr(FIRST + number) for number in ids) for ids in sources()]

    def __call__(self) -> None:
        options = {"num_beams": BEAMS, "max_new_tokens": NEW, "min_new_tokens": NEW}
        answers = self.task.predict(self.texts, batch_size=ROWS, **options)
        assert all(answer["num_tokens"] == NEW for answer in answers)


class Exported(Ours):
    """The same, exported with these options, and loaded."""

    def __init__(self, layers: int, **options):
        import tensorflow as tf

        super().__init__(layers)
        with tempfile.TemporaryDirectory() as folder:
            self.task.export(f"{folder}/1", num_beams=BEAMS, max_new_tokens=NEW, min_new_tokens=NEW, **options)
            self.loaded = tf.saved_model.load(f"{folder}/1")
        self.constant = tf.constant

    def __call__(self) -> None:
        for start in range(0, SENTENCES, ROWS):
            texts = self.constant(self.texts[start : start + ROWS])
            answer = self.loaded.signatures["serving_default"](text=texts)
            assert (answer["num_tokens"].numpy() == NEW).all()


def padded() -> Iterator[np.ndarray]:
    """Batches of token ids (batch, sequence), int64, each row with its end and then padding."""
    rows = sources()
    for start in range(0, SENTENCES, ROWS):
        chunk = [[*ids, 0] for ids in rows[start : start + ROWS]]
        width = max(map(len, chunk))
        yield np.array([[*row, *[VOCABULARY - 1] * (width - len(row))] for row in chunk])


class KerasNLP:
    """`generate` of keras-nlp without its text pipeline, XLA as it chooses."""

    def __init__(self, layers: int):
        import keras_nlp

        backbone = keras_nlp.models.BartBackbone(VOCABULARY, layers, HEADS, WIDTH, INNER, max_sequence_length=512)
        self.model = keras_nlp.models.BartSeq2SeqLM(backbone=backbone, preprocessor=None)
        self.model.compile(sampler=keras_nlp.samplers.BeamSampler(num_beams=BEAMS))

    def __call__(self) -> None:
        for ids in padded():
            start = np.zeros((len(ids), NEW + 1), "int32")
            start[:, 0] = VOCABULARY - 1
            inputs = {"encoder_token_ids": ids, "encoder_padding_mask": ids != VOCABULARY - 1}
            inputs |= {"decoder_token_ids": start, "decoder_padding_mask": start != 0}
            inputs = {name: array.astype("int32") for name, array in inputs.items()}
            answer = self.model.generate(inputs, stop_token_ids=None)
            assert answer["decoder_token_ids"][:, -1].any()


class Torch:
    """`generate` of transformers."""

    def __init__(self, layers: int):
        import torch
        import transformers

        torch.set_num_threads(2)
        config = transformers.MarianConfig(
            vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=layers, decoder_layers=layers,
            encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=INNER,
            decoder_ffn_dim=INNER, max_position_embeddings=512, pad_token_id=VOCABULARY - 1,
            decoder_start_token_id=VOCABULARY - 1, eos_token_id=0, scale_embedding=True,
            activation_function="swish", forced_eos_token_id=None,
        )  # fmt: skip
        self.torch, self.model = torch, transformers.MarianMTModel(config).eval()

    def __call__(self) -> None:
        for ids in map(self.torch.from_numpy, padded()):
            options = {"num_beams": BEAMS, "max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}
            with self.torch.no_grad():
                answer = self.model.generate(ids, attention_mask=(ids != VOCABULARY - 1).long(), **options)
            assert answer.shape[1] == NEW + 1


class CTranslate2(Torch):
    """The same weights in CTranslate2."""

    def __init__(self, layers: int, **options):
        super().__init__(layers)
        import ctranslate2
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast

        words = {f"t{i}": i for i in range(VOCABULARY - 1)} | {"<pad>": VOCABULARY - 1}
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=Tokenizer(models.WordLevel(words, "t1")), eos_token="t0", unk_token="t1", pad_token="<pad>"
        )
        with tempfile.TemporaryDirectory() as folder:
            self.model.save_pretrained(f"{folder}/hf")
            tokenizer.save_pretrained(f"{folder}/hf")
            ctranslate2.converters.TransformersConverter(f"{folder}/hf").convert(f"{folder}/ct2")
            self.translator = ctranslate2.Translator(f"{folder}/ct2", inter_threads=1, intra_threads=2, **options)

    def __call__(self) -> None:
        rows = [[f"t{number}" for number in [*ids, 0]] for ids in sources()]
        options = {"beam_size": BEAMS, "max_decoding_length": NEW, "min_decoding_length": NEW}
        answers = self.translator.translate_batch(rows, max_batch_size=ROWS, **options)
        assert all(len(answer.hypotheses[0]) == NEW for answer in answers)


TRANSLATORS: dict[str, Callable[[int], Callable[[], None]]] = {
    "ours": Ours, "export": Exported, "compiled": partial(Exported, compiled=True),
    "int8": partial(Exported, compute="int8"), "compiled int8": partial(Exported, compiled=True, compute="int8"),
    "torch": Torch, "keras-nlp": KerasNLP, "ctranslate2": CTranslate2,
    "ctranslate2 int8": partial(CTranslate2, compute_type="int8"),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("translate", "train"))
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--peers", nargs="+")
    arguments = parser.parse_args()
    if arguments.what == "translate":
        names = arguments.peers or list(TRANSLATORS)
        made = {name: TRANSLATORS[name](arguments.layers) for name in names}
        compare(made, arguments.turns, SENTENCES, "sentences")
        return
    from encoder_decoder_training import TRAINERS, batches

    rows = batches(arguments.data, arguments.batches)
    tokens = sum(int((labels >= 0).sum()) for _, labels in rows)
    steps = {name: TRAINERS[name](arguments.data) for name in arguments.peers or list(TRAINERS)}
    runs = {name: lambda step=step: [step(*row) for row in rows] for name, step in steps.items()}
    compare(runs, arguments.turns, tokens, "tokens")


if __name__ == "__main__":
    main()
