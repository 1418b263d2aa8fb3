"""Pooling."""
from __future__ import annotations

from typing import List

from ...onnx.layers.pooling import AVE, MAX, windows_of
from ..layer import SIGN, Layer, exports, require
from ..model import Tensor
from ..padding import SAME, VALID, Run, borders, kind_of


@exports("Pooling")
def pooling(layer: Layer) -> None:
    """Caffe's averages count zeros of the padding, which are made by an operator of their own; what
    lies behind the padding they do not count, and LiteRT's SAME neither."""
    param = layer.param.pooling_param
    shape, top = layer.shape(), layer.top_shape()
    require(len(shape) == 4, f"LiteRT pools blobs of 4 axes, not of {shape}")
    require(param.pool in (MAX, AVE), "pooling_param: pool STOCHASTIC has no LiteRT operator")
    windows = windows_of(param, shape[2:])
    x = layer.last()
    if param.pool == MAX:
        runs = [Run(w.extent, w.kernel, w.stride, w.pad, w.outputs) for w in windows]
        kind = kind_of(runs)
        if kind is None:
            x, kind = layer.padded(x, *borders(runs), -SIGN), VALID
    else:
        pads = [w.pad for w in windows]
        if any(pads):
            x = layer.padded(x, pads, pads)
        runs = [Run(w.extent + 2 * w.pad, w.kernel, w.stride, 0, w.outputs) for w in windows]
        runs = [_shortened(run) for run in runs]
        if any(run.extent != extent for run, extent in zip(runs, x.shape[1:3])):
            x = layer.part(x, (0, 0, 0, 0), (x.shape[0], *(run.extent for run in runs), x.shape[3]))
        kind = kind_of(runs)
        require(kind is not None, "its last windows reach behind the image by more than LiteRT can "
                "leave out of an average: choose kernel_size, stride and pad so that all windows "
                "lie within the padded image, or round_mode: FLOOR")
    _pool(layer, "MAX_POOL_2D" if param.pool == MAX else "AVERAGE_POOL_2D", x, runs, kind, top)


def _shortened(run: Run) -> Run:
    """Without positions at the end that no window covers, where SAME would count them."""
    if run.behind >= 0 or run.is_valid:
        return run
    return run._replace(extent=run.extent + run.behind)


def _pool(layer: Layer, name: str, x: Tensor, runs: List[Run], kind: int, top: tuple) -> None:
    assert kind in (SAME, VALID)

    def make(y: Tensor, function: int) -> None:
        layer.model.operator(name, 2, [x], [y], "Pool2DOptions", Padding=kind,
                             StrideH=runs[0].stride, StrideW=runs[1].stride,
                             FilterHeight=runs[0].covers, FilterWidth=runs[1].covers,
                             FusedActivationFunction=function)

    same = layer.value()
    if (same.scale, same.zero_point) == (layer.top_value().scale, layer.top_value().zero_point):
        layer.write(make, top)
        return
    # Its windows keep the scale of what they read.
    inner = layer.like(x.quantization, (top[0], *top[2:], top[1]))
    make(inner, 0)

    def requantize(y: Tensor, _: int) -> None:
        layer.model.operator("QUANTIZE", 2, [inner], [y], "QuantizeOptions")

    layer.write_plainly(requantize, top)
