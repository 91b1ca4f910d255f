"""Sentences about a model for the page, which hold for its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.transformer_config import TransformerConfig

MIXERS = {
    "simple_rnn": "a recurrent layer", "gru": "a GRU, a recurrent layer", "lstm": "an LSTM, a recurrent layer",
    "convolution": "a convolution", "short_convolution": "a short convolution between two gates",
    "gated_delta": "a memory that each token corrects (gated delta rule)",
}  # fmt: skip
POSITIONS = {
    "learned": "a learned vector for each place is added to the embeddings",
    "sinusoidal": "sines and cosines of the place are added to the embeddings",
    "rotary": "queries and keys are turned by an angle that grows with the place (RoPE); the page shows them turned",
    "relative": "a learned number for each bucket of distances and head is added to the scores of self-attention",
    "disentangled": "vectors of distances are learned; their products with queries and keys are added to the scores",
    "alibi": "a number that falls with the distance, steeper in some heads, is added to the scores (ALiBi)",
}


class About(NamedTuple):
    """A description of a model.

    Args:
        facts: Sentences.
        is_causal: Whether a token of the text that the head reads sees no later tokens.
        parts: Names of the sub-layers, by `Step.part`.
        titles: Names of the kinds of attention.
        way: The kind of path, one of `signal_paths.KINDS`, of this model; None if windows make it longer.
        kernel: Tokens that a convolution sees.
    """

    facts: tuple[str, ...]
    is_causal: bool
    parts: dict[str, str]
    titles: dict[str, str]
    way: str | None
    kernel: int


def about(config: TransformerConfig, parameters: int) -> About:
    """Describe a model.

    Args:
        config: The model's configuration.
        parameters: Number of parameters.

    Example:

    >>> from keras_transformers.families import llama
    >>> config = llama(99, num_layers=1, num_heads=4, num_kv_heads=2, hidden_dim=16, intermediate_dim=32)
    >>> about(config, 1000).facts[1]
    'Each layer attends by 4 heads of width 4; each 2 of them share their keys and values.'
    """
    attends, two_stacks = config.mixer == "attention", config.kind == "encoder_decoder"
    facts = [_size(config, parameters), _mixing(config), *_sight(config)]
    if _windows_matter(config):
        facts += _window_facts(config)
    facts += [_positions(config), _norms(config)]
    if attends:
        gate = ", times a gate" if config.gated else ""
        facts.append(
            f"A feed-forward layer has {config.intermediate_dim:,} numbers inside, by {config.activation}{gate}."
        )
    own = {"encoder": "self-attention", "decoder": "causal self-attention"}.get(
        config.kind, "the decoder's self-attention"
    )
    titles = {"self": own, "encoder": "the encoder's self-attention", "cross": "attention to the source"}
    parts = {
        "embedding": "embeddings", "attention": "self-attention" if two_stacks else "attention",
        "cross_attention": "attention to the source", "feed_forward": "feed-forward",
        **{name: text.split(",")[0].removeprefix("a ").removeprefix("an ") for name, text in MIXERS.items()},
    }  # fmt: skip
    way = {"attention": "attention", "convolution": "convolutional"}.get(config.mixer, "recurrent")
    return About(
        tuple(facts), _reads_one_way(config), parts, titles, None if _windows_matter(config) else way,
        config.kernel_size if config.mixer == "convolution" else 3,
    )  # fmt: skip


def token_facts(names: Sequence[str]) -> list[str]:
    """Return sentences that explain the signs in the names of tokens."""
    facts = []
    if any("␣" in name for name in names):
        facts.append("␣ in a token is a space that belongs to it.")
    if any(name.startswith("##") and len(name) > 2 for name in names):
        facts.append("A token that begins with ## continues the previous token's word.")
    return facts


def _size(config: TransformerConfig, parameters: int) -> str:
    width = f"width {config.hidden_dim:,}, {parameters:,} parameters."
    if config.kind == "encoder_decoder":
        stacks = f"an encoder of {_layers(config.num_layers)} and a decoder of {_layers(config.num_blocks('decoder'))}"
        return f"{config.family}: {stacks}, {width}"
    return f"{config.family}: {'an' if config.kind == 'encoder' else 'a'} {config.kind} of " + (
        f"{_layers(config.num_layers)}, {width}"
    )


def _layers(count: int) -> str:
    return "1 layer" if count == 1 else f"{count} layers"


def _mixing(config: TransformerConfig) -> str:
    heads = f"{config.num_heads} heads" if config.num_heads > 1 else "1 head"
    heads = f"{heads} of width {config.head_dim}"
    if not config.num_layers:
        return "No layer mixes tokens: the vector of a text is the mean of its token vectors."
    if config.mixer != "attention":
        width = f" over {config.kernel_size} tokens" if config.mixer == "convolution" else ""
        crossing = f"; beside it, {heads} attend to the source" if _crosses(config) else ", and there are no heads"
        return f"Each layer mixes tokens by {MIXERS[config.mixer]}{width}{crossing}."
    which, others = "Each layer attends", ""
    if config.has_states:
        mixers = [options.mixer for options in _blocks(config)]
        which = f"{mixers.count('attention')} of {len(mixers)} layers attend"
        others = (
            f" The others mix tokens by {' or '.join(MIXERS[mixer] for mixer in sorted({*mixers} - {'attention'}))}."
        )
    shared = config.num_heads // config.num_kv_heads
    if shared == 1:
        return f"{which} by {heads}.{others}"
    each = "all" if config.num_kv_heads == 1 else f"each {shared}"
    return f"{which} by {heads}; {each} of them share their keys and values.{others}"


def _crosses(config: TransformerConfig) -> bool:
    return config.kind == "encoder_decoder" and config.cross_attention


def _sight(config: TransformerConfig) -> list[str]:
    """Return sentences on which tokens a token sees."""
    verb = "attends to" if config.mixer == "attention" else "is computed from"
    limited = config.mixer == "convolution" or _windows_matter(config)
    facts, ends = [], "" if limited else ", to the ends of the text"
    if config.kind == "encoder_decoder":
        facts.append(f"In the decoder a token {verb} itself and those before it.")
        if config.mixer == "attention":
            facts.append(f"In the encoder a token attends to those on both sides{ends}.")
        facts.append(
            "The decoder reads the source by cross-attention in each layer."
            if config.cross_attention
            else "The decoder begins with a state made from the last token of the source."
        )
    elif _reads_one_way(config):
        facts.append(f"A token {verb} itself and those before it.")
    else:
        facts.append(f"A token {verb} those on both sides{ends}.")
    return facts


def _reads_one_way(config: TransformerConfig) -> bool:
    """Return whether the states that the head reads do not depend on later tokens."""
    recurrent = config.mixer not in ("attention", "convolution")
    return config.kind != "encoder" or (recurrent and not config.cross_attention)


def _blocks(config: TransformerConfig) -> list[BlockOptions]:
    sides = ("encoder", "decoder") if config.kind == "encoder_decoder" else (config.kind,)
    return [config.block(index, side) for side in sides for index in range(config.num_blocks(side))]


def _windows(config: TransformerConfig) -> list[int | None]:
    return [options.attention_window for options in _blocks(config)]


def _windows_matter(config: TransformerConfig) -> bool:
    return config.mixer == "attention" and any(_windows(config))


def _window_facts(config: TransformerConfig) -> list[str]:
    windows = _windows(config)
    sizes = sorted({window for window in windows if window})
    count = sum(window is not None for window in windows)
    named = " or ".join(f"{size:,}" for size in sizes)
    return [f"In {count} of {len(windows)} layers it attends inside a window of {named} tokens only."]


def _positions(config: TransformerConfig) -> str:
    if not config.position_kinds:
        return "Positions: none; the order of the tokens is in the order of the computation."
    fact = f"Positions: {'; '.join(POSITIONS[kind] for kind in config.position_kinds)}."
    if "rotary" in config.position_kinds:
        turned = [options.rotary for options in _blocks(config) if options.mixer == "attention"]
        if not all(turned):
            fact += f" {turned.count(False)} of {len(turned)} layers go without."
    return fact


def _norms(config: TransformerConfig) -> str:
    norm = "A layer norm" if config.norm == "layer" else "An RMS norm"
    if config.norm_order == "pre":
        return (
            f"{norm} is applied before each sub-layer (pre-norm): nothing rescales the residual stream between blocks."
        )
    if config.norm_order == "sandwich":
        return (
            f"{norm} is applied before each sub-layer, and another one to what it adds (sandwich-norm): nothing "
            "rescales the residual stream between blocks."
        )
    if config.norm_order == "res_post":
        return (
            f"{norm} is applied to the output of each sub-layer before it is added (res_post-norm): nothing rescales "
            "the residual stream between blocks."
        )
    return f"{norm} follows each addition (post-norm): it rescales the stream on its way up."
