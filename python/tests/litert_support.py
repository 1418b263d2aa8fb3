"""Runs LiteRT models for tests."""
from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np
import pytest

pytest.importorskip("flatbuffers", reason="flatbuffers is not installed: pip install flatbuffers")
pytest.importorskip("tflite", reason="tflite is not installed: pip install tflite")

from caffe.tflite import Export, export_graph  # noqa: E402
from quantized_graphs import NetInIntegers  # noqa: E402

#: LiteRT's kernels: those that its specification is written by, and those that it runs by default
#: without XNNPACK, whose rescaling is done in floats.
REFERENCE, DEFAULT, XNNPACK = "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "BUILTIN"


def interpreter() -> Any:
    """The package ai-edge-litert, or tensorflow's older one; skips where neither is installed."""
    return pytest.importorskip("ai_edge_litert.interpreter",
                               reason="LiteRT is not installed: pip install ai-edge-litert")


def run(content: bytes, inputs: Dict[str, np.ndarray], kernels: str = REFERENCE
        ) -> Dict[str, np.ndarray]:
    """The outputs of a model, by name, as they are in it."""
    module = interpreter()
    runner = module.Interpreter(
        model_content=content, num_threads=1,
        experimental_op_resolver_type=getattr(module.OpResolverType, kernels))
    runner.allocate_tensors()
    for detail in runner.get_input_details():
        runner.set_tensor(detail["index"], inputs[detail["name"]])
    runner.invoke()
    return {detail["name"]: runner.get_tensor(detail["index"])
            for detail in runner.get_output_details()}


def channels_last(array: np.ndarray) -> np.ndarray:
    return np.moveaxis(array, 1, -1) if array.ndim > 2 else array


def differences(net: NetInIntegers, kernels: str = REFERENCE, result: Optional[Export] = None
                ) -> Dict[str, np.ndarray]:
    """By output what LiteRT's bytes are more than the net's."""
    result = result or export_graph(net.graph)
    inputs = {net.graph.values[x].name:
              np.ascontiguousarray(channels_last(net.bytes[x].astype(np.int16) - 128), np.int8)
              for x in net.graph.inputs}
    outputs = run(result.content, inputs, kernels)
    assert list(outputs) == [port.name for port in result.outputs]
    found = {}
    for x, port in zip(net.graph.outputs, result.outputs):
        expected = net.bytes[x].astype(int)
        if port.channels_last:
            expected = channels_last(expected)
        assert outputs[port.name].shape == port.shape == expected.shape
        found[port.name] = outputs[port.name].astype(int) + 128 - expected
    return found


def largest(net: NetInIntegers, kernels: str = REFERENCE) -> int:
    return max(int(np.abs(difference).max()) for difference in differences(net, kernels).values())
