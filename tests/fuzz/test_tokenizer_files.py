"""Hostile tokenizer.json, vocabulary files and SentencePiece models; and text graphs compiled from them."""

from __future__ import annotations

import json

import pytest
from fuzzing import fuzz
from hostile import damaged, json_files, mutated
from hypothesis import strategies as st
from spm_models import LLAMA, MODEL

from keras_transformers.text.folder.tokenizer_folder import read_max_length
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer

CORPUS = ["the cat danced on the mat", "The dog sat down: 12 cats, 3 dogs & a crab!", "ünï çödé"]
TEXTS = ["The cat  sat [MASK]\n", "", "ß\u0301\0\ufeff e\u0301 12", "a" * 300, "</s> <unk>"]
KINDS = ("wordpiece", "byte_pair", "unigram", "words", "character")


def trained(kind: str) -> Tokenizer:
    size = 300 if kind == "byte_pair" else 70
    return Tokenizer.train(CORPUS, vocabulary_size=size, model=kind, lowercase=False)


def pipelines() -> list[dict]:
    """One tokenizer.json of each kind, and of SentencePiece's."""
    made = [trained(kind) for kind in KINDS]
    return [json.loads(tokenizer.to_json()) for tokenizer in made]


@pytest.fixture(scope="module")
def spm(tmp_path_factory):
    path = tmp_path_factory.mktemp("spm") / "a.spm"
    path.write_bytes(spm_file.serialize(MODEL))
    return path


def use(tokenizer: Tokenizer) -> None:
    """All that reading a tokenizer's files leads to."""
    for rows in (tokenizer.encode(TEXTS), tokenizer.encode(TEXTS, TEXTS[::-1], max_length=7)):
        tokenizer.decode(rows[0].ids)
    assert tokenizer.is_continuation.shape == (tokenizer.vocabulary_size,)
    assert tokenizer.special_ids is not None


@pytest.mark.integration
def test_tokenizer_json(tmp_path, spm):
    whole = [*pipelines(), json.loads(Tokenizer.from_sentencepiece(spm).to_json())]

    def read_tokenizer_json(content):
        (tmp_path / "tokenizer.json").write_bytes(content)
        use(Tokenizer.from_folder(tmp_path))

    fuzz(read_tokenizer_json, st.sampled_from(whole).flatmap(json_files), examples=400)


@pytest.mark.integration
def test_text_graph(tmp_path, spm):
    whole = [*pipelines(), json.loads(Tokenizer.from_sentencepiece(spm).to_json())]

    def compile_text_graph(value):
        (tmp_path / "tokenizer.json").write_text(json.dumps(value))
        tokenizer = Tokenizer.from_folder(tmp_path)
        graph = compile_text(tokenizer.to_json(), pad_id=0)
        assert graph.tokenize(TEXTS).nrows() == len(TEXTS)

    values = st.sampled_from(whole)
    few = values.flatmap(lambda value: mutated(value, faults=1))
    fuzz(compile_text_graph, values | few | values.flatmap(mutated), examples=20)


@pytest.mark.integration
def test_vocabulary_files(tmp_path):
    """vocab.txt; vocab.json and merges.txt; tokenizer_config.json."""
    wholes = []
    for kind in ("wordpiece", "byte_pair"):
        trained(kind).save(tmp_path, max_length=16)
        (tmp_path / "tokenizer.json").unlink()
        wholes.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
        for path in tmp_path.iterdir():
            path.unlink()

    def read_vocabulary_files(contents):
        for path in tmp_path.iterdir():
            path.unlink()
        for name, content in contents.items():
            (tmp_path / name).write_bytes(content)
        use(Tokenizer.from_folder(tmp_path))
        read_max_length(tmp_path)

    @st.composite
    def contents(draw):
        whole = draw(st.sampled_from(wholes))
        name = draw(st.sampled_from(sorted(whole)))
        is_json = name.endswith(".json") and draw(st.booleans())
        faulty = draw(json_files(json.loads(whole[name])) if is_json else damaged(whole[name]))
        return whole | {name: faulty}

    fuzz(read_vocabulary_files, contents(), examples=200)


@st.composite
def spm_models(draw):
    """Messages with fields of other values, and damaged bytes."""
    pieces = list(MODEL.pieces)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(pieces) - 1))
        text = draw(st.sampled_from(["", "▁", "\0", "a" * 3000, "</s>", "<0x00>", pieces[at].text, "ab"]))
        score = draw(st.sampled_from([0.0, -1e30, 1e30, float("nan"), float("inf"), float("-inf")]))
        pieces[at] = spm_file.Piece(text, score, draw(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 2**31])))
    unknown = draw(st.integers(0, 1)) or all(piece.kind != spm_file.UNKNOWN for piece in pieces)
    pieces[0] = MODEL.pieces[0] if unknown else pieces[0]
    charsmap = draw(st.just(MODEL.charsmap) | damaged(MODEL.charsmap) | st.binary(max_size=40))
    kind = draw(st.sampled_from([0, 1, 2, 3, 4, 2**31]))
    model = spm_file.SentencePieceModel(tuple(pieces), kind, charsmap, *draw(st.tuples(*[st.booleans()] * 3)))
    content = spm_file.serialize(model)
    return draw(damaged(content)) if not draw(st.integers(0, 2)) else content


@pytest.mark.integration
def test_sentencepiece_models(tmp_path):
    """Alone, as T5's, and as Marian's."""
    vocabulary = {piece.text: i for i, piece in enumerate(MODEL.pieces)}

    def read_sentencepiece(content):
        for name in ("spiece.model", "source.spm", "target.spm"):
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / "spiece.model").write_bytes(content)
        use(Tokenizer.from_sentencepiece(tmp_path / "spiece.model"))
        use(Tokenizer.from_folder(tmp_path))

    def read_marian(contents):
        model, vocabulary = contents
        (tmp_path / "source.spm").write_bytes(spm_file.serialize(MODEL))
        (tmp_path / "target.spm").write_bytes(model)
        (tmp_path / "vocab.json").write_bytes(vocabulary)
        for tokenizer in Tokenizer.pair_from_folder(tmp_path):
            use(tokenizer)

    fuzz(read_sentencepiece, spm_models(), examples=200)
    whole = json.dumps(vocabulary).encode()
    fuzz(read_marian, st.tuples(spm_models(), st.just(whole) | json_files(vocabulary)), examples=100)


@pytest.mark.integration
def test_llama_models(tmp_path):
    """Its tokenizer.model, with the settings by which it is read."""
    said = {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_bos_token": True, "add_eos_token": False}
    whole = spm_file.serialize(LLAMA)

    def read_llama(contents):
        for name, content in zip(("tokenizer.model", "tokenizer_config.json"), contents, strict=True):
            (tmp_path / name).write_bytes(content)
        use(Tokenizer.from_folder(tmp_path))

    plain = json.dumps(said).encode()
    files = st.tuples(spm_models() | damaged(whole), st.just(plain)) | st.tuples(st.just(whole), json_files(said))
    fuzz(read_llama, files, examples=200)
