"""Exports Caffe's nets to ONNX.

::

    python -m caffe.onnx deploy.prototxt weights.caffemodel out.onnx

or, in a program::

    from caffe.onnx import export
    model = export("deploy.prototxt", "weights.caffemodel").model

It needs the packages onnx, numpy and protobuf, and no compiled part of Caffe.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, Optional, Union

import numpy as np

from .._quantized_graph import QuantizedGraph
from .errors import ExportError
from .net import NetExporter, Options

__all__ = ["ExportError", "Export", "Options", "export", "export_net", "export_quantized"]


@dataclass
class Export:
    """What came out: the ModelProto, the net that it computes (None: integers), what the user
    should know."""
    model: Any
    net: Any
    notes: List[str]


def export_net(net: Any, blobs: Union[Callable, Any], options: Optional[Options] = None) -> Export:
    """Exports a NetParameter of today's form, filtered for the TEST phase.

    ``blobs(layer name, number, shape)`` gives the parameters, as
    :class:`caffe.onnx.weights.Weights` does. Raises ExportError, which names the layer, if the net
    has no ONNX form.
    """
    from .graph import Graph
    from .writing import check_opset, import_onnx, make_model
    options = options or Options()
    onnx = import_onnx()
    check_opset(onnx, options.opset)
    # Weights and parameters may be infinite, or become so.
    with np.errstate(all="ignore"):
        exported = NetExporter(Graph(onnx, options.opset), net, blobs, options).run()
    return Export(make_model(exported, net.name, options.opset), net, exported.notes)


def export_quantized(graph: QuantizedGraph, opset: int = Options.opset) -> Export:
    """Exports what caffe.inference.quantized_graph returns, with QuantizeLinear and
    DequantizeLinear. Raises ExportError, which names the layer."""
    from .graph import Graph
    from .quantized import QuantizedExporter
    from .writing import check_opset, import_onnx, make_model
    onnx = import_onnx()
    check_opset(onnx, opset)
    exported = QuantizedExporter(Graph(onnx, opset), graph).run()
    return Export(make_model(exported, graph.name, opset), None, exported.notes)


def export(prototxt: str, weights: str, options: Optional[Options] = None, level: int = 0,
           stages: Iterable[str] = ()) -> Export:
    """Exports the net of a prototxt file with the weights of a caffemodel or HDF5 file."""
    from .caffemodel import read_weights
    from .reading import filter_net, read_net
    from .weights import Weights
    net = read_net(prototxt)
    filter_net(net, level, stages)
    blobs = Weights(read_weights(weights), weights)
    blobs.fit(net.layer)
    return export_net(net, blobs, options)
