from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import zoo
from keras_transformers.analysis.attention.ablation import Head, attention_of
from keras_transformers.analysis.explorer.page_answers import MOST_PLACES
from keras_transformers.analysis.explorer.page_request import Request
from keras_transformers.analysis.explorer.run import run
from keras_transformers.families import albert, bert, gpt2, recurrent
from keras_transformers.models import encoder_decoder
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

# `predict` and `generate` trace graphs with a tokenizer inside, which takes many seconds.
traced = pytest.mark.slow


def bars(answer, place: int = -1) -> dict[str, float]:
    return {bar.label: bar.value for bar in answer.places[place].bars}


@pytest.mark.integration
@pytest.mark.parametrize("groups", [1, 2])
def test_blocks_with_the_same_weights(groups):
    """Their heads are switched off together; every layer has its maps and its step of the lens."""
    tokenizer = Tokenizer.train(["a fine film", "a dull day"], 60)
    sizes = {"num_layers": 4, "num_heads": 2, "hidden_dim": 16, "embedding_dim": 8, "max_length": 16}
    config = albert(tokenizer.vocabulary_size, **sizes, num_block_groups=groups)
    found = run(Task("masked_lm", config, tokenizer), Request("a [MASK] film"))
    assert [one.recorded.weights.shape[:2] for one in found.maps] == [(4, 2)]
    heads = [f"{layer}.{number}" for layer in range(groups) for number in range(2)]
    assert [str(head) for head, _ in found.switched] == heads
    assert found.lens is not None


@traced
@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("classification", Request("a fine film")),
        ("masked_lm", Request("a [MASK] film and a [MASK] day")),
        ("sentence_embedding", Request("a fine film")),
        ("sentence_embedding", Request("a fine film", pair="a dull day")),
        ("token_classification", Request("a fine film")),
        ("replaced_tokens", Request("a fine film")),
        ("question_answering", Request("a film", pair="the long day and a fine film")),
        ("ranking", Request("a film", pair="a fine film")),
    ],
)
def test_an_answer_is_that_of_predict(task, name, request_):
    subject = task(name)

    shown = run(subject, request_)

    texts = [[text] for text in (request_.text, request_.pair) if text]
    (expected,) = subject.predict(*texts)
    values = {
        "classification": lambda: expected["probabilities"],
        "masked_lm": lambda: dict(expected["fills"][-1]),
        "sentence_embedding": lambda: (
            {"similarity": expected["similarity"]}
            if "similarity" in expected
            else {f"number {index}": value for index, value in enumerate(expected["embedding"])}
        ),
        "token_classification": lambda: {expected["tokens"][-1]["label"]: expected["tokens"][-1]["score"]},
        "replaced_tokens": lambda: {"replaced": expected["tokens"][-1]["score"]},
        "question_answering": lambda: {one["answer"] or "(no answer)": one["score"] for one in expected["candidates"]},
        "ranking": lambda: {"probability": expected["probability"]},
    }[name]()
    assert bars(shown.answer) == pytest.approx(values, abs=1e-5)
    assert [str(head) for head, _ in shown.switched] == ["0.0", "0.1", "1.0", "1.1"]


@pytest.mark.integration
def test_gaps_stand_at_their_tokens(task):
    shown = run(task("masked_lm"), Request("a [MASK] film and a [MASK] day"))

    names = shown.maps[0].rows.names
    assert [names[place.token] for place in shown.answer.places] == ["[MASK]", "[MASK]"]


@pytest.mark.integration
def test_an_answer_without_a_head_is_that_of_a_model_whose_rows_are_zero(task):
    subject, request = task("classification"), Request("a fine film")

    without = {str(head): bars(answer) for head, answer in run(subject, request).switched}

    kernel = attention_of(subject.model, Head("self", 1, 0), "encoder").output_dense.kernel
    before = kernel.numpy()
    try:
        kernel.assign(before * (np.arange(8) >= 4)[:, None])
        expected = bars(run(subject, request).answer)
    finally:
        kernel.assign(before)
    assert without["1.0"] == pytest.approx(expected, abs=1e-6)
    assert max(abs(without["1.0"][label] - bars(run(subject, request).answer)[label]) for label in expected) > 1e-5


@pytest.mark.integration
def test_heads_that_are_off_from_the_start_change_maps_and_answer(task):
    subject, request = task("classification"), Request("a fine film")
    whole, less = run(subject, request), run(subject, request._replace(without=(Head("self", 0, 1),)))

    assert bars(less.answer) == pytest.approx(bars(dict(whole.switched)[Head("self", 0, 1)]), abs=1e-6)
    np.testing.assert_array_equal(less.maps[0].recorded.weights[0], whole.maps[0].recorded.weights[0])
    assert np.abs(less.maps[0].recorded.weights[1] - whole.maps[0].recorded.weights[1]).max() > 1e-4
    assert bars(dict(less.switched)[Head("self", 0, 1)]) == pytest.approx(bars(less.answer), abs=1e-6)


