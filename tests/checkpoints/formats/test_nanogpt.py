from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gpt2_folder import TOKENS, write  # noqa: E402
from torch_runs import CHARACTERS, nanogpt_logits, nanogpt_state, write_characters, write_run  # noqa: E402

import zoo  # noqa: E402
from keras_transformers.checkpoints.formats import find_stored  # noqa: E402
from keras_transformers.checkpoints.stored import UserOptions  # noqa: E402

pytestmark = pytest.mark.parity
SIZES = {"n_layer": 2, "n_head": 2, "n_embd": 8, "block_size": 16, "bias": False, "dropout": 0.0}
SIZES |= {"vocab_size": len(CHARACTERS)}
IDS = np.array([[1, 5, 9, 3, 0, 12], [4, 4, 2, 0, 11, 7]])


def run(folder, arguments=SIZES, seed=0, **options):
    write_run(folder / "ckpt.pt", state := nanogpt_state(arguments, seed), arguments, **options)
    write_characters(folder)
    return folder, state


def logits(task, ids=IDS):
    return task.model.predict({"token_ids": ids, "padding_mask": np.ones_like(ids)}, verbose=0)["logits"]


@pytest.mark.parametrize(
    "bias, prefix, seed", [(False, "_orig_mod.", 0), (True, "", 1), (True, "module._orig_mod.", 2)]
)
def test_the_numbers_of_the_program(tmp_path, bias, prefix, seed):
    arguments = SIZES | {"bias": bias, "n_head": 4 if seed else 2}
    folder, state = run(tmp_path / "out", arguments, seed, prefix=prefix)
    expected = nanogpt_logits(state, arguments, IDS)
    task = zoo.load(folder)
    np.testing.assert_allclose(logits(task), expected, atol=1e-5)
    np.testing.assert_allclose(logits(zoo.load(folder / "ckpt.pt")), expected, atol=1e-5)
    task.save(tmp_path / "saved")
    np.testing.assert_allclose(logits(zoo.load(tmp_path / "saved")), expected, atol=1e-5)
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "saved").eval()
    with torch.no_grad():
        np.testing.assert_allclose(theirs(torch.tensor(IDS)).logits.numpy(), expected, atol=1e-5)


def test_characters_in_and_out(tmp_path):
    folder, state = run(tmp_path)
    task = zoo.load(folder)
    ids = task.tokenizer.encode(["a bad cab!\n"])[0].ids
    assert ids == [CHARACTERS.index(letter) for letter in "a bad cab!\n"]
    (text,) = task.generate(["bad "], max_new_tokens=8, temperature=0.0)
    expected = ids = [CHARACTERS.index(letter) for letter in "bad "]
    for _ in range(8):
        expected = [*expected, int(nanogpt_logits(state, SIZES, [expected])[0, -1].argmax())]
    assert text == "".join(CHARACTERS[number] for number in expected[4:])
    task.export(tmp_path / "export")


def test_before_the_option_bias_gelu_has_tanh(tmp_path):
    arguments = {key: value for key, value in SIZES.items() if key != "bias"}
    state = nanogpt_state(SIZES | {"bias": True})
    write_run(tmp_path / "ckpt.pt", state, arguments)
    write_characters(tmp_path)
    with pytest.warns(UserWarning, match="gelu with tanh"):
        task = zoo.load(tmp_path)
    np.testing.assert_allclose(logits(task), nanogpt_logits(state, SIZES, IDS, "tanh"), atol=1e-5)


def test_byte_pairs_of_gpt2(tmp_path):
    arguments = SIZES | {"vocab_size": 264}  # 259 tokens, filled up to a multiple of eight
    write_run(tmp_path / "ckpt.pt", nanogpt_state(arguments), arguments)
    write(tmp_path / "gpt2")
    for name in ("encoder.json", "vocab.bpe"):
        (tmp_path / "gpt2" / name).rename(tmp_path / name)
    stored = find_stored(tmp_path)
    assert stored.tokenizers()[0].encode([" fine"])[0].ids == [TOKENS.index(token) for token in ("Ġf", "i", "n", "e")]
    assert stored.config.eos_ids == (TOKENS.index("<|endoftext|>"),)


