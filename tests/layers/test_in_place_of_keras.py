"""Our layers in the models of people who use Keras, in the place of Keras' and keras_hub's: with their weights, their
numbers. The models have the structures of examples of keras.io; warnings are errors.
"""

from __future__ import annotations

from functools import partial

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from in_place import (
    CLASSES,
    WIDTH,
    OwnBlock,
    carry,
    image_classifier,
    our_attention,
    our_decoder,
    our_encoder,
    series_classifier,
    text_classifier,
    their_attention,
    their_decoder,
    their_encoder,
    token_ids,
    translator,
)
from keras import ops

# The dense layers inside keras_hub's decoder warn that they lose the mask of Keras; ours are of another type. What the
# tests before left behind may be collected during these.
IGNORED = ("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
THEIRS = "ignore:Layer .* .of type EinsumDense. was passed an input with a mask"
pytestmark = pytest.mark.filterwarnings("error", *IGNORED, THEIRS)

B, T, S = 3, 5, 7
LENGTHS = (1, 6, 13)
EQUAL = {"atol": 1e-5, "rtol": 1e-5}
MASK = np.random.default_rng(0).random((B, T, T)) < 0.6
MASK[:, :, 0] = True
PADDING = np.arange(T) < np.array([[5], [2], [4]])


def check_equal(theirs: keras.layers.Layer, ours: keras.layers.Layer, *inputs, real=None, **options) -> None:
    """Both give the same; where `real` (B, T) is given, in those rows of each output (B, T, D) or (B, N, T, S)."""
    found, expected = (keras.tree.flatten(to_numpy(one(*inputs, **options))) for one in (ours, theirs))
    for one, other in zip(expected, found, strict=True):
        if real is not None:
            one, other = (np.moveaxis(array, -2, 1)[real] for array in (one, other))
        np.testing.assert_allclose(other, one, **EQUAL)


def same(theirs: keras.Model, ours: keras.Model) -> tuple[keras.Model, keras.Model]:
    """Random weights, the same in both models."""
    carry(randomize(theirs), ours)
    return theirs, ours


def built(theirs: keras.layers.Layer, ours: keras.layers.Layer, *inputs) -> tuple:
    """The same, of layers that these inputs build."""
    theirs(*inputs), ours(*inputs)
    return same(theirs, ours)


# Layers by themselves


@pytest.mark.integration(quick=["key_dim-value_dim-False", "key_dim-value_dim-True", "use_bias-False", "use_bias-True"])
@pytest.mark.parametrize("return_attention_scores", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"key_dim": 6}, {"use_bias": False}, {"key_dim": 3, "value_dim": 3}],
    ids=lambda options: "-".join(options),
)
def test_multi_head_attention(options, return_attention_scores):
    x, context = normal(B, T, WIDTH), normal(B, S, WIDTH + 3, seed=1)
    asks = {"return_attention_scores": return_attention_scores}
    pair = built(their_attention(**options), our_attention(**options), x, x)
    for masks in ({}, {"attention_mask": MASK}, {"use_causal_mask": True}):
        check_equal(*pair, x, x, **masks, **asks)
    check_equal(*pair, x, x, attention_mask=MASK, use_causal_mask=True, **asks)

    pair = built(their_attention(**options), our_attention(**options), x, context)
    visible = np.random.default_rng(1).random((B, T, S)) < 0.9
    for masks in ({}, {"attention_mask": visible}, {"use_causal_mask": True}):
        check_equal(*pair, x, context, **masks, **asks)


def test_masks_that_keras_carries_to_multi_head_attention():
    """Keras' hides all keys from the query of a padding token; no real token sees what comes of it."""
    pair = built(their_attention(), our_attention(), normal(B, T, WIDTH), normal(B, T, WIDTH))
    x, context = (normal(B, T, WIDTH, seed=seed) * PADDING[..., None] for seed in (0, 1))
    pair = [_behind_masking(layer) for layer in pair]
    for inputs in ((x, x), (x, context)):
        for causal in (False, True):
            check_equal(*pair, *inputs, real=PADDING, use_causal_mask=causal, return_attention_scores=True)


