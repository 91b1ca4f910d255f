"""The same ids as the library, and the same text back, on real text with real and with trained vocabularies."""

from __future__ import annotations

import csv
import json

import pytest
import tensorflow as tf
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from keras_transformers.text.graph.compile import TextGraph, compile_text
from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS
from keras_transformers.text.tokenizer import Tokenizer

CORPORA = ["novels", "wikitext", "english", "german", "banking"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("vocabulary", ["bert", "gpt2"])
def test_rows_equal(data_dir, request, mismatches, vocabulary, name):
    tokenizer, graph = request.getfixturevalue(vocabulary), request.getfixturevalue(f"{vocabulary}_graph")
    batches = batched(corpus(data_dir, name))
    assert sum(map(len, batches)) >= 1000
    assert not [bad for batch in batches for bad in mismatches(tokenizer, graph, batch, max_length=512)]
    pairs = batches[::8]
    assert not [bad for batch in pairs for bad in mismatches(tokenizer, graph, batch, batch[::-1], max_length=48)]


def bytes_library(*splitters) -> tuple[Library, dict]:
    library = Library(models.BPE())
    library.pre_tokenizer, library.decoder = pre_tokenizers.Sequence(list(splitters)), decoders.ByteLevel()
    return library, {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}


def llama2() -> tuple[Library, dict]:
    library = Library(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    library.decoder = decoders.Sequence(steps)
    return library, {"special_tokens": ["<unk>", *BYTES]}


def llama3() -> tuple[Library, dict]:
    split = pre_tokenizers.Split(Regex(list(PATTERNS)[1]), "isolated")
    return bytes_library(split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))


def smollm2() -> tuple[Library, dict]:
    return bytes_library(
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    )


@pytest.fixture(scope="module", params=["gpt2", llama2, llama3, smollm2], ids=["gpt2", "llama2", "llama3", "smollm2"])
def trained(request, data_dir) -> tuple[Tokenizer, TextGraph]:
    """A vocabulary of 4,000 learned from the novels, in the pipeline of a model."""
    lines = (data_dir / "gutenberg_novels" / "train.txt").read_text(encoding="utf-8").splitlines()[::8]
    if request.param == "gpt2":
        tokenizer = Tokenizer.train(lines, 4_000, model="byte_pair")
        return tokenizer, compile_text(tokenizer.to_json(), pad_id=0)
    library, options = request.param()
    library.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=4_000, show_progress=False, **options))
    config = json.loads(library.to_str())
    config["added_tokens"] = config["added_tokens"][:1]  # <unk>; byte tokens are no added tokens in Llama's
    if request.param is llama2:
        config["pre_tokenizer"] = None
    tokenizer = Tokenizer(Library.from_str(json.dumps(config)))
    return tokenizer, compile_text(tokenizer.to_json(), pad_id=0)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
def test_ids_equal_and_text_comes_back(data_dir, trained, mismatches, name):
    tokenizer, graph = trained
    for batch in batched(corpus(data_dir, name)):
        assert not mismatches(tokenizer, graph, batch, max_length=10_000)
        rows = graph.tokenize(tf.constant(batch))
        assert rows.to_list() == [row.ids for row in tokenizer.encode(batch)]
        decoded = [text.decode() for text in graph.decode(rows.to_tensor(-1)).numpy()]
        assert decoded == tokenizer.decode(rows.to_list())
        # <unk> in the words of wikitext is a special token to Llama 2, which decoding leaves out.
        assert all(text == line for text, line in zip(decoded, batch, strict=True) if "<unk>" not in line)


def batched(lines: list[str], step: int = 500) -> list[list[str]]:
    return [lines[i : i + step] for i in range(0, len(lines), step)]


def corpus(data_dir, name: str) -> list[str]:
    if name == "banking":
        files = [data_dir / "banking77" / name for name in ("train.csv", "test.csv")]
        return [row["text"] for file in files for row in csv.DictReader(file.open(encoding="utf-8", newline=""))]
    if name in ("english", "german"):
        lines = (data_dir / "tatoeba_deu_eng" / "deu.txt").read_text(encoding="utf-8").splitlines()
        return [line.split("\t")[name == "german"] for line in lines[:: len(lines) // 20_000]][:20_000]
    folder, file = {"novels": ("gutenberg_novels", "valid.txt"), "wikitext": ("wikitext2", "test.txt")}[name]
    return (data_dir / folder / file).read_text(encoding="utf-8").splitlines()
