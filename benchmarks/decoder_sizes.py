"""Decoders at their real sizes with random bfloat16 weights: memory of a load, speed, size of an export.

    python benchmarks/decoder_sizes.py FOLDER [--models qwen3_0.6b llama3.2_1b] [--dtypes bfloat16 float32]
        [--what load speed export] [--batches 1 8] [--prompt 128] [--new 64] [--turns 3] [--exports "compiled int8"]

Writes each model into a folder of FOLDER first, if it is not there. Each load is a process of its own: seconds, the
peak of resident memory beyond the imports (pages of the mapped file are among them) and the ratio of both peaks to the
weights in the dtype that was asked for: what no file backs, and all. Speed is of greedy texts, in turns, beside
transformers on torch with the same folder, and llama.cpp with the same weights in BF16 and Q8_0 where it is installed
(`llama_cpp_peer.py`), and of exports with these options; all take the threads of OMP_NUM_THREADS. Needs for the peer
`pip install transformers torch`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from itertools import islice, product
from pathlib import Path

from llama_cpp_peer import LlamaCpp, write_gguf

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))
SHARED = {"hidden_act": "silu", "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "dtype": "bfloat16"}
MODELS = {
    "qwen3_0.6b": {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 151_936, "hidden_size": 1024,
        "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 128, "max_position_embeddings": 40_960, "rope_theta": 1_000_000.0, "attention_bias": False,
        "eos_token_id": 0, "bos_token_id": 0,
    },
    "llama3.2_1b": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128_256, "hidden_size": 2048,
        "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 64, "max_position_embeddings": 131_072, "rope_theta": 500_000.0, "attention_bias": False,
        "mlp_bias": False, "eos_token_id": 0, "bos_token_id": 0,
        "rope_scaling": {
            "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    },
}  # fmt: skip


def shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors of a decoder by name."""
    width, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    heads, groups = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    named = {"model.embed_tokens.weight": (config["vocab_size"], width), "model.norm.weight": (width,)}
    for block in range(config["num_hidden_layers"]):
        parts = {
            "self_attn.q_proj": (heads, width), "self_attn.k_proj": (groups, width),
            "self_attn.v_proj": (groups, width), "self_attn.o_proj": (width, heads), "mlp.gate_proj": (inner, width),
            "mlp.up_proj": (inner, width), "mlp.down_proj": (width, inner), "input_layernorm": (width,),
            "post_attention_layernorm": (width,),
        }  # fmt: skip
        if config["model_type"] == "qwen3":
            parts |= {"self_attn.q_norm": (head,), "self_attn.k_norm": (head,)}
        named |= {f"model.layers.{block}.{part}.weight": shape for part, shape in parts.items()}
    return named


def write_folder(name: str, folder: Path) -> None:
    """Write a model of random weights, and a byte-level tokenizer of its vocabulary size."""
    import numpy as np
    import tokenizers

    from keras_transformers.checkpoints.files.safetensors_file import write_tensors
    from keras_transformers.checkpoints.files.tensors import Tensor

    config, generator = SHARED | MODELS[name], np.random.default_rng(0)

    def values(shape):
        random = generator.standard_normal(shape, "float32")
        return 1 + 0.1 * random if len(shape) == 1 else 0.05 * random

    tensors = {key: Tensor(key, shape, "bfloat16", partial(values, shape)) for key, shape in shapes(config).items()}
    folder.mkdir(parents=True)
    write_tensors(folder / "model.safetensors", tensors)
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pairs = list(product(letters, letters))
    pairs = [*pairs, *(("".join(pair), letter) for pair, letter in product(pairs[:2000], letters))]
    pairs = [*islice(pairs, config["vocab_size"] - len(letters) - 1)]
    words = ["<|end|>", *letters, *map("".join, pairs)]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({word: i for i, word in enumerate(words)}, pairs))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "bos_token": "<|end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"add_bos_token": False}))
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def resident() -> dict[str, float]:
    """Return the resident memory of this process in GB, all and what no file backs (Linux)."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[name].split()[0]) * 1024 / 1e9 for name in ("VmRSS", "RssAnon")}


class Peak(threading.Thread):
    """Peaks of both kinds of memory, looked at every 10 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.begin, self.ends = resident(), threading.Event()
        self.most = dict(self.begin)
        self.start()

    def run(self) -> None:
        while not self.ends.wait(0.01):
            now = resident()
            self.most = {name: max(most, now[name]) for name, most in self.most.items()}

    def end(self) -> dict[str, float]:
        """Return the peaks, and what is left now, beyond the memory at the beginning; in GB."""
        self.ends.set()
        self.join()
        now = resident()
        named = {"all": "VmRSS", "own": "RssAnon"}
        peaks = {f"peak_{name}": self.most[kind] - self.begin[kind] for name, kind in named.items()}
        return peaks | {f"left_{name}": now[kind] - self.begin[kind] for name, kind in named.items()}


def in_gb(task) -> float:
    sizes = {"bfloat16": 2, "float16": 2}
    weights = task.model.weights
    return sum(sizes.get(str(weight.dtype), 4) * weight.shape.num_elements() for weight in weights) / 1e9


