"""Ranking by a cross-encoder, which reads a query and a document together and scores the pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import keras
from keras import ops

from keras_transformers.checkpoints.settings.cross_encoder import ACTIVATIONS
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.tasks.answers.one_pass import CHECKED, OnePass
from keras_transformers.tasks.answers.pair_scores import learn_choices, pair_scorer
from keras_transformers.tasks.answers.readers import Reader, Tensors
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.from_ids import FromIds
from keras_transformers.tasks.contract.kind import Kind, one_of
from keras_transformers.tasks.contract.parts import Parts, Setup
from keras_transformers.tasks.inputs.labels import label_numbers
from keras_transformers.tasks.inputs.sources import Write, text_source
from keras_transformers.tasks.reports import pair_report
from keras_transformers.tasks.vectors.embedding_prompts import OF_PROMPTS, Prompts, put_before
from keras_transformers.tasks.vectors.logit_score import LogitScore, check_tokens
from keras_transformers.tasks.vectors.pair_template import PairTemplate, make_template
from keras_transformers.tasks.vectors.score_head import ScoreHead
from keras_transformers.tasks.vectors.vector_options import NEW_LAYERS, check_layers, check_pooling, padded_tokenizer
from keras_transformers.training.losses import target_losses
from keras_transformers.training.metrics import target_metrics
from keras_transformers.utils.text_checks import check_texts
from keras_transformers.utils.untrusted import shown

LOSSES = ("binary", "listwise")


def ranking(
    setup: Setup,
    *,
    loss: str = "binary",
    activation: str = "linear",
    pooling: str | Sequence[str] | None = None,
    dense: Sequence[Mapping[str, Any]] = (),
    score_tokens: Sequence[int | str] | None = None,
    pair_template: Mapping[str, str] | None = None,
    prompts: Mapping[str, str] | None = None,
    default_prompt: str | None = None,
) -> Parts:
    """Build a cross-encoder: it scores pairs of texts, how well the second one answers the first.

    It is slower and more accurate than comparing sentence embeddings: use it on the few documents that a search found.
    Papers: Nogueira and Cho 2019, https://arxiv.org/abs/1901.04085; listwise, Cao et al. 2007, "Learning to Rank: From
    Pairwise Approach to Listwise Approach".

    Args:
        setup: Settings common to all tasks.
        loss: `"binary"`: each pair has a label from 0 (does not answer) to 1. `"listwise"`: `pairs`
            are lists of documents, all of one length, and labels the numbers of the right documents, from 0.
        activation: Activation that gives `score`: `"linear"` (the logit) or `"sigmoid"` (its sigmoid). Folders of
            sentence-transformers name it.
        pooling: As in `tasks.sentence_embedding`, with layers in `dense` behind it; the classifier of the family when
            None.
        dense: Layers behind the pooling, as of `tasks.sentence_embedding`; the last one has one unit.
        score_tokens: For a decoder, which needs them: the token whose logit after the pair is the score, such as
            `"yes"` or its id; and perhaps one whose logit is subtracted, such as `"no"`.
        pair_template: With `score_tokens`: the text that is made of a pair, as the parts of `vectors.PairTemplate`:
            `text` with `{query}`, `{document}` and perhaps `{prompt}`, or `text` and `pair`, whose tokens stand one
            behind the other; `prefix` and `suffix`, which are never cut; `instruction`, in place of an empty prompt.
            When None, the pair stands as the tokenizer joins two texts.
        prompts: Texts that `rank` and the export put before queries, or in place of `{prompt}`, by name.
        default_prompt: Name of the prompt of queries for which none is asked for, in `predict` and `fit` too.

    Predicts:
        One dict a pair, of a query in `texts` and a document in `pairs`:

        - `score` (float): the higher, the better the second text answers the first; a logit, or with
          `activation="sigmoid"` a number from 0 to 1.
        - `probability` (float): the sigmoid of the logit.
        - `truncated` (bool): whether the pair was longer than `max_length` and was cut.

    Exports:
        `serving_default` takes `text` and `text_pair`, (B,) strings. It returns `score` and `probability`, (B,)
        float32, and `truncated`, (B,) bool. Where there are `prompts`, `prompted` takes `prompt`, too: the text that
        is put before `text`, in place of the default one.

    Raises:
        ValueError: The loss, the activation, the pooling or a layer is unknown, or the last layer has not one unit.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.tasks import Task
    >>> from keras_transformers.text.tokenizer import Tokenizer
    >>> tokenizer = Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=60)
    >>> config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    >>> task = Task("ranking", config, tokenizer)
    >>> [found["index"] for found in task.rank("a film", ["fine", "dull"], top=1)] in ([0], [1])
    True
    """
    head = _head(setup, pooling, dense, score_tokens)
    template = None if pair_template is None else _template(head, pair_template)
    write, given = (put_before, setup) if template is None else (template.write, template.around(setup))
    values = None if template is None else template.values
    known = Prompts({} if prompts is None else prompts, default_prompt)
    stored = {"prompts": {**known.texts}, "default_prompt": default_prompt}
    scorer = head.scorer() if isinstance(head, LogitScore) else pair_scorer(setup, head.scores)
    columns = (*CHECKED, partial(check_texts, "prompt"))
    signatures = _signatures(scorer, activation, known, write)
    # The folder of a decoder is a language model's, whose graph has other logits.
    from_ids = None if isinstance(head, LogitScore) else FromIds(scorer, setup.config.num_segments)
    answers = OnePass(given, scorer, signatures, _describe, read_columns=columns, from_ids=from_ids)
    learn = _learn_pairs if loss == "binary" else learn_choices
    return Parts(
        **learn(given, scorer, partial(write, prompts=known.text_of(None))) | {"tokenizer": setup.tokenizer},
        answers=answers,
        saved=lambda: head.saved(activation, stored if values is None else stored | {"pair_template": values}),
        saved_tokenizer=padded_tokenizer(setup),
        saved_options={} if values is None else {"pair_template": values},
        attributes={
            "loss": loss, "activation": activation, "pooling": pooling, "dense": dense,
            "score_tokens": score_tokens, **stored,
            "pair_template": values,
            "rank": _ranker(answers, known),
        },
    )  # fmt: skip


KIND = Kind(
    "ranking",
    ranking,
    models=("encoder", "decoder"),
    checks={
        "loss": one_of("loss", LOSSES),
        "activation": one_of("activation", ACTIVATIONS),
        "pooling": check_pooling,
        "dense": check_layers,
        "score_tokens": check_tokens,
        "pair_template": make_template,
        **OF_PROMPTS,
    },
    saved_options=("pair_template",),
    new_layers=("pooler", "pooler_norm", "classifier", *NEW_LAYERS),
    shares_head=("classification",),
    needs_labels=True,
    takes_weights=True,
    takes_pairs=True,
    joins_texts=True,
    needs_pairs=True,
)


def _head(setup: Setup, pooling: Any, dense: Any, score_tokens: Any) -> ScoreHead | LogitScore:
    if setup.config.kind == "decoder" and pooling is None and not dense:
        return LogitScore(setup, score_tokens)
    if score_tokens is not None:
        raise ValueError(
            f"score_tokens are for a decoder without pooling: received {shown(score_tokens)}. Leave them out."
        )
    return ScoreHead(setup, 1, pooling, dense)


def _template(head: ScoreHead | LogitScore, values: Any) -> PairTemplate:
    if not isinstance(head, LogitScore):
        raise ValueError("pair_template belongs to score_tokens, of a decoder without pooling. Leave it out.")
    return make_template(values)


def _learn_pairs(setup: Setup, scorer: keras.Model, write: Write) -> dict[str, Any]:
    """Return the parts of a task that learns from each pair by itself; all parts but `answers`."""
    expected = "labels of the loss 'binary' are numbers from 0 to 1, one per pair"
    return {
        "model": scorer,
        "tokenizer": setup.tokenizer,
        "source": text_source(setup, lambda labels: label_numbers(labels, expected).reshape(-1, 1), write),
        "objective": lambda: Classification(1, "multi_label", setup.config.fill_id),
        "losses": lambda: {"logits": target_losses.BinaryCrossEntropy()},
        "metrics": lambda: {"logits": [target_metrics.BinaryAccuracy()]},
        "judged_by": "binary_accuracy",
        "report": pair_report,
    }


def _signatures(scorer: keras.Model, activation: str, prompts: Prompts, write: Callable) -> dict[str, Signature]:
    def read(reader: Reader, texts: Any, pairs: Any) -> Tensors:
        return reader(*write(texts, pairs, prompts.text_of(None)))

    def read_prompted(reader: Reader, texts: Any, pairs: Any, given: Any) -> Tensors:
        return reader(*write(texts, pairs, given))

    def compute(encoded: Tensors) -> Tensors:
        outputs = scorer({name: encoded[name] for name in scorer.input}, training=False)
        logit = ops.cast(outputs["logits"][:, 0], "float32")  # (B,)
        probability = ops.sigmoid(logit)
        score = probability if activation == "sigmoid" else logit
        return {"score": score, "probability": probability, "truncated": encoded["truncated"]}

    signatures = {"serving_default": Signature(("text", "text_pair"), read, compute)}
    if prompts.texts or write is not put_before:
        signatures["prompted"] = Signature(("text", "text_pair", "prompt"), read_prompted, compute, ranks=(1, 1, 1))
    return signatures


def _describe(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(row[name]) for name in ("score", "probability")}


def _ranker(answers: OnePass, prompts: Prompts) -> Callable[..., list[dict[str, Any]]]:
    def rank(
        query: str,
        documents: Sequence[str],
        *,
        top: int | None = None,
        prompt: str | None = None,
        prompt_text: str | None = None,
        batch_size: int = 32,
        verbose: Any = "auto",
    ) -> list[dict[str, Any]]:
        """Sort documents by their score for a query, best first: dicts of `index`, `score` and `text`.

        Args:
            query: The query.
            documents: Any number of texts.
            top: Number of documents to return; None for all.
            prompt: Name of one of the task's `prompts`, which is put before the query; `default_prompt` when None.
            prompt_text: Instead, a prompt of your own; `""` for none.
            batch_size, verbose: As for `predict`.
        """
        documents = check_texts("documents", documents)
        (top,) = check_counts(top=max(len(documents), 1) if top is None else top)
        columns, asked = ([query] * len(documents), documents), prompts.text_of(prompt, prompt_text)
        options = {"batch_size": batch_size, "verbose": verbose}
        if asked == prompts.text_of(None):
            found = answers.predict(*columns, **options)
        elif "prompted" in answers.signatures:
            found = answers.ask("prompted", (*columns, [asked] * len(documents)), **options)
        else:
            found = answers.predict([asked + query] * len(documents), documents, **options)
        rows = [{"index": i, "score": row["score"], "text": documents[i]} for i, row in enumerate(found)]
        return sorted(rows, key=lambda row: -row["score"])[:top]

    return rank
