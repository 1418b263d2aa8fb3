"""What the function that exports one layer sees of it, and the table of those functions.

A layer's function reads ``layer.bottom(i)`` and ``layer.blob(i, shape)``, makes nodes with
``layer.op(...)`` and says with ``layer.top(i, value)`` what comes out, with its shape. The
functions lie in ``layers/``, one for each type of layer::

    @exports("AbsVal")
    def absval(layer):
        layer.top(0, layer.op("Abs", layer.bottom(0)))
"""
from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .errors import Inexpressible, require
from .extents import (Extent, Shape, Symbolic, count, is_fixed, require_constant, require_extents,
                      text)
from .graph import BOOL, DOUBLE, FLOAT, INT64, Graph, Value


class Exporter(NamedTuple):
    """One row of the table: the function, whether the layer knows FLOAT16, whether its tops are
    the memory of its bottom where it has one, of how many of its bottoms, the first ones, they
    have the elements, in another order or a part of them, and which bottoms are labels, indices or
    coordinates."""
    function: Callable[["Layer"], None]
    native: bool
    shares_bottom: bool
    moves: int
    exact: Tuple[int, ...]


EXPORTERS: Dict[str, Exporter] = {}

_MAX_FILLED = 1 << 16  # numbers of a constant whose numbers are all the same


ALL = sys.maxsize  # bottoms


def exports(*types: str, native: bool = True, shares_bottom: bool = False,
            moves: int = 0, exact: Tuple[int, ...] = ()) -> Callable:
    """Registers a function for layers of these types: `native` if they compute in FLOAT16, too;
    `shares_bottom` if a change in place of their only bottom or of a top changes all of these;
    `moves`: the number of bottoms whose elements their tops have; `exact`: bottoms that FLOAT16
    would round."""
    def register(function: Callable[["Layer"], None]) -> Callable[["Layer"], None]:
        for name in types:
            EXPORTERS[name] = Exporter(function, native, shares_bottom, moves, exact)
        return function
    return register


