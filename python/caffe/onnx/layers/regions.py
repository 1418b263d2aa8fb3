"""Pooling over regions of interest. Regions are rows [item, x1, y1, x2, y2] in the image's
pixels."""
from __future__ import annotations

from typing import Tuple

import numpy as np

from ..errors import require
from ..extents import Extent, count, is_fixed, require_constant, text
from ..layer import DOUBLE, FLOAT, INT64, Layer, Value, exports


def _regions(layer: Layer) -> Value:
    layer.require_axes(4)
    rois = layer.bottom(1, FLOAT)
    require(len(rois.shape) >= 2 and count(rois.shape[1:]) == 5, f"regions have shape (R, 5), not "
            f"{text(rois.shape)}")
    return layer.reshape(rois, (rois.shape[0], 5))


def _extents(height: int, width: int) -> Tuple[int, int]:
    require(height > 0 and width > 0, "the pooled height and width are missing")
    return height, width


@exports("ROIPooling", exact=(1,))
def roi_pooling(layer: Layer) -> None:
    """The largest values of parts that may overlap, corners rounded to the map's positions."""
    param = layer.param.roi_pooling_param
    pooled = _extents(param.pooled_h, param.pooled_w)
    require(param.spatial_scale > 0, f"roi_pooling_param: spatial_scale {param.spatial_scale} is not "
            "positive")
    x, rois = layer.bottom(0, FLOAT), _regions(layer)
    layer.top(0, layer.op("MaxRoiPool", x, rois, shape=(rois.shape[0], x.shape[1]) + pooled,
                          pooled_shape=list(pooled), spatial_scale=param.spatial_scale))


@exports("ROIAlign", exact=(1,))
def roi_align(layer: Layer) -> None:
    """Means of samples that are interpolated between the map's positions."""
    param = layer.param.roi_align_param
    pooled = _extents(param.pooled_h, param.pooled_w)
    x, rois = layer.bottom(0, FLOAT), _regions(layer)
    item = layer.reshape(layer.cast(layer.part(rois, 1, 0, 1), INT64), (rois.shape[0],))
    mode = "output_half_pixel" if layer.graph.opset >= 16 else None
    layer.top(0, layer.op("RoiAlign", x, layer.part(rois, 1, 1, 5), item,
                          shape=(rois.shape[0], x.shape[1]) + pooled, output_height=pooled[0],
                          output_width=pooled[1], sampling_ratio=max(0, param.sampling_ratio),
                          spatial_scale=param.spatial_scale, coordinate_transformation_mode=mode))


def _rounded(layer: Layer, x: Value) -> Value:
    """To whole numbers, ties away from 0."""
    up = layer.op("Floor", layer.binary("Add", layer.op("Abs", x), 0.5))
    return layer.op("Mul", layer.op("Sign", x), up)


def _borders(layer: Layer, rois: Value, first: int, parts: int, extent: int) -> Tuple[Value, Value]:
    """(R, parts) int64: where the parts of each region begin and end, on axis x (1) or y (2)."""
    scale = layer.param.psroi_pooling_param.spatial_scale
    start = layer.binary("Mul", _rounded(layer, layer.part(rois, 1, first, first + 1)), scale)
    end = _rounded(layer, layer.part(rois, 1, first + 2, first + 3))
    end = layer.binary("Mul", layer.binary("Add", end, 1.0), scale)
    size = layer.clip(layer.op("Sub", end, start), 0.1, None)
    size = layer.binary("Div", size, float(parts))
    shape = (rois.shape[0], parts)
    borders = []
    for op_type, offset in (("Floor", 0), ("Ceil", 1)):
        numbers = np.arange(offset, parts + offset, dtype=np.float32)[None]
        steps = layer.op("Mul", size, layer.constant(numbers, dtype=FLOAT), shape=shape)
        at = layer.op("Add", steps, start)
        whole = layer.clip(layer.op(op_type, at), 0, extent)
        borders.append(layer.cast(whole, INT64))
    return borders[0], layer.op("Max", borders[0], borders[1])


def _sums(layer: Layer, x: Value) -> Value:
    """(N, C, H + 1, W + 1), double: the sums of all positions above and left of each corner.

    Differences of such sums lose digits, which is why they are double.
    """
    for axis in (2, 3):
        x = layer.op("CumSum", x, layer.constant(axis))
    n, c, h, w = x.shape
    pads = layer.constant(np.array([0, 0, 1, 1, 0, 0, 0, 0], np.int64), "pads")
    return layer.op("Pad", x, pads, layer.constant(0.0, dtype=DOUBLE), shape=(n, c, h + 1, w + 1))


@exports("PSROIPooling", exact=(1,))
def psroi_pooling(layer: Layer) -> None:
    """Means; part (i, j) of output channel c reads input channel (c * group + i) * group + j."""
    param = layer.param.psroi_pooling_param
    layer.require_axes(4)
    group, outputs = param.group_size, param.output_dim
    _, channels, height, width = layer.shape()
    require(group > 0 and channels == outputs * group * group, f"psroi_pooling_param: output_dim {outputs} and "
            f"group_size {group} do not fit {channels} channels")
    require(is_fixed((height, width)), "the map's extents are not fixed")
    require_constant(channels, "its channels' numbers")
    rois = _regions(layer)
    regions: Extent = rois.shape[0]
    x1, x2 = _borders(layer, rois, 1, group, width)
    y1, y2 = _borders(layer, rois, 2, group, height)
    x1, x2 = (layer.reshape(x, (regions, 1, 1, group)) for x in (x1, x2))
    y1, y2 = (layer.reshape(y, (regions, 1, group, 1)) for y in (y1, y2))
    item = layer.cast(layer.reshape(layer.part(rois, 1, 0, 1), (regions, 1, 1, 1)), INT64)
    plane = layer.op(
        "Add", layer.op("Mul", item, layer.constant(channels)),
        layer.constant(np.arange(channels).reshape(1, outputs, group, group), "planes"),
        shape=(regions, outputs, group, group))
    sums = _sums(layer, layer.cast(layer.bottom(0, FLOAT), DOUBLE))
    flat = layer.reshape(sums, (count(sums.shape),))

    def corner(y: Value, x: Value) -> Value:
        row = layer.op("Add", layer.op("Mul", plane, layer.constant(height + 1)), y)
        place = layer.op("Add", layer.op("Mul", row, layer.constant(width + 1)), x)
        return layer.op("Gather", flat, place, shape=place.shape)

    total = layer.op("Sub", layer.op("Add", corner(y2, x2), corner(y1, x1)),
                     layer.op("Add", corner(y1, x2), corner(y2, x1)))
    area = layer.op("Mul", layer.op("Sub", y2, y1), layer.op("Sub", x2, x1),
                    shape=(regions, 1, group, group))
    area = layer.op("Max", area, layer.constant(1))
    layer.top(0, layer.cast(layer.op("Div", total, layer.cast(area, DOUBLE)), FLOAT))
