"""Layers that change the extents of images by interpolation or repetition."""
from __future__ import annotations

from typing import Callable, List, Optional, Tuple

import numpy as np

from ..errors import require
from ..extents import MAX_COUNT, count, require_constant
from ..layer import FLOAT, INT64, Layer, Value, exports
from .pooling import pair


_MAX_RESAMPLED = 1 << 16  # positions along an axis: their matrix is computed row by row


def _zoomed(extent: int, factor: int) -> int:
    return extent + (extent - 1) * (factor - 1)


def _interp_extent(layer: Layer, extent: int, given: int, other: Optional[int]) -> int:
    """The output's extent for `extent` positions that take part."""
    param = layer.param.interp_param
    shrinks, zooms = param.HasField("shrink_factor"), param.HasField("zoom_factor")
    if other is not None:
        return other
    if param.HasField("height") and shrinks == zooms:
        return given
    shrunk = (extent - 1) // param.shrink_factor + 1 if shrinks or not zooms else extent
    return _zoomed(shrunk, param.zoom_factor) if zooms or not shrinks else shrunk


def _resize(layer: Layer, x: Value, extents: Tuple[int, int], **attributes: str) -> Value:
    shape = x.shape[:2] + tuple(extents)
    return layer.op("Resize", x, None, None, layer.shape_of(shape, x), shape=shape, **attributes)


@exports("Interp")
def interp(layer: Layer) -> None:
    """Bilinear interpolation, corners on corners; negative padding cuts off first."""
    param = layer.param.interp_param
    layer.require_axes(4)
    if len(layer.bottoms) > 1:
        layer.require_axes(4, bottom=1)
    for name in ("shrink_factor", "zoom_factor"):
        require(getattr(param, name) >= 1, f"interp_param: {name} is at least 1")
    require(param.pad_beg <= 0 and param.pad_end <= 0, "interp_param: pad_beg and pad_end cut off: "
            "they are at most 0")
    x, extents = layer.bottom(0), []
    for axis, given in ((2, param.height), (3, param.width)):
        end = x.shape[axis] + param.pad_end
        x = layer.part(x, axis, -param.pad_beg, end)
        other = layer.shape(1)[axis] if len(layer.bottoms) > 1 else None
        extents.append(_interp_extent(layer, x.shape[axis], given, other))
    require(all(extent >= 1 for extent in extents), "interp_param: the output has no positions")
    if tuple(extents) == x.shape[2:]:
        layer.top(0, layer.op("Identity", x))
        return
    layer.top(0, _resize(layer, x, tuple(extents), mode="linear",
                         coordinate_transformation_mode="align_corners"))


def _linear(distance: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - np.abs(distance))


def _cubic(distance: np.ndarray) -> np.ndarray:
    """Keys' convolution kernel with a = -1/2."""
    d = np.abs(distance)
    near, far = (1.5 * d - 2.5) * d * d + 1, ((-0.5 * d + 2.5) * d - 4) * d + 2
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _resampling(kernel: Optional[Callable], inputs: int, outputs: int, other_ratio: float,
                stretched: bool) -> np.ndarray:
    """The matrix (outputs, inputs) that resamples one axis; `kernel` None takes the nearest."""
    ratio = np.float32(inputs) / np.float32(outputs)
    squeeze = 1 / (ratio if stretched else np.float32(1))
    support = 2 if kernel is _linear else 4
    reach = 2 if ratio < 1 else int(np.ceil(support / squeeze))
    matrix = np.zeros((outputs, inputs))
    for i in range(outputs):
        center = np.float32(i * ratio + np.float32(other_ratio) / 2 - np.float32(0.5))
        nearest = int(np.floor(abs(center) + 0.5) * np.sign(center))
        if kernel is None:
            matrix[i, min(max(nearest, 0), inputs - 1)] = 1
            continue
        k = np.arange(max(0, nearest - reach), min(inputs, nearest + reach + 1))
        weights = kernel(squeeze * (center - k))
        if weights.sum() != 0:
            matrix[i, k] = weights / weights.sum()
    return matrix


