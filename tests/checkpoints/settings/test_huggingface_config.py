import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import FAMILIES, architecture_of, stored_as, task_names, task_of
from keras_transformers.families import bart, bert, gpt1, gpt2, llama, marian, mbart, mpnet, t5, transformer

SIZES = {"vocabulary_size": 90, "num_layers": 3, "num_heads": 4, "hidden_dim": 32}
CONFIG = bert(**SIZES, activation="gelu_tanh", dropout=0.2, pad_id=3)
MINIMAL = {
    "model_type": "bert", "vocab_size": 90, "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32,
    "intermediate_size": 128, "max_position_embeddings": 512,
}  # fmt: skip

LABELLED = {"architectures": ["BertForSequenceClassification"]}
GPT2 = {"model_type": "gpt2", "vocab_size": 90, "n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": 512}
LLAMA = {
    "model_type": "llama", "vocab_size": 90, "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32,
    "intermediate_size": 48, "max_position_embeddings": 512,
}  # fmt: skip
DECODERS = {
    "gpt1": gpt1(**SIZES, dropout=0.2, attention_dropout=0.3, bos_id=1, eos_ids=[2], activation="silu"),
    "gpt2": gpt2(**SIZES, intermediate_dim=40, activation="gelu", epsilon=1e-6, pad_id=5, use_bias=False),
    "gpt2-untied": gpt2(**SIZES, tie_embeddings=False, eos_ids=[2, 4]),
    "llama": llama(**SIZES, intermediate_dim=48, num_kv_heads=2, head_dim=6, max_wavelength=5e5, tie_embeddings=True),
    "llama-bias": llama(**SIZES, intermediate_dim=48, use_bias=True, attention_dropout=0.1, epsilon=1e-5),
}
RATES = {"dropout": 0.2, "attention_dropout": 0.2, "activation_dropout": 0.2}
TWO_STACKS = {
    "transformer": transformer(**SIZES, num_decoder_layers=2, pad_id=3, eos_ids=[2], max_length=70),
    "transformer-windows": transformer(**SIZES, block_options=[{"attention_window": 8}, {}]),
    "transformer-fairseq": transformer(**SIZES, **RATES, position_layout="fairseq", encoder_vocabulary_size=80),
    "transformer-opennmt": transformer(**SIZES, **RATES, position_layout="opennmt", norm_order="pre", epsilon=1e-3),
    "transformer-unlike": transformer(**SIZES, norm_order="pre", gated=True, initializer_range=0.01, epsilon=1e-6),
    "marian": marian(**SIZES, activation="relu", scale_embeddings=False),
    "marian-separate": marian(**SIZES, encoder_vocabulary_size=80, pad_id=4, eos_ids=[1, 2]),
    "t5": t5(**SIZES, dropout=0.2, num_decoder_layers=1, head_dim=6),
    "t5-gated": t5(**SIZES, gated=True),
    "t5-exact-gelu": t5(**SIZES, gated=True, activation="gelu"),
    "t5-silu": t5(**SIZES, gated=True, activation="silu", tie_embeddings=True),
    "bart": bart(**SIZES, **RATES, num_decoder_layers=1, activation="relu"),
    "mbart": mbart(**SIZES),
    "mbart-start": mbart(**SIZES, decoder_start_id=5, scale_embeddings=False),
}
MARIAN = {
    "model_type": "marian",
    "vocab_size": 90,
    "encoder_layers": 3,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "d_model": 32,
    "encoder_ffn_dim": 128,
    "max_position_embeddings": 512,
}
T5 = {"model_type": "t5", "vocab_size": 90, "num_layers": 3, "num_heads": 4, "d_model": 32, "d_ff": 128}


def write(folder, **changes):
    (folder / "config.json").write_text(json.dumps({**MINIMAL, **changes}))
    return folder


