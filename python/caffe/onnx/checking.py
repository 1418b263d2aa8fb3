"""Compares an exported model, run by onnxruntime, with the net itself, run by pycaffe."""
from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np

from .layers.data import input_shapes
from .layers.losses import EVALUATIONS, INFERENCE_FORMS, PENALTIES

DEFAULT_EXTENT = 2  # for an extent that is known only when the model runs


class Difference(NamedTuple):
    """Of one output: the largest difference, absolute and relative to the largest value."""
    output: str
    shape: tuple
    absolute: float
    relative: float


def random_inputs(model: Any, seed: int = 1) -> Dict[str, np.ndarray]:
    """Numbers between -1 and 1 for each input of a ModelProto; dynamic extents are 2."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for info in model.graph.input:
        tensor = info.type.tensor_type
        shape = [axis.dim_value if axis.HasField("dim_value") else DEFAULT_EXTENT
                 for axis in tensor.shape.dim]
        dtype = np.float16 if tensor.elem_type == 10 else np.float32
        inputs[info.name] = generator.uniform(-1, 1, shape).astype(dtype)
    return inputs


def run_model(model: Any, inputs: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """The outputs of a ModelProto by name, computed by onnxruntime on the CPU."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def pycaffe() -> Optional[Any]:
    """The package caffe with its compiled module, None where that was not built."""
    try:
        caffe = importlib.import_module("caffe")
    except ImportError:
        return None
    return caffe if hasattr(caffe, "Net") else None


def inference_net(net: Any, inputs: Dict[str, np.ndarray]) -> Any:
    """A NetParameter with inputs instead of data layers, and without what training is for."""
    result = type(net)()
    result.CopyFrom(net)
    result.ClearField("layer")
    for name, values in inputs.items():
        layer = result.layer.add(name=f"input {name}", type="Input", top=[name])
        layer.input_param.shape.add().dim.extend(values.shape)
    for layer in net.layer:
        if input_shapes(layer) is not None or layer.type in PENALTIES or layer.type in EVALUATIONS:
            continue
        kept = result.layer.add()
        kept.CopyFrom(layer)
        if layer.type in INFERENCE_FORMS:
            kept.type = INFERENCE_FORMS[layer.type]
            if layer.focal_loss_param.HasField("axis"):
                kept.softmax_param.axis = layer.focal_loss_param.axis
            del kept.bottom[1:], kept.top[:-1], kept.loss_weight[:]
    return result


def run_caffe(net: Any, weights: Optional[str], inputs: Dict[str, np.ndarray],
              outputs: List[str]) -> Dict[str, np.ndarray]:
    """The same outputs of a NetParameter (filtered, in the current format), computed by pycaffe."""
    from google.protobuf import text_format
    caffe = pycaffe()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.prototxt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text_format.MessageToString(inference_net(net, inputs)))
        built = caffe.Net(path, caffe.TEST)
    if weights:
        built.copy_from(weights)
    for name, values in inputs.items():
        built.blobs[name].data[...] = values
    built.forward()
    return {name: np.array(built.blobs[name].data) for name in outputs}


def compare(expected: Dict[str, np.ndarray], actual: Dict[str, np.ndarray]) -> List[Difference]:
    """One entry for each output; a different shape or a NaN is an infinite difference."""
    differences = []
    for name, wanted in expected.items():
        given = actual[name].astype(np.float64)
        if given.size != wanted.size:
            differences.append(Difference(name, given.shape, np.inf, np.inf))
            continue
        gap = np.abs(given.reshape(wanted.shape) - wanted)
        absolute = float(gap.max()) if gap.size else 0.0
        absolute = np.inf if np.isnan(absolute) else absolute
        largest = float(np.abs(wanted).max()) if wanted.size else 0.0
        relative = 0.0 if absolute == 0 else absolute / max(largest, 1e-6)
        differences.append(Difference(name, given.shape, absolute, relative))
    return differences
