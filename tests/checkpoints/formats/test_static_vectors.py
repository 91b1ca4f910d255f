"""Tables of vectors of tokens: read as sentence-transformers and model2vec write them, learned, saved, exported."""

from __future__ import annotations

import json
from pathlib import Path

import bare
import numpy as np
import pytest
import safetensors.numpy
import tiny

import zoo
from keras_transformers.text.tokenizer import Tokenizer

TEXTS = [*tiny.TEXTS[:6], "", "film", "zebra Ω", "a fine film " * 30]
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def write(
    folder: Path, tensors: dict[str, np.ndarray], modules: list | None = None, config: dict | None = None
) -> Path:
    """Write a folder as the two libraries do."""
    folder.mkdir(parents=True)
    tiny.tokenizer().save(folder)
    (folder / "tokenizer_config.json").unlink()  # they write none
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    for name, values in (("modules.json", modules), ("config.json", config)):
        if values is not None:
            (folder / name).write_text(json.dumps(values))
    return folder


def table(rows: int | None = None, width: int = 8) -> np.ndarray:
    rows = tiny.tokenizer().vocabulary_size if rows is None else rows
    return np.random.default_rng(0).normal(size=(rows, width)).astype("float32")


def means(vectors: np.ndarray, normalize: bool) -> np.ndarray:
    """Return the mean of the vectors of the tokens of each text, without special tokens; zeros for none."""
    rows = tiny.tokenizer().encode(TEXTS, special_tokens=False)
    found = np.stack([vectors[row.ids].mean(axis=0) if row.ids else 0 * vectors[0] for row in rows])
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12) if normalize else found


@pytest.mark.integration
def test_a_folder_of_sentence_transformers(tmp_path):
    vectors = table()
    task = zoo.load(write(tmp_path / "theirs", {"embedding.weight": vectors}, MODULES))
    assert task.name == "sentence_embedding" and "0 layers x 8" in repr(task)
    np.testing.assert_allclose(task.embed(TEXTS), means(vectors, True), atol=1e-6)
    assert task.embed([]).shape == (0, 8) and not task.embed([""]).any()
    assert task.search(["a fine film"], TEXTS, top=1)[0][0]["text"] in ("a fine film", "a fine film " * 30)

    task.fit(TEXTS[:4], pairs=TEXTS[1:5], epochs=1, learning_rate=1e-2, verbose=0)
    assert np.abs(task.embed(TEXTS) - means(vectors, True)).max() > 1e-3
    task.save(tmp_path / "ours")
    task.save(tmp_path / "ours")  # a folder that a save has written may be replaced
    again = zoo.load(tmp_path / "ours")
    np.testing.assert_allclose(again.embed(TEXTS), task.embed(TEXTS), atol=1e-6)
    assert again.max_length == task.max_length
    again.export(tmp_path / "1")
    answers = bare.ask(tmp_path / "1", {"serving_default": {"text": TEXTS}})
    np.testing.assert_allclose(answers["serving_default"]["embedding"], task.embed(TEXTS), atol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("normalize", [True, False])
def test_a_folder_of_model2vec(tmp_path, normalize):
    """Fewer rows than tokens, the row of each token, and a weight of each."""
    count = tiny.tokenizer().vocabulary_size
    random = np.random.default_rng(1)
    mapping, weights = random.integers(0, 5, count), random.random(count).astype("float32")
    tensors = {"embeddings": table(5).astype("float16"), "mapping": mapping, "weights": weights}
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": normalize}
    with pytest.warns(UserWarning, match="unknown tokens count in the mean of a text"):
        task = zoo.load(write(tmp_path / "theirs", tensors, config=config))
    whole = tensors["embeddings"].astype("float32")[mapping] * weights[:, None]
    np.testing.assert_allclose(task.embed(TEXTS), means(whole, normalize), atol=1e-6)
    assert task.max_length == 512  # as `StaticModel.encode` has it


@pytest.mark.integration
def test_layers_behind_a_table_in_a_folder_of_its_own(tmp_path):
    from keras_transformers.families import static
    from keras_transformers.tasks import Task

    config = static(tiny.tokenizer().vocabulary_size, hidden_dim=8)
    dense = [{"units": 5, "activation": "tanh"}, {"layer": "layer_norm"}]
    task = Task("sentence_embedding", config, tiny.tokenizer(), dense=dense, similarity="dot", normalize=False)
    task.save(tmp_path / "model")
    (tmp_path / "model" / "0_StaticEmbedding").mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / "model" / name).rename(tmp_path / "model" / "0_StaticEmbedding" / name)
    path = tmp_path / "model" / "modules.json"
    modules = json.loads(path.read_text())
    assert [module["path"] for module in modules] == ["", "1_Dense", "2_LayerNorm"]
    path.write_text(json.dumps([modules[0] | {"path": "0_StaticEmbedding"}, *modules[1:]]))
    again = zoo.load(tmp_path / "model")
    assert (again.similarity, again.normalize, len(again.dense)) == ("dot", False, 2)
    with pytest.raises(ValueError, match="'classification' of family 'model2vec': expected one of"):
        zoo.load(tmp_path / "model", "classification", labels=2)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"embedding.weight": table(3)[0]}, "the weights in .* have the shapes .*'embedding.weight': .8"),
        ({"embeddings": table(), "mapping": np.zeros((2, 2), "int64")}, "optionally mapping with the row"),
        ({"embeddings": table(), "weights": np.ones(3, "float32")}, "weights with a number for each"),
        ({"embeddings": table(), "mapping": np.full(300, 400)}, "mapping in .* has numbers that are no row of"),
        ({"embeddings": table(), "mapping": np.full(300, -1)}, "mapping in .* has numbers that are no row of"),
        ({"embeddings": table(3)}, "tokens, the model 3: they do not belong together"),
        ({"embeddings": table().astype("int8")}, "dequantized first"),
        ({"other": table()}, "weights without the configuration|the weights in .* have the shapes"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, tensors, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "model", tensors, MODULES))


def test_other_poolings_are_refused(tmp_path):
    folder = write(tmp_path / "model", {"embedding.weight": table()}, MODULES)
    with pytest.raises(ValueError, match="the mean of the vectors of all its tokens, prompts included"):
        zoo.load(folder, pooling="max")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match="weights without the configuration"):
        zoo.load(folder)


@pytest.mark.parity
def test_sentence_transformers_reads_and_writes_it(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = Tokenizer.train(tiny.TEXTS, vocabulary_size=300, model="byte_pair")
    tokenizer.save(tmp_path / "tokenizer")
    import tokenizers

    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer" / "tokenizer.json"))
    theirs = SentenceTransformer(
        modules=[StaticEmbedding(library, embedding_weights=table(library.get_vocab_size())), Normalize()],
        similarity_fn_name="dot", prompts={"query": "a fine "}, device="cpu",
    )  # fmt: skip
    theirs.save_pretrained(str(tmp_path / "theirs"))
    task = zoo.load(tmp_path / "theirs")
    for prompt in (None, "query"):
        np.testing.assert_allclose(
            task.embed(TEXTS, prompt=prompt), theirs.encode(TEXTS, prompt_name=prompt), atol=1e-6
        )
    task.save(tmp_path / "ours")
    again = SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    assert again.similarity_fn_name == "dot" and type(again[0]) is StaticEmbedding
    np.testing.assert_allclose(again.encode(TEXTS), theirs.encode(TEXTS), atol=1e-6)
