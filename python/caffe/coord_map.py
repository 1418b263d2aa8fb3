"""Where a point of one blob lies in another: the arithmetic behind Crop layers.

Fully convolutional nets enlarge a coarse blob again and cut it to the size of the image. The
right offset of the cut follows from strides, pads and kernels of all layers on the way:

    n.upscore = L.Deconvolution(n.score, convolution_param=dict(num_output=21, kernel_size=64,
                                                                stride=32))
    n.cropped = crop(n.upscore, n.data)

A *map* is a tuple ``(axis, scale, shift)``: the point ``x`` of a blob lies at ``scale * x + shift``
in another. ``axis`` is the one before the first spatial axis, the channels' (``None``: the map
holds for any). Scales and shifts are numbers, or arrays with one value for each spatial axis.
"""
from __future__ import annotations

from typing import Any, Optional, Union

import numpy as np

from .net_spec import Function, Top, layers

Values = Union[float, np.ndarray]
Map = tuple[Optional[int], Values, Values]

# Layers that do not move points.
PASS_THROUGH_LAYERS = [
    "AbsVal", "BatchNorm", "Bias", "BNLL", "Clip", "Dropout", "Eltwise", "ELU", "Exp",
    "FakeQuantization", "GELU", "HardSwish", "LRN", "Log", "MVN", "PReLU", "Power", "ReLU", "Scale",
    "Sigmoid", "Split", "Swish", "TanH", "Threshold"]

_SEPARATE_SIZES = {f"{what}_{side}" for what in ("kernel", "stride", "pad") for side in "hw"}


class CoordinateError(ValueError, AssertionError):
    """Coordinates that no Crop layer can have. Caffe raised AssertionError here: so it is one
    too."""


class UndefinedMapException(Exception):
    """The layer has no coordinate map, as InnerProduct has none."""


class AxisMismatchException(Exception):
    """Two maps that are to be joined speak of different axes."""


def _array(value: Any) -> np.ndarray:
    return np.array(value, ndmin=1)


def conv_params(fn: Function) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Axis, stride, size of the kernel with its dilation, and pad of a layer that slides a window.

    The fields may stand in the layer or in its ``convolution_param``. Raises CoordinateError for
    kernel_h and the like, which say nothing about further axes.
    """
    params = fn.params.get("convolution_param", fn.params)
    legacy = sorted(_SEPARATE_SIZES & set(params))
    if legacy:
        raise CoordinateError(f"{fn.type_name}: coordinates cannot be mapped through "
                              f"{', '.join(legacy)}; give kernel_size, stride and pad, "
                              "as lists where the axes differ")
    if "kernel_size" not in params:
        raise CoordinateError(f"{fn.type_name}: coordinates cannot be mapped without kernel_size")
    extent = (_array(params["kernel_size"]) - 1) * _array(params.get("dilation", 1)) + 1
    return (params.get("axis", 1), _array(params.get("stride", 1)), extent,
            _array(params.get("pad", 0)))


def crop_params(fn: Function) -> tuple[int, np.ndarray]:
    """First cropped axis and offsets of a Crop layer."""
    params = fn.params.get("crop_param", fn.params)
    return params.get("axis", 2), _array(params.get("offset", 0))


def coord_map(fn: Function) -> Map:
    """The map from the points of a layer's bottom to those of its top.

    Raises UndefinedMapException for layers that have none.
    """
    if fn.type_name in ("Convolution", "Pooling", "Im2col"):
        axis, stride, extent, pad = conv_params(fn)
        return axis, 1 / stride, (pad - (extent - 1) / 2) / stride
    if fn.type_name == "Deconvolution":
        axis, stride, extent, pad = conv_params(fn)
        return axis, stride, (extent - 1) / 2 - pad
    if fn.type_name in PASS_THROUGH_LAYERS:
        return None, 1, 0
    if fn.type_name == "Crop":
        axis, offset = crop_params(fn)
        return axis - 1, 1, -offset
    raise UndefinedMapException(f"{fn.type_name} layers have no coordinate map")


def compose(base_map: Map, next_map: Map) -> Map:
    """First ``next_map``, then ``base_map``: the map x -> base(next(x)).

    Raises AxisMismatchException when both name an axis and not the same one.
    """
    axis1, scale1, shift1 = base_map
    axis2, scale2, shift2 = next_map
    if axis1 is not None and axis2 is not None and axis1 != axis2:
        raise AxisMismatchException(f"one map begins at axis {axis1}, the other at axis {axis2}")
    axis = axis2 if axis1 is None else axis1
    return axis, scale1 * scale2, scale1 * shift2 + shift1


def inverse(coord_map: Map) -> Map:
    """The map in the other direction."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def _bottoms(top: Top) -> tuple[Top, ...]:
    # A Crop layer's second bottom only lends its size; its points are the first one's.
    return top.fn.inputs[:1] if top.fn.type_name == "Crop" else top.fn.inputs


def _maps_to(top: Top) -> dict[Top, Map]:
    """For every blob from which ``top`` can be reached: the map from its points to those of
    ``top``."""
    maps: dict[Top, Map] = {top: (None, 1, 0)}
    waiting = [top]
    while waiting:
        reached = waiting.pop()
        try:
            step = coord_map(reached.fn)
        except UndefinedMapException:
            continue
        for bottom in _bottoms(reached):
            if bottom not in maps:
                maps[bottom] = compose(maps[reached], step)
                waiting.append(bottom)
    return maps


def coord_map_from_to(top_from: Top, top_to: Top) -> Map:
    """The map from the points of ``top_from`` to those of ``top_to``, through a blob both come
    from.

    Raises RuntimeError when there is no such blob.
    """
    to_from, to_to = _maps_to(top_from), _maps_to(top_to)
    for common, onwards in to_to.items():
        if common in to_from:
            return compose(onwards, inverse(to_from[common]))
    raise RuntimeError("no coordinate map between the two tops: do they come from one blob, "
                       "through layers that keep places?")


def crop(top_from: Top, top_to: Top) -> Top:
    """A Crop layer that cuts ``top_from`` to the size of ``top_to``, where both show the same
    place.

    Raises CoordinateError when their scales differ, or when the cut would begin outside
    ``top_from`` or between two of its points.
    """
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    scale, shift = np.asarray(scale, dtype=float), np.asarray(shift, dtype=float)
    if not (scale == 1).all():
        raise CoordinateError(f"cannot crop: the scales differ by a factor of {scale}")
    if not (shift <= 0).all():
        raise CoordinateError(f"cannot crop: the offset {-shift} is negative; more padding in the "
                              "layers before helps")
    if not (np.round(shift) == shift).all():
        raise CoordinateError(f"cannot crop: the offset {-shift} is not a whole number")
    offset = [int(value) for value in np.atleast_1d(-shift)]
    return layers.Crop(top_from, top_to,
                       crop_param=dict(axis=(1 if axis is None else axis) + 1, offset=offset))
