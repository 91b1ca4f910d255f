"""Zero-shot classification: a model that was trained on entailment tells how well labels of any kind fit a text.

A label is put in a sentence, the hypothesis ("This example is sports."), and read behind the text as a pair.
Paper: Yin et al. 2019, "Benchmarking Zero-shot Text Classification", https://arxiv.org/abs/1909.00161.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.pair_scores import flat_pairs
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.tasks.inputs.labels import Labels
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.text_checks import check_text, check_texts
from keras_transformers.utils.untrusted import shown

TEMPLATE, PLACE = "This example is {}.", "{}"
NAME = "zero_shot"  # of the signature, and of the task's method
EXAMPLES = {"labels": [""]}  # of a warm-up request: the shortest label, which fits whenever any does


class Entailment(NamedTuple):
    """The numbers of the labels that a model of entailment is asked by."""

    entailment: int
    contradiction: int


def find_entailment(classes: Labels) -> Entailment | None:
    """Return the numbers of the labels, as the pipeline of `transformers` finds them; None without entailment.

    Entailment is the first label that begins with "entail", in upper or lower case. Contradiction is the first one,
    or the last one if entailment is the first: so are the labels of the released models, of two and of three labels.

    Args:
        classes: The labels of a classifier.

    Example:

    >>> find_entailment(Labels(("ENTAILMENT", "neutral", "contradiction"), "single_label"))
    Entailment(entailment=0, contradiction=2)
    """
    found = [number for number, name in enumerate(classes.names) if name.lower().startswith("entail")]
    if not found or classes.problem == "regression" or len(classes.names) == 1:
        return None
    return Entailment(found[0], 0 if found[0] else len(classes.names) - 1)


def check_template(template: Any) -> str:
    """Return a template for hypotheses; raise a `ValueError` if it has no single place for the label."""
    if not isinstance(template, str) or template.count(PLACE) != 1:
        raise ValueError(
            f"template must be a str with {PLACE!r} once, where the label goes, such as {TEMPLATE!r}: received "
            f"{shown(template)}."
        )
    return check_text("template", template, 0)


def zero_shot_signatures(model: keras.Model, classes: Labels, template: str) -> dict[str, Signature]:
    """Return the signature `zero_shot` of an export, of texts and labels; none if there is no entailment.

    Args:
        model: The classifier, from a dict of inputs to `logits` (B, C).
        classes: Labels of the classifier.
        template: Template of the hypotheses.
    """
    entailment = find_entailment(classes)
    if entailment is None:
        return {}
    before, after = template.split(PLACE)

    def read(reader: Reader, texts: Any, labels: Any) -> Tensors:
        if not on_tensorflow():
            return _read_pairs(reader, texts, [[f"{before}{label}{after}" for label in labels]] * len(texts))
        import tensorflow as tf

        with tf.control_dependencies([tf.debugging.assert_positive(tf.size(labels), "labels must hold one at least.")]):
            hypotheses = tf.strings.join([before, labels, after])  # (L,)
        return _read_pairs(reader, texts, tf.tile(hypotheses[None], [tf.size(texts), 1]))

    return {NAME: Signature(("text", "labels"), read, partial(_compute, model, entailment), _with_best, shared=1)}


def reason_left_out(setup: Setup, classes: Labels, template: str) -> str:
    """Return why an export of a model of entailment has no signature `zero_shot`; empty if it has one, or needs none.

    Args:
        setup: Setup of the task.
        classes, template: As for `zero_shot_signatures`.
    """
    if find_entailment(classes) is None:
        return ""
    try:
        _checked_lengths(setup, [template.replace(PLACE, "")])
    except ValueError as error:
        return f"the export has no signature {NAME!r}: {error}"
    return ""


def zero_shot_method(
    setup: Setup, model: keras.Model, classes: Labels, default_template: str
) -> Callable[..., list[dict[str, Any]]]:
    """Return the method `zero_shot` of a classification task.

    Args:
        setup: Setup of the task.
        model, classes: As for `zero_shot_signatures`.
        default_template: Template of the hypotheses, where the call names none.
    """
    answers = _answers(setup, model, classes)

    def zero_shot(
        texts: Iterable[str], labels: Sequence[str], *, template: str | None = None, multi_label: bool = False,
        batch_size: int = 32, verbose: Any = "auto",
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Classify texts by labels that the model was not trained on, if it was trained on entailment.

        Args:
            texts: Any number of strings. A text that is too long is cut; its labels are read whole.
            labels: Candidate labels, such as `["sports", "politics"]`.
            template: The sentence that a label is put in, at `{}`; the task's option when None. It should be in
                the language of the texts.
            multi_label: Whether several labels may apply, or none: each one is then judged by itself.
            batch_size: Pairs of a text and a label at a time; at least one text with all labels.
            verbose: As for `predict`.

        Returns:
            One dict a text, as `predict` returns: `label` and `probabilities`, which add up to 1; with `multi_label`
            `labels`, those with a probability of at least 0.5, and `probabilities`; and `truncated`.

        Raises:
            ValueError: The labels of the model have no entailment among them; `labels` are none, two are the same, or
                one is so long that no text fits beside it; or the template has no place for them.
        """
        if answers is None:
            raise _lacks_entailment(classes)
        names = _checked(labels)
        sentence = check_template(default_template if template is None else template)
        (most,) = check_counts(batch_size=batch_size)
        texts = check_texts("texts", texts)
        hypotheses = _checked_lengths(setup, [sentence.replace(PLACE, name) for name in names])
        pairs: Any = [hypotheses] * len(texts)
        found = answers.predict(texts, pairs, batch_size=max(most // len(names), 1), verbose=verbose)
        return [_described(names, row, multi_label) for row in found]

    return zero_shot


def _lacks_entailment(classes: Labels) -> ValueError:
    """Return the error for a classifier of other labels than entailment."""
    return ValueError(
        "zero_shot needs a classifier of entailment, with a label that begins with 'entail', and another one: received "
        f"the labels {shown(list(classes.names))}. Load a model that was trained on NLI."
    )


def _answers(setup: Setup, model: keras.Model, classes: Labels) -> OnePass | None:
    """Return the predictions for texts with their hypotheses; None if there is no entailment."""
    entailment = find_entailment(classes)
    if entailment is None:
        return None
    signature = Signature(("text", "hypotheses"), _read_pairs, partial(_compute, model, entailment), ranks=(1, 2))
    return OnePass(setup, model, {NAME: signature}, dict, read_columns=(partial(check_texts, "texts"), list))


def _checked(labels: Any) -> list[str]:
    names = check_texts("labels", labels)
    if not names or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"labels must be different texts, one at least: received {shown(names)}.")
    return names


def _checked_lengths(setup: Setup, hypotheses: list[str]) -> list[str]:
    """Return the hypotheses; raise a `ValueError` if one leaves no room for a text."""
    (empty,) = setup.tokenizer.encode([""], [""])
    room = setup.max_length - len(empty.ids)
    for hypothesis, encoded in zip(hypotheses, setup.tokenizer.encode(hypotheses, special_tokens=False), strict=True):
        if len(encoded.ids) >= room:
            raise ValueError(
                f"the label in its template has {len(encoded.ids)} tokens, and max_length={setup.max_length} leaves "
                f"{room} for it and the text: received {shown(hypothesis)}. Shorten the label or the template."
            )
    return hypotheses


def _read_pairs(reader: Reader, texts: Any, hypotheses: Any) -> Tensors:
    """Read each text (B,) with each of its hypotheses (B, L)."""
    texts, flat, is_label = flat_pairs(texts, hypotheses)  # (B * L,), (B * L,), (B, L)
    return {**reader(texts, flat, truncation="only_first"), "is_label": is_label}


def _compute(model: keras.Model, entailment: Entailment, encoded: Tensors) -> Tensors:
    outputs = model({name: encoded[name] for name in model.input}, training=False)
    shape = ops.shape(encoded["is_label"])  # B, L
    logits = ops.cast(outputs["logits"], "float32")  # (B * L, C)
    entails = ops.reshape(logits[:, entailment.entailment], shape)  # (B, L)
    contradicts = ops.reshape(logits[:, entailment.contradiction], shape)  # (B, L)

    each = ops.sigmoid(entails - contradicts)  # (B, L)
    one = ops.where(shape[1] == 1, each, ops.softmax(entails, axis=-1))  # a label alone is judged by itself
    truncated = ops.any(ops.reshape(encoded["truncated"], shape), axis=1)  # (B,)
    return {"probabilities": one, "multi_label_probabilities": each, "truncated": truncated}


def _with_best(found: Tensors, texts: Any, labels: Any) -> Tensors:
    best = ops.argmax(found["probabilities"], axis=-1)  # (B,)
    if not on_tensorflow():
        return {"label": np.array(labels)[ops.convert_to_numpy(best)], **found}
    import tensorflow as tf

    return {"label": tf.gather(labels, best), **found}


def _described(names: Sequence[str], row: Mapping[str, Any], multi_label: bool) -> dict[str, Any]:
    values = row["multi_label_probabilities" if multi_label else "probabilities"].tolist()
    probabilities = dict(zip(names, values, strict=True))
    if multi_label:
        answer: dict[str, Any] = {"labels": [name for name, value in probabilities.items() if value >= 0.5]}
    else:
        answer = {"label": max(names, key=probabilities.__getitem__)}
    return {**answer, "probabilities": probabilities, "truncated": row["truncated"]}
