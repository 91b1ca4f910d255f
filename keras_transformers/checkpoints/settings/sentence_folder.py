"""Writing of the files of a sentence-transformers folder besides the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.files.safetensors_file import write_tensors
from keras_transformers.checkpoints.files.tensors import SAFE, Tensor
from keras_transformers.checkpoints.settings.pair_messages import written_pair_template
from keras_transformers.checkpoints.settings.sentence_layers import ACTIVATIONS, SCORES, VECTOR, module_of
from keras_transformers.checkpoints.settings.sentence_modules import MASKED, MODULES, SPLADE, STATIC
from keras_transformers.checkpoints.settings.sentence_transformers import CONFIG, LENGTH, POOLINGS
from keras_transformers.checkpoints.settings.sparse_encoder import model_settings, pooling_settings
from keras_transformers.families.table import OF_VECTORS
from keras_transformers.text.chat.template_files import FILE as TEMPLATE_FILE

MODELS = "sentence_transformers.models"
SPARSE = "sentence_transformers.sparse_encoder.models"  # as versions 5 and 6 read it
TYPES = {  # not among the old names
    "LogitScore": "sentence_transformers.cross_encoder.modules.logit_score",
    MASKED: SPARSE,
    SPLADE: SPARSE,
}
_LOGITS = {"method": "forward", "method_output_name": "logits"}
IN_MESSAGES = {
    "modality_config": {"text": _LOGITS, "message": {**_LOGITS, "format": "flat"}},
    "module_output_name": "causal_logits",
}
TOKENS = ("true_token_id", "false_token_id")
NO_PROMPTS: Mapping[str, str] = {}
NO_TENSORS: Mapping[str, Tensor] = {}
SINCE_VERSION_2 = ("first", "max", "mean", "mean_sqrt_length")  # whose flags each version reads


def write_sentence_transformer(
    folder: str | Path,
    hidden_dim: int,
    max_length: int,
    *,
    pooling: str | Sequence[str] | None = "mean",
    include_prompt: bool = True,
    dense: Sequence[Mapping[str, Any]] = (),
    normalize: bool = True,
    prompts: Mapping[str, str] = NO_PROMPTS,
    default_prompt: str | None = None,
    truncate_dim: int | None = None,
    similarity: str = "cosine",
    activation: str | None = None,
    is_static: bool = False,
    score_tokens: Sequence[int] | None = None,
    pair_template: Mapping[str, str] | None = None,
    sparse: Mapping[str, Any] | None = None,
    tensors: Mapping[str, Tensor] = NO_TENSORS,
) -> None:
    """Write the files that `read_sentence_transformer` and `layer_tensors` read, and each version of the library.

    Args:
        folder: Folder of the model.
        hidden_dim: Size of a hidden state.
        max_length: Tokens of the longest text.
        pooling, include_prompt, dense, normalize, prompts, default_prompt, truncate_dim, similarity: As in
            `tasks.sentence_embedding`.
        activation: Activation of the scores of a cross-encoder, which has a classifier where `pooling` is None; None
            for a model of vectors.
        is_static: Whether the model is a table of vectors of tokens, whose mean needs no Pooling.
        score_tokens: Tokens of a cross-encoder that is a decoder: see `tasks.ranking`.
        pair_template: As in `tasks.ranking`: the chat template becomes one that writes pairs so.
        sparse: Options of a masked language model that makes sparse vectors; `pooling` is then None, and `normalize`
            False.
        tensors: Tensors of the layers behind the pooling, by the names that `settings.names` has for them.
    """
    ways = [pooling] if isinstance(pooling, str) else [*(pooling or ())]
    modules: list[tuple[str, dict[str, Any]]] = [(STATIC if is_static else MASKED if sparse else "Transformer", {})]
    modules += [("Pooling", _pooling(hidden_dim, ways, include_prompt))] if ways and not is_static else []
    modules += [("LogitScore", dict(zip(TOKENS, score_tokens, strict=False)))] if score_tokens else []
    modules += [(SPLADE, pooling_settings(sparse))] if sparse else []
    before = len(modules)
    layers = [*dense, *([{"layer": "normalize"}] if normalize and activation is None else [])]
    modules += _modules_of(layers, hidden_dim * len(ways), VECTOR if activation is None else SCORES)
    paths = [f"{index}_{kind}" if index else "" for index, (kind, _) in enumerate(modules)]
    _write(Path(folder, MODULES), _listed(paths, [kind for kind, _ in modules]))
    if pair_template:
        Path(folder, TEMPLATE_FILE).write_text(written_pair_template(pair_template), encoding="utf-8")
    if not is_static:
        task = {} if ways or sparse else _scoring_task(score_tokens, pair_template)
        _write(Path(folder, LENGTH), {"max_seq_length": max_length, "do_lower_case": False, **task})
    said = {"prompts": {**prompts}, "default_prompt_name": default_prompt}
    _write(Path(folder, CONFIG), _model_settings(similarity, truncate_dim, sparse, activation) | said)
    for number, (path, (_, settings)) in enumerate(zip(paths[1:], modules[1:], strict=True)):
        _write_module(Path(folder, path), settings, f"{OF_VECTORS}{number + 1 - before}.", tensors)


def _modules_of(layers: Sequence[Mapping[str, Any]], width: int, output: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the kind and the settings of the module of each layer behind the pooling.

    Args:
        layers: Options of the layers.
        width: Size of what the first reads.
        output: Result of the last, `VECTOR` or `SCORES`; that of the others is a vector.
    """
    modules = []
    for number, options in enumerate(layers, 1):
        kind, settings, width = module_of(options, width, output if number == len(layers) else VECTOR)
        modules.append((kind, settings))
    return modules


