"""Classification and regression of texts, and of pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import keras

from keras_transformers.data.batches.protocols import Objective
from keras_transformers.data.objectives.class_targets import PROBLEMS, Classification
from keras_transformers.data.objectives.next_token import WithNextToken
from keras_transformers.heads import classification_head, language_model_head, last_token
from keras_transformers.models import decoder, encoder
from keras_transformers.tasks.answers.label_answers import (
    LabelAnswers,
    likeliest_signatures,
    name_labels,
    number_labels,
)
from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.tasks.answers.signatures import text_signatures
from keras_transformers.tasks.answers.zero_shot import (
    TEMPLATE,
    check_template,
    reason_left_out,
    zero_shot_method,
    zero_shot_signatures,
)
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.kind import Kind, one_of
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.labels import Labels, make_labels
from keras_transformers.tasks.inputs.sources import text_source
from keras_transformers.tasks.reports import label_report
from keras_transformers.tasks.vectors.score_head import ScoreHead
from keras_transformers.tasks.vectors.vector_options import NEW_LAYERS, check_layers, check_pooling
from keras_transformers.text.end_token import with_end_token
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics
from keras_transformers.utils.number_checks import is_finite
from keras_transformers.utils.untrusted import shown

LANGUAGE_MODEL = "language_model_logits"
LOSSES = {
    "single_label": target_losses.CrossEntropy,
    "multi_label": target_losses.BinaryCrossEntropy,
    "regression": target_losses.MeanSquaredError,
}
JUDGED_BY = {"single_label": "accuracy", "multi_label": "f1", "regression": "mean_absolute_error"}


def classification(
    setup: Setup,
    *,
    labels: Sequence[str] | int | None = None,
    problem: str | None = None,
    lm_weight: float = 0.0,
    template: str = TEMPLATE,
    pooling: str | Sequence[str] | None = None,
    dense: Sequence[Mapping[str, Any]] = (),
    made_for: str | None = "classification",
) -> Parts:
    """Build a classifier, or a regression, of texts or pairs of texts.

    The classifier reads the first token of an encoder, BERT's `[CLS]`, or the last token of a decoder, which should
    always be the same: see `text.end_token`.
    Papers: BERT, Devlin et al. 2018, https://arxiv.org/abs/1810.04805; GPT, Radford et al. 2018, "Improving Language
    Understanding by Generative Pre-Training", which trains the language model too, with a weight of 0.5.

    Args:
        setup: Settings common to all tasks.
        labels: Names of the classes, or their number.
        problem: `"single_label"` (one class a text), `"multi_label"` (any number of classes) or `"regression"` (a
            number for each label).
        lm_weight: Weight of a decoder's next-token loss, which is added to the loss of the labels; 0 for none. The
            model then has a second output in training, `language_model_logits`, and Keras puts the names of outputs
            before the names of metrics: `logits_accuracy`, `language_model_logits_perplexity`. It is neither predicted
            nor exported.
        template: Sentence for `task.zero_shot` and the export of an entailment classifier; the label replaces `{}`.
        pooling: As in `tasks.sentence_embedding`, with layers in `dense` behind it; the classifier of the family when
            None. Encoders only.
        dense: Layers behind the pooling, as of `tasks.sentence_embedding`; the last one has a unit for each label.
        made_for: The task that the checkpoint was made for. If it is another one, a decoder's texts get an end token.

    Predicts:
        One dict a text, or a pair:

        - `label` (str) and `probabilities` (dict of label to float, adding up to 1), for a single label.
        - `labels` (list of str), those with a probability of at least 0.5, and `probabilities` (dict of label to
          float), for multi-label.
        - `scores` (dict of label to float), for regression.
        - `truncated` (bool): whether the text was longer than `max_length` and was cut.

        Of more than 1,000 labels, `probabilities` has the 100 likeliest, the likeliest first; `top=` asks for another
        number of them.

    Exports:
        `serving_default` takes `text`, and `pair` takes `text` and `text_pair`, (B,) strings. For C labels, both
        return:

        - `label` (B,) string and `probabilities` (B, C) float32, for a single label.
        - `labels` (B, C) string, empty where a label does not apply, and `probabilities` (B, C), for multi-label.
        - `scores` (B, C) float32, for regression.
        - `truncated` (B,) bool.

        `labels` takes nothing and returns `labels` (C,) string, in the order of `probabilities` or `scores`; the file
        assets.extra/labels.json says the same.

        For more than 1,000 labels, `labels` of multi-label is (B, K): the labels that apply, in the order of all, then
        empty strings. K is the largest number of labels of a text in the batch. `top` takes `text`, and `top_pair`
        takes `text` and `text_pair`. Both return the 100 likeliest labels, the likeliest first: `labels` (B, 100)
        string, `probabilities` (B, 100), and `truncated`.

        If a label begins with "entail", `zero_shot` takes `text` (B,) and `labels` (L,) strings, put in the template.
        It returns `label` (B,) string and `probabilities` (B, L), one of these labels a text,
        `multi_label_probabilities` (B, L), each label by itself, and `truncated`. A maximum length that is too
        small for the template leaves the signature out, with a warning.

    Raises:
        ValueError: There are no labels, two are the same, the problem is unknown, `lm_weight` is negative, or it is not
            0 and the model is an encoder, which predicts no next token; or `template` has no place for a label.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("classification", config, tokenizer, labels=["negative", "positive"])
    >>> history = task.fit(["a fine film", "a dull film"], ["positive", "negative"], epochs=1, verbose=0)
    >>> sorted(task.predict(["a fine film"])[0])
    ['label', 'probabilities', 'truncated']
    """
    config, classes = setup.config, make_labels(labels, problem)
    _check_model(lm_weight, config.kind)
    if made_for != KIND.name and config.kind == "decoder" and config.eos_ids:
        setup = setup.with_tokenizer(with_end_token(setup.tokenizer, config.eos_ids[0]))
    head = ScoreHead(setup, len(classes.names), pooling, dense)
    model = _model(setup, head, bool(lm_weight))
    served = _served(model)
    return Parts(
        model,
        setup.tokenizer,
        source=text_source(setup, classes.to_numbers),
        objective=lambda: _objective(classes, config.fill_id, bool(lm_weight)),
        losses=lambda: _losses(classes, bool(lm_weight)),
        metrics=lambda: _metrics(classes) | ({LANGUAGE_MODEL: [target_metrics.Perplexity()]} if lm_weight else {}),
        answers=_answers(setup, served, classes, template),
        class_weights=classes.class_weights,
        label_layer=head.layer,
        loss_weights={"logits": 1.0, LANGUAGE_MODEL: lm_weight} if lm_weight else None,
        judged_by=JUDGED_BY[classes.problem],
        report=label_report(classes),
        report_options={} if classes.problem == "regression" else {"top": len(classes.names)},
        saved_options={} if template == TEMPLATE else {"template": template},
        saved=lambda: {**_saved_head(head, classes), "labels": list(classes.names), "problem": classes.problem},
        attributes={
            "labels": classes.names, "problem": classes.problem, "lm_weight": lm_weight, "template": template,
            "pooling": pooling, "dense": head.dense,
            "zero_shot": zero_shot_method(setup, served, classes, template),
        },
    )  # fmt: skip


def _objective(classes: Labels, fill_id: int, has_language_model: bool) -> Objective:
    objective = Classification(len(classes.names), classes.problem, fill_id)
    return WithNextToken(objective, "logits", LANGUAGE_MODEL) if has_language_model else objective


def _losses(classes: Labels, has_language_model: bool) -> dict[str, keras.losses.Loss]:
    losses: dict[str, keras.losses.Loss] = {"logits": LOSSES[classes.problem]()}
    if has_language_model:
        losses[LANGUAGE_MODEL] = target_losses.CrossEntropy()
    return losses


def _answers(setup: Setup, served: keras.Model, classes: Labels, template: str) -> LabelAnswers:
    """Return the answers of a model; an export of a classifier of entailment has a signature `zero_shot`, too."""
    answer, write = partial(_answer, classes), partial(name_labels, classes)
    signatures = text_signatures(setup.kind.takes_pairs, served, answer, write)
    signatures |= likeliest_signatures(setup.kind.takes_pairs, served, answer, classes)
    left_out = reason_left_out(setup, classes, template)
    signatures |= {} if left_out else zero_shot_signatures(served, classes, template)
    return LabelAnswers(setup, served, signatures, classes, left_out, FromIds(served, setup.config.num_segments))


def _answer(classes: Labels, outputs: Tensors, inputs: Tensors) -> Tensors:
    return number_labels(classes, outputs["logits"])


def _check_model(lm_weight: float, kind: str) -> None:
    if lm_weight and kind != "decoder":
        raise ValueError(
            f"lm_weight is the weight of a decoder's next-token loss: received {lm_weight!r} for a model of kind "
            f"{kind!r}. Leave it out."
        )


def _check_weight(lm_weight: Any) -> None:
    if not isinstance(lm_weight, bool) and not (is_finite(lm_weight) and lm_weight >= 0):  # True is a weight of 1
        raise ValueError(
            f"lm_weight is the weight of a decoder's next-token loss, 0 for none: received {shown(lm_weight)}."
        )


KIND = Kind(
    "classification",
    classification,
    models=("encoder", "decoder"),
    checks={
        "labels": partial(make_labels, problem="regression"),  # which may have one label
        "problem": one_of("problem", PROBLEMS),
        "lm_weight": _check_weight,
        "template": check_template,
        "pooling": check_pooling,
        "dense": check_layers,
    },
    of_checkpoint=("made_for",),
    new_layers=("pooler", "pooler_norm", "classifier", *NEW_LAYERS),
    shares_head=("ranking",),
    saved_options=("template",),
    needs_labels=True,
    takes_weights=True,
    takes_pairs=True,
    joins_texts=True,
)


def _saved_head(head: ScoreHead, classes: Labels) -> dict[str, Any]:
    """Return what `save` writes of the head, and of the activation of its scores, which sentence-transformers reads."""
    activation = "sigmoid" if classes.problem == "multi_label" else "linear"
    return head.saved(activation) if head.pooling is not None else {"activation": activation}


def _model(setup: Setup, head: ScoreHead, has_language_model: bool) -> keras.Model:
    config, dtype = setup.config, setup.dtype
    is_decoder = config.kind == "decoder"
    backbone = (decoder if is_decoder else encoder)(config, outputs=setup.outputs, dtype=dtype)
    states = backbone.output["hidden_states"]  # (B, T, D)
    mask = backbone.input["padding_mask"]
    if is_decoder:
        logits = classification_head(config, last_token(states, mask), head.count, dtype)  # (B, C)
    else:
        logits = head.scores(states, mask)  # (B, C)
    outputs = {"logits": logits}
    if has_language_model:
        embedding = backbone.get_layer("token_embedding")
        outputs[LANGUAGE_MODEL] = language_model_head(config, embedding, states, dtype)
    return keras.Model(backbone.input, {**outputs, **setup.optional_outputs(backbone)}, name="classifier_model")


def _served(model: keras.Model) -> keras.Model:
    """Return the model without the output of the language model, which predictions do not need."""
    if LANGUAGE_MODEL not in model.output:
        return model
    outputs = {name: output for name, output in model.output.items() if name != LANGUAGE_MODEL}
    return keras.Model(model.input, outputs, name="served_model")


def _metrics(classes: Labels) -> dict[str, list[keras.metrics.Metric]]:
    of_problem: dict[str, list[Callable[[], keras.metrics.Metric]]] = {
        "single_label": [target_metrics.Accuracy, target_metrics.MeanCrossEntropy],
        "multi_label": [target_metrics.BinaryAccuracy, target_metrics.F1],
        "regression": [
            target_metrics.MeanAbsoluteError,
            *([target_metrics.Pearson] if len(classes.names) == 1 else []),
        ],
    }
    return {"logits": [make() for make in of_problem[classes.problem]]}
