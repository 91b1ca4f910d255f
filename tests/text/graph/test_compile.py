"""The compiled graph as a whole: the same ids as the library, inside a SavedModel of core ops, and clear refusals."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
import tensorflow as tf
from spm_models import ENCODERS
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformers.text.folder.vocabulary_files import ENCODERS as BUILDERS
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

TEXTS = [
    "The cat danced unhappily on the table!",
    "",
    "   \t\n ",
    "a[MASK]b [SEP] [mask] [[MASK]] [MASK",
    "İstanbul ÀÉÎ 가나다 中文字 \u0344\u0316\u0301 crème",
    "x" * 10_000 + " cat",
    "a" * 100,
    "a" * 101,
    "\x00a\x00b",
    "😀 hello👩‍👩‍👧 שלום עולם",
    "don't stop-me.now",
]


@pytest.mark.integration
def test_ids_equal_the_library(tokenizer, graph, mismatches):
    assert not mismatches(tokenizer, graph, TEXTS)
    assert not mismatches(tokenizer, graph, TEXTS[::-1], TEXTS, max_length=32)


@pytest.mark.integration(quick=["cased"])
def test_invalid_utf8_is_replaced_as_python_does(tokenizer, graph, mismatches):
    texts = [b"\xff\xfe cat", b"\xe4\xbd", b"a\xed\xa0\x80b", b"\xef\xbb\xbfcat", b"\xc0\x80x", b"\xf4\x90\x80\x80z"]
    assert not mismatches(tokenizer, graph, [*texts, b"\xf0\x9f\x98cat", b"cat\xe2\x82", b"\xe2\x28\xa1", b"cat"])
    # The comparison itself rests on U+FFFD being dropped by BERT's cleaning: look at the code points too.
    for text in texts:
        points = tf.strings.unicode_decode([text], "UTF-8", errors="replace").values.numpy()
        assert "".join(map(chr, points)) == text.decode("utf-8", "replace")


@pytest.mark.integration(quick=["cased"])
def test_tokenize_adds_and_cuts_nothing(tokenizer, graph):
    ids = graph.tokenize(tf.constant(TEXTS)).to_list()
    assert ids == [row.ids for row in tokenizer.encode(TEXTS, special_tokens=False)]


def test_empty_batch(graph):
    empty = tf.constant([], tf.string)
    rows = graph.encode(empty, empty, max_length=8)
    assert rows["token_ids"].shape[0] == rows["truncated"].shape[0] == 0
    assert graph.tokenize(empty).nrows() == 0


@pytest.mark.integration
@pytest.mark.parametrize("tokenizer", [True], indirect=True)
def test_eager_function_and_dataset_agree(tokenizer, graph):
    texts = tf.constant(["the cat", "a dog sat"])
    encode = tf.function(lambda texts: graph.encode(texts, max_length=8)["token_ids"], autograph=False)
    eager = graph.encode(texts, max_length=8)["token_ids"].numpy().tolist()
    traced = encode.get_concrete_function(tf.TensorSpec([None], tf.string))
    assert traced(texts).numpy().tolist() == eager
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(2).map(encode)
    assert next(iter(dataset)).numpy().tolist() == eager


BARE = """
import sys, json
sys.modules.update(dict.fromkeys(["keras", "keras_transformers", "zoo", "tensorflow_text", "keras_hub", "tokenizers"]))
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
answer = model.signatures["serving_default"](text=tf.constant(json.loads(sys.argv[2])))
texts = {name: [text.decode() for text in value.numpy()] for name, value in answer.items() if name.startswith("text")}
print(json.dumps({name: value.numpy().tolist() for name, value in answer.items() if name not in texts} | texts))
"""


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [True], indirect=True)
def test_saved_model_answers_without_our_packages(tokenizer, graph, tmp_path):
    others = [Tokenizer.train(TEXTS, 300, model=model) for model in ("byte_pair", "character", "unigram")]
    others += [Tokenizer(BUILDERS[name][1](ENCODERS[name], {})) for name in ("AlbertTokenizer", "DebertaV2Tokenizer")]
    graphs = [graph, *(compile_text(other.to_json(), pad_id=0) for other in others)]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def serve(text):
        rows = [each.encode(text, text, max_length=16)["token_ids"] for each in graphs]
        decoded = [each.decode(ids) for each, ids in zip(graphs, rows, strict=True)]
        return {f"{name}_{i}": x for name, xs in (("ids", rows), ("text", decoded)) for i, x in enumerate(xs)}

    module = tf.Module()
    module.graphs, module.serve = graphs, serve
    tf.saved_model.save(module, str(tmp_path), {"serving_default": serve})
    assert not forbidden_ops(tmp_path)
    texts = ["The cat [MASK] unhappily", "", "Ü\x00b中", "``Cát''\n 1, ②"]
    command = [sys.executable, "-c", BARE, str(tmp_path), json.dumps(texts)]
    answers = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for i, each in enumerate([tokenizer, *others]):
        expected = [row.ids for row in each.encode(texts, texts, max_length=16)] if each is not others[1] else None
        rows = graphs[i].encode(tf.constant(texts), tf.constant(texts), max_length=16)
        assert answers[f"ids_{i}"] == rows["token_ids"].numpy().tolist()
        assert not expected or [ids[: len(e)] for ids, e in zip(answers[f"ids_{i}"], expected, strict=True)] == expected
        assert answers[f"text_{i}"] == each.decode(answers[f"ids_{i}"])


def forbidden_ops(folder) -> set[str]:
    """Ops of a SavedModel that are not TensorFlow core, or that need XLA or Python."""
    graph_def = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    functions = (node for function in graph_def.library.function for node in function.node_def)
    used = {node.op for node in [*graph_def.node, *functions]}
    names = {function.signature.name for function in graph_def.library.function}
    core = set(dir(tf.raw_ops))
    return {op for op in used - names if op not in core or op.startswith("Xla") or "PyFunc" in op}


TEMPLATE = {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}
BPE = {"type": "BPE", "dropout": 0.1, "vocab": {"[PAD]": 0, "a": 1}, "merges": []}


@pytest.mark.parametrize("tokenizer", [True], indirect=True)
@pytest.mark.parametrize(
    ("part", "component", "name"),
    [
        ("normalizer", {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}]}, "'ByteLevel'"),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": " +"}, "content": ""}, "\"Replace of Regex ' \\+'\""),
        ("normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": "x"}, "\"Replace of String ''\""),
        (
            "pre_tokenizer",
            {"type": "Split", "pattern": {"Regex": "xy"}, "behavior": "Isolated", "invert": False},
            "\"Split by Regex 'xy', Isolated\"",
        ),
        ("model", {"type": "Unigram", "unk_id": None, "vocab": [["[PAD]", 0.0]], "byte_fallback": False}, "'Unigram'"),
        ("model", BPE, "'BPE with dropout 0.1'"),
        ("decoder", {"type": "CTC", "pad_token": "", "word_delimiter_token": "|", "cleanup": True}, "'CTC'"),
        (
            "post_processor",
            {"type": "Sequence", "processors": [TEMPLATE, TEMPLATE]},
            r"\['TemplateProcessing', 'TemplateProcessing'\]",
        ),
    ],
)
def test_what_cannot_be_compiled_is_named(tokenizer, part, component, name):
    config = {**json.loads(tokenizer.to_json()), part: component}
    with pytest.raises(ValueError, match=f"The {part} {name} .* cannot be compiled"):
        compile_text(json.dumps(config), pad_id=0)


def test_max_length_without_room(graph):
    with pytest.raises(ValueError, match="max_length=2 leaves no room for text beside 2 special tokens"):
        graph.encode(tf.constant(["a"]), max_length=2)
    with pytest.raises(ValueError, match="beside 3 special tokens"):
        graph.encode(tf.constant(["a"]), tf.constant(["a"]), max_length=3)


def test_no_pad_token():
    config = json.loads(Tokenizer.train(["a cat"], vocabulary_size=20).to_json())
    config["added_tokens"] = [token for token in config["added_tokens"] if token["content"] != "[PAD]"]
    config["model"]["vocab"] = {token: i for token, i in config["model"]["vocab"].items() if token != "[PAD]"}
    with pytest.raises(ValueError, match=r"no \[PAD\] token"):
        compile_text(json.dumps(config))
    rows = compile_text(json.dumps(config), pad_id=7).encode(tf.constant(["a", "a cat"]), max_length=8)
    assert rows["token_ids"].numpy()[~rows["padding_mask"].numpy()].tolist() == [7]


def test_an_id_far_above_the_others_is_refused_at_once(graph, tokenizer):
    config = json.loads(tokenizer.to_json())
    config["model"]["vocab"]["t"] = 2**30
    begin = time.process_time()
    with pytest.raises(ValueError, match=r"ids up to 1073741824: expected .* ids without large gaps"):
        compile_text(json.dumps(config), pad_id=0)
    assert time.process_time() - begin < 2
