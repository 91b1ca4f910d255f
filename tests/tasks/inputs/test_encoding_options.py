"""What a tokenizer's folder says of cutting and of segments, in every task: learning, predictions and exports."""

from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from truncating import TEXTS, WORDS, write

from keras_transformers.families import bert, gpt2, transformer
from keras_transformers.generation import python_text
from keras_transformers.generation.serving import graph_text
from keras_transformers.tasks import Task
from keras_transformers.tasks.inputs.context_windows import Windows, encode_windows
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.tasks.tokens.token_targets import Unit, span_targets, units_of, word_targets
from keras_transformers.tasks.tokens.word_source import check_whole
from keras_transformers.text.encoded import Encoded
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

BIO = TokenLabels(("O", "B-x", "I-x"))
LABELS = {"labels": ["no", "yes"]}
JOINING = {
    "classification": (LABELS, ["a draw"], ["in oslo"], [0]),
    "ranking": ({}, ["a draw"], ["in oslo"], [1]),
    "multiple_choice": ({}, ["a draw"], [["in oslo", "berlin"]], [0]),
    "question_answering": ({}, ["a draw"], ["in oslo"], [(3, "oslo")]),
    "pretraining": ({}, [["a draw", "in oslo"], ["we stayed", "all day"]], None, None),
}


def folder_tokenizer(tmp_path, kind: str = "wordpiece", **options) -> Tokenizer:
    return Tokenizer.from_folder(write(tmp_path, kind, **options))


def sizes(tokenizer: Tokenizer, **options) -> dict:
    options = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 16} | options
    return {"vocabulary_size": tokenizer.vocabulary_size, **options}


