import numpy as np
from arrays import to_numpy
from layer_checks import check_layer

from keras_transformers.layers.positions.cache_places import CachePlaces, held_positions

POSITIONS = np.array([[4, 5], [0, 1], [11, 12]], "int32")
PART = np.zeros((3, 2, 5, 4), "float32")


def test_layer(tmp_path):
    check_layer(CachePlaces, {}, {"positions": POSITIONS, "part": PART}, tmp_path)


def test_a_new_token_replaces_the_oldest_one():
    places, held = map(to_numpy, CachePlaces()(POSITIONS, PART))
    assert places.tolist() == [[4, 0], [0, 1], [1, 2]]
    assert held[0].tolist() == [5, 1, 2, 3, 4]
    assert held[1].tolist() == [0, 1, -3, -2, -1]
    assert held[2].tolist() == [10, 11, 12, 8, 9]


def test_new_tokens_in_any_order():
    """Such as padding at the end of a row whose position is 0, in a cache with room for all tokens."""
    places, held = map(to_numpy, CachePlaces()(np.array([[3, 2, 0]], "int32"), PART[:1]))
    assert places.tolist() == [[3, 2, 0]]
    assert held.tolist() == [[0, 1, 2, 3, -1]]


def test_places_hold_what_was_written_last():
    """Beside a loop that writes one position after the other."""
    for size in (1, 2, 7):
        written = [-1] * size
        for position in range(20):
            written[position % size] = position
            found = to_numpy(held_positions(np.array([position], "int32"), size))[0]
            assert [max(place, -1) for place in found] == written
    assert (to_numpy(held_positions(np.array([-1], "int32"), 4)) < 0).all()
