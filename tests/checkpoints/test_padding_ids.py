"""The id of padding that the files of a decoder say is written again, each to its file; no other is made up."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.generation_config import make_generation, read_generation
from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import bart, gpt2

SIZES = {
    "llama": {
        "vocab_size": 60, "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 8,
        "max_position_embeddings": 16,
    },
    "gpt2": {"vocab_size": 60, "n_layer": 1, "n_head": 2, "n_embd": 8, "n_positions": 16},
}  # fmt: skip
ARCHITECTURES = {"llama": "LlamaForCausalLM", "gpt2": "GPT2LMHeadModel"}
UNSAID = object()
CASES = {  # what config.json and generation_config.json say; the id of the model; what is written to each
    "config.json only": ((0, UNSAID), 0, (0, 0)),
    "config.json only, not 0": ((5, UNSAID), 5, (5, 5)),
    "generation_config.json only": ((UNSAID, 0), 0, (0, 0)),
    "generation_config.json, null": ((None, 7), 7, (7, 7)),
    "both": ((0, 0), 0, (0, 0)),
    "both, different": ((0, 7), 0, (0, 7)),
    "both, 0 in the other": ((7, 0), 7, (7, 0)),
    "null": ((None, None), None, (None, None)),
    "none": ((UNSAID, UNSAID), None, (None, None)),
    "-1": ((-1, UNSAID), None, (None, None)),
    "-1 and an id": ((-1, 3), 3, (3, 3)),
    "an id and -1": ((3, -1), 3, (3, 3)),
}


@pytest.mark.parametrize("family", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_each_file_keeps_what_it_says(tmp_path, family, case):
    said, expected, written = CASES[case]
    sizes = {"model_type": family, "architectures": [ARCHITECTURES[family]], "eos_token_id": 2, **SIZES[family]}
    files = {"config.json": sizes, "generation_config.json": {"eos_token_id": 2}}
    for _ in range(2):  # and once more from what was written
        for (file, values), number in zip(files.items(), said, strict=True):
            values |= {} if number is UNSAID else {"pad_token_id": number}
            (tmp_path / file).write_text(json.dumps(values))
        config, _ = read_config(tmp_path)
        assert (config.pad_id, config.fill_id) == (expected, expected or 0)
        generation = make_generation(config, read_generation(tmp_path, has_source=False))
        files = dict(zip(files, (make_config(config, ARCHITECTURES[family]), generation), strict=True))
        assert tuple(values.get("pad_token_id") for values in files.values()) == written
        said = (UNSAID, UNSAID)


def test_only_decoders_may_have_none():
    sizes = {"vocabulary_size": 60, "num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    assert (gpt2(**sizes).pad_id, gpt2(**sizes, pad_id=0).pad_id) == (None, 0)
    assert bart(**sizes).replace(pad_id=None).pad_id == 0
    assert type(gpt2(**sizes)).from_dict(gpt2(**sizes).to_dict()) == gpt2(**sizes)
    with pytest.raises(ValueError, match="pad_id must be a token id"):
        gpt2(**sizes, pad_id=60)


@pytest.mark.parity
@pytest.mark.parametrize("pad", [None, 0, 5])
def test_transformers_reads_the_same(tmp_path, pad):
    transformers = pytest.importorskip("transformers")
    reference = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES["llama"], pad_token_id=pad))
    reference.save_pretrained(tmp_path)
    config, _ = read_config(tmp_path)
    settings = read_generation(tmp_path, has_source=False)
    (tmp_path / "config.json").write_text(json.dumps(make_config(config, "LlamaForCausalLM")))
    (tmp_path / "generation_config.json").write_text(json.dumps(make_generation(config, settings)))
    back = transformers.LlamaForCausalLM.from_pretrained(tmp_path)
    assert (config.pad_id, back.config.pad_token_id, back.generation_config.pad_token_id) == (pad, pad, pad)
