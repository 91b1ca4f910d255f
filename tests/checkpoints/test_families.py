"""Every class of every family: what is saved comes back; beside `transformers`, the numbers are its own."""

from __future__ import annotations

import pytest
from class_models import class_model
from family_cases import ATTENTION, CASES

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder

BOUND = 1e-4
LABELS = ["no", "perhaps", "yes"]
CLASSES = [(name, architecture) for name in CASES for architecture in FAMILIES[CASES[name].family].architectures]

THEIRS = [(name, architecture) for name, architecture in CLASSES if not CASES[name].is_ours]
VARIANTS = [(name, variant) for name, case in CASES.items() for variant in case.variants]


def names_of(pairs):
    return ["-".join(filter(None, pair)) for pair in pairs]


def options_of(architecture):
    """What config.json holds of labels."""
    if not architecture.endswith("Classification"):
        return {}
    return {"labels": LABELS, "problem": "multi_label" if "Sequence" in architecture else None}


def read(folder, ours):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"], num_classes(extra["architecture"]))
    load_weights(model, folder)
    return config, model, extra


def kind_of(architecture, family):
    """The kind of model that a class is of, in a family that has several."""
    tasks = {theirs: ours for ours, theirs in FAMILIES[family].tasks.items()}
    return {"causal_lm": "decoder", "seq2seq_lm": "encoder_decoder"}.get(tasks.get(architecture), "encoder")


def num_classes(architecture):
    return len(LABELS) if architecture.endswith("Classification") else 1


@pytest.mark.integration
@pytest.mark.parametrize(("name", "architecture"), CLASSES, ids=names_of(CLASSES))
def test_what_is_saved_comes_back(tmp_path, ours, name, architecture):
    case = CASES[name]
    config = case.compared() if name in ATTENTION else case.small(
        vocabulary_size=90, max_length=24, kind=kind_of(architecture, case.family)
    )  # fmt: skip
    model = class_model(config, architecture, num_classes(architecture))
    ours.randomise(model)
    save_folder(tmp_path, model, config, None, architecture=architecture, **options_of(architecture))
    again, loaded, extra = read(tmp_path, ours)
    assert (again, extra["architecture"]) == (config, architecture)
    inputs = ours.batch(config, length=21)
    assert ours.difference(ours.predict(loaded, inputs), ours.predict(model, inputs)) == 0


@pytest.mark.parity
@pytest.mark.parametrize(("name", "architecture"), THEIRS, ids=names_of(THEIRS))
def test_every_class_gives_the_numbers_of_transformers(tmp_path, ours, theirs, name, architecture):
    both_ways(tmp_path, ours, theirs, CASES[name].compared(), architecture)


@pytest.mark.parity
@pytest.mark.parametrize(("name", "variant"), VARIANTS, ids=names_of(VARIANTS))
def test_every_variant_gives_the_numbers_of_transformers(tmp_path, ours, theirs, name, variant):
    config = CASES[name].compared(variant)
    tasks = FAMILIES[config.family].tasks
    task = next(task for task in ("causal_lm", "seq2seq_lm", "classification") if task in tasks)
    both_ways(tmp_path, ours, theirs, config, tasks[task])


def both_ways(tmp_path, ours, theirs, config, architecture):
    """A reference whose weights all matter, with our configuration in its words, read by us and written again."""
    values = make_config(config, architecture, **options_of(architecture))
    reference = theirs.make(tmp_path / "theirs", architecture, **values)
    again, model, extra = read(tmp_path / "theirs", ours)
    assert again == config
    inputs = ours.batch(config, length=21)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    save_folder(tmp_path / "ours", model, config, None, **extra)
    back = type(reference).from_pretrained(tmp_path / "ours").eval()
    assert ours.difference(theirs.predict(back, inputs), expected) < 1e-6
