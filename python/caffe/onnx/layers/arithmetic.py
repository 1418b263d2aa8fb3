"""Sums, products and maxima of blobs and parameters."""
from __future__ import annotations

from typing import Optional

import numpy as np

from ..errors import require
from ..extents import Shape, count, text
from ..layer import FLOAT, Layer, Value, exports


def _operand(layer: Layer, blob: int, axis: int, num_axes: int, name: str) -> Value:
    """A parameter blob that lies on `num_axes` axes from `axis` on, or the second bottom."""
    shape = layer.shape()
    if len(layer.bottoms) > 1:
        other = layer.bottom(1)
        first = layer.axis(axis, f"{name}_param: axis") if other.shape else 0
        require(shape[first:first + len(other.shape)] == other.shape,
                f"bottom 1 of shape {text(other.shape)} does not fit axis {first} of "
                f"{text(shape)}")
        return layer.aligned(other, first, len(shape))
    own = _parameter_shape(layer, axis, num_axes, name)
    first = layer.axis(axis, f"{name}_param: axis") if own else 0
    values = layer.blob(blob, own).reshape(own + (1,) * (len(shape) - first - len(own)))
    return layer.constant(values, name)


def _parameter_shape(layer: Layer, axis: int, num_axes: int, name: str) -> Shape:
    shape = layer.shape()
    if num_axes == 0:
        return ()
    first = layer.axis(axis, f"{name}_param: axis")
    last = len(shape) if num_axes == -1 else first + num_axes
    require(first <= last <= len(shape), f"{name}_param: {num_axes} axes from axis {first} on do not fit a "
            f"bottom of shape {text(shape)}")
    return shape[first:last]


@exports("Scale")
def scale(layer: Layer) -> None:
    param = layer.param.scale_param
    y = layer.op("Mul", layer.bottom(0),
                 _operand(layer, 0, param.axis, param.num_axes, "scale"))
    if param.bias_term:
        own = len(layer.bottoms) == 1
        shape = (_parameter_shape(layer, param.axis, param.num_axes, "scale") if own
                 else layer.shape(1))
        first = layer.axis(param.axis, "scale_param: axis") if shape else 0
        bias = layer.blob(int(own), shape)
        bias = bias.reshape(bias.shape + (1,) * (len(layer.shape()) - first - bias.ndim))
        y = layer.op("Add", y, layer.constant(bias, "bias"))
    layer.top(0, y)


@exports("Bias")
def bias(layer: Layer) -> None:
    param = layer.param.bias_param
    layer.top(0, layer.op("Add", layer.bottom(0),
                          _operand(layer, 0, param.axis, param.num_axes, "bias")))


def _weighted_sum(layer: Layer) -> Value:
    coefficients = list(layer.param.eltwise_param.coeff) or [1.0] * len(layer.bottoms)
    require(len(coefficients) == len(layer.bottoms), "eltwise_param: give coeff once per bottom")
    total: Optional[Value] = None
    for i, coefficient in enumerate(coefficients):
        term = layer.binary("Mul", layer.bottom(i), coefficient)
        total = term if total is None else layer.op("Add", total, term)
    return total


@exports("Eltwise")
def eltwise(layer: Layer) -> None:
    for i in range(max(1, len(layer.bottoms))):
        require(layer.shape(i) == layer.shape(), f"its bottoms have different shapes: "
                f"{text(layer.shape())} and {text(layer.shape(i))}")
    operation = layer.param.eltwise_param.operation
    values = [layer.bottom(i) for i in range(len(layer.bottoms))]
    if operation == 1:  # SUM
        layer.top(0, _weighted_sum(layer))
    elif operation == 2:  # MAX
        layer.top(0, layer.op("Max", *values))
    else:
        product = values[0]
        for value in values[1:]:
            product = layer.op("Mul", product, value)
        layer.top(0, product)


@exports("Axpy")
def axpy(layer: Layer) -> None:
    """a x + b, with one factor a for each item and channel."""
    shape = layer.shape(1)
    require(count(layer.shape(0)[2:]) == 1 and layer.shape(0)[:2] == shape[:2],
            "bottom 0 is not one factor for each item and channel")
    require(layer.shape(2) == shape, f"bottoms 1 and 2 have different shapes: {text(shape)} and "
            f"{text(layer.shape(2))}")
    factor = layer.reshape(layer.bottom(0), shape[:2] + (1,) * (len(shape) - 2))
    product = layer.op("Mul", layer.bottom(1), factor)
    layer.top(0, layer.op("Add", product, layer.bottom(2)))


_REDUCTIONS = {1: "ReduceSum", 2: "ReduceL1", 3: "ReduceSumSquare", 4: "ReduceMean"}


@exports("Reduction")
def reduction(layer: Layer) -> None:
    """Over one axis and all behind it; the sum stays float."""
    param = layer.param.reduction_param
    axis = layer.axis(param.axis, "reduction_param: axis")
    axes = list(range(axis, len(layer.shape())))
    total = layer.reduce(_REDUCTIONS[param.operation], layer.bottom(0, FLOAT), axes, keep=False)
    layer.top(0, layer.binary("Mul", total, param.coeff), FLOAT)


@exports("ArgMax")
def argmax(layer: Layer) -> None:
    """Of equal values the last one counts, so the search runs backwards where there are several."""
    param = layer.param.argmax_param
    layer.require_some_axes(1)
    shape = layer.shape()
    if param.HasField("axis"):
        axis, x = layer.axis(param.axis, "argmax_param: axis"), layer.bottom(0)
    else:
        axis, x = 1, layer.reshape(layer.bottom(0), (shape[0], count(shape[1:])))
    extent, k = x.shape[axis], param.top_k
    require(1 <= k <= extent, f"argmax_param: top_k {k} is more than the {extent} values")
    found = x.shape[:axis] + (k,) + x.shape[axis + 1:]
    values, indices = layer.ops("TopK", layer.backwards(x, axis), layer.constant([k]),
                                shapes=[found, found], dtypes=[x.dtype, np.dtype(np.int64)],
                                axis=axis)
    indices = layer.op("Sub", layer.constant(extent - 1), indices, shape=found)
    values, indices = layer.cast(values, FLOAT), layer.cast(indices, FLOAT)
    if param.HasField("axis"):
        layer.top(0, values if param.out_max_val else indices, FLOAT)
        return
    rows = [indices, values] if param.out_max_val else [indices]
    rows = [layer.reshape(row, (shape[0], 1, k)) for row in rows]
    top = layer.concat(rows, 1)
    layer.top(0, layer.reshape(top, top.shape + (1,) * (len(shape) - 3)), FLOAT)
