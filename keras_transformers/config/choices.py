"""The allowed values of a configuration's choices, and checks of which of them go together."""

from __future__ import annotations

from typing import Any

from keras_transformers.utils.untrusted import shown

NORMS = ("layer", "rms")
NORM_ORDERS = ("pre", "post")
ABSOLUTE = ("learned", "sinusoidal")  # added to the embeddings
IN_ATTENTION = ("rotary", "relative", "disentangled", "alibi")  # applied in the attention of every block
POSITIONS = (*ABSOLUTE, *IN_ATTENTION)
MIXERS = ("attention", "simple_rnn", "gru", "lstm", "convolution")
POSITION_LAYOUTS = ("interleaved", "halves", "fairseq", "opennmt")
KINDS = ("encoder", "decoder", "encoder_decoder")
CLASSIFIER_POOLINGS = ("first", "mean", "late")
HEAD_TRANSFORMS = ("masked_lm", "all", "none")
ONE_STACK = ("num_decoder_layers", "encoder_vocabulary_size", "decoder_start_id")  # fields that need two stacks
FARTHEST = 2**20  # largest distance with a bucket of its own: they are listed one by one
PAD_ID = 1  # fairseq's, in every vocabulary


def first_position(pad_id: int = PAD_ID) -> int:
    """Return the row of the position table for the first token, in fairseq and models derived from it.

    RoBERTa, BART, mBART, MPNet and M2M-100 count from `pad_id + 1`; the rows before it are unused.

    Args:
        pad_id: Token id of padding.

    Example:

    >>> first_position()
    2
    """
    return pad_id + 1


def position_kinds(positions: Any) -> tuple[str, ...]:
    """Return the kinds of positions that a model has, from its field `positions`: a name, None or a list of names.

    Example:

    >>> position_kinds("learned"), position_kinds(("learned", "relative")), position_kinds(None)
    (('learned',), ('learned', 'relative'), ())
    """
    if positions is None:
        return ()
    return tuple(positions) if isinstance(positions, (list, tuple)) else (positions,)


def check_choices(config: Any) -> None:
    """Check that each choice is known, and that fields for two stacks are set only in encoder-decoder models.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: A choice is unknown, or a field needs two stacks.
    """
    choices = {"kind": KINDS, "norm": NORMS, "norm_order": NORM_ORDERS, "mixer": MIXERS,
               "position_layout": POSITION_LAYOUTS, "classifier_pooling": CLASSIFIER_POOLINGS,
               "head_transform": HEAD_TRANSFORMS}  # fmt: skip
    for name, allowed in choices.items():
        if getattr(config, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}: received {shown(getattr(config, name))}.")
    _check_positions(config)
    given = [name for name in ONE_STACK if getattr(config, name) is not None]
    if given and config.kind != "encoder_decoder":
        raise ValueError(f"{given} belong to a model of two stacks: received them with kind={config.kind!r}.")


def _check_positions(config: Any) -> None:
    """Check the kinds of positions. Recurrent and convolutional models may have none."""
    has_attention = config.mixer == "attention"
    allowed = POSITIONS if has_attention else (*ABSOLUTE, None)
    mixer = "" if has_attention else f" with mixer={config.mixer!r}"
    if config.positions is None and has_attention:
        raise ValueError(f"positions must be one of {allowed}: received None.")
    kinds = position_kinds(config.positions)
    if not all(kind in allowed for kind in kinds):
        raise ValueError(f"positions must be one of {allowed}{mixer}: received {shown(config.positions)}.")
    if isinstance(config.positions, tuple):
        absolute, in_attention = ([kind for kind in kinds if kind in group] for group in (ABSOLUTE, IN_ATTENTION))
        if [*absolute, *in_attention] != list(kinds) or len(absolute) != 1 or len(in_attention) != 1:
            raise ValueError(
                f"several positions are one of {ABSOLUTE}, then one of {IN_ATTENTION}: received "
                f"{shown(list(config.positions))}."
            )


def check_mixer(config: Any) -> None:
    """Check that the fields of recurrent and convolutional blocks go together.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: They do not.
    """
    if config.kernel_size % 2 != 1:
        raise ValueError(f"kernel_size must be an odd number: received {config.kernel_size}.")
    no_crossing = config.kind != "encoder_decoder" or config.mixer in ("attention", "convolution")
    if not config.cross_attention and no_crossing:
        raise ValueError(
            "cross_attention=False needs kind='encoder_decoder' and a recurrent mixer, which begins with a state "
            f"of the encoder: received kind={config.kind!r}, mixer={config.mixer!r}."
        )
    if config.mixer != "attention" and config.block_options:
        raise ValueError(f"block_options need attention: received some with mixer={config.mixer!r}. Leave them out.")
    given = [name for name in ("norm_bias", "intermediate_bias") if getattr(config, name) is not None]
    if config.mixer != "attention" and given:
        raise ValueError(f"{given} need attention: received them with mixer={config.mixer!r}. Leave them out.")


