"""Exports nets in 8-bit integers to LiteRT (TensorFlow Lite).

::

    python -m caffe.tflite deploy.prototxt net.caffemodel net.tflite --calibration-table net.table

or, in a program::

    from caffe import inference, tflite
    graph = inference.quantized_graph(definition, table)
    tflite.export_graph(graph).write("net.tflite")

It needs the packages flatbuffers and tflite, and, to quantize a net, the compiled part of Caffe.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import List

from .._quantized_graph import QuantizedGraph
from ..onnx.errors import ExportError
from ..onnx.writing import write_bytes
from .net import NetExporter, Port

__all__ = ["Export", "ExportError", "Port", "export_graph"]


@dataclass
class Export:
    """What came out: the file's bytes, its inputs and outputs, what the user should know."""

    content: bytes
    inputs: List[Port]
    outputs: List[Port]
    operators: int
    notes: List[str]

    def write(self, path: str) -> None:
        """Writes the file, aside first. Raises ExportError."""
        write_bytes(self.content, path)


def export_graph(graph: QuantizedGraph, io_type: str = "int8") -> Export:
    """Exports what caffe.inference.quantized_graph returns.

    Inputs and outputs of the model are int8, uint8 or float32. Images have their channels last (N,
    H, W, C). Raises ExportError, which names the layer, where LiteRT's integers cannot hold the
    net.
    """
    exporter = NetExporter(graph, io_type)
    exporter.run()
    return Export(exporter.model.to_bytes(), exporter.inputs, exporter.outputs,
                  len(exporter.model.operators), exporter.notes)
