"""Checkpoints of google-research/albert: pre-trained, and fine-tuned by run_classifier.py and run_squad_v1.py."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformers.checkpoints.files.tensors import Tensor, by_name
from keras_transformers.checkpoints.formats.bert_checkpoint import Facts, store, table_shapes
from keras_transformers.checkpoints.formats.google_bert import KINDS, LEAVES, as_torch, find_activation
from keras_transformers.checkpoints.formats.tf_checkpoint import find_prefix, load_checkpoint, read_variables
from keras_transformers.checkpoints.stored import Stored, UserOptions, folder_of
from keras_transformers.text.folder import vocabulary_files
from keras_transformers.text.folder.class_options import ALBERT as TOKENIZER
from keras_transformers.text.pipelines.library import refusals_as_errors
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.json_file import Kind, check_types, read_object
from keras_transformers.utils.untrusted import shown

WRITER = "google-research/albert"
CONFIGS = ("albert_config.json", "config.json")  # the second one is the name that `from_tf=True` needed
OF_ALBERT: dict[str, Kind] = {"embedding_size": int, "num_hidden_groups": int, "inner_group_num": int}
GROUP = re.compile(r"bert/encoder/transformer/group_(\d+)/inner_group_(\d+)/(.+)/(\w+)")
IN_GROUP = {
    **{f"attention_1/self/{name}": f"attention.{name}" for name in ("query", "key", "value")},
    "attention_1/output/dense": "attention.dense",
    "LayerNorm": "attention.LayerNorm",
    "ffn_1/intermediate/dense": "ffn",
    "ffn_1/intermediate/output/dense": "ffn_output",
    "LayerNorm_1": "full_layer_layer_norm",
}
LAYERS = {
    "bert/embeddings/LayerNorm": "albert.embeddings.LayerNorm",
    "bert/encoder/embedding_hidden_mapping_in": "albert.encoder.embedding_hidden_mapping_in",
    "bert/pooler/dense": "albert.pooler",
    "cls/predictions/transform/dense": "predictions.dense",
    "cls/predictions/transform/LayerNorm": "predictions.LayerNorm",
}
VARIABLES = {
    **{f"bert/embeddings/{name}_embeddings": f"albert.embeddings.{name}_embeddings.weight"
       for name in ("word", "position", "token_type")},
    "cls/predictions/output_bias": "predictions.bias",
    "cls/seq_relationship/output_weights": "sop_classifier.classifier.weight",
    "cls/seq_relationship/output_bias": "sop_classifier.classifier.bias",
    "cls/squad/output_weights": "qa_outputs.weight",
    "cls/squad/output_bias": "qa_outputs.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
}  # fmt: skip
BY_BEAMS = re.compile(r"(?:start_logits|end_logits|answer_class)/.*")  # the head of run_squad_v2.py
LEFT_OUT = (
    "the head that run_squad_v2.py trained is left out: it looks for the end of an answer by its start, which no class "
    "of `transformers` does; run_squad_v1.py's head is read, or train a new one"
)
BODY = "albert.encoder.albert_layer_groups"
PIECES, WORDS = ("spiece.model", "30k-clean.model"), ("vocab_chinese.txt", "vocab.txt")


def read(place: Path, user_options: UserOptions) -> Stored | None:
    """Read a folder with `model.ckpt-best.*`, albert_config.json and 30k-clean.model or vocab_chinese.txt."""
    prefix = find_prefix(place)
    if prefix is None:
        return None
    variables = read_variables(prefix, load_checkpoint(prefix))
    if not any(map(GROUP.fullmatch, variables)):
        return None
    folder = folder_of(place)
    kept = {name: tensor for name, tensor in variables.items() if not BY_BEAMS.fullmatch(name)}
    tensors = _to_torch(kept, prefix)
    options, source = _read_options(folder, prefix)
    sizes = _sizes({tensor.name: tensor for tensor in tensors}, options, prefix)
    vocabulary, tokenizer = _find_tokenizer(folder, user_options)
    facts = Facts(
        WRITER, place, tensors, options, source, vocabulary, assumed=[LEFT_OUT] if len(kept) < len(variables) else []
    )
    return store(facts._replace(model_type="albert", sizes=sizes, tokenizer=tokenizer), user_options)


def _read_options(folder: Path, prefix: Path) -> tuple[dict[str, Any], Path]:
    path = next((folder / name for name in CONFIGS if (folder / name).is_file()), None)
    if path is None:
        raise ValueError(
            f"{prefix} is an ALBERT, whose layers share their weights, so that their number does not follow from its "
            f"variables: there is no {CONFIGS[0]} in {folder}. Copy it there from the model that was fine-tuned."
        )
    values = read_object(path)
    check_types(values, KINDS | OF_ALBERT, path)
    options = {key: values[key] for key in KINDS | OF_ALBERT if values.get(key) is not None}
    if "num_hidden_layers" not in options:
        raise ValueError(f"{path} lacks num_hidden_layers, the number of layers. Fetch it again.")
    return options | {"hidden_act": find_activation(values.get("hidden_act", "gelu"), path)}, path


def _sizes(tensors: Mapping[str, Tensor], options: Mapping[str, Any], prefix: Path) -> dict[str, int]:
    tables = [f"albert.embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")]
    shapes = table_shapes(tensors, [*tables, f"{BODY}.0.albert_layers.0.ffn.weight"], prefix)
    groups = {name.split(".")[3] for name in tensors if name.startswith(f"{BODY}.")}
    return {
        "vocab_size": shapes[0][0], "embedding_size": shapes[0][1], "max_position_embeddings": shapes[1][0],
        "type_vocab_size": shapes[2][0], "intermediate_size": shapes[3][0], "hidden_size": shapes[3][1],
        "num_hidden_groups": len(groups), "num_hidden_layers": options["num_hidden_layers"],
    }  # fmt: skip


def _to_torch(variables: Mapping[str, Tensor], prefix: Path) -> list[Tensor]:
    """Return variables by the names and in the layouts of PyTorch.

    Raises:
        ValueError: Some are of another model like ALBERT.
    """
    renamed = {name: torch_name(name) for name in variables}
    if others := [name for name, new in renamed.items() if new is None and name.startswith("bert/")]:
        raise ValueError(f"{prefix} holds a variant of ALBERT that is not supported: ALBERT has no {shown(others)}.")
    tensors = [as_torch(tensor, renamed[name] or name) for name, tensor in variables.items()]
    return [*by_name(((tensor.name, tensor) for tensor in tensors), prefix).values()]


def torch_name(name: str) -> str | None:
    """Return the name in PyTorch's classes of a variable; None if ALBERT has no such variable.

    Example:

    >>> torch_name("bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/output/dense/kernel")
    'albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output.weight'
    """
    if name in VARIABLES:
        return VARIABLES[name]
    stem, _, leaf = name.rpartition("/")
    match = GROUP.fullmatch(name)
    if match and match[3] in IN_GROUP and match[2] == "0" and leaf in LEAVES:
        return f"{BODY}.{match[1]}.albert_layers.0.{IN_GROUP[match[3]]}.{LEAVES[leaf]}"
    return f"{LAYERS[stem]}.{LEAVES[leaf]}" if stem in LAYERS and leaf in LEAVES else None


def _find_tokenizer(folder: Path, user_options: UserOptions) -> tuple[Path, Any]:
    """Return the file of a tokenizer, and what reads it; None for the second of a vocabulary of words.

    Raises:
        ValueError: There is none, or there are several.
    """
    models = [folder / name for name in PIECES if (folder / name).is_file()] or sorted(folder.glob("*.model"))
    words = [folder / name for name in WORDS if (folder / name).is_file()]
    if len(models) == 1:
        lowercase = user_options.lowercase is not False
        return models[0], lambda: _read_pieces(models[0], lowercase)
    if not models and words:
        return words[0], None
    held = f"several, {shown([path.name for path in models])}" if models else "none"
    raise ValueError(
        f"{folder} holds an ALBERT: expected its SentencePiece model, such as {PIECES[1]}, or {WORDS[0]}; there is "
        f"{held}. Copy there the one that the model was trained with."
    )


def _read_pieces(path: Path, lowercase: bool) -> Tokenizer:
    with refusals_as_errors(path):
        return Tokenizer(*vocabulary_files.read_alone(path, TOKENIZER, do_lower_case=lowercase))
