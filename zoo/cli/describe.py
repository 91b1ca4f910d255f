"""`describe`: print the facts of a model, without Keras; last the FLOPs per token, which Keras counts."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from keras_transformers.config.limits import most_tokens
from keras_transformers.config.transformer_config import TransformerConfig
from zoo.cli.app import app, examples
from zoo.registry import entry as registry
from zoo.terminal.console import print_facts

CONSENT = "accept the terms ({}) on the page of the weights; then HF_TOKEN of your account gives access"
LENGTH = 512  # tokens: what BERT takes, and most tables of FLOPs


@app.command(epilog=examples("describe mini_bert_en", "describe gpt2_xl --length 1024"))
def describe(
    name: Annotated[str, Argument(help="Name of a model, as printed by `list`.")],
    length: Annotated[
        int | None,
        Option(
            help="Text length in tokens for the FLOP count.", show_default=f"{LENGTH} or the model's maximum", min=1
        ),
    ] = None,
) -> None:
    """Show the details of a model: sizes, task, licence, source of the weights, measured results and FLOPs."""
    entry = registry.describe(name)
    known = facts(entry)
    if entry.config and length and length > (most := most_tokens(entry.config)):
        raise ValueError(f"--length must be at most {most}, the longest text: received {length}.")
    print_facts(known)
    if entry.config:  # last: it needs TensorFlow and a few seconds
        cost = forward_pass(entry.config, length or min(LENGTH, entry.config.max_length))
        print_facts({"forward pass": cost}, max(map(len, known)))


def forward_pass(config: TransformerConfig, length: int) -> str:
    """Return the FLOPs a token of a model, as `describe` prints them; or why they are not counted."""
    try:
        import keras
        import tensorflow  # noqa: F401
    except ImportError as error:
        return f"not counted: {error}"
    if keras.backend.backend() != "tensorflow":
        return f"not counted: Keras runs on {keras.backend.backend()}, and the graph of TensorFlow is what is counted"
    from keras_transformers.analysis.cost.model_flops import flops_per_token

    of = " of the target, with the source" if config.kind == "encoder_decoder" else ""
    return f"{_scaled(flops_per_token(config, length), 'FLOPs')} a token{of}, at {length} tokens"


def _scaled(number: float, unit: str) -> str:
    """Return a number with three digits and a prefix."""
    power, prefix = next((pair for pair in ((9, "G"), (6, "M")) if number >= 10 ** pair[0]), (3, "k"))
    return f"{number / 10**power:.3g} {prefix}{unit}"


def facts(entry: registry.Entry) -> dict[str, str]:
    """Return the facts that `describe` prints, by name."""
    weights = f"{entry.source}, downloaded when first loaded" if entry.source else "none: sizes to train"
    rows = {
        "name": entry.name,
        "summary": entry.summary,
        **(_sizes(entry) if entry.config else {}),
        "made for": entry.task,
        "licence": entry.licence,
        **({"consent": CONSENT.format(entry.terms)} if entry.terms else {}),
        "weights": "in the package" if entry.bundled else weights,
        "paper": entry.paper,
    }
    if hasattr(registry.module(entry.name), "train"):
        rows["made by"] = f"python -m zoo train {entry.name} --data DIR --out FOLDER"
    if entry.fit:
        rows["fine-tuning"] = ", ".join(f"{key} {value}" for key, value in entry.fit.items())
    for result in entry.results:
        rows[result.data] = ", ".join(filter(None, (rows.get(result.data), result.shown)))
    return rows


def _sizes(entry: registry.Entry) -> dict[str, str]:
    config, parameters = entry.sizes
    counted = {"encoder": "encoder with pooler", "decoder": "decoder with output layer"}
    counted["encoder_decoder"] = "encoder, and decoder with output layer"
    more = f" + {config.num_decoder_layers}" if config.num_decoder_layers else ""
    return {
        "family": config.family,
        "parameters": f"{parameters:,} ({counted[config.kind]})",
        "memory": f"{_scaled(4 * parameters, 'B')} of weights in float32, {_scaled(2 * parameters, 'B')} in float16",
        "layers": f"{config.num_layers}{more} of {config.hidden_dim}, {config.num_heads} heads, "
        f"feed-forward {config.intermediate_dim}",
        "vocabulary": f"{config.vocabulary_size:,} tokens",
        "longest text": f"{config.max_length} tokens",
    }
