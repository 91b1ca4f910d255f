"""llama.cpp as a peer of `decoder_sizes.py`: a folder's weights as GGUF, and greedy tokens of several rows.

Needs `pip install llama-cpp-python gguf`; the first one builds llama.cpp for the CPU at hand.
"""

from __future__ import annotations

import ctypes
import json
import math
from pathlib import Path

import numpy as np

NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def write_gguf(folder: Path, kind: str) -> Path:
    """Write the weights of a folder as GGUF of a kind, "BF16" or "Q8_0", if the file is not there; return its path."""
    import gguf
    import safetensors.torch

    path = folder / f"{kind}.gguf"
    if path.exists():
        return path
    config = json.loads((folder / "config.json").read_text())
    name, head = config["model_type"], config["head_dim"]
    writer = gguf.GGUFWriter(path, name)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")

    for key, tensor in safetensors.torch.load_file(folder / "model.safetensors").items():
        values, own = tensor.float().numpy(), key.removesuffix(".weight")
        if name == "llama" and own.endswith(("q_proj", "k_proj")):  # its rotary positions turn neighbours, not halves
            values = values.reshape(-1, 2, head // 2, values.shape[1]).swapaxes(1, 2).reshape(values.shape)
        if own.startswith("model.layers."):
            number, own = own.removeprefix("model.layers.").split(".", 1)
            own = f"blk.{number}.{NAMES[own]}"
        stored = gguf.GGMLQuantizationType["F32" if values.ndim == 1 else kind]
        writer.add_tensor(f"{NAMES.get(own, own)}.weight", gguf.quants.quantize(values, stored), raw_dtype=stored)
    if "rope_scaling" in config:
        writer.add_tensor("rope_freqs.weight", frequency_factors(config))

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def frequency_factors(config: dict) -> np.ndarray:
    """Return the factors (H / 2,) by which Llama 3's scaling divides the rotary frequencies."""
    scaling, head = config["rope_scaling"], config["head_dim"]
    low, high, length = (
        scaling[name] for name in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    )
    wavelengths = 2 * math.pi * config["rope_theta"] ** (np.arange(0, head, 2) / head)
    smooth = np.clip((length / wavelengths - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / scaling["factor"] + smooth)).astype("float32")


class LlamaCpp:
    """A GGUF file that continues rows of token ids by the likeliest token.

    Args:
        path: The file.
        rows: Largest number of rows.
        length: Largest number of tokens of a row.
        threads: Threads for prompts and new tokens.
    """

    def __init__(self, path: Path, rows: int, length: int, threads: int):
        import llama_cpp

        self.api = llama_cpp
        llama_cpp.llama_log_set(_SILENT, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_seq_max, options.n_batch = rows * length, rows, rows * length
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        self.vocabulary_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(rows * length, 0, 1)

    def __call__(self, prompts: np.ndarray, new: int) -> np.ndarray:
        """Return the new tokens (B, new) after prompts (B, P)."""
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        length = prompts.shape[1]
        tokens = [self._read(prompts, 0)]
        for place in range(length, length + new - 1):
            tokens.append(self._read(tokens[-1][:, None], place))
        return np.stack(tokens, axis=1)

    def _read(self, token_ids: np.ndarray, first: int) -> np.ndarray:
        """Read tokens (B, T) at places from `first`; return the likeliest next token of each row, (B,)."""
        batch, (rows, length) = self.batch, token_ids.shape
        batch.n_tokens = rows * length
        for index, (row, place) in enumerate(np.ndindex(rows, length)):
            batch.token[index], batch.pos[index] = int(token_ids[row, place]), first + place
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, row
            batch.logits[index] = place == length - 1
        if self.api.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama.cpp could not read the tokens.")
        logits = [self.api.llama_get_logits_ith(self.context, (row + 1) * length - 1) for row in range(rows)]
        return np.array([np.ctypeslib.as_array(row, (self.vocabulary_size,)).argmax() for row in logits])


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def _SILENT(level, text, data):
    """Print nothing."""
