"""Choices of a configuration that go together, and those that do not."""

import pytest

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families import bert, gpt2, t5
from keras_transformers.families.dropout_rates import with_dropout

SIZES = {"vocabulary_size": 30, "num_layers": 1, "num_heads": 2, "hidden_dim": 8}


def test_two_kinds_of_positions_go_through_json():
    config = bert(**SIZES, positions=["learned", "relative"])
    assert config.positions == config.position_kinds == ("learned", "relative")
    assert TransformerConfig.from_dict({**config.to_dict(), "positions": ["learned", "relative"]}) == config
    assert bert(**SIZES, positions=["learned"]) == bert(**SIZES)
    assert bert(**SIZES).position_kinds == ("learned",)


@pytest.mark.parametrize(
    "positions", [["relative", "learned"], ["rotary", "relative"], ["learned", "learned"], ["learned", "sinusoidal"]]
)
def test_kinds_that_do_not_go_together(positions):
    with pytest.raises(ValueError, match=r"several positions are one of .*, then one of"):
        bert(**SIZES, positions=positions)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (bert, {"positions": ["learned", "other"]}, "positions must be one of"),
        (bert, {"position_offset": -1}, "position_offset must be"),
        (
            bert,
            {"position_offset": 2, "positions": "rotary"},
            "position_offset needs positions='learned'",
        ),
        (gpt2, {"position_offset": 2}, "position_offset needs kind='encoder': received position_offset=2"),
        (bert, {"classifier_dropout": 1.0}, "classifier_dropout must be a rate"),
        (bert, {"pooler_activation": 3}, "pooler_activation must be a str"),
        (bert, {"classifier_pooling": "cls"}, "classifier_pooling must be one of"),
        (bert, {"head_transform": None}, "head_transform must be one of"),
        (bert, {"head_bias": 1}, "head_bias must be True or False"),
        (gpt2, {"classifier_pooling": "mean"}, "classifier_pooling needs kind='encoder'"),
        (t5, {"head_bias": False, "head_transform": "all"}, "head_transform needs kind='encoder'"),
    ],
)
def test_what_is_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**SIZES, **options)


def test_dropouts_of_heads_are_set_with_the_others():
    config = with_dropout(bert(**SIZES, pooler_dropout=0.1, classifier_dropout=0.2), 0.3)
    assert (config.pooler_dropout, config.classifier_dropout) == (0.3, 0.3)
    assert with_dropout(bert(**SIZES), 0.3).classifier_dropout is None


def test_attention_may_have_another_rate():
    config = with_dropout(bert(**SIZES), attention_rate=0.0)
    assert (config.dropout, config.attention_dropout) == (0.1, 0.0)
    with pytest.raises(ValueError, match=r"t5 hold one rate.*Give dropout=0\.0"):
        with_dropout(t5(**SIZES), attention_rate=0.0)
    assert with_dropout(t5(**SIZES), 0.0, 0.0).activation_dropout == 0.0
