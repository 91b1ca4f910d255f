"""Question answering: what is learnt, measured, answered, exported and saved."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
import questions
import tensorflow as tf
import tiny
from processes import run_on_jax
from questions import ANSWERS, CONTEXTS, FIT, QUESTIONS, TEXTS, as_dict
from word_tokenizers import word_tokenizer

import zoo
from keras_transformers.families import roberta
from keras_transformers.tasks import Task
from keras_transformers.tasks.inputs.context_windows import encode_windows, plan_windows
from keras_transformers.tasks.questions.best_answers import describe_answer

COLUMNS = ["answer", "candidates", "score", "start", "end", "truncated"]
COLUMNS += [f"candidate_{name}" for name in ("scores", "starts", "ends")]
FILLER = "It rained all day. "
LONG = FILLER * 9 + "Ann sat in New  York. " + FILLER * 9
HOSTILE = [
    (QUESTIONS[1], CONTEXTS[1]), ("", CONTEXTS[0]), ("Where?", ""), (" \t", "Ann"), ("Where?", " \n "), ("", ""),
    ("\0", "\0"), ("Where is it? " * 40, LONG), ("Where is it? " * 4, "Ann."), ("Where is it? " * 9, "Ann."),
    ("Where is it?", LONG), ("Where?", "x" * 10_000),
    ("Where?", "😀 Ann ẞ sat in 中文 שלום."),
    ("[MASK] [SEP]?", "typed [MASK] in [SEP] Oslo"), ("Where?", "Bob\u200d Ra\u0301y is in ﬁ Oslo"), ("Who? " * 9, "."),
]  # fmt: skip
ASKED, READ = map(list, zip(*HOSTILE, strict=True))


@pytest.fixture(scope="module")
def task():
    """A task after `fit`, also on windows without an answer, with what `fit` returned in `history`."""
    task = questions.answerer()
    long = [(LONG.index(text), text) for text in ("New  York", "Ann")]
    contexts = [*CONTEXTS, LONG, LONG]
    learnt = [*QUESTIONS, "Where is it?", "Who is it?"], [*(as_dict(*answer) for answer in ANSWERS), *long]
    task.history = task.fit(*learnt, **(FIT | {"pairs": contexts, "epochs": 40})).history
    return task


def described(answer):
    """The columns of an answer as `predict` has them."""
    columns = {name: np.array(column) for name, column in answer.items()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [describe_answer(row) | {"truncated": bool(row["truncated"])} for row in rows]


def check_same(answers, others):
    for one, other in zip(answers, others, strict=True):
        assert one["truncated"] == other["truncated"]
        records = zip([one, *one["candidates"]], [other, *other["candidates"]], strict=True)
        for record, same in records:
            assert [record[name] for name in ("answer", "start", "end")] == [
                same[name] for name in ("answer", "start", "end")
            ]
            assert record["score"] == pytest.approx(same["score"], abs=1e-5)


@pytest.mark.integration
def test_fit_learns(task):
    assert task.history["loss"][-1] < 0.1 * task.history["loss"][0]
    assert task.history["span_accuracy"][-1] == 1.0
    results = task.evaluate(QUESTIONS, ANSWERS, pairs=CONTEXTS)
    assert results.keys() == {"span_accuracy", "cross_entropy", "exact_match", "f1"}
    assert results["span_accuracy"] == 1.0 and results["exact_match"] == results["f1"] == 100.0
    assert [answer["answer"] for answer in task.predict(QUESTIONS, CONTEXTS)] == TEXTS


@pytest.mark.integration
def test_evaluate_takes_all_answers_as_right(task):
    labels = [[(0, context), answer] for context, answer in zip(CONTEXTS, ANSWERS, strict=True)]
    results = task.evaluate(QUESTIONS, labels, pairs=CONTEXTS, batch_size=3)
    assert results["span_accuracy"] == 0.0 and results["exact_match"] == results["f1"] == 100.0
    for options in ({"by_length": False}, {"batch_tokens": 40}):  # a scorer meets windows in the order it knows
        assert task.evaluate(QUESTIONS, labels, pairs=CONTEXTS, dataset_options=options)["f1"] == 100.0
    half = task.evaluate(QUESTIONS[:2], [None, ANSWERS[1]], pairs=CONTEXTS[:2])
    assert half["exact_match"] == half["f1"] == 50.0


@pytest.mark.integration
def test_what_is_answered(task):
    (answer,) = task.predict(["Where is it?"], ["He sat in New  York. 😀"])
    assert answer.keys() == {"answer", "score", "start", "end", "candidates", "truncated"}
    assert (answer["answer"], answer["start"], answer["end"]) == ("New  York", 10, 19)
    assert 0.5 < answer["score"] < 1 and not answer["truncated"]
    assert len(answer["candidates"]) == 5 and answer["candidates"][0] == {
        name: answer[name] for name in ("answer", "score", "start", "end")
    }
    places = [(candidate["start"], candidate["end"]) for candidate in answer["candidates"]]
    assert len({*places}) == 5
    assert sum(candidate["score"] for candidate in answer["candidates"]) < 1


@pytest.mark.integration
def test_an_answer_far_into_a_context(task):
    (answer,) = task.predict(["Where is it?"], [LONG])
    assert (answer["answer"], answer["start"]) == ("New  York", LONG.index("New  York"))
    assert len(task.tokenizer.encode([LONG])[0].ids) > 3 * task.max_length


@pytest.mark.integration
def test_where_nothing_can_be_answered(task):
    nothing = {"answer": "", "score": 0.0, "start": 0, "end": 0, "candidates": [], "truncated": False}
    assert task.predict(["", "Where?", "Where?", " "], ["Ann sat.", "", " \n", ""]) == [nothing] * 4
    assert task.predict([], []) == []
    assert questions.untraced(questions.answerer(no_answer=True)).predict(["Where?"], [" "]) == [nothing]


@pytest.mark.integration
def test_places_are_those_in_the_context(task):
    for (_, context), answer in zip(HOSTILE, task.predict(ASKED, READ), strict=True):
        for record in (answer, *answer["candidates"]):
            assert record["answer"] == context[record["start"] : record["end"]]
        assert all(candidate["answer"] for candidate in answer["candidates"])
    assert [answer["truncated"] for answer in task.predict(ASKED, READ)].count(True) == 2


@pytest.mark.integration
def test_a_row_does_not_depend_on_its_neighbours(task):
    expected = task.predict(ASKED, READ)
    check_same([task.predict([one], [other])[0] for one, other in HOSTILE], expected)
    check_same(task.predict(ASKED[::-1], READ[::-1], batch_size=3)[::-1], expected)


@pytest.mark.integration
def test_python_reads_as_the_graph_does(task):
    answer = questions.Untraced(task).run("serving_default", [ASKED, READ])
    check_same(described(answer), task.predict(ASKED, READ))


@pytest.mark.integration
def test_bytes_that_are_not_text_and_no_rows(task):
    signature = task.service.signatures["serving_default"]
    answer = signature(tf.constant([b"Where \xff is it?"]), tf.constant([b"\xff Ann sat in Oslo."]))
    assert (answer["answer"].numpy()[0], answer["start"].numpy()[0]) == (b"Oslo", 13)
    none = signature(tf.constant([], tf.string), tf.constant([], tf.string))
    assert {name: tuple(column.shape) for name, column in none.items()} == {
        name: (0, 5) if name.startswith("candidate") else (0,) for name in COLUMNS
    }
    with pytest.raises(tf.errors.InvalidArgumentError, match="context must have one row for each question"):
        signature(tf.constant(["a", "b"]), tf.constant(["a"]))


@pytest.mark.slow
def test_exported_is_in_process(task, tmp_path):
    """In a process that has TensorFlow only."""
    task.export(tmp_path / "1")
    request = {"serving_default": {"question": ASKED, "context": READ}}
    (answer,) = bare.ask(tmp_path / "1", request).values()
    assert sorted(answer) == sorted(COLUMNS)
    check_same(described(answer), task.predict(ASKED, READ))


@pytest.mark.slow
def test_a_context_of_100_000_words(task, tmp_path):
    context = FILLER * 12_500 + "Ann sat in New York. " + FILLER * 12_500
    expected = "New York", context.index("New York")
    assert len(context.split()) > 100_000
    (answer,) = task.predict(["Where is it?"], [context])
    assert answer["truncated"] and answer["answer"] != "New York"
    task.save(tmp_path / "saved")
    task = zoo.load(tmp_path / "saved", max_windows=10**9)
    (answer,) = task.predict(["Where is it?"], [context])
    assert (answer["answer"], answer["start"], answer["truncated"]) == (*expected, False)
    task.export(tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    answer = served(question=tf.constant(["Where is it?"]), context=tf.constant([context]))
    assert (answer["answer"].numpy()[0].decode(), int(answer["start"][0])) == expected


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["roberta_untrimmed", "xlmr"])
def test_answers_keep_the_white_space_of_their_tokens(kind):
    """As in the pipeline of transformers 4.57: an answer goes from the start of a token to the end of one."""
    keras.utils.set_random_seed(0)
    tokenizer, context = word_tokenizer(kind), "Ann left Oslo for \u3000Berlin. Bob lives in New York"
    config = roberta(
        tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=16, max_length=64, initializer_range=0.5
    )
    task = Task("question_answering", config, tokenizer, max_answer_length=4, num_candidates=30)
    candidates = task.predict(["Who left?"], [context])[0]["candidates"]
    places = tokenizer.encode([context], special_tokens=False)[0].offsets
    spans = {(start, end) for i, (start, _) in enumerate(places) for _, end in places[i : i + 4]}
    found = {(one["start"], one["end"]) for one in candidates}
    assert found <= spans and len(found) > 20
    assert all(one["answer"] == context[one["start"] : one["end"]] for one in candidates)
    assert any(one["answer"].startswith(" ") for one in candidates)


@pytest.mark.integration
def test_windows_that_are_not_read_to_answer(task, tmp_path):
    task.save(tmp_path / "saved")
    short, long = CONTEXTS[1], LONG
    count = len(encode_windows(task.tokenizer, [""], [long], plan_windows(task.tokenizer, 24, 8))[0])
    whole = task.predict(["Where is it?"] * 2, [short, long])
    assert [answer["answer"] for answer in whole] == ["Oslo", "New  York"] and count > 3

    for most, seen in ((1, False), (count - 1, True), (count + 3, True), (2**31, True), (10**30, True)):
        few = zoo.load(tmp_path / "saved", max_windows=most)
        if most in (count + 3, 2**31):  # a trace takes seconds: the others have one
            questions.untraced(few)
        answers = few.predict(["Where is it?"] * 3, [long, short, long])
        check_same([answers[1]], [whole[0]])
        check_same(answers[:1], answers[2:])
        assert (answers[0]["answer"] == "New  York") == seen
        python = questions.Untraced(few).run("serving_default", [["Where is it?"] * 2, [long, short]])
        check_same(described(python), answers[:2])


@pytest.mark.integration
def test_no_answer():
    task = questions.untraced(questions.answerer(no_answer=True))
    contexts = [*CONTEXTS, *("Ann sat.", "He sat.") * 2]
    asked = [*QUESTIONS, *["Where is it?"] * 4]
    labels = [*ANSWERS, None, [], {"text": [], "answer_start": []}, None]
    task.fit(asked, labels, **(FIT | {"pairs": contexts}))
    answers = task.predict(asked, contexts)
    assert [answer["answer"] for answer in answers] == [*TEXTS, "", "", "", ""]
    assert all(answer["start"] == answer["end"] == 0 < answer["score"] for answer in answers[8:])
    assert len(answers[8]["candidates"]) == 5
    results = task.evaluate(asked, labels, pairs=contexts)
    assert results["exact_match"] == results["span_accuracy"] * 100 == 100.0


@pytest.mark.integration
def test_options(task, tmp_path):
    assert (task.stride, task.num_candidates, task.max_answer_length, task.no_answer) == (8, 5, 30, False)
    small = questions.untraced(questions.answerer(num_candidates=2, max_answer_length=1, stride=3, null_threshold=1))
    (answer,) = small.predict(["Where?"], [LONG])
    assert len(answer["candidates"]) == 2 and all(" " not in record["answer"] for record in answer["candidates"])
    assert small.stride == 3
    (usual, endless) = (questions.untraced(questions.answerer(max_answer_length=most)) for most in (30, 10**12))
    assert endless.predict(["Where?"], [LONG]) == usual.predict(["Where?"], [LONG]) and endless.max_answer_length > 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stride": 0}, "stride must be"), ({"num_candidates": 0}, "must be at least 1, and whole"),
        ({"max_answer_length": 2.5}, "'max_answer_length': 2.5"), ({"no_answer": 1}, "no_answer must be True or False"),
        ({"null_threshold": float("nan")}, "null_threshold=nan"), ({"null_threshold": "0"}, "null_threshold='0'"),
        ({"null_threshold": float("inf")}, "null_threshold=inf"), ({"num_candidates": 1001}, "at most 1000"),
        ({"max_windows": 0}, "max_windows must be at least 1"), ({"max_windows": 1.5}, "'max_windows': 1.5"),
        ({"max_length": 6}, "max_length=6 leaves 3 tokens"), ({"labels": ["a"]}, "labels belongs to task="),
    ],
)  # fmt: skip
def test_options_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        questions.answerer(**options)


def test_what_predict_and_fit_refuse(task):
    with pytest.raises(ValueError, match="takes pairs: received texts alone"):
        task.predict(QUESTIONS)
    with pytest.raises(ValueError, match="8 texts and 2 pairs"):
        task.predict(QUESTIONS, CONTEXTS[:2])
    with pytest.raises(ValueError, match="question_answering needs labels"):
        task.fit(QUESTIONS, pairs=CONTEXTS)
    for ask in (task.fit, task.evaluate):
        with pytest.raises(ValueError, match="received questions alone"):
            ask(QUESTIONS, ANSWERS)
    with pytest.raises(ValueError, match="class_weight is for texts of one class each"):
        task.fit(QUESTIONS, ANSWERS, pairs=CONTEXTS, class_weight={"a": 1.0})


@pytest.mark.integration
def test_a_saved_task_comes_back(task, tmp_path):
    task.save(tmp_path / "saved")
    back = questions.untraced(zoo.load(tmp_path / "saved"))
    assert (back.name, back.max_length, back.stride) == ("question_answering", 24, 8)
    check_same(back.predict(QUESTIONS, CONTEXTS), task.predict(QUESTIONS, CONTEXTS))
    other = zoo.load(tmp_path / "saved", stride=3, no_answer=True)
    assert (other.stride, other.no_answer) == (3, True)
    with pytest.raises(ValueError, match="no_answer belongs to task='question_answering'"):
        zoo.load(tmp_path / "saved", "classification", labels=2, no_answer=True)


@pytest.mark.integration
def test_adapters(task, tmp_path):
    task.save(tmp_path / "saved")
    small = questions.untraced(zoo.load(tmp_path / "saved", lora_rank=2, seed=0))
    small.fit(QUESTIONS, ANSWERS, **(FIT | {"epochs": 1}), **tiny.EAGER)
    assert any(variable.path == "qa_outputs/kernel" for variable in small.model.trainable_variables)
    expected = small.predict(QUESTIONS, CONTEXTS)
    small.save(tmp_path / "merged")
    check_same(questions.untraced(zoo.load(tmp_path / "merged")).predict(QUESTIONS, CONTEXTS), expected)


def weights_after(settings, **options) -> list[np.ndarray]:
    task = questions.answerer(**options)
    fit = {"pairs": CONTEXTS, "epochs": 2, "learning_rate": 1e-3, "verbose": 0}
    task.fit(QUESTIONS, [*ANSWERS[:-1], None], **fit, **settings, **tiny.EAGER)
    return tiny.weights(task)


@pytest.mark.integration
def test_accumulated_batches_are_one_batch():
    whole = weights_after({"batch_size": 8})
    parts = weights_after({"batch_size": 4, "accumulation_steps": 2})
    others = weights_after({"batch_size": 8}, outputs=["hidden_states"])
    for one, two, three in zip(whole, parts, others, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
        np.testing.assert_allclose(one, three, atol=1e-5)


@pytest.mark.integration
def test_optional_outputs():
    task = questions.untraced(questions.answerer(outputs=["attention_scores"]))
    task.fit(QUESTIONS, ANSWERS, **(FIT | {"epochs": 1}), **tiny.EAGER)
    assert {"logits_span_accuracy", "exact_match"} < task.evaluate(QUESTIONS, ANSWERS, pairs=CONTEXTS).keys()
    assert task.predict(QUESTIONS[:1], CONTEXTS[:1])[0]["answer"] in CONTEXTS[0]


def by_transformers(folder, question, context):
    """The best span by the steps of transformers' examples, of a context that fits: text, place and score."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    encoded = tokenizer(question, context, return_offsets_mapping=True, return_tensors="pt")
    (offsets,) = encoded.pop("offset_mapping").tolist()
    with torch.no_grad():
        output = model(**encoded)
    own = [part == 1 or place == 0 for place, part in enumerate(encoded.sequence_ids(0))]
    starts, ends = (torch.softmax(logits[0].masked_fill(~torch.tensor(own), -1e9), 0) for logits in output[:2])
    spans = [
        (float(starts[first] * ends[last]), first, last)
        for first in range(1, len(own))
        for last in range(first, min(first + 30, len(own)))
        if own[first] and own[last]
    ]
    score, first, last = max(spans)
    place = offsets[first][0], offsets[last][1]
    return output, (context[slice(*place)], *place), score


