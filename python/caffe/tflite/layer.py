"""What the function that exports one node sees of it, and the table of those functions.

LiteRT has the channels behind the positions, Caffe in front of them. Each value of the graph is
kept as a tensor together with the shape in which its channels were moved last, if they were
(:class:`Stored`); a function asks for its inputs in the order that it needs, and a TRANSPOSE
appears only where they lie otherwise::

    @exports("Sigmoid")
    def sigmoid(layer):
        x = layer.bottom()
        layer.model.operator("LOGISTIC", 2, [x.tensor], [layer.top(x.moved)])

A node of another type is exported by its table of 256 bytes, where it has one (:mod:`.tables`).
"""
from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._quantized_graph import QuantizedGraph, QuantizedNode, QuantizedValue
from ..onnx.errors import Inexpressible, require
from .model import Model, Quantization, Tensor

Shape = Tuple[int, ...]

EXPORTERS: Dict[str, Callable[["Layer"], None]] = {}

# Our bytes are unsigned, LiteRT's have a sign.
SIGN = 128

NONE, RELU, RELU6 = 0, 1, 3  # of the schema's ActivationFunctionType


def exports(*types: str) -> Callable:
    """Registers a function for nodes of these types."""
    def register(function: Callable[["Layer"], None]) -> Callable[["Layer"], None]:
        for name in types:
            EXPORTERS[name] = function
        return function
    return register


class Stored(NamedTuple):
    """A value as it lies in the model.

    ``moved`` is None where its elements lie in Caffe's order; else the shape (N, C, positions...)
    in which they lay when the channels were moved behind the positions. With that very shape the
    tensor is (N, positions..., C); a flattened one has the value's own.
    """
    tensor: Tensor
    moved: Optional[Shape] = None


def count(extents: Sequence[int]) -> int:
    return int(np.prod(extents, dtype=np.int64))


def channels_last(shape: Shape) -> Shape:
    return shape[:1] + shape[2:] + shape[1:2]


def quantization_of(value: QuantizedValue) -> Quantization:
    return Quantization((value.scale,), value.zero_point - SIGN)


