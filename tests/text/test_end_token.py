import json

import pytest
import tokenizers
from tokenizers import processors

from keras_transformers.text.end_token import tokens_around, with_end_token, without_end_tokens
from keras_transformers.text.tokenizer import Tokenizer

BOS, END = "<s>", "<|endoftext|>"
BOS_TEMPLATE = processors.TemplateProcessing(
    single=f"{BOS} $A", pair=f"{BOS} $A {BOS}:1 $B:1", special_tokens=[(BOS, 0), (END, 1)]
)
END_TEMPLATE = processors.TemplateProcessing(single=f"$A {END}", pair=f"$A {END} $B {END}", special_tokens=[(END, 1)])


def make(post_processor):
    tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair", special_tokens=[BOS, END])
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    library.post_processor = post_processor
    return Tokenizer(library)


@pytest.mark.parametrize(
    "post_processor, begin",
    [
        (processors.ByteLevel(trim_offsets=False), []),
        (BOS_TEMPLATE, [0]),
        (processors.Sequence([processors.ByteLevel(trim_offsets=False), BOS_TEMPLATE]), [0]),
        (END_TEMPLATE, []),
    ],
)
def test_every_text_ends_with_the_token(post_processor, begin):
    plain = make(post_processor)
    first, second = (row.ids for row in plain.encode(["fine", "film"], special_tokens=False))
    tokenizer = with_end_token(plain, 1)
    (single,), (pair,) = tokenizer.encode(["fine"]), tokenizer.encode(["fine"], ["film"])
    assert single.ids == [*begin, *first, 1]
    assert pair.ids == [*begin, *first, 1, *begin, *second, 1]
    (cut,), (cut_pair,) = tokenizer.encode(["fine"], max_length=3), tokenizer.encode(["fine"], ["film"], max_length=6)
    assert len(cut.ids) == 3 and cut.ids[-1] == 1
    assert len(cut_pair.ids) == 6 and cut_pair.ids.count(1) == 2 and cut_pair.ids[-1] == 1
    assert with_end_token(tokenizer, 1).to_json() == tokenizer.to_json()
    kinds = [p["type"] for p in json.loads(tokenizer.to_json())["post_processor"].get("processors", [])]
    assert ("ByteLevel" in kinds) == ("ByteLevel" in repr(post_processor))
    assert plain.encode(["fine"])[0].ids == make(post_processor).encode(["fine"])[0].ids


def test_errors():
    with pytest.raises(ValueError, match=r"\['BertProcessing'\] add special tokens without a template"):
        with_end_token(make(processors.BertProcessing((END, 1), (BOS, 0))), 1)
    with pytest.raises(ValueError, match="No token has id 9999"):
        with_end_token(make(END_TEMPLATE), 9999)


@pytest.mark.parametrize(
    "post_processor, begin",
    [
        (END_TEMPLATE, []),
        (processors.TemplateProcessing(single=f"{BOS} $A {END}", special_tokens=[(BOS, 0), (END, 1)]), [0]),
        (processors.RobertaProcessing((END, 1), (BOS, 0)), [0]),
        (processors.BertProcessing((END, 1), (BOS, 0)), [0]),
    ],
)
def test_nothing_is_left_behind_a_text(post_processor, begin):
    tokenizer = make(post_processor)
    assert tokens_around(tokenizer) == (begin, [1])
    (plain,) = tokenizer.encode(["fine"], special_tokens=False)
    bare = without_end_tokens(tokenizer)
    assert bare.encode(["fine"])[0].ids == [*begin, *plain.ids] and bare.encode([""])[0].ids == begin
    assert tokenizer.encode(["fine"])[0].ids == [*begin, *plain.ids, 1]
    assert without_end_tokens(bare) is bare


@pytest.mark.parametrize("post_processor", [BOS_TEMPLATE, processors.ByteLevel(trim_offsets=False)])
def test_a_tokenizer_that_puts_nothing_there_stays(post_processor):
    tokenizer = make(post_processor)
    assert without_end_tokens(tokenizer) is tokenizer
