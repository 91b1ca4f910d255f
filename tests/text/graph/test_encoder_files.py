"""Encoders' vocabulary files alone: the ids and places of transformers' classes, and the same of the graph."""

from __future__ import annotations

import json
import re

import pytest
import tensorflow as tf
from family_tokenizers import SENTENCEPIECE, write_mpnet, write_sentencepiece
from spm_models import ENCODERS
from token_rows import differing, rough_texts

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = [pytest.mark.parity, pytest.mark.data]
OPTIONS = [
    {},
    {"do_lower_case": True, "keep_accents": True, "split_by_punct": True, "strip_accents": False},
    {"add_prefix_space": False, "do_lower_case": False},
    {"mask_token": {"__type": "AddedToken", "content": "MASK", "lstrip": True, "normalized": False, "special": True}},
]


def lines_of(data_dir, step: int) -> list[str]:
    """Novels, pairs of English and German, and paragraphs and questions of both languages."""
    texts = (data_dir / "gutenberg_novels" / "valid.txt").read_text(encoding="utf-8").splitlines()
    rows = (data_dir / "tatoeba_deu_eng" / "deu.txt").read_text(encoding="utf-8").splitlines()[::100]
    texts += [text for row in rows for text in row.split("\t")[:2]]
    for language in ("de", "en"):
        articles = json.loads((data_dir / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
        for paragraph in (paragraph for article in articles for paragraph in article["paragraphs"]):
            texts += [paragraph["context"], *(question["question"] for question in paragraph["qas"])]
    return texts[::step]


@pytest.fixture(scope="module", params=[*SENTENCEPIECE, "mpnet"])
def folder(request, data_dir, tmp_path_factory):
    """A folder with config.json and a vocabulary of 2,000, trained on a part of the texts."""
    path = tmp_path_factory.mktemp(request.param)
    (path / "config.json").write_text(json.dumps({"model_type": request.param}))
    if request.param == "mpnet":
        write_mpnet(path, (data_dir / "bert_vocab" / "vocab.txt").read_text(encoding="utf-8").splitlines())
    else:
        write_sentencepiece(path, request.param, lines_of(data_dir, 5), 2_000)
    return path


def without_numbers(texts: list[str]) -> list[str]:
    """Texts without a digit and a comma, for which ALBERT has a rule of its own."""
    return [text for text in texts if not re.search(r"[\d²…],", text)]


@pytest.mark.parametrize("options", OPTIONS, ids=["no options", "all", "no prefix", "flags"])
def test_rows_equal_those_of_transformers(folder, data_dir, tmp_path, options):
    transformers = pytest.importorskip("transformers")
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = json.dumps(options).replace(
        "MASK", "[MASK]" if folder.name.startswith(("albert", "deberta")) else "<mask>"
    )
    (tmp_path / "tokenizer_config.json").write_text(content)
    ours, theirs = Tokenizer.from_folder(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == ours.vocabulary_size
    texts = [*rough_texts(), *lines_of(data_dir, 20)]
    assert not differing(ours, theirs, without_numbers(texts) if folder.name.startswith("albert") else texts)

    ours.save(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_bytes((folder / "config.json").read_bytes())
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert (
        type(theirs).__name__ == json.loads((tmp_path / "saved/tokenizer_config.json").read_text())["tokenizer_class"]
    )
    assert not differing(ours, theirs, texts)
    assert not differing(ours, theirs, texts, texts[::-1])


def test_alberts_scores_are_those_of_the_converter(tmp_path):
    """Reading spiece.model alone, version 5.24 leaves the rule of commas out; its converter has it."""
    convert = pytest.importorskip("transformers.convert_slow_tokenizer")
    (tmp_path / "spiece.model").write_bytes(spm_file.serialize(ENCODERS["AlbertTokenizer"]))
    (tmp_path / "config.json").write_text('{"model_type": "albert"}')
    rows = json.loads(Tokenizer.from_folder(tmp_path).to_json())["model"]["vocab"]
    expected = convert.AlbertConverter.vocab(None, convert.SentencePieceExtractor(str(tmp_path / "spiece.model")).proto)
    assert [text for text, score in rows if score < -100] == ["1,"]
    assert [tuple(row) for row in rows] == expected


@pytest.mark.slow
def test_the_graph_gives_the_same(folder, data_dir, mismatches):
    tokenizer = Tokenizer.from_folder(folder)
    graph = compile_text(tokenizer.to_json(), tokenizer.pad_id)
    texts = [*rough_texts(), *lines_of(data_dir, 1)]
    batches = [texts[i : i + 500] for i in range(0, len(texts), 500)]
    assert not [bad for batch in batches for bad in mismatches(tokenizer, graph, batch, max_length=1_000)]
    assert not [
        bad for batch in batches[::4] for bad in mismatches(tokenizer, graph, batch, batch[::-1], max_length=48)
    ]
    rows = graph.tokenize(tf.constant(batches[0]))
    decoded = [text.decode() for text in graph.decode(rows.to_tensor(-1)).numpy()]
    assert decoded == tokenizer.decode(rows.to_list())
