"""The place in a data set: what has to be saved to go on there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Position:
    """Where the next pass over a data set starts; assign to its fields to resume.

    Args:
        epoch: int, which shuffle and which masks.
        batch: int, batches of that epoch to leave out.
    """

    epoch: int = 0
    batch: int = 0
