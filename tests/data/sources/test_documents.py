from types import SimpleNamespace

import pytest

from keras_transformers.data.sources.documents import Documents, read_documents, split_sentences


@pytest.mark.parametrize(
    ("paragraph", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. and Mrs. Bennet met Dr. J. Watson. He left.", ["Mr. and Mrs. Bennet met Dr. J. Watson.", "He left."]),
        ('"Stay!" she said. (He did.) Then', ['"Stay!" she said.', "(He did.)", "Then"]),
        ("etc. and so on", ["etc. and so on"]),
        ("  ", []),
    ],
)
def test_split_sentences(paragraph, sentences):
    assert split_sentences(paragraph) == sentences


def test_read_documents(tmp_path):
    path = tmp_path / "books.txt"
    path.write_text("\ufeff= A, by B =\nOne. Two.\nThree.\n\n\nFour.\n= C =\n= 3\nlast", encoding="utf-8")
    assert list(read_documents(path)) == [["One.", "Two.", "Three."], ["Four."], ["= 3", "last"]]


def test_documents_keep_sentences_and_leave_out_empty_ones():
    documents = Documents.of([[[5, 6], [], [7]], [[]], [[8]]])
    assert documents.flat.tolist() == [5, 6, 7, 8]
    assert documents.sentences == [0, 2, 3, 4]
    assert documents.starts == [0, 2, 3]


def test_encode_asks_for_no_special_tokens():
    def encode(texts, special_tokens):
        assert not special_tokens
        return [SimpleNamespace(ids=[len(text)]) for text in texts]

    documents = Documents.encode([["a", "bb"], ["ccc"]], SimpleNamespace(encode=encode))
    assert documents.flat.tolist() == [1, 2, 3]


def test_one_document_is_not_enough():
    with pytest.raises(ValueError, match=r"1 document\(s\).*at least 2"):
        Documents.of([[[5]], [[]]])
