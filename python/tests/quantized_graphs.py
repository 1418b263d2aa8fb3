"""Small nets in integers for the tests of exporters, with what integers make of random inputs: a
plain model of the engine's arithmetic (src/caffe/kernels/fixed_point.hpp)."""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from google.protobuf import text_format
from seeds import seed_of_this_test

from caffe._quantized_graph import Integers, QuantizedGraph, QuantizedNode, QuantizedValue
from caffe.proto import caffe_pb2

Multiplier = Tuple[int, int]


def multiplier_of(real: float) -> Multiplier:
    """value * 2^(shift - 31), value in [2^30, 2^31)."""
    fraction, shift = math.frexp(real)
    value = math.floor(fraction * 2**31 + 0.5)
    return (2**30, shift + 1) if value == 2**31 else (value, shift)


def rescale(x: Any, by: Multiplier) -> np.ndarray:
    """x times the multiplier, rounded twice: ties up, then ties away from zero."""
    value, shift = by
    high = (np.asarray(x, np.int64) * 2**max(shift, 0) * value + 2**30) >> 31
    right = max(-shift, 0)
    if right == 0:
        return high
    return (high + 2**(right - 1) - (high < 0)) >> right


def layer_of(text: str) -> Any:
    message = caffe_pb2.LayerParameter()
    text_format.Parse(text, message)
    return message


def covered(kernel: Sequence[int], dilation: Sequence[int]) -> List[int]:
    return [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]


