"""An ONNX graph while it grows: values, constants, nodes."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np

from .extents import Extent, Shape

FLOAT = np.dtype(np.float32)
FLOAT16 = np.dtype(np.float16)
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Value:
    """A tensor of the graph; ``shape`` is None where it is not needed."""
    name: str
    shape: Optional[Shape]
    dtype: np.dtype


class Graph:
    """Collects nodes and constants; every name is made unique.

    ``onnx`` is the package of that name, ``opset`` the version of the operator set.
    """

    def __init__(self, onnx: Any, opset: int) -> None:
        self.onnx = onnx
        self.opset = opset
        self.nodes: List[Any] = []
        self.constants: List[Any] = []
        self.inputs: List[Value] = []
        self._known: Dict[Tuple[bytes, str, Tuple[int, ...]], Value] = {}
        self._names: Set[str] = set()

    def unique(self, name: str) -> str:
        """`name`, or `name` with a number if it is taken."""
        chosen, number = name, 1
        while chosen in self._names:
            number += 1
            chosen = f"{name}_{number}"
        self._names.add(chosen)
        return chosen

    def add_input(self, name: str, shape: Optional[Shape], dtype: np.dtype) -> Value:
        value = Value(self.unique(name), shape, dtype)
        self.inputs.append(value)
        return value

    def constant(self, array: np.ndarray, name: str) -> Value:
        """A constant; small equal ones are stored once."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))  # keeps scalars scalar
        key = (array.tobytes(), array.dtype.str, array.shape) if array.size <= 64 else None
        if key is not None and key in self._known:
            return self._known[key]
        value = Value(self.unique(name), tuple(array.shape), array.dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, value.name))
        if key is not None:
            self._known[key] = value
        return value

    def node(self, op_type: str, inputs: Sequence[Optional[Value]], outputs: Sequence[Value],
             name: str, **attributes: Any) -> None:
        """Adds a node; an input None is one that is left out."""
        given = [value.name if value is not None else "" for value in inputs]
        while given and not given[-1]:
            given.pop()
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(self.onnx.helper.make_node(
            op_type, given, [value.name for value in outputs], name=name, **attributes))

    def used(self) -> Set[str]:
        """The names of all values that some node reads."""
        return {name for node in self.nodes for name in node.input}


def onnx_extents(shape: Sequence[Extent]) -> List[Any]:
    """A shape as ``onnx.helper.make_tensor_value_info`` takes it."""
    return [extent if isinstance(extent, int) else str(extent) for extent in shape]
