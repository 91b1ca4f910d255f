"""`benchmarks/structure.py`: what it counts, and that the walks from a call to its answer do not grow."""

from __future__ import annotations

import pytest
from benchmark_modules import imported

from keras_transformers.utils.number_checks import is_size

structure = imported("structure")
# Files of ours. A change that makes a walk shorter lowers its number.
MOST = {"load a folder": 99, "first predict": 60, "second predict": 9, "second predict, two texts": 13}


@pytest.mark.integration
def test_walks_do_not_grow():
    found = structure.walks()
    assert found.keys() == MOST.keys()
    longer = {name: count for name, count in found.items() if count > MOST[name]}
    assert not longer, f"these calls go through more files than before: {longer}, at most {MOST}"


def test_rooms_are_left_out():
    files = ["keras_transformers/utils/number_checks.py"]
    assert structure.opened(lambda: is_size(3)) == (1, 2, files)
    assert structure.opened(lambda: is_size(3), left_out=["utils"]) == (0, 0, [])
