"""What the tests of caffe.onnx share: made-up weights, running models, comparing."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Sequence

import numpy as np
import pytest
from seeds import seed_of_this_test

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared")
if not os.path.isdir(SHARED):  # a worktree lies one folder deeper
    SHARED = os.path.join(os.path.dirname(os.path.dirname(ROOT)), "shared")
DATA = os.path.join(SHARED, "data")

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime",
                                  reason="onnxruntime is not installed: pip install onnxruntime")

from google.protobuf import text_format  # noqa: E402

from caffe.onnx import Options, export, export_net  # noqa: E402
from caffe.onnx.checking import pycaffe, run_model  # noqa: E402
from caffe.onnx.reading import filter_net  # noqa: E402
from caffe.onnx.upgrade import upgrade  # noqa: E402
from caffe.proto import caffe_pb2  # noqa: E402

needs_data = pytest.mark.skipif(not os.path.isdir(DATA), reason=f"{DATA} is not there")


def parse(text: str) -> Any:
    """The net of a prototxt text, upgraded and filtered for TEST."""
    net = caffe_pb2.NetParameter()
    text_format.Parse(text, net)
    upgrade(net)
    filter_net(net)
    return net


def hashed(count: int, stream: int) -> np.ndarray:
    """Numbers in [0, 1): those of elements 0 to `count` of a stream, see the data's README."""
    def step(a: np.ndarray, shift: int, factor: int) -> np.ndarray:
        return (a ^ (a >> np.uint32(shift))) * np.uint32(factor)

    with np.errstate(over="ignore"):
        start = (stream * 40503 + 12345) & 0xffffffff
        a = np.arange(count, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(start)
        a = step(step(a, 15, 2246822519), 13, 3266489917)
        a ^= a >> np.uint32(16)
    return a / 4294967296.


def made_up(type_: str, number: int, shape: Sequence[int], stream: int) -> np.ndarray:
    """Parameter blob `number` of a layer of this type, as the data's README describes it."""
    count = int(np.prod(shape, dtype=np.int64))
    r = 2 * hashed(count, stream) - 1
    fan = count // max(1, shape[0]) if len(shape) else 1
    if type_ == "BatchNorm":
        values = 0.1 * r if number == 0 else 1 + 0.5 * r if number == 1 else 0 * r + 1
    elif type_ == "Scale":
        values = 1 + 0.3 * r if number == 0 else 0.1 * r
    elif type_ == "PReLU":
        values = 0.25 + 0.1 * r
    elif number == 0 or type_ in ("LSTM", "RNN"):
        values = r * np.sqrt(3.) * np.sqrt(2 / fan)
    else:
        values = 0.1 * r
    return values.astype(np.float32).reshape(tuple(shape))


def built_positions(net: Any) -> Dict[str, int]:
    """Each layer's number in the net that Caffe builds, in which one Split is behind each blob that
    is read more than once."""
    readers: Dict[tuple, int] = {}
    newest: Dict[str, tuple] = {}
    for i, layer in enumerate(net.layer):
        for bottom in layer.bottom:
            readers[newest[bottom]] = readers.get(newest[bottom], 0) + 1
        for j, top in enumerate(layer.top):
            newest[top] = (i, j)
    positions, position = {}, 0
    for i, layer in enumerate(net.layer):
        positions[layer.name] = position
        position += 1 + sum(readers.get((i, j), 0) > 1 for j in range(len(layer.top)))
    return positions


class MadeUpWeights:
    """Parameters by a hash, the same in every program that follows the data's README."""

    def __init__(self, net: Any) -> None:
        self._positions = built_positions(net)
        self._types = {layer.name: layer.type for layer in net.layer}
        self.used: Dict[str, Dict[int, np.ndarray]] = {}

    def __call__(self, name: str, i: int, shape: Sequence[int]) -> np.ndarray:
        values = made_up(self._types[name], i, shape, 16 * self._positions[name] + i)
        self.used.setdefault(name, {})[i] = values
        return values


def made_up_input(shape: Sequence[int], number: int = 0) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64))
    return (2 * hashed(count, 1000003 + number) - 1).astype(np.float32).reshape(tuple(shape))


