"""Nets that LiteRT's reference kernels and an integer-only engine compute to the same bits, and the
program python -m caffe.tflite."""
from __future__ import annotations

import glob
import os

import numpy as np
import pytest
from litert_support import REFERENCE, channels_last, interpreter, run
from seeds import seed_of_this_test
from shared_data import shared

import caffe
from caffe import inference
from caffe.tflite import export_graph
from caffe.tflite.__main__ import main

FILLED = "weight_filler { type: 'xavier' } bias_filler { type: 'gaussian' std: 0.1 }"
NET = f"""
    name: "small"
    layer {{ name: "data" type: "Input" top: "data"
            input_param {{ shape {{ dim: 2 dim: 3 dim: 17 dim: 15 }} }} }}
    layer {{ name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param {{ num_output: 8 kernel_size: 3 pad: 1 {FILLED} }} }}
    layer {{ name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }}
    layer {{ name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
            pooling_param {{ pool: MAX kernel_size: 3 stride: 2 }} }}
    layer {{ name: "depthwise" type: "Convolution" bottom: "pool1" top: "depthwise"
            convolution_param {{ num_output: 8 group: 8 kernel_size: 3 pad: 1 {FILLED} }} }}
    layer {{ name: "relu2" type: "ReLU6" bottom: "depthwise" top: "depthwise" }}
    layer {{ name: "conv2" type: "Convolution" bottom: "depthwise" top: "conv2"
            convolution_param {{ num_output: 8 kernel_size: 1 {FILLED} }} }}
    layer {{ name: "sum" type: "Eltwise" bottom: "pool1" bottom: "conv2" top: "sum" }}
    layer {{ name: "relu3" type: "ReLU" bottom: "sum" top: "sum" }}
    layer {{ name: "conv3" type: "Convolution" bottom: "sum" top: "conv3"
            convolution_param {{ num_output: 4 kernel_size: 3 dilation: 2 pad: 2 group: 2
                                 {FILLED} }} }}
    layer {{ name: "mean" type: "Pooling" bottom: "sum" top: "mean"
            pooling_param {{ pool: AVE kernel_size: 3 stride: 1 pad: 1 }} }}
    layer {{ name: "concat" type: "Concat" bottom: "conv3" bottom: "mean" top: "concat" }}
    layer {{ name: "ip1" type: "InnerProduct" bottom: "concat" top: "ip1"
            inner_product_param {{ num_output: 20 {FILLED} }} }}
    layer {{ name: "relu4" type: "ReLU" bottom: "ip1" top: "ip1" }}
    layer {{ name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param {{ num_output: 5 {FILLED} }} }}
"""
SOFTMAX = 'layer { name: "prob" type: "Softmax" bottom: "ip2" top: "prob" }'


def quantized_input(value, data):
    """Bytes of an input, as the engine rounds it, and the real numbers that they stand for."""
    q = np.clip(np.rint(data / np.float32(value.scale)) + value.zero_point, 0, 255)
    return q.astype(int), ((q - value.zero_point) * np.float32(value.scale)).astype(np.float32)


def differences(definition, data, **config):
    """What LiteRT's bytes and an engine's differ by, by output, with the export's notes."""
    interpreter()
    table = inference.calibrate(definition, inference.BatchCalibrator([data], method="minmax"))
    graph = inference.quantized_graph(definition, table, max_batch=len(data))
    engine = inference.Builder(precision="int8", calibration=table, quantization="affine",
                               arithmetic="integer", max_batch=len(data), timing_iterations=0,
                               **config).build(definition)
    result = export_graph(graph)
    values = {value.name: value for value in graph.values}
    q, real = quantized_input(values[result.inputs[0].name], data)
    outputs = inference.ExecutionContext(engine).run({result.inputs[0].name: real})
    inputs = np.ascontiguousarray(channels_last(q - 128), np.int8)
    found = run(result.content, {result.inputs[0].name: inputs}, REFERENCE)
    by_output = {}
    for port in result.outputs:
        value = values[port.name]
        expected = np.rint(outputs[port.name] / np.float32(value.scale)) + value.zero_point
        expected = channels_last(expected) if port.channels_last else expected
        by_output[port.name] = found[port.name].astype(int) + 128 - expected
    return by_output, result.notes


@pytest.fixture(name="definition")
def small_definition(write):
    return inference.NetworkDefinition.from_caffe(write(NET))


def test_quantized_graph(definition):
    data = np.random.RandomState(seed_of_this_test()).uniform(-1, 1, (2, 3, 17, 15)).astype(np.float32)
    table = inference.calibrate(definition, inference.BatchCalibrator([data], method="minmax"))
    graph = inference.quantized_graph(definition, table, max_batch=3)
    assert [graph.values[i].name for i in graph.inputs] == ["data"]
    assert [graph.values[i].name for i in graph.outputs] == ["ip2"]
    assert graph.values[graph.inputs[0]].shape == (3, 3, 17, 15)
    conv = graph.nodes[0]
    assert (conv.name, conv.type) == ("conv1", "Convolution")
    kinds = [(one.dtype.name, one.shape) for one in conv.parameters]
    assert kinds == [("int8", (8, 3, 3, 3))] + [("int32", (8,))] * 3 + [("float32", (8,))]
    assert (conv.integers.rounding, conv.integers.least, conv.integers.most) == ("double", 0, 255)
    assert all(node.integers for node in graph.nodes) and graph.remarks == []
    single = inference.quantized_graph(definition, table, rounding="single")
    assert single.nodes[0].integers.rounding == "single"
    with pytest.raises(caffe.Error, match="calibration"):
        inference.quantized_graph(definition)