@traced
def test_a_language_model_writes_what_generate_writes(task):
    subject = task("causal_lm")

    shown = run(subject, Request("a fine", new_tokens=5))

    assert shown.text == "a fine" + subject.generate(["a fine"], max_new_tokens=5)[0]
    assert shown.answer.text == shown.text.removeprefix("a fine")
    names = shown.maps[0].rows.names
    best = [place.bars[0].label for place in shown.answer.places]
    assert best[-6:-1] == list(names[-5:])
    assert [place.came for place in shown.answer.places] == [*names[1:], None]


@pytest.mark.integration
def test_a_draw_depends_on_its_seed_and_place_only(task):
    subject = task("causal_lm")
    texts = {
        seed: run(subject, Request("a fine", new_tokens=6, temperature=2.0, seed=seed)).text for seed in (0, 0, 1, 2)
    }
    again = run(subject, Request("a fine", new_tokens=6, temperature=2.0, seed=1)).text

    assert again == texts[1]
    assert len(set(texts.values())) > 1


@pytest.mark.integration
def test_a_translation_has_three_kinds_of_attention(task):
    subject = task("seq2seq_lm")

    shown = run(subject, Request("a fine film", new_tokens=6))

    kinds = {one.kind: one for one in shown.maps}
    assert list(kinds) == ["cross", "encoder", "self"]
    assert kinds["cross"].columns == kinds["encoder"].rows
    assert kinds["cross"].rows == kinds["self"].rows
    assert kinds["self"].rows.names[0] == "<pad> (start)" and kinds["self"].rows.special[0]
    assert shown.answer.places[0].name == "after <pad> (start)"
    for one in shown.maps:
        assert one.recorded.weights.shape == (2, 2, len(one.rows.names), len(one.columns.names))
    assert len(shown.switched) == 12


@traced
def test_alignment_is_that_of_the_task():
    subject = zoo.load("transformer_mini_en_de")
    shown = run(subject, Request("The cat danced."))

    (alignment,) = subject.align(["The cat danced."], [shown.answer.text])

    assert shown.answer.text == "Die Katze tanzte."
    np.testing.assert_allclose(shown.maps[0].recorded.weights[-1].mean(0), alignment.scores, atol=1e-5)


@pytest.mark.integration
def test_a_long_text_is_cut_and_says_so(task):
    shown = run(task("classification"), Request("a fine film " * 50))

    assert len(shown.maps[0].rows.names) == 24
    assert shown.notes == ("The text was cut to its first 24 tokens.",)


@pytest.mark.integration
def test_a_prompt_that_is_too_long_loses_its_beginning(task):
    shown = run(task("causal_lm"), Request("a dull day " * 50 + "film", new_tokens=4))

    assert len(shown.maps[0].rows.names) <= 24
    assert shown.notes[0].startswith("Only the last 20 of ")


def test_a_model_of_many_heads_answers_with_all_of_them_only(task):
    shown = run(task("classification"), Request("a film"), most_switched=3)

    assert shown.switched == ()
    assert "The model has 4 heads" in shown.notes[0]


@pytest.mark.parametrize(
    ("name", "request_", "message"),
    [
        ("classification", Request(""), "the text is empty"),
        ("classification", Request("a", without=(Head("self", 7, 0),)), "no head 7.0: the model has layers 0 to 1"),
        ("masked_lm", Request("a film"), r"nothing to fill in: write \[MASK\] where"),
        ("ranking", Request("a film"), "ranking compares two texts: give a second one"),
        ("masked_lm", Request("a [MASK]", pair="b"), "takes no second text: leave it out"),
        ("causal_lm", Request("a", pair="b"), "takes no second text: leave it out"),
        ("multiple_choice", Request("a"), "several texts a row, which the page cannot show"),
        ("multiple_choice", Request("a", pair="b"), "several texts a row, which the page cannot show"),
        ("causal_lm", Request("a", new_tokens=24), "24 new tokens leave no room"),
    ],
)
def test_what_a_task_cannot_read_is_refused(task, name, request_, message):
    with pytest.raises(ValueError, match=message):
        run(task(name), request_)


@pytest.mark.integration(quick=["convolution"])
@pytest.mark.parametrize("mixer", ["lstm", "convolution"])
def test_a_model_without_heads_answers_and_shows_what_its_layers_add(task, mixer):
    tokenizer = task("causal_lm").tokenizer
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    subject = Task(
        "causal_lm", gpt2(tokenizer.vocabulary_size, **sizes).replace(mixer=mixer, activation="tanh"), tokenizer
    )

    shown = run(subject, Request("a film", new_tokens=2))

    assert (shown.maps, shown.switched) == ((), ())
    assert [row.part for row in shown.lens.places[0].rows] == ["embedding", mixer]
    with pytest.raises(ValueError, match=r"there is no head 0\.0: the blocks of this model have no self-attention"):
        run(subject, Request("a film", without=(Head("self", 0, 0),)))


