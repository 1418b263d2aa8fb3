"""Pooling and spatial pyramids.

Caffe rounds the number of windows up, leaves out a last window that begins behind the image and
its padding in front, and divides averages by the part of the window on the image and its padding
of both sides. The ONNX model expresses all of that by explicit padding.
"""
from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy as np

from ..errors import require
from ..extents import require_constant, text
from ..layer import FLOAT, INT64, Layer, Value, exports

MAX, AVE, STOCHASTIC = 0, 1, 2
_LOWEST = {2: -65504.0, 4: float(np.finfo(np.float32).min)}  # by bytes an element


class Windows(NamedTuple):
    """Along one axis: the image's extent, the windows' and how many there are."""
    extent: int
    kernel: int
    stride: int
    pad: int
    outputs: int

    @property
    def reach(self) -> int:
        """How far the last window reaches, counted from the first padded position."""
        return (self.outputs - 1) * self.stride + self.kernel

    @property
    def behind(self) -> int:
        """How many positions behind the image's end the last window covers."""
        return max(0, self.reach - self.extent - self.pad)

    @property
    def behind_padding(self) -> int:
        """The same behind the padding of that side."""
        return max(0, self.reach - self.extent - 2 * self.pad)

    @property
    def shares(self) -> np.ndarray:
        """Which part of each window is on the image, of what is on it or its padding."""
        first = np.arange(self.outputs) * self.stride - self.pad
        end = np.minimum(first + self.kernel, self.extent + self.pad)
        return (np.minimum(end, self.extent) - np.maximum(first, 0)) / (end - first)

    @property
    def has_empty(self) -> bool:
        """True if the last window begins behind the image."""
        return (self.outputs - 1) * self.stride >= self.extent + self.pad


