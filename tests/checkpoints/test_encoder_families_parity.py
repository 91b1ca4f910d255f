"""Each family of encoders beside `transformers`: logits, a training step's gradients, folders, texts; real sizes, too.

`python -m pytest -n 0 -m "parity and slow" tests/checkpoints/test_encoder_families_parity.py` prints the figures.
"""

from __future__ import annotations

import gc
import json
from contextlib import nullcontext

import bare
import numpy as np
import pytest
from family_cases import CASES, ENCODERS
from family_tokenizers import write_tokenizer
from messages import messages
from token_rows import differing, mismatches, rough_texts
from training_steps import LABELS, LOSSES, compare, cut, read_by_them

import zoo
from keras_transformers.checkpoints.settings.huggingface_config import make_config
from keras_transformers.checkpoints.settings.names import FAMILIES, architecture_of
from keras_transformers.families import electra
from keras_transformers.text.graph.compile import compile_text

pytestmark = pytest.mark.parity
BOUND, LENGTH = 1e-4, 64
STEPS = [(name, task) for name in ENCODERS for task in LOSSES if task in FAMILIES[CASES[name].family].tasks]
# The models of real size: entries of the zoo, and ELECTRA's generator, whose embeddings are wider than its blocks.
GENERATOR = electra(30_522, num_layers=12, num_heads=4, hidden_dim=256, intermediate_dim=1024, embedding_dim=768)
MODELS = (
    "bert_base_en_uncased", "roberta_base", "xlm_roberta_base", "distilbert_base", "electra_base", "electra_small",
    "albert_base_v2", "all_mpnet_base_v2", "modernbert_base", "deberta_v3_base", "nomic_embed_v1_5",
    "gte_base_en_v1_5", "gte_multilingual_base", "eurobert_210m",
)  # fmt: skip
GAIN = 0.5  # with the usual one, the tokens of a deep post-norm model grow alike, and attention has no gradient


def test_every_family_of_the_zoo_is_compared_at_real_size():
    configs = [entry.config for entry in map(zoo.describe, zoo.names()) if entry.config]
    of_zoo = {config.family for config in configs if (config.kind, config.mixer) == ("encoder", "attention")}
    assert {zoo.describe(name).config.family for name in MODELS} == of_zoo - {"gemma3_text"}  # in test_gemma_parity.py


@pytest.mark.parametrize(("name", "task"), STEPS, ids=[f"{name}-{task}" for name, task in STEPS])
def test_gradients_of_a_step(tmp_path, ours, theirs, name, task):
    found = compare(tmp_path, ours, theirs, CASES[name].compared(), task, rows=3, length=21, gain=1.0)
    assert found["gradients"] < BOUND


def test_the_longest_text_of_roberta(tmp_path, ours, theirs):
    """512 tokens, in 514 rows of positions."""
    found = compare(tmp_path, ours, theirs, CASES["roberta"].small(max_length=512), "masked_lm", 2, 512, gain=1.0)
    settings = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert settings["max_position_embeddings"] == 514
    assert max(found["logits"], found["gradients"]) < BOUND


@pytest.mark.slow
@pytest.mark.parametrize("name", ["electra_base_generator", *MODELS])
def test_models_of_real_size(tmp_path, ours, theirs, capsys, name):
    """2 texts of up to 128 tokens: the masked LM, or the discriminator."""
    gc.collect()  # of the model before
    config = cut(GENERATOR if name == "electra_base_generator" else zoo.describe(name).config)
    is_discriminator = name.startswith("electra") and config is not GENERATOR
    task = "replaced_tokens" if is_discriminator else "masked_lm"
    found = compare(tmp_path, ours, theirs, config, task, rows=2, length=128, gain=GAIN)
    report(capsys, f"{name} ({config.num_layers} x {config.hidden_dim}, {task})", found)
    assert max(found["logits"], found["gradients"]) < BOUND


def report(capsys, name, found):
    with capsys.disabled():
        print(f"\n{name}: " + ", ".join(f"{what} {value:.1e}" for what, value in found.items()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_texts(tmp_path, theirs, capsys, name):
    """A classifier with the family's kind of tokenizer: tokens, and answers of the task, its folder and its export."""
    transformers, learned = pytest.importorskip("transformers"), messages()
    reference = classifier(tmp_path, theirs, CASES[name], learned)
    tells = pytest.warns(UserWarning, match="both texts of a pair get segment 0, as in transformers 5")
    with tells if name == "albert" else nullcontext():
        task = zoo.load(tmp_path)
    task.save(tmp_path / "saved")
    task.export(tmp_path / "export")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    check_tokens(task.tokenizer, tokenizer, [*learned, *rough_texts()])

    texts, pairs = [*learned[:6], *rough_texts()[-6:], learned[0] * 20], [*rough_texts()[-7:], *learned[-6:]]
    requests = {"serving_default": {"text": texts}, "pair": {"text": texts, "text_pair": pairs}}
    served = bare.ask(tmp_path / "export", requests)
    saved, found = read_by_them(type(reference), tmp_path / "saved"), {}
    for signature, columns in {"serving_default": (texts,), "pair": (texts, pairs)}.items():
        expected = probabilities(reference, tokenizer, *columns)
        assert np.ptp(expected, axis=0).min() > 0.01  # texts are told apart
        answers = {
            "task": [list(row["probabilities"].values()) for row in task.predict(*columns)],
            "export": served[signature]["probabilities"],
            "saved": probabilities(saved, tokenizer, *columns),
        }
        found |= {f"{what} of {signature}": np.abs(np.array(answers[what]) - expected).max() for what in answers}
    report(capsys, name, found)
    assert max(found.values()) < BOUND


def classifier(folder, theirs, case, texts):
    """Return a random classifier of `transformers`, in a folder beside a tokenizer of the family's kind."""
    import transformers

    write_tokenizer(folder, case.family, texts, size=500)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = case.small(vocabulary_size=len(tokenizer), pad_id=tokenizer.pad_token_id, max_length=LENGTH)
    architecture = architecture_of("classification", case.family)
    return theirs.make(folder, architecture, **make_config(config, architecture, labels=LABELS, problem="single_label"))


def check_tokens(ours, theirs, texts):
    """Compare ids, segments and offsets of texts and of pairs: `transformers`, our tokenizer, and its graph."""
    graph = compile_text(ours.to_json(), ours.pad_id)
    for columns in ((texts,), (texts[::9], texts[::-9])):
        assert not differing(ours, theirs, *columns)
        assert not mismatches(ours, graph, *columns)


def probabilities(model, tokenizer, *columns):
    """Return the probabilities that a classifier of `transformers` gives to texts, or to pairs."""
    import torch

    has_segments = getattr(model.config, "type_vocab_size", 0) > 1
    options = {"padding": True, "truncation": True, "max_length": LENGTH, "return_tensors": "pt"}
    inputs = tokenizer(*columns, **options)  # with the types that its class gives by itself
    if not has_segments:
        inputs.pop("token_type_ids", None)
    with torch.no_grad():
        return model(**inputs).logits.softmax(-1).numpy()