@exports("Resample")
def resample(layer: Layer) -> None:
    """FlowNet's: one matrix for each axis, antialiased when the image shrinks."""
    param = layer.param.resample_param
    layer.require_axes(4)
    x = layer.bottom(0)
    height, width = x.shape[2:]
    if len(layer.bottoms) > 1:
        layer.require_axes(4, bottom=1)
        top_h, top_w = layer.shape(1)[2:]
    elif param.HasField("height"):
        top_h, top_w = param.height, param.width
    else:
        require(0 < param.factor < MAX_COUNT, f"resample_param: factor {param.factor} is not possible")
        top_h, top_w = int(height * float(param.factor)), int(width * float(param.factor))
    require(param.type in (1, 2, 3), "resample_param: type AREA")
    kernel = {1: None, 2: _linear, 3: _cubic}[param.type]
    require(top_h >= 1 and top_w >= 1, "resample_param: the output has no positions")
    for inputs, outputs in ((height, top_h), (width, top_w)):
        require(outputs <= _MAX_RESAMPLED, f"resample_param: {outputs} positions along an axis, at "
                f"most {_MAX_RESAMPLED} are written")
        require_constant(inputs * outputs, "its matrix")
    ratio_h, ratio_w = height / top_h, width / top_w
    stretched = param.antialias and (ratio_h > 1 or ratio_w > 1)
    rows = _resampling(kernel, height, top_h, ratio_w, stretched)
    columns = _resampling(kernel, width, top_w, ratio_h, stretched)
    y = layer.op("MatMul", x, layer.constant(columns.T, "columns"), shape=x.shape[:3] + (top_w,))
    layer.top(0, layer.op("MatMul", layer.constant(rows, "rows"), y,
                          shape=x.shape[:2] + (top_h, top_w), dtype=x.dtype))


def _scales(layer: Layer) -> List[int]:
    param = layer.param.upsample_param
    if param.HasField("scale_h"):
        return [param.scale_h, param.scale_w]
    return [param.scale, param.scale]


@exports("Upsample", exact=(1,))
def upsample(layer: Layer) -> None:
    """Repeats positions; with a mask as bottom 1, puts values where a pooling found them."""
    param = layer.param.upsample_param
    layer.require_axes(4)
    n, c, h, w = layer.shape()
    scale_h, scale_w = _scales(layer)
    if len(layer.bottoms) == 1:
        x = layer.bottom(0)
        factors = layer.constant(np.array([1, 1, scale_h, scale_w], np.float32), "scales",
                                 dtype=FLOAT)
        layer.top(0, layer.op("Resize", x, None, factors, shape=(n, c, h * scale_h, w * scale_w),
                              mode="nearest", coordinate_transformation_mode="asymmetric",
                              nearest_mode="floor"))
        return
    top_h, top_w = h * scale_h - param.pad_out_h, w * scale_w - param.pad_out_w
    if param.HasField("upsample_h"):
        top_h, top_w = param.upsample_h, param.upsample_w
    layer.top(0, _unpooled(layer, top_h, top_w))


def _unpooled(layer: Layer, height: int, width: int) -> Value:
    """Bottom 0 at the positions in planes of height x width that bottom 1 says, 0 elsewhere."""
    n, c, h, w = layer.shape()
    require(height > 0 and width > 0, "its output has no positions")
    planes = count((n, c))
    x = layer.reshape(layer.bottom(0), (planes, h * w))
    positions = layer.cast(layer.reshape(layer.bottom(1, FLOAT), (planes, h * w)), INT64)
    zeros = layer.filled(0, (n, c, height * width), layer.bottom(0), layer.dtype)
    zeros = layer.reshape(zeros, (planes, height * width))
    y = layer.op("ScatterElements", zeros, positions, x, axis=1)
    return layer.reshape(y, (n, c, height, width))


@exports("UnPooling", "Unpooling", exact=(1,))
def unpooling(layer: Layer) -> None:
    """Undoes a pooling of the same windows, or gives the extents of bottom 2."""
    param = layer.param.pooling_param
    layer.require_axes(4)
    if len(layer.bottoms) > 2:
        layer.require_axes(4, bottom=2)
        height, width = layer.shape(2)[2:]
    else:
        windows = zip(layer.shape()[2:], pair(param, "kernel", "kernel_size"),
                      pair(param, "stride", "stride"), pair(param, "pad", "pad"))
        height, width = ((pooled - 1) * stride + kernel - 2 * pad
                         for pooled, kernel, stride, pad in windows)
    layer.top(0, _unpooled(layer, height, width))
