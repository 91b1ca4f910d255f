from __future__ import annotations

import numpy as np
from arrays import to_numpy

from keras_transformers.generation.state import BEYOND, Cache, Source, Written, first_state
from keras_transformers.generation.stop import NO_BYTE, stop_strings


def cache(rows: int, places: int) -> Cache:
    keys = np.arange(rows * 2 * places * 3, dtype="float32").reshape(rows, 2, places, 3)
    return Cache([{"key": keys, "value": -keys}])


def test_a_cache_grows_behind_what_it_holds():
    grown = cache(2, 4).grown(3)
    assert int(grown.places()) == 7
    for name, sign in (("key", 1), ("value", -1)):
        tensor = to_numpy(grown.blocks[0][name])
        np.testing.assert_array_equal(tensor[:, :, :4], sign * cache(2, 4).blocks[0]["key"])
        assert not tensor[:, :, 4:].any()


def test_a_state_does_not_grow_and_goes_with_its_row():
    states = Cache([{"state_inputs": np.arange(12.0).reshape(2, 2, 3)}, *cache(2, 4).blocks])
    grown = states.grown(3)
    assert int(states.places()) == 4 and int(grown.places()) == 7
    assert grown.blocks[0]["state_inputs"].shape == (2, 2, 3)
    assert to_numpy(grown.rows(np.array([1, 1], "int32")).blocks[0]["state_inputs"])[0, 0].tolist() == [6, 7, 8]


def test_what_rows_of_a_source_share_stays_when_rows_are_taken():
    blocks = [{"cross_key": np.ones((1, 2, 5, 3)), "cross_value": np.ones((1, 2, 5, 3))}]
    shared = Source(blocks, np.ones((1, 5)), np.ones((1, 5)))
    coverage = np.array([[0.0] * 5, [1.0] * 5], "float32")
    taken = cache(2, 4)._replace(source=shared, coverage=coverage).rows(np.array([1, 1, 0], "int32"))
    assert taken.source is shared
    np.testing.assert_array_equal(to_numpy(taken.coverage)[:, 0], [1, 1, 0])
    np.testing.assert_array_equal(to_numpy(taken.blocks[0]["key"]), cache(2, 4).blocks[0]["key"][[1, 1, 0]])
    assert cache(2, 4).rows(np.array([0], "int32")).coverage == ()


def test_a_prompt_without_room_is_finished_before_it_begins():
    lengths, limit = np.array([2, 3], "int32"), np.array([2, 5], "int32")
    state = first_state(cache(2, 4), np.zeros((2, 5), "int32"), lengths, limit, lengths, stop_strings(2, [b"abc"]))
    assert to_numpy(state.finished).tolist() == [True, False]
    assert to_numpy(state.tail).tolist() == [[NO_BYTE] * 2] * 2
    assert to_numpy(state.written.kept_bytes).tolist() == [BEYOND] * 2


def test_hypotheses_are_what_is_written_where_there_are_some():
    lengths = np.array([1], "int32")
    state = first_state(cache(1, 4), np.zeros((1, 4), "int32"), lengths, lengths + 3, lengths, stop_strings(1, []))
    best = Written(np.ones((1, 4), "int32"), lengths, lengths, lengths, np.array([-1.0]))
    assert state._replace(hypotheses=best).written is best
    assert state.written.token_ids is state.token_ids


def test_what_rows_have_read():
    """Their source, which several share, or their prompt."""
    ids = np.array([[5, 6, 7], [8, 0, 0]], "int32")
    source = Source([], np.array([[1, 1, 1], [1, 0, 0]], "int32"), ids)
    lengths = np.array([1, 1, 1, 1], "int32")
    state = first_state(cache(4, 4)._replace(source=source), ids, lengths, lengths, lengths, stop_strings(4, []))
    assert [to_numpy(x).tolist() for x in state.read] == [[[5, 6, 7]] * 2 + [[8, 0, 0]] * 2, [3, 3, 1, 1]]
    lengths = np.array([3, 1], "int32")
    state = first_state(cache(2, 4), ids, lengths, lengths, lengths, stop_strings(2, []))
    state = state._replace(lengths=lengths + 1, num_new=np.array([1, 1], "int32"))
    assert [to_numpy(x).tolist() for x in state.read] == [ids.tolist(), [3, 1]]
