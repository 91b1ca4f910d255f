import gzip
import struct

import keras
import numpy as np
import pytest

from keras_transformers.checkpoints import word_vectors
from keras_transformers.checkpoints.word_vectors import Coverage, fill_embedding, read_word_vectors

VECTORS = {"the": [0.5, 1.0, -2.0], "Paris": [1.5, 0.0, 3.0], "straße": [0.0, 9.0, 1.0]}


def glove(path, vectors=VECTORS):
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in vectors.items()), encoding="utf-8")


def word2vec_text(path, vectors=VECTORS):
    rows = "".join(f"{word} {' '.join(map(str, row))} \n" for word, row in vectors.items())
    path.write_text(f"{len(vectors)} 3\n{rows}", encoding="utf-8")


def word2vec_binary(path, vectors=VECTORS, end=b"\n"):
    rows = [word.encode() + b" " + struct.pack("<3f", *row) + end for word, row in vectors.items()]
    path.write_bytes(f"{len(vectors)} 3\n".encode() + b"".join(rows))


@pytest.mark.parametrize("write", [glove, word2vec_text, word2vec_binary, lambda p: word2vec_binary(p, end=b"")])
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_every_format_gives_the_same_vectors(tmp_path, monkeypatch, write, chunk):
    monkeypatch.setattr(word_vectors, "CHUNK", chunk + 20)
    write(tmp_path / "vectors")
    assert {word: vector.tolist() for word, vector in read_word_vectors(tmp_path / "vectors")} == VECTORS


def test_gzip_and_words_with_spaces(tmp_path):
    glove(tmp_path / "a", {"the": [1, 2, 3], ". . .": [4, 5, 6]})
    (tmp_path / "a.gz").write_bytes(gzip.compress((tmp_path / "a").read_bytes()))
    assert [word for word, _ in read_word_vectors(tmp_path / "a.gz")] == ["the", ". . ."]


def test_binary_whose_floats_hold_newlines_and_spaces(tmp_path):
    tricky = struct.unpack("<3f", b"\n \n 1 2 \n3 4")
    word2vec_binary(tmp_path / "a", {"x": tricky, "y": tricky})
    assert [vector.tolist() for _, vector in read_word_vectors(tmp_path / "a")] == [list(tricky)] * 2


def test_fill_prefers_the_exact_spelling_and_keeps_the_rest(tmp_path):
    glove(tmp_path / "a", {"The": [9, 9, 9], "the": [1, 2, 3], "PARIS": [4, 5, 6], "paris": [7, 8, 9]})
    embeddings = keras.Variable(np.full((5, 3), -1.0, "float32"))
    coverage = fill_embedding(embeddings, ["[PAD]", "the", "THE", "Paris", "##x"], tmp_path / "a")
    assert coverage == Coverage(exact=1, lower_case=2, total=5)
    assert np.array(embeddings).tolist() == [[-1] * 3, [1, 2, 3], [9, 9, 9], [4, 5, 6], [-1] * 3]


@pytest.mark.parametrize(
    ("tokens", "width", "message"),
    [(["the", "a"], 2, "width 3, but the embedding is 2 wide"), (["the"], 3, "has 2 rows.*received 1")],
)
def test_mismatches_are_errors_and_change_nothing(tmp_path, tokens, width, message):
    glove(tmp_path / "a")
    embeddings = keras.Variable(np.zeros((2, width), "float32"))
    with pytest.raises(ValueError, match=message):
        fill_embedding(embeddings, tokens, tmp_path / "a")
    assert not np.array(embeddings).any()


@pytest.mark.parametrize("write", [word2vec_text, word2vec_binary])
def test_a_cut_file_is_an_error(tmp_path, write):
    write(tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(whole[:-20])
    with pytest.raises(ValueError, match=r"announces 3 vectors|3 numbers"):
        list(read_word_vectors(tmp_path / "a"))


@pytest.mark.parametrize("text", ["the 1 2\ncat 1 x\n", "the 1 2\ncat 1\n", "the\ncat\n", "3 2\n\n\n\n"])
def test_what_is_not_a_vector_is_an_error(tmp_path, text):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ValueError, match=r"expected a word and|announces"):
        list(read_word_vectors(tmp_path / "a"))


def test_word2vec_text_that_begins_with_a_word_with_spaces(tmp_path):
    vectors = {"New York": [0.5, 1.0, -2.0], **VECTORS}
    word2vec_text(tmp_path / "a", vectors)
    assert {word: vector.tolist() for word, vector in read_word_vectors(tmp_path / "a")} == vectors
