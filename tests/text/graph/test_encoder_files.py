"""Encoders' vocabulary files alone: the ids and places of transformers' classes, and the same of the graph."""

from __future__ import annotations

import io
import json
import random
import re

import pytest
import tensorflow as tf
from spm_models import ENCODERS

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.text.vocabularies.wordpiece_vocabulary import MPNET_TOKENS

pytestmark = [pytest.mark.parity, pytest.mark.data]
FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
KINDS = {  # the file of each type of model, and the options of its trainer
    "albert": ("spiece.model", {
        "pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]"],
        "user_defined_symbols": [*'()"-.–£€', "[MASK]"], "normalization_rule_name": "nmt_nfkc_cf",
    }),
    "camembert": ("sentencepiece.bpe.model", FAIRSEQ),
    "deberta-v2": ("spm.model", {
        "pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]", "bos_piece": "[CLS]",
        "eos_piece": "[SEP]", "unk_piece": "[UNK]",
    }),
    "mpnet": ("vocab.txt", {}),
    "xlm-roberta": ("sentencepiece.bpe.model", FAIRSEQ),
}  # fmt: skip
OPTIONS = [
    {},
    {"do_lower_case": True, "keep_accents": True, "split_by_punct": True, "strip_accents": False},
    {"add_prefix_space": False, "do_lower_case": False},
    {"mask_token": {"__type": "AddedToken", "content": "MASK", "lstrip": True, "normalized": False, "special": True}},
]
MARKS = [*"aeioun '`\"-.,()12", "\u0300", "\u0301", "\u0903", *"éﬁ²…가日©▁", "\u200d", "\r\n", "\t", "  ", "\u00a0"]
MARKS += ["<mask>", "[MASK]", "<s>", "[SEP]", "1,", "''"]


def rough_texts() -> list[str]:
    chance = random.Random(3)
    return ["", " ", *("".join(chance.choices(MARKS, k=chance.randrange(20))) for _ in range(600))]


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


@pytest.fixture(scope="module", params=KINDS)
def folder(request, data_dir, tmp_path_factory):
    """A folder with config.json and a vocabulary of 2,000, trained on a part of the texts."""
    path, (file, options) = tmp_path_factory.mktemp(request.param), KINDS[request.param]
    (path / "config.json").write_text(json.dumps({"model_type": request.param}))
    if file == "vocab.txt":
        words = (data_dir / "bert_vocab" / file).read_text(encoding="utf-8").splitlines()
        tokens = dict.fromkeys([*MPNET_TOKENS[:-1], *words, MPNET_TOKENS[-1]])
        (path / file).write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
        return path
    trainer, made = pytest.importorskip("sentencepiece").SentencePieceTrainer, io.BytesIO()
    lines = map(str.strip, lines_of(data_dir, 5))
    both = {"vocab_size": 2_000, "num_threads": 1, "minloglevel": 2, **options}
    trainer.train(sentence_iterator=(line for line in lines if line), model_writer=made, **both)
    (path / file).write_bytes(made.getvalue())
    return path


def differing(ours: Tokenizer, theirs, texts: list[str], pairs: list[str] | None = None) -> list:
    """The texts whose ids, segments or places differ."""
    rows = theirs(texts, pairs, return_offsets_mapping=True, return_token_type_ids=True)
    columns = zip(rows["input_ids"], rows["token_type_ids"], map(list, rows["offset_mapping"]), strict=True)
    mine = [(row.ids, row.segment_ids, list(row.offsets)) for row in ours.encode(texts, pairs)]
    return [both for both in zip(texts, mine, columns, strict=True) if both[1] != both[2]]


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
