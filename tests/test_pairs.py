"""`pairwise` of the helpers: every two values of every two options, in few cases."""

from __future__ import annotations

from itertools import combinations, product

from pairs import pairwise

CHOICES = {"a": [None, 2, [3]], "b": ["x", "y"], "c": [0.0, 0.5], "d": [{"e": 1}, True, "z"]}


def test_every_two_values_are_in_a_case():
    cases = pairwise(**CHOICES)
    for one, other in combinations(CHOICES, 2):
        for two in product(CHOICES[one], CHOICES[other]):
            assert any((case[one], case[other]) == two for case in cases), (one, other, two)
    assert len(cases) < 3 * 2 * 2 * 3 / 3 and list(cases[0]) == list(CHOICES)
    assert cases[0] == {name: values[0] for name, values in CHOICES.items()}


def test_a_product_of_many_options_is_no_work():
    """Greedily counted anew for each case, these 65,536 products would take a minute."""
    assert len(pairwise(**{f"option{number}": [False, True] for number in range(16)})) <= 14
