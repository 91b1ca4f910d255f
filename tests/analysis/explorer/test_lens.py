from __future__ import annotations

import numpy as np
import pytest

from keras_transformers import families
from keras_transformers.analysis.attention.ablation import Head
from keras_transformers.analysis.explorer.pack import pack_run
from keras_transformers.analysis.explorer.page_request import Request
from keras_transformers.analysis.explorer.run import run
from keras_transformers.families import bert, gpt2
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

REQUESTS = {
    "classification": Request("a fine film"),
    "masked_lm": Request("a [MASK] film and a [MASK] day"),
    "pretraining": Request("a [MASK] film"),
    "ranking": Request("a film", pair="a fine film"),
    "token_classification": Request("a fine film"),
    "replaced_tokens": Request("a fine film"),
    "causal_lm": Request("a fine", new_tokens=3),
    "seq2seq_lm": Request("a fine film", new_tokens=4),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", REQUESTS)
def test_the_last_row_is_the_answer_of_the_page(task, name):
    shown = run(task(name), REQUESTS[name])

    places = shown.answer.places
    assert [place.place for place in shown.lens.places] == list(range(len(places)))
    for place, found in zip(places, shown.lens.places, strict=True):
        best, last = place.bars[0], found.rows[-1]
        assert last.probability == pytest.approx(best.value, abs=1e-5)
        assert last.best_probability == pytest.approx(best.value, abs=1e-5)
        assert (last.rank, last.best) == (1, found.answer)
        if name != "ranking":  # which has one answer, by no name
            assert found.answer == best.label
        if best.logit is not None:
            assert last.logit == pytest.approx(best.logit, abs=1e-5)
        assert len({round(row.logit, 3) for row in found.rows}) > 1


@pytest.mark.integration
@pytest.mark.parametrize("family", ["bert", "modernbert", "roberta"])
def test_ends_of_an_answer_are_followed_among_the_tokens_of_the_context(family):
    """Of models without segments, or with one for both texts, too."""
    tokenizer = Tokenizer.train(["the long day and a fine film"], 60)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16, "max_length": 32}
    subject = Task("question_answering", getattr(families, family)(tokenizer.vocabulary_size, **sizes), tokenizer)

    shown = run(subject, Request("a film", pair="the long day and a fine film"))

    (text,) = {one.rows.names for one in shown.maps}
    first, last = shown.lens.places
    assert (first.place, last.place) == (0, 0)
    context = text[text.index("[SEP]") + 1 : -1]
    assert first.classes == last.classes == len(context) + 1  # and [CLS], for none
    assert {first.answer, last.answer} <= {*context, "[CLS]"}
    chances = [found.rows[-1].probability for found in (first, last)]
    assert np.prod(chances) >= max(bar.value for bar in shown.answer.places[0].bars) - 1e-6


@pytest.mark.integration
def test_a_regression_has_logits_alone():
    tokenizer = Tokenizer.train(["a fine film"], 60)
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    subject = Task("classification", config, tokenizer, labels=["stars"], problem="regression")

    (place,) = run(subject, Request("a film")).lens.places

    assert {row.probability for row in place.rows} == {None}
    assert place.rows[-1].logit == pytest.approx(run(subject, Request("a film")).answer.places[0].bars[0].value)


@pytest.mark.integration
def test_labels_that_may_be_together_have_chances_of_their_own():
    tokenizer = Tokenizer.train(["a fine film"], 60)
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    subject = Task("classification", config, tokenizer, labels=["short", "fine"], problem="multi_label")

    shown = run(subject, Request("a film"))

    (place,) = shown.lens.places
    assert place.rows[-1].probability == pytest.approx(shown.answer.places[0].bars[0].value, abs=1e-5)


@pytest.mark.integration
def test_a_vector_has_no_lens(task):
    assert run(task("sentence_embedding"), Request("a film")).lens is None


@pytest.mark.integration
def test_only_a_pre_norm_model_with_a_linear_head_is_a_sum(task):
    tokenizer = Tokenizer.train(["a fine film"], 60)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16, "initializer_range": 0.5}
    config = bert(tokenizer.vocabulary_size, **sizes, norm_order="pre")
    behind_a_pooler = run(Task("classification", config, tokenizer, labels=2), Request("a fine film")).lens
    post, pre = run(task("masked_lm"), REQUESTS["masked_lm"]).lens, run(task("causal_lm"), REQUESTS["causal_lm"]).lens

    assert [(one.is_sum, one.norm_order) for one in (pre, post, behind_a_pooler)] == [
        (True, "pre"), (False, "post"), (False, "pre"),
    ]  # fmt: skip
    for place in pre.places:
        total = sum(row.added for row in place.rows) + place.rest
        assert total == pytest.approx(place.rows[-1].logit, abs=1e-4)
    for one in (post, behind_a_pooler):
        assert {row.added for place in one.places for row in place.rows} == {None}
        assert {place.rest for place in one.places} == {None}


@pytest.mark.integration
def test_the_lens_goes_with_the_heads_that_are_off(task):
    subject, request = task("causal_lm"), Request("a fine", without=(Head("self", 0, 1),))

    shown = run(subject, request)

    assert shown.lens.places[-1].rows[-1].probability == pytest.approx(shown.answer.places[-1].bars[0].value, abs=1e-5)
    whole = run(subject, request._replace(without=()))
    assert shown.lens.places[-1].rows[1].logit != pytest.approx(whole.lens.places[-1].rows[1].logit, abs=1e-4)


@pytest.mark.integration
def test_of_a_long_text_the_last_places_are_followed():
    tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    config = gpt2(tokenizer.vocabulary_size, num_layers=1, num_heads=1, hidden_dim=4, max_length=200)
    subject = Task("causal_lm", config, tokenizer)

    shown = run(subject, Request("b" * 100))

    assert len(shown.lens.places) == len(shown.answer.places) == 64
    for place, found in zip(shown.answer.places, shown.lens.places, strict=True):
        assert found.name == place.name
        assert found.rows[-1].logit == pytest.approx(place.bars[0].logit, abs=1e-5)


@pytest.mark.integration
def test_sizes_are_lengths_beside_the_stream(task):
    from keras_transformers.analysis.residual.residual_stream import record_stream

    subject = task("causal_lm")
    shown = run(subject, Request("a fine"))
    ids = np.array([subject.tokenizer.encode(["a fine"])[0].ids], "int32")
    steps = record_stream(subject.config, subject.model, {"token_ids": ids, "padding_mask": np.ones_like(ids)})

    shares = [row.share for row in shown.lens.places[-1].rows]
    before = [np.sqrt(np.square(step.states[-1]).sum()) for step in steps]
    added = [np.sqrt(np.square(step.added[-1]).sum()) for step in steps]
    assert shares[0] is None
    np.testing.assert_allclose(shares[1:], np.array(added[1:]) / before[:-1], rtol=1e-4)


@pytest.mark.integration
def test_the_page_has_the_numbers_of_the_lens(task):
    shown = run(task("causal_lm"), Request("a fine"))

    packed = pack_run(shown)["lens"]

    assert packed["sum"] is True
    assert packed["steps"][:3] == [[None, "embeddings"], [0, "attention"], [0, "feed-forward"]]
    for found, place in zip(packed["places"], shown.lens.places, strict=True):
        for name in ("logit", "probability", "added", "rank"):
            assert found[name] == pytest.approx([getattr(row, name) for row in place.rows], rel=1e-5)
        assert sum(found["added"]) + found["rest"] == pytest.approx(found["logit"][-1], abs=1e-4)
