"""Convolutions of all kinds."""
from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence

import numpy as np

from ..errors import require
from ..extents import Extent, count, require_constant, text
from ..layer import Layer, Value, exports


class Geometry(NamedTuple):
    """One number per spatial axis in each list."""
    kernel: List[int]
    stride: List[int]
    pad: List[int]
    dilation: List[int]


def _per_axis(param: Any, name: str, short: str, axes: int, otherwise: int) -> List[int]:
    """A field given once for all axes, once per axis, not at all, or as _h and _w."""
    values = list(getattr(param, name))
    if short and (param.HasField(short + "_h") or param.HasField(short + "_w")):
        require(axes == 2 and not values, f"convolution_param: {short}_h and {short}_w are for 2 "
                f"spatial axes, and {name} is not given together with them")
        return [getattr(param, short + "_h"), getattr(param, short + "_w")]
    require(
        len(values) in (0, 1, axes), f"convolution_param: {name} is given {len(values)} times for "
        f"{axes} spatial axes")
    return values * axes if len(values) == 1 else values or [otherwise] * axes


def geometry(param: Any, axes: int) -> Geometry:
    """Kernel, stride, pad and dilation for a bottom with so many spatial axes."""
    result = Geometry(_per_axis(param, "kernel_size", "kernel", axes, 0),
                      _per_axis(param, "stride", "stride", axes, 1),
                      _per_axis(param, "pad", "pad", axes, 0),
                      _per_axis(param, "dilation", "", axes, 1))
    require(axes > 0 and min(result.kernel) > 0, "convolution_param: kernel_size is missing")
    for name, numbers in (("stride", result.stride), ("dilation", result.dilation)):
        require(min(numbers) > 0, f"convolution_param: {name} is at least 1")
    return result


def _covered(g: Geometry) -> List[int]:
    return [d * (k - 1) + 1 for k, d in zip(g.kernel, g.dilation)]


def forward_extents(g: Geometry, inputs: Sequence[Extent]) -> List[Extent]:
    outputs = []
    for extent, window, stride, pad in zip(inputs, _covered(g), g.stride, g.pad):
        require(window <= extent + 2 * pad,
                f"its kernel covers {window} positions, the padded bottom "
                "has fewer")
        outputs.append((extent + 2 * pad - window) // stride + 1)
    return outputs


def _transposed_extents(g: Geometry, inputs: Sequence[Extent]) -> List[Extent]:
    return [stride * (extent - 1) + window - 2 * pad
            for extent, window, stride, pad in zip(inputs, _covered(g), g.stride, g.pad)]


def _one(layer: Layer, x: Value, transposed: bool, group: int, outputs: int) -> Value:
    """One bottom; the axes before the channels count as items."""
    param = layer.param.convolution_param
    axis = layer.axis(param.axis, "convolution_param: axis")
    shape = x.shape
    spatial = shape[axis + 1:]
    # ONNX has no convolution over no axis: the one position becomes an axis.
    g = geometry(param, len(spatial)) if spatial else Geometry([1], [1], [0], [1])
    channels = shape[axis]
    require(outputs > 0, "convolution_param: num_output is missing")
    require(group > 0, "convolution_param: group is at least 1")
    require(
        channels % group == 0 and outputs % group == 0, f"convolution_param: group {group} does "
        f"not divide {channels} channels and num_output {outputs}")
    weight_shape = ([channels, outputs // group] if transposed else [outputs, channels // group])
    weights = layer.blob(0, weight_shape + (g.kernel if spatial else []))
    inputs = [layer.constant(weights.reshape(weight_shape + g.kernel), "weights")]
    if param.bias_term:
        inputs.append(layer.constant(layer.blob(1, (outputs,)), "bias"))
    extents = (_transposed_extents if transposed else forward_extents)(g, spatial or (1,))
    flat = layer.reshape(x, (count(shape[:axis]), channels, *(spatial or (1,))))
    y = layer.op("ConvTranspose" if transposed else "Conv", flat, *inputs,
                 shape=(flat.shape[0], outputs, *extents), kernel_shape=g.kernel, strides=g.stride,
                 pads=g.pad + g.pad, dilations=g.dilation, group=group)
    return layer.reshape(y, shape[:axis] + (outputs, *(extents if spatial else ())))


def _all(layer: Layer, transposed: bool, group: int, outputs: int) -> None:
    """Each bottom with the same weights."""
    for i in range(len(layer.tops)):
        require(layer.shape(i) == layer.shape(), f"its bottoms differ: {text(layer.shape(i))}")
        layer.top(i, _one(layer, layer.bottom(i), transposed, group, outputs))


@exports("Convolution")
def convolution(layer: Layer) -> None:
    param = layer.param.convolution_param
    _all(layer, False, param.group, param.num_output)


@exports("Deconvolution")
def deconvolution(layer: Layer) -> None:
    param = layer.param.convolution_param
    _all(layer, True, param.group, param.num_output)


@exports("DepthwiseConvolution", "ConvolutionDepthwise")
def depthwise_convolution(layer: Layer) -> None:
    """As many groups as channels; ConvolutionDepthwise has as many outputs, too."""
    param = layer.param.convolution_param
    channels = layer.shape()[layer.axis(param.axis, "convolution_param: axis")]
    own = layer.type == "ConvolutionDepthwise" or not param.HasField("num_output")
    _all(layer, False, channels, channels if own else param.num_output)


@exports("Im2col")
def im2col(layer: Layer) -> None:
    """The windows as columns: a convolution with kernels that pick one position each."""
    param = layer.param.convolution_param
    axis = layer.axis(param.axis, "convolution_param: axis")
    shape = layer.shape()
    g = geometry(param, len(shape) - axis - 1)
    channels, positions = shape[axis], count(g.kernel)
    require_constant(channels * positions * positions, "the positions in its windows")
    kernels = np.tile(np.eye(positions, dtype=np.float32), (channels, 1))
    kernels = kernels.reshape([channels * positions, 1] + g.kernel)
    extents = forward_extents(g, shape[axis + 1:])
    flat = layer.reshape(layer.bottom(0), (count(shape[:axis]),) + shape[axis:])
    y = layer.op("Conv", flat, layer.constant(kernels, "positions"),
                 shape=(flat.shape[0], channels * positions, *extents), kernel_shape=g.kernel,
                 strides=g.stride, pads=g.pad + g.pad, dilations=g.dilation, group=channels)
    layer.top(0, layer.reshape(y, shape[:axis] + (channels * positions, *extents)))
