"""Vocabularies of whole words, and of parts of words that "@@ " joins."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = ["a pul@@ ley , a b", "b a </s> ."]


@pytest.mark.integration
def test_order_and_joining():
    made = Tokenizer.train(CORPUS, model="words")
    tokens = [made.id_to_token(i) for i in range(made.vocabulary_size)]
    assert tokens == ["<s>", "<pad>", "</s>", "<unk>", "a", "b", ",", ".", "ley", "pul@@"]
    assert made.encode(["a pul@@ ley ?"])[0].ids == [4, 9, 8, 3, 2]
    rows = [[4, 9, 8, 7, 2], [9], [], [9, 9, 8], [2, 1, 4]]
    texts = ["a pulley .", "pul", "", "pulpulley", "a"]
    assert made.decode(rows) == texts
    graph = compile_text(made.to_json(), pad_id=made.pad_id)
    padded = [row + [1] * (5 - len(row)) for row in rows]
    assert [text.decode() for text in graph.decode(tf.constant(padded)).numpy()] == texts
    assert graph.tokenize(CORPUS).to_list() == [row.ids for row in made.encode(CORPUS, special_tokens=False)]


def test_size_and_special_tokens():
    made = Tokenizer.train(CORPUS, 5, model="words", special_tokens=["<unk>", "</s>"])
    assert [made.id_to_token(i) for i in range(made.vocabulary_size)] == ["<unk>", "</s>", "a", "b", ","]
    with pytest.raises(ValueError, match=r"\{'</s>'\} are absent"):
        Tokenizer.train(CORPUS, model="words", special_tokens=["<unk>"])
    with pytest.raises(ValueError, match="holds no word"):
        Tokenizer.train([" "], model="words")


@pytest.mark.data
def test_fairseqs_vocabulary_of_multi30k(data_dir):
    """9,708 words and four special tokens; 12,103 words in the reference without its joints: Wu et al., 2021."""
    folder = data_dir / "multi30k_bpe"
    lines = [line for side in ("en", "de") for line in (folder / f"train.{side}").read_text("utf-8").splitlines()]
    made = Tokenizer.train(lines, model="words")
    assert made.vocabulary_size == 9_712
    texts = (folder / "test.2016.de").read_text("utf-8").splitlines()
    graph = compile_text(made.to_json(), pad_id=made.pad_id)
    rows = graph.encode(texts, max_length=512)["token_ids"].numpy()
    assert [row[: len(e.ids)].tolist() for row, e in zip(rows, made.encode(texts), strict=True)] == [
        e.ids for e in made.encode(texts)
    ]
    decoded = [text.decode() for text in graph.decode(rows).numpy()]
    assert decoded == made.decode(rows) == [text.replace("@@ ", "") for text in texts]
    assert sum(len(text.split()) for text in decoded) == 12_103
