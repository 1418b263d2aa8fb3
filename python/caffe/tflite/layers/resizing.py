"""Layers that change the extents of images by interpolation or repetition."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..layer import Layer, exports, quantization_of, require
from ..model import Tensor


def _resize(layer: Layer, name: str, version: int, table: str, x: Tensor, **options: Any) -> None:
    top = layer.top_shape()
    sizes = layer.model.constant(f"{layer.node.name}/extents", np.array(top[2:]))
    x = layer.requantized(x, quantization_of(layer.top_value()))
    layer.write_plainly(lambda y, _: layer.model.operator(name, version, [x, sizes], [y], table,
                                                          **options), top)


@exports("Interp")
def interp(layer: Layer) -> None:
    """Bilinear, corners on corners; negative padding cuts off first."""
    param = layer.param.interp_param
    shape = layer.shape()
    require(len(shape) == 4, f"it takes a bottom of 4 axes, not {shape}")
    x = layer.last()
    if param.pad_beg or param.pad_end:
        begin, less = -param.pad_beg, param.pad_beg + param.pad_end
        x = layer.part(x, [0, begin, begin, 0],
                       [shape[0], shape[2] + less, shape[3] + less, shape[1]])
    _resize(layer, "RESIZE_BILINEAR", 2, "ResizeBilinearOptions", x, AlignCorners=True,
            HalfPixelCenters=False)


@exports("Upsample")
def upsample(layer: Layer) -> None:
    """Repeats positions."""
    require(len(layer.node.inputs) == 1,
            "LiteRT has no operator that puts values where a mask says")
    require(len(layer.shape()) == 4, f"it takes a bottom of 4 axes, not {layer.shape()}")
    _resize(layer, "RESIZE_NEAREST_NEIGHBOR", 2, "ResizeNearestNeighborOptions", layer.last(),
            AlignCorners=False, HalfPixelCenters=False)