def _outputs(extent: int, kernel: int, stride: int, pad: int, down: bool, padded: bool) -> int:
    room = extent + 2 * pad - kernel
    outputs = (room // stride if down else -(-room // stride)) + 1
    require(
        outputs >= 1, f"pooling_param: the kernel covers {kernel} positions, the padded bottom has "
        f"{extent + 2 * pad}")
    return outputs - 1 if padded and (outputs - 1) * stride >= extent + pad else outputs


def pair(param: Any, name: str, both: str) -> Tuple[int, int]:
    """A vertical and a horizontal number, given as two or as one."""
    if param.HasField(name + "_h") or param.HasField(name + "_w"):
        return getattr(param, name + "_h"), getattr(param, name + "_w")
    return getattr(param, both), getattr(param, both)


def _rounds_down(param: Any) -> bool:
    if param.HasField("round_mode"):
        return param.round_mode == 1
    return param.torch_pooling or not param.ceil_mode


def windows_of(param: Any, extents: Sequence[int]) -> List[Windows]:
    """The windows of a PoolingParameter along the two axes of a blob with these extents."""
    require(all(dilation == 1 for dilation in param.dilation),
            "pooling_param: dilation other than 1")
    kernel = extents if param.global_pooling else pair(param, "kernel", "kernel_size")
    stride, pad = pair(param, "stride", "stride"), pair(param, "pad", "pad")
    stride = tuple(step or 1 for step in stride)
    require(all(size > 0 for size in kernel), "pooling_param: give kernel_size, or kernel_h and "
            "kernel_w")
    down, padded = _rounds_down(param), any(pad)
    return [Windows(*window, _outputs(*window, down, padded))
            for window in zip(extents, kernel, stride, pad)]


def _pooled(layer: Layer, op_type: str, x: Value, windows: List[Windows], pads: List[int],
            **attributes: int) -> Value:
    return layer.op(op_type, x, shape=x.shape[:2] + tuple(w.outputs for w in windows),
                    kernel_shape=[w.kernel for w in windows], strides=[w.stride for w in windows],
                    pads=pads, **attributes)


def _padded(layer: Layer, x: Value, begin: List[int], end: List[int], value: float) -> Value:
    """`x` with constant borders around its two last axes."""
    if not any(begin) and not any(end):
        return x
    pads = layer.constant(np.array([0, 0] + begin + [0, 0] + end, np.int64), "pads")
    shape = x.shape[:2] + tuple(extent + b + e for extent, b, e in zip(x.shape[2:], begin, end))
    return layer.op("Pad", x, pads, layer.constant(value, dtype=x.dtype), shape=shape)


def max_pool(layer: Layer, x: Value, windows: List[Windows]) -> Value:
    begin, end = [w.pad for w in windows], [w.behind for w in windows]
    if all(p < w.kernel for w in windows for p in (w.pad, w.behind)):
        return _pooled(layer, "MaxPool", x, windows, begin + end)
    lowest = _padded(layer, x, begin, end, _LOWEST[x.dtype.itemsize])
    return _pooled(layer, "MaxPool", lowest, windows, [0] * 4)


def average_pool(layer: Layer, x: Value, windows: List[Windows]) -> Value:
    """Zeros of the padding count, what lies behind the padding does not."""
    require(all(w.pad < w.kernel for w in windows), "pooling_param: pad is less than the kernel")
    require(not any(w.has_empty for w in windows), "pooling_param: a window lies outside of the "
            "image, so it has no average")
    begin, behind = [w.pad for w in windows], [w.behind_padding for w in windows]
    if not any(begin):
        return _pooled(layer, "AveragePool", x, windows, [0, 0] + behind, count_include_pad=0)
    pads = begin + [w.behind for w in windows]
    if not any(behind) and len(set(pads)) == 1:
        return _pooled(layer, "AveragePool", x, windows, pads, count_include_pad=1)
    # Divided by positions on the image, for onnxruntime gets the others wrong: 1.20 merges a Pad in
    # front of the pooling, whose zeros then count no more; 1.23 mixes up uneven pads that count.
    average = _pooled(layer, "AveragePool", x, windows, pads, count_include_pad=0)
    require_constant(windows[0].outputs * windows[1].outputs, "the shares of its windows")
    shares = np.outer(*(w.shares for w in windows))
    return layer.op("Mul", average, layer.constant(shares, "shares", x.dtype))


def _positions(layer: Layer, x: Value, windows: List[Windows]) -> Value:
    """Where in its plane each maximum lies."""
    require(all(p < w.kernel for w in windows for p in (w.pad, w.behind)),
            "pooling_param: a window outside of the image has no largest value")
    shape = x.shape[:2] + tuple(w.outputs for w in windows)
    _, flat = layer.ops("MaxPool", x, shapes=[shape, shape], dtypes=[x.dtype, INT64],
                        kernel_shape=[w.kernel for w in windows],
                        strides=[w.stride for w in windows],
                        pads=[w.pad for w in windows] + [w.behind for w in windows])
    return layer.op("Mod", flat, layer.constant(x.shape[2] * x.shape[3]))


def _expected_pool(layer: Layer, x: Value, windows: List[Windows]) -> Value:
    """STOCHASTIC in the TEST phase: the values weighted by themselves, 0 where they are all 0."""
    require(not any(w.pad for w in windows), "pooling_param: pool STOCHASTIC takes no pad")
    total = average_pool(layer, x, windows)
    squares = average_pool(layer, layer.op("Mul", x, x), windows)
    zero = layer.constant(0.0, dtype=x.dtype)
    positive = layer.op("Greater", total, zero, dtype=np.dtype(np.bool_))
    return layer.op("Where", positive, layer.op("Div", squares, total), zero, dtype=x.dtype)


@exports("Pooling")
def pooling(layer: Layer) -> None:
    param = layer.param.pooling_param
    layer.require_axes(4)
    if param.global_pooling and param.pool != STOCHASTIC and len(layer.tops) == 1:
        op_type = "GlobalMaxPool" if param.pool == MAX else "GlobalAveragePool"
        layer.top(0, layer.op(op_type, layer.bottom(0), shape=layer.shape()[:2] + (1, 1)))
        return
    windows = windows_of(param, layer.shape()[2:])
    require(param.pool in (MAX, AVE, STOCHASTIC), "pooling_param: pool")
    if param.pool == MAX:
        layer.top(0, max_pool(layer, layer.bottom(0), windows))
        if len(layer.tops) > 1:
            layer.top(1, _positions(layer, layer.bottom(0), windows), FLOAT)
    elif param.pool == AVE:
        layer.top(0, average_pool(layer, layer.bottom(0), windows))
    else:
        layer.top(0, _expected_pool(layer, layer.bottom(0, FLOAT), windows))


@exports("SPP")
def spp(layer: Layer) -> None:
    """Level l cuts the image into 2^l by 2^l windows; all levels in one vector, a single one as the
    pooling that it is."""
    param = layer.param.spp_param
    layer.require_axes(4)
    require(param.pool in (MAX, AVE), "spp_param: pool STOCHASTIC")
    require(param.pyramid_height > 0, "spp_param: pyramid_height is missing")
    x, levels = layer.bottom(0), []
    for level in range(param.pyramid_height):
        windows = []
        for extent in x.shape[2:]:
            bins = 1 << level
            kernel = -(-extent // bins)
            pad = (kernel * bins - extent + 1) // 2
            require(pad < kernel, f"spp_param: level {level} cuts an image of {text(x.shape[2:])} "
                    "into windows some of which are empty")
            windows.append(Windows(extent, kernel, kernel, pad, bins))
        pool = max_pool if param.pool == MAX else average_pool
        levels.append(pool(layer, x, windows))
    if len(levels) == 1:
        layer.top(0, levels[0])
        return
    layer.top(0, layer.concat([layer.reshape(pooled, (x.shape[0], x.shape[1] * 4 ** level))
                               for level, pooled in enumerate(levels)], 1))
