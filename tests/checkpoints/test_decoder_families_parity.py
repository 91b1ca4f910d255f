"""Each family of decoders beside `transformers`: gradients, greedy texts, real widths, texts of an export.

`python -m pytest -n 0 -m "parity and slow" tests/checkpoints/test_decoder_families_parity.py` prints the figures of
real widths.
"""

from __future__ import annotations

import bare
import numpy as np
import pytest
from family_cases import CASES, DECODERS
from generating import Generator
from messages import messages
from training_steps import compare, cut

import zoo
from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = pytest.mark.parity
BOUND = 1e-4
GAIN = 4.0  # with which few rows repeat themselves
ROWS, LENGTHS, NEW, END = 12, (3, 12), 20, 7
CONFIGS = {name: CASES[name].compared() for name in DECODERS}
CONFIGS |= {f"{name}-{variant}": CASES[name].compared(variant) for name in DECODERS for variant in CASES[name].variants}
STEPS = [(name, "causal_lm") for name in CONFIGS]
STEPS += [(name, "classification") for name in DECODERS if "classification" in FAMILIES[CASES[name].family].tasks]


def at_night(name, *others):
    """Return parameters of a test; a variant of a family is slow."""
    marks = () if name in DECODERS else pytest.mark.slow
    return pytest.param(name, *others, marks=marks, id="-".join((name, *others)))


@pytest.mark.parametrize(("name", "task"), [at_night(*step) for step in STEPS])
def test_gradients_of_a_step(tmp_path, ours, theirs, name, task):
    found = compare(tmp_path, ours, theirs, CONFIGS[name], task, rows=3, length=21, gain=1.0)
    assert found["gradients"] < BOUND


def reference_of(folder, theirs, config):
    """Return a random model of `transformers` with small biases: with large ones it would repeat a token."""
    import torch

    architecture = FAMILIES[config.family].tasks["causal_lm"]
    reference = theirs.make(folder, architecture, gain=GAIN, **make_config(config, architecture))
    with torch.no_grad():
        for name, weight in reference.named_parameters():
            if name.endswith("bias"):
                weight.mul_(0.1)
    reference.save_pretrained(folder)
    return reference


def read(folder, ours):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"])
    load_weights(model, folder)
    return Generator(config, model)


def texts_of(reference, prompts, **options):
    """Return the new tokens of `transformers`, one prompt after the other: not all of its families pad on the left."""
    import torch

    options |= {"do_sample": False, "max_new_tokens": NEW, "pad_token_id": 0}
    with torch.no_grad():
        rows = [reference.generate(torch.tensor([prompt]), **options)[0].tolist() for prompt in prompts]
    return [row[len(prompt) :] for row, prompt in zip(rows, prompts, strict=True)]


@pytest.mark.parametrize("name", [at_night(name) for name in CONFIGS])
def test_greedy_texts(tmp_path, ours, theirs, name):
    """Longer than the windows of blocks; with a cache and without one, in `transformers` and here."""
    config = CONFIGS[name].replace(max_length=64, eos_ids=(END,), pad_id=3)
    reference = reference_of(tmp_path, theirs, config)
    random = np.random.default_rng(0)
    prompts = [random.integers(5, config.vocabulary_size, size).tolist() for size in random.integers(*LENGTHS, ROWS)]
    expected = texts_of(reference, prompts)
    assert expected == texts_of(reference, prompts, use_cache=False)
    assert np.mean([len(set(ids)) for ids in expected]) > 1.5  # post-norm models like to repeat themselves
    generator = read(tmp_path, ours)
    assert [text.ids for (text,) in generator(prompts, max_new_tokens=NEW)] == expected
    for prompt, new in zip(prompts, expected, strict=True):
        assert generator.log_probs(prompt, new).argmax(-1).tolist() == new


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
def test_texts_of_an_export(tmp_path, theirs, name):
    """Text in and text out, in a process without Keras: the tokens are the ones of `transformers`."""
    tokenizer = Tokenizer.train(messages(), vocabulary_size=400, model="byte_pair")
    config = CONFIGS[name].replace(vocabulary_size=tokenizer.vocabulary_size, max_length=64, eos_ids=(END,))
    reference = reference_of(tmp_path / "folder", theirs, config)
    tokenizer.save(tmp_path / "folder")
    task = zoo.load(tmp_path / "folder")
    texts = [text[:20] for text in messages()[:6]]
    answers = task.predict(texts, max_new_tokens=NEW)
    prompts = [row.ids for row in task.tokenizer.encode(texts)]
    expected = [task.tokenizer.decode(ids) for ids in texts_of(reference, prompts)]
    assert [row["generated_text"] for row in answers] == expected
    task.export(tmp_path / "export", max_new_tokens=NEW)
    served = bare.ask(tmp_path / "export", {"serving_default": {"text": texts}})
    assert served["serving_default"]["generated_text"] == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DECODERS if CASES[name].published])
def test_real_widths(tmp_path, ours, theirs, capsys, name):
    """Two blocks of the smallest published model, 2 texts of up to 128 tokens; bounds grow with large logits."""
    smallest = CASES[name].published[min(CASES[name].published)]
    config = cut(CASES[name].make(**{**smallest, "num_layers": 2}))
    found = compare(tmp_path, ours, theirs, config, "causal_lm", rows=2, length=128, gain=0.5)
    with capsys.disabled():
        print(f"\n{name} (2 x {config.hidden_dim}): " + ", ".join(f"{what} {it:.1e}" for what, it in found.items()))
    assert found["logits"] < max(BOUND, 2e-6 * found["largest logit"])
    assert found["gradients"] < BOUND
