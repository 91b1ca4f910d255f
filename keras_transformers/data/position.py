"""The position in a data set, which a resumable run saves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Position:
    """Where the next pass over a data set starts; assign to its fields to resume.

    Args:
        epoch: int, determines the shuffle and the masks.
        batch: int, number of batches of that epoch to skip.
    """

    epoch: int = 0
    batch: int = 0