def _listed(paths: list[str], kinds: list[str]) -> list[dict[str, Any]]:
    """Return the content of modules.json, for the folder and the class of each module."""
    return [
        {"idx": index, "name": str(index), "path": path, "type": f"{TYPES.get(kind, MODELS)}.{kind}"}
        for index, (path, kind) in enumerate(zip(paths, kinds, strict=True))
    ]


def _scoring_task(score_tokens: Sequence[int] | None, pair_template: Mapping[str, str] | None) -> dict[str, Any]:
    """Return what a cross-encoder's Transformer module computes, and how it reads pairs."""
    task = {"transformer_task": "text-generation" if score_tokens else "sequence-classification"}
    return {**task, **(IN_MESSAGES if pair_template else {})}


def _model_settings(
    similarity: str, truncate_dim: int | None, sparse: Mapping[str, Any] | None, activation: str | None
) -> dict[str, Any]:
    """Return the settings of the whole model: of a cross-encoder, a sparse encoder or a model of vectors."""
    if activation is not None:
        return {"model_type": "CrossEncoder", "activation_fn": ACTIVATIONS[activation]}
    if sparse:
        return model_settings(sparse, similarity)
    width = {"truncate_dim": truncate_dim} if truncate_dim else {}
    return {"model_type": "SentenceTransformer", "similarity_fn_name": similarity, **width}


def _write_module(folder: Path, settings: Mapping[str, Any], prefix: str, tensors: Mapping[str, Tensor]) -> None:
    """Write the settings of a module, and its tensors, whose names begin with a prefix."""
    folder.mkdir()
    if settings:  # sentence-transformers leaves the folder of a Normalize empty
        _write(folder / "config.json", settings)
    stored = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    if stored:
        write_tensors(folder / SAFE, stored)


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _pooling(hidden_dim: int, ways: list[str], include_prompt: bool) -> dict[str, Any]:
    """Return the settings of a Pooling module: flags, and names where flags do not say the order."""
    flags = {flag: name in ways for name, (_, flag) in POOLINGS.items() if name in (*SINCE_VERSION_2, *ways)}
    in_order = [name for name in POOLINGS if name in ways] == ways
    names = {} if in_order else {"pooling_mode": [POOLINGS[name][0] for name in ways]}
    prompt = {} if include_prompt else {"include_prompt": False}
    return {"word_embedding_dimension": hidden_dim, **flags, **names, **prompt}