@pytest.mark.parametrize(
    ("architecture", "labels", "problem"),
    [
        ("BertModel", None, None),
        ("BertForSequenceClassification", ("no", "yes"), "single_label"),
        ("BertForSequenceClassification", tuple("abcdefghijkl"), "multi_label"),
        ("BertForSequenceClassification", ("score",), "regression"),
    ],
)
def test_round_trip(tmp_path, architecture, labels, problem):
    values = make_config(CONFIG, architecture, labels, problem)
    (tmp_path / "config.json").write_text(json.dumps(values))
    extra = {"architecture": architecture, "labels": labels, "problem": problem}
    assert read_config(tmp_path) == (CONFIG, extra)


@pytest.mark.parametrize("name", DECODERS)
def test_round_trip_of_decoders(tmp_path, name):
    config = DECODERS[name]
    architecture = architecture_of("causal_lm", config.family)
    values = make_config(config, architecture)
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_config(tmp_path) == (config, {"architecture": architecture, "labels": None, "problem": None})
    assert values["pad_token_id"] == config.pad_id
    assert values["eos_token_id"] == {0: None, 1: 2, 2: [2, 4]}[len(config.eos_ids)]


@pytest.mark.parametrize("name", TWO_STACKS)
def test_round_trip_of_two_stacks(tmp_path, name):
    config = TWO_STACKS[name]
    architecture = architecture_of("seq2seq_lm", config.family)
    (tmp_path / "config.json").write_text(json.dumps(make_config(config, architecture)))
    assert read_config(tmp_path) == (config, {"architecture": architecture, "labels": None, "problem": None})


def test_a_transformer_with_halves_becomes_a_marian(tmp_path):
    config = transformer(**SIZES, position_layout="halves", pad_id=3, eos_ids=[2], dropout=0.3)
    stored, architecture = stored_as(config, "TransformerForSeq2SeqLM")
    (tmp_path / "config.json").write_text(json.dumps(make_config(stored, architecture)))
    marians = marian(**SIZES, activation="relu", pad_id=3, eos_ids=[2], dropout=0.3)
    assert read_config(tmp_path)[0] == marians
    assert stored_as(marians, "MarianMTModel") == (marians, "MarianMTModel")


def test_what_transformers_takes_for_options_that_are_left_out(tmp_path):
    config = read_config(write(tmp_path, **MARIAN))[0]
    assert config == marian(**SIZES, activation="gelu", scale_embeddings=False)
    config = read_config(write(tmp_path, **MARIAN, share_encoder_decoder_embeddings=False, decoder_vocab_size=None))[0]
    assert (config.encoder_vocabulary_size, config.vocabulary_size) == (90, 90)
    assert read_config(write(tmp_path, **T5))[0] == t5(**SIZES, head_dim=64)


def test_how_fresh_weights_started_is_not_kept(tmp_path):
    (tmp_path / "config.json").write_text(
        json.dumps(make_config(gpt2(**SIZES, output_initializer_range=0.1), "GPT2Model"))
    )
    assert read_config(tmp_path)[0] == gpt2(**SIZES)


@pytest.mark.parametrize("place", ["rope_parameters", "rope_scaling", None])
def test_the_base_of_wavelengths_where_each_version_has_it(tmp_path, place):
    options = {"rope_theta": 5e5, "rope_type": "default"}
    options = {"rope_theta": 5e5, "rope_scaling": None} if place is None else {"rope_theta": 1.0, place: options}
    assert read_config(write(tmp_path, **LLAMA, **options))[0].max_wavelength == 5e5


@pytest.mark.parametrize("task", task_names())
def test_tasks_and_classes_belong_together(task):
    families = [family for family, names in FAMILIES.items() if task in names.tasks]
    assert families
    for family in families:
        architecture = architecture_of(task, family)
        assert architecture in FAMILIES[family].architectures
        # Ranking is a classifier of one label, or a language model; a model without head may be anybody's.
        ranks = "causal_lm" if architecture.endswith(("CausalLM", "LMHeadModel")) else "classification"
        expected = {"ranking": ranks, "sentence_embedding": None}.get(task, task)
        assert task_of(architecture, family) == expected


