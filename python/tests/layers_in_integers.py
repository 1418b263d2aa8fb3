"""Nets of one layer in integers, and a small classifier, for the tests of exporters."""
from __future__ import annotations

from typing import Callable, Dict, List

import numpy as np
from quantized_graphs import NetInIntegers

SLOPES = np.linspace(0.01, 0.9, 16)


def conv(shape=(2, 8, 11, 9), outputs=16, **fields) -> Callable:
    return lambda net: net.convolution(net.input(*shape), outputs, **fields)


def deconv(shape=(2, 6, 5, 4), **fields) -> Callable:
    return lambda net: net.deconvolution(net.input(*shape), **fields)


def pool(method, kernel, stride, pad, shape=(2, 5, 8, 8)) -> Callable:
    return lambda net: net.pool(net.input(*shape, zero_point=40), method, kernel, stride, pad)


def two(net: NetInIntegers) -> List[int]:
    """Two blobs of different scales."""
    return [net.input(2, 5, 4, 3, scale=0.02, zero_point=100),
            net.input(2, 5, 4, 3, scale=0.013, zero_point=140)]


def function(text, real, scale, zero_point, shape=(2, 6, 3, 4), bounds=(0, 255), of=0.05):
    return lambda net: net.function(net.input(*shape, scale=of), f"type: {text}", real, scale,
                                    zero_point, bounds)


def leaky(x):
    return np.where(x < 0, 0.1 * x, x)


def prelu(x):
    """Six channels, one table each."""
    return np.where(x < 0, x * np.linspace(-0.2, 0.5, 6)[:, None], x)


#: Nets of one layer that LiteRT's reference kernels compute to the same bits.
EXACT: Dict[str, Callable] = {
    "1x1": conv(kernel=(1, 1)),
    "3x3": conv(),
    "5x2": conv(kernel=(5, 2)),
    "padding that is SAME": conv(pad=(1, 1)),
    "padding of its own": conv(pad=(2, 0)),
    "padding of 1x1": conv(kernel=(1, 1), pad=(1, 1)),
    "stride": conv(stride=(2, 3)),
    "stride and padding": conv(shape=(1, 8, 12, 12), stride=(2, 2), pad=(1, 1)),
    "dilation": conv(dilation=(2, 2), pad=(2, 2)),
    "dilation and stride": conv(dilation=(1, 2), stride=(2, 1)),
    "groups": conv(group=4),
    "depthwise": conv(outputs=8, group=8),
    "depthwise of its type": conv(outputs=8, group=8, type_="DepthwiseConvolution"),
    "depthwise, dilated": conv(outputs=8, group=8, dilation=(2, 2), pad=(1, 2)),
    "depthwise, two outputs a channel": conv(group=8, pad=(1, 1)),
    "one channel": conv(shape=(1, 1, 9, 9)),
    "one output": conv(outputs=1),
    "ReLU": conv(activation="relu"),
    "ReLU6": conv(activation="relu6"),
    "other bounds": conv(activation="odd"),
    "zero point 0": conv(zero_point=0),
    "zero point 255": conv(zero_point=255),
    "deconvolution": deconv(outputs=8, kernel=(3, 3), stride=(2, 2)),
    "deconvolution that is SAME": deconv(outputs=8, kernel=(4, 4), stride=(2, 2), pad=(1, 1)),
    "deconvolution by channel": deconv(outputs=6, kernel=(4, 4), stride=(2, 2), pad=(1, 1),
                                       group=6),
    "deconvolution by groups": deconv(outputs=8, kernel=(3, 5), stride=(2, 3), pad=(0, 2), group=2,
                                      activation="relu"),
    "sum": lambda net: net.sum(*two(net)),
    "sum and ReLU": lambda net: net.sum(*two(net), activation="relu"),
    "difference": lambda net: net.sum(*two(net), coefficients=(1, -1)),
    "difference, turned": lambda net: net.sum(*two(net), coefficients=(-1, 1)),
    "sum with factors": lambda net: net.sum(*two(net), coefficients=(0.5, 2), scale=0.05),
    "product": lambda net: net.product(*two(net)),
    "maximum": lambda net: net.maximum(*two(net)),
    "concat": lambda net: net.concat(*two(net)),
    "concat of positions": lambda net: net.concat(*two(net), axis=2),
    "concat of items": lambda net: net.concat(*two(net), axis=0),
    "ReLU alone": function("'ReLU'", lambda x: np.maximum(x, 0), 0.05, 121, bounds=(121, 255)),
    "PReLU alone": function("'PReLU'", prelu, 0.04, 60),
    "PReLU of vectors": function("'PReLU'", prelu, 0.04, 60, shape=(2, 6)),
    "BNLL": function("'BNLL'", lambda x: np.log1p(np.exp(x)), 0.04, 0),
    "Swish": function("'Swish'", lambda x: x / (1 + np.exp(-x)), 0.03, 20),
    "HardSwish": function("'HardSwish'", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), 0.03, 20),
    "AbsVal": function("'AbsVal'", np.abs, 0.05, 0),
}
for _method in ("MAX", "AVE"):
    for _kernel, _stride, _pad in ((2, 2, 0), (3, 2, 0), (3, 2, 1), (3, 1, 1), (2, 1, 0)):
        EXACT[f"{_method} {_kernel}, {_stride}, {_pad}"] = pool(_method, _kernel, _stride, _pad)
        EXACT[f"{_method} {_kernel}, {_stride}, {_pad} of 9x7"] = pool(
            _method, _kernel, _stride, _pad, (1, 3, 9, 7))
    EXACT[f"{_method} of all"] = lambda net, m=_method: net.pool(net.input(2, 5, 7, 9), m, 0, 1, 0,
                                                                 True)
