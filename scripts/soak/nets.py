"""Loads nets, runs and drops them, one after another, and compares their outputs' bits with those of the
first net of the same kind: plain ones, some with a Python layer, with data layers, in FLOAT16, in a
solver.

    nets.py [--nets N] [--seconds S]

Works in a folder with net.prototxt, net.caffemodel and images_lmdb, which scripts/soak.sh makes. Ends
when both are over, the nets and the seconds; with status 1 at an output that differs.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
from typing import Callable, Dict, List, Tuple

import caffe
import numpy


class Halve(caffe.Layer):
    """A layer with a cycle of references and memory of its own, as layers of programs have."""

    def setup(self, bottom, top):
        """Keeps more than a pass needs."""
        self.kept = [self, bottom[0], top[0], numpy.zeros(10000, numpy.float32)]

    def reshape(self, bottom, top):
        """The bottom's shape."""
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        """Half of the bottom."""
        top[0].data[...] = bottom[0].data / 2

    def backward(self, top, propagate_down, bottom):
        """Half of the gradient."""
        if propagate_down[0]:
            bottom[0].diff[...] = top[0].diff / 2


PYTHON_LAYER = """
layer { name: "halve" type: "Python" bottom: "fc" top: "halved"
  python_param { module: "nets" layer: "Halve" } }
"""
LABELS = """
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
"""
LOSS = """
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
"""
DATABASE = """
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 }
  data_param { source: "images_lmdb" backend: LMDB batch_size: 2 } }
"""
IMAGES = """
layer { name: "data" type: "ImageData" top: "data" top: "label" transform_param { scale: 0.01 }
  image_data_param { source: "list.txt" batch_size: 2 } }
"""
HALF = "default_forward_type: FLOAT16 default_backward_type: FLOAT16\n"
SOLVER = """base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 random_seed: 3 max_iter: 100 display: 0
snapshot_after_train: false net: "trained.prototxt"
"""


def write_nets() -> None:
    """A file for each kind, of net.prototxt."""
    plain = pathlib.Path("net.prototxt").read_text(encoding="utf-8")
    body = plain[plain.index('layer { name: "conv"'):]
    trained = body[:body.index('layer { name: "prob"')] + LOSS
    for name, text in {"python": plain + PYTHON_LAYER, "database": DATABASE + body,
                       "images": IMAGES + body, "half": HALF + plain,
                       "learns": plain[:plain.index('layer { name: "conv"')] + LABELS + trained,
                       "trained": DATABASE + trained}.items():
        pathlib.Path(f"{name}.prototxt").write_text(text, encoding="utf-8")
    pathlib.Path("solver.prototxt").write_text(SOLVER, encoding="utf-8")


def load(name: str, phase: int = caffe.TEST) -> caffe.Net:
    """A net with the weights, without which the labels of a data layer have no use."""
    return caffe.Net(f"{name}.prototxt", phase, weights="net.caffemodel")


def forward(name: str) -> numpy.ndarray:
    """A net whose input is given."""
    net = load(name)
    net.blobs["data"].data[...] = PIXELS
    return net.forward()[net.outputs[-1]]  # a view, which outlives its net


def reads_data(name: str) -> numpy.ndarray:
    """A net that reads records, ahead of what it is asked for."""
    net = load(name)
    net.forward()
    return net.forward()["prob"].copy()


def learns() -> numpy.ndarray:
    """Both passes; arrays on the gradients of weights outlive the net."""
    caffe.set_random_seed(3)
    net = load("learns", caffe.TRAIN)
    net.blobs["data"].data[...] = PIXELS
    net.blobs["label"].data[...] = 1
    arrays = [blob.diff for blobs in net.params.values() for blob in blobs]
    net.forward()
    net.backward()
    del net
    return numpy.concatenate([array.reshape(-1) for array in arrays])


def trains() -> numpy.ndarray:
    """A solver with a data layer."""
    caffe.set_random_seed(3)
    solver = caffe.SGDSolver("solver.prototxt")
    solver.net.copy_from("net.caffemodel")
    solver.step(2)
    return solver.net.params["fc"][0].data.copy()


PIXELS = numpy.random.RandomState(1).uniform(-1, 1, (2, 3, 8, 8)).astype(numpy.float32)
#: In turn.
KINDS: List[Tuple[str, Callable[[], numpy.ndarray]]] = [
    ("plain", lambda: forward("net")),
    ("python", lambda: forward("python")),
    ("plain", lambda: forward("net")),
    ("database", lambda: reads_data("database")),
    ("half", lambda: forward("half")),
    ("learns", learns),
    ("plain", lambda: forward("net")),
    ("images", lambda: reads_data("images")),
    ("python", lambda: forward("python")),
    ("trains", trains),
]


def main() -> None:
    """Reads the command line and loops."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", type=int, default=10000, metavar="N")
    parser.add_argument("--seconds", type=float, default=0, metavar="S")
    arguments = parser.parse_args()
    write_nets()
    descriptors: List[int] = []
    first: Dict[str, bytes] = {}
    begin, made = time.monotonic(), 0
    while made < arguments.nets or time.monotonic() - begin < arguments.seconds:
        for kind, run in KINDS:
            bits = run().tobytes()
            made += 1
            if first.setdefault(kind, bits) != bits:
                sys.exit(f"nets.py: net {made}, of kind {kind}, has another output than the first")
        descriptors.append(len(os.listdir("/proc/self/fd")))
        if made % 1000 == 0:
            print(f"nets.py: {made} nets", flush=True)
    if descriptors[-1] != descriptors[0]:
        sys.exit(f"nets.py: {descriptors[0]} descriptors became {descriptors[-1]}")
    print(f"nets.py: {made} nets of {len(first)} kinds in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
