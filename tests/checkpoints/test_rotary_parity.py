"""Rotary positions on another scale: files of `transformers` in both forms, logits past the original length, back."""

import json

import numpy as np
import pytest
from generating import Generator
from rope_kinds import ORIGINAL, ROPES

from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.heads.language_model import head_of
from keras_transformers.models.decoder import prefill

pytestmark = pytest.mark.parity
BOUND = 1e-4
SIZES = {
    "vocab_size": 90, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
    "intermediate_size": 48, "max_position_embeddings": 32, "pad_token_id": 3, "head_dim": 8, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
FAMILIES = {"Qwen2ForCausalLM": "yarn", "Qwen3ForCausalLM": "yarn-mscale", "MistralForCausalLM": "llama3",
            "EuroBertForMaskedLM": "linear"}  # fmt: skip
CASES = {name: ("LlamaForCausalLM", name) for name in ROPES} | {name: (name, kind) for name, kind in FAMILIES.items()}


def make(folder, theirs, case):
    architecture, kind = CASES[case]
    mask = {"mask_token_id": 4} if architecture.startswith("EuroBert") else {}
    return theirs.make(folder, architecture, **SIZES, **mask, rope_parameters={**ROPES[kind], "rope_theta": 50.0})


def as_version_4(folder):
    """Write the options as version 4 of `transformers` did."""
    path = folder / "config.json"
    values = json.loads(path.read_text())
    options = values.pop("rope_parameters")
    theta, options["type"] = options.pop("rope_theta"), options.pop("rope_type")
    path.write_text(json.dumps(values | {"rope_theta": theta, "rope_scaling": options}))


def read(folder, ours):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"])
    load_weights(model, folder)
    return config, model, extra


@pytest.mark.parametrize("case", CASES)
def test_logits_both_ways(tmp_path, ours, theirs, case):
    reference = make(tmp_path / "theirs", theirs, case)
    config, model, extra = read(tmp_path / "theirs", ours)
    for length in (ORIGINAL, 32):
        # Without padding: `transformers` takes the length of the longest row for all rows.
        inputs = ours.batch(config, length=length) | {"padding_mask": np.ones((2, length), "int32")}
        expected = theirs.predict(reference, inputs)
        assert ours.difference(ours.predict(model, inputs), expected) < BOUND

    save_folder(tmp_path / "ours", model, config, None, **extra)
    as_version_4(tmp_path / "theirs")
    assert read_config(tmp_path / "theirs")[0] == config == read_config(tmp_path / "ours")[0]
    again = type(reference).from_pretrained(tmp_path / "ours").eval()
    assert ours.difference(theirs.predict(again, inputs), expected) == 0
    plain = ours.build(config.replace(rotary_scaling=None), extra["architecture"])
    load_weights(plain, tmp_path / "ours")
    assert ours.difference(ours.predict(plain, inputs), expected) > 100 * BOUND


def test_each_row_by_its_length(tmp_path, ours, theirs):
    """A short row beside a long one is as it is alone, which it is not in `transformers`."""
    reference = make(tmp_path, theirs, "longrope")
    config, model, _ = read(tmp_path, ours)
    inputs = ours.batch(config, length=32)
    inputs["padding_mask"] = (np.arange(32) < [[ORIGINAL], [ORIGINAL + 1]]).astype("int32")
    found = ours.predict(model, inputs)["logits"]
    for row, length in enumerate((ORIGINAL, ORIGINAL + 1)):
        alone = {name: array[row : row + 1, :length] for name, array in inputs.items()}
        expected = theirs.predict(reference, alone)["logits"]
        assert np.abs(found[row : row + 1, :length] - expected).max() < BOUND


def test_texts_in_one_row(tmp_path, ours, theirs):
    make(tmp_path, theirs, "longrope")
    config, model, _ = read(tmp_path, ours)
    inputs = ours.batch(config, rows=1, length=32)
    ids, lengths = inputs["token_ids"], (ORIGINAL - 2, ORIGINAL + 5)
    documents = np.repeat([1, 2, 0], [*lengths, 32 - sum(lengths)])[None].astype("int32")
    found = np.array(model({"token_ids": ids, "padding_mask": documents})["logits"])
    for start, length in zip((0, lengths[0]), lengths, strict=True):
        alone = {"token_ids": ids[:, start : start + length], "padding_mask": np.ones((1, length), "int32")}
        expected = ours.predict(model, alone)["logits"]
        assert np.abs(found[:, start : start + length] - expected).max() < BOUND


@pytest.mark.parametrize("kind", ["llama3", "yarn", "longrope"])
def test_greedy_texts_past_the_original_length(tmp_path, ours, theirs, kind):
    """With a cache; a text is short or long from its first token on, by the room that it has."""
    import torch

    reference = make(tmp_path, theirs, kind)
    config, model, _ = read(tmp_path, ours)
    generate = Generator(config.replace(eos_ids=()), model)
    ids = np.random.default_rng(3).integers(5, 90, (2, ORIGINAL + 2)).tolist()
    rows = [(ids[0][:5], ORIGINAL - 5), (ids[1], 12)]  # short, and long from the beginning
    if kind != "longrope":
        rows += [(ids[0][:4], 16), (ids[1][:7], 20)]
    found = generate([prompt for prompt, _ in rows], max_new_tokens=np.array([new for _, new in rows]))
    for (prompt, new), texts in zip(rows, found, strict=True):
        options = {"max_new_tokens": new, "do_sample": False, "eos_token_id": None}
        expected = reference.generate(torch.tensor([prompt]), **options)[0, len(prompt) :].tolist()
        assert texts[0].ids == expected


def test_a_text_that_grows_past_the_original_length(tmp_path, ours, theirs):
    """It is long from the first token on, as in servers that go by the size of the context."""
    make(tmp_path, theirs, "longrope")
    config, model, _ = read(tmp_path, ours)
    config = config.replace(eos_ids=())
    prompt = np.random.default_rng(3).integers(5, 90, ORIGINAL - 4)
    (found,) = Generator(config, model)([prompt.tolist()], max_new_tokens=12)
    whole, row = prefill(config, model), prompt.tolist()
    for _ in range(12):
        inputs = {"token_ids": np.array([row]), "padding_mask": np.ones((1, len(row)), "int32")}
        hidden = whole(inputs | {"text_lengths": np.array([[len(prompt) + 12]])})["hidden_states"]
        row.append(int(np.argmax(head_of(config, model)(hidden[:, -1]))))
    assert found[0].ids == row[len(prompt) :]
