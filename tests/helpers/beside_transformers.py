"""A model with random weights of `transformers` and ours: logits, files, and the gradients of a training step."""

from __future__ import annotations

import pytest
from training_steps import our_gradients, random_labels, relative_difference, their_gradients

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import architecture_of
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder

LABELS = ["no", "perhaps", "yes"]
MOST_ROWS = 32_000  # of a token embedding: larger vocabularies are cut, for the memory


def cut(config):
    """Return a configuration of at most so many tokens; special tokens behind them are left out."""
    if config.vocabulary_size <= MOST_ROWS:
        return config
    kept = config.pad_id if (config.pad_id or 0) < MOST_ROWS else 0
    eos_ids = tuple(token for token in config.eos_ids if token < MOST_ROWS)
    bos_id = config.bos_id if config.bos_id is not None and config.bos_id < MOST_ROWS else None
    return config.replace(vocabulary_size=MOST_ROWS, pad_id=kept, bos_id=bos_id, eos_ids=eos_ids)


def compare(folder, ours, theirs, config, task, rows, length, **options):
    """Read a random checkpoint of `transformers`, take a step in both, write ours: the largest differences."""
    architecture = architecture_of(task, config.family)
    named = {"labels": LABELS, "problem": "single_label"} if task.endswith("classification") else {}
    settings = make_config(config, architecture, **named)
    reference = theirs.make(folder / "theirs", architecture, **options, **settings)
    again, extra = read_config(folder / "theirs")
    assert again == config
    model = ours.build(config, architecture, len(LABELS))
    load_weights(model, folder / "theirs")

    inputs = ours.batch(config, rows, length)
    expected = theirs.predict(reference, inputs)
    largest = max(float(abs(array).max()) for array in expected.values())
    found = {"logits": ours.difference(ours.predict(model, inputs), expected), "largest logit": largest}
    save_folder(folder / "ours", model, config, None, **extra)
    written = read_by_them(type(reference), folder / "ours")
    assert ours.difference(theirs.predict(written, inputs), expected) < 1e-6

    num_classes = {"masked_lm": config.vocabulary_size, "causal_lm": config.vocabulary_size, "replaced_tokens": 2}.get(
        task, len(LABELS)
    )
    labels = random_labels(task, num_classes, inputs["padding_mask"])
    loss, gradients = our_gradients(model, inputs, labels, task)
    their_loss, expected = their_gradients(reference, theirs.inputs(reference, inputs), labels)
    assert loss == pytest.approx(their_loss, rel=1e-5)
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        weight.assign(gradient)
    save_folder(folder / "gradients", model, config, None, **extra)  # under their names, in their shapes
    written = read_by_them(type(reference), folder / "gradients")
    arrays = {name: weight.detach().numpy() for name, weight in written.named_parameters()}
    return found | {"gradients": relative_difference(arrays, expected)}


def read_by_them(kind, folder):
    """Return a model of `transformers` from a folder that holds its tensors and no others."""
    model, report = kind.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    return model.eval()
