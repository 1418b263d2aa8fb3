"""The lists that pycaffe has as classes, ``caffe._caffe.IntVec`` and so on: of one element type."""
from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._caffe import Blob, Layer, Net


class _Vec(list):
    """A list whose elements are of one type; anything else is a TypeError."""

    _element: Any = object

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__(self._checked(value) for value in values)

    @classmethod
    def _checked(cls, value: Any) -> Any:
        if not isinstance(value, cls._element):
            raise TypeError(f"{cls.__name__} does not take {value!r}")
        return value

    def append(self, value: Any) -> None:
        """Adds an element behind the last one."""
        super().append(self._checked(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements behind the last one."""
        super().extend([self._checked(value) for value in values])

    def insert(self, index: Any, value: Any) -> None:
        """Adds an element before the one at the index."""
        super().insert(index, self._checked(value))

    def __iadd__(self, values: Iterable[Any]) -> _Vec:
        self.extend(values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            super().__setitem__(index, [self._checked(each) for each in value])
        else:
            super().__setitem__(index, self._checked(value))


class IntVec(_Vec):
    """Whole numbers."""

    _element = (int, np.integer)


class BoolVec(_Vec):
    """True or False."""

    _element = (bool, np.bool_)


class DtypeVec(_Vec):
    """Numbers."""

    _element = numbers.Real


class StringVec(_Vec):
    """Texts."""

    _element = str


class RawBlobVec(_Vec):
    """Blobs: what a layer takes or makes."""

    _element = Blob


class LayerVec(_Vec):
    """Layers."""

    _element = Layer


class NetVec(_Vec):
    """Nets."""

    _element = Net
