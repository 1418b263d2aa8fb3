"""Functions of one number, softmax and normalization of vectors."""
from __future__ import annotations

from typing import Any, List, Optional

import numpy as np

from ..layer import NONE, RELU, RELU6, SIGN, Layer, exports, quantization_of, require
from ..model import Quantization, Tensor


def _apply(layer: Layer, name: str, version: int, table: str = "", more: Any = (),
           fixed: Optional[Quantization] = None, bounds: int = NONE, **options: Any) -> None:
    """An operator on the bottom as it lies. `fixed` is the only scale that its result may have in
    LiteRT; where the top has another one, it is brought into it. `bounds` is the activation function
    that the operator is itself."""
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
    if param.negative_slope:
        _apply(layer, "LEAKY_RELU", 2, "LeakyReluOptions", Alpha=param.negative_slope)
    elif param.threshold == 6:
        _apply(layer, "RELU6", 2, bounds=RELU6)
    else:
        _apply(layer, "RELU", 2, bounds=RELU)


@exports("Clip")
def clip(layer: Layer) -> None:
    """The bounds are the top's."""
    _apply(layer, "QUANTIZE", 2, "QuantizeOptions")


@exports("PReLU")
def prelu(layer: Layer) -> None:
    require(bool(layer.node.layer.blobs), "its slopes are not known here: put it directly behind a "
            "Convolution or InnerProduct, of which it then becomes a part")
    slopes = np.array(layer.node.layer.blobs[0].data, np.float32)
    shape = layer.shape()
    require(layer.bottom().moved == shape or len(shape) == 2,
            "LiteRT's PRELU needs the channels behind the positions")
    scale = float(np.float32(max(np.abs(slopes).max(), 1e-6) / 127))
    alpha = layer.model.constant(f"{layer.node.name}/slopes",
                                 np.rint(slopes / scale).reshape((1,) * (len(shape) - 2) + (-1,)),
                                 np.int8, Quantization((scale,)))
    _apply(layer, "PRELU", 1, more=[alpha])


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
    require(param.alpha == 1 and getattr(param, "lambda") == 1,
            "elu_param: LiteRT's ELU has alpha 1 and lambda 1")
    _apply(layer, "ELU", 1)


@exports("Swish")
def swish(layer: Layer) -> None:
    """x times its sigmoid, which is rounded to 8 bits in between."""
    require(layer.param.swish_param.beta == 1, "swish_param: beta other than 1")
    stored = layer.bottom()
    gate = layer.like(Quantization((1 / 256,), -SIGN), stored.tensor.shape)
    layer.model.operator("LOGISTIC", 2, [stored.tensor], [gate])
    layer.write(lambda y, function: layer.model.operator(
        "MUL", 2, [stored.tensor, gate], [y], "MulOptions", FusedActivationFunction=function),
        stored.moved)


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
    """L2_NORMALIZATION, whose scale is 1/128, then the learned factors."""
    shape = layer.shape()
    face = layer.param.HasField("normalize_param")
    param = layer.param.norm_param
    require(len(shape) in (2, 4), f"LiteRT normalizes blobs of 2 or 4 axes, not of {shape}")
    across = param.across_spatial and not face and len(shape) == 4
    fixed = Quantization((1 / 128,), 0)
    x = layer.last() if len(shape) == 4 else layer.plain()
    flat = layer.reshaped(x, (shape[0], int(np.prod(shape[1:])))) if across else x
    y = layer.like(fixed, flat.shape)
    layer.model.operator("L2_NORMALIZATION", 2, [flat], [y], "L2NormOptions",
                         FusedActivationFunction=0)
    y = layer.reshaped(y, x.shape)
    moved = shape if len(shape) == 4 else None
    blobs = layer.node.layer.blobs
    if face or not blobs:
        layer.write_plainly(lambda z, _: layer.model.operator(
            "QUANTIZE", 2, [y], [z], "QuantizeOptions"), moved)
        return
    factors = np.array(blobs[0].data, np.float32)
    scale = float(np.float32(max(np.abs(factors).max(), 1e-20) / 127))
    a = layer.model.constant(f"{layer.node.name}/factors",
                             np.rint(factors / scale).reshape((1,) * (len(shape) - 1) + (-1,)),
                             np.int8, Quantization((scale,)))
    layer.write(lambda z, function: layer.model.operator(
        "MUL", 2, [y, a], [z], "MulOptions", FusedActivationFunction=function), moved)
