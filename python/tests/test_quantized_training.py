"""`caffe train -quantize` and `caffe test` of a net that was trained so."""
import os
import subprocess

import numpy as np
import pytest

import caffe
from caffe import inference

NET = """
    name: "tiny"
    layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
      shape { dim: 4 dim: 3 } shape { dim: 4 } data_filler { type: "gaussian" }
      data_filler { type: "constant" value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
      inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """
    net: "net.prototxt" base_lr: 0.5 lr_policy: "fixed" max_iter: 4 test_iter: 1 test_interval: 2
    snapshot_prefix: "tiny" solver_mode: CPU
"""


@pytest.fixture
def caffe_in(build, write, tmp_path):
    write(NET)
    write(SOLVER, "solver.prototxt")

    def run(*arguments):
        environment = dict(os.environ, GLOG_minloglevel="0")
        return subprocess.run([str(build / "tools/caffe"), *arguments], cwd=tmp_path, text=True,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
    return run


def test_the_flag_switches_it_on(caffe_in, tmp_path, write):
    done = caffe_in("train", "-solver", "solver.prototxt", "-quantize")
    assert done.returncode == 0, done.stdout
    assert "Iteration 0: weights of 1 layers are rounded to 8 bits (AFFINE), 2 blobs to 8 bits" in (
        done.stdout)
    assert b"data_quantization" in (tmp_path / "tiny_iter_4.caffemodel").read_bytes()
    write("quantized_training { }" + NET)
    done = caffe_in("test", "-model", "net.prototxt", "-weights", "tiny_iter_4.caffemodel",
                    "-iterations", "1")
    assert done.returncode == 0, done.stdout


def test_its_options_take_the_place_of_the_nets(caffe_in, write):
    write("quantized_training { weight_bits: 3 scheme: PAPER }" + NET)
    done = caffe_in("train", "-solver", "solver.prototxt", "-quantize",
                    "weight_bits: 4 start_iter: 1 activation_delay: 2")
    assert done.returncode == 0, done.stdout
    for line in ("Iteration 0: quantized training begins at iteration 1, until then in float",
                 "Iteration 1: weights of 1 layers are rounded to 4 bits (PAPER), the ranges of 2 "
                 "blobs are observed until iteration 3",
                 "Iteration 3: weights of 1 layers are rounded to 4 bits (PAPER), 2 blobs to 8"):
        assert line in done.stdout


@pytest.mark.parametrize("options, message", [
    ("weight_bits: 9", "weight_bits must lie from 2 to 8, got 9"),
    ("weight_bit: 4", "weight_bits"),
    ("scheme: AFINE", "AFFINE"),
])
def test_wrong_options_are_named(caffe_in, options, message):
    done = caffe_in("train", "-solver", "solver.prototxt", "-quantize", options)
    assert done.returncode == 1
    assert message in done.stdout


def test_graphs_of_few_bits_are_of_integers_alone(tmp_path):
    """Exporters take no node that computes with floats: inputs are clamped in integers."""
    layers = """
        layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
        layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
          inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }"""
    (tmp_path / "train.prototxt").write_text("quantized_training { activation_bits: 4 }" + layers)
    (tmp_path / "net.prototxt").write_text(layers)
    net = caffe.Net(str(tmp_path / "train.prototxt"), caffe.TRAIN)
    net.blobs["data"].data[...] = np.linspace(-1, 1, 6).reshape(2, 3)
    net.forward()
    net.save(str(tmp_path / "net.caffemodel"))
    graph = inference.quantized_graph(inference.NetworkDefinition.from_caffe(
        str(tmp_path / "net.prototxt"), str(tmp_path / "net.caffemodel")))
    assert [node.name for node in graph.nodes] == ["data_clamp", "ip"]
    assert all(node.integers is not None for node in graph.nodes)
    assert {graph.values[i].type for i in graph.inputs} == {"UINT8"}
