"""What generation_config.json asks for gives the texts of `generate` of `transformers` on the same weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
from references import make_reference
from translating import ids_of, make_sources, read_task

from keras_transformers.checkpoints.settings.generation_config import read_generation

pytestmark = [pytest.mark.parity, pytest.mark.integration]
BART = {
    "vocab_size": 60, "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
}  # fmt: skip
T5 = {
    "vocab_size": 60, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "n_positions": 64,
    "decoder_start_token_id": 0,
}  # fmt: skip
GPT2 = {"vocab_size": 60, "n_layer": 2, "n_head": 4, "n_embd": 32, "n_positions": 64}
LLAMA = {
    "vocab_size": 60, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
    "intermediate_size": 48, "max_position_embeddings": 64, "tie_word_embeddings": False,
}  # fmt: skip
IDS = {"eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 3}
MODELS = {
    "bart": ("BartForConditionalGeneration", BART, 8),
    "t5": ("T5ForConditionalGeneration", T5, 1.5),
    "gpt2": ("GPT2LMHeadModel", GPT2 | IDS, 10),
    "llama": ("LlamaForCausalLM", LLAMA | IDS, 10),
}
MANY = list(range(5, 58, 2))
TOGETHER = {
    "first": {
        "begin_suppress_tokens": MANY, "forced_bos_token_id": 8, "encoder_repetition_penalty": 3.0,
        "encoder_no_repeat_ngram_size": 2, "exponential_decay_length_penalty": [3, 1.9],
        "bad_words_ids": [[n, m] for n in range(4, 58) for m in MANY[::2]] + [[11], [2]],
    },
    "second": {
        "sequence_bias": [[[n, 7 * n % 50 + more], 9.0] for n in range(4, 58) for more in (5, 6)] + [[[9], 3.0]],
        "encoder_repetition_penalty": 0.4, "repetition_penalty": 1.3, "no_repeat_ngram_size": 2,
        "encoder_no_repeat_ngram_size": 1, "min_new_tokens": 4, "suppress_tokens": MANY[::3],
        "begin_suppress_tokens": [2, 9], "remove_invalid_values": True,
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=MODELS)
def small(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    architecture, options, scale = MODELS[request.param]
    reference = make_reference(folder, architecture, options, {}, scale)
    task = read_task(folder)
    return reference, task, make_sources(task, 2), json.loads((folder / "generation_config.json").read_text())


def theirs(model, task, source, **options):
    """Text and score, as ids without those of a role."""
    import torch

    encoded = task.tokenizer.encode([source])[0].ids
    ids = torch.tensor([encoded])
    out = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, return_dict_in_generate=True, output_scores=True,
        pad_token_id=3, **options
    )  # fmt: skip
    new = out.sequences[0].tolist()[0 if task.parts.answers.has_source else len(encoded) :]
    special = {task.config.pad_id, task.config.decoder_start_id, *task.config.eos_ids}
    score = out.sequences_scores.tolist()[0] if options["num_beams"] > 1 else None
    return [number for number in new if number not in special], score


@pytest.mark.parametrize("case", TOGETHER)
def test_keys_together(small, tmp_path, case):
    """Each alone, beside the processor of it: `test_penalties.py`."""
    reference, task, sources, said = small
    (tmp_path / "generation_config.json").write_text(json.dumps(said | TOGETHER[case]))
    task.generation, different = read_generation(tmp_path, task.parts.answers.has_source), set()
    options = {"num_beams": {"first": 1, "second": 3}[case], "max_new_tokens": 10}
    for source, answer in zip(sources, task.predict(sources, **options), strict=True):
        ids, score = theirs(reference, task, source, **options, **TOGETHER[case])
        assert ids_of(answer["generated_text"]) == ids
        np.testing.assert_allclose(answer["score"], score or answer["score"], atol=1e-3)
        different |= set(ids)
    assert len(different) > 1
