"""From text to another text by an encoder and a decoder: trained, in process, as a stream, saved and exported."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tensorflow as tf
from translating import FIRST, characters, ids_of, make_sources, seq2seq_lm, text_of

import zoo
from keras_transformers.checkpoints.files.atomic_folder import check_target
from keras_transformers.families import marian, mbart, t5, transformer
from keras_transformers.generation.decoding import Decoding
from keras_transformers.generation.serving.service import CACHE_INCREMENT
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def task():
    return seq2seq_lm()


@pytest.fixture(scope="module")
def sources(task):
    return [*make_sources(task, 3), text_of([7] * 100)]


def whole_passes(task, source: str, tokens: int) -> list[int]:
    """What the model writes, by a pass over all tokens for each new one."""
    (encoded,) = task.tokenizer.encode([source], max_length=task.max_length)
    ids = [task.config.decoder_start_id]
    source = {"encoder_token_ids": np.array([encoded.ids]), "encoder_padding_mask": np.ones((1, len(encoded.ids)))}
    while len(ids) <= tokens:
        target = {"token_ids": np.array([ids]), "padding_mask": np.ones((1, len(ids)))}
        ids.append(int(np.argmax(task.model(source | target)["logits"][0, -1])))
        if ids[-1] in task.config.eos_ids:
            break
    return ids[1:]


def same(answer: dict, other: dict) -> None:
    """Equal, up to rounding of the scores."""
    np.testing.assert_allclose(answer["score"], other["score"], atol=1e-3)
    assert {**answer, "score": 0} == {**other, "score": 0}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:\\d+ of \\d+")
def test_greedy_beyond_the_first_cache(task, sources):
    """Longer than the cache is at first, so that it grows twice."""
    new = 2 * CACHE_INCREMENT - 5
    options = {"min_new_tokens": new, "max_new_tokens": new}
    rows = task.predict(sources, **options)
    assert [row["num_tokens"] for row in rows] == [new] * 4
    bias = {task.config.eos_ids[0]: float("-inf")}
    for row, other in zip(rows, task.predict(sources, max_new_tokens=new, token_bias=bias), strict=True):
        same(row, other)
    for source, text in zip(sources, task.generate(sources, max_new_tokens=20), strict=True):
        expected = [number for number in whole_passes(task, source, 20) if number not in (0, 2)]
        assert ids_of(text) == expected and len(expected) > 3
    assert [row["truncated"] for row in rows] == [False] * 3 + [True]


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_sequences": 2, "coverage_penalty": 0.3}], ids=str)
def test_a_row_does_not_depend_on_its_neighbours(task, sources, options):
    together = task.predict(sources, stop=[text_of([9])], max_new_tokens=[9, 5, 40, 7], **options)
    for source, row, new in zip(sources, together, [9, 5, 40, 7], strict=True):
        same(row, *task.predict([source], stop=[text_of([9])], max_new_tokens=new, **options))


@pytest.mark.integration
def test_coverage_changes_the_best_beam(task, sources):
    """A hypothesis that leaves tokens of its source alone loses by it."""
    options = {"num_beams": 4, "num_sequences": 4, "max_new_tokens": 12}
    plain, covering = (task.predict(sources[:3], **options, coverage_penalty=value) for value in (0.0, 50.0))
    assert all(more["score"][0] < row["score"][0] for more, row in zip(covering, plain, strict=True))
    for source, row in zip(sources, covering, strict=False):
        targets = row["generated_text"]
        attended = [np.minimum(a.scores[: n].sum(0), 1) for a, n in zip(task.align([source] * 4, targets),
                    row["num_tokens"], strict=True) if len(ids_of(targets[0])) == n - 1]  # fmt: skip
        lost = [-np.log(np.maximum(x, 1e-9)).sum() for x in attended]
        assert len(lost) < 2 or lost[0] <= max(lost)


@pytest.mark.integration
def test_text_that_cannot_be_answered(task, sources):
    blanks = ["", " ", "\t\v\r\n", "\x1c\x1f\x85", "\u00a0\u2028\u3000"]
    rows = task.predict([*blanks, sources[0], sources[0]], max_new_tokens=[5] * len(blanks) + [64, 5])
    assert {row["error"].partition(":")[0] for row in rows[:-2]} == {"The text is blank"}
    assert rows[-2]["error"].startswith("max_new_tokens must be less than 64") and rows[-1]["error"] == ""
    assert [row["generated_text"] for row in rows[:-1]] == [""] * len(rows[:-1])
    blank, answer = task.predict(["", sources[0]], num_beams=2, num_sequences=2, max_new_tokens=5)
    assert blank["score"] == [0, 0] and blank["num_tokens"] == [0, 0] and answer["score"][0] < 0
    with pytest.raises(ValueError, match="text 1 cannot be answered: max_new_tokens must be less than 64"):
        task.generate(["", sources[0]], max_new_tokens=64)


@pytest.mark.integration
def test_a_blank_text_among_others_gives_an_empty_one(task, sources):
    """As with Marian and OpenNMT; nothing is left out, and the others are as they would be alone."""
    texts, options = [sources[0], " \u3000", sources[1], ""], {"max_new_tokens": 5}
    alone = task.generate([sources[0], sources[1]], **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert task.generate(texts, **options) == [alone[0], "", alone[1], ""]
        assert task.generate(["", sources[0]], num_sequences=2, num_beams=2, **options)[0] == ["", ""]
        assert [*task.stream("", **options)] == []


@pytest.mark.integration
def test_what_is_cut_is_told(task, sources):
    with pytest.warns(UserWarning, match="1 of 2 texts were cut to max_length=64 tokens") as told:
        task.generate([sources[3], sources[0]], max_new_tokens=2)
    assert len(told) == 1
    with pytest.warns(UserWarning, match="1 of 1 texts were cut to max_length=64 tokens"):
        assert "".join(task.stream(sources[3], max_new_tokens=2)) != ""


@pytest.mark.integration
@pytest.mark.parametrize("num_beams", [1, 2])
def test_no_rows(task, num_beams):
    request, none = task.parts.answers.request(0, num_beams=num_beams), tf.constant([], tf.string)
    answer = task.service.run(none, none, 1, tf.nest.map_structure(tf.constant, request), Decoding(num_beams))
    assert {len(column) for column in answer.values()} == {0}


@pytest.mark.integration
def test_stop_strings_and_streams(task, sources):
    (text,) = task.generate(sources[:1], max_new_tokens=40, min_new_tokens=40)
    stop = text[3:5]
    assert task.generate(sources[:1], max_new_tokens=40, min_new_tokens=40, stop=[stop]) == [text[: text.index(stop)]]
    pieces = list(task.stream(sources[0], max_new_tokens=40, min_new_tokens=40))
    assert "".join(pieces) == text and len(pieces) > 20


def test_alignments(task, sources):
    (alignment,) = task.align(sources[:1], [text_of([8, 9, 10])])
    assert alignment.target_tokens == [(0, 1), (1, 2), (2, 3), (0, 0)]
    assert len(alignment.source_tokens) == len(sources[0]) + 1
    assert alignment.scores.shape == (4, len(sources[0]) + 1)
    np.testing.assert_allclose(alignment.scores.sum(1), 1, rtol=1e-5)
    assert task.align([], []) == []


ENGLISH = ["the cat danced", "the cat sat", "a dog ran", "the dog sat"]
GERMAN = ["die Katze tanzte", "die Katze sass", "ein Hund lief", "der Hund sass"]


@pytest.mark.integration
def test_two_vocabularies_learn_and_come_back(tmp_path):
    """Trained on four pairs it knows them by heart; saved, loaded and exported it still does."""
    english = Tokenizer.train(ENGLISH, 30, model="unigram")
    german = Tokenizer.train(GERMAN, 35, model="unigram")
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 32, "max_length": 24, "dropout": 0.0}
    ids = {"pad_id": german.pad_id, "decoder_start_id": german.pad_id, "eos_ids": [german.eos_id]}
    config = transformer(
        german.vocabulary_size, **sizes, **ids, encoder_vocabulary_size=english.vocabulary_size, tie_embeddings=True
    )
    task = Task("seq2seq_lm", config, english, target_tokenizer=german, generation={"num_beams": 2})
    options = {"weight_decay": 0.0, "optimizer_options": {"beta_2": 0.98, "epsilon": 1e-9}}  # the paper's
    task.fit(ENGLISH, GERMAN, epochs=80, batch_size=4, learning_rate=1e-2, verbose=0, **options)
    assert task.model.optimizer.beta_2 == 0.98 and task.model.optimizer.epsilon == 1e-9
    assert task.evaluate(ENGLISH, GERMAN)["accuracy"] == 1.0
    assert task.generate(ENGLISH) == GERMAN == task.generate(ENGLISH, stop=[" die"])  # no text begins with a space
    assert task.generate(ENGLISH[:1], stop=[" K"]) == ["die"]
    task.save(tmp_path / "saved")
    again = zoo.load(tmp_path / "saved")
    assert again.name == "seq2seq_lm" and again.generation == {"num_beams": 2}
    assert again.generate(ENGLISH) == GERMAN
    again.export(tmp_path / "served" / "1")
    signatures = tf.saved_model.load(str(tmp_path / "served" / "1")).signatures
    assert sorted(signatures["serving_default"].structured_input_signature[1]) == ["text"]
    answer = signatures["serving_default"](text=tf.constant([*ENGLISH, ""]))
    assert [text.decode() for text in answer["generated_text"].numpy()] == [*GERMAN, ""]
    assert answer["error"].numpy()[-1].startswith(b"The text is blank")
    assert "coverage_penalty" in signatures["generate"].structured_input_signature[1]


@pytest.mark.integration
def test_the_larger_vocabulary_may_be_the_sources():
    english = Tokenizer.train(ENGLISH + GERMAN, 50, model="unigram")
    german = Tokenizer.train(GERMAN, 35, model="unigram")
    source, target = english.vocabulary_size, german.vocabulary_size
    assert source > target
    options = {"eos_ids": [german.eos_id], "pad_id": 0, "max_length": 24}
    config = marian(target, 1, 2, 8, **options, encoder_vocabulary_size=source)
    task = Task("seq2seq_lm", config, english, target_tokenizer=german)
    assert len(task.generate(ENGLISH, max_new_tokens=3)) == len(ENGLISH)
    with pytest.raises(ValueError, match=f"the tokenizer has {source} tokens, the model {source - 1}"):
        Task("seq2seq_lm", config.replace(encoder_vocabulary_size=source - 1), english, target_tokenizer=german)
    assert marian(50, 1, 2, 8, encoder_vocabulary_size=40).pad_id == marian(40, 1, 2, 8).pad_id == 39
    with pytest.raises(ValueError, match=r"pad_id is a token of both sides: expected one in \[0, 40\)"):
        marian(50, 1, 2, 8, encoder_vocabulary_size=40, pad_id=49)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("family", "options", "is_marian"),
    [(marian, {}, True), (transformer, {"position_layout": "halves"}, True), (transformer, {}, False)],
)
def test_one_vocabulary_for_both_sides(tmp_path, family, options, is_marian):
    """A folder in Marian's form has Marian's files."""
    tokenizer = Tokenizer.train(ENGLISH + GERMAN, 50, model="unigram")
    config = family(50, 1, 2, 8, eos_ids=[tokenizer.eos_id], pad_id=0, max_length=24, **options)
    task = Task("seq2seq_lm", config, tokenizer)
    task.save(tmp_path / "saved")
    check_target(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert ({"source.spm", "target.spm", "vocab.json"} <= names) == is_marian == ("source.spm" in names)
    again = zoo.load(tmp_path / "saved")
    assert again.tokenizer is again.target_tokenizer and again.tokenizer.to_json() == tokenizer.to_json()
    ids, mask = np.arange(1, 11)[None], np.ones((1, 10), "int32")
    inputs = {
        f"{side}{name}": x for side in ("", "encoder_") for name, x in [("token_ids", ids), ("padding_mask", mask)]
    }
    np.testing.assert_allclose(again.model(inputs)["logits"], task.model(inputs)["logits"], atol=1e-5)
    if family is marian:
        assert again.generate(ENGLISH, max_new_tokens=5) == task.generate(ENGLISH, max_new_tokens=5)


def test_what_is_refused(task, sources):
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        task.dataset(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="needs labels"):
        task.fit(["a"])
    with pytest.raises(ValueError, match="0 pairs, which is none"):
        task.dataset([], [])
    with pytest.raises(ValueError, match="zip them with the texts"):
        task.dataset(tf.data.Dataset.from_tensors(("a", "b")), ["c"])
    with pytest.raises(ValueError, match=r"unknown options.*coverage_penalty is for beams"):
        task.generate(sources, coverage_penalty=0.1)
    with pytest.raises(ValueError, match=r"num_beams.*at least 1"):
        task.generate(sources, num_beams=0)
    small = transformer(30, 1, 2, 8, eos_ids=[2])
    with pytest.raises(ValueError, match="the target's tokenizer has 40 tokens, the decoder 30"):
        Task("seq2seq_lm", small, characters(small), target_tokenizer=task.tokenizer)
    with pytest.raises(ValueError, match="no token that ends texts"):
        Task("seq2seq_lm", transformer(40, 1, 2, 8), task.tokenizer)


def test_batches_by_tokens(task):
    pairs = [text_of([5 + i % 30] * (1 + i % 17)) for i in range(60)]
    dataset = task.dataset(pairs, pairs[::-1], batch_tokens=64)
    sizes = [(inputs["token_ids"].shape, inputs["encoder_token_ids"].shape) for inputs, _ in dataset]
    assert sum(target[0] for target, _ in sizes) == 60
    assert all(target[0] * max(target[1], source[1]) <= 64 for target, source in sizes)
    assert FIRST


@pytest.mark.integration
def test_every_dropout_of_t5(tmp_path):
    """It has one rate for all in its file."""
    tokenizer = Tokenizer.train(ENGLISH, 40, model="unigram")
    off = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    Task("seq2seq_lm", t5(40, 1, 2, 8, max_length=24, **off), tokenizer).save(tmp_path / "one")
    task = zoo.load(tmp_path / "one", dropout=0.2)
    task.save(tmp_path / "two")
    config = zoo.load(tmp_path / "two").config
    assert [getattr(config, name) for name in off] == [0.2] * 3


@pytest.mark.integration
def test_t5_takes_longer_texts_where_asked(tmp_path):
    """Its positions are distances: the file says what it was trained on, which stays the default."""
    tokenizer = Tokenizer.train(ENGLISH, 40, model="unigram")
    Task("seq2seq_lm", t5(40, 1, 2, 8, max_length=24), tokenizer).save(tmp_path / "one")
    assert zoo.load(tmp_path / "one").max_length == 24
    task, long = zoo.load(tmp_path / "one", max_length=60), " ".join(ENGLISH * 4)[:50]
    short, longer = task.predict(["the cat", long], max_new_tokens=70, min_new_tokens=[1, 70])
    assert (short["error"], longer["error"], longer["truncated"], longer["num_tokens"]) == ("", "", False, 70)
    assert task.predict([long], max_new_tokens=2**16)[0]["error"].startswith("max_new_tokens must be less than 65536")
    task.save(tmp_path / "two")
    assert zoo.load(tmp_path / "two").max_length == 60
    Task("seq2seq_lm", transformer(40, 1, 2, 8, max_length=24, eos_ids=[tokenizer.eos_id]), tokenizer).save(
        tmp_path / "bounded"
    )
    with pytest.raises(ValueError, match=r"max_length must be in \[4, 24\]"):
        zoo.load(tmp_path / "bounded", max_length=60)


def test_training_needs_a_token_to_begin_with():
    tokenizer = Tokenizer.train(ENGLISH, 40, model="unigram")
    task = Task("seq2seq_lm", mbart(40, 1, 2, 8, max_length=24), tokenizer)
    with pytest.raises(ValueError, match="no token to begin with"):
        task.fit(ENGLISH, ENGLISH)