def measure_load(folder: str, dtype: str) -> None:
    import zoo
    from keras_transformers.tasks import causal_lm  # noqa: F401 - not the load's

    peak, begin, spent = Peak(), time.perf_counter(), time.process_time()
    task = zoo.load(folder, dtype=dtype)
    seconds = {"wall": time.perf_counter() - begin, "processor": time.process_time() - spent}
    figures = peak.end() | seconds | {"imports": peak.begin["VmRSS"], "weights": in_gb(task)}
    figures["maxrss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    ratios = {name: figures[name] / figures["weights"] for name in ("peak_all", "peak_own")}
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}), flush=True)
    print("ratios to the weights:", {name: round(value, 2) for name, value in ratios.items()}, flush=True)


def prompts(batch: int, length: int) -> list[str]:
    """Return texts of so many tokens: a pair of bytes each."""
    return ["".join(f" {chr(97 + (7 * i + row) % 26)}" for i in range(length)) for row in range(batch)]


def measure_speed(folder: str, dtype: str, options: argparse.Namespace) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    import torch
    import transformers
    from turns import compare

    import zoo

    torch.set_num_threads(THREADS)
    task = zoo.load(folder, dtype=dtype)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    peer = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()

    def ours(batch: int) -> list[str]:
        answers = task.predict(prompts(batch, options.prompt), max_new_tokens=options.new, verbose=0)
        assert all(answer["num_tokens"] == options.new for answer in answers), answers
        return [answer["generated_text"] for answer in answers]

    def theirs(batch: int) -> list[str]:
        ids = tokenizer(prompts(batch, options.prompt), return_tensors="pt")["input_ids"]
        assert ids.shape == (batch, options.prompt), ids.shape
        limits = {"max_new_tokens": options.new, "min_new_tokens": options.new}
        with torch.no_grad():
            answer = peer.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, pad_token_id=0, **limits)
        return tokenizer.batch_decode(answer[:, options.prompt :])

    def of_llama(batch: int, model: LlamaCpp) -> list[str]:
        ids = tokenizer(prompts(batch, options.prompt), return_tensors="np")["input_ids"]
        return tokenizer.batch_decode(model(ids, options.new))

    served = {}
    for name, more in {"compiled": {}, "compiled int8": {"compute": "int8"}}.items():
        if name in options.exports:
            with tempfile.TemporaryDirectory() as temporary:
                task.export(f"{temporary}/1", compiled=True, max_new_tokens=options.new, **more)
                served[name] = tf.saved_model.load(f"{temporary}/1")

    def of_export(batch: int, model: object) -> list[str]:
        answer = model.signatures["serving_default"](text=tf.constant(prompts(batch, options.prompt)))
        assert (answer["num_tokens"].numpy() == options.new).all()
        return [text.decode() for text in answer["generated_text"].numpy()]

    models = {}
    if importlib.util.find_spec("llama_cpp"):
        length = options.prompt + options.new
        for kind in ("BF16", "Q8_0"):
            path = write_gguf(Path(folder), kind)
            models[f"llama.cpp {kind}"] = LlamaCpp(path, max(options.batches), length, THREADS)

    for batch in options.batches:
        texts = ours(batch)
        print(f"{folder} {dtype}, {batch} rows, texts equal: {texts == theirs(batch)}", flush=True)
        for name, model in models.items():
            same = sum(text == other for text, other in zip(texts, of_llama(batch, model), strict=True))
            print(f"{name}: {same} of {batch} texts equal", flush=True)
        for name, model in served.items():
            same = sum(text == other for text, other in zip(texts, of_export(batch, model), strict=True))
            print(f"{name}: {same} of {batch} texts equal", flush=True)
        runs = {"transformers": partial(theirs, batch), "ours": partial(ours, batch)}
        runs |= {name: partial(of_export, batch, model) for name, model in served.items()}
        runs |= {name: partial(of_llama, batch, model) for name, model in models.items()}
        compare(runs, options.turns, batch * options.new, "tokens")


def measure_export(folder: str, dtype: str) -> None:
    import zoo

    task, peak, begin = zoo.load(folder, dtype=dtype), Peak(), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        task.export(f"{temporary}/1")
        seconds = time.perf_counter() - begin
        size = sum(path.stat().st_size for path in Path(temporary).rglob("*") if path.is_file()) / 1e9
    figures = {"seconds": seconds, "size": size, "weights": in_gb(task)} | peak.end()
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--dtypes", nargs="+", default=["bfloat16", "float32"])
    parser.add_argument("--what", nargs="+", choices=("load", "speed", "export"), default=["load", "speed", "export"])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--exports", nargs="*", choices=("compiled", "compiled int8"), default=["compiled int8"])
    parser.add_argument("--one", action="store_true", help="measure in this process")
    options = parser.parse_args()
    for model, dtype, what in product(options.models, options.dtypes, options.what):
        folder = str(options.folder / model)
        if not os.path.isdir(folder):
            write_folder(model, Path(folder))
        if options.one:
            more = {"speed": (options,)}.get(what, ())
            {"load": measure_load, "speed": measure_speed, "export": measure_export}[what](folder, dtype, *more)
            continue
        rest = [*map(str, ("--batches", *options.batches, "--prompt", options.prompt, "--new", options.new))]
        rest += ["--exports", *options.exports]
        print(f"{model} {dtype} {what}", flush=True)
        chosen = ["--models", model, "--dtypes", dtype, "--what", what, "--turns", str(options.turns), *rest]
        subprocess.run([sys.executable, __file__, str(options.folder), *chosen, "--one"], check=True)


if __name__ == "__main__":
    main()
