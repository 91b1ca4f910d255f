"""What fuzzing has found: the input of each, as small as it can be, and what is said of it now."""

from __future__ import annotations

import json
import os
import struct
import zipfile

import keras
import numpy as np
import pytest
import safetensors.numpy
from family_cases import CONFIGS
from spm_models import MODEL

import zoo
from keras_transformers.checkpoints import hub
from keras_transformers.checkpoints.files.atomic_folder import atomic_folder, left_behind
from keras_transformers.checkpoints.files.tensors import INDEX, read_tensors
from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
from keras_transformers.checkpoints.settings.sentence_transformers import read_sentence_transformer
from keras_transformers.checkpoints.weights.assign import check_size
from keras_transformers.checkpoints.word_vectors import read_word_vectors
from keras_transformers.families import bert
from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.resuming import run_state


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("t5", {"eos_token_id": ["</s>"]}, "eos_ids must be a token id"),
        ("transformer", {"hidden_dim": 0}, "hidden_dim must be"),
        ("gpt2", {"n_layer": -1}, "num_layers must be a positive integer"),
        ("gpt2", {"n_layer": 10**400}, "num_layers must be at most 1000"),
        ("bert", {"architectures": [{}]}, "architectures must be a str"),
        ("bert", {"architectures": ["BertModel"], "hidden_act": "a" * 10**6}, "unknown activation"),
        ("llama", {"rms_norm_eps": float("nan")}, "epsilon must be"),
    ],
)
def test_config(tmp_path, family, changes, message):
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[family] | changes))
    with pytest.raises(ValueError, match=message) as caught:
        read_config(tmp_path)
    assert len(str(caught.value)) < 2000


def test_more_weights_than_the_files_hold(tmp_path):
    safetensors.numpy.save_file({"a": np.ones(4, "float32")}, tmp_path / "model.safetensors")
    config = bert(10**9, num_layers=1, num_heads=1, hidden_dim=64)
    with pytest.raises(ValueError, match=r"the files hold.* 4 weights.* asks for 64,000,"):
        check_size(config, lambda: read_tensors(tmp_path), "the files hold")


@pytest.mark.parametrize("place", ["../..", "/etc", "a/b", "\0"])
def test_the_pooling_of_another_folder(tmp_path, place):
    write_sentence_transformer(tmp_path, 16, 24, pooling="mean", normalize=False)
    modules = json.loads((tmp_path / "modules.json").read_bytes())
    modules[1]["path"] = place
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="has the modules"):
        read_sentence_transformer(tmp_path)


def test_a_length_below_one(tmp_path):
    write_sentence_transformer(tmp_path, 16, -5, pooling="mean", normalize=False)
    with pytest.raises(ValueError, match="max_seq_length must be a number of tokens above 0: received -5"):
        read_sentence_transformer(tmp_path)


def test_a_vocabulary_in_utf_16(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n", encoding="utf-16")
    with pytest.raises(ValueError, match=r"vocab\.txt is not valid UTF-8"):
        Tokenizer.from_folder(tmp_path)


def test_ids_that_no_table_can_hold(tmp_path):
    tokenizer = Tokenizer.train(["the cat sat"], vocabulary_size=300, model="byte_pair")
    tokenizer.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    vocabulary = json.loads((tmp_path / "vocab.json").read_bytes())
    for number, message in [(2**63, "a separate id"), (2**31 - 1, "large gaps")]:
        (tmp_path / "vocab.json").write_text(json.dumps(vocabulary | {"a": number}))
        with pytest.raises(ValueError, match=message):
            Tokenizer.from_folder(tmp_path).vocabulary_size  # noqa: B018 - it is computed when it is asked for


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite(tmp_path, score):
    model = spm_file.SentencePieceModel((*MODEL.pieces, spm_file.Piece("dog", score)))
    (tmp_path / "a.spm").write_bytes(spm_file.serialize(model))
    with pytest.raises(ValueError, match=r"the score of piece 'dog' is .*, not finite"):
        Tokenizer.from_sentencepiece(tmp_path / "a.spm")


def test_a_broken_normaliser(tmp_path):
    model = spm_file.SentencePieceModel(MODEL.pieces, charsmap=b"\xff")
    (tmp_path / "a.spm").write_bytes(spm_file.serialize(model))
    with pytest.raises(ValueError, match=r"a\.spm is nothing that `tokenizers` can read: .*charsmap"):
        Tokenizer.from_sentencepiece(tmp_path / "a.spm")


@pytest.mark.integration
def test_a_template_of_unknown_tokens():
    pipeline = json.loads(Tokenizer.train(["the cat sat"], vocabulary_size=40).to_json())
    pipeline["post_processor"]["special_tokens"].pop("[SEP]")
    with pytest.raises(ValueError, match=r"post_processor 'TemplateProcessing with \[SEP\]' .* cannot be compiled"):
        compile_text(json.dumps(pipeline))


def test_merges_of_everything_with_everything():
    """Each token ends in any of 300 letters and each begins with any: a table of 90,000 pairs for each merge."""
    letters = [chr(0x4E00 + i) for i in range(400)]
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    merges = []
    for i in range(1, 400):  # a product that all later ones begin with, and one that all end with
        merges.append([letters[0] * i, letters[0]])
        vocabulary[letters[0] * (i + 1)] = len(vocabulary)
    pipeline = json.loads(Tokenizer.train(["ab"], vocabulary_size=300, model="byte_pair").to_json())
    pipeline |= {"pre_tokenizer": None, "decoder": None, "added_tokens": []}
    pipeline["model"] |= {"vocab": vocabulary, "merges": merges[::-1]}
    with pytest.raises(ValueError, match="BPE of these merges"):
        compile_text(json.dumps(pipeline), pad_id=0)


@pytest.mark.parametrize("name", ["loop", "loop/model", "a\0b", "a" * 300])
def test_names_that_are_no_path(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    for act in (zoo.load, left_behind, lambda path: atomic_folder(path).__enter__()):
        with pytest.raises(ValueError, match=r"is no path|is a file|there is no folder"):
            act(str(tmp_path / name))


@pytest.mark.parametrize(
    "name",
    [
        "org/..",
        "../model",
        "/etc",
        "org/model@../../x",
        "org/model@/etc",
        "org/model@a\0",
        "org\\..\\x",
        "a/b@x\\..\\y",
    ],
)
def test_names_that_leave_the_cache(name):
    with pytest.raises(ValueError, match=r"is not the name of a (repository|revision)"):
        hub.download(*hub.parse(f"hf:{name}"))


def test_shards_of_another_folder(tmp_path):
    safetensors.numpy.save_file({"a": np.ones(1)}, tmp_path / "a.safetensors")
    (tmp_path / "model").mkdir()
    for name in ("../a.safetensors", str(tmp_path / "a.safetensors"), "..", "", "a\0b", "a.safetensors"):
        (tmp_path / "model" / INDEX).write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(ValueError, match="names files that are not there"):
            read_tensors(tmp_path / "model")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the nan 1\n", "the vector of 'the' is not finite"),
        (b"1 2\nthe " + np.float32([np.inf, 1]).tobytes(), "is not finite"),
        (b"1 99999999\nthe 1 2\n", "are 99999999 wide"),
        (b"a" * (1 << 22), "expected a word and"),
    ],
)
def test_word_vectors(tmp_path, content, message):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(read_word_vectors(tmp_path / "vectors"))


