"""What `fit` and `evaluate` make of their options: every text is evaluated, and classes are weighed."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
from tiny import EAGER, FIT, LABELS, NAMES, NUMBERS, TEXTS

OPTIONS = {"drop_remainder": True, "shuffle": True, "batch_size": 5, "seed": 3, "accumulation_steps": 2}


@pytest.mark.integration
@pytest.mark.parametrize("options", [OPTIONS, {"drop_remainder": True, "batch_tokens": 80}])
def test_every_text_is_evaluated(trained, options):
    wrong = [NAMES[0]] * len(TEXTS)
    expected = trained.evaluate(TEXTS, wrong)
    assert trained.evaluate(TEXTS, wrong, batch_size=7, dataset_options=options) == pytest.approx(expected, rel=1e-5)


@pytest.mark.integration
def test_validation_takes_the_options_of_training():
    task = tiny.classifier()
    options = {name: value for name, value in OPTIONS.items() if name != "accumulation_steps"}
    settings = {"validation_data": (TEXTS, LABELS), "dataset_options": options}
    history = task.fit(TEXTS, LABELS, **(FIT | {"epochs": 1}), **settings).history
    assert history["val_cross_entropy"][-1] == pytest.approx(task.evaluate(TEXTS, LABELS)["cross_entropy"], rel=1e-5)


@pytest.mark.integration
def test_classes_are_weighed_in_accumulated_batches_too():
    def run(**settings):
        task = tiny.classifier(outputs=settings.pop("outputs", ()))
        weights = {"good": 5.0, 0: 0.1}
        settings |= {"class_weight": weights, **EAGER}
        task.fit(TEXTS, LABELS, epochs=2, learning_rate=1e-3, verbose=0, **settings)
        return tiny.weights(task)

    whole = run(batch_size=24)
    for settings in ({"batch_size": 8, "accumulation_steps": 3}, {"batch_size": 24, "outputs": ["hidden_states"]}):
        for one, other in zip(whole, run(**settings), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


MANY = [[number, 1] for number in NUMBERS]


@pytest.mark.parametrize(
    "make, labels, weights, message",
    [
        (lambda: tiny.classifier(problem="multi_label"), MANY, {0: 2.0}, "one for multi_label"),
        (lambda: tiny.classifier(["score"], problem="regression"), NUMBERS, {0: 2.0}, "one for regression"),
        (tiny.masked_lm, None, {0: 2.0}, "one for masked_lm"),
        (tiny.classifier, NUMBERS, {2: 2.0}, "class_weight has 2; the labels are"),
        (tiny.classifier, NUMBERS, {"fine": 2.0}, "unknown label 'fine'"),
        (tiny.classifier, NUMBERS, {0: float("nan")}, "class_weight has nan for 0: expected a number"),
        (tiny.classifier, NUMBERS, {0: -1.0}, "class_weight has -1.0 for 0: expected a number"),
    ],
)
def test_class_weights_that_make_no_sense(make, labels, weights, message):
    with pytest.raises(ValueError, match=message):
        make().fit(TEXTS, labels, class_weight=weights, **(FIT | {"epochs": 1}))


def test_false_and_true_are_classes():
    assert tiny.classifier().parts.class_weights({False: 0.5, True: 3.0}).tolist() == [0.5, 3.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({0: 1e39}, "class_weight has 1e\\+39 for 0: expected a number from 0 on, for float32"),
        ({0: "2"}, "class_weight has '2' for 0"),
        ({0: None}, "class_weight has None for 0"),
        ([1, 2], "class_weight is a dict, of labels to numbers: received a list"),
        (np.ones(2), "received a ndarray"),
    ],
    ids=str,
)
def test_class_weights_that_are_no_numbers(weights, message):
    with pytest.raises(ValueError, match=message):
        tiny.classifier().fit(TEXTS, LABELS, class_weight=weights, **FIT)


@pytest.mark.integration
def test_pairs_may_be_an_array():
    settings = FIT | EAGER | {"epochs": 1}
    tiny.classifier().fit(TEXTS[:8], LABELS[:8], pairs=np.array(TEXTS[:8]), **settings)
    with pytest.raises(ValueError, match="8 texts and 0 pairs"):
        tiny.classifier().fit(TEXTS[:8], LABELS[:8], pairs=[], **settings)