def test_a_task_without_a_class_is_an_error():
    with pytest.raises(ValueError, match=r"no class of transformers is a 'causal_lm' of family 'bert'.*'masked_lm'"):
        architecture_of("causal_lm", "bert")
    with pytest.raises(ValueError, match="a task 'causal_lm': unknown model family 'mamba'"):
        architecture_of("causal_lm", "mamba")
    assert task_of("GPT2DoubleHeadsModel", "gpt2") is task_of(None, "llama") is None


def test_defaults_of_old_files(tmp_path):
    config, extra = read_config(write(tmp_path, pad_token_id=None))
    assert config == bert(**SIZES)
    assert extra == {"architecture": None, "labels": None, "problem": None}


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({**LLAMA, "pad_token_id": -1}, "pad_id", None),
        ({**GPT2, "pad_token_id": -1}, "pad_id", None),
        ({"pad_token_id": -1}, "pad_id", 0),
        ({**LLAMA, "bos_token_id": -1}, "bos_id", None),
        ({**LLAMA, "eos_token_id": -1}, "eos_ids", ()),
        ({**LLAMA, "eos_token_id": [2, -1]}, "eos_ids", (2,)),
        ({**MARIAN, "eos_token_id": -1}, "eos_ids", ()),
    ],
)
def test_no_token_may_be_minus_one(tmp_path, recwarn, changes, field, value):
    config, _ = read_config(write(tmp_path, **changes))
    assert getattr(config, field) == value and not recwarn.list


def test_tokens_to_end_with_that_no_text_can_have_are_left_out_with_a_word(tmp_path):
    write(tmp_path, **LLAMA, bos_token_id=90, eos_token_id=[2, 128009])
    with pytest.warns(UserWarning, match=r"config\.json names start or end tokens .* of 90 .*: \[90, 128009\]"):
        config, _ = read_config(tmp_path)
    assert (config.bos_id, config.eos_ids) == (None, (2,))


@pytest.mark.parametrize(
    "changes",
    [
        {"position_embedding_type": None, "is_decoder": None, "add_cross_attention": False, "use_cache": True},
        {"classifier_dropout": None, "gradient_checkpointing": False, "pruned_heads": {}, "chunk_size_feed_forward": 0},
        {**GPT2, "scale_attn_by_inverse_layer_idx": None, "add_cross_attention": None},
        {**LLAMA, "mlp_bias": False, "attention_bias": None, "rope_scaling": None},
        {**MARIAN, "normalize_before": None, "decoder_layerdrop": None},
    ],
)
def test_options_that_are_null_or_of_no_effect(tmp_path, changes):
    config, _ = read_config(write(tmp_path, **changes))
    kept = {key: value for key, value in changes.items() if key in {**MINIMAL, **GPT2, **LLAMA, **MARIAN}}
    assert config == read_config(write(tmp_path, **kept))[0]


