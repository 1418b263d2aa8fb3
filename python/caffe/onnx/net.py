"""Walks through a net and exports layer after layer."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

import numpy as np

from .element_types import ElementTypes
from .errors import ExportError, Inexpressible, require
from .extents import Extent, Shape, Symbolic, require_extents
from .graph import Graph, Value
from .layer import EXPORTERS, Layer
from .layers.data import input_shapes
from .layers.losses import EVALUATIONS, INEXPRESSIBLE, PENALTIES

_LEFT_OUT = PENALTIES | EVALUATIONS | {"Silence"}


@dataclass
class Options:
    """What the user chose.

    ``batch``: a number, "dynamic", or None for what the net says. ``shapes``: extents by input,
    which may be words (they become dynamic). ``fp16``: FLOAT16 unless the layers say otherwise.
    """
    opset: int = 17
    batch: Any = None
    shapes: Dict[str, Shape] = field(default_factory=dict)
    fp16: bool = False


@dataclass
class Exported:
    """A finished graph: its outputs by the blobs' names, and what the user should know."""
    graph: Graph
    outputs: List[Value]
    notes: List[str]


class _Blobs:
    """The newest value of each blob, who reads it, and in which memory it lies."""

    def __init__(self) -> None:
        self.values: Dict[str, Value] = {}
        self.unread: List[str] = []
        self._memory: Dict[str, str] = {}  # the first blob of each one's memory

    def write(self, name: str, value: Value, is_output: bool = True) -> None:
        self.values[name] = value
        if is_output and name not in self.unread:
            self.unread.append(name)

    def read(self, name: str) -> None:
        if name in self.unread:
            self.unread.remove(name)

    def place(self, name: str, bottom: Optional[str]) -> None:
        """From now on `name` lies in the memory of `bottom`, or in its own."""
        self._memory[name] = name if bottom is None else self._memory.get(bottom, bottom)

    def sharing(self, name: str) -> List[str]:
        """The other blobs in the memory of `name`."""
        memory = self._memory.get(name, name)
        return [other for other in self.values
                if other != name and self._memory.get(other, other) == memory]


