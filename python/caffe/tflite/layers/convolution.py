"""Layers with weights on images."""
from __future__ import annotations

from typing import Any, List, Optional

import numpy as np

from ...onnx.layers.convolution import Geometry, geometry
from ..layer import Layer, Shape, channels_last, count, exports, require
from ..model import Tensor
from ..padding import VALID, Run, borders, kind_of
from ..weights import Weights, write_with_weights


def _geometry(layer: Layer) -> Geometry:
    require(len(layer.shape()) == 4, f"LiteRT convolves blobs of 4 axes, not of {layer.shape()}")
    param = layer.param.convolution_param
    require(param.axis in (1, -3), "convolution_param: axis other than 1")
    return geometry(param, 2)


def _covered(g: Geometry) -> List[int]:
    return [d * (k - 1) + 1 for k, d in zip(g.kernel, g.dilation)]


@exports("Convolution", "DepthwiseConvolution", "ConvolutionDepthwise")
def convolution(layer: Layer) -> None:
    g = _geometry(layer)
    shape, top = layer.shape(), layer.top_shape()
    weights = Weights(layer, top[1])
    outputs, per_group = top[1], weights.values[0].size // count(g.kernel)
    group = shape[1] // per_group
    runs = [Run(*run) for run in zip(shape[2:], _covered(g), g.stride, g.pad, top[2:])]
    x, kind = layer.last(), kind_of(runs)
    if kind is None:
        x, kind = layer.padded(x, *borders(runs)), VALID
    kernels = weights.values.reshape(outputs, per_group, *g.kernel)
    options = {"Padding": kind, "StrideH": g.stride[0], "StrideW": g.stride[1],
               "DilationHFactor": g.dilation[0], "DilationWFactor": g.dilation[1]}
    is_depthwise = per_group == 1 and group > 1
    # A kernel of LiteRT is (outputs, h, w, channels), a depthwise one (1, h, w, outputs).
    order = (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)

    def make(y: Tensor, function: int, factors: Weights) -> None:
        w = factors.tensor(np.transpose(factors.values.reshape(kernels.shape), order),
                           3 if is_depthwise else 0)
        if is_depthwise:
            layer.model.operator("DEPTHWISE_CONV_2D", 3, [x, w, factors.bias()], [y],
                                 "DepthwiseConv2DOptions", **options,
                                 DepthMultiplier=outputs // group, FusedActivationFunction=function)
        else:
            layer.model.operator("CONV_2D", 3, [x, w, factors.bias()], [y], "Conv2DOptions",
                                 **options, FusedActivationFunction=function)

    write_with_weights(layer, weights, make, top)


def _dense(weights: np.ndarray, group: int) -> np.ndarray:
    """(channels, outputs / group, h, w) with zeros between groups: (channels, outputs, h, w)."""
    channels, per_group = weights.shape[:2]
    dense = np.zeros((channels, per_group * group) + weights.shape[2:], weights.dtype)
    for channel in range(channels):
        first = channel // (channels // group) * per_group
        dense[channel, first:first + per_group] = weights[channel]
    return dense


def _dilated(weights: np.ndarray, dilation: List[int]) -> np.ndarray:
    """Kernels with zeros between their positions."""
    extents = [d * (k - 1) + 1 for k, d in zip(weights.shape[2:], dilation)]
    spread = np.zeros(weights.shape[:2] + tuple(extents), weights.dtype)
    spread[:, :, ::dilation[0], ::dilation[1]] = weights
    return spread


@exports("Deconvolution")
def deconvolution(layer: Layer) -> None:
    """LiteRT's has neither groups nor dilation: zeros stand for them. Its output is cut."""
    g = _geometry(layer)
    shape, top = layer.shape(), layer.top_shape()
    weights = Weights(layer, top[1])
    group = layer.param.convolution_param.group
    dense = _dilated(_dense(weights.values.reshape(shape[1], top[1] // group, *g.kernel), group),
                     g.dilation)
    covered = dense.shape[2:]
    # Backwards: the windows of a convolution from the top to the bottom.
    runs = [Run(*run) for run in zip(top[2:], covered, g.stride, g.pad, shape[2:])]
    full = [(extent - 1) * stride + window
            for extent, stride, window in zip(shape[2:], g.stride, covered)]
    kind: Optional[int] = kind_of(runs)
    whole: Shape = top if kind is not None else top[:2] + tuple(full)
    x = layer.last()
    sizes = layer.model.constant(f"{layer.node.name}/shape", np.array(channels_last(whole)))

    def make(y: Tensor, function: int, factors: Weights) -> None:
        # (outputs, h, w, channels)
        w = factors.tensor(np.transpose(_dilated(_dense(factors.values.reshape(
            shape[1], top[1] // group, *g.kernel), group), g.dilation), (1, 2, 3, 0)), 0)
        options: Any = {"Padding": VALID if kind is None else kind, "StrideH": g.stride[0],
                        "StrideW": g.stride[1], "FusedActivationFunction": function}
        z = y if kind is not None else layer.like(y.quantization, channels_last(whole))
        layer.model.operator("TRANSPOSE_CONV", 4 if function else 3,
                             [sizes, w, x, factors.bias()], [z], "TransposeConvOptions", **options)
        if kind is None:
            layer.part(z, [0, *g.pad, 0], channels_last(top), y)

    write_with_weights(layer, weights, make, top)
