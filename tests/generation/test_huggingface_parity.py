"""Texts and scores are those of `generate` of `transformers` on the same weights.

All of GPT-2 124M, 20 prompts of 64 new tokens (ten minutes): `PYTHONPATH=tests/helpers python` with this file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from generating import Generator, language_model
from mutations import drop_positions, swap_norms
from translating import ids_of, read_task, text_of

from keras_transformers.checkpoints.settings.generation_config import make_generation, read_generation
from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.families import gpt2

pytestmark = pytest.mark.parity
SMALL = {"vocab_size": 60, "n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": 64, "bos_token_id": 1}
END = {"eos_token_id": 2, "pad_token_id": 3}
LLAMA = {
    "vocab_size": 60, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
    "intermediate_size": 48, "max_position_embeddings": 64, "tie_word_embeddings": False,
}  # fmt: skip


def make_reference(folder, architecture="GPT2LMHeadModel", seed=0, **options):
    """A model of `transformers` whose matrices are ten times as large as at the start, no bias zero, no norm one.

    With small weights a row repeats itself, and norms could be swapped unseen.
    """
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(seed)
    kind = getattr(transformers, architecture)
    model = kind(kind.config_class(**options)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.mul_(10)
            else:
                weight.normal_(float("norm" in name or "ln_" in name) * (not name.endswith("bias")), 0.5)
    model.save_pretrained(folder)
    return model


def read(folder) -> Generator:
    config = read_config(folder)[0]
    model = language_model(config)
    load_weights(model, folder)
    return Generator(config, model)


def make_prompts(rows, vocabulary_size, longest=12, seed=0):
    random = np.random.default_rng(seed)
    return [random.integers(4, vocabulary_size, length).tolist() for length in random.integers(3, longest, rows)]


def theirs(model, prompts, sequences=1, **options):
    """Ids and scores of `transformers`, of one batch with padding on the left."""
    import torch

    longest = max(map(len, prompts))
    ids = torch.tensor([[3] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    options |= {"do_sample": False, "pad_token_id": 3, "num_return_sequences": sequences}
    options |= {"return_dict_in_generate": True, "output_logits": True, "output_scores": True}
    with torch.no_grad():
        out = model.generate(ids, attention_mask=mask, **options)
    return out, out.sequences[:, longest:].tolist()


def until_end(ids, ends):
    """Without the padding behind the end token."""
    return ids[: next((place + 1 for place, number in enumerate(ids) if number in ends), len(ids))]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2")
    return make_reference(folder, **SMALL, **END), read(folder)


INF = float("inf")
CASES = {
    "greedy": ({}, {}),
    "penalty": ({"repetition_penalty": 1.4}, {"repetition_penalty": 1.4}),
    "ngrams": ({"no_repeat_ngram": 2}, {"no_repeat_ngram_size": 2}),
    "at least": ({"min_new_tokens": 9}, {"min_new_tokens": 9}),
    "bias": ({"bias": {5: 3.0, 9: -2.0, 2: 2.0}}, {"sequence_bias": {(5,): 3.0, (9,): -2.0, (2,): 2.0}}),
    "suppressed": ({"bias": {2: -INF, 17: -INF}}, {"suppress_tokens": [2, 17]}),
    "all": (
        {"repetition_penalty": 1.2, "no_repeat_ngram": 3, "min_new_tokens": 5, "bias": {5: 2.0}},
        {"repetition_penalty": 1.2, "no_repeat_ngram_size": 3, "min_new_tokens": 5, "sequence_bias": {(5,): 2.0}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_greedy(small, case):
    reference, generator = small
    own, other = CASES[case]
    prompts = make_prompts(12, 60)
    _, expected = theirs(reference, prompts, max_new_tokens=16, **other)
    answers = generator(prompts, max_new_tokens=16, **own)
    assert [text.ids for (text,) in answers] == [until_end(ids, [2]) for ids in expected]
    assert case != "bias" or len({len(text.ids) for (text,) in answers}) > 2


BEAMS = CASES | {
    "longer": ({"length_penalty": 2.0}, {"length_penalty": 2.0}),
    "shorter": ({"length_penalty": -0.5}, {"length_penalty": -0.5}),
    "sums": ({"length_penalty": 0.0}, {"length_penalty": 0.0}),
    "ends": ({"bias": {2: 6.0}}, {"sequence_bias": {(2,): 6.0}}),  # many hypotheses, early
}


@pytest.mark.parametrize("num_beams", [2, 5])
@pytest.mark.parametrize("case", BEAMS)
def test_beams(small, case, num_beams):
    """The n best of each prompt and their scores; `transformers` is asked one by one, where it may stop early."""
    reference, generator = small
    own, other = BEAMS[case]
    prompts = make_prompts(5, 60)
    answers = generator(prompts, num_beams, num_beams, max_new_tokens=14, **own)
    for prompt, texts in zip(prompts, answers, strict=True):
        out, expected = theirs(reference, [prompt], num_beams, num_beams=num_beams, max_new_tokens=14, **other)
        assert [text.ids for text in texts] == [until_end(ids, [2]) for ids in expected]
        np.testing.assert_allclose([text.score for text in texts], out.sequences_scores.numpy(), atol=1e-3)


@pytest.mark.parametrize("ends", [[2], [2, 7, 11]])
def test_grouped_heads_and_several_end_tokens(tmp_path, ends):
    reference = make_reference(tmp_path, "LlamaForCausalLM", **LLAMA, eos_token_id=ends, pad_token_id=3)
    generator, prompts = read(tmp_path), make_prompts(12, 60)
    assert generator.config.eos_ids == tuple(ends)
    _, expected = theirs(reference, prompts, max_new_tokens=20)
    assert [text.ids for (text,) in generator(prompts, max_new_tokens=20)] == [until_end(ids, ends) for ids in expected]
    out, expected = theirs(reference, prompts, 3, num_beams=3, max_new_tokens=20)
    texts = [text for texts in generator(prompts, 3, 3, max_new_tokens=20) for text in texts]
    assert [text.ids for text in texts] == [until_end(ids, ends) for ids in expected]
    np.testing.assert_allclose([text.score for text in texts], out.sequences_scores.numpy(), atol=1e-3)


PRESCRIBED = {
    "forced_bos_token_id": 7, "forced_eos_token_id": 2, "bad_words_ids": [[9], [30]], "repetition_penalty": 1.3,
    "no_repeat_ngram_size": 2, "max_new_tokens": 9,
}  # fmt: skip


@pytest.mark.parametrize("num_beams", [1, 3])
def test_what_a_checkpoint_prescribes(tmp_path, num_beams):
    """Its generation_config.json is obeyed; `forced_bos_token_id` holds behind prompts of one token only."""
    reference = make_reference(tmp_path, **SMALL, **END)
    for name, value in (PRESCRIBED | {"num_beams": num_beams}).items():
        setattr(reference.generation_config, name, value)
    reference.save_pretrained(tmp_path)
    task, prompts = read_task(tmp_path), [[5], [17], *make_prompts(6, 60)]
    rows = task.predict([text_of(prompt) for prompt in prompts])
    expected = [until_end(theirs(reference, [prompt])[1][0], [2]) for prompt in prompts]
    assert [ids_of(row["generated_text"]) for row in rows] == [[i for i in ids if i not in (2, 3)] for ids in expected]
    assert [row["num_tokens"] for row in rows] == [len(ids) for ids in expected]
    assert [ids[0] == 7 for ids in expected[:2]] == [True, True] and 9 in {len(ids) for ids in expected}


def test_drafts(tmp_path):
    """As assisted by the same small model in `transformers`, row by row."""
    kind, prompts = "LlamaForCausalLM", make_prompts(4, 60)
    reference, ours = make_reference(tmp_path, kind, **LLAMA, **END), read(tmp_path)
    assistant = make_reference(tmp_path / "small", kind, **LLAMA | {"num_hidden_layers": 1}, **END)
    assisted = [theirs_assisted(reference, assistant, prompt) for prompt in prompts]
    texts = ours(prompts, max_new_tokens=24, draft=read(tmp_path / "small"))
    assert [text.ids for (text,) in texts] == assisted and len({*assisted[0]}) > 3


def theirs_assisted(model, assistant, prompt):
    import torch

    ids = torch.tensor([prompt])
    options = {"do_sample": False, "pad_token_id": 3, "max_new_tokens": 24, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        out = model.generate(ids, assistant_model=assistant, **options)
    return until_end(out[0, len(prompt) :].tolist(), [2])


def test_transformers_reads_what_we_write(tmp_path):
    """The settings of samples, and those that are ours alone."""
    transformers = pytest.importorskip("transformers")
    settings = {"temperature": 0.7, "top_p": 0.9, "seed": 4, "coverage_penalty": 0.2, "forced_eos_id": 2}
    values = make_generation(gpt2(60, 1, 2, 8, eos_ids=[2]), settings)
    (tmp_path / "generation_config.json").write_text(json.dumps(values))
    read = transformers.GenerationConfig.from_pretrained(tmp_path)
    assert (read.do_sample, read.temperature, read.top_k, read.top_p) == (True, 0.7, 0, 0.9)
    assert (read.forced_eos_token_id, read.eos_token_id) == (2, 2)
    assert read_generation(tmp_path, has_source=False) == settings | {"top_k": 0}


def compare(folder, num_layers, rows, tokens):
    """A model as wide as GPT-2 against `transformers`: greedy, beams, and what two faults would change.

    Returns:
        Numbers to print: distinct tokens, ties, the largest difference of scores, rows that each fault changes.
    """
    options = {"n_layer": num_layers, "bos_token_id": 50256, "eos_token_id": 50256}
    reference = make_reference(folder, **options)
    generator, prompts = read(folder), make_prompts(rows, 50000, 33)
    out, expected = theirs(reference, prompts, max_new_tokens=tokens)
    greedy = [text.ids for (text,) in generator(prompts, max_new_tokens=tokens)]
    report = {"distinct": np.mean([len(set(ids)) for ids in greedy]), "ties": 0, "beam_ties": 0, "scores": 0.0}
    for row, (ids, other) in enumerate(zip(greedy, expected, strict=True)):
        other = until_end(other, generator.config.eos_ids)
        if ids != other:
            place = next(i for i, (one, two) in enumerate(zip(ids, other, strict=False)) if one != two)
            first, second = out.logits[place][row].topk(2).values.tolist()
            assert first - second < 1e-3, (row, place, first - second)
            report["ties"] += 1
    out, expected = theirs(reference, prompts, num_beams=4, max_new_tokens=tokens)
    beams = [text for (text,) in generator(prompts, 4, max_new_tokens=tokens)]
    for text, other, score in zip(beams, expected, out.sequences_scores.tolist(), strict=True):
        report["scores"] = max(report["scores"], abs(text.score - score))
        report["beam_ties"] += text.ids != until_end(other, generator.config.eos_ids)
    for fault in (swap_norms, drop_positions):
        fault(generator.model)
        changed = [text.ids for (text,) in generator(prompts, max_new_tokens=tokens)]
        report[fault.__name__] = sum(one != two for one, two in zip(greedy, changed, strict=True))
        load_weights(generator.model, folder)
    return report


@pytest.mark.slow
def test_a_model_as_wide_as_gpt2(tmp_path, capsys):
    rows, tokens = 8, 24
    report = compare(tmp_path, 4, rows, tokens)
    with capsys.disabled():
        print(f"\nGPT-2 of 4 layers, {rows} x {tokens} tokens: {report}")
    assert report["distinct"] >= tokens * 20 / 64
    assert report["ties"] + report["beam_ties"] <= 1
    assert report["scores"] < 1e-3
    assert report["swap_norms"] == report["drop_positions"] == rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(compare(Path(place), 12, 20, 64))
