"""Nets that store half precision."""
import caffe
import numpy as np
import pytest

NET = """
    name: "half"
    default_forward_type: FLOAT16
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: "constant" value: 0.5 } } }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "relu" }
"""


@pytest.fixture
def net(write):
    return caffe.Net(write(NET), caffe.TEST)


def test_values_are_stored_in_half_precision_and_read_as_float32(net):
    blob = net.blobs["conv"]
    assert blob.data_type == "FLOAT16"
    assert blob.data.dtype == np.float32


def test_forward_reads_and_writes_float32_views(net):
    net.blobs["data"].data[...] = 3
    assert (net.forward()["relu"] == 3).all()


def test_data_as_float16_is_the_stored_memory(net):
    blob = net.blobs["conv"]
    half = blob.data_as(np.float16)
    half[...] = 1.5
    assert blob.data_as(np.float16).ctypes.data == half.ctypes.data
    assert (blob.data == 1.5).all()
    net._forward(2, 2)
    assert (net.blobs["relu"].data == 1.5).all()


def test_results_are_rounded_to_half_precision(net):
    net.blobs["data"].data[...] = 0.1
    value = net.forward()["relu"][0, 0, 0, 0]
    assert value == np.float32(np.float16(value))


def test_a_cached_view_of_weights_is_written_back_before_the_next_pass(net):
    weights = net.params["conv"][0].data
    net.blobs["data"].data[...] = 1
    assert (net.forward()["relu"] == 1).all()
    weights[...] = 2
    assert (net.forward()["relu"] == 4).all()
    weights[...] = 4
    assert (net.forward()["relu"] == 8).all()


def test_a_cached_view_of_a_blob_between_is_written_back(net):
    between = net.blobs["conv"].data
    net.forward()
    between[...] = 5
    assert (net.forward(start="relu")["relu"] == 5).all()


def test_a_cached_view_shows_new_results(net):
    between, half = net.blobs["conv"].data, net.blobs["conv"].data_as(np.float16)
    for value in (1, 2, 3):
        net.blobs["data"].data[...] = value
        net.forward()
        assert (between == value).all() and (half == value).all()


def test_of_two_views_the_one_asked_for_last_counts(net):
    blob = net.blobs["conv"]
    single, half = blob.data, blob.data_as(np.float16)
    single[...] = 1
    half[...] = 2
    assert (net.forward(start="relu")["relu"] == 2).all()
    half, single = blob.data_as(np.float16), blob.data
    half[...] = 1
    single[...] = 2
    assert (net.forward(start="relu")["relu"] == 2).all()


def test_save_stores_what_was_written(net, tmp_path, write):
    net.params["conv"][0].data[...] = 0.25
    net.save(tmp_path / "half.caffemodel")
    other = caffe.Net(write(NET, "other.prototxt"), caffe.TEST,
                      weights=tmp_path / "half.caffemodel")
    assert (other.params["conv"][0].data == 0.25).all()
    assert other.params["conv"][0].data_type == "FLOAT16"


def test_save_can_keep_half_precision(net, tmp_path, write):
    from caffe.proto import caffe_pb2
    weights = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2, 1, 1)
    net.params["conv"][0].data[...] = weights
    net.save(tmp_path / "half.caffemodel", raw=True)
    stored = caffe_pb2.NetParameter.FromString((tmp_path / "half.caffemodel").read_bytes())
    blob = next(layer for layer in stored.layer if layer.name == "conv").blobs[0]
    assert blob.raw_data_type == caffe_pb2.FLOAT16 and not blob.data
    assert blob.raw_data == weights.astype("<f2").tobytes()
    other = caffe.Net(write(NET.replace("FLOAT16", "FLOAT"), "full.prototxt"),
                      tmp_path / "half.caffemodel", caffe.TEST)
    np.testing.assert_array_equal(other.params["conv"][0].data, weights.astype(np.float16))


def test_save_keeps_what_is_trained_in_float32(solver_file, tmp_path):
    from caffe.proto import caffe_pb2
    from conftest import TRAIN_NET
    solver = caffe.SGDSolver(solver_file("default_forward_type: FLOAT16" + TRAIN_NET))
    solver.step(3)
    solver.net.save(tmp_path / "trained.caffemodel", raw=True)
    stored = caffe_pb2.NetParameter.FromString((tmp_path / "trained.caffemodel").read_bytes())
    blob = next(layer for layer in stored.layer if layer.name == "ip").blobs[0]
    assert blob.raw_data_type == caffe_pb2.FLOAT
    assert blob.raw_data == solver.net.params["ip"][0].data.tobytes()


def test_looking_at_values_does_not_change_how_they_are_stored(net):
    for blob in [net.blobs["conv"], net.params["conv"][0]]:
        blob.data
        assert blob.data_type == "FLOAT16"


def test_a_net_in_half_precision_trains(solver_file):
    from conftest import TRAIN_NET
    solver = caffe.SGDSolver(solver_file(
        "default_forward_type: FLOAT16 default_backward_type: FLOAT16" + TRAIN_NET))
    solver.step(1)
    first = float(solver.net.blobs["loss"].data)
    weights = solver.net.params["ip"][0].data
    before = weights.copy()
    solver.step(10)
    assert float(solver.net.blobs["loss"].data) < first
    assert (weights != before).all()
    weights[...] = 0.5
    solver.net.params["ip"][1].data[...] = 0
    solver.step(1)
    assert float(solver.net.blobs["loss"].data) == pytest.approx(first, rel=1e-2)
