"""The allowed values of a configuration's choices, and checks of which of them go together."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.rotary_scaling import check_scaling
from keras_transformers.utils.untrusted import shown

NORMS = ("layer", "rms", "offset_rms")
HEAD_NORMS = (*NORMS, "joint_rms")  # joint: over all heads together
NORM_ORDERS = ("pre", "post", "res_post", "sandwich")
ABSOLUTE = ("learned", "sinusoidal")  # added to the embeddings
IN_ATTENTION = ("rotary", "relative", "disentangled", "alibi")  # applied in the attention of every block
POSITIONS = (*ABSOLUTE, *IN_ATTENTION)
MIXERS = ("attention", "simple_rnn", "gru", "lstm", "convolution", "none")  # "none": no blocks, vectors of tokens alone
BLOCK_MIXERS = ("attention", "short_convolution", "gated_delta")  # of single blocks of a decoder
MEMORY = ("memory_heads", "memory_key_heads", "memory_key_dim", "memory_value_dim")  # sizes of the second one's state
POSITION_LAYOUTS = ("interleaved", "halves", "fairseq", "opennmt")
KINDS = ("encoder", "decoder", "encoder_decoder")
CLASSIFIER_POOLINGS = ("first", "mean", "late", "last")
HEAD_TRANSFORMS = ("masked_lm", "all", "none")
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


def check_positions(config: Any) -> None:
    """Check the kinds of positions. Recurrent and convolutional models may have none.

    Args:
        config: A `TransformerConfig`.

    Raises:
        ValueError: A kind is unknown, or does not go with the mixer or with another kind.
    """
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


def check_combinations(config: Any) -> None:
    """Check that the fields of a configuration go together.

    Args:
        config: A `TransformerConfig` whose fields have been checked one by one.

    Raises:
        ValueError: Two of them do not.
    """
    for check in (
        _check_mixer,
        _check_parallel,
        _check_sharing,
        _check_encoder_vocabulary,
        _check_blocks,
        _check_states,
        _check_rotary,
        _check_distances,
    ):
        check(config)


def _check_mixer(config: Any) -> None:
    """Check that the fields of recurrent and convolutional blocks go together."""
    if config.mixer != "attention" and config.kernel_size % 2 != 1:
        raise ValueError(f"kernel_size must be an odd number: received {config.kernel_size}.")
    no_crossing = config.kind != "encoder_decoder" or config.mixer in ("attention", "convolution")
    if not config.cross_attention and no_crossing:
        raise ValueError(
            "cross_attention=False needs kind='encoder_decoder' and a recurrent mixer, which begins with a state "
            f"of the encoder: received kind={config.kind!r}, mixer={config.mixer!r}."
        )
    if (config.mixer == "none") != (config.num_layers == 0) or (config.mixer == "none" and config.kind != "encoder"):
        raise ValueError(
            f"num_layers must be 0, of an encoder, with mixer='none', which has no blocks: received num_layers="
            f"{config.num_layers}, kind={config.kind!r}, mixer={config.mixer!r}."
        )
    names = ("attention_bias", "attention_output_bias", "feed_forward_bias", "intermediate_bias")
    biases = {name: getattr(config, name) for name in (*names, *(["norm_bias"] if config.norm == "layer" else []))}
    if config.mixer != "attention" and len(set(biases.values())) > 1:
        raise ValueError(
            f"biases that differ need attention: received {biases} with mixer={config.mixer!r}. Give use_bias alone."
        )


def _check_parallel(config: Any) -> None:
    """Check that parallel sublayers are two, each behind a norm, and that one factor at most scales the embeddings."""
    if config.parallel and (config.norm_order != "pre" or config.kind == "encoder_decoder"):
        raise ValueError(
            "parallel=True needs norm_order='pre' and one stack: received norm_order="
            f"{config.norm_order!r}, kind={config.kind!r}."
        )
    if config.scale_embeddings and config.embedding_scale != 1:
        raise ValueError(
            f"scale_embeddings=True is a factor, too: received embedding_scale={config.embedding_scale}. Leave one out."
        )


def _check_sharing(config: Any) -> None:
    """Check that groups of blocks fit the blocks, and query heads the key heads that they share."""
    if config.num_heads % config.num_kv_heads:
        raise ValueError(
            f"num_heads must be a multiple of num_kv_heads: received num_heads={config.num_heads}, "
            f"num_kv_heads={config.num_kv_heads}."
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


def _check_distances(config: Any) -> None:
    """Check that disentangled positions are used in encoders with a key head for each query head, and their sizes."""
    if "disentangled" not in config.position_kinds:
        return
    shares = config.num_kv_heads != config.num_heads
    if config.kind != "encoder" or shares or config.head_norm is not None or config.position_buckets is None:
        raise ValueError(
            "disentangled positions need an encoder with a key head for each query head, no head_norm, and "
            f"position_buckets: received kind={config.kind!r}, num_heads={config.num_heads}, "
            f"num_kv_heads={config.num_kv_heads}, head_norm={config.head_norm!r}, "
            f"position_buckets={config.position_buckets}."
        )
    check_buckets(config.position_buckets, config.max_distance or config.max_length)


def check_buckets(num_buckets: int, max_distance: int) -> None:
    """Check that buckets of logarithmic width lie between the near distances and the largest one.

    Args:
        num_buckets: Number of buckets for each direction; distances up to half of it have a bucket each.
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


