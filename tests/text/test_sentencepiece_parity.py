"""The ids of the sentencepiece library and of transformers' tokenizers, on real text, and the same of the graph."""

from __future__ import annotations

import functools
import io
import json
import random

import pytest
import tensorflow as tf

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer

pytestmark = pytest.mark.parity
TRAINED = {
    "unigram": {},
    "bpe": {"model_type": "bpe"},
    "unigram_bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "bpe_bytes": {"model_type": "bpe", "byte_fallback": True, "character_coverage": 0.98},
    "case_folded": {"normalization_rule_name": "nmt_nfkc_cf"},
    "spaces_kept": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "no_prefix": {"add_dummy_prefix": False, "normalization_rule_name": "nfkc"},
    "across_spaces": {"split_by_whitespace": False, "max_sentencepiece_length": 12},
    "own_specials": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
}
ROUGH = ["", " ", "  a  ", "\ta\r\n b", "ﬁne ② ｃａｔ…", "caf\u0065\u0301 naïve", "Ünïcödé 日本語 😀", "\u200bzero"]
MARKS = [*"aeioun ", "\u0300", "\u0301", "\u0308", "\u0323", *"éﬁ²…가日©", "\u200d", "\r\n", "\u1100"]


def lines_of(data_dir, name: str, step: int) -> list[str]:
    if name in ("english", "german"):
        rows = (data_dir / "tatoeba_deu_eng" / "deu.txt").read_text(encoding="utf-8").splitlines()[::step]
        return [row.split("\t")[name == "german"] for row in rows]
    path = {"botchan": "sentencepiece/botchan.txt", "wikitext": "wikitext2/test.txt"}[name]
    text = (data_dir / path).read_bytes().decode("utf-8")
    return text.replace("<unk>", "unk").split("\n")[::step]  # typed, it is no <unk> to the sentencepiece library


def all_lines(data_dir) -> list[str]:
    steps = {"botchan": 4, "english": 170, "german": 170, "wikitext": 20}
    return [*ROUGH, *(line for name, step in steps.items() for line in lines_of(data_dir, name, step))]


def differing(ours: list, theirs: list, texts: list[str]) -> list:
    return [row for row in zip(texts, ours, theirs, strict=True) if row[1] != row[2]]