@pytest.mark.parity
def test_logits_and_answers_are_those_of_transformers(tmp_path):
    """Of the same folder, and of one that transformers has saved."""
    task = questions.untraced(questions.answerer())
    random = np.random.default_rng(0)
    for weight in task.model.weights:  # no bias is zero, and no norm is one
        weight.assign(np.array(weight) + random.normal(0, 0.3, weight.shape))
    task.save(tmp_path / "saved")
    for question, context in [*zip(QUESTIONS, CONTEXTS, strict=True), ("Where?", "He sat, in Rome; Ann's in Bonn.")]:
        output, place, score = by_transformers(tmp_path / "saved", question, context)
        logits = np.array(task.model(next(iter(task.dataset([question], pairs=[context], buckets=())))[0])["logits"])[0]
        length = output.start_logits.shape[1]
        for side, theirs in enumerate((output.start_logits, output.end_logits)):
            np.testing.assert_allclose(logits[:length, side], theirs[0].numpy(), atol=1e-5)
        (answer,) = task.predict([question], [context])
        assert (answer["answer"], answer["start"], answer["end"]) == place
        assert answer["score"] == pytest.approx(score, abs=1e-5)

    import transformers

    model = transformers.AutoModelForQuestionAnswering.from_pretrained(tmp_path / "saved")
    assert type(model).__name__ == "BertForQuestionAnswering"
    model.save_pretrained(tmp_path / "theirs")
    task.tokenizer.save(tmp_path / "theirs")
    back = questions.untraced(zoo.load(tmp_path / "theirs"))
    assert back.name == "question_answering"
    check_same(back.predict(QUESTIONS, CONTEXTS), task.predict(QUESTIONS, CONTEXTS))


