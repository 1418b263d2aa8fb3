"""Products with matrices, and what is like them."""
from __future__ import annotations

import numpy as np

from ..errors import require
from ..extents import count, text
from ..layer import FLOAT, INT64, Layer, Value, exports


def _rows(layer: Layer, axis: int) -> Value:
    """Bottom 0 as a matrix, everything from `axis` on in one row."""
    shape = layer.shape()
    return layer.reshape(layer.bottom(0), (count(shape[:axis]), count(shape[axis:])))


@exports("InnerProduct")
def inner_product(layer: Layer) -> None:
    param = layer.param.inner_product_param
    axis = layer.axis(param.axis, "inner_product_param: axis")
    shape, outputs = layer.shape(), param.num_output
    x = _rows(layer, axis)
    weights = (x.shape[1], outputs) if param.transpose else (outputs, x.shape[1])
    inputs = [layer.constant(layer.blob(0, weights), "weights")]
    if param.bias_term:
        inputs.append(layer.constant(layer.blob(1, (outputs,)), "bias"))
    y = layer.op("Gemm", x, *inputs, shape=(x.shape[0], outputs), transB=int(not param.transpose))
    layer.top(0, layer.reshape(y, shape[:axis] + (outputs,)))


@exports("MarginInnerProduct", native=False)
def margin_inner_product(layer: Layer) -> None:
    """The product with weights of length 1; the margin is a part of the training, with its
    labels."""
    param = layer.param.margin_inner_product_param
    axis = layer.axis(param.axis, "margin_inner_product_param: axis")
    shape, outputs = layer.shape(), param.num_output
    x = _rows(layer, axis)
    weights = layer.blob(0, (outputs, x.shape[1])).astype(np.float64)
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    weights = np.divide(weights, lengths, out=np.zeros_like(weights), where=lengths > 0)
    y = layer.op("Gemm", x, layer.constant(weights, "weights"), shape=(x.shape[0], outputs),
                 transB=1)
    layer.top(0, layer.reshape(y, shape[:axis] + (outputs,)))
    if len(layer.bottoms) > 1 and param.type != 0:
        layer.notes.append("is exported without its margin, which only training needs")


@exports("InnerDistance", native=False)
def inner_distance(layer: Layer) -> None:
    """The squared (L2) or absolute (L1) distances from centers."""
    param = layer.param.inner_distance_param
    axis = layer.axis(param.axis, "inner_distance_param: axis")
    shape = layer.shape()
    x = _rows(layer, axis)
    if len(layer.bottoms) > 1:
        layer.require_some_axes(1, bottom=1)
        centers = layer.bottom(1)
        centers = layer.reshape(centers, (centers.shape[0], count(centers.shape[1:])))
    else:
        centers = layer.constant(layer.blob(0, (param.num_output, x.shape[1])), "centers")
    require(param.distance_type in ("L1", "L2"), f"inner_distance_param: distance_type "
            f"'{param.distance_type}'")
    require(centers.shape[1] == x.shape[1],
            f"centers of shape {text(centers.shape)} do not fit rows "
            f"of {x.shape[1]} values")
    outputs = centers.shape[0]
    gaps = layer.op("Sub", layer.reshape(x, (x.shape[0], 1, x.shape[1])), centers,
                    shape=(x.shape[0], outputs, x.shape[1]))
    y = layer.reduce("ReduceSumSquare" if param.distance_type == "L2" else "ReduceL1", gaps, [2],
                     keep=False)
    if param.bias_term and len(layer.bottoms) == 1:
        y = layer.op("Add", y, layer.constant(layer.blob(1, (outputs,)), "bias"))
    layer.top(0, layer.reshape(y, shape[:axis] + (outputs,)))


@exports("Embed", exact=(0,))
def embed(layer: Layer) -> None:
    """The rows of a matrix that the bottom's numbers name."""
    param = layer.param.embed_param
    table = layer.blob(0, (param.input_dim, param.num_output))
    if param.bias_term:
        table = table + layer.blob(1, (param.num_output,))
    indices = layer.cast(layer.bottom(0, FLOAT), INT64)
    layer.top(0, layer.op("Gather", layer.constant(table, "rows"), indices,
                          shape=indices.shape + (param.num_output,), axis=0))