def test_word_vectors_of_a_pipe_or_a_damaged_archive(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "vectors.gz").write_bytes(b"the 1 2\n")
    for name, message in [("pipe", "there is no file"), ("vectors.gz", "cannot be read")]:
        with pytest.raises(ValueError, match=message):
            list(read_word_vectors(tmp_path / name))


def states(folder):
    """Files of states with a fault each."""
    header = np.lib.format.header_data_from_array_1_0(np.zeros(1)) | {"shape": (10**13,)}
    with open(folder / "array", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    for name, compression in (("huge", zipfile.ZIP_STORED), ("compressed", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(folder / name, "w", compression) as archive:
            archive.write(folder / "array", "state.npy")
    (folder / "cut").write_bytes(b"PK" + struct.pack("<Q", 2**63))


@pytest.mark.parametrize("name", ["huge", "compressed", "cut"])
def test_states_of_runs(tmp_path, name):
    states(tmp_path)
    (tmp_path / name).rename(tmp_path / "epoch-1.npz")
    with (
        pytest.warns(UserWarning, match="is damaged"),
        pytest.raises(ValueError, match=r"damaged files only: \['epoch-1\.npz'\]"),
    ):
        run_state.load_latest(tmp_path)


WHOLE = {"epoch": 1, "batch": 2, "stopped": False, "callbacks": [], "history": {"loss": [1.0]}, "epochs": [0]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epoch": "1"}, r"no \['epoch'\]"),
        ({"batch": -1}, r"no \['batch'\]"),
        ({"epoch": True}, r"no \['epoch'\]"),
        ({"history": {"loss": 1}}, r"no \['history'\]"),
        ({"callbacks": [3]}, r"no \['callbacks'\]"),
        ({"callbacks": [{}]}, "has 1 callbacks, and `Resume` was given 0"),
        ({"run": 3}, r"no \['run'\]"),
    ],
)
def test_values_of_a_state(tmp_path, changes, message):
    run_state.check_values(tmp_path, WHOLE, 0)
    with pytest.raises(ValueError, match=message):
        run_state.check_values(tmp_path, WHOLE | changes, 0)


def test_arrays_of_a_state_that_are_missing():
    with pytest.raises(ValueError, match=r"lacks the arrays \['model/0'\]"):
        run_state.group({"model/1": np.ones(1)}, "model")


@pytest.mark.integration
def test_no_code_of_a_checkpoint_runs(tmp_path):
    """Not what `auto_map` names, nor a pickle, nor a `.keras` file that lies there."""
    from tiny import classifier

    classifier().save(tmp_path / "model")
    values = json.loads((tmp_path / "model" / "config.json").read_bytes())
    values |= {"auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}, "trust_remote_code": True}
    (tmp_path / "model" / "config.json").write_text(json.dumps(values))
    (tmp_path / "model" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]).save(tmp_path / "model" / "model.keras")
    (tmp_path / "model" / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(Vtouch ran\ntR.")
    task = zoo.load(tmp_path / "model", pickled=True)
    assert task.predict(["a fine film"])[0]["label"] in task.labels
    assert not (tmp_path / "ran").exists()