@pytest.mark.parametrize(
    ("changes", "labels", "problem"),
    [
        ({}, ("LABEL_0", "LABEL_1"), "single_label"),
        ({"id2label": {"1": "b", "0": "a", "3": "d", "2": "c"}}, ("a", "b", "c", "d"), "single_label"),
        ({"num_labels": 3}, ("LABEL_0", "LABEL_1", "LABEL_2"), "single_label"),
        ({"id2label": {"0": "score"}}, ("score",), "regression"),
        ({"problem_type": "multi_label_classification"}, ("LABEL_0", "LABEL_1"), "multi_label"),
    ],
)
def test_labels_and_problem_as_transformers_infers_them(tmp_path, changes, labels, problem):
    _, extra = read_config(write(tmp_path, architectures=["BertForSequenceClassification"], **changes))
    assert (extra["labels"], extra["problem"]) == (labels, problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "mamba"}, "unknown model family 'mamba'; known are .*'bert', .*'gpt2'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key' is not supported"),
        ({"is_decoder": True}, "is_decoder=True is not supported"),
        ({"hidden_act": "quick_gelu"}, "unknown activation 'quick_gelu'"),
        ({"hidden_act": ""}, "unknown activation ''"),
        ({"hidden_act": 0}, "hidden_act must be a str: received 0"),
        ({"hidden_size": None}, r"lacks \['hidden_size'\]"),
        ({"num_attention_heads": None, "max_position_embeddings": None}, "lacks.*num_attention_heads.*max_position"),
        ({**GPT2, "scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True is not supported"),
        ({**GPT2, "scale_attn_weights": False}, "scale_attn_weights=False is not supported"),
        ({**GPT2, "add_cross_attention": True}, "add_cross_attention=True is not supported"),
        ({**GPT2, "embd_pdrop": 0.2, "resid_pdrop": 0.1}, "embd_pdrop=0.2 with resid_pdrop=0.1 is not supported"),
        ({**GPT2, "activation_function": "mish"}, "unknown activation 'mish'; known are .*'gelu_new'"),
        ({**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope_type='dynamic' is not supported"),
        (
            {**LLAMA, "rope_parameters": {"rope_type": "default"}, "rope_scaling": {"type": "linear", "factor": 0.5}},
            "rope_type='linear' with .* is not supported: factor",
        ),
        ({**LLAMA, "rope_parameters": {"rope_type": "llama3"}}, "rope_type='llama3' needs .'factor', 'low_freq"),
        ({**LLAMA, "partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5 is not supported"),
        ({**LLAMA, "intermediate_size": None}, r"lacks \['intermediate_size'\]"),
        ({**MARIAN, "decoder_attention_heads": 2}, "decoder_attention_heads=2 with encoder_attention_heads=4"),
        ({**MARIAN, "normalize_before": True}, "normalize_before=True is not supported"),
        ({**MARIAN, "encoder_layerdrop": 0.1}, "encoder_layerdrop=0.1 is not supported"),
        ({**MARIAN, "decoder_layers": None}, r"lacks \['decoder_layers'\]"),
        ({**MARIAN, "activation_function": "mish"}, "unknown activation 'mish'"),
        ({**T5, "relative_attention_num_buckets": 16}, "relative_attention_num_buckets=16 is not supported"),
        ({**T5, "feed_forward_proj": "gated-mish"}, "unknown activation 'mish'; known are .*'gelu_new'"),
        ({"architectures": "BertModel"}, "architectures must be a list: received 'BertModel'"),
        ({**LABELLED, "id2label": ["no", "yes"]}, "id2label must be a dict: received"),
        ({**LABELLED, "id2label": {"first": "no"}}, "id2label must name a label for each number"),
        ({**LABELLED, "problem_type": ["regression"]}, "problem_type must be a str: received"),
        ({**LLAMA, "rope_scaling": "linear"}, "rope_scaling must be a dict: received 'linear'"),
        ({"model_type": []}, r"config\.json has no model_type: expected one of .*'bert'.*\. Fetch the config\.json"),
        ({**LABELLED, "model_type": None}, 'no model_type.*Write "model_type": "bert" in it.*Classification, or fetch'),
        ({"model_type": ["bert"]}, "model_type must be a str"),
        ({"hidden_act": ["gelu"]}, r"config\.json: hidden_act must be a str: received \['gelu'\]"),
        ({"hidden_dropout_prob": "x", "attention_probs_dropout_prob": "x"}, "dropout must be a rate in"),
        ({**GPT2, "n_layer": "x"}, "num_layers must be a positive integer: received 'x'"),
        ({**MARIAN, "vocab_size": "x"}, r"config\.json has a value of the wrong type"),
        ({**LLAMA, "eos_token_id": 1.5}, "eos_ids must be a list of token ids: received 1.5"),
        ({**LLAMA, "bos_token_id": "x"}, "bos_id must be a token id"),
        ({**LLAMA, "pad_token_id": 90}, r"config\.json: pad_id must be a token id in \[0, 90\): received 90"),
        ({**MARIAN, "decoder_start_token_id": -1}, r"config\.json: decoder_start_id must be a token id"),
        ({**MARIAN, "decoder_start_token_id": 2, "pad_token_id": -1}, r"config\.json: pad_id must be a token id"),
        ({**GPT2, "scale_attn_weights": None}, "scale_attn_weights=None is not supported"),
        ({**T5, "relative_attention_num_buckets": None}, "relative_attention_num_buckets=None is not supported"),
    ],
)
def test_what_is_not_supported_is_an_error(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read_config(write(tmp_path, **changes))


def test_a_missing_or_broken_file(tmp_path):
    with pytest.raises(ValueError, match=r"there is no config\.json in"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is no JSON"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("config", "architecture", "problem", "message"),
    [
        (CONFIG.replace(gated=True, num_kv_heads=2), "BertModel", None, r"no place.*\['num_kv_heads', 'gated'\]"),
        (CONFIG.replace(tie_embeddings=False), "BertModel", None, r"no place.*\['tie_embeddings'\]"),
        (CONFIG.replace(activation="mish"), "BertModel", None, r"no place.*\['activation'\]"),
        (gpt1(**SIZES, activation="gelu"), "OpenAIGPTModel", None, r"no place.*\['activation'\]"),
        (gpt1(**SIZES, intermediate_dim=40), "OpenAIGPTModel", None, r"no place.*\['intermediate_dim'\]"),
        (gpt2(**SIZES, positions="rotary"), "GPT2Model", None, r"no place.*\['positions'\]"),
        (llama(**SIZES, intermediate_dim=9, scale_embeddings=True), "LlamaModel", None, "'scale_embeddings'"),
        (marian(**SIZES, epsilon=1e-6), "MarianModel", None, r"no place.*\['epsilon'\]"),
        (transformer(**SIZES, decoder_start_id=None), "Transformer", None, r"no place.*\['decoder_start_id'\]"),
        (t5(**SIZES, attention_dropout=0.2), "T5Model", None, r"no place.*\['attention_dropout'\]"),
        (t5(**SIZES, gated=True, activation="mish"), "T5Model", None, r"no place.*\['activation'\]"),
        (bart(**SIZES, output_bias=True), "BartModel", None, r"no place.*\['output_bias'\]"),
        (mpnet(**SIZES, pad_id=0), "MPNetModel", None, r"mpnet format .* no place .* values \{'pad_token_id': 0\}"),
        (CONFIG.replace(family="mamba"), "MambaModel", None, "unknown model family 'mamba'"),
        (CONFIG, "BertForSummaries", None, "architecture must be one of .*received 'BertForSummaries'"),
        (CONFIG, "BertModel", "ranking", "problem must be one of .*received 'ranking'"),
    ],
)
def test_what_the_format_cannot_say_is_an_error(config, architecture, problem, message):
    with pytest.raises(ValueError, match=message):
        make_config(config, architecture, None, problem)


def test_dropout_is_forgotten_where_the_format_has_no_place():
    """A Llama may be fine-tuned with dropout, and saved."""
    values = make_config(llama(**SIZES, intermediate_dim=48, dropout=0.1, attention_dropout=0.1), "LlamaForCausalLM")
    assert values["attention_dropout"] == 0.1 and "dropout" not in values


def test_what_a_roberta_leaves_out_is_the_default_of_its_class(tmp_path):
    """Not what the released files say."""
    config = read_config(write(tmp_path, model_type="roberta", max_position_embeddings=66))[0]
    assert (config.epsilon, config.num_segments, config.pad_id, config.max_length) == (1e-12, 2, 1, 64)


def test_block_options_have_no_place_in_the_formats_of_others():
    config = llama(**SIZES, intermediate_dim=48, block_options=[{"attention_window": 8}])
    with pytest.raises(ValueError, match=r"llama format .* no place for other values of \['block_options'\]"):
        make_config(config, "LlamaForCausalLM")
