from __future__ import annotations

import pytest
import tensorflow as tf
from spm_models import LETTERS, MODEL, WORDS

from keras_transformers.text.end_token import is_bare
from keras_transformers.text.folder import opennmt_tokenizers
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

TOKENS = [*opennmt_tokenizers.SPECIAL, *sorted(piece.text for piece in (*LETTERS, *WORDS))]


def made(*arguments, **options) -> Tokenizer:
    return Tokenizer(opennmt_tokenizers.build(*arguments, **options), opennmt_tokenizers.files())


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """The library's, and the same of the graph."""
    ids = tokenizer.encode([text])[0].ids
    graph = compile_text(tokenizer.to_json(), pad_id=0)
    assert graph.encode([text], max_length=16)["token_ids"].numpy().tolist() == [ids]
    assert graph.decode(tf.constant([ids])).numpy()[0].decode() == tokenizer.decode(ids)
    return ids


@pytest.mark.integration
def test_pieces_have_the_ids_of_the_vocabulary():
    tokenizer = made(TOKENS, MODEL)
    assert is_bare(tokenizer)
    ids = ids_of(tokenizer, " a  Cat z")
    assert ids == [TOKENS.index("▁a"), TOKENS.index("▁cat"), TOKENS.index("▁"), len(TOKENS)]
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 2, len(TOKENS))
    assert tokenizer.vocabulary_size == len(TOKENS) + 1
    assert tokenizer.decode(ids) == "a cat "


@pytest.mark.integration
def test_special_tokens_around_texts():
    tokenizer = made(TOKENS, MODEL, before=["<s>"], behind=["</s>"])
    assert ids_of(tokenizer, "a") == [1, TOKENS.index("▁a"), 2]
    assert not is_bare(tokenizer)


def test_without_a_model_texts_are_split_at_spaces():
    tokenizer = made([*opennmt_tokenizers.SPECIAL, "Das", "ist￭", "gut", "▁x"])
    assert ids_of(tokenizer, " Das  ist￭ neu\tgut ▁x") == [3, 4, 7, 5, 6]
    assert tokenizer.decode([3, 4, 5, 6, 2]) == "Das ist￭ gut ▁x"


def test_a_line_that_says_unknown_is_not_what_stands_for_others():
    tokenizer = made([*opennmt_tokenizers.SPECIAL, "<unk>", "a"])
    assert ids_of(tokenizer, "a b") == [4, 5]


def test_a_vocabulary_has_a_token_a_line(tmp_path):
    path = tmp_path / "source.vocab"
    path.write_bytes("<blank>\n<s>\n</s>\n▁a\n\u2028\r\nlast".encode())
    assert opennmt_tokenizers.read_vocabulary(path) == ["<blank>", "<s>", "</s>", "▁a", "\u2028", "last"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<s>\n</s>\na\n", r"begins with \['<s>', '</s>', 'a'\]: expected \['<blank>'"),
        ("", "begins with"),
        ("<blank>\n<s>\n</s>\na\nb\na\n", "line 6 of .*source.vocab is the same as line 4"),
        ("<blank>\n<s>\n</s>\n\na\n", "line 4 of .*source.vocab is empty"),
    ],
)
def test_files_that_are_no_vocabulary(text, said, tmp_path):
    (tmp_path / "source.vocab").write_text(text)
    with pytest.raises(ValueError, match=said):
        opennmt_tokenizers.read_vocabulary(tmp_path / "source.vocab")
