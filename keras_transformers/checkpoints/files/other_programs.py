"""The files of programs whose models are not read here: which program it is, and what to do."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keras_transformers.checkpoints.files.pickled_names import names_in
from keras_transformers.utils.untrusted import names_of

MOST_FILES = 1000  # of a folder that are looked at
BEGIN = 64  # bytes of a file that tell its format
ORIGINAL = "Give the folder of the model that it was made from, with config.json and model.safetensors"
TRANSFORMERS = "Save the model once more with `save_pretrained` of `transformers`"
CONVERTER = "Convert it with the script {} of `transformers`, and give the folder that it writes"


class Known(NamedTuple):
    """A program, and what a user of its files can do.

    Args:
        program: The program or the format, as a part of a sentence.
        remedy: A sentence without its full stop.
    """

    program: str
    remedy: str


SUFFIXES = {
    ".gguf": Known(
        "GGUF, of llama.cpp",
        f"{ORIGINAL}; or write one: `AutoModelForCausalLM.from_pretrained(folder, gguf_file=...)` of `transformers`, "
        "then `save_pretrained`, for the tokenizer, too",
    ),
    ".ggml": Known("GGML, of llama.cpp", ORIGINAL),
    ".onnx": Known("ONNX, a graph for serving", ORIGINAL),
    ".tflite": Known("TensorFlow Lite, a graph for serving", ORIGINAL),
    ".mlmodel": Known("Core ML, a graph for serving", ORIGINAL),
    ".engine": Known("TensorRT, a graph for serving", ORIGINAL),
    ".pdparams": Known("PaddlePaddle", ORIGINAL),
    ".nemo": Known("NVIDIA NeMo", ORIGINAL),
    ".msgpack": Known("Flax", f"{TRANSFORMERS} 4: `AutoModel.from_pretrained(folder, from_flax=True)`"),
    ".keras": Known(
        "Keras, a model of your own layers",
        "Load it with keras.models.load_model; `keras_transformers.export_text` exports it with text in",
    ),
    ".safetensors": Known(
        "weights without the configuration of their model",
        "Put the model's config.json and its tokenizer's files beside it, and give the folder (an adapter of `peft`: "
        "adapter_config.json)",
    ),
}
HDF5 = Known(
    "Keras: weights, or a model of your own layers",
    "Load it with keras.models.load_model, or load_weights of the model; of `transformers` 4, tf_model.h5 needs its "
    "config.json beside it, and of KerasHub model.weights.h5 the folder of the preset",
)
CTRANSLATE2 = Known("CTranslate2, converted to be served", ORIGINAL)
LLAMA2_C = Known("llama2.c, exported for its C program", "Give the ckpt.pt that it was exported from")
FASTTEXT = Known(
    "fastText, vectors of words",
    "They are no model; as text (.vec) they can begin an embedding: see keras_transformers.checkpoints.word_vectors",
)
MARIAN = Known("Marian", CONVERTER.format("models/marian/convert_marian_to_pytorch.py"))
ARRAYS = Known("NumPy, arrays without a configuration", ORIGINAL)
SPACY = Known(
    "spaCy, a pipeline",
    'Save its transformer alone: `nlp.get_pipe("transformer").model.transformer.save_pretrained(folder)`, and '
    "`.model.tokenizer` the same; its other components are not read",
)
TORCHSCRIPT = Known("TorchScript, a graph for serving", ORIGINAL)
UNKNOWN_TORCH = Known(
    "PyTorch: a program's own checkpoint", f"{TRANSFORMERS}, or write config.json and model.safetensors in its layout"
)
# By names in a pickle: all of one of the sets, or the beginning of a class. The first that fits.
PICKLES: tuple[tuple[Known, tuple[set[str], ...], tuple[str, ...]], ...] = (
    (
        Known(
            "flair",
            "Save its transformer alone: `tagger.embeddings.model.save_pretrained(folder)`, and "
            "`.embeddings.tokenizer` the same; the tagger's own layers are not read",
        ),
        ({"state_dict", "tag_dictionary"}, {"state_dict", "document_embeddings"}, {"state_dict", "__cls__"}),
        ("flair.",),
    ),
    (
        Known("OpenNMT-py", "There is no converter to config.json and model.safetensors; OpenNMT-tf 2 is read"),
        ({"generator", "opt", "vocab"}, {"generator", "opt", "optim"}),
        ("onmt.",),
    ),
    (
        Known(
            "fairseq",
            CONVERTER.format("convert_MODEL_original_pytorch_checkpoint_to_pytorch.py of its model"),
        ),
        ({"extra_state", "optimizer_history"}, {"extra_state", "last_optimizer_state"}, {"task_state", "cfg", "model"}),
        ("fairseq.",),
    ),
    (
        Known(
            "PyTorch Lightning",
            "Save the model in it: `module.model.save_pretrained(folder)`, if it is one of `transformers`",
        ),
        ({"pytorch-lightning_version"},),
        ("pytorch_lightning.", "lightning."),
    ),
    (
        Known("Meta's Llama", CONVERTER.format("models/llama/convert_llama_weights_to_hf.py")),
        ({"tok_embeddings.weight", "norm.weight", "output.weight"},),
        (),
    ),
    (
        Known("PyTorch: a whole model, which only the code that wrote it can read", f"{TRANSFORMERS}"),
        (),
        ("__main__.", "torch.nn.modules.", "transformers.models."),
    ),
)  # fmt: skip
STATE_DICT = Known(
    "PyTorch: weights without the configuration of their model",
    "Name it pytorch_model.bin, put the model's config.json and its tokenizer's files beside it, and load the folder "
    "with pickled=True",
)


def tell_other(place: Path) -> str:
    """Tell whose files a place holds, if they are of a known program that is not read; empty if they are not.

    Args:
        place: A folder, or a file.

    Returns:
        Two sentences, the program and what to do.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "model.gguf")
    >>> _ = path.write_bytes(b"GGUF")
    >>> tell_other(path).partition(".g")[2][:46]
    'guf is a file of GGUF, of llama.cpp, which is '
    """
    for path in [place] if place.is_file() else _files(place):
        try:
            known = _of_spacy(path) or _of_file(path)
        except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):  # not allowed, or damaged
            continue
        if known:
            return f"{path} is a file of {known.program}, which is not supported. {known.remedy}."
    return ""


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder; pipelines, which hold other files, come first; weights that have a
    configuration not at all.
    """
    names = sorted(names_of(folder) or ())[:MOST_FILES]
    names = [name for name in names if not (name.endswith(".safetensors") and "config.json" in names)]
    first = [name for name in ("meta.json", "config.cfg") if name in names]
    return [path for name in [*first, *names] if (path := folder / name).is_file()]