def assert_close(actual: np.ndarray, expected: np.ndarray, relative: float = 1e-4,
                 what: str = "") -> None:
    """To `relative` of the largest expected value."""
    assert actual.shape == expected.shape, what
    finite = np.abs(expected[np.isfinite(expected)])
    bound = relative * max(float(finite.max()) if finite.size else 0.0, 1e-6)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound, err_msg=what)


def outputs_of(net: Any, weights: Any, inputs: Dict[str, np.ndarray],
               **options: Any) -> Dict[str, np.ndarray]:
    """What onnxruntime computes for an exported net."""
    model = export_net(net, weights, Options(**options)).model
    return run_model(model, inputs)


def files(folder: str, pattern: str) -> List[str]:
    """Files below a folder of the data, for parametrized tests; none where it is absent."""
    import glob
    return sorted(glob.glob(os.path.join(DATA, folder, pattern), recursive=True))


def names(paths: Iterable[str]) -> List[str]:
    return [os.path.relpath(path, DATA) for path in paths]


class CaffeNet:
    """A net in pycaffe with random parameters, and the same one for the exporter."""

    def __init__(self, text: str, folder: Any) -> None:
        caffe = pytest.importorskip("caffe")
        if pycaffe() is None:
            pytest.skip("the compiled module caffe._caffe is not built: nothing to compare with")
        caffe.set_mode_cpu()
        self.generator = np.random.default_rng(seed_of_this_test())
        path, self.weights = str(folder / "net.prototxt"), str(folder / "net.caffemodel")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.path = path
        self.net = caffe.Net(path, caffe.TEST)
        types = {layer.name: layer.type for layer in parse(text).layer}
        for name, blobs in self.net.params.items():
            for i, blob in enumerate(blobs):
                blob.data[...] = self._parameter(types[name], i, blob.data.shape)
        self.net.save(self.weights)

    def _parameter(self, type_: str, i: int, shape: Sequence[int]) -> np.ndarray:
        """Numbers around 0; positive where they are variances or factors of statistics."""
        values = self.generator.uniform(-1, 1, shape)
        if type_ == "BatchNorm" and i == 2:
            return np.full(shape, 2.0)
        if (type_ == "BatchNorm" and i == 1) or (type_ == "BN" and i == 3):
            return 2 + 2 * np.abs(values)  # keeps what is normalized from growing
        fan = max(1, int(np.prod(shape)) // max(1, shape[0])) if i == 0 and len(shape) > 1 else 1
        return values * np.sqrt(3 / fan)

    def random(self, shape: Sequence[int]) -> np.ndarray:
        return self.generator.uniform(-1, 1, shape).astype(np.float32)

    def forward(self, inputs: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
        for name, values in inputs.items():
            self.net.blobs[name].reshape(*values.shape)
        self.net.reshape()
        for name, values in inputs.items():
            self.net.blobs[name].data[...] = values
        return {name: np.array(values) for name, values in self.net.forward().items()}

    def exported(self, inputs: Dict[str, np.ndarray], **options: Any) -> Dict[str, np.ndarray]:
        """What onnxruntime computes for the same net, weights and inputs."""
        model = export(self.path, self.weights, Options(**options)).model
        known = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
        return run_model(
            model, {
                name: values.astype(np.float16 if known[name] == 10 else np.float32)
                for name, values in inputs.items() if name in known
            })

    def check(self, inputs: Dict[str, np.ndarray], relative: float = 1e-4, **options: Any) -> None:
        """Asserts that both agree in each output of the exported net."""
        expected = self.forward(inputs)
        actual = self.exported(inputs, **options)
        assert set(actual) == set(expected) - set(inputs)  # an unread input is an output in Caffe
        for name, values in actual.items():
            assert_close(values.astype(np.float32), expected[name], relative, name)


def input_text(name: str, shape: Sequence[int]) -> str:
    dims = " ".join(f"dim: {extent}" for extent in shape)
    return (f"layer {{ name: '{name}' type: 'Input' top: '{name}' "
            f"input_param {{ shape {{ {dims} }} }} }}\n")
