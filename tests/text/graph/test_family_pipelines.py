"""The pipelines of families of encoders: rows and places of hostile texts and of pairs, beside the library."""

from __future__ import annotations

import random

import pytest
from gemma_tokenizer import CORPUS, RUNS, gemma
from spm_models import ENCODERS, RULES
from tokenizers import AddedToken, Regex, decoders, models, processors, trainers
from tokenizers import Tokenizer as Library
from tokenizers import normalizers as n
from tokenizers import pre_tokenizers as p

from keras_transformers.text.folder.vocabulary_files import ENCODERS as BUILDERS
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.wordpiece_vocabulary import MPNET_TOKENS, build_mpnet

ALBERT, CAMEMBERT, DEBERTA, XLM_ROBERTA = ENCODERS
PARTS = [*"abcdt C1,.é\"'`(-▁日", "``", "''", "  ", "\n", "\t", "\u00a0", "\u3000", "ﬁ", "\u0301", "\u0903", "①", "cat"]
TYPED = ["▁▁", "\n\n", "<table>", "<mask>", "[MASK]", "<s>", "</s>", "[CLS]", "<unk>", "<bos>"]


def encoder(name: str, **options) -> Library:
    library = BUILDERS[name][1](ENCODERS[name], options)
    mask = "[MASK]" if name in (ALBERT, DEBERTA) else "<mask>"
    library.add_tokens([AddedToken(mask, lstrip=name == CAMEMBERT, special=True, normalized=False)])
    library.add_tokens([AddedToken("(", normalized=False)])
    return library


def older(name: str, *steps, splitter=None) -> Library:
    """The pipeline that `transformers` 4 wrote for the same model."""
    library = encoder(name)
    library.normalizer = n.Sequence([*steps, n.Precompiled(RULES), n.Replace(Regex(" {2,}"), " ")])
    library.pre_tokenizer = splitter or library.pre_tokenizer
    return library


def mpnet() -> Library:
    tokens = [*MPNET_TOKENS[:-1], *"abcdt1,.", "cat", "##a", "##t", "##1", MPNET_TOKENS[-1]]
    library = build_mpnet({token: i for i, token in enumerate(tokens)}, lowercase=True)
    library.add_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    return library


def byte_pairs(*special: str, normalizer=None, runs: bool = False, bos: str = "") -> Library:
    """Byte pairs by GPT-2's rules: Pythia's with NFC and runs of spaces as added tokens, or OPT's with </s> first."""
    library = Library(models.BPE())
    library.pre_tokenizer, library.decoder = p.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    letters = p.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=[*special], initial_alphabet=letters, show_progress=False
    )
    library.train_from_iterator(CORPUS, trainer)
    if normalizer is not None:
        library.normalizer = normalizer
    if runs:
        library.add_tokens([AddedToken(" " * size, normalized=True, special=False) for size in range(24, 1, -1)])
    library.post_processor = processors.ByteLevel(trim_offsets=True)
    if bos:
        template = processors.TemplateProcessing(f"{bos} $A", f"{bos} $A {bos}:1 $B:1", [(bos, special.index(bos))])
        library.post_processor = template
    return library


PIPELINES = {
    "pythia": lambda: byte_pairs("<|endoftext|>", "<|padding|>", normalizer=n.NFC(), runs=True),
    "opt": lambda: byte_pairs("<s>", "<pad>", "</s>", "<unk>", bos="</s>"),
    "xlm-roberta": lambda: encoder(XLM_ROBERTA),
    "xlm-roberta without prefix": lambda: encoder(XLM_ROBERTA, add_prefix_space=False),
    "xlm-roberta of version 4": lambda: older(XLM_ROBERTA),
    "camembert": lambda: encoder(CAMEMBERT),
    "albert": lambda: encoder(ALBERT),
    "albert with accents": lambda: encoder(ALBERT, keep_accents=True, do_lower_case=False),
    "deberta": lambda: encoder(DEBERTA),
    "deberta, lower-case": lambda: encoder(DEBERTA, do_lower_case=True, add_prefix_space=False),
    "deberta, punctuation": lambda: encoder(DEBERTA, split_by_punct=True),
    "deberta, punctuation, first": lambda: encoder(DEBERTA, split_by_punct=True, add_prefix_space=False),
    "deberta of version 4": lambda: older(DEBERTA, n.Strip(), splitter=p.Sequence([p.Metaspace()])),
    "gemma": gemma,
    "gemma with runs": lambda: gemma(added=RUNS),
    "mmbert": lambda: gemma("<eos>"),
    "mpnet": mpnet,
}


@pytest.mark.integration
@pytest.mark.parametrize("name", PIPELINES)
def test_ids_and_places(name, mismatches):
    library, chance = PIPELINES[name](), random.Random(name)
    graph = compile_text(library.to_str(), pad_id=0)
    texts = ["".join(chance.choices([*PARTS, *TYPED], k=chance.randrange(12))) for _ in range(500)]
    assert not mismatches(Tokenizer(library), graph, [*CORPUS, *texts], max_length=100)
    assert not mismatches(Tokenizer(library), graph, texts, texts[::-1], max_length=24)
    ids = graph.tokenize(texts).to_tensor(-1)
    assert [text.decode() for text in graph.decode(ids).numpy()] == Tokenizer(library).decode(
        [[i for i in row if i >= 0] for row in ids.numpy().tolist()]
    )