def _behind_masking(layer):
    """Return its call, with new masks at each: Keras' layer takes them off its inputs."""
    return lambda *inputs, **options: layer(*map(keras.layers.Masking(), inputs), **options)


@pytest.mark.parity
@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_encoder(activation, normalize_first):
    options, x = {"activation": activation, "normalize_first": normalize_first}, normal(B, T, WIDTH)
    pair = built(their_encoder(**options), our_encoder(**options), x)
    padding, visible = {"padding_mask": PADDING}, {"attention_mask": MASK}
    for masks in ({}, padding, visible, padding | visible):
        check_equal(*pair, x, **masks)
        check_equal(*pair, x, **masks, return_attention_scores=True)
    check_equal(*pair, x, PADDING, MASK)  # by position


@pytest.mark.parity
@pytest.mark.parametrize("normalize_first", [False, True])
def test_transformer_decoder(normalize_first):
    options, x = {"normalize_first": normalize_first}, normal(B, T, WIDTH)
    theirs, ours = built(their_decoder(**options), our_decoder(**options), x)
    check_equal(theirs, ours, x)
    check_equal(theirs, ours, x, use_causal_mask=False)
    for causal in (False, True):
        expected = to_numpy(
            theirs(x, decoder_padding_mask=PADDING, decoder_attention_mask=MASK, use_causal_mask=causal)
        )
        found = to_numpy(ours(x, padding_mask=PADDING, attention_mask=MASK, use_causal_mask=causal))
        np.testing.assert_allclose(found, expected, **EQUAL)


@pytest.mark.parity
@pytest.mark.parametrize("normalize_first", [False, True])
def test_transformer_decoder_with_an_encoder(normalize_first):
    options, x, context = {"normalize_first": normalize_first}, normal(B, T, WIDTH), normal(B, S, WIDTH + 3, seed=1)
    pair = built(their_decoder(**options), our_decoder(cross_attention=True, **options), x, context)
    padding, visible = np.arange(S) < np.array([[7], [3], [1]]), np.random.default_rng(1).random((B, T, S)) < 0.8
    visible[..., 0] = True
    for masks in ({}, {"encoder_padding_mask": padding}, {"encoder_attention_mask": visible}):
        check_equal(*pair, x, context, **masks)
    check_equal(*pair, x, context, encoder_padding_mask=padding, encoder_attention_mask=visible)


# Models


def post_norm(x, y):
    return keras.layers.LayerNormalization(epsilon=1e-6)(keras.layers.Add()([x, y]))


def attention_steps(attention):
    """An encoder and a decoder of a user, whose attention is given: the first half of each block."""

    def encode(x, mask):
        return post_norm(x, attention()(x, x, attention_mask=_keys(mask)))

    def decode(x, mask, context, context_mask):
        x = post_norm(x, attention()(x, x, attention_mask=_keys(mask), use_causal_mask=True))
        return post_norm(x, attention()(x, context, attention_mask=_keys(context_mask)))

    return encode, decode


def _keys(mask):
    return None if mask is None else ops.expand_dims(mask, 1)  # (B, 1, S)


def our_blocks(normalize_first):
    options = {"normalize_first": normalize_first}

    def decode(x, mask, context, context_mask):
        block = our_decoder(cross_attention=True, **options)
        return block(x, context, padding_mask=mask, encoder_padding_mask=context_mask)

    return lambda x, mask: our_encoder(**options)(x, padding_mask=mask), decode


def their_blocks(normalize_first):
    options = {"normalize_first": normalize_first}

    def decode(x, mask, context, context_mask):
        masks = {"decoder_padding_mask": mask, "encoder_padding_mask": context_mask}
        return their_decoder(**options)(x, context, **masks)

    return lambda x, mask: their_encoder(**options)(x, padding_mask=mask), decode


