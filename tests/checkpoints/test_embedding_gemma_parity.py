"""EmbeddingGemma beside sentence-transformers: modules, prompts, shorter vectors, folders and exports."""

from __future__ import annotations

import json

import bare
import numpy as np
import pytest
from family_cases import CASES
from gemma_tokenizer import RUNS, gemma, write_gemma
from messages import messages
from mutations import effects, swap, swap_norms
from token_rows import rough_texts

import zoo
from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.weights.loading import load_weights

pytestmark = pytest.mark.parity
BOUND = 1e-4
WINDOW = 5  # tokens that are 2 places away are seen
PROMPTS = {"query": "task: search result | query: ", "document": "title: none | text: ", "STS": "task: similarity | "}


def encoder_config(**options):
    own = {"kind": "encoder", "num_layers": 7, "hidden_dim": 32, "max_length": 64, "window": WINDOW}
    return CASES["gemma3_text"].small(**(own | options))


CLASSES = [("Gemma3TextModel", 4), ("Gemma3TextModel", 5), ("Gemma3TextForSequenceClassification", 6)]


@pytest.mark.parametrize(("architecture", "window"), CLASSES)
def test_each_class(tmp_path, ours, theirs, architecture, window):
    config = encoder_config(vocabulary_size=90, window=window)
    values = make_config(config, architecture, labels=["no", "yes"] if "Class" in architecture else None)
    assert values["sliding_window"] == window
    reference = theirs.make(tmp_path / "theirs", architecture, **values)
    again, extra = read_config(tmp_path / "theirs")
    assert again.replace(block_options=()) == config.replace(block_options=())
    sides = {tuple(one.block(i).attention_window // 2 for i in (0, 1)) for one in (again, config)}
    assert len(sides) == 1  # of an odd number they write the even one below it, with the same neighbours

    model = ours.build(again, extra["architecture"], 2)
    load_weights(model, tmp_path / "theirs")
    inputs = ours.batch(config, length=21)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND

    def swap_head_norms(model):
        attention = model.get_layer("encoder_block_1").attention
        swap(attention.query_norm, attention.key_norm)

    found = effects(
        model,
        (swap_norms, swap_head_norms),
        restore=lambda: load_weights(model, tmp_path / "theirs"),
        difference=lambda: ours.difference(ours.predict(model, inputs), expected),
    )
    assert min(found.values()) > 100 * BOUND, found


def test_a_classifier_is_saved_as_theirs(embedder, tmp_path):
    import torch
    import transformers

    task = zoo.load(embedder[1], task="classification", labels=["no", "yes"], seed=0)
    task.save(tmp_path / "saved")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    learned = [text for text in messages() if len(text) < 40][:5]
    inputs = tokenizer(learned, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = model(**inputs).logits.softmax(-1).numpy()
    found = [list(row["probabilities"].values()) for row in task.predict(learned)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected, axis=0).min() > 1e-4


def write_modules(folder, width, seed=0):
    """Write the modules of the release: a mean, two dense layers without biases, and a norm."""
    import torch
    from sentence_transformers import SentenceTransformer, models

    torch.manual_seed(seed)
    linear, plain = torch.nn.Identity(), {"bias": False}
    modules = [
        models.Transformer(str(folder), max_seq_length=48),
        models.Pooling(width, pooling_mode="mean"),
        models.Dense(width, 4 * width, activation_function=linear, **plain),
        models.Dense(4 * width, width, activation_function=linear, **plain),
        models.Normalize(),
    ]
    made = SentenceTransformer(modules=modules, prompts=PROMPTS, device="cpu")
    made.save(str(folder.parent / "sentence"))
    return made, folder.parent / "sentence"


@pytest.fixture(scope="module")
def embedder(tmp_path_factory, theirs):
    """A model of sentence-transformers with random weights, and its folder."""
    folder = tmp_path_factory.mktemp("gemma") / "plain"
    folder.mkdir()
    library = gemma("<eos>", texts=messages(), size=500, added=RUNS)
    config = encoder_config(vocabulary_size=library.get_vocab_size(), pad_id=0, bos_id=2, eos_ids=[1])
    theirs.make(folder, "Gemma3TextModel", **make_config(config, "Gemma3TextModel"))
    write_gemma(folder, library)
    return write_modules(folder, config.hidden_dim)


def texts():
    return [*messages()[:20], *rough_texts()[:20], "", messages()[0] * 5]


def test_vectors(embedder, tmp_path):
    """Of all texts with each prompt; our folder is read there, and the export answers alone."""
    reference, folder = embedder
    task = zoo.load(folder)
    assert (task.kind.name, task.config.kind, task.max_length) == ("sentence_embedding", "encoder", 48)
    for prompt in (None, *PROMPTS):
        expected = reference.encode(texts(), prompt_name=prompt)
        assert np.corrcoef(expected[:20]).min() < 0.99  # texts are told apart
        np.testing.assert_allclose(task.embed(texts(), prompt=prompt), expected, atol=1e-5)

    task.save(tmp_path / "saved")
    again = type(reference)(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(again.encode(texts()), reference.encode(texts()), atol=1e-6)
    values = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert (values["model_type"], values["use_bidirectional_attention"]) == ("gemma3_text", True)

    task.export(tmp_path / "export")
    served = bare.ask(tmp_path / "export", {name: {"text": texts()} for name in ("serving_default", "query")})
    for name, prompt in {"serving_default": None, "query": "query"}.items():
        np.testing.assert_allclose(served[name]["embedding"], task.embed(texts(), prompt=prompt), atol=1e-5)


def test_shorter_vectors(embedder):
    reference, folder = embedder
    task = zoo.load(folder, truncate_dim=16)
    cut = type(reference)(str(folder), truncate_dim=16, device="cpu")
    expected = cut.encode(texts(), normalize_embeddings=True)
    found = task.embed(texts())
    assert found.shape == expected.shape == (len(texts()), 16)
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_it_learns(embedder, tmp_path):
    task, learned = zoo.load(embedder[1], lora_rank=2, seed=0), [text[:30] for text in messages()[:32]]
    before = task.embed(messages()[:4])
    history = task.fit(learned[:16], pairs=learned[16:], epochs=1, batch_size=8).history
    assert np.isfinite(history["loss"]).all() and np.abs(task.embed(messages()[:4]) - before).max() > 1e-6
    task.save(tmp_path / "saved")
    again = zoo.load(tmp_path / "saved")
    np.testing.assert_allclose(again.embed(messages()[:4]), task.embed(messages()[:4]), atol=1e-5)
