"""Llama 3 and Qwen as people have them: tokens, texts and folders of small models beside `transformers`."""

import bare
import numpy as np
import pytest
from decoder_folders import LLAMA3_ROPE, NASTY, YARN, write_folder

import zoo
from keras_transformers.text.graph.compile import compile_text

pytestmark = pytest.mark.parity
CASES = {
    "llama3": ("Llama", {"rope_parameters": LLAMA3_ROPE}),
    "llama3-v4": ("Llama", {"rope_parameters": LLAMA3_ROPE, "version": 4, "tie_word_embeddings": True}),
    "tinyllama": ("Llama", {"version": 4}),
    "qwen2": ("Qwen2", {"version": 4, "tie_word_embeddings": True}),
    "qwen2-yarn": ("Qwen2", {"rope_parameters": YARN}),
    "qwen3": ("Qwen3", {"tie_word_embeddings": True}),
    "qwen3-yarn-v4": ("Qwen3", {"rope_parameters": YARN, "version": 4}),
}
PROMPTS = ["The cat", "What is it. The document 1234 says no, yes yes no no\n\tand code: for i in range", "日本"]
NEW = 30  # tokens: past the 24 of the first training


def make(folder, case):
    family, options = CASES[case]
    return write_folder(folder, family, **options)


def reader(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


def continued(reference, tokenizer, prompts):
    """Each prompt by itself, without padding."""
    import torch

    found = []
    for prompt in prompts:
        ids = torch.tensor([tokenizer(prompt)["input_ids"]])
        written = reference.generate(ids, max_new_tokens=NEW, use_cache=False)[0, ids.shape[1] :]
        found.append(tokenizer.decode(written, skip_special_tokens=True))
    return found


@pytest.mark.parametrize("case", ["llama3", "qwen2", "qwen3"])
def test_tokens_and_offsets(tmp_path, case):
    make(tmp_path, case)
    theirs, ours = reader(tmp_path), zoo.load(tmp_path).tokenizer
    graph = compile_text(ours.to_json(), pad_id=0)
    encoded = graph.encode(NASTY, max_length=200, with_offsets=True)
    for row, (text, found) in enumerate(zip(NASTY, ours.encode(NASTY), strict=True)):
        expected = theirs(text, return_offsets_mapping=True)
        assert list(found.ids) == expected["input_ids"]
        assert [tuple(pair) for pair in found.offsets] == expected["offset_mapping"]
        count = int(np.sum(encoded["padding_mask"][row]))
        assert np.array(encoded["token_ids"])[row, :count].tolist() == expected["input_ids"]


@pytest.mark.parametrize("case", CASES)
def test_greedy_texts_and_folders(tmp_path, case):
    reference = make(tmp_path / "theirs", case)
    expected = continued(reference, reader(tmp_path / "theirs"), PROMPTS)
    task = zoo.load(tmp_path / "theirs")
    assert task.name == "causal_lm"
    found = task.generate(PROMPTS, max_new_tokens=NEW)
    assert found == expected
    task.save(tmp_path / "ours")
    again = type(reference).from_pretrained(tmp_path / "ours").eval()
    assert continued(again, reader(tmp_path / "ours"), PROMPTS) == expected
    for text in NASTY:
        assert reader(tmp_path / "ours")(text)["input_ids"] == reader(tmp_path / "theirs")(text)["input_ids"]
    assert again.generation_config.eos_token_id == reference.generation_config.eos_token_id


@pytest.mark.integration
@pytest.mark.parametrize("case", ["llama3-v4", "qwen3-yarn-v4"])
def test_export_in_a_process_of_its_own(tmp_path, case):
    reference = make(tmp_path / "theirs", case)
    expected = continued(reference, reader(tmp_path / "theirs"), PROMPTS)
    zoo.load(tmp_path / "theirs").export(tmp_path / "1", max_new_tokens=NEW)
    answers = bare.ask(tmp_path / "1", {"serving_default": {"text": PROMPTS}})
    assert answers["serving_default"]["generated_text"] == expected