@pytest.mark.integration
@pytest.mark.parametrize(("attends", "kinds"), [(True, ["cross"]), (False, [])])
def test_recurrent_models_of_two_stacks_have_heads_for_the_source_only(attends, kinds):
    tokenizer = Tokenizer.train(["a fine film", "a dull film"], 40, model="unigram")
    ids = {"pad_id": tokenizer.pad_id, "eos_ids": [tokenizer.eos_id], "kind": "encoder_decoder"}
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16}
    config = recurrent(tokenizer.vocabulary_size, **sizes, **ids, cross_attention=attends)
    subject = Task("seq2seq_lm", config, tokenizer)

    shown = run(subject, Request("a film", new_tokens=3))

    assert [one.kind for one in shown.maps] == kinds
    assert [str(head) for head, _ in shown.switched] == [f"{kind}:0.{number}" for kind in kinds for number in (0, 1)]
    for one in shown.maps:
        np.testing.assert_allclose(one.recorded.weights.sum(-1), 1, atol=1e-5)
        outputs = encoder_decoder(config, outputs=["cross_attention_scores"])
        outputs.set_weights([w for layer in outputs.layers for w in subject.model.get_layer(layer.name).get_weights()])
        expected = outputs({name: shown_inputs(subject, one)[name] for name in outputs.input})["cross_attention_scores"]
        np.testing.assert_allclose(one.recorded.weights, np.asarray(expected)[0], atol=1e-5)


def shown_inputs(subject, one) -> dict[str, np.ndarray]:
    """The tokens of a map of a translation, by their names."""
    ids = {subject.tokenizer.id_to_token(number).replace("▁", "␣"): number
           for number in range(subject.tokenizer.vocabulary_size)}  # fmt: skip
    rows, columns = ([[ids[name.removesuffix(" (start)")] for name in side.names]] for side in (one.rows, one.columns))
    inputs = {"token_ids": np.array(rows), "encoder_token_ids": np.array(columns)}
    return inputs | {name.replace("token_ids", "padding_mask"): np.ones_like(array) for name, array in inputs.items()}


@pytest.mark.integration
def test_numbers_that_are_not_finite_are_refused():
    tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    sizes = {"num_layers": 1, "num_heads": 1, "hidden_dim": 4, "max_length": 16}
    subject = Task("causal_lm", gpt2(tokenizer.vocabulary_size, **sizes), tokenizer)
    norm = next(layer for layer in reversed(subject.model.layers) if "norm" in layer.name)
    norm.set_weights([np.nan * array for array in norm.get_weights()])
    with pytest.raises(ValueError, match="answer has numbers that are not finite: the weights of the model are"):
        run(subject, Request("a"))

    kernel = attention_of(subject.model, Head("self", 0, 0), "decoder").query.weights[0]
    kernel.assign(kernel * np.nan)
    with pytest.raises(ValueError, match="attention has numbers that are not finite: the weights of the model are"):
        run(subject, Request("a fine film"))


@pytest.mark.integration
def test_places_of_a_long_text_are_bounded(task):
    tokenizer = task("causal_lm").tokenizer
    sizes = {"num_layers": 1, "num_heads": 1, "hidden_dim": 4, "max_length": 200}
    subject = Task("causal_lm", gpt2(tokenizer.vocabulary_size, **sizes), tokenizer)

    shown = run(subject, Request("b" * 100))

    for answer in (shown.answer, shown.switched[0][1]):
        assert [place.token for place in answer.places] == list(range(100 - MOST_PLACES, 100))
    assert shown.answer.places[-1].came is None
    assert "The answer is shown at the last 64 of 100 tokens." in shown.notes


@pytest.mark.integration
def test_gaps_of_a_long_text_are_bounded(task):
    tokenizer = task("masked_lm").tokenizer
    sizes = {"num_layers": 1, "num_heads": 1, "hidden_dim": 4, "max_length": 200}
    subject = Task("masked_lm", bert(tokenizer.vocabulary_size, **sizes), tokenizer)

    shown = run(subject, Request("[MASK] " * 1000))

    assert [place.token for place in shown.answer.places] == list(range(1, 1 + MOST_PLACES))
    assert "Only the first 64 of 198 positions of the answer are shown." in shown.notes


@pytest.mark.integration
def test_what_was_traced_goes_with_its_task():
    tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    sizes = {"num_layers": 1, "num_heads": 1, "hidden_dim": 4, "max_length": 16}
    subject = Task("causal_lm", gpt2(tokenizer.vocabulary_size, **sizes), tokenizer)
    run(subject, Request("a"))
    gone = weakref.ref(subject)

    del subject
    gc.collect()
    assert gone() is None


@pytest.mark.integration
def test_labels_of_a_conditional_random_field_are_those_of_predict(task):
    """Its scores of paths are no logits: there is no logit lens."""
    plain = task("token_classification")
    subject = Task("token_classification", plain.config, plain.tokenizer, labels=plain.labels, crf=True)
    shown = run(subject, Request("a fine film"))
    tokens = subject.predict(["a fine film"])[0]["tokens"]
    found = [(place.bars[0].label, pytest.approx(place.bars[0].value, abs=1e-5)) for place in shown.answer.places]
    assert [(token["label"], token["score"]) for token in tokens] == found and shown.lens is None