class NetInIntegers:
    """A graph while it grows. Each blob's bytes are computed at once, in ``bytes``."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(seed_of_this_test())
        self.graph = QuantizedGraph("small", [], [], [], [])
        self.bytes: List[np.ndarray] = []

    # Blobs.

    def value(self, name: str, data: np.ndarray, scale: float, zero_point: int) -> int:
        scale = float(np.float32(scale))
        self.graph.values.append(QuantizedValue(name, data.shape, "UINT8", scale, zero_point))
        assert data.min() >= 0 and data.max() <= 255
        self.bytes.append(data.astype(np.uint8))
        return len(self.bytes) - 1

    def input(self, *shape: int, scale: float = 0.02, zero_point: int = 121) -> int:
        data = self.random.integers(0, 256, shape)
        x = self.value(f"data{len(self.graph.inputs) or ''}", data, scale, zero_point)
        self.graph.inputs.append(x)
        return x

    def output(self, *values: int) -> "NetInIntegers":
        self.graph.outputs += values
        return self

    def centred(self, x: int) -> np.ndarray:
        """Bytes less the zero point."""
        return self.bytes[x].astype(np.int64) - self.graph.values[x].zero_point

    def _add(self, text: str, inputs: Sequence[int], data: np.ndarray, scale: float,
             zero_point: int, bounds: Optional[Tuple[int, int]] = None,
             parameters: Sequence[np.ndarray] = ()) -> int:
        layer = layer_of(text)
        name = f"{layer.type.lower()}{len(self.graph.nodes)}"
        layer.name = name
        least, most = bounds or (0, 255)
        y = self.value(name, np.clip(data, least, most), scale, zero_point)
        self.graph.nodes.append(
            QuantizedNode(name, layer.type, list(inputs), [y], layer,
                          Integers("double", least, most), list(parameters)))
        return y

    def like(self, text: str, inputs: Sequence[int], data: np.ndarray,
             bounds: Optional[Tuple[int, int]] = None) -> int:
        """A node whose output has the scale of its first input."""
        value = self.graph.values[inputs[0]]
        return self._add(text, inputs, data, value.scale, value.zero_point, bounds)

    # Layers with weights.

    def _weighted(self, text: str, x: int, weights: np.ndarray, sums: Any, zero_point: int,
                  activation: str, slopes: Optional[np.ndarray], kind_axis: int = 1) -> int:
        """`sums` makes of the centred bytes and weights the sums, with outputs along axis 1."""
        totals = sums(self.centred(x), weights.astype(np.int64))
        outputs = totals.shape[kind_axis]
        bias = self.random.integers(-2000, 2000, outputs).astype(np.int32)
        shape = [1, outputs] + [1] * (totals.ndim - 2)
        totals = totals + bias.reshape(shape)
        scales = self.random.uniform(0.002, 0.006, outputs).astype(np.float32)
        of_input = float(np.float32(self.graph.values[x].scale))
        largest = np.abs(totals * (scales.reshape(shape) * of_input)).max()
        scale = float(np.float32(largest / 140))  # some results are clamped
        by = [multiplier_of(of_input * float(s) / scale) for s in scales]
        parameters = [weights.astype(np.int8), bias, *self._as_arrays(by), scales]
        y = np.stack([rescale(part, m) for part, m in zip(np.moveaxis(totals, 1, 0), by)], 1)
        if slopes is not None:
            negative = [multiplier_of(of_input * float(s) / scale * abs(float(a)))
                        for s, a in zip(scales, slopes)]
            negative = [(value if a > 0 else -value, shift)
                        for (value, shift), a in zip(negative, slopes)]
            parameters += self._as_arrays(negative)
            other = np.stack([-rescale(part, (-m[0], m[1])) if m[0] < 0 else rescale(part, m)
                              for part, m in zip(np.moveaxis(totals, 1, 0), negative)], 1)
            y = np.where(totals < 0, other, y)
        bounds = {"": (0, 255), "relu": (zero_point, 255), "odd": (zero_point - 9, 200),
                  "relu6": (zero_point, min(255, zero_point + math.floor(6 / scale + 0.5)))}
        return self._add(text, [x], zero_point + y, scale, zero_point, bounds[activation],
                         parameters)

    @staticmethod
    def _as_arrays(by: Sequence[Multiplier]) -> List[np.ndarray]:
        return [np.array([m[0] for m in by], np.int32), np.array([m[1] for m in by], np.int32)]

    def convolution(self, x: int, outputs: int, kernel: Sequence[int] = (3, 3),
                    stride: Sequence[int] = (1, 1), pad: Sequence[int] = (0, 0),
                    dilation: Sequence[int] = (1, 1), group: int = 1, zero_point: int = 117,
                    activation: str = "", slopes: Optional[np.ndarray] = None,
                    type_: str = "Convolution") -> int:
        channels = self.bytes[x].shape[1]
        weights = self.random.integers(-127, 128, (outputs, channels // group, *kernel))
        text = (f"type: '{type_}' convolution_param {{ num_output: {outputs} group: {group} "
                f"kernel_h: {kernel[0]} kernel_w: {kernel[1]} stride_h: {stride[0]} "
                f"stride_w: {stride[1]} pad_h: {pad[0]} pad_w: {pad[1]} dilation: {dilation[0]} "
                f"dilation: {dilation[1]} }}")

        def sums(q: np.ndarray, w: np.ndarray) -> np.ndarray:
            return grouped(padded(q, pad), w, stride, dilation, group)

        return self._weighted(text, x, weights, sums, zero_point, activation, slopes)

    def deconvolution(self, x: int, outputs: int, kernel: Sequence[int], stride: Sequence[int],
                      pad: Sequence[int] = (0, 0), group: int = 1, zero_point: int = 117,
                      activation: str = "", slopes: Optional[np.ndarray] = None) -> int:
        channels = self.bytes[x].shape[1]
        weights = self.random.integers(-127, 128, (channels, outputs // group, *kernel))
        text = (f"type: 'Deconvolution' convolution_param {{ num_output: {outputs} group: {group} "
                f"kernel_h: {kernel[0]} kernel_w: {kernel[1]} stride_h: {stride[0]} "
                f"stride_w: {stride[1]} pad_h: {pad[0]} pad_w: {pad[1]} }}")

        def sums(q: np.ndarray, w: np.ndarray) -> np.ndarray:
            n, c, h, width = q.shape
            extents = [(e - 1) * s + k for e, s, k in zip((h, width), stride, kernel)]
            y = np.zeros((n, outputs, *extents), np.int64)
            step = outputs // group
            for i in range(h):
                for j in range(width):
                    for g in range(group):
                        channel = slice(g * c // group, (g + 1) * c // group)
                        part = np.einsum("nc,cokl->nokl", q[:, channel, i, j], w[channel])
                        a, b = i * stride[0], j * stride[1]
                        y[:, g * step:(g + 1) * step, a:a + kernel[0], b:b + kernel[1]] += part
            return y[:, :, pad[0]:extents[0] - pad[0], pad[1]:extents[1] - pad[1]]

        return self._weighted(text, x, weights, sums, zero_point, activation, slopes)

    def inner_product(self, x: int, outputs: int, zero_point: int = 130, activation: str = "",
                      slopes: Optional[np.ndarray] = None) -> int:
        inputs = self.bytes[x][0].size
        weights = self.random.integers(-127, 128, (outputs, inputs))
        text = f"type: 'InnerProduct' inner_product_param {{ num_output: {outputs} }}"
        return self._weighted(text, x, weights, lambda q, w: q.reshape(len(q), -1) @ w.T,
                              zero_point, activation, slopes)

    # Others.

    def pool(self, x: int, method: str, kernel: int, stride: int = 1, pad: int = 0,
             global_: bool = False) -> int:
        n, c, *extents = self.bytes[x].shape
        if global_:
            text = f"type: 'Pooling' pooling_param {{ pool: {method} global_pooling: true }}"
            kernels = extents
        else:
            text = (f"type: 'Pooling' pooling_param {{ pool: {method} kernel_size: {kernel} "
                    f"stride: {stride} pad: {pad} }}")
            kernels = [kernel, kernel]
        outs = []
        for extent, k in zip(extents, kernels):
            out = -(-(extent + 2 * pad - k) // stride) + 1
            outs.append(out - 1 if pad and (out - 1) * stride >= extent + pad else out)
        q = self.bytes[x].astype(np.int64) - 128  # averages round ties away from this
        zero = self.graph.values[x].zero_point - 128
        y = np.zeros((n, c, *outs), np.int64)
        for i in range(outs[0]):
            for j in range(outs[1]):
                begin = [i * stride - pad, j * stride - pad]
                end = [min(b + k, e + pad) for b, k, e in zip(begin, kernels, extents)]
                size = (end[0] - begin[0]) * (end[1] - begin[1])
                part = q[:, :, max(begin[0], 0):end[0], max(begin[1], 0):end[1]]
                if method == "MAX":
                    y[:, :, i, j] = part.max((2, 3))
                    continue
                total = part.sum((2, 3)) + zero * (size - part[0, 0].size)
                y[:, :, i, j] = np.sign(total) * ((np.abs(total) + size // 2) // size)
        return self.like(text, [x], y + 128)

    def sum(self, a: int, b: int, scale: float = 0.03, zero_point: int = 125,
            coefficients: Sequence[float] = (1, 1), activation: str = "") -> int:
        """LiteRT's ADD: both by 2^20 and half their share of the larger scale."""
        scale = float(np.float32(scale))
        scales = [float(np.float32(self.graph.values[v].scale)) * abs(factor)
                  for v, factor in zip((a, b), coefficients)]
        twice = 2 * max(scales)
        total = sum(int(np.sign(factor)) * rescale(self.centred(v) << 20, multiplier_of(s / twice))
                    for v, s, factor in zip((a, b), scales, coefficients))
        y = rescale(total, multiplier_of(twice / (scale * 2**20)))
        coeff = " ".join(f"coeff: {factor}" for factor in coefficients)
        bounds = (zero_point, 255) if activation == "relu" else None
        return self._add(f"type: 'Eltwise' eltwise_param {{ operation: SUM {coeff} }}", [a, b],
                         y + zero_point, scale, zero_point, bounds)

    def product(self, a: int, b: int, scale: float = 0.03, zero_point: int = 125) -> int:
        values = self.graph.values
        by = multiplier_of(float(np.float32(values[a].scale)) * float(np.float32(values[b].scale)) /
                           float(np.float32(scale)))
        y = rescale(self.centred(a) * self.centred(b), by)
        return self._add("type: 'Eltwise' eltwise_param { operation: PROD }", [a, b],
                         y + zero_point, scale, zero_point)

    def in_scale(self, x: int, scale: float, zero_point: int) -> np.ndarray:
        value = self.graph.values[x]
        by = multiplier_of(float(np.float32(value.scale)) / float(np.float32(scale)))
        if by == (2**30, 1) and value.zero_point == zero_point:
            return self.bytes[x].astype(np.int64)
        return np.clip(rescale(self.centred(x), by) + zero_point, 0, 255)

    def maximum(self, *inputs: int, scale: float = 0.03, zero_point: int = 125) -> int:
        y = np.max([self.in_scale(x, scale, zero_point) for x in inputs], 0)
        return self._add("type: 'Eltwise' eltwise_param { operation: MAX }", inputs, y, scale,
                         zero_point)

    def concat(self, *inputs: int, axis: int = 1, scale: float = 0.02,
               zero_point: int = 121) -> int:
        y = np.concatenate([self.in_scale(x, scale, zero_point) for x in inputs], axis)
        return self._add(f"type: 'Concat' concat_param {{ axis: {axis} }}", inputs, y, scale,
                         zero_point)

    def slice(self, x: int, axis: int, *points: int) -> List[int]:
        text = f"type: 'Slice' slice_param {{ axis: {axis} " + " ".join(
            f"slice_point: {point}" for point in points) + " }"
        parts = np.split(self.bytes[x], points, axis)
        node = None
        outputs = []
        for part in parts:
            y = self.like(text, [x], part)
            if node is None:
                node = self.graph.nodes[-1]
            else:
                self.graph.nodes.pop()
                node.outputs.append(y)
                self.graph.values[y].name = f"{node.name}_{len(outputs)}"
            outputs.append(y)
        return outputs

    def function(self, x: int, text: str, real: Any, scale: float, zero_point: int,
                 bounds: Tuple[int, int] = (0, 255)) -> int:
        """A table of what `real` makes of real numbers, to the nearest."""
        value = self.graph.values[x]
        reals = (np.arange(256) - value.zero_point) * float(np.float32(value.scale))
        table = np.floor(np.atleast_2d(real(reals)) / scale + 0.5) + zero_point
        table = np.clip(table, *bounds).astype(np.uint8)
        q = self.bytes[x]
        if len(table) == 1:
            y = table[0][q]
        else:  # one for each channel
            y = np.stack([one[part] for one, part in zip(table, np.moveaxis(q, 1, 0))], 1)
        return self._add(text, [x], y, scale, zero_point, bounds, [table])

    def softmax(self, x: int, axis: int = 1) -> int:
        e = np.exp(self.centred(x) * self.graph.values[x].scale)
        y = np.floor(e / e.sum(axis, keepdims=True) * 256 + 0.5)
        return self._add(f"type: 'Softmax' softmax_param {{ axis: {axis} }}", [x],
                         np.minimum(y, 255), 1 / 256, 0)

    def normalize(self, x: int, factors: np.ndarray, scale: float, zero_point: int = 128,
                  text: str = "across_spatial: false") -> int:
        q, step = self.centred(x) * self.graph.values[x].scale, self.graph.values[x].scale
        axes = 1 if "false" in text else (1, 2, 3)
        y = q / np.sqrt((q * q).sum(axes, keepdims=True) + 1e-10)
        y *= factors.reshape((1, -1) + (1,) * (q.ndim - 2))
        by = [multiplier_of(step / math.sqrt(step**2 + 1e-10) * float(f) / scale / 2**22)
              for f in factors]
        text += "" if len(factors) == 1 else " channel_shared: false"
        return self._add(f"type: 'Normalize' norm_param {{ {text} }}", [x],
                         np.floor(y / scale + 0.5) + zero_point, scale, zero_point,
                         parameters=[np.array(by, np.int32), np.zeros(1153, np.int32)])


def padded(q: np.ndarray, pad: Sequence[int]) -> np.ndarray:
    return np.pad(q, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])))


def grouped(q: np.ndarray, w: np.ndarray, stride: Sequence[int], dilation: Sequence[int],
            group: int) -> np.ndarray:
    """The sums of a convolution without padding."""
    window = covered(w.shape[2:], dilation)
    outs = [(extent - c) // s + 1 for extent, c, s in zip(q.shape[2:], window, stride)]
    channels, outputs = q.shape[1] // group, len(w) // group
    y = np.zeros((len(q), len(w), *outs), np.int64)
    for g in range(group):
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                a, b = i * dilation[0], j * dilation[1]
                part = q[:, g * channels:(g + 1) * channels,
                         a:a + (outs[0] - 1) * stride[0] + 1:stride[0],
                         b:b + (outs[1] - 1) * stride[1] + 1:stride[1]]
                rows = slice(g * outputs, (g + 1) * outputs)
                y[:, rows] += np.einsum("nchw,oc->nohw", part, w[rows, :, i, j])
    return y
