"""All nets of models/, with random weights, in float and in half precision."""
from __future__ import annotations

import glob
import os

import numpy as np
import pytest
from onnx_support import ROOT, CaffeNet

NETS = sorted(glob.glob(os.path.join(ROOT, "models", "*", "deploy*.prototxt")))
IN_HALF = 2e-2  # of the largest value


@pytest.mark.parametrize("path", NETS, ids=lambda path: os.path.relpath(path, ROOT))
def test_agrees_with_this_caffe(path, tmp_path):
    with open(path, encoding="utf-8") as file:
        net = CaffeNet(file.read(), tmp_path)
    inputs = {name: 3 * net.random(net.net.blobs[name].data.shape) for name in net.net.inputs}
    if "ssd" in path:
        found = net.exported(inputs)["detection_out"][0, 0].astype(np.float64)
        check_detections(found, net.forward(inputs)["detection_out"][0, 0], "fp16" in path)
        return
    net.check(inputs, IN_HALF if "fp16" in path else 1e-4)


def check_detections(found, expected, in_half):
    """Untrained scores lie so close together that rounding decides which of two boxes stays: nearly
    all rows are in both; in half precision there are as many."""
    assert len(found) == pytest.approx(len(expected), rel=0.1)
    if in_half:
        return
    size = np.maximum(1, np.abs(expected))
    in_both = [np.any(np.all(np.abs(found - row) <= 1e-3 * bound, axis=1))
               for row, bound in zip(expected, size)]
    assert np.mean(in_both) > 0.95