def own_block(attention):
    return lambda x, mask: OwnBlock(attention())(x)


@pytest.mark.integration
def test_a_text_classifier_with_a_block_of_its_own():
    theirs, ours = same(*(text_classifier(own_block(make)) for make in (their_attention, our_attention)))
    for length in LENGTHS:
        check_equal(theirs, ours, token_ids(B, length))


@pytest.mark.parity
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_text_classifier(mask_zero):
    makes = (their_encoder, our_encoder)
    models = [text_classifier(lambda x, mask, make=make: make()(x, padding_mask=mask), mask_zero) for make in makes]
    theirs, ours = same(*models)
    for length in LENGTHS:
        check_equal(theirs, ours, token_ids(B, length))


@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_text_classifier_that_shows_its_attention(mask_zero):
    def block(make, x, mask):
        return make()(x, x, attention_mask=_keys(mask), return_attention_scores=True)

    makes = (their_attention, our_attention)
    theirs, ours = same(*(text_classifier(partial(block, make), mask_zero) for make in makes))
    for length in LENGTHS[1:]:  # of one score Keras' softmax warns
        ids = token_ids(B, length)
        (expected, their_scores), (found, our_scores) = (to_numpy(model(ids)) for model in (theirs, ours))
        np.testing.assert_allclose(found, expected, **EQUAL)
        real = np.broadcast_to((ids > 0)[:, None], our_scores.shape[:3])  # (B, N, T)
        np.testing.assert_allclose(our_scores[real], their_scores[real], **EQUAL)


@pytest.mark.integration
def test_a_step_of_training():
    theirs, ours = same(*(text_classifier(own_block(make)) for make in (their_attention, our_attention)))
    ids, labels = token_ids(8, 9), np.arange(8) % CLASSES
    np.testing.assert_allclose(*(model.predict(ids, verbose=0) for model in (ours, theirs)), **EQUAL)
    losses = []
    for model in (theirs, ours):
        model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
        losses.append([model.train_on_batch(ids, labels) for _ in range(3)])
    np.testing.assert_allclose(*losses, **EQUAL)
    assert losses[0][0] - losses[0][-1] > 1e-2
    for one, other in zip(theirs.get_weights(), ours.get_weights(), strict=True):
        np.testing.assert_allclose(other.reshape(one.shape), one, **EQUAL)


@pytest.mark.integration
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_translator_with_attention_of_its_own(mask_zero):
    makes = (their_attention, our_attention)
    check_translators(*(translator(*attention_steps(make), mask_zero) for make in makes))


@pytest.mark.parity
@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_translator(mask_zero, normalize_first):
    makes = (their_blocks, our_blocks)
    check_translators(*(translator(*make(normalize_first), mask_zero) for make in makes))


def check_translators(theirs, ours):
    """Ours gives padded texts what theirs gives each of them alone.

    Behind an embedding theirs would lose padding: `MultiHeadAttention` takes the mask off the tensor that it is given,
    so that the sum with this tensor carries none.
    """
    same(theirs, ours)
    for length in LENGTHS:
        source, target = token_ids(B, length + 2), token_ids(B, length, seed=1)
        found = to_numpy(ours([source, target]))
        for row, texts in enumerate(zip(source, target, strict=True)):
            alone = to_numpy(theirs([text[text > 0][None] for text in texts]))[0]
            np.testing.assert_allclose(found[row, : len(alone)], alone, **EQUAL)


@pytest.mark.integration
def test_an_image_classifier():
    theirs, ours = same(*map(image_classifier, (their_attention, our_attention)))
    for size in (4, 12):
        check_equal(theirs, ours, normal(2, size, size, 3))


@pytest.mark.integration
@pytest.mark.parametrize("channels", [1, 3])
def test_a_series_classifier(channels):
    makes = (their_attention, our_attention)
    theirs, ours = same(*(series_classifier(partial(make, key_dim=16), channels) for make in makes))
    for length in LENGTHS:
        check_equal(theirs, ours, normal(B, length, channels))