def test_net_equals_the_engine(definition):
    data = np.random.RandomState(seed_of_this_test()).uniform(-1, 1, (2, 3, 17, 15)).astype(np.float32)
    found, notes = differences(definition, data)
    assert notes == []
    assert list(found) == ["ip2"]
    # LiteRT rounds inner products once: one step in ip2, and one for what ip2 makes of ip1's.
    assert np.abs(found["ip2"]).max() <= 2


#: Trained nets, what their inputs are multiplied by, and how far their outputs may differ.
TRAINED = [("lenet_v1format", 1 / 256, 1), ("cifar10_quick_current", 1, 1), ("mtcnn_v1_det1", 1, 1)]


@pytest.mark.parametrize("name, scale, most", TRAINED)
def test_trained_net_is_within_a_step_of_the_engine(name, scale, most):
    folder = shared("models", name)
    weights, = glob.glob(os.path.join(folder, "weights.caffemodel"))
    definition = inference.NetworkDefinition.from_caffe(os.path.join(folder, "deploy.prototxt"),
                                                        weights)
    shape = definition.to_proto().layer[0].input_param.shape[0].dim
    # A constant seed: how far a step of an inner product, which LiteRT rounds once, goes in the layers behind it is up
    # to the trained weights, of which no bound is known.
    data = np.random.RandomState(2).randint(0, 256, (4, *shape[1:])).astype(np.float32) * scale
    found, _ = differences(definition, data)
    assert found
    for difference in found.values():
        assert np.abs(difference).max() <= most


# The program.


@pytest.fixture(name="files")
def net_files(write, tmp_path):
    """A description, weights, a table, images and the model to write."""
    path = write(NET + SOFTMAX)
    net = caffe.Net(path, caffe.TEST)
    net.save(str(tmp_path / "net.caffemodel"))
    definition = inference.NetworkDefinition.from_caffe(path, str(tmp_path / "net.caffemodel"))
    data = np.random.RandomState(seed_of_this_test()).uniform(0, 255, (2, 3, 17, 15)).astype(np.float32)
    inference.calibrate(definition, inference.BatchCalibrator([data])).write(
        str(tmp_path / "net.table"))
    return tmp_path


def arguments(folder, *more):
    files = ("net.prototxt", "net.caffemodel", "net.tflite")
    return [str(folder / name) for name in files] + list(more)


def test_program_writes_a_model(files, capsys):
    assert main(arguments(files, "--calibration-table", str(files / "net.table"))) == 0
    said = capsys.readouterr().out
    assert "input data: int8 1x17x15x3 (1x3x17x15 with the channels last), scale " in said
    assert "output prob: int8 1x5, scale 0.00390625, zero point -128" in said
    assert f"wrote {files / 'net.tflite'}: " in said
    names = sorted(path.name for path in files.iterdir())
    assert names == ["net.caffemodel", "net.prototxt", "net.table", "net.tflite"]
    model = (files / "net.tflite").read_bytes()
    outputs = run(model, {"data": np.zeros((1, 17, 15, 3), np.int8)})
    assert outputs["prob"].shape == (1, 5)


def test_program_calibrates_on_images(files, capsys):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    (files / "photos").mkdir()
    pixels = np.random.RandomState(seed_of_this_test()).randint(0, 256, (4, 20, 30, 3)).astype(np.uint8)
    for i, one in enumerate(pixels):
        image.fromarray(one).save(str(files / "photos" / f"{i}.png"))
    more = ["--images", str(files / "photos"), "--mean", "104,117,123", "--scale", "0.017",
            "--batch", "2", "--io-type", "float32"]
    assert main(arguments(files, *more)) == 0
    assert "input data/float32: float32 2x17x15x3" in capsys.readouterr().out
    (files / "empty").mkdir()
    assert main(arguments(files, "--images", str(files / "empty"))) == 1
    assert "there are no images in this folder" in capsys.readouterr().err


@pytest.mark.parametrize("more, message", [
    ([], "calibration"),
    (["--calibration-table", "nowhere.table"], "nowhere.table"),
    (["--images", "nowhere"], "--images nowhere: No such file or directory"),
    (["--batch", "0"], "--batch 0: at least 1"),
])
def test_what_is_wrong_is_one_line(files, capsys, more, message):
    assert main(arguments(files, *more)) == 1
    said = capsys.readouterr().err
    assert said.startswith("caffe.tflite: ") and message in said and said.count("\n") == 1
    assert not (files / "net.tflite").exists()


def test_layers_without_a_form_are_named(files, capsys):
    path = files / "net.prototxt"
    path.write_text(path.read_text() + """
        layer { name: "norm" type: "LRN" bottom: "concat" top: "norm" }""")
    assert main(arguments(files, "--calibration-table", str(files / "net.table"))) == 1
    assert "layer 'norm' (LRN)" in capsys.readouterr().err
