"""Token classification: labels for the words of a text, entities or tags such as parts of speech."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import keras

from keras_transformers.families.table import CRF_SCALE
from keras_transformers.heads import token_classification_head
from keras_transformers.layers import CRF
from keras_transformers.models import encoder
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.labels import Labels, make_labels
from keras_transformers.tasks.tokens import entity_metrics
from keras_transformers.tasks.tokens.conll import read_annotated
from keras_transformers.tasks.tokens.label_schemes import TokenLabels, labels_in
from keras_transformers.tasks.tokens.label_steps import LabelSteps, forbidden_steps
from keras_transformers.tasks.tokens.token_losses import TokenCrossEntropy
from keras_transformers.tasks.tokens.token_targets import TokenTargets
from keras_transformers.tasks.tokens.word_answers import (
    answer_tokens,
    describe_tokens,
    likeliest,
    number_tokens,
    on_best_path,
)
from keras_transformers.tasks.tokens.word_reports import word_report
from keras_transformers.tasks.tokens.word_source import read_texts, token_source
from keras_transformers.text.space_splitting import split_at_spaces
from keras_transformers.training.losses.crf_loss import CRFLoss
from keras_transformers.training.metrics import target_metrics
from keras_transformers.training.metrics.path_metrics import BestPath, PathCrossEntropy
from keras_transformers.utils.untrusted import shown

UNCONSTRAINED = "unconstrained"


def token_classification(setup: Setup, *, labels: Sequence[str] | int | None = None, crf: bool | str = False) -> Parts:
    """Build a model that labels the words of texts, such as entities or parts of speech.

    Texts to learn from are lists of words, with a label for each; or strings, with entities (start, end, type) in
    characters. Words are joined by spaces, in training as in `predict`, which takes strings or lists of words.

    The words of a text are the same for every tokenizer, by Unicode's rules in a simple form (`streams.words_of_text`).
    Each gets the label of its first token; words that one token covers, as often in Chinese, are one. A given word that
    is several by the rules, such as "U.S.", is learnt as several, and metrics count it once, by its first token. If
    tokens cover several words separated by spaces, as byte pairs learned without a pre-tokenizer do, texts are split
    at spaces first. Words that are cut off, and words without a token, such as U+200D alone, are not learnt, with a
    warning, and cannot be measured: `evaluate` and validation data with such words are an error.
    Papers: BERT, Devlin et al. 2018, https://arxiv.org/abs/1810.04805, section 5.3.

    Args:
        setup: Settings common to all tasks.
        labels: Names of the classes. If most are `O` or begin with `B-` or `I-` (or also `E-`, `S-`, `L-`, `U-` or
            `M-`), they mark entities; `bio_labels` makes them. Others are plain tags.
        crf: Whether labels depend on the labels before them, by a conditional random field (`CRF`): True, with only the
            steps that the scheme of the labels allows, if they are of one (no `I-x` after `O`; other labels to learn
            from are an error), or `"unconstrained"`. `predict` returns the best path of labels, and `score` is then the
            marginal of a label; the metrics, too, are of best paths, and `cross_entropy` is the negative log-likelihood
            of a text's labels for each word. The model's output is `path_scores`, without `logits`. A text has one
            weight: there is no `class_weight`.

    Predicts:
        One dict a text, a string or a list of words:

        - `tokens` (list of dict): for each word its `text` and `label` (str), `score`, the probability of the label
          (float), and `start` and `end` (int), its place in the text, in characters; white space is in none.
        - `entities` (list of dict), if labels mark entities: the same keys; `label` is the type, and `score` the mean
          score of its words.
        - `truncated` (bool): whether the text was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text`, (B,) strings. Places are in code points; padding is `""` and 0. It returns:

        - `token` and `token_label` (B, W) string, `token_start` and `token_end` (B, W) int32, `token_score` (B, W)
          float32: the words.
        - `entity`, the span of the text, and `label`, its type, (B, E) string, `start` and `end` (B, E) int32, `score`
          (B, E) float32: the entities, if labels mark them.
        - `truncated` (B,) bool.

        `labels` takes nothing and returns `labels` (C,) string, in the order of the model's logits; the file
        assets.extra/labels.json says the same.

    Raises:
        ValueError: There are fewer than two labels, or two are the same.

    Warns:
        UserWarning: Most labels are of a scheme and others are not: the latter mark words outside of entities.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["Ann left", "Bob Lee left"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("token_classification", config, tokenizer, labels=["O", "B-person", "I-person"])
    >>> spans = [[(0, 3, "person")], [(0, 7, "person")]]
    >>> history = task.fit(["Ann left", "Bob Lee left"], spans, epochs=1, verbose=0)
    >>> [token["text"] for token in task.predict(["Ann left"])[0]["tokens"]]
    ['Ann', 'left']
    """
    classes = check_labels(labels)
    token_labels = TokenLabels(classes.names)
    if token_labels.odd:
        warnings.warn(token_labels.describe_odd(), stacklevel=4)
    given, setup = setup.tokenizer, setup.with_tokenizer(split_at_spaces(setup.tokenizer))
    backbone = encoder(setup.config, outputs=setup.outputs, dtype=setup.dtype)
    states = backbone.output["hidden_states"]  # (B, T, D)
    logits = token_classification_head(setup.config, states, len(classes.names), setup.dtype)  # (B, T, C)
    output, steps = "logits", None
    if crf:
        output, steps = "path_scores", LabelSteps(token_labels, _forbidden(classes.names, crf))
        layer = CRF([*map(list, sorted(steps.forbidden))], scale=CRF_SCALE, dtype=setup.dtype, name="crf")
        logits = layer(logits, padding_mask=backbone.input["padding_mask"])  # (B, T + C + 1, C + 1)
    outputs = {output: logits, **setup.optional_outputs(backbone)}
    model = keras.Model(backbone.input, outputs, name="token_classifier_model")
    return Parts(
        model,
        given,
        source=token_source(setup, token_labels, steps),
        objective=lambda: TokenTargets(len(classes.names), setup.config.fill_id),
        losses=lambda: {output: CRFLoss(has_parts=True) if crf else TokenCrossEntropy()},
        metrics=lambda: {output: (_path_metrics if crf else _metrics)(token_labels)},
        answers=_answers(setup, model, token_labels, output),
        label_output=output,
        class_weights=None if crf else classes.class_weights,
        judged_by="f1" if token_labels.scheme else "accuracy",
        report=word_report(setup, token_labels),
        label_layer="classifier",
        step_layer="crf" if crf else None,
        saved=lambda: {"labels": list(classes.names)},
        saved_options={"crf": crf} if crf else {},
        attributes={"labels": classes.names},
    )


def check_crf(crf: Any) -> None:
    """Raise a `ValueError` if the option `crf` has an unknown value."""
    if not isinstance(crf, bool) and not (isinstance(crf, str) and crf == UNCONSTRAINED):
        raise ValueError(f'crf must be True, False or "{UNCONSTRAINED}": received {shown(crf)}.')


def _forbidden(names: Sequence[str], crf: bool | str) -> list[list[int]]:
    check_crf(crf)
    return [] if crf == UNCONSTRAINED else forbidden_steps(names)


def check_labels(labels: Any) -> Labels:
    """Return the labels of words; raise a `ValueError` if there are fewer than two, or two are the same."""
    if labels is None or (labels if isinstance(labels, int) else len(labels)) == 1:
        raise ValueError(
            f"token_classification needs two labels or more: received {labels}. Give names such as ['NOUN', 'VERB'], "
            "or for entities ['O', 'B-person', 'I-person'], from bio_labels(['person'])."
        )
    return make_labels(labels, None)


KIND = Kind(
    "token_classification",
    token_classification,
    models=("encoder",),
    checks={"labels": check_labels, "crf": check_crf},
    new_layers=("pooler", "pooler_norm", "classifier", "crf"),
    saved_options=("crf",),
    needs_labels=True,
    takes_weights=True,
    read=read_annotated,
    labels_in=labels_in,
)


def _metrics(labels: TokenLabels) -> list[keras.metrics.Metric]:
    of_words = [target_metrics.Accuracy(), target_metrics.MeanCrossEntropy()]
    if labels.scheme is None:
        return of_words
    kinds = (entity_metrics.EntityPrecision, entity_metrics.EntityRecall, entity_metrics.EntityF1)
    return [*of_words, *(kind(labels.names) for kind in kinds)]


def _path_metrics(labels: TokenLabels) -> list[keras.metrics.Metric]:
    """Return the same metrics, of the best paths of a conditional random field."""
    accuracy, _, *of_entities = _metrics(labels)
    return [
        BestPath(accuracy, has_parts=True),
        PathCrossEntropy(has_parts=True),
        *(BestPath(metric, has_parts=True) for metric in of_entities),
    ]


def _answers(setup: Setup, model: keras.Model, labels: TokenLabels, output: str) -> OnePass:
    choose = likeliest if output == "logits" else on_best_path

    def read(reader: Reader, texts: Any) -> Tensors:
        return reader(texts, with_words=True)

    def answer(encoded: Tensors) -> Tensors:
        outputs = model({name: encoded[name] for name in model.input}, training=False)[output]
        return {**number_tokens(outputs, encoded, labels, choose), "truncated": encoded["truncated"]}

    def write(found: Tensors, texts: Any) -> Tensors:
        return {**answer_tokens(found, texts, labels), "truncated": found["truncated"]}

    signatures = {"serving_default": Signature(("text",), read, answer, write)}
    read_columns = (lambda texts: read_texts(texts)[1],)
    options: dict[str, Any] = {"read_columns": read_columns, "labels": labels.names}
    if output == "logits":  # clients of token ids would take the likeliest label of each word, not the best path
        options["from_ids"] = FromIds(model, setup.config.num_segments)
    return OnePass(setup, model, signatures, describe_tokens, **options)
