"""Trained nets, exported, compute what BVLC Caffe 1.0 computed."""
from __future__ import annotations

import glob
import os

import numpy as np
import pytest
from onnx_support import assert_close, files, names, needs_data, run_model

from caffe.onnx import Options, export

REFERENCES = files("models", "*/caffe_ref/*/input.npy")


@needs_data
@pytest.mark.parametrize("path", REFERENCES, ids=names(REFERENCES))
def test_outputs_are_caffes(path):
    folder = os.path.dirname(path)
    model = os.path.dirname(os.path.dirname(folder))
    pictures = np.load(path)
    first = "data"
    result = export(os.path.join(model, "deploy.prototxt"), os.path.join(model, "weights.caffemodel"),
                    Options(shapes={first: pictures.shape}))
    outputs = run_model(result.model, {result.model.graph.input[0].name: pictures})
    references = glob.glob(os.path.join(folder, "out_*.npy"))
    assert references
    for reference in references:
        name = os.path.basename(reference)[len("out_"):-len(".npy")]
        assert_close(outputs[name], np.load(reference), what=name)