@pytest.mark.integration
def test_the_end_of_a_text_is_predicted_from_and_exported(tmp_path):
    left = folder_tokenizer(tmp_path, truncation_side="left", tokenizer_class="BertTokenizer")
    task = Task("classification", bert(**sizes(left, initializer_range=0.5)), left, **LABELS)
    texts = [TEXTS[0], "in a draw"]
    probabilities = [row["probabilities"]["yes"] for row in task.predict(texts)]
    ends = [row["probabilities"]["yes"] for row in task.predict([" ".join(WORDS[-14:]), "in a draw"])]
    beginning = task.predict([" ".join(WORDS[:14])])[0]["probabilities"]["yes"]
    assert probabilities == pytest.approx(ends, abs=1e-6) and abs(probabilities[0] - beginning) > 1e-4
    assert [row["truncated"] for row in task.predict(texts)] == [True, False]

    with pytest.warns(UserWarning, match="1 of 2 texts were cut"):
        inputs, _ = next(iter(task.dataset(texts, [0, 1], shuffle=False)))
    assert left.decode(inputs["token_ids"][0]) == " ".join(WORDS[-14:])

    task.export(tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures
    found = served["serving_default"](text=tf.constant(texts))
    assert found["probabilities"].numpy()[:, 1].tolist() == pytest.approx(probabilities, abs=1e-6)
    pairs = served["pair"](text=tf.constant(texts[:1]), text_pair=tf.constant(texts[:1]))["probabilities"].numpy()
    expected = task.predict(texts[:1], texts[:1])[0]["probabilities"]["yes"]
    assert pairs[0, 1] == pytest.approx(expected, abs=1e-6)
    task.save(tmp_path / "saved")
    assert Tokenizer.from_folder(tmp_path / "saved").truncation_side == "left"


def test_targets_of_words_that_are_cut_off(tmp_path):
    tokenizer = folder_tokenizer(tmp_path, truncation_side="left")
    words = ["\x07", *WORDS[:6], "\x07", "oslo"]  # a control character gives no token
    (encoded,), units = _placed(tokenizer, " ".join(words), 5)
    assert tokenizer.decode(encoded.ids) == "a draw oslo"
    found = word_targets(encoded, units, words, [1, *[0] * 4, 0, 1, 2, 1], BIO)
    assert found == ([-1, 0, 1, 1, -1], [7], 5)  # the first was cut off
    with pytest.raises(ValueError, match=r"row 0: .* and 5 of its 9 words lie before its beginning"):
        check_whole([encoded], [found], [words], 5)

    text = " ".join(WORDS[:6])
    (encoded,), units = _placed(tokenizer, text, 4)
    spans = [(0, 3, "x"), (text.index("draw"), len(text), "x")]
    assert span_targets(encoded, units, spans, BIO) == ([-1, 0, 1, -1], [], 1)


def _placed(tokenizer: Tokenizer, text: str, max_length: int) -> tuple[list[Encoded], list[Unit]]:
    """Return a text, encoded, and its units."""
    encoded = tokenizer.encode([text], max_length=max_length)
    return encoded, next(units_of(encoded, [text]))


@pytest.mark.integration
def test_a_question_keeps_its_end(tmp_path):
    tokenizer = folder_tokenizer(tmp_path, truncation_side="left")
    graph = compile_text(tokenizer.to_json())
    questions, contexts = [TEXTS[0], "ann", TEXTS[0]], ["in oslo", TEXTS[0], " ".join(reversed(WORDS))]
    windows = Windows(15, 2, 12)
    encoded, cut = encode_windows(tokenizer, questions, contexts, windows)
    columns = [tf.constant(column) for column in (questions, contexts)]
    found = graph.encode_windows(*columns, max_length=15, stride=2, most_question=windows.question_length)
    rows = [
        row[mask].tolist() for row, mask in zip(found["token_ids"].numpy(), found["padding_mask"].numpy(), strict=True)
    ]
    assert [row.ids for row in encoded] == rows and cut == found["truncated"].numpy().tolist() == [True, False, True]
    for row, one in zip(found["offsets"].numpy(), encoded, strict=True):
        in_context = np.array(one.sequence_ids) == 1
        assert row[: len(one.ids)][in_context].tolist() == np.array(one.offsets)[in_context].tolist()
    assert tokenizer.decode(encoded[0].ids) == f"{' '.join(WORDS[-10:])} in oslo"
    assert tokenizer.decode(encoded[1].ids).endswith(" ".join(WORDS[-11:]))  # windows go from the end on
    assert encoded[-1].offsets[-2][1] < encoded[-2].offsets[-2][1]


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_prompt_keeps_its_end_and_a_source_the_end_of_its_side(tmp_path, side):
    tokenizer = folder_tokenizer(tmp_path, truncation_side=side)
    graph, length, error = compile_text(tokenizer.to_json()), np.array([4], np.int32), tf.constant([""])
    config = gpt2(**sizes(tokenizer), bos_id=2, eos_ids=[3])
    read = [
        python_text.PromptReader(config, tokenizer, 16)([TEXTS[0]], length),
        graph_text.PromptReader(config, graph, 16)(tf.constant([TEXTS[0]]), tf.constant(length), error),
    ]
    for found in read:
        assert tokenizer.decode(np.array(found.token_ids)[0]) == " ".join(WORDS[-10:]) and bool(found.truncated[0])

    config = transformer(**sizes(tokenizer), eos_ids=[3])
    read = [
        python_text.SourceReader(config, tokenizer, 16)([TEXTS[0]], length),
        graph_text.SourceReader(config, graph, 16)(tf.constant([TEXTS[0]]), tf.constant(length), error),
    ]
    for found in read:
        part = WORDS[-14:] if side == "left" else WORDS[:14]
        ids = np.array(found.source["encoder_token_ids"])[0]
        assert tokenizer.decode(ids) == " ".join(part) and bool(found.truncated[0])


@pytest.mark.integration
@pytest.mark.parametrize("name", JOINING)
def test_a_task_of_pairs_learns_without_types_and_says_so_once(tmp_path, name):
    options, texts, pairs, labels = JOINING[name]
    tokenizer = folder_tokenizer(tmp_path)
    config = bert(**sizes(tokenizer))
    with pytest.warns(UserWarning, match='both texts of a pair get segment 0.*"model_input_names": ') as said:
        task = Task(name, config, tokenizer, **options)
    assert len(said) == 1 and "its class, TokenizersBackend, gives no token_type_ids" in str(said[0].message)
    inputs = next(iter(task.dataset(texts, labels, pairs=pairs)))[0]
    assert not inputs["segment_ids"].numpy().any()

    (tmp_path / "typed").mkdir()
    (tmp_path / "none").mkdir()
    named = ["input_ids", "token_type_ids", "attention_mask"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        typed = Task(name, config, folder_tokenizer(tmp_path / "typed", model_input_names=named), **options)
        Task(name, config, folder_tokenizer(tmp_path / "none", model_input_names=named[::2]), **options)
        Task("masked_lm", config, tokenizer)  # joins no texts
        Task(name, bert(**sizes(tokenizer), num_segments=1), tokenizer, **options)
    inputs = next(iter(typed.dataset(texts, labels, pairs=pairs)))[0]
    assert inputs["segment_ids"].numpy().any()


@pytest.mark.integration
def test_a_saved_task_says_whether_tokens_have_types(tmp_path):
    import zoo

    for number, names in enumerate((["input_ids", "token_type_ids"], ["input_ids"], ...)):
        (tmp_path / f"old{number}").mkdir()
        keras.utils.set_random_seed(0)
        tokenizer = folder_tokenizer(tmp_path / f"old{number}", model_input_names=names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if names is ... else "error")
            task = Task("classification", bert(**sizes(tokenizer, initializer_range=0.5)), tokenizer, **LABELS)
        task.save(tmp_path / f"new{number}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = zoo.load(tmp_path / f"new{number}")
        assert again.tokenizer.has_types == tokenizer.has_types == (number == 0)
        assert again.predict(["a draw"], ["in oslo"]) == task.predict(["a draw"], ["in oslo"])
