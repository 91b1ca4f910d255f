"""Files of programs that are not read: each is named, with what to do, as a folder and as a file."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import zoo
from keras_transformers.checkpoints.files.other_programs import tell_other
from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.weights.loading import load_weights

ONE = np.ones((2, 2), "float32")


class Named:
    """A class of another module, as a pickle names it."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def pickle(self):
        """An instance without any value."""
        return f"c{self.module}\n{self.name}\n)\x81".encode()


def torch_zip(content, *more):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        for name in more:
            archive.writestr(name, b"")
    return file.getvalue()


def saved(**values):
    """What torch.save writes of a dict, with a class of torch in it."""
    return torch_zip(pickle.dumps({**values, "a": 1}, 2)[:-1] + b"0ctorch\nFloatStorage\n.")


def arrays(**named):
    file = io.BytesIO()
    np.savez(file, **named)
    return file.getvalue()


def keras_file():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", b"")
    return file.getvalue()


CT2 = struct.pack("<IH", 6, 16) + b"TransformerSpec\0" + bytes(60)
FILES = {  # name: content, the program, a part of the remedy
    "model-q4.gguf": (b"GGUF\3\0\0\0", "GGUF", "gguf_file="),
    "renamed.bin": (b"GGUF\3\0\0\0", "GGUF", "gguf_file="),
    "model.onnx": (b"\x08\x07", "ONNX", "config.json and model.safetensors"),
    "model.tflite": (b"\x1c\0\0\0TFL3", "TensorFlow Lite", "made from"),
    "flax_model.msgpack": (b"\x81", "Flax", "from_flax=True"),
    "model.bin": (CT2, "CTranslate2", "made from"),
    "stories15M.bin": (struct.pack("<7i", 288, 768, 6, 6, 6, 32000, 256) + bytes(64), "llama2.c", "ckpt.pt"),
    "stories.bin": (b"24ka" + bytes(64), "llama2.c", "ckpt.pt"),
    "lid.176.bin": (b"\xba\x16\x4f\x2f" + bytes(64), "fastText", ".vec"),
    "model.npz": (arrays(**{"special:model.yml": np.zeros(3, "int8")}), "Marian", "convert_marian_to_pytorch.py"),
    "model.iter100.npz": (arrays(encoder_l1_self_Wq=ONE, decoder_l1_self_Wq=ONE), "Marian", "convert_marian"),
    "values.npz": (arrays(x=ONE), "NumPy", "made from"),
    "old.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "Keras", "load_model"),
    "model.keras": (keras_file(), "Keras", "load_model"),
    "unnamed.zip": (keras_file(), "Keras", "load_model"),
    "model.safetensors": (safetensors.numpy.save({"a": ONE}), "without the configuration", "config.json"),
    "model_step_100.pt": (saved(model={}, generator={}, opt={}, vocab={}, optim={}), "OpenNMT-py", "no converter"),
    "checkpoint_best.pt": (saved(cfg={}, model={}, optimizer_history=[], extra_state={}), "fairseq", "convert_"),
    "old_fairseq.pt": (torch_zip(b"\x80\x02" + Named("fairseq.tasks", "Task").pickle() + b"."), "fairseq", "convert_"),
    "final-model.pt": (saved(state_dict={}, tag_dictionary={}), "flair", "tagger.embeddings"),
    "pytorch_model.bin": (saved(state_dict={}, __cls__="flair.models.SequenceTagger"), "flair", "tagger.embeddings"),
    "last.ckpt": (saved(state_dict={}, **{"pytorch-lightning_version": "2"}), "PyTorch Lightning", "save_pretrained"),
    "consolidated.00.pth": (
        saved(**{"tok_embeddings.weight": 0, "norm.weight": 0, "output.weight": 0}), "Meta's Llama", "convert_llama"
    ),
    "whole.pt": (torch_zip(b"\x80\x02" + Named("__main__", "GPT").pickle() + b"."), "a whole model", "save_pretrained"),
    "script.pt": (torch_zip(b"N.", "archive/code/__torch__.py"), "TorchScript", "made from"),
    "weights.pt": (saved(**{"layer.weight": 0}), "weights without the configuration", "pickled=True"),
    "training.pt": (saved(model={}, optimizer={}), "a program's own checkpoint", "save_pretrained"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_it_is_named_as_a_folder_and_as_a_file(tmp_path, name):
    content, program, remedy = FILES[name]
    (tmp_path / name).write_bytes(content)
    for place in (tmp_path, tmp_path / name):
        for read in (zoo.load, find_stored):
            with pytest.raises(ValueError) as error:
                read(place)
            message = str(error.value)
            assert name in message and program in message and remedy in message, message


@pytest.mark.parametrize(
    ("name", "content"), [("meta.json", '{"lang": "en", "spacy_version": ">=3"}'), ("config.cfg", "[nlp]\n")]
)
def test_a_pipeline_is_named_before_the_files_in_it(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    (tmp_path / "a.onnx").write_bytes(b"")
    with pytest.raises(ValueError, match=rf"{name} is a file of spaCy, a pipeline.*nlp.get_pipe"):
        zoo.load(tmp_path)
    (tmp_path / name).write_text("{}")
    assert "spaCy" not in tell_other(tmp_path)


def test_a_config_of_another_program(tmp_path):
    """CTranslate2 writes a config.json, too."""
    (tmp_path / "config.json").write_text(json.dumps({"add_source_bos": False, "unk_token": "<unk>"}))
    (tmp_path / "model.bin").write_bytes(CT2)
    with pytest.raises(ValueError, match="CTranslate2"):
        zoo.load(tmp_path)


def test_beside_the_config_of_a_model(tmp_path):
    values = {"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
    values |= {"model_type": "bert", "intermediate_size": 4, "max_position_embeddings": 8, "type_vocab_size": 2}
    (tmp_path / "config.json").write_text(json.dumps(values))
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07")
    with pytest.raises(ValueError, match=r"no weights in .*ONNX"):
        find_stored(tmp_path).tensors()


def test_other_ways_to_load(tmp_path):
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(ValueError, match="GGUF"):
        load_weights(None, tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x80", b"PK\3\4", b"not a pickle", bytes(100), b"PK\5\6" + bytes(18)])
def test_files_of_nothing(tmp_path, content):
    for name in ("a.pt", "b.bin", "c.npz", "d.txt"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"is a file of no checkpoint: expected|is not supported"):
            zoo.load(tmp_path / name)
    with pytest.raises(ValueError, match=r"there is no checkpoint in|is not supported"):
        zoo.load(tmp_path)


@pytest.mark.parametrize("name", ["a.pt", "b.npz", "c.txt"])
def test_a_damaged_archive(tmp_path, name):
    """zipfile takes it for an archive until it looks for the names."""
    (tmp_path / name).write_bytes(b"PK\5\6" + b"\xff" * 18)
    with pytest.raises(ValueError, match="there is no checkpoint in"):
        zoo.load(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    secret = tmp_path / "a.pt"
    secret.write_bytes(b"")
    opened = Path.open

    def forbidden(path, *mode, **options):
        if path == secret:
            raise PermissionError(13, "Permission denied")
        return opened(path, *mode, **options)

    monkeypatch.setattr(Path, "open", forbidden)
    assert tell_other(tmp_path) == ""
    (tmp_path / "b.gguf").write_bytes(b"GGUF")
    assert "b.gguf is a file of GGUF" in tell_other(tmp_path)


def test_a_link_that_leads_nowhere_and_a_folder_in_it(tmp_path):
    (tmp_path / "a.pt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b.pt").mkdir()
    assert tell_other(tmp_path) == ""


@pytest.mark.parity
def test_what_torch_and_keras_write(tmp_path):
    torch, keras = pytest.importorskip("torch"), pytest.importorskip("keras")
    model = torch.nn.Linear(2, 2)
    torch.save(model, tmp_path / "a.pt")
    torch.save(model.state_dict(), tmp_path / "b.pt")
    torch.save(model.state_dict(), tmp_path / "c.pt", _use_new_zipfile_serialization=False)
    torch.jit.script(model).save(tmp_path / "d.pt")
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(tmp_path / "e.keras")
    expected = {"a": "a whole model", "b": "weights without", "c": "weights without", "d": "TorchScript", "e": "Keras"}
    for path in sorted(tmp_path.iterdir()):
        assert expected[path.stem] in tell_other(path)
