"""Public nets of all kinds, exported with made-up weights, give BVLC Caffe 1.0's numbers."""
from __future__ import annotations

import os

import numpy as np
import pytest
from onnx_support import (MadeUpWeights, files, made_up_input, names, needs_data, run_model)

from caffe.onnx import export_net
from caffe.onnx.reading import filter_net, read_net

EXPECTED = files("prototxt_corpus", "expected/*.txt")


def read_expected(path):
    """By blob: least, largest, mean, L2 norm, first values."""
    expected = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#") and line.strip():
                name, _, *numbers = line.split()
                expected[name] = [float(number) for number in numbers]
    return expected


@needs_data
@pytest.mark.parametrize("path", EXPECTED, ids=names(EXPECTED))
def test_outputs_are_caffes(path):
    name = os.path.basename(path)[:-len(".txt")]
    net = read_net(os.path.join(os.path.dirname(os.path.dirname(path)), name + ".prototxt"))
    filter_net(net)
    model = export_net(net, MadeUpWeights(net)).model
    inputs = {}
    for number, info in enumerate(model.graph.input):
        shape = [axis.dim_value for axis in info.type.tensor_type.shape.dim]
        inputs[info.name] = made_up_input(shape, number)
    expected = read_expected(path)
    compared = 0
    for blob, values in run_model(model, inputs).items():
        if blob not in expected:
            continue
        least, largest, mean, norm, *first = expected[blob]
        bound = 1e-4 * max(abs(least), abs(largest)) + 1e-7
        values = values.astype(np.float64).reshape(-1)
        assert values.min() == pytest.approx(least, abs=bound), blob
        assert values.max() == pytest.approx(largest, abs=bound), blob
        assert values.mean() == pytest.approx(mean, abs=bound), blob
        assert np.linalg.norm(values) == pytest.approx(norm, rel=1e-4, abs=1e-7), blob
        np.testing.assert_allclose(values[:len(first)], first, rtol=0, atol=bound, err_msg=blob)
        compared += 1
    assert compared
