"""All nets of models/, with random weights, in float and in half precision."""
from __future__ import annotations

import glob
import os

import pytest
from onnx_support import ROOT, CaffeNet

NETS = sorted(glob.glob(os.path.join(ROOT, "models", "*", "deploy*.prototxt")))
IN_HALF = 2e-2  # of the largest value


@pytest.mark.parametrize("path", NETS, ids=lambda path: os.path.relpath(path, ROOT))
def test_agrees_with_this_caffe(path, tmp_path):
    with open(path, encoding="utf-8") as file:
        net = CaffeNet(file.read(), tmp_path)
    inputs = {name: 3 * net.random(net.net.blobs[name].data.shape) for name in net.net.inputs}
    if "ssd" in path and "fp16" in path:
        # Which of two boxes with nearly the same score stays is up to rounding: count them.
        found = net.exported(inputs)["detection_out"].shape[2]
        assert found == pytest.approx(net.forward(inputs)["detection_out"].shape[2], rel=0.1)
        return
    net.check(inputs, IN_HALF if "fp16" in path else 1e-4)
