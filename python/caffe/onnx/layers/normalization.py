"""Normalizations: over the batch, over channels, over neighbours."""
from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import numpy as np

from ..errors import require
from ..extents import Extent
from ..graph import FLOAT16
from ..layer import FLOAT, Layer, Value, exports
from ..weights import wants_scale_and_bias
from .pooling import Windows, average_pool


def _channels(layer: Layer) -> Extent:
    return layer.shape()[1] if len(layer.shape()) > 1 else 1


def _normalized(layer: Layer, mean: np.ndarray, variance: np.ndarray, eps: float, scale: np.ndarray,
                shift: np.ndarray) -> Value:
    """scale (x - mean) / sqrt(variance + eps) + shift by channels, with constant statistics."""
    folded = layer.dtype == FLOAT16 or len(layer.shape()) < 2
    if not folded:
        arrays = {"scale": scale, "bias": shift, "mean": mean, "variance": variance}
        parameters = [layer.constant(array.astype(np.float32), hint)
                      for hint, array in arrays.items()]
        return layer.op("BatchNormalization", layer.bottom(0), *parameters, epsilon=eps)
    # In FLOAT16 the statistics would lose what makes their product right: one factor, one term.
    factor = scale / np.sqrt(variance.astype(np.float64) + eps)
    extra = (1,) * max(0, len(layer.shape()) - 2)
    y = layer.op("Mul", layer.bottom(0), layer.constant(factor.reshape((-1,) + extra), "scale"))
    return layer.op("Add", y, layer.constant((shift - mean * factor).reshape((-1,) + extra),
                                             "bias"))


def _moments(layer: Layer, x: Value, axes: Sequence[int]) -> Tuple[Value, Value]:
    """x less its mean over `axes`, and its variance."""
    centred = layer.op("Sub", x, layer.reduce("ReduceMean", x, axes))
    return centred, layer.reduce("ReduceMean", layer.op("Mul", centred, centred), axes)


def _batch_normalized(layer: Layer, eps: float, scale: Optional[np.ndarray],
                      shift: Optional[np.ndarray]) -> Value:
    """With the statistics of the batch itself."""
    shape = layer.shape()
    axes = [axis for axis in range(len(shape)) if axis != 1]
    centred, variance = _moments(layer, layer.bottom(0, FLOAT), axes)
    y = layer.op("Div", centred, layer.op("Sqrt", layer.binary("Add", variance, eps)))
    extra = (1,) * max(0, len(shape) - 2)
    for op_type, values in (("Mul", scale), ("Add", shift)):
        if values is not None:
            y = layer.op(op_type, y, layer.constant(values.reshape((-1,) + extra), dtype=FLOAT))
    return y


@exports("BatchNorm")
def batch_norm(layer: Layer) -> None:
    param = layer.param.batch_norm_param
    layer.require_some_axes(1)
    channels = (_channels(layer),)
    scale = shift = None
    if wants_scale_and_bias(layer.param):
        scale, shift = layer.blob(3, channels), layer.blob(4, channels)
    if param.HasField("use_global_stats") and not param.use_global_stats:
        layer.top(0, _batch_normalized(layer, param.eps, scale, shift))
        return
    factor = float(layer.blob(2, (1,))[0])
    inverse = 0.0 if factor == 0 else 1 / factor
    mean, variance = layer.blob(0, channels) * inverse, layer.blob(1, channels) * inverse
    layer.top(0, _normalized(layer, mean, variance, param.eps,
                             np.ones_like(mean) if scale is None else scale,
                             np.zeros_like(mean) if shift is None else shift))


@exports("BN")
def bn(layer: Layer) -> None:
    """SegNet's form with two blobs (with or without statistics of the batch), or PSPNet's with
    four."""
    param = layer.param.bn_param
    channels = _channels(layer)

    def blob(i: int) -> np.ndarray:
        return layer.blob(i, (1, channels, 1, 1)).reshape(-1)

    segnet = (param.HasField("bn_mode") or param.HasField("scale_filler") or
              param.HasField("shift_filler"))
    layer.require_some_axes(1)
    if not segnet:
        layer.top(0, _normalized(layer, blob(2), blob(3), param.eps, blob(0), blob(1)))
    elif param.bn_mode == 1:  # INFERENCE: the statistics are in the parameters
        scale, shift = blob(0), blob(1)
        layer.top(0, _normalized(layer, np.zeros_like(scale), np.ones_like(scale), 0.0, scale,
                                 shift))
    else:
        require(len(layer.tops) == 1, "bn_param: tops for the mean and the variance")
        layer.top(0, _batch_normalized(layer, 1e-9, blob(0), blob(1)))


@exports("LRN")
def lrn(layer: Layer) -> None:
    param = layer.param.lrn_param
    layer.require_axes(4)
    size = param.local_size
    require(size > 0 and size % 2 == 1, f"lrn_param: local_size {size} is not odd")
    if param.norm_region == 0:  # ACROSS_CHANNELS
        if param.alpha == 0 or param.beta == 0:  # neighbours do not count
            factor = float(np.power(np.float64(param.k), -param.beta))
            layer.top(0, layer.op("Mul", layer.bottom(0), layer.constant(factor, "factor")))
            return
        # onnxruntime loads no others.
        require(param.alpha > 0 and param.beta > 0, f"lrn_param: alpha {param.alpha} and beta "
                f"{param.beta} are not both positive")
        layer.top(0, layer.op("LRN", layer.bottom(0), size=size, alpha=param.alpha, beta=param.beta,
                              bias=param.k))
        return
    # Within a channel: x / (1 + alpha * the mean of the squares around it) ^ beta; k is not used.
    x = layer.bottom(0, FLOAT)
    windows: List[Windows] = [Windows(extent, size, 1, size // 2, extent) for extent in x.shape[2:]]
    mean = average_pool(layer, layer.op("Mul", x, x), windows)
    base = layer.binary("Add", layer.binary("Mul", mean, param.alpha), 1.0)
    factor = layer.op("Pow", base, layer.constant(-param.beta, dtype=FLOAT))
    layer.top(0, layer.op("Mul", x, factor))


@exports("MVN")
def mvn(layer: Layer) -> None:
    param = layer.param.mvn_param
    shape = layer.shape()
    axes = list(range(1 if param.across_channels else 2, len(shape)))
    x = layer.bottom(0, FLOAT)
    if not axes:  # each number by itself
        zero = layer.op("Sub", x, x)
        layer.top(0, zero)
        return
    centred, variance = _moments(layer, x, axes)
    if param.normalize_variance:
        deviation = layer.binary("Add", layer.op("Sqrt", variance), param.eps)
        centred = layer.op("Div", centred, deviation)
    layer.top(0, centred)


@exports("Normalize")
def normalize(layer: Layer) -> None:
    """To length 1 over the channels (and positions), times a learned scale (SSD) or 1
    (NormFace)."""
    layer.require_some_axes(2)
    shape = layer.shape()
    face = layer.param.HasField("normalize_param")
    param = layer.param.norm_param
    across = param.across_spatial and not face
    x = layer.bottom(0, FLOAT)
    axes = list(range(1, len(shape))) if across else [1]
    squares = layer.reduce("ReduceSumSquare", x, axes)
    y = layer.op("Div", x,
                 layer.op("Sqrt", layer.binary("Add", squares, 1e-6 if face else param.eps)))
    if not face:
        scales = layer.blob(0, () if param.channel_shared else (shape[1],))
        scales = scales.reshape((-1,) + (1,) * (len(shape) - 2))
        y = layer.op("Mul", y, layer.constant(scales, "scale", dtype=FLOAT))
    layer.top(0, y)
