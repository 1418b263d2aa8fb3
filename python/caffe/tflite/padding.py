"""Borders of images: LiteRT's two kinds of padding, and what an operator has to add."""
from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

SAME, VALID = 0, 1  # of the schema's Padding


class Run(NamedTuple):
    """Windows along one axis: the image's extent, what one covers, their step, where the first
    begins in front of the image, how many there are."""
    extent: int
    covers: int
    stride: int
    before: int
    outputs: int

    @property
    def behind(self) -> int:
        """How far the last window reaches behind the image; negative: it ends before."""
        return (self.outputs - 1) * self.stride + self.covers - self.extent - self.before

    @property
    def is_same(self) -> bool:
        """SAME makes as many windows and begins at the same position."""
        if self.outputs != -(-self.extent // self.stride):
            return False
        total = max((self.outputs - 1) * self.stride + self.covers - self.extent, 0)
        return total // 2 == self.before

    @property
    def is_valid(self) -> bool:
        return (self.before == 0 and self.covers <= self.extent and
                self.outputs == (self.extent - self.covers) // self.stride + 1)


def kind_of(runs: Sequence[Run]) -> Optional[int]:
    """VALID or SAME, whichever makes these windows; None: neither."""
    if all(run.is_valid for run in runs):
        return VALID
    return SAME if all(run.is_same for run in runs) else None


def borders(runs: Sequence[Run]) -> List[List[int]]:
    """What has to be in front of and behind the image so that VALID makes these windows."""
    return [[run.before for run in runs], [max(0, run.behind) for run in runs]]