class Layer:
    """One node while it is exported: ``node``, ``param`` (its LayerParameter), ``model``."""

    def __init__(self, model: Model, graph: QuantizedGraph, node: QuantizedNode,
                 stored: Dict[int, Stored]) -> None:
        self.model = model
        self.node = node
        self.param = node.layer
        self.notes: List[str] = []  # what the user should know
        self._graph = graph
        self._stored = stored

    # What goes in.

    def value(self, i: int = 0) -> QuantizedValue:
        require(i < len(self.node.inputs),
                f"it has {len(self.node.inputs)} bottoms, {i + 1} are needed")
        return self._graph.values[self.node.inputs[i]]

    def shape(self, i: int = 0) -> Shape:
        """The shape of bottom number `i`, in Caffe's order."""
        return tuple(self.value(i).shape)

    def bottom(self, i: int = 0) -> Stored:
        """Bottom number `i` as it lies."""
        self.value(i)
        return self._stored[self.node.inputs[i]]

    def last(self, i: int = 0) -> Tensor:
        """Bottom number `i` with the channels behind the positions."""
        shape, stored = self.shape(i), self.bottom(i)
        require(len(shape) > 2, f"it takes a bottom with positions, not one of shape {shape}")
        if stored.moved == shape:
            return stored.tensor
        plain = self.plain(i)
        if shape[1] == 1 or count(shape[2:]) == 1:
            tensor = self.reshaped(plain, channels_last(shape))
        else:
            tensor = self.transposed(plain, [0, *range(2, len(shape)), 1])
        self._stored[self.node.inputs[i]] = Stored(tensor, shape)
        return tensor

    def plain(self, i: int = 0) -> Tensor:
        """Bottom number `i` in Caffe's order."""
        self.value(i)
        return self.in_caffes_order(self.bottom(i), self.shape(i))

    def in_caffes_order(self, stored: Stored, shape: Shape) -> Tensor:
        if stored.moved is None:
            return stored.tensor
        moved, tensor = stored.moved, stored.tensor
        if moved[1] != 1 and count(moved[2:]) != 1:
            tensor = self.reshaped(tensor, channels_last(moved))
            axes = len(moved)
            tensor = self.transposed(tensor, [0, axes - 1, *range(1, axes - 1)])
        return self.reshaped(tensor, shape)

    def all_last(self) -> bool:
        """All bottoms have positions, and some of them have the channels behind them."""
        inputs = range(len(self.node.inputs))
        return (all(len(self.shape(i)) > 2 for i in inputs) and
                any(self.bottom(i).moved == self.shape(i) for i in inputs))

    # What comes out.

    def top_value(self, i: int = 0) -> QuantizedValue:
        require(i < len(self.node.outputs), f"it has {len(self.node.outputs)} tops")
        return self._graph.values[self.node.outputs[i]]

    def top_shape(self, i: int = 0) -> Shape:
        return tuple(self.top_value(i).shape)

    def top(self, moved: Optional[Shape] = None, i: int = 0) -> Tensor:
        """The tensor of top number `i`, to be written by an operator."""
        value = self.top_value(i)
        shape = self.top_shape(i)
        tensor = self.model.tensor(value.name,
                                   channels_last(shape) if moved == shape else shape,
                                   np.int8, quantization_of(value))
        self.store(tensor, moved, i)
        return tensor

    def store(self, tensor: Tensor, moved: Optional[Shape] = None, i: int = 0) -> None:
        """Top number `i` is `tensor`."""
        require(np.float32(tensor.scale) == np.float32(self.top_value(i).scale) and
                tensor.zero_point == self.top_value(i).zero_point - SIGN,
                "its top has another scale or zero point than what it would be in LiteRT")
        self._stored[self.node.outputs[i]] = Stored(tensor, moved)

    def bounds(self) -> Tuple[int, int]:
        """The least and the largest int8 of top 0."""
        integers = self.node.integers
        if integers is None:
            return -SIGN, SIGN - 1
        return integers.least - SIGN, integers.most - SIGN

    def fused(self) -> Tuple[int, bool]:
        """The activation function whose bounds are those of top 0, and True; NONE and False where
        none has them, and :meth:`clamped` has to follow."""
        least, most = self.bounds()
        quantization = quantization_of(self.top_value())
        zero = quantization.zero_point
        # Ties away from zero.
        six = zero + int(np.floor(np.float32(6) / np.float32(quantization.scales[0]) + 0.5))
        for function, bounds in ((NONE, (-SIGN, SIGN - 1)), (RELU, (zero, SIGN - 1)),
                                 (RELU6, (zero, min(six, SIGN - 1)))):
            if bounds == (least, most):
                return function, True
        return NONE, False

    def write(self, make: Callable[[Tensor, int], None], moved: Optional[Shape] = None) -> None:
        """Top 0, by ``make(tensor, activation function)``; bounds that no activation function has
        are made by operators behind it."""
        function, enough = self.fused()
        if enough:
            make(self.top(moved), function)
        else:
            self._write_and_clamp(make, moved)

    def write_plainly(self, make: Callable[[Tensor, int], None],
                      moved: Optional[Shape] = None) -> None:
        """The same by an operator that has no activation functions."""
        if self.bounds() == (-SIGN, SIGN - 1):
            make(self.top(moved), NONE)
        else:
            self._write_and_clamp(make, moved)

    def _write_and_clamp(self, make: Callable[[Tensor, int], None],
                         moved: Optional[Shape]) -> None:
        shape = self.top_shape()
        inner = self.like(quantization_of(self.top_value()),
                          channels_last(shape) if moved == shape else shape)
        make(inner, NONE)
        least, most = self.bounds()
        if most < SIGN - 1 and least > -SIGN:
            inner = self.binary("MINIMUM", inner, self.filled(inner, most))
        self.binary("MAXIMUM" if least > -SIGN else "MINIMUM", inner,
                    self.filled(inner, least if least > -SIGN else most), self.top(moved))

    # Operators.

    def like(self, quantization: Quantization, shape: Sequence[int]) -> Tensor:
        """A tensor between this node's operators."""
        return self.model.tensor(f"{self.node.name}/inner", shape, np.int8, quantization)

    def filled(self, like: Tensor, number: int) -> Tensor:
        """A single byte of the same scale."""
        return self.model.constant(f"{self.node.name}/bound", np.full((1,), number), np.int8,
                                   like.quantization)

    def binary(self, name: str, a: Tensor, b: Tensor, to: Optional[Tensor] = None) -> Tensor:
        """MINIMUM or MAXIMUM."""
        assert a.quantization is not None
        to = to or self.like(a.quantization, a.shape)
        self.model.operator(name, 2, [a, b], [to], "MaximumMinimumOptions")
        return to

    def requantized(self, x: Tensor, quantization: Quantization) -> Tensor:
        """`x` in another scale and zero point."""
        if (x.quantization.scales, x.zero_point) == (tuple(map(np.float32, quantization.scales)),
                                                     quantization.zero_point):
            return x
        y = self.like(quantization, x.shape)
        self.model.operator("QUANTIZE", 2, [x], [y], "QuantizeOptions")
        return y

    def reshaped(self, x: Tensor, shape: Sequence[int], to: Optional[Tensor] = None) -> Tensor:
        shape = tuple(shape)
        if to is None and x.shape == shape:
            return x
        assert x.quantization is not None
        to = to or self.like(x.quantization, shape)
        sizes = self.model.constant(f"{self.node.name}/shape", np.array(shape))
        self.model.operator("RESHAPE", 1, [x, sizes], [to], "ReshapeOptions", NewShape=list(shape))
        return to

    def transposed(self, x: Tensor, order: Sequence[int], to: Optional[Tensor] = None) -> Tensor:
        assert x.quantization is not None
        require(len(order) <= 6, f"LiteRT transposes up to 6 axes, not {len(order)}")
        to = to or self.like(x.quantization, [x.shape[axis] for axis in order])
        axes = self.model.constant(f"{self.node.name}/order", np.array(order))
        self.model.operator("TRANSPOSE", 2, [x, axes], [to], "TransposeOptions")
        return to

    def padded(self, x: Tensor, begin: Sequence[int], end: Sequence[int],
               number: Optional[int] = None) -> Tensor:
        """`x` (N, H, W, C) with borders of `number`, of zeros without."""
        assert x.quantization is not None
        widths = [(0, 0), *zip(begin, end), (0, 0)]
        y = self.like(x.quantization, [e + a + b for e, (a, b) in zip(x.shape, widths)])
        pads = self.model.constant(f"{self.node.name}/pads", np.array(widths))
        if number is None:
            self.model.operator("PAD", 2, [x, pads], [y], "PadOptions")
        else:
            self.model.operator("PADV2", 2, [x, pads, self.filled(x, number)], [y], "PadV2Options")
        return y

    def part(self, x: Tensor, begin: Sequence[int], size: Sequence[int],
             to: Optional[Tensor] = None) -> Tensor:
        assert x.quantization is not None
        to = to or self.like(x.quantization, size)
        self.model.operator(
            "SLICE", 2, [x, self.model.constant(f"{self.node.name}/begin", np.array(begin)),
                         self.model.constant(f"{self.node.name}/size", np.array(size))],
            [to], "SliceOptions")
        return to


__all__ = ["EXPORTERS", "Inexpressible", "Layer", "NONE", "RELU", "RELU6", "SIGN", "Shape",
           "Stored", "channels_last", "count", "exports", "quantization_of", "require"]
