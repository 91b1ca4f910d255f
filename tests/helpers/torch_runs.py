"""The models of nanoGPT and llama2.c in a few lines of torch, and the files that their training loops write."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

CHARACTERS = "\n !abcdefghij"


def randomised(state: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    """Random values that matter in place of all of a state dict: no bias is zero, no norm is one."""
    import torch

    torch.manual_seed(seed)
    return {
        name: torch.randn(value.shape) * 0.3 + (value.ndim == 1 and ("norm" in name or ".ln_" in name))
        for name, value in state.items()
    }


def nanogpt_state(arguments: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    """A state dict by nanoGPT's names."""
    import torch

    width, bias = arguments["n_embd"], arguments["bias"]
    state = {"transformer.wte.weight": (arguments["vocab_size"], width)}
    state["transformer.wpe.weight"] = (arguments["block_size"], width)
    for block in range(arguments["n_layer"]):
        kernels = {"attn.c_attn": (3 * width, width), "attn.c_proj": (width, width)}
        kernels |= {"mlp.c_fc": (4 * width, width), "mlp.c_proj": (width, 4 * width)}
        for name, shape in {**kernels, "ln_1": (width,), "ln_2": (width,)}.items():
            state[f"transformer.h.{block}.{name}.weight"] = shape
            if bias:
                state[f"transformer.h.{block}.{name}.bias"] = shape[:1]
    state["transformer.ln_f.weight"] = (width,)
    if bias:
        state["transformer.ln_f.bias"] = (width,)
    values = randomised({name: torch.empty(shape) for name, shape in state.items()}, seed)
    return values | {"lm_head.weight": values["transformer.wte.weight"]}


def nanogpt_logits(state: dict[str, Any], arguments: dict[str, Any], ids: Any, approximate: str = "none") -> Any:
    """What nanoGPT computes: (B, T, V)."""
    import torch
    from torch.nn import functional

    def dense(name: str, x: Any) -> Any:
        return functional.linear(x, state[f"{name}.weight"], state.get(f"{name}.bias"))

    def norm(name: str, x: Any) -> Any:
        return functional.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state.get(f"{name}.bias"), 1e-5)

    ids = torch.as_tensor(ids)
    x = state["transformer.wte.weight"][ids] + state["transformer.wpe.weight"][: ids.shape[1]]
    for block in range(arguments["n_layer"]):
        at = f"transformer.h.{block}"
        parts = dense(f"{at}.attn.c_attn", norm(f"{at}.ln_1", x)).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (arguments["n_head"], -1)).transpose(1, 2) for part in parts)
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + dense(f"{at}.attn.c_proj", y.transpose(1, 2).flatten(2))
        y = functional.gelu(dense(f"{at}.mlp.c_fc", norm(f"{at}.ln_2", x)), approximate=approximate)
        x = x + dense(f"{at}.mlp.c_proj", y)
    return (norm("transformer.ln_f", x) @ state["lm_head.weight"].T).numpy()


def llama2_c_state(arguments: dict[str, Any], inner: int, seed: int = 0) -> dict[str, Any]:
    """A state dict by llama2.c's names."""
    import torch

    width, head = arguments["dim"], arguments["dim"] // arguments["n_heads"]
    kv_width = (arguments["n_kv_heads"] or arguments["n_heads"]) * head
    state = {"tok_embeddings.weight": (arguments["vocab_size"], width), "norm.weight": (width,)}
    for layer in range(arguments["n_layers"]):
        shapes = {"attention.wq": (width, width), "attention.wk": (kv_width, width), "attention.wv": (kv_width, width)}
        shapes |= {"attention.wo": (width, width), "feed_forward.w1": (inner, width), "feed_forward.w2": (width, inner)}
        shapes |= {"feed_forward.w3": (inner, width), "attention_norm": (width,), "ffn_norm": (width,)}
        state |= {f"layers.{layer}.{name}.weight": shape for name, shape in shapes.items()}
    values = randomised({name: torch.empty(shape) for name, shape in state.items()}, seed)
    return values | {"output.weight": values["tok_embeddings.weight"]}


def llama2_c_logits(state: dict[str, Any], arguments: dict[str, Any], ids: Any) -> Any:
    """What llama2.c computes: (B, T, V). Its rotary pairs are neighbours, here complex numbers."""
    import torch
    from torch.nn import functional

    heads, eps = arguments["n_heads"], arguments.get("norm_eps", 1e-5)
    kv_heads, width = arguments["n_kv_heads"] or heads, arguments["dim"]
    ids = torch.as_tensor(ids)
    frequencies = 10000.0 ** -(torch.arange(0, width // heads, 2) / (width // heads))
    turns = torch.polar(torch.ones(1), torch.outer(torch.arange(ids.shape[1]), frequencies))  # (T, H / 2)

    def dense(name: str, x: Any) -> Any:
        return x @ state[f"{name}.weight"].T

    def norm(name: str, x: Any) -> Any:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * state[f"{name}.weight"]

    def split(x: Any, count: int, turned: bool = True) -> Any:
        x = x.unflatten(-1, (count, -1)).transpose(1, 2).contiguous()
        if turned:
            x = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2)
        return x.repeat_interleave(heads // count, 1)

    x = state["tok_embeddings.weight"][ids]
    for at in (f"layers.{layer}" for layer in range(arguments["n_layers"])):
        y = norm(f"{at}.attention_norm", x)
        query, key = split(dense(f"{at}.attention.wq", y), heads), split(dense(f"{at}.attention.wk", y), kv_heads)
        value = split(dense(f"{at}.attention.wv", y), kv_heads, turned=False)
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + dense(f"{at}.attention.wo", y.transpose(1, 2).flatten(2))
        y = norm(f"{at}.ffn_norm", x)
        inner = functional.silu(dense(f"{at}.feed_forward.w1", y)) * dense(f"{at}.feed_forward.w3", y)
        x = x + dense(f"{at}.feed_forward.w2", inner)
    return (norm("norm", x) @ state["output.weight"].T).numpy()


def write_run(path: Path, state: dict[str, Any], arguments: dict[str, Any], prefix: str = "_orig_mod.", **config: Any):
    """Write a checkpoint as both training loops do, with the state of AdamW."""
    import torch

    weights = [torch.nn.Parameter(value.clone()) for value in state.values()]
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": 0.1}], lr=1e-3, betas=(0.9, 0.95))
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    path.parent.mkdir(parents=True, exist_ok=True)
    saved = {"model": {f"{prefix}{name}": value for name, value in state.items()}, "optimizer": optimizer.state_dict()}
    saved |= {"model_args": arguments, "iter_num": 7, "best_val_loss": torch.tensor([1.0, 2.0]).mean()}
    torch.save(saved | {"config": {"dataset": "plays_char", "compile": True, **config}}, path)
    return path


def write_characters(folder: Path, characters: str = CHARACTERS) -> None:
    """Write the meta.pkl of a character-level data set."""
    numbers = {letter: number for number, letter in enumerate(characters)}
    meta = {"vocab_size": len(numbers), "itos": dict(enumerate(characters)), "stoi": numbers}
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))