class Layer:
    """One layer of the net while it is exported.

    Attributes: ``param`` (its LayerParameter), ``name``, ``type``, ``dtype`` (what it computes in
    and stores), ``bottoms`` (values as they are), ``tops`` (what was made so far), ``notes`` (what
    the user should know).
    """

    def __init__(self, graph: Graph, param: Any, dtype: np.dtype, bottoms: Sequence[Value],
                 blobs: Callable[[str, int, Shape], np.ndarray]) -> None:
        self.graph = graph
        self.param = param
        self.name = param.name
        self.type = param.type
        self.dtype = dtype
        self.bottoms = list(bottoms)
        self.tops: List[Optional[Value]] = [None] * len(param.top)
        self.notes: List[str] = []
        self._blobs = blobs

    # What goes in.

    def bottom(self, i: int, dtype: Optional[np.dtype] = None) -> Value:
        """Bottom number `i` in the layer's type, or in another one."""
        require(0 <= i < len(self.bottoms), f"it has {len(self.bottoms)} bottoms, {max(i, 0) + 1} are needed")
        value = self.bottoms[i]
        require(value.shape is not None,
                f"the shape of its bottom '{value.name}' is not known: give it with --shape")
        return self.cast(value, dtype or self.dtype)

    def shape(self, i: int = 0) -> Shape:
        """The shape of bottom number `i`."""
        shape = self.bottom(i, self.bottoms[i].dtype if 0 <= i < len(self.bottoms) else None).shape
        assert shape is not None
        return shape

    def blob(self, i: int, shape: Sequence[Extent]) -> np.ndarray:
        """Parameter blob number `i`, float32, which has `shape`."""
        require(is_fixed(shape), f"its parameters would have the shape {text(shape)}")
        require_extents(shape, "one of its parameters")
        return self._blobs(self.name, i, tuple(shape))

    def axis(self, axis: int, field: str, bottom: int = 0) -> int:
        """`axis`, counted from the end where negative, as an index."""
        axes = len(self.shape(bottom))
        require(-axes <= axis < axes, f"{field} {axis} is out of range for a bottom of shape "
                f"{text(self.shape(bottom))}")
        return axis % axes

    def require_axes(self, axes: int, bottom: int = 0) -> None:
        require(len(self.shape(bottom)) == axes, f"it takes a bottom {bottom} of {axes} axes, not "
                f"{text(self.shape(bottom))}")

    def require_some_axes(self, axes: int, bottom: int = 0) -> None:
        require(len(self.shape(bottom)) >= axes, f"it takes a bottom {bottom} of {axes} axes or "
                f"more, not {text(self.shape(bottom))}")

    # What comes out.

    def top(self, i: int, value: Value, dtype: Optional[np.dtype] = None) -> None:
        """Top number `i` is `value`, stored in the layer's type or in another one."""
        if i < len(self.tops):
            self.tops[i] = self.cast(value, dtype or self.dtype)

    # Nodes.

    def constant(self, array: Any, hint: str = "constant",
                 dtype: Optional[np.dtype] = None) -> Value:
        """A constant; of floats in the layer's type unless `dtype` says otherwise."""
        array = np.asarray(array)
        require(array.dtype.kind in "fiub", f"its {hint}: an extent is known only when the model "
                "runs, or a number has more than 64 bits")
        if dtype is None:
            dtype = self.dtype if array.dtype.kind == "f" else array.dtype
            dtype = INT64 if array.dtype.kind in "iu" else dtype
        with np.errstate(over="ignore"):
            converted = array.astype(dtype)
        if dtype.kind == "f" and np.isinf(converted).any() and not np.isinf(array).any():
            self.notes.append(f"some of its {hint} are too large for FLOAT16 and become infinite")
        return self.graph.constant(converted, f"{self.name}/{hint}")

    def op(self, op_type: str, *inputs: Optional[Value], shape: Any = "same",
           dtype: Optional[np.dtype] = None, **attributes: Any) -> Value:
        """A node with one output, of the first input's shape and type unless they are given."""
        return self.ops(op_type, *inputs, shapes=[shape], dtypes=[dtype], **attributes)[0]

    def ops(self, op_type: str, *inputs: Optional[Value], shapes: Sequence[Any],
            dtypes: Optional[Sequence[Optional[np.dtype]]] = None,
            **attributes: Any) -> List[Optional[Value]]:
        """A node with as many outputs as shapes."""
        first = inputs[0]
        outputs = []
        for shape, dtype in zip(shapes, dtypes or [None] * len(shapes)):
            name = self.graph.unique(f"{self.name}/{op_type}")
            shape = first.shape if isinstance(shape, str) else shape
            require_extents(shape or (), f"what its {op_type} gives")
            outputs.append(Value(name, None if shape is None else tuple(shape),
                                 dtype or first.dtype))
        self.graph.node(op_type, inputs, outputs, name=outputs[0].name, **attributes)
        return outputs

    def cast(self, value: Value, dtype: np.dtype) -> Value:
        if value.dtype == dtype:
            return value
        kind = self.graph.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return self.op("Cast", value, dtype=dtype, to=kind)

    def binary(self, op_type: str, a: Value, number: float) -> Value:
        """`a` and a number, in the type of `a`; nothing where the number changes nothing."""
        if number == (0 if op_type in ("Add", "Sub") else 1):
            return a
        return self.op(op_type, a, self.constant(number, dtype=a.dtype))

    def reshape(self, value: Value, shape: Sequence[Extent]) -> Value:
        """The same elements under another shape, of which at most one extent is symbolic."""
        shape = tuple(shape)
        if value.shape == shape:
            return value
        require_extents(shape, "a part of it")
        require(value.shape is None or count(value.shape) == count(shape),
                f"what has the shape {text(value.shape or ())} does not fit into {text(shape)}")
        symbolic = sum(isinstance(extent, Symbolic) for extent in shape)
        require(symbolic <= 1, f"the shape {text(shape)} has {symbolic} extents that are not known")
        numbers = [extent if isinstance(extent, int) else -1 for extent in shape]
        return self.op("Reshape", value, self.constant(np.array(numbers, np.int64), "shape"),
                       shape=shape)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if list(order) == list(range(len(order))):
            return value
        shape = [value.shape[axis] for axis in order] if value.shape is not None else None
        return self.op("Transpose", value, shape=shape, perm=list(order))

    def part(self, value: Value, axis: int, begin: int, end: int) -> Value:
        """Entries `begin` to `end` of one axis."""
        extent = value.shape[axis]
        if begin == 0 and extent == end:
            return value
        require(0 <= begin < end <= extent, f"there are no entries {begin} to {end} on an axis of "
                f"extent {extent}")
        shape = value.shape[:axis] + (end - begin,) + value.shape[axis + 1:]
        return self.op("Slice", value, self.constant([begin]), self.constant([end]),
                       self.constant([axis]), shape=shape)

    def backwards(self, value: Value, axis: int) -> Value:
        """The entries of one axis from the last to the first."""
        return self.op("Slice", value, self.constant([-1]),
                       self.constant([np.iinfo(np.int64).min]), self.constant([axis]),
                       self.constant([-1]))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        if len(values) == 1:
            return values[0]
        extent: Extent = 0
        for value in values:
            extent = value.shape[axis] + extent
        shape = values[0].shape[:axis] + (extent,) + values[0].shape[axis + 1:]
        return self.op("Concat", *values, shape=shape, axis=axis)

    def reduce(self, op_type: str, value: Value, axes: Sequence[int], keep: bool = True) -> Value:
        """ReduceSum, ReduceMean, ... over `axes`."""
        shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(value.shape)
                      if keep or axis not in axes)
        if self.graph.opset >= 18 or op_type == "ReduceSum":
            return self.op(op_type, value, self.constant(list(axes), "axes"), shape=shape,
                           keepdims=int(keep))
        return self.op(op_type, value, shape=shape, axes=list(axes), keepdims=int(keep))

    def shape_of(self, shape: Sequence[Extent], like: Value, axis: int = 0) -> Value:
        """`shape` as a tensor; what is symbolic is a multiple of the extent `axis` of `like`."""
        if is_fixed(shape):
            return self.constant(np.array(shape, np.int64), "shape")
        runs = self.op("Shape", like, shape=(len(like.shape),), dtype=INT64)
        extent = self.op("Gather", runs, self.constant([axis]), shape=(1,))
        parts = []
        for wanted in shape:
            if isinstance(wanted, int):
                parts.append(self.constant([wanted], "shape"))
                continue
            times = wanted // like.shape[axis]
            parts.append(self.op("Mul", extent, self.constant([times])) if times != 1 else extent)
        return self.concat(parts, 0)

    def filled(self, number: float, shape: Sequence[Extent], like: Value, dtype: np.dtype,
               axis: int = 0) -> Value:
        """A tensor of `shape` that holds `number` everywhere; see :meth:`shape_of`."""
        require_extents(shape, "a part of it")
        if is_fixed(shape) and count(shape) <= _MAX_FILLED:
            return self.constant(np.full(tuple(shape), number, dtype), dtype=dtype)
        content = self.graph.onnx.numpy_helper.from_array(np.array([number], dtype))
        return self.op("ConstantOfShape", self.shape_of(shape, like, axis), shape=shape,
                       dtype=dtype, value=content)

    def clip(self, value: Value, least: Optional[float], most: Optional[float]) -> Value:
        return self.op("Clip", value,
                       None if least is None else self.constant(least, dtype=value.dtype),
                       None if most is None else self.constant(most, dtype=value.dtype))

    def aligned(self, value: Value, axis: int, axes: int) -> Value:
        """`value`, whose first axis lies on `axis` of something of `axes` axes, for
        broadcasting."""
        return self.reshape(value, value.shape + (1,) * (axes - axis - len(value.shape)))


__all__ = ["BOOL", "DOUBLE", "EXPORTERS", "FLOAT", "INT64", "Exporter", "Inexpressible", "Layer",
           "Value", "count", "exports", "require", "require_constant", "require_extents", "text"]
