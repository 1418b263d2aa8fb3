"""Functions of one number, softmax and normalization of vectors."""
from __future__ import annotations

from typing import Any, List, Optional

import numpy as np

from ...onnx.quantized import norm_factors
from ..layer import NONE, RELU, RELU6, SIGN, Layer, count, exports, quantization_of, require
from ..model import Quantization, Tensor
from ..tables import look_up, table


def _apply(layer: Layer, name: str, version: int, table: str = "", more: Any = (),
           fixed: Optional[Quantization] = None, bounds: int = NONE, **options: Any) -> None:
    """An operator on the bottom as it lies. `fixed` is the only scale that its result may have in
    LiteRT; where the top has another one, it is brought into it. `bounds` is the activation
    function that the operator is itself."""
    stored = layer.bottom()
    inputs: List[Tensor] = [stored.tensor, *more]

    def make(y: Tensor, _: int) -> None:
        z = y
        if fixed is not None and fixed != y.quantization:
            z = layer.like(fixed, y.shape)
        layer.model.operator(name, version, inputs, [z], table, **options)
        if z is not y:
            layer.model.operator("QUANTIZE", 2, [z], [y], "QuantizeOptions")

    if layer.fused() == (bounds, True):
        make(layer.top(stored.moved), NONE)
    else:
        layer.write_plainly(make, stored.moved)


@exports("ReLU")
def relu(layer: Layer) -> None:
    slope = layer.param.relu_param.negative_slope
    if slope:
        _apply(layer, "LEAKY_RELU", 2, "LeakyReluOptions", Alpha=slope)
    else:
        _apply(layer, "RELU", 2, bounds=RELU)


@exports("ReLU6")
def relu6(layer: Layer) -> None:
    param = layer.param.relu6_param
    if param.threshold == 6 and not param.negative_slope:
        _apply(layer, "RELU6", 2, bounds=RELU6)
    else:
        table(layer)


@exports("Rescale")
def rescale(layer: Layer) -> None:
    """The same numbers in another scale."""
    _apply(layer, "QUANTIZE", 2, "QuantizeOptions")


@exports("Sigmoid")
def sigmoid(layer: Layer) -> None:
    _apply(layer, "LOGISTIC", 2, fixed=Quantization((1 / 256,), -SIGN))


@exports("TanH")
def tanh(layer: Layer) -> None:
    _apply(layer, "TANH", 2, fixed=Quantization((1 / 128,), 0))


@exports("AbsVal")
def absval(layer: Layer) -> None:
    _apply(layer, "ABS", 2, "AbsOptions")


@exports("ELU")
def elu(layer: Layer) -> None:
    param = layer.param.elu_param
    if param.alpha == 1 and getattr(param, "lambda") == 1:
        _apply(layer, "ELU", 1)
    else:
        table(layer)


@exports("Softmax")
def softmax(layer: Layer) -> None:
    """LiteRT's runs along the last axis."""
    shape = layer.shape()
    axis = layer.param.softmax_param.axis % len(shape)
    fixed = Quantization((1 / 256,), -SIGN)
    top = quantization_of(layer.top_value())
    require(top == fixed, "its top has another scale than 1/256, the only one of LiteRT's SOFTMAX")

    def run(x: Tensor, y: Tensor) -> None:
        layer.model.operator("SOFTMAX", 2, [x], [y], "SoftmaxOptions", Beta=1.0)

    if axis == 1 and len(shape) > 2:
        run(layer.last(), layer.top(shape))
    elif axis == len(shape) - 1:
        run(layer.plain(), layer.top())
    else:
        order = [*range(axis), *range(axis + 1, len(shape)), axis]
        x = layer.transposed(layer.plain(), order)
        y = layer.like(fixed, x.shape)
        run(x, y)
        layer.transposed(y, list(np.argsort(order)), layer.top())


@exports("Normalize")
def normalize(layer: Layer) -> None:
    """L2_NORMALIZATION, whose scale is 1/128, then a table with the learned factors."""
    shape = layer.shape()
    face = layer.param.HasField("normalize_param")
    param = layer.param.norm_param
    require(len(shape) in (2, 4), f"LiteRT normalizes blobs of 2 or 4 axes, not of {shape}")
    require(len(layer.node.parameters) == 2,
            "it computes with floats: calibrate its bottom and its top")
    x = layer.last() if len(shape) == 4 else layer.plain()
    across = param.across_spatial and not face and len(shape) == 4
    flat = layer.reshaped(x, (shape[0], count(shape[1:]))) if across else x
    y = layer.like(Quantization((1 / 128,), 0), flat.shape)
    layer.model.operator("L2_NORMALIZATION", 2, [flat], [y], "L2NormOptions",
                         FusedActivationFunction=NONE)
    top = layer.top_value()
    factors = norm_factors(layer.node, layer.value(), top)
    steps = np.arange(-SIGN, SIGN) / 128 * factors[:, None] / top.scale + top.zero_point - SIGN
    tables = np.clip(np.floor(steps + 0.5), -SIGN, SIGN - 1)
    moved = shape if len(shape) == 4 else None
    layer.write_plainly(lambda z, _: look_up(layer, layer.reshaped(y, x.shape), tables, z), moved)