class TestTokenizer:
    def test_none_is_there(self, tmp_path):
        folder, _ = run(tmp_path)
        (folder / "meta.pkl").unlink()
        with pytest.raises(
            ValueError, match=r"nanoGPT, which holds no tokenizer.* 13 tokens.*data/plays_char/meta.pkl"
        ):
            zoo.load(folder)

    @pytest.mark.parametrize("rows", [50257, 50304])
    def test_that_of_gpt2_is_asked_for(self, tmp_path, rows):
        arguments = SIZES | {"vocab_size": rows}
        write_run(tmp_path / "ckpt.pt", nanogpt_state(arguments), arguments)
        with pytest.raises(ValueError, match=r"Copy there GPT-2's encoder.json and vocab.bpe"):
            zoo.load(tmp_path / "ckpt.pt")

    def test_of_another_model(self, tmp_path):
        folder, _ = run(tmp_path)
        write_characters(folder, CHARACTERS + "k")
        with pytest.raises(ValueError, match=r"meta.pkl has 14 tokens, and the model 13"):
            zoo.load(folder)

    @pytest.mark.parametrize(
        "meta", [{"stoi": {"ab": 0}}, {"stoi": {"a": 1}}, {"stoi": [1]}, {}, [], {"stoi": {"a": "0"}}]
    )
    def test_that_is_no_table_of_characters(self, tmp_path, meta):
        folder, _ = run(tmp_path)
        (folder / "meta.pkl").write_bytes(pickle.dumps(meta))
        with pytest.raises(ValueError, match=r"meta.pkl holds no characters"):
            zoo.load(folder)

    def test_its_code_is_not_run(self, tmp_path):
        class Evil:
            def __reduce__(self):
                return (os.mkdir, (str(tmp_path / "ran"),))

        folder, _ = run(tmp_path / "out")
        (folder / "meta.pkl").write_bytes(pickle.dumps({"stoi": {"a": 0}, "evil": Evil()}))
        with pytest.raises(ValueError, match=r"meta.pkl is damaged, or no pickle of plain values .*mkdir"):
            zoo.load(folder)
        torch.save({"model": {}, "model_args": SIZES, "evil": Evil()}, folder / "ckpt.pt")
        with pytest.raises(ValueError, match=r"ckpt.pt: it wants to use .*mkdir"):
            zoo.load(folder)
        assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("key, value", [("n_embd", 768), ("n_layer", 12), ("block_size", 1024), ("vocab_size", 10**9)])
def test_sizes_that_contradict_the_tensors(tmp_path, key, value):
    write_run(tmp_path / "ckpt.pt", nanogpt_state(SIZES), SIZES | {key: value})
    write_characters(tmp_path)
    with pytest.raises(ValueError, match=f"ckpt.pt says .*{value}.*two models"):
        find_stored(tmp_path)


@pytest.mark.parametrize("value, message", [("2", "n_head must be a int"), (3, "cannot have 3"), (0, "cannot have 0")])
def test_heads_that_cannot_be(tmp_path, value, message):
    write_run(tmp_path / "ckpt.pt", nanogpt_state(SIZES), SIZES | {"n_head": value})
    write_characters(tmp_path)
    with pytest.raises(ValueError, match=message):
        find_stored(tmp_path)


def test_options_that_the_file_says(tmp_path):
    folder, _ = run(tmp_path)
    with pytest.raises(ValueError, match=r"num_heads=2 .*Leave it out"):
        find_stored(folder, UserOptions(num_heads=2))


def test_several_files(tmp_path):
    for name in ("small.pt", "large.pt"):
        write_run(tmp_path / name, nanogpt_state(SIZES), SIZES)
    write_characters(tmp_path)
    with pytest.raises(ValueError, match=r"several checkpoints, \['large.pt', 'small.pt'\].*Give the file"):
        zoo.load(tmp_path)
    assert find_stored(tmp_path / "small.pt").config.hidden_dim == 8


def test_a_file_that_is_cut_short(tmp_path):
    folder, _ = run(tmp_path)
    content = (folder / "ckpt.pt").read_bytes()
    (folder / "ckpt.pt").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"ckpt.pt"):
        zoo.load(folder)


def test_a_changed_model(tmp_path):
    state = nanogpt_state(SIZES)
    write_run(tmp_path / "ckpt.pt", state | {"transformer.h.0.extra.weight": torch.ones(3)}, SIZES)
    write_characters(tmp_path)
    with pytest.raises(ValueError, match=r"transformer.h.0.extra.weight"):
        zoo.load(tmp_path)
    del state["transformer.wpe.weight"]
    write_run(tmp_path / "ckpt.pt", state, SIZES)
    with pytest.raises(ValueError, match=r"holds none as transformer.wpe.weight"):
        zoo.load(tmp_path)
