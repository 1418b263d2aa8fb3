"""Makes the ONNX model of a finished graph and writes it."""
from __future__ import annotations

import os
import tempfile
from typing import Any, List

from .errors import ExportError
from .graph import Value, onnx_extents
from .net import Exported

OLDEST_OPSET = 13
_LARGEST_FILE = (1 << 31) - 1  # what protobuf can serialize


def import_onnx() -> Any:
    """The package onnx. Raises ExportError if it is not installed."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ExportError(
            "the package onnx writes the model and is not installed: pip install onnx "
            f"({error})") from error
    return onnx


def check_opset(onnx: Any, opset: int) -> None:
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ExportError(
            f"--opset {opset}: the installed onnx {onnx.__version__} and this exporter "
            f"write versions {OLDEST_OPSET} to {newest}")


def make_model(exported: Exported, name: str, opset: int) -> Any:
    """The ModelProto, checked by onnx itself, shapes of all values included."""
    graph = exported.graph
    helper = graph.onnx.helper

    def infos(values: List[Value]) -> List[Any]:
        return [
            helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                          onnx_extents(value.shape)) for value in values
        ]

    proto = helper.make_graph(graph.nodes, name or "net", infos(graph.inputs),
                              infos(exported.outputs), graph.constants)
    operators = [helper.make_operatorsetid("", opset)]
    model = helper.make_model(proto, opset_imports=operators, producer_name="Cortado",
                              ir_version=helper.find_min_ir_version_for(operators))
    if model.ByteSize() > _LARGEST_FILE:
        raise ExportError("the weights are more than the 2 GB that one ONNX file can hold; --fp16 "
                          "halves them")
    try:
        graph.onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # of several classes, some of C++
        raise ExportError(f"the model is not what ONNX allows, which is an error of the exporter: "
                          f"{error}") from error
    return model


def write(model: Any, path: str) -> None:
    """Writes a ModelProto."""
    write_bytes(model.SerializeToString(), path)


def write_bytes(content: bytes, path: str) -> None:
    """Writes the file aside and renames it, so that no reader sees half of it. Raises ExportError."""
    folder = os.path.dirname(os.path.abspath(path))
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=os.path.basename(path), suffix=".tmp",
                                         delete=False) as file:
            temporary = file.name
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise ExportError(f"{path}: {error.strerror or error}") from error
