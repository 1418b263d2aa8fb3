"""Functions of one number, applied element by element, and softmax."""
from __future__ import annotations

import math

import numpy as np

from ..errors import require
from ..layer import FLOAT, Layer, exports


def _apply(layer: Layer, op_type: str, **attributes: float) -> None:
    layer.top(0, layer.op(op_type, layer.bottom(0), **attributes))


@exports("AbsVal")
def absval(layer: Layer) -> None:
    _apply(layer, "Abs")


@exports("ReLU")
def relu(layer: Layer) -> None:
    slope = layer.param.relu_param.negative_slope
    if slope == 0:
        _apply(layer, "Relu")
    else:
        _apply(layer, "LeakyRelu", alpha=slope)


@exports("ReLU6")
def relu6(layer: Layer) -> None:
    """threshold above it, negative_slope * x below 0."""
    param = layer.param.relu6_param
    x = layer.bottom(0)
    if param.negative_slope == 0:
        layer.top(0, layer.clip(x, 0, param.threshold))
    else:
        leaky = layer.op("LeakyRelu", x, alpha=param.negative_slope)
        layer.top(0, layer.clip(leaky, None, param.threshold))


@exports("PReLU")
def prelu(layer: Layer) -> None:
    shape = layer.shape()
    layer.require_some_axes(2)
    if layer.param.prelu_param.channel_shared:
        slopes = layer.blob(0, ()).reshape((1,) * (len(shape) - 1))
    else:
        slopes = layer.blob(0, (shape[1],)).reshape((-1,) + (1,) * (len(shape) - 2))
    layer.top(0, layer.op("PRelu", layer.bottom(0), layer.constant(slopes, "slopes")))


@exports("ELU")
def elu(layer: Layer) -> None:
    param = layer.param.elu_param
    y = layer.op("Elu", layer.bottom(0), alpha=param.alpha)
    layer.top(0, layer.binary("Mul", y, getattr(param, "lambda")))


@exports("Sigmoid")
def sigmoid(layer: Layer) -> None:
    _apply(layer, "Sigmoid")


@exports("TanH")
def tanh(layer: Layer) -> None:
    _apply(layer, "Tanh")


@exports("BNLL")
def bnll(layer: Layer) -> None:
    """log(1 + exp(x))."""
    _apply(layer, "Softplus")


@exports("Swish")
def swish(layer: Layer) -> None:
    x = layer.bottom(0)
    gate = layer.op("Sigmoid", layer.binary("Mul", x, layer.param.swish_param.beta))
    layer.top(0, layer.op("Mul", x, gate))


@exports("HardSwish")
def hard_swish(layer: Layer) -> None:
    """x min(max(x / 6 + 1 / 2, 0), 1)."""
    x = layer.bottom(0)
    layer.top(0, layer.op("Mul", x, layer.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)))


@exports("GELU")
def gelu(layer: Layer) -> None:
    """x (1 + erf(x / sqrt 2)) / 2."""
    x = layer.bottom(0)
    erf = layer.op("Erf", layer.binary("Mul", x, math.sqrt(0.5)))
    layer.top(0, layer.op("Mul", x, layer.binary("Mul", layer.binary("Add", erf, 1), 0.5)))


@exports("Clip")
def clip(layer: Layer) -> None:
    param = layer.param.clip_param
    layer.top(0, layer.clip(layer.bottom(0), param.min, param.max))


@exports("Threshold")
def threshold(layer: Layer) -> None:
    """1 for x > threshold, else 0."""
    x = layer.bottom(0)
    above = layer.op("Greater", x, layer.constant(layer.param.threshold_param.threshold,
                                                  dtype=x.dtype), dtype=np.dtype(np.bool_))
    layer.top(0, above)


@exports("Power")
def power(layer: Layer) -> None:
    """(shift + scale x) ^ power, with the power 0 giving 1."""
    param = layer.param.power_param
    x = layer.binary("Add", layer.binary("Mul", layer.bottom(0), param.scale), param.shift)
    if param.power == 1:
        layer.top(0, x if x != layer.bottoms[0] else layer.op("Identity", x))
    elif param.power == 2:
        layer.top(0, layer.op("Mul", x, x))
    else:
        layer.top(0, layer.op("Pow", x, layer.constant(param.power, dtype=x.dtype)))


@exports("Exp")
def exp(layer: Layer) -> None:
    """base ^ (shift + scale x); base -1 means e."""
    param = layer.param.exp_param
    require(param.base > 0 or param.base == -1, f"exp_param: base {param.base} is not positive")
    log_base = 1.0 if param.base == -1 else math.log(param.base)
    x = layer.binary("Mul", layer.bottom(0), log_base * param.scale)
    # numpy's, which gives infinity where math.exp gives up.
    factor = float(np.exp(log_base * param.shift))
    layer.top(0, layer.binary("Mul", layer.op("Exp", x), factor))


@exports("Log")
def log(layer: Layer) -> None:
    """The logarithm of shift + scale x to base; base -1 means e."""
    param = layer.param.log_param
    require(param.base == -1 or (param.base > 0 and param.base != 1),
            f"log_param: base {param.base} is not possible")
    x = layer.binary("Add", layer.binary("Mul", layer.bottom(0), param.scale), param.shift)
    factor = 1.0 if param.base == -1 else 1 / math.log(param.base)
    layer.top(0, layer.binary("Mul", layer.op("Log", x), factor))


@exports("SoftTruncation", native=False)
def soft_truncation(layer: Layer) -> None:
    """1 - exp(-x / c)."""
    c = layer.param.soft_truncation_param.c
    require(c != 0, "soft_truncation_param: c must not be 0")
    decay = layer.op("Exp", layer.binary("Mul", layer.bottom(0, FLOAT), -1 / c))
    layer.top(0, layer.op("Sub", layer.constant(1.0, dtype=FLOAT), decay, shape=decay.shape))


@exports("Softmax")
def softmax(layer: Layer) -> None:
    axis = layer.axis(layer.param.softmax_param.axis, "softmax_param: axis")
    _apply(layer, "Softmax", axis=axis)


@exports("Dropout")
def dropout(layer: Layer) -> None:
    """Nothing, or with scale_train: false the factor that was left out in training."""
    param = layer.param.dropout_param
    require(not param.sample_weights_test,
            "dropout_param: sample_weights_test draws random numbers, which is not exported: "
            "leave it out")
    factor = 1.0 if param.scale_train else 1 - param.dropout_ratio
    layer.top(0, layer.binary("Mul", layer.bottom(0), factor))
