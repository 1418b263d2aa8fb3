"""In which type each layer computes and stores: FLOAT16 where the net's fields ask for it."""
from __future__ import annotations

from typing import Any, Dict, List

import numpy as np

from .graph import FLOAT, FLOAT16
from .layer import EXPORTERS

_FLOAT16_NUMBER = 2  # of Type in caffe.proto


def _dtype(number: int) -> np.dtype:
    return FLOAT16 if number == _FLOAT16_NUMBER else FLOAT


def resolve_types(net: Any, fp16: bool) -> List[np.dtype]:
    """One type a layer.

    A layer's own forward_type holds, else the net's default_forward_type (FLOAT16 if `fp16`). A
    layer that works in place has its producer's type; one without FLOAT16 arithmetic is FLOAT.
    DOUBLE is FLOAT.
    """
    default = FLOAT16 if fp16 else _dtype(net.default_forward_type)
    producers: Dict[str, np.dtype] = {}
    types = []
    for layer in net.layer:
        in_place = layer.bottom and layer.top and layer.bottom[0] == layer.top[0]
        if layer.HasField("forward_type"):
            dtype = _dtype(layer.forward_type)
        elif in_place and layer.bottom[0] in producers:
            dtype = producers[layer.bottom[0]]
        else:
            dtype = default
        if layer.type in EXPORTERS and not EXPORTERS[layer.type].native:
            dtype = FLOAT
        types.append(dtype)
        for top in layer.top:
            producers[top] = dtype
    return types