@functools.cache
def traced(pipeline: str):
    tokenize = compile_text(pipeline, pad_id=0).tokenize
    return tf.function(tokenize, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


def graph_rows(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    tokenize = traced(tokenizer.to_json())
    batches = (tf.constant(texts[i : i + 512]) for i in range(0, len(texts), 512))
    return [row for batch in batches for row in tokenize(batch).to_list()]


def trained(data_dir, name: str) -> bytes:
    """A file of the library's own trainer."""
    sentencepiece, made = pytest.importorskip("sentencepiece"), io.BytesIO()
    options = {"vocab_size": 1_000, "num_threads": 1, "minloglevel": 2, **TRAINED[name]}
    options["vocab_size"] += 256 * ("byte_fallback" in options)
    lines = [line.strip() for line in [*lines_of(data_dir, "botchan", 1), *ROUGH] if line.strip()]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=made, **options)
    return made.getvalue()


@pytest.fixture(scope="module", params=["shipped", *TRAINED])
def model(request, data_dir, tmp_path_factory):
    """The library's processor, and our tokenizer of the same file."""
    sentencepiece = pytest.importorskip("sentencepiece")
    path = data_dir / "sentencepiece" / "test_model.model"
    if request.param != "shipped":
        path = tmp_path_factory.mktemp("model") / "x.model"
        path.write_bytes(trained(data_dir, request.param))
    return sentencepiece.SentencePieceProcessor(model_file=str(path)), Tokenizer.from_sentencepiece(path), path


@pytest.mark.data
@pytest.mark.slow
def test_ids_and_text_equal_the_sentencepiece_librarys(data_dir, model):
    """Sums in float32 break a few ties another way there: "0", "00" for "00", "0", say. One line in 1,000 may."""
    library, tokenizer, _ = model
    texts = all_lines(data_dir)
    rows = [row.ids for row in tokenizer.encode(texts, special_tokens=False)]
    assert graph_rows(tokenizer, texts) == rows
    found = differing(rows, [library.encode(text) for text in texts], texts)
    assert len(found) <= len(texts) // 1_000, found[:3]
    known = [row for row in rows if library.unk_id() not in row]
    assert tokenizer.decode(known) == [library.decode(row) for row in known]


@pytest.mark.data
@pytest.mark.slow
def test_hostile_text(model):
    """The graph equals `tokenizers` on all of it; the sentencepiece library on most."""
    library, tokenizer, _ = model
    chance = random.Random(11)
    texts = ["".join(chance.choices(MARKS, k=chance.randrange(20))) for _ in range(2_000)]
    rows = [row.ids for row in tokenizer.encode(texts)]
    assert graph_rows(tokenizer, texts) == rows
    assert len(differing(rows, [library.encode(text) for text in texts], texts)) < 0.6 * len(texts)
    broken = [bytes(chance.randrange(256) if chance.random() < 0.2 else b for b in text.encode()) for text in texts]
    decoded = [text.decode("utf-8", "replace") for text in broken]
    assert graph_rows(tokenizer, broken) == [row.ids for row in tokenizer.encode(decoded)]


@pytest.mark.data
def test_the_library_reads_what_we_write(model):
    library, _, path = model
    again = type(library)(model_proto=spm_file.serialize(spm_file.read(path)))
    assert [again.encode(text) for text in ROUGH] == [library.encode(text) for text in ROUGH]
    assert [again.unk_id(), again.eos_id(), again.pad_id()] == [library.unk_id(), library.eos_id(), library.pad_id()]


@pytest.mark.data
def test_t5s_tokenizer(data_dir, tmp_path):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "spiece.model").write_bytes(trained(data_dir, "own_specials"))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer", "extra_ids": 100}')
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    ours = Tokenizer.from_folder(tmp_path)
    chance = random.Random(12)
    texts = [*lines_of(data_dir, "botchan", 8), *ROUGH, "a<extra_id_0> b <extra_id_99>c</s> d<unk>"]
    texts += ["".join(chance.choices(MARKS, k=chance.randrange(20))) for _ in range(300)]
    rows = [row.ids for row in ours.encode(texts)]
    assert graph_rows(ours, texts) == [row[:-1] for row in rows]
    ours.save(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text('{"model_type": "t5"}')
    for folder in (tmp_path, tmp_path / "saved"):
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
        assert type(theirs).__name__ == "T5Tokenizer" and len(theirs) == ours.vocabulary_size
        assert not differing(rows, theirs(texts)["input_ids"], texts)
        assert theirs.batch_decode(rows, skip_special_tokens=True) == ours.decode(rows)
        assert theirs("a", "b")["input_ids"] == ours.encode(["a"], ["b"])[0].ids


@pytest.mark.data
@pytest.mark.parametrize("joint", [True, False])
def test_marians_tokenizer(data_dir, tmp_path, joint):
    transformers = pytest.importorskip("transformers")
    texts = {name: lines_of(data_dir, name, 160) for name in ("english", "german")}
    if joint:
        both = Tokenizer.train([*texts["english"], *texts["german"]], 1_200, model="unigram")
        pair = both, both
    else:
        pair = tuple(Tokenizer.train(lines, 800, model="unigram") for lines in texts.values())
    Tokenizer.save_pair(tmp_path, *pair)
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(theirs).__name__ == "MarianTokenizer"
    source = theirs(texts["english"])["input_ids"], [row.ids for row in pair[0].encode(texts["english"])]
    target = theirs(text_target=texts["german"])["input_ids"], [row.ids for row in pair[1].encode(texts["german"])]
    assert len(differing(*source, texts["english"])) <= 2 and len(differing(*target, texts["german"])) <= 2
    decoded = theirs.batch_decode(target[1], skip_special_tokens=True, use_source_tokenizer=False)
    assert pair[1].decode(target[1]) == decoded


@pytest.mark.data
def test_one_vocabulary_for_two_models(data_dir, tmp_path):
    """As OPUS-MT's folders: ids are those of a vocabulary that holds the pieces of both sides."""
    transformers = pytest.importorskip("transformers")
    texts = {name: lines_of(data_dir, name, 160) for name in ("english", "german")}
    models = {}
    for name, lines in texts.items():
        Tokenizer.save_pair(tmp_path / name, *[Tokenizer.train(lines, 800, model="unigram")] * 2)
        models[name] = (tmp_path / name / "source.spm").read_bytes()
    pieces = {piece.text for data in models.values() for piece in spm_file.parse(data).pieces[3:]}
    vocabulary = ["</s>", "<unk>", *sorted(pieces), "<pad>"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(vocabulary)}))
    for name, data in zip(("source.spm", "target.spm"), models.values(), strict=True):
        (tmp_path / name).write_bytes(data)
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path)
    source, target = Tokenizer.pair_from_folder(tmp_path)
    rows = [row.ids for row in source.encode(texts["english"])]
    assert len(differing(rows, theirs(texts["english"])["input_ids"], texts["english"])) <= 2
    assert graph_rows(source, texts["english"]) == [row[:-1] for row in rows]
    # Runs of letters that English lacks are looked for as one token there: "Größe" has <unk>.
    german = theirs(texts["german"])["input_ids"]
    assert len(differing([row.ids for row in source.encode(texts["german"])], german, texts["german"])) < 20
    rows = [row.ids for row in target.encode(texts["german"])]
    assert len(differing(rows, theirs(text_target=texts["german"])["input_ids"], texts["german"])) <= 2
    assert graph_rows(target, texts["german"]) == [row[:-1] for row in rows]
    assert target.decode(rows) == theirs.batch_decode(rows, skip_special_tokens=True)


@pytest.mark.data
def test_barts_tokenizer(data_dir, tmp_path):
    transformers = pytest.importorskip("transformers")
    vocabulary = json.loads((data_dir / "gpt2_vocab" / "vocab.json").read_text(encoding="utf-8"))
    del vocabulary["<|endoftext|>"]
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate([*specials, *vocabulary])}))
    (tmp_path / "merges.txt").write_bytes((data_dir / "gpt2_vocab" / "merges.txt").read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "bart"}')
    ours = Tokenizer.from_folder(tmp_path)
    texts = [*ROUGH, *lines_of(data_dir, "botchan", 40), "a<mask> b<mask></s>"]
    rows = [row.ids for row in ours.encode(texts)]
    assert graph_rows(ours, texts) == [row[1:-1] for row in rows]
    ours.save(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text('{"model_type": "bart"}')
    for theirs in (
        transformers.BartTokenizer.from_pretrained(tmp_path),
        transformers.AutoTokenizer.from_pretrained(tmp_path / "saved"),
    ):
        assert not differing(rows, theirs(texts)["input_ids"], texts)
        assert theirs("a", "b")["input_ids"] == ours.encode(["a"], ["b"])[0].ids
