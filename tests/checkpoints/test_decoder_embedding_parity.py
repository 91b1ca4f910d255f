"""Embedders that are language models, as Qwen3-Embedding and E5-Mistral: folders of sentence-transformers."""

import bare
import numpy as np
import pytest
from decoder_folders import NASTY, llama3_tokenizer, qwen_tokenizer, write_folder
from tokenizers import processors

import zoo

pytestmark = pytest.mark.parity
PROMPTS = {"query": "Instruct: Given a web search query, find answers\nQuery:", "document": ""}
TEXTS = [text for text in NASTY if text.strip()]


def e5_tokenizer():
    """Llama's, with the end token that tokenizer files of E5-Mistral add."""
    library, ends = llama3_tokenizer(), ("<|begin_of_text|>", "<|end_of_text|>")
    library.post_processor = processors.TemplateProcessing(
        f"{ends[0]} $A {ends[1]}", f"{ends[0]} $A {ends[1]} $B {ends[1]}",
        [(name, library.token_to_id(name)) for name in ends],
    )  # fmt: skip
    return library


CASES = {
    "qwen3": ("Qwen3", lambda: qwen_tokenizer(end=True), {"tie_word_embeddings": True}, "left"),
    "qwen2-right": ("Qwen2", lambda: qwen_tokenizer(end=True), {}, "right"),
    "qwen3-no-end": ("Qwen3", qwen_tokenizer, {}, "left"),
    "e5-mistral": ("Mistral", e5_tokenizer, {"sliding_window": 16}, "left"),
}


def make(tmp_path, case, **options):
    """A folder of a model without head, as the releases are."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import AutoModel

    family, tokenizer, settings, side = CASES[case]
    write_folder(tmp_path / "plain", family, tokenizer=tokenizer(), **settings)
    AutoModel.from_pretrained(tmp_path / "plain").save_pretrained(tmp_path / "plain")
    first = Transformer(str(tmp_path / "plain"), max_seq_length=64, processor_kwargs={"padding_side": side})
    pooling = Pooling(first.get_embedding_dimension(), "lasttoken")
    theirs = SentenceTransformer(modules=[first, pooling, Normalize()], prompts=PROMPTS, **options)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    return theirs


def vectors(task, **options):
    return np.array(task.embed(TEXTS, **options))


@pytest.mark.parametrize("case", CASES)
def test_vectors_both_ways(tmp_path, case):
    from sentence_transformers import SentenceTransformer

    theirs = make(tmp_path, case)
    task = zoo.load(tmp_path / "theirs")
    assert (task.name, task.pooling, task.max_length) == ("sentence_embedding", "last", 64)
    expected = {name: theirs.encode(TEXTS, prompt_name=name) for name in PROMPTS}
    np.testing.assert_allclose(vectors(task), expected["document"], atol=2e-5)
    np.testing.assert_allclose(vectors(task, prompt="query"), expected["query"], atol=2e-5)
    assert np.abs(expected["query"] - expected["document"]).max() > 1e-2
    task.save(tmp_path / "ours")
    again = SentenceTransformer(str(tmp_path / "ours"))
    np.testing.assert_allclose(again.encode(TEXTS, prompt_name="query"), expected["query"], atol=2e-5)


@pytest.mark.integration
def test_export_in_a_process_of_its_own(tmp_path):
    theirs = make(tmp_path, "qwen3")
    zoo.load(tmp_path / "theirs").export(tmp_path / "1")
    answers = bare.ask(tmp_path / "1", {"query": {"text": TEXTS}, "document": {"text": TEXTS}})
    for name in ("query", "document"):
        expected = theirs.encode(TEXTS, prompt_name=name)
        np.testing.assert_allclose(answers[name]["embedding"], expected, atol=2e-5)