def _of_spacy(path: Path) -> Known | None:
    marks = {"meta.json": b'"spacy_version"', "config.cfg": b"[nlp]"}
    if path.name not in marks:
        return None
    with path.open("rb") as file:
        return SPACY if marks[path.name] in file.read(1 << 20) else None


def _of_file(path: Path) -> Known | None:
    with path.open("rb") as file:
        begin = file.read(BEGIN)
    for is_it, known in BEGINNINGS.items():
        if is_it(begin):
            return known
    if path.suffix.lower() in SUFFIXES:
        return SUFFIXES[path.suffix.lower()]
    if zipfile.is_zipfile(path):
        return _of_zip(path)
    return _of_pickle(path) if path.suffix in (".pt", ".pth", ".bin", ".ckpt") else None


def _is_llama2_c(begin: bytes) -> bool:
    """Return whether a file begins with the sizes of llama2.c's first format, which has no magic number."""
    if len(begin) < 28:
        return False
    width, inner, layers, heads, kv_heads, vocabulary, length = struct.unpack("<7i", begin[:28])
    sizes = (width, inner, layers, heads, kv_heads, abs(vocabulary), length)
    return all(0 < size < 1 << 20 for size in sizes) and width % heads == heads % kv_heads == 0 and inner > width


BEGINNINGS: dict[Callable[[bytes], bool], Known] = {
    lambda begin: begin.startswith(b"GGUF"): SUFFIXES[".gguf"],
    lambda begin: begin.startswith(b"\x89HDF\r\n\x1a\n"): HDF5,
    lambda begin: begin.startswith(b"24ka") or _is_llama2_c(begin): LLAMA2_C,  # its magic number, little-endian
    lambda begin: begin.startswith(b"\xba\x16\x4f\x2f"): FASTTEXT,
    lambda begin: begin[4:8] == b"TFL3": SUFFIXES[".tflite"],
    # A version of 4 bytes, then the length of the specification's name, and the name, such as TransformerSpec.
    lambda begin: begin[1:4] == bytes(3) and b"Spec\0" in begin: CTRANSLATE2,
}


def _of_zip(path: Path) -> Known | None:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if path.suffix == ".npz":
        is_marian = any(name.startswith(("special:model.yml", "encoder_", "decoder_", "Wemb")) for name in names)
        return MARIAN if is_marian else ARRAYS
    if any("/code/" in name for name in names):
        return TORCHSCRIPT
    if "model.weights.h5" in names:
        return SUFFIXES[".keras"]
    return _of_pickle(path) if any(name.endswith("data.pkl") for name in names) else None


def _of_pickle(path: Path) -> Known | None:
    names = names_in(path)
    for known, sets, classes in PICKLES:
        if any(one <= names for one in sets) or any(name.startswith(classes) for name in names if classes):
            return known
    if not any(name.startswith("torch.") for name in names):
        return None
    return STATE_DICT if not names & {"model", "state_dict", "optimizer", "module"} else UNKNOWN_TORCH
