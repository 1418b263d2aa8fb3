#!/usr/bin/env python3
"""How well exported nets agree with Caffe: the tables of docs/onnx.md.

    PYTHONPATH=python:python/tests python3 benchmarks/onnx/run.py

Exports the nets of models/ with random weights, the trained nets and the public nets next to the
source tree (../shared/data) where they are there, checks each model with onnx.checker, runs it with
onnxruntime, and prints the largest difference of any output to Caffe's, relative to that output's
largest value. Public nets are compared with numbers that BVLC Caffe 1.0 computed, the others with
the package caffe.
"""
from __future__ import annotations

import argparse
import glob
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple, Union

os.environ.setdefault("GLOG_minloglevel", "2")

import numpy as np
import onnx
from onnx_support import DATA, ROOT, CaffeNet, MadeUpWeights, made_up_input
from test_onnx_corpus import EXPECTED, read_expected
from test_onnx_trained_models import PAIRS, shapes_of

from caffe.onnx import ExportError, Options, export, export_net
from caffe.onnx.checking import compare, random_inputs, run_caffe, run_model
from caffe.onnx.reading import filter_net, read_net

#: An exported model, and the largest relative difference; in words where that says nothing.
Result = Tuple[Any, Union[float, str]]
Case = Tuple[str, Callable[[], Result]]


def shipped(path: str) -> Result:
    """A net of models/, with random weights."""
    with tempfile.TemporaryDirectory() as folder, open(path, encoding="utf-8") as file:
        net = CaffeNet(file.read(), Path(folder))
        inputs = {name: 3 * net.random(net.net.blobs[name].data.shape) for name in net.net.inputs}
        expected = net.forward(inputs)
        model = export(net.path, net.weights).model
    outputs = run_model(model, as_wanted(model, inputs))
    if "detection_out" in outputs:
        return model, rows_in_both(expected["detection_out"], outputs["detection_out"])
    return model, largest(expected, outputs)


def trained(net: str, weights: str, chosen: argparse.Namespace) -> Result:
    """A trained net, on random numbers."""
    result = export(net, weights, Options(chosen.opset, chosen.batch, shapes_of(net)))
    inputs = random_inputs(result.model)
    outputs = run_model(result.model, inputs)
    full = {name: values.astype(np.float32) for name, values in inputs.items()}
    return result.model, largest(run_caffe(result.net, weights, full, list(outputs)), outputs)


def public(path: str) -> Result:
    """A public net with made-up weights, by the numbers that are known of BVLC Caffe's blobs."""
    name = os.path.basename(path)[:-len(".txt")]
    net = read_net(os.path.join(os.path.dirname(os.path.dirname(path)), name + ".prototxt"))
    filter_net(net)
    model = export_net(net, MadeUpWeights(net)).model
    inputs = {info.name: made_up_input([axis.dim_value for axis in info.type.tensor_type.shape.dim],
                                       number) for number, info in enumerate(model.graph.input)}
    expected = read_expected(path)
    differences: List[float] = []  # none compared is an error
    for blob, values in run_model(model, inputs).items():
        if blob not in expected:
            continue
        least, most, mean, norm, *first = expected[blob]
        flat = values.astype(np.float64).reshape(-1)
        size = max(abs(least), abs(most), 1e-6)
        known = [(flat.min(), least), (flat.max(), most), (flat.mean(), mean)]
        known += list(zip(flat, first))
        differences += [abs(a - b) / size for a, b in known]
        differences.append(abs(np.linalg.norm(flat) - norm) / max(norm, 1e-6))
    return model, max(differences)


def as_wanted(model: Any, inputs: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """Inputs in the types of the model, without those that it does not have."""
    types = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
    half = onnx.TensorProto.FLOAT16
    return {name: values.astype(np.float16 if types[name] == half else np.float32)
            for name, values in inputs.items() if name in types}


def largest(expected: Dict[str, np.ndarray], actual: Dict[str, np.ndarray]) -> float:
    """The largest relative difference of any output."""
    return max(d.relative for d in compare({name: expected[name] for name in actual}, actual))


def rows_in_both(expected: np.ndarray, actual: np.ndarray) -> str:
    """Untrained detectors give many boxes nearly the same score, so that rounding decides which of
    them stay: how many boxes both have, to 1e-3 of their numbers."""
    rows, found = expected.reshape(-1, 7), actual.reshape(-1, 7).astype(np.float64)
    bound = 1e-3 * np.maximum(1, np.abs(rows))
    both = sum(np.any(np.all(np.abs(found - row) <= most, axis=1))
               for row, most in zip(rows, bound))
    return f"{both} of {len(rows)} boxes in both"


def groups(chosen: argparse.Namespace) -> Iterator[Tuple[str, List[Case]]]:
    """The tables: a title, and the nets in it."""
    nets = sorted(glob.glob(os.path.join(ROOT, "models", "*", "deploy*.prototxt")))
    yield "Shipped nets", [(os.path.relpath(path, os.path.join(ROOT, "models")),
                            lambda path=path: shipped(path)) for path in nets]
    folder = os.path.join(DATA, "models")
    yield "Trained nets", [
        (f"{os.path.relpath(net, folder)}, {os.path.basename(weights)}",
         lambda net=net, weights=weights: trained(net, weights, chosen)) for net, weights in PAIRS]
    yield "Public nets", [(os.path.basename(path)[:-len(".txt")], lambda path=path: public(path))
                          for path in EXPECTED]


def run(case: Callable[[], Result]) -> str:
    """A row's cells after the name."""
    start = time.time()
    try:
        model, difference = case()
    except ExportError as error:
        return f"| no | {' '.join(str(error).split())} |"
    try:
        onnx.checker.check_model(model, full_check=True)
    except ValueError:  # above 2 GB it has to lie in files
        pass
    print(f"{time.time() - start:.1f} s", file=sys.stderr)
    shown = difference if isinstance(difference, str) else f"{difference:.1e}"
    return f"| {len(model.graph.node)} | {shown} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="nets whose names have this in them")
    parser.add_argument("--trained", action="store_true", help="the trained nets alone")
    parser.add_argument("--opset", type=int, default=Options.opset, help="of the trained nets")
    parser.add_argument("--batch", choices=["dynamic"], help="of the trained nets")
    chosen = parser.parse_args()
    for title, cases in groups(chosen):
        if chosen.trained and title != "Trained nets":
            continue
        print(f"\n| {title} | nodes | largest difference |\n| --- | --- | --- |")
        for name, case in cases:
            if chosen.only in name:
                print(f"| {name} {run(case)}", flush=True)


if __name__ == "__main__":
    main()
