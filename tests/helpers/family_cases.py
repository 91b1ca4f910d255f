"""The one table of families for tests: a row for each, from which shapes, counts, parity and decoding are tested."""

from __future__ import annotations

from typing import Any

from decoder_cases import DECODER_CASES
from family_case import STACKS, Case, sized

from keras_transformers import families
from keras_transformers.checkpoints.settings.huggingface_config import make_config
from keras_transformers.checkpoints.settings.names import FAMILIES, architecture_of
from keras_transformers.families.encoders.modernbert import windowed

# Two stacks; their formats hold no epsilon.
PAIR = {"own": STACKS, "unusual": {"epsilon": 1e-5, "num_decoder_layers": 2}}
T5 = {"own": STACKS, "unusual": {"num_decoder_layers": 2}}
CASES = {
    "bert": Case(
        families.bert,
        variants={"gelu-tanh": {"activation": "gelu_tanh", "intermediate_dim": 40, "pad_id": 3}},
        published={
            4_385_920: sized(30522, 2, 2, 128),
            28_763_648: sized(30522, 4, 8, 512),
            41_373_184: sized(30522, 8, 8, 512),
            109_482_240: sized(30522, 12, 12, 768),
            335_141_888: sized(30522, 24, 16, 1024),
        },
    ),
    "roberta": Case(
        families.roberta,
        variants={
            "segments": {"num_segments": 2, "intermediate_dim": 40, "pad_id": 1, "classifier_dropout": 0.2},
            "padding-in-text": {"vocabulary_size": 10, "pad_id": 6},  # ids of texts are drawn from 5 to 9
        },
        published={124_645_632: sized(50265, 12, 12, 768), 355_359_744: sized(50265, 24, 16, 1024)},
    ),
    "xlm-roberta": Case(
        families.xlm_roberta,
        variants={"segments": {"num_segments": 2, "pad_id": 1, "classifier_dropout": 0.2}},
        published={278_043_648: sized(250002, 12, 12, 768), 559_890_432: sized(250002, 24, 16, 1024)},
    ),
    "camembert": Case(families.camembert, published={110_621_952: sized(32005, 12, 12, 768)}),
    "distilbert": Case(
        families.distilbert,
        variants={"relu": {"activation": "relu", "intermediate_dim": 40, "classifier_dropout": 0.3}},
        published={66_362_880: sized(30522, 6, 12, 768)},
        unusual={"epsilon": 1e-12},
    ),
    "mpnet": Case(
        families.mpnet,
        variants={"padding-in-text": {"vocabulary_size": 10}, "tanh": {"activation": "gelu", "intermediate_dim": 40}},
        published={109_486_464: sized(30527, 12, 12, 768)},
        unusual={"pad_id": 1},
    ),
    "electra": Case(
        families.electra,
        own={"embedding_dim": 12},
        variants={"one-width": {"embedding_dim": None, "classifier_dropout": 0.2, "intermediate_dim": 40}},
        published={
            13_483_008: sized(30522, 12, 4, 256, embedding_dim=128),
            108_891_648: sized(30522, 12, 12, 768, embedding_dim=None),
        },
    ),
    "albert": Case(
        families.albert,
        own={"embedding_dim": 12},
        variants={
            "groups": {"num_layers": 5, "num_block_groups": 2, "dropout": 0.1},
            "wide": {"embedding_dim": 32, "intermediate_dim": 40},
        },
        published={
            11_683_584: sized(30000, 12, 12, 768, embedding_dim=128),
            17_683_968: sized(30000, 24, 16, 1024, embedding_dim=128),
        },
    ),
    "modernbert": Case(
        families.modernbert,
        own={"intermediate_dim": 24},
        variants={
            "first-token": {"classifier_pooling": "first", "head_bias": True, "pooler_activation": "relu"},
            "uneven-windows": {"block_options": windowed([False, True, True, False, True, False, False], 7, 500.0)},
            "one-base": {"max_wavelength": 400.0, "block_options": windowed([True, False] * 3 + [True], 2, 400.0)},
            "bias": {"use_bias": True, "activation": "silu", "bos_id": 1, "eos_ids": [2]},
            "bias of norms": {"norm_bias": True},
            "bias of feed-forward": {"feed_forward_bias": True},
            "long-texts": {"max_length": 5000},  # masks by the attention layers themselves
        },
        published={
            149_014_272: sized(50368, 22, 12, 768, 1152),
            394_781_696: sized(50368, 28, 16, 1024, 2624),
        },
        unusual={"num_layers": 7, "block_options": windowed([True, False, False] * 2 + [True], 4)},
    ),
    "eurobert": Case(
        families.eurobert,
        own={"intermediate_dim": 24, "num_kv_heads": 2},
        variants={
            "mean": {"classifier_pooling": "mean", "num_kv_heads": 4},
            "first-token": {"classifier_pooling": "first", "head_dim": 12, "max_wavelength": 500.0, "pad_id": 3},
        },
        published={211_766_016: sized(128_256, 12, 12, 768, 3072)},
    ),
    "nomic_bert": Case(
        families.nomic_bert,
        variants={
            "geglu": {"activation": "gelu", "intermediate_dim": 40, "classifier_dropout": 0.2, "max_wavelength": 50.0},
            "heads": {"head_dim": 6, "num_segments": 3, "dropout": 0.1},
        },
        published={136_731_648: sized(30528, 12, 12, 768)},
    ),
    "gte": Case(
        families.gte,
        variants={
            "scaled": {
                "rotary_scaling": {"kind": "linear", "factor": 1.5},
                "max_wavelength": 50.0,
                "num_segments": 2,
                "dropout": 0.2,
            },
            "no-segments": {"num_segments": 0, "head_dim": 6, "intermediate_dim": 40, "classifier_dropout": 0.2},
        },
        published={
            136_776_192: sized(30528, 12, 12, 768, num_segments=0),
            305_368_320: sized(250_048, 12, 12, 768),
            434_139_136: sized(30528, 24, 16, 1024, num_segments=2),
        },
    ),
    "deberta-v2": Case(
        families.deberta_v2,
        own={"position_buckets": 6},
        variants={
            "version-2": {"positions": ("learned", "disentangled"), "num_segments": 2, "pooler_activation": "tanh"},
            "max-distance": {"max_distance": 15, "position_buckets": 12, "pooler_activation": "relu"},
        },
        published={
            70_682_112: sized(128_100, 12, 6, 384),
            141_304_320: sized(128_100, 6, 12, 768),
            183_831_552: sized(128_100, 12, 12, 768),
            278_218_752: sized(251_000, 12, 12, 768),
            434_012_160: sized(128_100, 24, 16, 1024),
        },
    ),
    **DECODER_CASES,
    "transformer": Case(
        families.transformer,
        own=STACKS,
        is_ours=True,
        # The paper says 65 and 213 million; its vocabularies are "about 37,000" tokens.
        published={63_082_496: sized(37000), 214_245_376: {**sized(37000), "num_heads": 16, "hidden_dim": 1024}},
    ),
    "marian": Case(
        families.marian,
        own=STACKS | {"encoder_vocabulary_size": 28},
        unusual=PAIR["unusual"] | {"encoder_vocabulary_size": None, "activation": "relu"},
        # 74,410,496 of transformers, which has the positions in a table, and the bias as no parameter.
        published={74_410_496 - 2 * 512 * 512 + 58101: sized(58101)},
    ),
    "t5": Case(
        families.t5,
        **T5,
        variants={"head_dim": {"head_dim": 12, "activation": "silu"}},
        published={60_506_624: sized(32128, 6, 8, 512), 222_903_552: sized(32128, 12, 12, 768)},
    ),
    "t5_v1_1": Case(
        families.t5,
        own=STACKS | {"gated": True, "head_dim": 6},
        unusual=T5["unusual"],
        published={247_577_856: sized(32128, 12, 12, 768, 2048, gated=True)},
    ),
    "bart": Case(
        families.bart,
        **PAIR,
        variants={"pad": {"pad_id": 3, "activation": "relu", "scale_embeddings": True}},
        published={139_417_344: sized(50265, 6, 12, 768), 406_287_360: sized(50265, 12, 16, 1024)},
    ),
    "mbart": Case(families.mbart, **PAIR, variants={"pad": {"pad_id": 3, "decoder_start_id": 4}}),
    "recurrent": Case(families.recurrent, own={"intermediate_dim": 24}, is_ours=True),
    "convolutional": Case(families.convolutional, own={"intermediate_dim": 24}, is_ours=True),
    "model2vec": Case(families.static, own={"num_layers": 0, "num_heads": 1}, is_ours=True),
}
KINDS = {name: case.small().kind for name, case in CASES.items()}
ATTENTION = {name: case for name, case in CASES.items() if case.small().mixer == "attention"}
# Of each kind of model, the families with self-attention: their functions, and the options of their small models.
ENCODERS, DECODERS, PAIRS = (
    {name: (case.make, {**case.own}) for name, case in ATTENTION.items() if KINDS[name] == kind}
    for kind in ("encoder", "decoder", "encoder_decoder")
)


def settings(family: str) -> dict[str, Any]:
    """Return the values of the config.json of a small model of a family, with more than `transformers` writes."""
    case = next(case for case in CASES.values() if case.family == family)
    more = {"norm_order": "pre", "block_options": [{"attention_window": 8}]} if family == "transformer" else {}
    more |= {"num_layers": 2} if case.small().num_layers else {}
    config = case.small(vocabulary_size=90, num_decoder_layers=None, max_length=24, **more)
    tasks = FAMILIES[family].tasks
    task = "classification" if "classification" in tasks else next(iter(tasks))
    has_labels = {"labels": ["no", "yes"], "problem": "single_label"} if task == "classification" else {}
    values = make_config(config, architecture_of(task, family), **has_labels)
    return values | {"zoo_task": {"name": task, "stride": 4}, "auto_map": {"AutoModel": "evil.Model"}}


CONFIGS = {family: settings(family) for family in sorted(FAMILIES)}
