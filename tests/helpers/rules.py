"""A rule about many things at once: the test that fails names all which break it, and says the rule."""

from __future__ import annotations

from collections.abc import Iterable


def assert_none(offenders: Iterable[object], rule: str) -> None:
    """Fail with the rule, and a line for each that breaks it: pytest itself would cut a long list."""
    lines = [str(offender) for offender in offenders]
    assert not lines, "\n  ".join([rule, *lines])