EXACT["MAX 5, 3, 2"] = pool("MAX", 5, 3, 2)

#: And those in which their steps are others.
NEARLY: Dict[str, Callable] = {
    # LiteRT rounds inner products once, the engine twice: the same but for one byte in about 1,000.
    "inner product": lambda net: net.inner_product(net.input(4, 33), 17),
    "inner product of an image": lambda net: net.inner_product(net.input(4, 5, 3, 2), 17,
                                                               activation="relu"),
    "PReLU": conv(slopes=SLOPES),
    "PReLU, depthwise": conv(group=8, slopes=SLOPES),
    "PReLU, slopes above 1": conv(slopes=SLOPES * 2),
    "PReLU, slopes below 0": conv(slopes=SLOPES - 0.5),
    "PReLU of a deconvolution": deconv(outputs=8, kernel=(3, 5), stride=(2, 3), pad=(0, 2), group=2,
                                       slopes=SLOPES[:8] - 0.3),
    "PReLU of an inner product": lambda net: net.inner_product(net.input(4, 33), 16, slopes=SLOPES),
    "leaky ReLU alone": function("'ReLU' relu_param { negative_slope: 0.1 }", leaky, 0.05, 20),
    "ReLU6 alone": function("'ReLU6'", lambda x: np.clip(x, 0, 6), 6 / 255, 0, of=0.06),
    "Sigmoid": function("'Sigmoid'", lambda x: 1 / (1 + np.exp(-x)), 1 / 256, 0),
    "TanH": function("'TanH'", np.tanh, 1 / 128, 128),
    "softmax of vectors": lambda net: net.softmax(net.input(5, 20, scale=0.05)),
    "softmax of channels": lambda net: net.softmax(net.input(2, 6, 3, 4, scale=0.05)),
    "softmax of rows": lambda net: net.softmax(net.input(2, 6, 3, 4, scale=0.05), 2),
    "softmax of columns": lambda net: net.softmax(net.input(2, 6, 3, 4, scale=0.05), 3),
    "Normalize": lambda net: net.normalize(net.input(2, 6, 3, 4, scale=0.05),
                                           np.linspace(1, 20, 6), 0.1),
    "Normalize of vectors": lambda net: net.normalize(net.input(2, 6, scale=0.05), np.array([20.]),
                                                      0.1),
}


def classifier(net: NetInIntegers) -> NetInIntegers:
    """Convolutions, a residual, branches, vectors."""
    x = net.convolution(net.input(2, 3, 17, 15), 8, pad=(1, 1), activation="relu", zero_point=0)
    y = net.pool(x, "MAX", 3, 2)
    z = net.convolution(y, 8, group=8, pad=(1, 1), activation="relu6", zero_point=0)
    z = net.convolution(z, 8, kernel=(1, 1))
    z = net.sum(y, z, activation="relu", zero_point=3)
    a, b = net.convolution(z, 5, stride=(2, 2)), net.convolution(z, 6, stride=(2, 2))
    a = net.concat(a, b, scale=net.graph.values[a].scale, zero_point=117)
    flat = net.like("type: 'Flatten'", [a], net.bytes[a].reshape(2, -1))
    return net.output(net.inner_product(net.inner_product(flat, 20, activation="relu"), 7), flat)