def check_sharing(config: Any) -> None:
    """Check that an embedding width and groups of blocks are used in encoders only, and that the groups fit the blocks.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: They are not.
    """
    given = [name for name in ("embedding_dim", "num_block_groups") if getattr(config, name) is not None]
    if given and (config.kind != "encoder" or config.mixer != "attention"):
        raise ValueError(
            f"{given} belong to an encoder with attention: received them with kind={config.kind!r}, "
            f"mixer={config.mixer!r}. Leave them out."
        )
    if (config.num_block_groups or 0) > config.num_layers:
        raise ValueError(
            f"num_block_groups must be at most num_layers={config.num_layers}: received {config.num_block_groups}."
        )
    if config.num_block_groups and config.block_options:
        raise ValueError(
            "blocks with the same weights have the same options: received block_options with num_block_groups="
            f"{config.num_block_groups}. Leave one of them out."
        )


def check_heads(config: Any) -> None:
    """Check that the options of an encoder's heads are given to an encoder only.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: They are not.
    """
    usual = {"classifier_pooling": CLASSIFIER_POOLINGS[0], "head_transform": HEAD_TRANSFORMS[0], "head_bias": True}
    given = [name for name, value in usual.items() if getattr(config, name) != value]
    if given and config.kind != "encoder":
        raise ValueError(
            f"{given} belong to an encoder: received them with kind={config.kind!r}. A decoder's classifier reads the "
            "last token. Leave them out."
        )


def check_offset(config: Any) -> None:
    """Check that a position offset is used only with an encoder's position table.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: The model has no such table, or the offset is wrong.
    """
    if config.position_offset and ("learned" not in config.position_kinds or config.kind != "encoder"):
        raise ValueError(
            "position_offset needs an encoder with learned positions: received "
            f"position_offset={config.position_offset} with kind={config.kind!r}, positions={config.positions!r}."
        )


def check_distances(config: Any) -> None:
    """Check that disentangled positions are used in encoders with a key head for each query head, and their sizes.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: They are not, or another model has their fields.
    """
    given = [name for name in ("position_buckets", "max_distance") if getattr(config, name) is not None]
    if "disentangled" not in config.position_kinds:
        if given:
            raise ValueError(
                f"{given} belong to disentangled positions: received them with positions={config.positions!r}. Leave "
                "them out."
            )
        return
    if config.kind != "encoder" or config.num_kv_heads != config.num_heads or "position_buckets" not in given:
        raise ValueError(
            "disentangled positions need an encoder with a key head for each query head, and position_buckets: "
            f"received kind={config.kind!r}, num_heads={config.num_heads}, num_kv_heads={config.num_kv_heads}, "
            f"position_buckets={config.position_buckets}."
        )
    check_buckets(config.position_buckets, config.max_distance or config.max_length)


def check_buckets(num_buckets: int, max_distance: int) -> None:
    """Check that buckets of logarithmic width lie between the near distances and the largest one.

    Args:
        num_buckets: Of each direction; distances up to half of it have a bucket each.
        max_distance: The first distance in the last bucket.

    Raises:
        ValueError: They do not.

    Example:

    >>> check_buckets(256, 512)
    """
    if max_distance > FARTHEST:
        raise ValueError(
            f"the largest distance must be at most {FARTHEST}: received {max_distance}. Give max_distance."
        )
    if num_buckets % 2 or not 4 <= num_buckets < 2 * (max_distance - 1):
        raise ValueError(
            "the buckets of distances must be an even number from 4 on, and half of them less than the largest "
            f"distance - 1: received {num_buckets} buckets with a largest distance of {max_distance}."
        )


def check_blocks(config: Any) -> None:
    """Check that there are no more block options than blocks, and that they and a factor fit the other fields.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: They do not.
    """
    most = max(config.num_layers, config.num_decoder_layers or 0)
    if len(config.block_options) > most:
        raise ValueError(
            f"block_options must have one entry for each block or fewer, which are repeated: received "
            f"{len(config.block_options)} for {most} blocks."
        )
    if "rotary" not in config.position_kinds and config.rotary_scaling_factor != 1:
        raise ValueError(
            f"rotary_scaling_factor needs positions='rotary': received {config.rotary_scaling_factor} with positions="
            f"{config.positions!r}. Leave it out."
        )
    for options in config.block_options:
        if "rotary" not in config.position_kinds and not (options.rotary and options.max_wavelength is None):
            raise ValueError(
                f"rotary and max_wavelength of block_options need positions='rotary': received {options} with "
                f"positions={config.positions!r}."
            )
        if config.norm_order != "pre" and not options.attention_norm:
            raise ValueError(
                f"attention_norm=False of block_options needs norm_order='pre': received norm_order="
                f"{config.norm_order!r}, whose next sublayer takes the output of that norm."
            )
