"""Walks through a quantized graph and exports node after node."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List

import numpy as np

from .._quantized_graph import QuantizedGraph, QuantizedNode
from ..onnx.errors import ExportError, Inexpressible
from . import layers  # noqa: F401: fills the table
from .layer import EXPORTERS, SIGN, Layer, Shape, Stored, channels_last, quantization_of
from .model import Model, Quantization, Tensor
from .tables import is_table, table

#: What inputs and outputs of the model may be.
TYPES = ("int8", "uint8", "float32")

# Reasons for which whole types of layers have no form in LiteRT.
_WITHOUT = {
    "DetectionOutput": "cut the net before it and find the boxes in a program",
    "LRN": "LiteRT's operator has no 8-bit form: replace it by BatchNorm and train again, or cut "
           "the net before it",
    "PriorBox": "cut the net before it: boxes are constants that a program can hold",
    "Proposal": "cut the net before it and find the boxes in a program",
    "Python": "its code cannot be put into a file",
}


@dataclass
class Port:
    """An input or output of the model: its own shape and Caffe's, and what its integers mean."""

    name: str
    shape: Shape
    caffe_shape: Shape
    channels_last: bool  #: the order of its axes; else Caffe's
    dtype: str
    quantization: Quantization

    def __str__(self) -> str:
        extents = "x".join(map(str, self.shape))
        order = ""
        if self.channels_last:
            order = f" ({'x'.join(map(str, self.caffe_shape))} with the channels last)"
        if self.dtype == "float32":
            return f"{self.name}: float32 {extents}{order}"
        zero_point = self.quantization.zero_point + (SIGN if self.dtype == "uint8" else 0)
        return (f"{self.name}: {self.dtype} {extents}{order}, scale "
                f"{self.quantization.scales[0]:.9g}, zero point {zero_point}")


class NetExporter:
    """Exports the nodes of a graph into a model."""

    def __init__(self, graph: QuantizedGraph, io_type: str = "int8") -> None:
        if io_type not in TYPES:
            raise ExportError(f"inputs and outputs are {', '.join(TYPES)}, not '{io_type}'")
        self._graph = graph
        self._io_type = io_type
        self._stored: Dict[int, Stored] = {}
        self.model = Model(graph.name or "net")
        self.notes: List[str] = []
        self.inputs: List[Port] = []
        self.outputs: List[Port] = []

    def run(self) -> None:
        self._require_types()
        for value in self._graph.inputs:
            self._add_input(value)
        for node in self._graph.nodes:
            layer = Layer(self.model, self._graph, node, self._stored)
            try:
                EXPORTERS.get(node.type, table)(layer)
            except Inexpressible as reason:
                raise ExportError(f"layer '{node.name}' ({node.type}): {reason}") from reason
            self.notes += [f"layer '{node.name}' ({node.type}): {note}" for note in layer.notes]
        for value in self._graph.outputs:
            self._add_output(value)

    def _require_types(self) -> None:
        """Names all layers at once that have no form in LiteRT."""
        problems = []
        for node in self._graph.nodes:
            reason = self._problem(node)
            if reason:
                problems.append(f"layer '{node.name}' ({node.type}): {reason}")
        if problems:
            raise ExportError("no full-integer LiteRT model holds this net: " + "; ".join(problems))

    def _problem(self, node: QuantizedNode) -> str:
        layer = Layer(self.model, self._graph, node, self._stored)
        if node.type not in EXPORTERS and not is_table(layer):
            return _WITHOUT.get(node.type, "LiteRT has no such operator: cut the net before it")
        if node.integers is None:
            remarks = [remark for remark in self._graph.remarks if f"'{node.name}'" in remark]
            reason = remarks[0].rpartition(": ")[2] if remarks else "its ranges are not known"
            return f"it computes with floats ({reason}): calibrate again, or cut the net before it"
        if any(self._graph.values[i].type == "INT8" for i in [*node.inputs, *node.outputs]):
            return "its scales are symmetric: quantize with the scheme 'affine'"
        return ""

    def _add_input(self, value: int) -> None:
        """Images get their channels behind the positions."""
        blob = self._graph.values[value]
        if blob.type != "UINT8":
            raise ExportError(f"input '{blob.name}' is not in 8-bit integers: calibrate it")
        shape = tuple(blob.shape)
        moved = shape if len(shape) > 2 else None
        tensor = self.model.tensor(blob.name, channels_last(shape) if moved else shape, np.int8,
                                   quantization_of(blob))
        self._stored[value] = Stored(tensor, moved)
        outside = self._outside(tensor)
        self.model.inputs.append(outside)
        if outside is not tensor:
            self.model.operator("QUANTIZE", 2, [outside], [tensor], "QuantizeOptions")
        self.inputs.append(self._port(outside, tensor, shape, moved is not None))

    def _add_output(self, value: int) -> None:
        blob = self._graph.values[value]
        shape = tuple(blob.shape)
        node = next(node for node in self._graph.nodes if value in node.outputs)
        layer = Layer(self.model, self._graph, node, self._stored)
        stored = self._stored[value]
        tensor = stored.tensor
        if stored.moved not in (None, shape):
            tensor = layer.in_caffes_order(stored, shape)
        if tensor.name != blob.name or tensor in self.model.outputs:
            named = self.model.tensor(blob.name, tensor.shape, np.int8, tensor.quantization)
            tensor = layer.reshaped(tensor, tensor.shape, named)
        outside = self._outside(tensor)
        if outside is not tensor:
            to_float = outside.dtype == np.float32
            self.model.operator("DEQUANTIZE" if to_float else "QUANTIZE", 2, [tensor], [outside],
                                "DequantizeOptions" if to_float else "QuantizeOptions")
        self.model.outputs.append(outside)
        self.outputs.append(self._port(outside, tensor, shape, stored.moved == shape))

    def _outside(self, tensor: Tensor) -> Tensor:
        """What users see of an input or output."""
        quantization = tensor.quantization
        assert quantization is not None
        if self._io_type == "int8":
            return tensor
        if self._io_type == "float32":
            return self.model.tensor(f"{tensor.name}/float32", tensor.shape, np.float32)
        unsigned = Quantization(quantization.scales, quantization.zero_point + SIGN)
        return self.model.tensor(f"{tensor.name}/uint8", tensor.shape, np.uint8, unsigned)

    def _port(self, outside: Tensor, tensor: Tensor, shape: Shape, last: bool) -> Port:
        assert tensor.quantization is not None
        return Port(outside.name, outside.shape, shape, last, self._io_type, tensor.quantization)
