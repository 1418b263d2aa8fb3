"""In which type each layer computes and stores: FLOAT16 where the net's fields ask for it."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Set

import numpy as np

from .graph import FLOAT, FLOAT16, Value
from .layer import EXPORTERS

_FLOAT16_NUMBER = 2  # of Type in caffe.proto


def _dtype(number: int) -> np.dtype:
    return FLOAT16 if number == _FLOAT16_NUMBER else FLOAT


def _blobs_read_exactly(net: Any) -> Set[str]:
    """Labels, indices and coordinates that a layer reads as such, maybe moved by others before."""
    read: Set[str] = set()
    for param in reversed(net.layer):
        exporter = EXPORTERS.get(param.type)
        if exporter is None:
            continue
        if not read.isdisjoint(param.top) and not param.HasField("forward_type"):
            read.update(param.bottom[:exporter.moves])
        read.update(param.bottom[i] for i in exporter.exact if i < len(param.bottom))
    return read


class ElementTypes:
    """The types of a net's layers, one after the other, as Net resolves them.

    A layer's own forward_type holds, else the net's default_forward_type (FLOAT16 if `fp16`). A
    layer that works in place has its producer's type; one without FLOAT16 arithmetic is FLOAT, and
    so is one that moves labels, indices or coordinates, which FLOAT16 would round. DOUBLE is FLOAT.
    """

    def __init__(self, net: Any, fp16: bool) -> None:
        self._default = FLOAT16 if fp16 else _dtype(net.default_forward_type)
        self._producers: Dict[str, np.dtype] = {}  # the type of each blob's layer
        self._exact: Set[str] = set()              # blobs that are FLOAT whatever the fields say
        self._read_exactly = _blobs_read_exactly(net)

    def of(self, param: Any) -> np.dtype:
        """The type of a layer whose bottoms have been made."""
        if param.type in EXPORTERS and not EXPORTERS[param.type].native:
            return FLOAT
        if param.HasField("forward_type"):
            return _dtype(param.forward_type)
        if self._moves_exact(param):
            return FLOAT
        if param.bottom and param.top and param.bottom[0] == param.top[0]:
            return self._producers.get(param.bottom[0], self._default)
        return self._default

    def of_input(self, param: Any, top: str) -> np.dtype:
        """The type of an input that stands for a top of a layer of data."""
        return FLOAT if top in self._read_exactly else self.of(param)

    def made(self, param: Any, dtype: np.dtype, tops: Mapping[str, Value]) -> None:
        """A layer of this type has made these blobs."""
        keeps = self._moves_exact(param) or (param.type in EXPORTERS
                                             and not EXPORTERS[param.type].native)
        for name, value in tops.items():
            self._producers[name] = dtype
            if keeps or value.dtype != dtype:
                self._exact.add(name)
            else:
                self._exact.discard(name)

    def _moves_exact(self, param: Any) -> bool:
        if param.type not in EXPORTERS or param.HasField("forward_type"):
            return False
        return not self._exact.isdisjoint(param.bottom[:EXPORTERS[param.type].moves])
