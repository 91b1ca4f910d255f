"""The cases of `gpu.py` by others: torch and transformers, with torch.compile or without, and sentence-transformers."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import torch
from gpu_cases import MODEL, STEPS, Work, ids_of, sentences, training_flops, weight_bytes

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def finished(call: Callable[[], Any]) -> Callable[[], None]:
    """Return the call, and then a wait for the device."""

    def run() -> None:
        call()
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    return run


def half() -> Any:
    return torch.autocast(DEVICE, dtype=torch.bfloat16)


def multiply(sizes: dict[str, Any], compiled: bool) -> Work:
    one, other = torch.randn(2, sizes["size"], sizes["size"], device=DEVICE, dtype=torch.bfloat16)
    return Work(finished(lambda: one @ other), flops=2 * sizes["size"] ** 3)


def copy(sizes: dict[str, Any], compiled: bool) -> Work:
    source = torch.zeros(sizes["size"] // 4, device=DEVICE)
    target = torch.empty_like(source)
    return Work(finished(lambda: target.copy_(source)), moved=2 * sizes["size"])


def gpt2_config(sizes: dict[str, Any], length: int, **options: Any) -> Any:
    import transformers

    shape = {"n_embd": sizes["width"], "n_layer": sizes["layers"], "n_head": sizes["heads"], "n_positions": length}
    no_ends = {"eos_token_id": None, "bos_token_id": None}  # a text goes on to the last token that is asked for
    return transformers.GPT2Config(vocab_size=sizes["vocabulary"], **shape, **no_ends, **options)


def train(sizes: dict[str, Any], compiled: bool) -> Work:
    import transformers

    ids = torch.tensor(ids_of(sizes), device=DEVICE)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if sizes.get("causal"):
        rates = {
            "resid_pdrop": sizes["dropout"],
            "embd_pdrop": sizes["dropout"],
            "attn_pdrop": sizes["attention_dropout"],
        }
        model, batch["labels"] = transformers.GPT2LMHeadModel(gpt2_config(sizes, sizes["length"], **rates)), ids
    else:
        config = transformers.BertConfig(
            vocab_size=sizes["vocabulary"], hidden_size=sizes["width"], num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"], intermediate_size=4 * sizes["width"],
            hidden_dropout_prob=sizes["dropout"], attention_probs_dropout_prob=sizes["attention_dropout"],
        )  # fmt: skip
        model, batch["labels"] = transformers.BertForSequenceClassification(config), ids[:, 0] % 2
    model = model.to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), 5e-5, fused=True)
    forward = torch.compile(model) if compiled else model

    def call() -> None:
        for _ in range(STEPS):
            with half():
                loss = forward(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return Work(finished(call), STEPS, flops=STEPS * training_flops(sizes))


def block(sizes: dict[str, Any], compiled: bool) -> Work:
    shape = sizes["width"], sizes["heads"], 4 * sizes["width"], 0.0
    layer = torch.nn.TransformerEncoderLayer(*shape, batch_first=True, activation="gelu").to(DEVICE).train()
    x = torch.randn(sizes["rows"], sizes["length"], sizes["width"], device=DEVICE, requires_grad=True)
    forward = torch.compile(layer) if compiled else layer

    def call() -> None:
        layer.zero_grad()
        with half():
            loss = forward(x).float().sum()
        loss.backward()

    return Work(finished(call), flops=training_flops(sizes))


def generate(sizes: dict[str, Any], compiled: bool) -> Work:
    import transformers

    config = gpt2_config(sizes, 1024)
    model = transformers.GPT2LMHeadModel(config).to(DEVICE, getattr(torch, sizes["dtype"])).eval()
    options = {"cache_implementation": "static"} if compiled else {}
    if compiled:
        model.forward = torch.compile(model.forward, mode="reduce-overhead", fullgraph=True)
    return _written(model, sizes, sizes["new"] * weight_bytes(sizes), pad_token_id=0, **options)


def translate(sizes: dict[str, Any], compiled: bool) -> Work:
    import transformers

    stack = {"layers": sizes["layers"], "attention_heads": sizes["heads"], "ffn_dim": 4 * sizes["width"]}
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in stack.items()}
    end = sizes["vocabulary"] - 1
    ids = {"pad_token_id": end, "decoder_start_token_id": end, "eos_token_id": 0, "forced_eos_token_id": None}
    config = transformers.MarianConfig(vocab_size=sizes["vocabulary"], d_model=sizes["width"], **sides, **ids)
    return _written(transformers.MarianMTModel(config).to(DEVICE).eval(), sizes, 0)


def _written(model: Any, sizes: dict[str, Any], moved: float, **options: Any) -> Work:
    ids = torch.tensor(ids_of(sizes), device=DEVICE)
    options |= {"min_new_tokens": sizes["new"], "max_new_tokens": sizes["new"], "num_beams": sizes.get("beams", 1)}

    def call() -> None:
        with torch.inference_mode():
            found = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, **options)
        assert found.shape[1] >= sizes["new"]

    return Work(finished(call), sizes["rows"] * sizes["new"], "token", moved=moved)


def embed(sizes: dict[str, Any], compiled: bool) -> Work:
    from sentence_transformers import SentenceTransformer

    model, texts = SentenceTransformer(str(MODEL), device=DEVICE), sentences(sizes["count"])
    call = finished(lambda: model.encode(texts, batch_size=sizes["rows"], show_progress_bar=False))
    return Work(call, sizes["count"], "sentence")


def made(side: str, does: str, sizes: dict[str, Any]) -> Work:
    """Return the work of a case: `side` is "torch", "torch compiled" or "sentence-transformers"."""
    return globals()[does](sizes, side == "torch compiled")


def used() -> tuple[str, float]:
    """Return the name of torch's device, and the most memory that was in use there."""
    if DEVICE == "cuda":
        return torch.cuda.get_device_name(), torch.cuda.max_memory_allocated()
    return "cpu", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
