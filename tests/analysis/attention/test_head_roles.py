from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.analysis.attention.head_roles import head_roles

T = 8
BEFORE = np.eye(T, k=-1)
BEFORE[0, 0] = 1
BEHIND = np.eye(T, k=1)
BEHIND[-1, -1] = 1
TO_FIRST = np.zeros((T, T))
TO_FIRST[:, 0] = 1


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        (BEFORE, "mostly the token before"),
        (BEHIND, "mostly the token behind"),
        (np.eye(T), "mostly the token itself"),
        (TO_FIRST, "mostly the first token"),
        (np.full((T, T), 1 / T), "spread over some 8 tokens"),
    ],
)
def test_a_head_is_named_by_where_its_attention_goes(scores, name):
    assert head_roles(scores[None, None])[0][0].name == name


def test_special_tokens_are_a_role_of_their_own():
    scores = np.zeros((T, T))
    scores[:, [0, 5]] = 0.5

    role = head_roles(scores[None, None], [True] + [False] * 4 + [True, False, False])[0][0]

    assert role.name == "mostly special tokens"
    assert (role.special, role.first) == (1, 0.5)


def test_numbers_of_each_layer_and_head():
    scores = np.stack([[BEFORE, np.eye(T)], [BEHIND, np.full((T, T), 1 / T)]])

    roles = head_roles(scores)

    assert [len(layer) for layer in roles] == [2, 2]
    assert (roles[0][0].previous, roles[0][0].distance, roles[0][0].entropy) == (1, 7 / 8, 0)
    assert roles[1][1].entropy == pytest.approx(3)
    places = np.arange(T)
    assert roles[1][1].distance == pytest.approx(np.abs(places[:, None] - places).mean())


def test_one_token_has_nothing_before_it():
    assert head_roles(np.ones((1, 1, 1, 1)))[0][0].previous == 0
