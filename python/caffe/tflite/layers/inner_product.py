"""Inner products."""
from __future__ import annotations

import numpy as np

from ..layer import Layer, count, exports
from ..model import Tensor
from ..weights import Weights, write_with_weights


@exports("InnerProduct")
def inner_product(layer: Layer) -> None:
    """Of a blob whose channels lie last the weights are put into that order."""
    param = layer.param.inner_product_param
    shape, outputs = layer.shape(), param.num_output
    axis = param.axis % len(shape)
    weights = Weights(layer, outputs)
    stored = layer.bottom()
    moved = stored.moved if axis == 1 else None
    x = stored.tensor if axis == 1 else layer.plain()

    def make(y: Tensor, function: int, factors: Weights) -> None:
        values = factors.values
        if moved is not None:
            values = values.reshape(outputs, *moved[1:])
            values = np.moveaxis(values, 1, -1).reshape(outputs, -1)
        flat = y if len(y.shape) == 2 else layer.like(y.quantization,
                                                      (count(y.shape) // outputs, outputs))
        layer.model.operator("FULLY_CONNECTED", 12, [x, factors.tensor(values, 0), factors.bias()],
                             [flat], "FullyConnectedOptions", FusedActivationFunction=function)
        if flat is not y:
            layer.reshaped(flat, y.shape, y)

    write_with_weights(layer, weights, make)
