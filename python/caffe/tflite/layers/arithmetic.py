"""Sums, products and maxima of blobs."""
from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np

from ..layer import (
    NONE, SIGN, Layer, Shape, Stored, channels_last, exports, quantization_of, require)
from ..model import Quantization, Tensor

PROD, SUM, MAX = 0, 1, 2  # of Caffe's EltwiseParameter


def _aligned(layer: Layer) -> Tuple[List[Tensor], Optional[Shape]]:
    """All bottoms in one order, and the shape in which their channels were moved."""
    inputs = range(len(layer.node.inputs))
    stored: List[Stored] = [layer.bottom(i) for i in inputs]
    if all(one.moved == stored[0].moved and one.tensor.shape == stored[0].tensor.shape
           for one in stored):
        return [one.tensor for one in stored], stored[0].moved
    if layer.all_last():
        return [layer.last(i) for i in inputs], layer.shape()
    return [layer.plain(i) for i in inputs], None


@exports("Eltwise")
def eltwise(layer: Layer) -> None:
    param = layer.param.eltwise_param
    inputs, moved = _aligned(layer)
    if param.operation == SUM:
        _sum(layer, inputs, list(param.coeff) or [1.0] * len(inputs), moved)
    elif param.operation == PROD:
        require(len(inputs) == 2, f"it multiplies {len(inputs)} blobs, LiteRT's MUL two: multiply "
                "two at a time, in layers of their own")
        layer.write(lambda y, function: layer.model.operator(
            "MUL", 2, inputs, [y], "MulOptions", FusedActivationFunction=function), moved)
    else:
        _maximum(layer, inputs, moved)


def _reinterpreted(layer: Layer, x: Tensor, factor: float) -> Tensor:
    """`factor` times x: the same bytes under another scale."""
    if factor == 1:
        return x
    scale = float(np.float32(x.scale * factor))
    return layer.reshaped(x, x.shape, layer.like(Quantization((scale,), x.zero_point), x.shape))


def _together(a: Tensor, b: Tensor) -> Quantization:
    """A scale for all sums of two tensors."""
    least = sum(x.scale * (-SIGN - x.zero_point) for x in (a, b))
    most = sum(x.scale * (SIGN - 1 - x.zero_point) for x in (a, b))
    scale = float(np.float32((most - least) / 255))
    return Quantization((scale,), int(round(-SIGN - least / scale)))


def _sum(layer: Layer, inputs: List[Tensor], factors: List[float], moved: Optional[Shape]) -> None:
    require(all(factors), "eltwise_param: a coeff of 0: leave that bottom out")
    pairs = sorted(zip(factors, range(len(inputs))), key=lambda pair: (pair[0] < 0, pair[1]))
    require(pairs[0][0] > 0, "eltwise_param: no coeff is above 0, and LiteRT subtracts only from "
            "something: negate the weights in front")
    total = _reinterpreted(layer, inputs[pairs[0][1]], pairs[0][0])
    for factor, i in pairs[1:-1]:
        other = _reinterpreted(layer, inputs[i], abs(factor))
        partial = layer.like(_together(total, other), total.shape)
        _add(layer, total, other, factor, partial, NONE)
        layer.notes.append("LiteRT adds two blobs at a time: the sum is rounded in between")
        total = partial
    if len(inputs) == 1:
        layer.write_plainly(lambda y, _: layer.model.operator(
            "QUANTIZE", 2, [total], [y], "QuantizeOptions"), moved)
        return
    factor, last = pairs[-1]
    other = _reinterpreted(layer, inputs[last], abs(factor))
    layer.write(lambda y, function: _add(layer, total, other, factor, y, function), moved)


def _add(layer: Layer, a: Tensor, b: Tensor, factor: float, y: Tensor, function: int) -> None:
    name = "ADD" if factor > 0 else "SUB"
    layer.model.operator(name, 2, [a, b], [y], "AddOptions" if factor > 0 else "SubOptions",
                         FusedActivationFunction=function)


def _maximum(layer: Layer, inputs: List[Tensor], moved: Optional[Shape]) -> None:
    """All in the top's scale, in which bytes can be compared."""
    common = quantization_of(layer.top_value())
    total = layer.requantized(inputs[0], common)
    for x in inputs[1:-1]:
        total = layer.binary("MAXIMUM", total, layer.requantized(x, common))
    last = layer.requantized(inputs[-1], common)
    layer.write_plainly(lambda y, _: layer.binary("MAXIMUM", total, last, y), moved)


@exports("Scale")
def scale(layer: Layer) -> None:
    """One blob times another one, which has a number for each item or channel."""
    param = layer.param.scale_param
    require(len(layer.node.inputs) == 2 and not param.bias_term,
            "its factors are not part of the weights of a layer next to it, and LiteRT has no "
            "operator with its arithmetic: put it directly behind a Convolution or InnerProduct")
    shape, factors = layer.shape(), layer.shape(1)
    axis = param.axis % len(shape)
    require(shape[axis:axis + len(factors)] == factors or
            axis == 0 and len(factors) == len(shape) and set(factors[2:]) <= {1},
            f"LiteRT does not multiply shape {shape} by shape {factors} at axis {axis}")
    full: Shape = (1,) * axis + factors + (1,) * (len(shape) - axis - len(factors))
    a = layer.plain(1)
    moved = layer.bottom().moved
    if moved is not None and moved == shape:
        x, wanted = layer.last(), channels_last(full)
        if sum(extent != 1 for extent in full[1:]) > 1:  # positions differ, too
            a = layer.transposed(layer.reshaped(a, full), [0, *range(2, len(full)), 1])
    else:
        x, wanted, moved = layer.plain(), full, None
    a = layer.reshaped(a, wanted)
    layer.write(lambda y, function: layer.model.operator(
        "MUL", 2, [x, a], [y], "MulOptions", FusedActivationFunction=function), moved)