class NetExporter:
    """Exports the layers of `net`, which is filtered and of today's form."""

    def __init__(self, graph: Graph, net: Any, blobs: Callable[[str, int, Shape], np.ndarray],
                 options: Options) -> None:
        self._graph = graph
        self._net = net
        self._parameters = blobs
        self._options = options
        self._blobs = _Blobs()
        self._types = ElementTypes(net, options.fp16)
        self._notes: List[str] = []
        self._last_readers = {name: i for i, param in enumerate(net.layer)
                              if param.type not in _LEFT_OUT for name in param.bottom}
        self._from_data: Set[str] = set()  # inputs that only training may need, such as labels
        self._renamed: Dict[str, Value] = {}
        self._first_extent: Optional[Extent] = None  # of the first input

    def run(self) -> Exported:
        self._require_names()
        self._require_known_types()
        for i, param in enumerate(self._net.layer):
            self._export(i, param)
        outputs = self._outputs()
        self._drop_unused_inputs(outputs)
        return Exported(self._graph, outputs, self._notes)

    def _require_names(self) -> None:
        makers: Dict[str, str] = {}
        for param in self._net.layer:
            if not all([*param.bottom, *param.top]):
                raise ExportError(f"layer '{param.name}' ({param.type}): a bottom or top has no name")
            for name in param.top:
                if name in makers and name not in param.bottom:
                    raise ExportError(f"layer '{param.name}' ({param.type}): makes the blob '{name}', "
                                      f"as layer '{makers[name]}' does before it: rename its top")
                makers[name] = param.name

    def _require_known_types(self) -> None:
        known = set(EXPORTERS) | _LEFT_OUT
        unknown = {}
        for param in self._net.layer:
            if param.type not in known and self._source_shapes(param) is None:
                unknown.setdefault(param.type, param.name)
        if unknown:
            listed = "; ".join(f"{type_} (layer '{name}'): " +
                               INEXPRESSIBLE.get(type_, "Caffe has no such type of layer")
                               for type_, name in unknown.items())
            raise ExportError(f"these types of layers have no ONNX form: {listed}")

    @staticmethod
    def _source_shapes(param: Any) -> Optional[List[Optional[Shape]]]:
        try:
            return input_shapes(param)
        except Inexpressible as reason:
            raise ExportError(f"layer '{param.name}' ({param.type}): {reason}") from reason

    def _export(self, index: int, param: Any) -> None:
        shapes = self._source_shapes(param)
        if shapes is not None:
            return self._export_source(param, shapes)
        for name in param.bottom:
            self._require_blob(param, name)
        if param.type in PENALTIES or param.type in EVALUATIONS:
            kind = "a loss" if param.type in PENALTIES else "a measure of how good the net is"
            self._notes.append(f"layer '{param.name}' ({param.type}) is left out: {kind}")
            return None
        for name in param.bottom:
            self._blobs.read(name)
        if param.type == "Silence":
            return None
        layer = Layer(self._graph, param, self._types.of(param),
                      [self._blobs.values[name] for name in param.bottom], self._parameters)
        try:
            EXPORTERS[param.type].function(layer)
            made = {name: value for name, value in zip(param.top, layer.tops) if value is not None}
            for name, value in made.items():
                self._write(index, layer, name, value)
            self._types.made(param, layer.dtype, made)
        except Inexpressible as reason:
            raise ExportError(f"layer '{param.name}' ({param.type}): {reason}") from reason
        self._notes += [f"layer '{param.name}' ({param.type}): {note}" for note in layer.notes]
        return None

    def _write(self, index: int, layer: Layer, name: str, value: Value) -> None:
        """Gives top `name` its value; what the layer changes in place changes in all blobs of that
        memory, each in its own shape."""
        param = layer.param
        if name not in param.bottom or param.type == "Convolution":  # which never works in place
            shares = len(param.bottom) == 1 and EXPORTERS[param.type].shares_bottom
            self._blobs.place(name, param.bottom[0] if shares else None)
        elif value != self._blobs.values[name]:
            for other in self._blobs.sharing(name):
                if other not in self._blobs.unread and self._last_readers.get(other, -1) <= index:
                    continue
                # In a type of its own the layer would have memory of its own.
                require(not param.HasField("forward_type") and not param.HasField("backward_type"),
                        f"has a type of its own and works in place on blob '{name}', in the memory "
                        f"of blob '{other}', which is read afterwards or an output: give its top "
                        "a name of its own")
                shape = self._blobs.values[other].shape
                assert shape is not None  # of what shares memory
                self._blobs.values[other] = layer.reshape(value, shape)
        self._blobs.write(name, value)

    def _require_blob(self, param: Any, name: str) -> None:
        """A blob that the TEST phase does not make is an input if the user gives its shape."""
        if name in self._blobs.values:
            return
        if name not in self._options.shapes:
            raise ExportError(
                f"layer '{param.name}' ({param.type}): reads the blob '{name}', which no "
                f"layer before it makes in the TEST phase; --shape {name}:1,3,224,224 (or "
                "what it is) makes it an input")
        value = self._input(param, name, self._options.shapes[name], np.dtype(np.float32))
        self._blobs.write(name, value, is_output=False)

    def _input(self, param: Any, name: str, shape: Optional[Shape], dtype: np.dtype) -> Value:
        try:
            require_extents(shape or (), f"the input '{name}'")
        except Inexpressible as reason:
            raise ExportError(f"layer '{param.name}' ({param.type}): {reason}") from reason
        return self._graph.add_input(name, shape, dtype)

    def _export_source(self, param: Any, shapes: List[Optional[Shape]]) -> None:
        """An input of the graph for each top of a layer that reads data."""
        made = {}
        for i, (top, shape) in enumerate(zip(param.top, shapes)):
            shape = self._options.shapes.get(top, shape)
            is_image = param.type == "Input" or i == 0
            if shape is not None and top not in self._options.shapes:
                shape = self._with_batch(tuple(shape))
            if shape is None and is_image:
                raise ExportError(
                    f"layer '{param.name}' ({param.type}): the net does not say which "
                    f"shape its data has: give --shape {top}:1,3,224,224 (or what it is)")
            dtype = self._types.of_input(param, top) if is_image else np.dtype(np.float32)
            value = self._input(param, top, shape, dtype)
            self._blobs.write(top, value, is_output=param.type == "Input")
            made[top] = value
            if param.type != "Input":
                self._from_data.add(value.name)
        self._types.made(param, self._types.of(param), made)

    def _with_batch(self, shape: Shape) -> Shape:
        """`shape` with the batch that is wanted, if its first extent is that of the first input."""
        batch = self._options.batch
        if batch is None or not shape:
            return shape
        if self._first_extent is None:
            self._first_extent = shape[0]
        if shape[0] != self._first_extent:
            return shape
        return (Symbolic("batch") if batch == "dynamic" else int(batch),) + shape[1:]

    def _outputs(self) -> List[Value]:
        """The blobs that no layer reads, under their own names."""
        inputs = {value.name for value in self._graph.inputs}
        outputs = [
            self._named(name, self._blobs.values[name]) for name in sorted(self._blobs.unread)
            if name not in inputs or self._blobs.values[name].name != name
        ]
        if not outputs:
            raise ExportError(f"net '{self._net.name}': has no outputs")
        return outputs

    def _named(self, name: str, value: Value) -> Value:
        """`value` under a blob's name; two blobs may have one value."""
        output = Value(self._graph.unique(name), value.shape, value.dtype)
        if value.name in self._renamed or not self._rename(value, output):
            source = self._renamed.get(value.name, value)
            self._graph.node("Identity", [source], [output], name=f"{output.name}/Identity")
        return output

    def _rename(self, value: Value, output: Value) -> bool:
        """True if a node makes `value`, which is called `output` from now on."""
        if not any(value.name in node.output for node in self._graph.nodes):
            return False
        self._renamed[value.name] = output
        for node in self._graph.nodes:
            for names in (node.input, node.output):
                for i, known in enumerate(names):
                    if known == value.name:
                        names[i] = output.name
        return True

    def _drop_unused_inputs(self, outputs: Sequence[Value]) -> None:
        used = self._graph.used() | {output.name for output in outputs}
        self._graph.inputs = [value for value in self._graph.inputs
                              if value.name in used or value.name not in self._from_data]