JAX = """
import questions
from questions import ANSWERS, CONTEXTS, FIT, QUESTIONS, TEXTS

task = questions.answerer()
history = task.fit(QUESTIONS, ANSWERS, validation_data=(QUESTIONS, ANSWERS, CONTEXTS), **FIT).history
assert history["span_accuracy"][-1] == history["val_span_accuracy"][-1] == 1.0, history
answers = task.predict([*QUESTIONS, "", "Where is it? " * 30], [*CONTEXTS, "Ann", "He sat. " * 30], batch_size=5)
assert [answer["answer"] for answer in answers[:8]] == TEXTS
assert answers[8]["answer"] == "" and answers[8]["candidates"] == []
assert answers[9]["truncated"] and len(answers[9]["candidates"]) == 5
assert task.evaluate(QUESTIONS, ANSWERS, pairs=CONTEXTS)["exact_match"] == 100.0
print("done")
"""


@pytest.mark.slow
def test_without_tensorflow():
    assert run_on_jax(JAX) == "done\n"


@pytest.mark.integration
def test_a_model_without_segments():
    """As DistilBERT and RoBERTa are: which text a token is of comes from the tokenizer."""
    keras.utils.set_random_seed(0)
    config = questions.answerer().config.replace(num_segments=0)
    task = Task("question_answering", config, questions.tokenizer())
    task.fit(QUESTIONS, ANSWERS, **questions.FIT)
    assert "segment_ids" not in task.model.input
    assert [answer["answer"] for answer in questions.untraced(task).predict(QUESTIONS, CONTEXTS)] == TEXTS
