"""Trained nets, exported, compute what BVLC Caffe 1.0 computed and what this Caffe computes."""
from __future__ import annotations

import glob
import os
import re
import tarfile

import numpy as np
import pytest
from onnx_support import DATA, assert_close, files, names, needs_data, pycaffe, run_model

from caffe.onnx import Options, export
from caffe.onnx.checking import random_inputs, run_caffe

REFERENCES = files("models", "*/caffe_ref/*/input.npy")

# Softmax of scores that reach 2000 sees the last bits of their differences.
RELATIVE = {"hdibco_fcn_binarize": 1e-3}


@needs_data
@pytest.mark.parametrize("path", REFERENCES, ids=names(REFERENCES))
def test_outputs_are_caffes(path):
    folder = os.path.dirname(path)
    model = os.path.dirname(os.path.dirname(folder))
    images = np.load(path)
    result = export(os.path.join(model, "deploy.prototxt"),
                    os.path.join(model, "weights.caffemodel"),
                    Options(shapes={"data": images.shape}))
    outputs = run_model(result.model, {result.model.graph.input[0].name: images})
    references = glob.glob(os.path.join(folder, "out_*.npy"))
    assert references
    for reference in references:
        name = os.path.basename(reference)[len("out_"):-len(".npy")]
        assert_close(outputs[name], np.load(reference), RELATIVE.get(os.path.basename(model), 1e-4),
                     what=name)


def _pairs():
    """Each description that has weights, with them."""
    pairs = []
    for folder in sorted(glob.glob(os.path.join(DATA, "models", "*", ""))):
        nets = glob.glob(folder + "deploy.prototxt") + glob.glob(folder + "train_val.prototxt")
        weights = glob.glob(folder + "weights*.caffemodel") + glob.glob(folder + "*.h5")
        pairs += [(net, file) for net in sorted(nets) for file in sorted(weights)
                  if "solverstate" not in file]
        for net in sorted(glob.glob(folder + "[0-9]_*.prototxt")):
            pairs.append((net, net[:-len(".prototxt")] + ".caffemodel"))
    return pairs


# Where the description does not say what its data look like, or only training can tell.
SHAPES = {"resnet20_cifar10": {"Data1": (1, 3, 32, 32)}, "lenet_v1format": {"data": (1, 1, 28, 28)},
          "cifar10_full_sigmoid_bn": {"data": (1, 3, 32, 32)},
          "mnist_siamese": {"pair_data": (1, 2, 28, 28)},
          "intel_face_detection_retail_0044": {"data": (1, 3, 300, 300)},
          "yufacedetectnet_v2": {"data": (1, 3, 240, 320)}}
LANDMARK_SHAPES = {"1": (1, 1, 39, 39), "2": (1, 1, 15, 15), "3": (1, 1, 15, 15)}


def shapes_of(net):
    model = os.path.basename(os.path.dirname(net))
    if model == "deep_landmark_v006":
        return {"data": LANDMARK_SHAPES[os.path.basename(net)[0]]}
    return SHAPES.get(model, {}) if "train_val" in net else {}


PAIRS = _pairs()


@needs_data
@pytest.mark.parametrize("net,weights", PAIRS,
                         ids=[f"{os.path.relpath(n, DATA)}-{os.path.basename(w)}"
                              for n, w in PAIRS])
def test_agrees_with_this_caffe(net, weights):
    """In all outputs, on random numbers."""
    if pycaffe() is None:
        pytest.skip("the compiled module caffe._caffe is not built: nothing to compare with")
    if weights.endswith(".h5"):
        pytest.importorskip("h5py")
    result = export(net, weights, Options(shapes=shapes_of(net)))
    inputs = random_inputs(result.model)
    outputs = run_model(result.model, inputs)
    expected = run_caffe(result.net, weights, inputs, list(outputs))
    for name, values in expected.items():
        assert_close(outputs[name], values, what=name)


IMAGES = files("models", "*/opencv_ref/*/input.png")


def _read_image(path):
    """The pixels as the reference was fed with them: planes B, G, R or grey, less the mean,
    scaled."""
    from PIL import Image
    with open(os.path.join(os.path.dirname(path), "meta.txt"), encoding="utf-8") as file:
        line = re.search(r"network input = \(input.png - mean\) \* (\S+), mean = (\S+) (\S+) (\S+)",
                         file.read())
    scale, *mean = (float(word.rstrip(",")) for word in line.groups())
    pixels = np.asarray(Image.open(path)).astype(np.float32)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels[:, :, ::-1]
    planes = (pixels - np.float32(mean[:pixels.shape[2]])) * np.float32(scale)
    return np.ascontiguousarray(planes.transpose(2, 0, 1)[None])


DETECTED = [path for path in IMAGES if "detect" in path or "ssd" in path or "face" in path]


@needs_data
@pytest.mark.parametrize("path", DETECTED, ids=[os.path.relpath(path, DATA) for path in DETECTED])
def test_detectors_find_the_same_on_images(path):
    pytest.importorskip("PIL")
    if pycaffe() is None:
        pytest.skip("the compiled module caffe._caffe is not built: nothing to compare with")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    image = _read_image(path)
    weights = os.path.join(folder, "weights.caffemodel")
    result = export(os.path.join(folder, "deploy.prototxt"), weights,
                    Options(shapes={"data": image.shape, "input": image.shape}))
    inputs = {result.model.graph.input[0].name: image}
    outputs = run_model(result.model, inputs)
    expected = run_caffe(result.net, weights, inputs, list(outputs))
    for name, values in expected.items():
        assert_close(outputs[name], values, what=name)
        if name.startswith("detection"):
            assert (values[..., 2] > 0.3).any()


def test_digits(tmp_path):
    """LeNet as DIGITS packs it."""
    archive = os.path.join(DATA, "models", "nvidia_digits_lenet", "model.tar.gz")
    if not os.path.exists(archive):
        pytest.skip(f"{archive} is not there")
    with tarfile.open(archive) as files_of_model:
        # Python 3.11.4 and later warn without a filter.
        options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        files_of_model.extractall(tmp_path, **options)
    test_agrees_with_this_caffe(str(tmp_path / "deploy.prototxt"),
                                str(tmp_path / "snapshot_iter_28140.caffemodel"))
