from __future__ import annotations

import pytest
import tensorflow as tf
import tiny
from family_case import SIZES
from family_cases import ENCODERS
from tiny import DOCUMENTS

from keras_transformers import Task


@pytest.mark.integration
def test_documents_in_lists_or_in_a_file(tmp_path):
    task = tiny.pretraining()
    file = tmp_path / "books.txt"
    file.write_text("= One =\n" + "\n".join(DOCUMENTS[0]) + "\n\n" + "\n".join(DOCUMENTS[1]) + "\n")
    from_file, from_lists = (next(iter(task.dataset(source, seed=3))) for source in (file, DOCUMENTS))
    tf.nest.map_structure(lambda a, b: tf.debugging.assert_equal(a, b), from_file, from_lists)
    assert set(from_lists[1]) == {"masked_lm_logits", "next_sentence_logits"}


def test_errors(tmp_path):
    task = tiny.pretraining()
    for arguments, message in [
        (("no such file",), "there is no text file"),
        ((DOCUMENTS, [0, 1]), "leave labels"),
        ((DOCUMENTS[:1],), "at least 2"),
        ((tf.data.Dataset.from_tensor_slices(["a"]),), "documents in memory"),
    ]:
        with pytest.raises(ValueError, match=message):
            task.dataset(*arguments)


@pytest.mark.integration
def test_fit_learns_and_fills():
    task = tiny.pretraining()
    history = task.fit(DOCUMENTS * 4, **tiny.FIT).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    assert set(task.evaluate(DOCUMENTS)) == {
        "masked_lm_logits_accuracy",
        "masked_lm_logits_perplexity",
        "next_sentence_logits_accuracy",
    }
    assert len(task.predict(["a [MASK] day"])[0]["fills"]) == 1


@pytest.mark.integration(quick=["bert"])
@pytest.mark.parametrize("family", ENCODERS)
def test_every_family_tells_whether_sentences_follow(family):
    """Whatever its classifier reads: the first token, the mean of the tokens, or each token."""
    configure, own = ENCODERS[family]
    tokenizer = tiny.tokenizer()
    config = configure(**SIZES | own | {"vocabulary_size": tokenizer.vocabulary_size})
    outputs = Task("pretraining", config, tokenizer).model.output
    assert outputs["next_sentence_logits"].shape == (None, 2)
