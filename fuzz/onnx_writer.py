#!/usr/bin/env python3
"""Fuzz target: nets, weights and flags of ``python -m caffe.onnx``.

A good answer is an error in one line, or a model that onnx's checker takes with all inferred
shapes. With -run small models also have to load and to run in onnxruntime.

example:
  fuzz/onnx_writer.py models fuzz/seeds/nets -seconds 600 -findings build-fuzz/findings/onnx_writer
"""
from __future__ import annotations

import contextlib
import io
import math
import os
import random
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from net_mutator import NetMutator  # noqa: E402
from writer_fuzzer import ROOT, BadAnswer, Input, Target, main, template  # noqa: E402

from caffe.onnx import ExportError, Options, export_net  # noqa: E402
from caffe.onnx import __main__ as program  # noqa: E402
from caffe.onnx.caffemodel import StoredLayer  # noqa: E402
from caffe.onnx.checking import random_inputs, run_model  # noqa: E402
from caffe.onnx.layer import EXPORTERS  # noqa: E402
from caffe.onnx.layers.losses import EVALUATIONS, INEXPRESSIBLE, PENALTIES  # noqa: E402
from caffe.onnx.reading import filter_net  # noqa: E402
from caffe.onnx.upgrade import upgrade  # noqa: E402
from caffe.onnx.weights import Weights  # noqa: E402
from caffe.proto import caffe_pb2  # noqa: E402

MAX_WEIGHTS = 1 << 16  # numbers in a blob of weights: more are slow to make, and say no more
MAX_RUN = 1 << 14  # numbers in an input of a model that is run
_SOURCES = ("Input", "Data", "ImageData", "HDF5Data", "WindowData", "AnnotatedData",
            "DenseImageData", "ImageSegData", "MemoryData", "VideoData", "Silence")
_EXTENTS = ("1", "2", "3", "4", "5", "8", "12", "n", "height", "batch")
_ODD_EXTENTS = ("0", "-1", "", " ", "n n", "2147483647", "9223372036854775808", "\u00e9")


class MadeUp:
    """Weights of whatever shape the net asks for; remembers them."""

    def __init__(self, seed: int, kind: str) -> None:
        self._generator = np.random.default_rng(seed)
        self._special = kind == "special"
        self.used: Dict[str, Dict[int, np.ndarray]] = {}

    def __call__(self, name: str, i: int, shape: Sequence[int]) -> np.ndarray:
        if any(extent < 0 for extent in shape) or math.prod(shape) > MAX_WEIGHTS:
            raise ExportError(f"layer '{name}': a fuzz target has no weights of shape {shape}")
        values = self._generator.uniform(-1, 1, tuple(shape)).astype(np.float32)
        if self._special:
            values[...] = self._generator.choice([0, 1, -1, 1e30, np.inf, np.nan, 1e-40])
        self.used.setdefault(name, {})[i] = values
        return values


def _one_line(message: str) -> str:
    if "\n" in message:
        raise BadAnswer("an error of several lines", message)
    if "is an error of the exporter" in message:
        kind = template(message.split("exporter:", 1)[1])
        raise BadAnswer(f"a model that onnx refuses: {kind[:120]}", message[:400])
    return message


