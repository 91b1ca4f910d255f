"""With stop strings a text is the decoded one, cut before the first of them: for all kinds of vocabularies."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tokenizers
from arrays import to_numpy
from keras import ops
from tokenizers import Regex, decoders, models

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import gpt2
from keras_transformers.generation.program import Program
from keras_transformers.generation.python_text import Writer as PythonWriter
from keras_transformers.generation.spelling import NOTHING_YET, Spelling, byte_table, spell, spelled, token_bytes
from keras_transformers.generation.state import Cache, State, first_state
from keras_transformers.generation.stop import NO_BYTE, StopStrings
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies import byte_pair_vocabulary
from keras_transformers.text.vocabularies.pieces import LAST_SPACE

CORPUS = ["A wärm day, a brïght day.", "日本語の文", "the cat sat on the mat, don't", "naïve 😀 smile", "one, two."]
WORDS = ["hel@@ lo wor@@ ld wor@@ ds a b , .", "ld hel@@ a@@ b@@ a b"]
GPT1 = {"<unk>": 0, "a</w>": 1, "b</w>": 2, "a": 3, "b": 4, "ab</w>": 5, ".</w>": 6}
PIECES = ["▁a", "b", "▁", "▁▁", "ab", "a▁", "a▁b", "<0x0A>", "<0x20>", "@@", "▁b", ".", "ä"]
ROWS, LENGTH = 60, 9


def pieces(*steps: Any) -> Tokenizer:
    """Tokens in the manner of SentencePiece, and special ones."""
    library = tokenizers.Tokenizer(models.BPE({piece: i for i, piece in enumerate(PIECES)}, []))
    library.add_special_tokens(["</s>", "<pad>"])
    library.decoder = decoders.Sequence(list(steps))
    return Tokenizer(library)


SPACES = (decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse())
NO_LAST_SPACE = decoders.Replace(Regex(LAST_SPACE), "")
VOCABULARIES = {
    "bytes": lambda: Tokenizer.train(CORPUS, 290, model="byte_pair"),
    "pieces": lambda: Tokenizer.train(CORPUS, 70, model="unigram"),
    "joined parts": lambda: Tokenizer.train(WORDS, model="words"),
    "continued words": lambda: Tokenizer.train(CORPUS, 90),
    "ends of words": lambda: Tokenizer(byte_pair_vocabulary.build(GPT1, [("a", "b</w>")])),
    "characters": lambda: Tokenizer.train(CORPUS, model="character", special_tokens=["</s>"]),
    "a space in front is dropped": lambda: pieces(*SPACES, decoders.Strip(" ", 1, 0)),
    "a space at either end is dropped": lambda: pieces(*SPACES, decoders.Strip(" ", 1, 0), NO_LAST_SPACE),
    "metaspace": lambda: pieces(decoders.Metaspace()),
}


@pytest.fixture(scope="module", params=VOCABULARIES)
def tokenizer(request) -> Tokenizer:
    return VOCABULARIES[request.param]()


def plain(tokenizer: Tokenizer, prompt: list[int], new: list[int], stop: list[str]) -> tuple[str, int]:
    """The text and its number of tokens, by decoding all of it after each token."""
    begin, text = tokenizer.decode(prompt), ""
    for count in range(1, len(new) + 1):
        whole = tokenizer.decode(prompt + new[:count])
        assert whole.startswith(begin) and whole.startswith(begin + text.rstrip("\ufffd"))
        text = whole[len(begin) :]
        if found := [text.find(string) for string in stop if string in text]:
            return text[: min(found)], count
    return text, len(new)


def some_stop(text: str, random: np.random.Generator) -> list[str]:
    """Parts of a text, or nearly: with spaces before and behind, and what stands nowhere."""
    stop = ["zz"]
    for _ in range(2):
        begin, length = random.integers(0, max(len(text) - 2, 1)), random.integers(1, 5)
        stop.append(random.choice(["", "", " "]) + text[begin:][:length] + random.choice(["", "", " "]))
    stop = [max(string.split("\ufffd"), key=len) for string in stop]  # what is no character cannot be looked for
    return [string for string in stop if string]


def as_arrays(stop: list[list[str]]) -> StopStrings:
    encoded = [[string.encode() for string in row] + [b""] * (3 - len(row)) for row in stop]
    longest = max(len(string) for row in encoded for string in row)
    strings = [[list(string.rjust(longest, b"\0")) for string in row] for row in encoded]
    lengths = [[len(string) for string in row] for row in encoded]
    return StopStrings(np.array(strings, "int32"), np.array(lengths, "int32"))


def grown(spelling: Spelling, config: TransformerConfig, before: Any, ids: np.ndarray, stops: StopStrings) -> State:
    """The state after tokens that are given, one after the other, until it has ended."""
    rows, length = ids.shape
    stops = keras.tree.map_structure(ops.convert_to_tensor, stops)
    prompt, ones = np.pad(np.maximum(before, 0)[:, None], ((0, 0), (0, length))), np.ones(rows, "int32")
    inputs = [ops.convert_to_tensor(array) for array in (prompt, ones, ones * (length + 1), before)]
    state = first_state(Cache([]), *inputs, stops)
    program = Program(None, None, None, config.eos_ids, token_bytes(spelling))
    for column in ids.T:
        state = program.append(state, ops.convert_to_tensor(column), stops)
    return state


def texts_of(spelling: Spelling, state: State, begins: bool) -> list[str]:
    """By Python, and on TensorFlow by its ops too."""
    contents = PythonWriter(spelling, begins)(state.written)
    if keras.backend.backend() == "tensorflow":
        from keras_transformers.generation.serving.graph_text import Writer

        assert Writer(spelling, begins)(state.written).numpy().tolist() == contents
    return [content.decode("utf-8", "replace") for content in contents]


@pytest.mark.integration(quick=["characters-beginning", "characters-continuing"])
@pytest.mark.parametrize("begins", [True, False], ids=["beginning", "continuing"])
def test_a_text_is_cut_before_its_first_stop_string(tokenizer, begins):
    random, size = np.random.default_rng(0), tokenizer.vocabulary_size
    config = gpt2(size + 3, 1, 1, 8, eos_ids=[])
    ids = random.integers(0, size, (ROWS, LENGTH)).astype("int32")
    ascii_ids = [i for i, piece in enumerate(tokenizer.token_bytes()) if piece.isascii() and piece.strip()]
    before = np.full(ROWS, NOTHING_YET) if begins else random.choice(ascii_ids, ROWS)
    prompts = [[] if begins else [int(number)] for number in before]
    full = [plain(tokenizer, prompt, row, [])[0] for prompt, row in zip(prompts, ids.tolist(), strict=True)]
    stop = [some_stop(text, random) for text in full]
    expected = [plain(tokenizer, *row) for row in zip(prompts, ids.tolist(), stop, strict=True)]
    spelling = spell(tokenizer, config, begins)
    state = grown(spelling, config, before.astype("int32"), ids, as_arrays(stop))
    assert texts_of(spelling, state, begins) == [text for text, _ in expected]
    assert to_numpy(state.num_new).tolist() == [count for _, count in expected]
    assert sum(text != whole for (text, _), whole in zip(expected, full, strict=True)) > ROWS // 4


def test_words_in_parts():
    made = VOCABULARIES["joined parts"]()
    spelled = dict(zip(map(made.id_to_token, range(made.vocabulary_size)), made.token_bytes(), strict=True))
    assert (spelled["hel@@"], spelled["lo"], spelled["</s>"]) == (b"hel", b"lo ", b"")
    spelling = spell(made, gpt2(made.vocabulary_size, 1, 1, 8), begins=True)
    assert spelling.bodies[made.token_to_id("lo")] == b"lo" and spelling.rests[made.token_to_id("lo")] == b" "
    assert len(spelling.bodies) == made.vocabulary_size  # the first word of a text is spelled like the others


def test_decoders_that_need_more_than_the_token_at_an_end():
    made = pieces(*SPACES, decoders.Strip(" ", 2, 0))
    assert spell(made, gpt2(20, 1, 1, 8), begins=False).bodies[0] == b" a"
    with pytest.raises(ValueError, match=r"'start': 2.* after Fuse.*drops at most one character"):
        spell(made, gpt2(20, 1, 1, 8), begins=True)
    with pytest.raises(ValueError, match=r"'Replace'.* after Fuse needs a whole text"):
        spell(pieces(*SPACES, decoders.Replace(" a", "")), gpt2(20, 1, 1, 8), begins=False)


def test_tables():
    assert spelled([b"a", b"<end>"], [1], 4) == [b"a", b"", b"", b""]
    np.testing.assert_array_equal(byte_table([b"", b"ab"]), [[NO_BYTE, NO_BYTE], [97, 98]])
    assert byte_table([b""]).shape == (1, 1)
