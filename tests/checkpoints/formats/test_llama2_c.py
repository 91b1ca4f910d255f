from __future__ import annotations

import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_runs import llama2_c_logits, llama2_c_state, write_run  # noqa: E402

import zoo  # noqa: E402
from keras_transformers.checkpoints.formats import find_stored  # noqa: E402
from keras_transformers.text.folder import llama2_c_tokenizer  # noqa: E402
from keras_transformers.text.sentencepiece import spm_file  # noqa: E402
from keras_transformers.text.sentencepiece.spm_file import BPE, BYTE, CONTROL, UNKNOWN, Piece  # noqa: E402

pytestmark = pytest.mark.parity
WORDS = ("▁", "a", "b", "c", "d", "ab", "▁ab", "cd", "▁abcd")
PIECES = (
    Piece("<unk>", 0, UNKNOWN), Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL),
    *(Piece(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)),
    *(Piece(word, -number - 1.0) for number, word in enumerate(WORDS)),
)  # fmt: skip
MODEL = spm_file.SentencePieceModel(PIECES, BPE, byte_fallback=True, extra_spaces=True)
SIZES = {"dim": 8, "n_layers": 2, "n_heads": 2, "n_kv_heads": None, "vocab_size": len(PIECES), "multiple_of": 4}
SIZES |= {"max_seq_len": 16, "dropout": 0.0}
IDS = np.array([[1, 260, 263, 264, 259, 262], [1, 267, 261, 262, 65, 264]])


def run(folder, arguments=SIZES, seed=0, inner=12):
    write_run(folder / "ckpt.pt", state := llama2_c_state(arguments, inner, seed), arguments)
    (folder / "tokenizer.model").write_bytes(spm_file.serialize(MODEL))
    return folder, state


def write_binary(path):
    """Write what llama2.c's tokenizer.py writes for its C program."""
    texts = [f"\n{piece.text}\n" if piece.kind == CONTROL else piece.text.replace("▁", " ") for piece in PIECES]
    rows = [(piece.score, text.encode()) for piece, text in zip(PIECES, texts, strict=True)]
    longest = max(len(text) for _, text in rows)
    path.write_bytes(struct.pack("I", longest) + b"".join(struct.pack("fI", s, len(t)) + t for s, t in rows))


def logits(task, ids=IDS):
    return task.model.predict({"token_ids": ids, "padding_mask": np.ones_like(ids)}, verbose=0)["logits"]


@pytest.mark.parametrize("heads, kv_heads, more", [(2, None, {}), (4, 2, {"norm_eps": 1e-3}), (4, 1, {})])
def test_the_numbers_of_the_program(tmp_path, heads, kv_heads, more):
    arguments = SIZES | {"n_heads": heads, "n_kv_heads": kv_heads, "dim": 16} | more
    folder, state = run(tmp_path / "out", arguments, seed=heads)
    expected = llama2_c_logits(state, arguments, IDS)
    task = zoo.load(folder)
    np.testing.assert_allclose(logits(task), expected, atol=2e-5)
    task.save(tmp_path / "saved")
    np.testing.assert_allclose(logits(zoo.load(tmp_path / "saved")), expected, atol=2e-5)
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "saved").eval()
    with torch.no_grad():
        np.testing.assert_allclose(theirs(torch.tensor(IDS)).logits.numpy(), expected, atol=2e-5)


def test_the_tokens_of_sentencepiece_and_of_the_binary_file(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    folder, _ = run(tmp_path)
    texts = ["abcd", "ab  cd", " ab", "", "a é d\n", "cdab ab"]
    library = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    expected = [[1, *library.encode(text)] for text in texts]
    assert [row.ids for row in find_stored(folder).tokenizers()[0].encode(texts)] == expected
    (folder / "tokenizer.model").unlink()
    write_binary(folder / "tok268.bin")
    assert [row.ids for row in find_stored(folder).tokenizers()[0].encode(texts)] == expected


def test_text_in_and_out(tmp_path):
    folder, state = run(tmp_path)
    task = zoo.load(folder / "ckpt.pt")
    (text,) = task.generate(["ab"], max_new_tokens=5, temperature=0.0)
    ids = task.tokenizer.encode(["ab"])[0].ids
    for _ in range(5):
        ids = [*ids, int(llama2_c_logits(state, SIZES, [ids])[0, -1].argmax())]
        if ids[-1] in (1, 2):
            break
    assert text == task.tokenizer.decode([ids])[0].removeprefix("ab")
    task.export(tmp_path / "export")


@pytest.mark.parametrize("held, message", [((), "there is none"), (("a.model", "b.model"), r"it holds \['a.model', 'b"),
                                           (("tok1.bin", "tok2.bin"), r"it holds \['tok1.bin")])  # fmt: skip
def test_without_a_tokenizer(tmp_path, held, message):
    folder, _ = run(tmp_path)
    (folder / "tokenizer.model").unlink()
    for name in held:
        (folder / name).write_bytes(b"")
    with pytest.raises(
        ValueError, match=rf"llama2.c, which holds no tokenizer: .*{message}.*268 tokens.*tokenizer.model"
    ):
        zoo.load(folder)


def test_the_tokenizer_of_another_model(tmp_path):
    folder, _ = run(tmp_path, SIZES | {"vocab_size": 32000})
    with pytest.raises(ValueError, match=r"tokenizer.model has 268 tokens, and the model 32,000"):
        zoo.load(folder)


@pytest.mark.parametrize("size", [0, 3, 4, 5, 11, 12, 40, -1])
def test_a_binary_tokenizer_that_is_cut_short(tmp_path, size):
    write_binary(tmp_path / "tokenizer.bin")
    content = (tmp_path / "tokenizer.bin").read_bytes()
    (tmp_path / "tokenizer.bin").write_bytes(content[:size])
    with pytest.raises(ValueError, match=r"tokenizer.bin (is cut short|does not begin)"):
        llama2_c_tokenizer.read(tmp_path / "tokenizer.bin")


@pytest.mark.parametrize("key, value", [("dim", 768), ("n_layers", 12), ("vocab_size", 32000)])
def test_sizes_that_contradict_the_tensors(tmp_path, key, value):
    folder, _ = run(tmp_path)
    write_run(folder / "ckpt.pt", llama2_c_state(SIZES, 12), SIZES | {key: value})
    with pytest.raises(ValueError, match=f"ckpt.pt says .*{value}.*two models"):
        find_stored(folder)


@pytest.mark.parametrize("key, value", [("n_heads", 3), ("n_kv_heads", 3), ("n_heads", -2), ("n_heads", 2.0)])
def test_heads_that_cannot_be(tmp_path, key, value):
    folder, _ = run(tmp_path)
    write_run(folder / "ckpt.pt", llama2_c_state(SIZES, 12), SIZES | {key: value})
    with pytest.raises(ValueError, match=r"ckpt.pt: .*heads"):
        find_stored(folder)


def test_constants_and_masks_of_older_versions_are_no_weights(tmp_path):
    folder, state = run(tmp_path)
    more = {"freqs_cos": torch.ones(16, 2), "layers.0.attention.mask": torch.ones(1, 1, 16, 16)}
    write_run(folder / "ckpt.pt", state | more, SIZES)
    np.testing.assert_allclose(logits(zoo.load(folder)), llama2_c_logits(state, SIZES, IDS), atol=2e-5)