class OnnxWriter(Target):
    """See the module."""

    name = "onnx_writer"
    package = os.path.join(ROOT, "python", "caffe", "onnx")
    types = sorted(EXPORTERS)
    default_options: Dict[str, Any] = {"flags": [], "weights": "fit", "seed": 1}

    def __init__(self, runs_models: bool = False) -> None:
        self._runs_models = runs_models
        self._parser = program._parser()
        self._parser.error = self._refuse  # type: ignore[method-assign]

    @staticmethod
    def _refuse(message: str) -> Any:
        raise ExportError(f"flags: {message}")

    def options(self, draw: random.Random, net: Any) -> Dict[str, Any]:
        flags: List[str] = []
        if draw.randrange(2):
            flags.append(f"--opset={draw.choice((12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 99))}")
        if draw.randrange(3) == 0:
            flags.append(f"--batch={draw.choice(('dynamic', 'dynamic', '1', '3', '2147483648'))}")
        if draw.randrange(3) == 0:
            flags.append("--fp16")
        if draw.randrange(8) == 0:
            flags += ["--stage=x", "--level=1"]
        tops = {top for layer in net.layer for top in layer.top}
        for name in sorted({bottom for layer in net.layer for bottom in layer.bottom} - tops):
            if draw.randrange(8):  # a net that was cut
                flags.append(self._shape(draw, name))
        if tops and draw.randrange(4) == 0:
            flags.append(self._shape(draw, draw.choice(sorted(tops))))
        weights = draw.choice(("fit", "special", "stored", "fit") * 4 + ("file",))
        return {"flags": flags, "weights": weights, "seed": draw.randrange(1 << 30)}

    @staticmethod
    def _shape(draw: random.Random, name: str) -> str:
        axes = draw.choice((4, 4, 4, 2, 3, 1, 5))
        extents = [draw.choice(_ODD_EXTENTS if draw.randrange(40) == 0 else _EXTENTS)
                   for _ in range(axes)]
        return f"--shape={name}:{','.join(extents)}"

    def run(self, given: Input) -> Tuple[Set[str], Set[str]]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return self._run(given)
        except ExportError as error:
            return {template(_one_line(str(error)))}, set()

    def _run(self, given: Input) -> Tuple[Set[str], Set[str]]:
        flags = self._parser.parse_args(["net", "weights", "out"] + given.options["flags"])
        options = Options(opset=flags.opset, batch=flags.batch, shapes=dict(flags.shape),
                          fp16=flags.fp16)
        net = self._net_of(given, flags)
        made_up = MadeUp(given.options["seed"], given.options["weights"])
        blobs: Callable = made_up
        if given.options["weights"] in ("stored", "file"):
            draw = random.Random(given.options["seed"])
            with contextlib.suppress(ExportError):
                export_net(net, made_up, options)
            net = self._net_of(given, flags)
            stored = self._stored(draw, net, made_up)
            if given.options["weights"] == "file":
                return self._run_program(draw, given, stored)
            blobs = Weights(stored, "net.caffemodel")
            blobs.fit(net.layer)
        model = export_net(net, blobs, options).model
        if self._runs_models and given.options["seed"] % 4 == 0:
            self._run_model(model)
        nodes = "+".join(sorted({node.op_type for node in model.graph.node}))
        written = {layer.type for layer in net.layer}
        return {nodes} | written, written & set(EXPORTERS)

    @staticmethod
    def _net_of(given: Input, flags: Any) -> Any:
        net = caffe_pb2.NetParameter()
        net.CopyFrom(given.net)
        upgrade(net)
        filter_net(net, flags.level, flags.stage)
        return net

    @staticmethod
    def _stored(draw: random.Random, net: Any, made_up: MadeUp) -> List[StoredLayer]:
        """The weights that fit, most of them, as a file has them."""
        stored = []
        for layer in net.layer:
            blobs = [blob for _, blob in sorted(made_up.used.get(layer.name, {}).items())]
            if layer.type == "BatchNorm" and len(blobs) in (3, 5) and draw.randrange(2):
                one = np.ones(1, np.float32)
                blobs = (blobs[:2] + [one] if len(blobs) == 5 else
                         [*blobs[:2], one, *blobs[:2]] if draw.randrange(2) else
                         [*blobs[:2], *blobs[:2], one])
            change = draw.randrange(8)
            if change == 0 and blobs:
                del blobs[draw.randrange(len(blobs))]
            elif change == 1 and blobs:
                i = draw.randrange(len(blobs))
                blobs[i] = draw.choice((blobs[i].T, blobs[i].reshape(-1),
                                        np.atleast_1d(blobs[i])[..., :1],
                                        blobs[i].reshape((1,) * max(0, 4 - blobs[i].ndim) +
                                                         blobs[i].shape)))
            elif change == 2:
                blobs.append(np.ones(draw.choice(((), (1,), (0,), (2, 3))), np.float32))
            stored.append(StoredLayer(layer.name, layer.type, list(layer.bottom), list(layer.top),
                                      blobs))
        return stored

    def _run_program(self, draw: random.Random, given: Input,
                     stored: List[StoredLayer]) -> Tuple[Set[str], Set[str]]:
        """By way of files, which may be damaged."""
        from google.protobuf import text_format
        weights = caffe_pb2.NetParameter()
        for layer in stored:
            added = weights.layer.add(name=layer.name, type=layer.type, bottom=layer.bottoms,
                                      top=layer.tops)
            for blob in layer.blobs:
                added.blobs.add(data=blob.ravel().tolist()).shape.dim.extend(blob.shape)
        if draw.randrange(2):
            NetMutator(draw, [weights], self.types).mutate(weights)
        content = bytearray(weights.SerializePartialToString())
        if content and draw.randrange(3) == 0:
            content[draw.randrange(len(content))] = draw.randrange(256)
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name)
                     for name in ("net.prototxt", "net.caffemodel", "net.onnx")]
            with open(files[0], "w", encoding="utf-8") as file:
                file.write(text_format.MessageToString(given.net))
            with open(files[1], "wb") as file:
                file.write(content)
            errors, notes = io.StringIO(), io.StringIO()
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(notes):
                status = program.main(files + given.options["flags"] + ["--check=no"])
        said = errors.getvalue()
        if status == 0:
            return {"written by the program"}, set()
        if said.count("\n") != 1:
            raise BadAnswer("an error of several lines", said)
        return {template(_one_line(said.rstrip("\n")).replace(folder, ""))}, set()

    @staticmethod
    def _run_model(model: Any) -> None:
        inputs = random_inputs_of(model)
        if inputs is None:
            return
        try:
            run_model(model, inputs)
        except Exception as error:
            message = " ".join(str(error).split())
            raise BadAnswer(f"onnxruntime: {template(message)[:120]}", message[:400]) from error


def random_inputs_of(model: Any) -> Any:
    """Random inputs; None where they are large."""
    for info in model.graph.input:
        extents = [axis.dim_value or 2 for axis in info.type.tensor_type.shape.dim]
        if math.prod(extents) > MAX_RUN:
            return None
    return random_inputs(model)


#: Types that have no function of their own, for nets to name.
OTHER_TYPES = sorted(set(_SOURCES) | PENALTIES | EVALUATIONS | set(INEXPRESSIBLE))


if __name__ == "__main__":
    RUNS = "-run" in sys.argv
    sys.exit(main(OnnxWriter(RUNS), __doc__, [word for word in sys.argv[1:] if word != "-run"]))
