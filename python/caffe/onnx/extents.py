"""Extents that are known only when the model runs, along with those that are plain numbers.

A shape is a tuple whose entries are ``int`` or :class:`Symbolic`. What a layer does with extents is
mostly to multiply and to divide them, and that works for both alike; anything that would need the
number itself (a comparison, an addition of different things) raises :class:`Inexpressible`.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterable, Tuple, Union

from .errors import Inexpressible, require

MAX_COUNT = 2**31 - 1  # elements of a blob in Caffe
MAX_CONSTANT = 1 << 24  # numbers of a constant that parameters of a layer ask for


@dataclass(frozen=True)
class Symbolic:
    """``factor`` times a number called ``name`` that is known only when the model runs."""
    name: str
    factor: int = 1

    def __str__(self) -> str:
        return self.name if self.factor == 1 else f"{self.factor}*{self.name}"

    def _unknown(self, other: object) -> Inexpressible:
        return Inexpressible(
            f"what it computes depends on the extent '{self}', which is known only "
            f"when the model runs (with {other}): give that extent a number")

    def __mul__(self, other: Extent) -> Extent:
        if isinstance(other, int):
            return Symbolic(self.name, self.factor * other)
        raise self._unknown(other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Extent) -> Extent:
        if isinstance(other, Symbolic) and other.name == self.name:
            if self.factor % other.factor == 0:
                return self.factor // other.factor
        elif isinstance(other, int) and other and self.factor % other == 0:
            return Symbolic(self.name, self.factor // other)
        raise self._unknown(other)

    def __rfloordiv__(self, other: int) -> Extent:
        raise self._unknown(other)

    def __mod__(self, other: Extent) -> int:
        self // other  # raises unless it divides
        return 0

    def __add__(self, other: Extent) -> Extent:
        if isinstance(other, Symbolic) and other.name == self.name:
            return Symbolic(self.name, self.factor + other.factor)
        if other == 0:
            return self
        raise self._unknown(other)

    __radd__ = __add__

    def __sub__(self, other: Extent) -> Extent:
        if isinstance(other, Symbolic) and other.name == self.name:
            return Symbolic(self.name, self.factor - other.factor) if self != other else 0
        if other == 0:
            return self
        raise self._unknown(other)

    def _never(self, other: object = "a number") -> Extent:
        raise self._unknown(other)

    __rsub__ = __truediv__ = __rtruediv__ = __neg__ = __float__ = __int__ = _never

    def _compare(self, other: object) -> bool:
        raise self._unknown(other)

    __lt__ = __le__ = __gt__ = __ge__ = _compare

    def __index__(self) -> int:
        raise self._unknown("a number")


Extent = Union[int, Symbolic]
Shape = Tuple[Extent, ...]


def count(extents: Iterable[Extent]) -> Extent:
    """The number of elements of a shape, or of a part of one."""
    product: Extent = 1
    for extent in extents:
        product = product * extent
    return product


def is_fixed(shape: Iterable[Extent]) -> bool:
    """True if all extents are numbers."""
    return all(isinstance(extent, int) for extent in shape)


def require_extents(shape: Iterable[Extent], what: str) -> None:
    """Raises Inexpressible unless a blob can have this shape: a tensor without elements has no use,
    and 0 means something else in a Reshape."""
    numbers = [extent if isinstance(extent, int) else extent.factor for extent in shape]
    require(all(number > 0 for number in numbers), f"{what} would have the shape {text(shape)}: "
            "extents are at least 1")
    require(math.prod(numbers) <= MAX_COUNT, f"{what} would have the shape {text(shape)}: blobs "
            f"have at most {MAX_COUNT} elements")


def require_constant(numbers: Extent, what: str) -> None:
    """Raises Inexpressible for a constant that is too large to make."""
    require(numbers <= MAX_CONSTANT, f"{what} would be a constant of {numbers} numbers, at most "
            f"{MAX_CONSTANT} are written")


def text(shape: Iterable[Extent]) -> str:
    """'1 x 3 x 224 x 224', or '(scalar)'."""
    return " x ".join(map(str, shape)) or "(scalar)"
