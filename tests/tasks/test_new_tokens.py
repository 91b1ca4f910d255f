"""New tokens: one id each, in Python and in the graph; rows from their pieces; nothing else changes; saved and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import every_task
import keras
import numpy as np
import pytest
from generating import lively

from keras_transformers.families import bert, gpt2, marian, t5
from keras_transformers.tasks import Task
from keras_transformers.tasks.new_tokens import SOURCE_TABLE, TABLES, add_tokens
from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.freeze import freeze
from keras_transformers.training.lora import add_lora
from keras_transformers.training.rematerialize import blocks_of, rematerialize

CORPUS = ["take two of these with water", "nimm zwei davon mit Wasser", "the doctor gave the old form"]
NEW = ["metformin", "insulin", "New York", "😀"]
TEXTS = ["take metformin and insulin", "😀 metformins in New York 😀", "water", ""]
SIZES = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 32}
KINDS = ("bert", "gpt2", "gpt2-untied", "gpt2-padded", "t5", "t5-untied", "marian", "marian-separate")
TABLES_OF = {
    "bert": ["token_embedding/embeddings", "masked_lm_bias/bias"],
    "gpt2": ["token_embedding/embeddings"],
    "gpt2-untied": ["token_embedding/embeddings", "lm_head/kernel"],
    "gpt2-padded": ["token_embedding/embeddings"],
    "t5": ["token_embedding/embeddings"],
    "t5-untied": ["token_embedding/embeddings", "lm_head/kernel"],
    "marian": ["token_embedding/embeddings", "output_bias/bias"],
    "marian-separate": ["encoder_token_embedding/embeddings", "token_embedding/embeddings", "output_bias/bias"],
}


def make(kind: str) -> Task:
    """A model with random weights that all matter."""
    keras.utils.set_random_seed(0)
    family = kind.partition("-")[0]
    if family == "bert":
        tokenizer = Tokenizer.train(CORPUS, 80)
        task = Task("masked_lm", bert(tokenizer.vocabulary_size, **SIZES), tokenizer)
    elif family == "gpt2":
        tokenizer = Tokenizer.train(CORPUS, 280, model="byte_pair")
        rows = tokenizer.vocabulary_size + (6 if kind == "gpt2-padded" else 0)
        options = {"eos_ids": [tokenizer.eos_id], "tie_embeddings": kind != "gpt2-untied"}
        task = Task("causal_lm", gpt2(rows, **SIZES, **options), tokenizer)
    else:
        task = seq2seq(kind)
    lively(task.model)
    return task


def seq2seq(kind: str) -> Task:
    source = target = Tokenizer.train(CORPUS, 70, model="unigram")
    options: dict[str, Any] = {"gated": True} if kind == "t5-untied" else {}
    if kind == "marian-separate":
        target = Tokenizer.train(CORPUS[:1], 40, model="unigram")
        options = {"encoder_vocabulary_size": source.vocabulary_size}
    options |= {"eos_ids": [target.eos_id], "pad_id": target.pad_id, "decoder_start_id": target.pad_id}
    family = t5 if kind.startswith("t5") else marian
    config = family(target.vocabulary_size, **SIZES, **options)
    return Task("seq2seq_lm", config, source, target_tokenizer=None if target is source else target)


def sides(task: Task) -> tuple[Tokenizer, Tokenizer]:
    return task.tokenizer, task.parts.attributes.get("target_tokenizer", task.tokenizer)


def logits(task: Task, text: str) -> np.ndarray:
    """The logits (1, T, V) for one text; a decoder with a source reads the target of the same text."""
    source, target = (np.array([side.encode([text])[0].ids]) for side in sides(task))
    own = {"token_ids": target, "padding_mask": np.ones_like(target), "segment_ids": np.zeros_like(target)}
    own |= {"mask_positions": np.arange(target.shape[1])[None]}
    own |= {"encoder_token_ids": source, "encoder_padding_mask": np.ones_like(source)}
    outputs = task.model({name: own[name] for name in task.model.input})
    return keras.ops.convert_to_numpy(outputs["logits"])


@pytest.fixture(scope="module")
def widened() -> Any:
    """Pairs of a task and the one with new tokens, by kind, each made once."""
    made: dict[str, tuple[Task, Task]] = {}

    def pair(kind: str) -> tuple[Task, Task]:
        if kind not in made:
            made[kind] = (task := make(kind)), add_tokens(task, NEW)
        return made[kind]

    return pair


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_token_is_one_id(widened, kind):
    task, wider = widened(kind)
    for old, new in zip(sides(task), sides(wider), strict=True):
        first = old.vocabulary_size
        assert [new.encode([token], special_tokens=False)[0].ids for token in NEW] == [[first + i] for i in range(4)]
        row = new.encode(["the metformin, New York: metformins, New Yorkers"])[0].ids
        assert [i for i in row if i >= first] == [first, first + 2]
        assert new.encode([CORPUS[0]])[0].ids == old.encode([CORPUS[0]])[0].ids
        assert all(token in new.decode(new.encode([" ".join(NEW)])[0].ids) for token in NEW[:2])
    assert wider.config.vocabulary_size == max(task.config.vocabulary_size, sides(wider)[1].vocabulary_size)


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5", "marian-separate"])
def test_the_graph_has_the_same_ids(widened, kind):
    from keras_transformers.text.graph.compile import compile_text

    for tokenizer in dict.fromkeys(sides(widened(kind)[1])):
        graph = compile_text(tokenizer.to_json(), pad_id=0)
        rows = tokenizer.encode(TEXTS, special_tokens=False)
        assert graph.tokenize(TEXTS).to_list() == [row.ids for row in rows]
        decoded = [text.decode() for text in graph.decode(graph.tokenize(TEXTS[:1]).to_tensor()).numpy()]
        assert decoded == tokenizer.decode([rows[0].ids])


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_mean_of_those_of_the_pieces(widened, kind):
    task, wider = widened(kind)
    old = {variable.path: np.array(variable) for variable in task.model.weights}
    found = []
    for variable in wider.model.weights:
        path, values = variable.path, np.array(variable)
        if path not in (*TABLES, SOURCE_TABLE):
            np.testing.assert_array_equal(values, old[path])
            continue
        found.append(path)
        before = sides(task)[path != SOURCE_TABLE]
        first, axis = before.vocabulary_size, TABLES.get(path, 0)
        values, known = np.moveaxis(values, axis, 0), np.moveaxis(old[path], axis, 0)
        np.testing.assert_array_equal(values[:first], known[:first])
        for row, token in enumerate(NEW, first):
            pieces = before.encode([token], special_tokens=False)[0].ids
            np.testing.assert_allclose(values[row], known[pieces].mean(0), atol=1e-6)
        np.testing.assert_array_equal(values[first + len(NEW) :], known[first + len(NEW) :])  # spare rows
    assert sorted(found) == sorted(TABLES_OF[kind])


@pytest.mark.integration(quick=["gpt2"])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_of_old_tokens_stay(widened, kind):
    task, wider = widened(kind)
    before, after = (logits(each, CORPUS[1]) for each in (task, wider))
    known = sides(task)[1].vocabulary_size
    np.testing.assert_allclose(after[..., :known], before[..., :known], atol=1e-5)
    assert after.shape[-1] == wider.config.vocabulary_size


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5-untied", "marian-separate"])
def test_it_learns_the_new_tokens(kind):
    wider = add_tokens(make(kind), NEW)
    table = next(v for v in wider.model.weights if v.path == "token_embedding/embeddings")
    before = np.array(table)
    labels = {"labels": TEXTS[:2] * 2} if kind.startswith(("t5", "marian")) else {}
    history = wider.fit(TEXTS[:2] * 2, epochs=2, batch_size=2, learning_rate=1e-3, verbose=0, **labels).history
    assert np.isfinite(history["loss"]).all()
    first = sides(wider)[1].vocabulary_size - len(NEW)
    assert np.abs(np.array(table) - before)[first : first + 2].max(-1).all()


@pytest.mark.integration
@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_read(widened, kind, tmp_path):
    import zoo

    wider = widened(kind)[1]
    wider.save(tmp_path / "saved")
    again = zoo.load(tmp_path / "saved")
    assert again.config == wider.config
    for side, loaded in zip(sides(wider), sides(again), strict=True):
        assert [row.ids for row in loaded.encode(TEXTS)] == [row.ids for row in side.encode(TEXTS)]
    np.testing.assert_array_equal(logits(again, TEXTS[0]), logits(wider, TEXTS[0]))
    more = add_tokens(again, ["warfarin"])
    assert sides(more)[1].vocabulary_size == sides(again)[1].vocabulary_size + 1


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in every_task.USES if name != "seq2seq_lm"])
def test_every_task(name):
    task = every_task.make(name)
    wider = add_tokens(task, ["metformin"])
    assert (wider.name, wider.options, wider.max_length) == (name, task.options, task.max_length)
    use = every_task.USES[name]
    before, after = (each.predict(*use.asked) for each in (task, wider))
    if name not in ("causal_lm", "masked_lm", "pretraining"):  # where new tokens get a share of the probability
        assert str(before) == str(after)
    assert len(before) == len(after)


@pytest.mark.integration
def test_what_was_set_since_is_kept():
    task = make("gpt2")
    task.generation = {"temperature": 0.5}
    freeze(task.model, ["decoder_block_0/*"])
    rematerialize(task.model)
    wider = add_tokens(task, ["metformin"])
    assert [block.remat for block in blocks_of(wider.model)] == [True]
    assert [block.remat for block in blocks_of(add_tokens(make("gpt2"), ["metformin"]).model)] == [False]
    assert wider.generation == {"temperature": 0.5}
    assert [v.path for v in wider.model.trainable_variables] == [v.path for v in task.model.trainable_variables]
    tokenizer = task.tokenizer
    config = gpt2(tokenizer.vocabulary_size, **SIZES, eos_ids=[tokenizer.eos_id])
    ending = with_end_token(tokenizer, tokenizer.eos_id)
    classifier = Task("classification", config, ending, labels=["no", "yes"], outputs=["hidden_states"])
    wider = add_tokens(classifier, ["metformin"])
    assert wider.tokenizer.encode(["metformin"])[0].ids == [280, tokenizer.eos_id]
    assert (list(wider.labels), wider.outputs) == (["no", "yes"], ("hidden_states",))


@pytest.mark.integration
def test_generated_text_can_hold_a_new_token():
    task = add_tokens(make("gpt2"), ["metformin"])
    answers = task.generate(["take"], max_new_tokens=3, token_bias={task.tokenizer.token_to_id("metformin"): 1e4})
    assert answers == ["metformin" * 3]


@pytest.fixture(scope="module")
def small() -> Task:
    return make("bert")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "tokens is empty"),
        ("metformin", r"received one str\. Pass \[text\]"),
        ([b"a"], "received bytes at row 0"),
        ([""], "'' at row 0 is empty, or begins or ends with whitespace"),
        (["a b", " insulin"], "' insulin' at row 1 is empty, or begins or ends with whitespace"),
        (["\n"], "begins or ends with whitespace"),
        (["insulin", "x1", "insulin"], r"\['insulin'\] more than once"),
        (["water"], "'water' is a token of the vocabulary already: id 74"),
        (["Water"], "'Water' is a token of the vocabulary already: id 74, 'water'"),  # as it is lower-cased
        (["[MASK]"], r"'\[MASK\]' is a token of the vocabulary already: id 4"),
        (["##e"], "'##e' is a token of the vocabulary already"),
        (["\u200d"], "normalises it to nothing"),
        (["Covid", "covid"], "'[Cc]ovid' is cut into"),
    ],
)
def test_tokens_that_are_refused(small, tokens, message):
    with pytest.raises(ValueError, match=message):
        add_tokens(small, tokens)


def test_a_byte_level_tokenizer_takes_accented_letters_for_bytes():
    tokenizer = Tokenizer.train([], model="bytes")
    with pytest.raises(ValueError, match="'Zürich' would be decoded to 'Z\ufffdrich'"):
        tokenizer.with_tokens(["Zürich"])
    assert tokenizer.with_tokens(["日本"]).encode(["日本日本"])[0].ids == [257, 257]


@pytest.mark.integration
def test_adapters_are_refused():
    task = make("gpt2")
    add_lora(task.model, rank=2)
    with pytest.raises(ValueError, match=r"adapters \(LoRA\).*Add tokens first"):
        add_tokens(task, ["metformin"])


@pytest.mark.integration
def test_two_tokenizers_of_one_table_agree_on_ids():
    source, target = (Tokenizer.train(CORPUS[:n], 70, model="unigram") for n in (3, 1))
    ids = {"eos_ids": [1], "pad_id": 0, "decoder_start_id": 0}
    task = Task("seq2seq_lm", marian(80, **SIZES, **ids), source, target_tokenizer=target)
    with pytest.raises(ValueError, match="share one table, and their tokenizers have"):
        add_tokens(task, ["metformin"])


@pytest.mark.parity
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "marian-separate"])
def test_transformers_reads_it(widened, kind, tmp_path):
    """But not two vocabularies with new tokens of unlike ids: its tokenizer has one table of added tokens."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    wider = widened(kind)[1]
    wider.save(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = wider.tokenizer.encode(TEXTS[:1])[0].ids
    assert [tokenizer(text)["input_ids"] for text in TEXTS] == [row.ids for row in wider.tokenizer.encode(TEXTS)]
    assert len(tokenizer) == wider.tokenizer.vocabulary_size

    name = {"masked_lm": "MaskedLM", "causal_lm": "CausalLM", "seq2seq_lm": "Seq2SeqLM"}[wider.name]
    model = getattr(transformers, f"AutoModelFor{name}").from_pretrained(tmp_path).eval()
    inputs = {"input_ids": torch.tensor([ids])}
    inputs |= {"decoder_input_ids": inputs["input_ids"]} if wider.name == "seq2seq_lm" else {}
    with torch.no_grad():
        theirs = model(**inputs).logits.numpy()
    np.testing.assert_allclose(logits(wider, TEXTS[0]), theirs, atol=1e-4)


@pytest.mark.parity
@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5"])
def test_a_tokenizer_that_transformers_saved(kind, tmp_path):
    """It lists added tokens in tokenizer_config.json; new ones are listed there, too."""
    transformers = pytest.importorskip("transformers")
    make(kind).tokenizer.save(tmp_path / "ours")
    transformers.AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    path = tmp_path / "theirs" / "tokenizer_config.json"
    values = json.loads(path.read_text())
    tokenizer = Tokenizer.from_folder(tmp_path / "theirs")
    decoder = {
        str(i): {"content": token.content, "special": token.special, "normalized": token.normalized}
        for i, token in tokenizer._library.get_added_tokens_decoder().items()
    }
    path.write_text(json.dumps(values | {"added_tokens_decoder": decoder}))  # as its version 4 wrote
    wider = Tokenizer.from_folder(tmp_path / "theirs").with_tokens(NEW)
    wider.save(tmp_path / "wider")
    assert_same(tmp_path / "wider", wider)


def assert_same(folder: Path, tokenizer: Tokenizer) -> None:
    import transformers

    expected = [row.ids for row in tokenizer.encode(TEXTS)]
    assert [row.ids for row in Tokenizer.from_folder(folder).encode(TEXTS)] == expected
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert [theirs(text)["input_ids"] for text in TEXTS] == expected