def _check_blocks(config: Any) -> None:
    """Check that there are no more block options than blocks, and that they fit the other fields."""
    most = max(config.num_layers, config.num_decoder_layers or 0)
    if len(config.block_options) > most:
        raise ValueError(
            f"block_options must have one entry for each block or fewer, which are repeated: received "
            f"{len(config.block_options)} for {most} blocks."
        )
    for options in config.block_options:
        has_own = not options.rotary or options.max_wavelength is not None or options.rotary_scaling is not None
        if "rotary" not in config.position_kinds and has_own:
            raise ValueError(
                f"rotary, max_wavelength and rotary_scaling of block_options need positions='rotary': received "
                f"{options} with positions={config.positions!r}."
            )
        if config.norm_order != "pre" and not options.attention_norm:
            raise ValueError(
                f"attention_norm=False of block_options needs norm_order='pre': received norm_order="
                f"{config.norm_order!r}, whose next sublayer takes the output of that norm."
            )


def _check_states(config: Any) -> None:
    """Check that blocks with a state are in a decoder of one stack, beside at least one with attention."""
    mixers = {options.mixer for options in config.block_options}
    if not (others := sorted(mixers - {"attention"})):
        return
    if config.kind != "decoder" or config.parallel or "attention" not in mixers:
        raise ValueError(
            f"mixer={others} of block_options needs kind='decoder', parallel=False and a block with attention: "
            f"received kind={config.kind!r}, parallel={config.parallel} and blocks with {sorted(mixers)}."
        )
    memory = {name: getattr(config, name) for name in MEMORY}
    if "gated_delta" in mixers and (None in memory.values() or memory["memory_heads"] % memory["memory_key_heads"]):
        raise ValueError(
            "a block with mixer='gated_delta' needs sizes of its memory, and memory_heads must be a multiple of "
            f"memory_key_heads: received {memory}."
        )


def _check_rotary(config: Any) -> None:
    """Check that the rotated part of a head has pairs of units, and that scales of positions fit it."""
    if "rotary" not in config.position_kinds:
        return
    if config.rotary_dim % 2 or not config.rotary_dim:
        raise ValueError(
            "rotary positions pair units of a head: head_dim times partial_rotary_factor must be an even number, "
            f"received {config.head_dim} times {config.partial_rotary_factor}."
        )
    for scaling in {config.rotary_scaling, *(options.rotary_scaling for options in config.block_options)}:
        check_scaling(scaling, config.rotary_dim)
        if scaling is not None and scaling.by_length and config.kind != "decoder":
            raise ValueError(
                f"a rotary_scaling by the length of texts needs kind='decoder': received kind={config.kind!r} with "
                f"{scaling.kind!r}."
            )


def _check_encoder_vocabulary(config: Any) -> None:
    """Check that the id of padding is in the vocabularies of both stacks."""
    if config.encoder_vocabulary_size and config.fill_id >= config.encoder_vocabulary_size:
        below = f"expected one in [0, {config.encoder_vocabulary_size}), the encoder's vocabulary"
        raise ValueError(f"pad_id is a token of both sides: {below}; received {config.pad_id}.")
