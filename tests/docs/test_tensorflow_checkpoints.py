"""docs/tensorflow_checkpoints.md: our lines run on folders in the layouts of the programs, and print what is shown."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import gpt2_folder
import opennmt_models
import processes
import pytest
import tensorflow as tf
import tf1_encoders
import yaml
from presets import bert_preset
from readme_code import PYTHON, python_differences, shell_differences
from tf_folders import (
    WORDS,
    bert_config,
    bert_variables,
    garden_variables,
    google_bert,
    head_variables,
    pretraining_variables,
    slots,
    tf_hub,
    write_objects,
    write_vocabulary,
)

import zoo
from keras_transformers.text.sentencepiece import spm_file
from keras_transformers.text.sentencepiece.spm_file import BPE, BYTE, CONTROL, UNKNOWN, Piece

pytestmark = pytest.mark.filterwarnings("ignore:")

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "tensorflow_checkpoints.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BERT = bert_variables()
UNCASED = "uncased_L-12_H-768_A-12"
ENCODER = {"vocab_size": 29, "hidden_size": 8, "num_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
           "max_position_embeddings": 16, "type_vocab_size": 2}  # fmt: skip


def hub():
    """An encoder with its masked-LM head."""
    masked_lm = {name: array for name, array in pretraining_variables().items() if "predictions" in name}
    tf_hub(Path("bert_en_uncased_L-12_H-768_A-12"), garden_variables(BERT | masked_lm))


def run_classifier():
    """The model that was given; and two checkpoints of a run, with the vocabulary and the sizes copied."""
    bert = bert_variables(positions=128)
    google_bert(Path(UNCASED), bert | pretraining_variables())
    tuned = bert | head_variables("", 2)
    for step in (200, 343):
        google_bert(Path("mrpc_output"), tuned | slots(tuned), f"model.ckpt-{step}")
    Path("mrpc_output/checkpoint").write_text('model_checkpoint_path: "elsewhere/mrpc_output/model.ckpt-343"\n')


def run_squad():
    google_bert(Path("squad_output"), BERT | head_variables("cls/squad/", 2), "model.ckpt-7")


def gpt2():
    gpt2_folder.write(Path("models/124M"), gpt2_folder.variables(positions=64))


def garden():
    """A run with its params.yaml; and an encoder."""
    weights, bias = head_variables("", 3).values()
    head = {"sentence_prediction/logits/kernel": weights.T, "sentence_prediction/logits/bias": bias}
    write_objects(Path("glue_run/ckpt-3"), garden_variables(BERT) | head)
    write_vocabulary(Path("glue_run"))
    encoder = {"type": "bert", "bert": ENCODER | {"hidden_activation": "gelu"}}
    Path("glue_run/params.yaml").write_text(yaml.safe_dump({"task": {"model": {"encoder": encoder}}}))
    folder = Path("v3", UNCASED)
    write_objects(folder / "bert_model.ckpt-1", garden_variables(BERT))
    write_vocabulary(folder)
    (folder / "bert_config.json").write_text(json.dumps(bert_config(BERT)))


def keras_hub():
    bert_preset(Path("finetuned_bert"))


def opennmt():
    """A run that writes short texts; and one whose model_description.py is lost."""
    opennmt_models.write(Path("run"))
    opennmt_models.write_config(Path("run"), params={"maximum_decoding_length": 8})
    opennmt_models.write(Path("other_run"), description="")


def albert():
    tf1_encoders.albert_folder(Path("albert_base"), tf1_encoders.albert_variables())


def electra():
    """A discriminator and a generator whose heads have 64 values."""
    tf1_encoders.electra_folder(Path("models/electra_small"), tf1_encoders.electra_variables(128, 32, 64))


def nanogpt():
    import torch_runs

    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 64, "bias": False, "dropout": 0.0, "vocab_size": 13}
    folder = Path("out-shakespeare-char")
    torch_runs.write_run(folder / "ckpt.pt", torch_runs.nanogpt_state(sizes), sizes)
    torch_runs.write_characters(folder)


def llama2_c():
    import torch_runs

    pieces = [Piece("<unk>", 0, UNKNOWN), Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL)]
    pieces += [*(Piece(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)), Piece("a", -1), Piece("b", -2)]
    sizes = {"dim": 8, "n_layers": 1, "n_heads": 2, "n_kv_heads": 2, "vocab_size": len(pieces), "max_seq_len": 32}
    torch_runs.write_run(Path("out/ckpt.pt"), torch_runs.llama2_c_state(sizes, 12), sizes)
    model = spm_file.SentencePieceModel(tuple(pieces), BPE, byte_fallback=True)
    Path("out/tokenizer.model").write_bytes(spm_file.serialize(model))


def published():
    """The sizes of the smallest BERT of google-research/bert, for `convert`."""
    words = (*WORDS, *(f"[unused{index}]" for index in range(30_522 - len(WORDS))))
    bert = bert_variables(128, 2, 512, rows=len(words), positions=512)
    heads = pretraining_variables(128) | {"cls/predictions/output_bias": bert["bert/embeddings/word_embeddings"][:, 0]}
    folder = google_bert(Path("uncased_L-2_H-128_A-2"), bert | heads)
    write_vocabulary(folder, words)


FOLDERS = {
    "TF-Hub": hub,
    "run_classifier.py of google-research/bert": run_classifier,
    "run_squad.py of google-research/bert": run_squad,
    "openai/gpt-2": gpt2,
    "Model Garden": garden,
    "KerasHub": keras_hub,
    "OpenNMT-tf": opennmt,
    "google-research/albert": albert,
    "google-research/electra": electra,
    "nanoGPT": nanogpt,
    "llama2.c": llama2_c,
}
WITH_TORCH = ("nanoGPT", "llama2.c")  # to write their files


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_program_has_its_lines_and_ours():
    assert {title for title, text in SECTIONS.items() if "```python" in text} == {*FOLDERS}
    for title in FOLDERS:
        (theirs,) = re.findall(r"```(py|bash)\n", SECTIONS[title])
        (ours,) = PYTHON.findall(SECTIONS[title])
        assert SECTIONS[title].index(f"```{theirs}") < SECTIONS[title].index("```python")
        assert ours.startswith("import zoo\n")


def lines_differ(title: str) -> list[str]:
    FOLDERS[title]()
    tf.config.run_functions_eagerly(".fit(" in SECTIONS[title])  # of a few steps: graphs take longer to trace
    try:
        return list(python_differences(SECTIONS[title]))
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.integration
@pytest.mark.parametrize("title", [title for title in FOLDERS if title not in ("KerasHub", *WITH_TORCH)])
def test_our_lines_run(title, in_a_folder):
    assert not lines_differ(title)


@pytest.mark.parity
@pytest.mark.parametrize("title", WITH_TORCH)
def test_our_lines_for_files_of_torch_run(title, in_a_folder):
    assert not lines_differ(title)


@pytest.mark.parity
def test_our_lines_for_keras_hub_run(in_a_folder):
    assert not lines_differ("KerasHub")
    script = "import zoo\nprint(zoo.load(sys.argv[2]).name)"  # and without TensorFlow, as the page says
    assert processes.run_on_jax(script, str(in_a_folder / "finetuned_bert")) == "classification\n"


@pytest.mark.slow
def test_convert_prints_what_is_shown(in_a_folder):
    published()
    assert not list(shell_differences(SECTIONS["Convert a folder"], in_a_folder))
    task = zoo.load("models/bert")
    assert (task.name, task.config.activation) == ("pretraining", "gelu_tanh")
    theirs = pytest.importorskip("transformers").BertForPreTraining
    model, told = theirs.from_pretrained("models/bert", output_loading_info=True)
    assert model.config.hidden_act == "gelu_new" and not (told["missing_keys"] or told["unexpected_keys"])


@pytest.mark.integration
def test_the_warning_is_the_one_shown(in_a_folder):
    run_classifier()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        zoo.load(UNCASED, weights=False)
    (shown,) = re.findall(r"```text\n(.*?)\n```", SECTIONS["What is assumed"], re.DOTALL)
    assert [str(warning.message) for warning in caught if warning.category is UserWarning] == [shown]


def test_its_links_lead_somewhere():
    places = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in SECTIONS}
    assert {link[1:] for link in re.findall(r"\]\((#[^)]*)\)", PAGE)} <= places
    for link in re.findall(r"\]\(([^#)][^)]*)\)", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)):
        page, _, title = link.partition("#")
        assert f"\n## {title.capitalize().replace('-', ' ')}\n" in (DOCS / page).read_text(encoding="utf-8")
