"""Single layers: create_layer, LayerParameter, Layer."""
import caffe
import numpy as np
import pytest
from caffe.proto import caffe_pb2

TEXT = 'name: "ip" type: "InnerProduct" inner_product_param { num_output: 2 }'


def message():
    param = caffe_pb2.LayerParameter(name="ip", type="InnerProduct")
    param.inner_product_param.num_output = 2
    return param


@pytest.mark.parametrize("description", [TEXT, message(), caffe.LayerParameter(TEXT),
                                         caffe.LayerParameter(message())])
def test_create_layer(description):
    layer = caffe.create_layer(description)
    assert isinstance(layer, caffe.Layer) and layer.type == "InnerProduct"
    assert caffe.LayerBase is caffe.Layer  # NVCaffe's name
    assert layer.layer_param.to_message() == message()
    assert "'ip' of type InnerProduct" in repr(layer)


def test_a_layer_run_by_hand():
    layer = caffe.create_layer(TEXT)
    bottom, top = caffe.Blob([1, 3]), caffe.Blob([1])
    layer.SetUp([bottom], [top])
    assert top.shape == (1, 2)
    layer.blobs[0].data[...] = [[1, 2, 3], [4, 5, 6]]
    bottom.data[...] = 1
    assert layer.Forward([bottom], [top]) == 0
    assert (top.data == [[6, 15]]).all()
    top.diff[...] = [[1, 10]]
    layer.Backward([top], [True], [bottom])
    assert (bottom.diff == [[41, 52, 63]]).all()
    assert (layer.blobs[0].diff == [[1, 1, 1], [10, 10, 10]]).all()
    bottom.reshape(4, 3)
    layer.Reshape([bottom], [top])
    assert top.shape == (4, 2)


def test_cached_arrays_of_a_layer_run_by_hand():
    layer = caffe.create_layer('type: "Power" power_param { scale: 2 }')
    bottom, top = caffe.Blob([2]), caffe.Blob([2])
    layer.setup([bottom], [top])
    source, result = bottom.data, top.data
    for value in (1, 2):
        source[...] = value
        layer.Forward([bottom], [top])
        assert (result == 2 * value).all()


def test_forward_returns_the_loss():
    layer = caffe.create_layer('type: "EuclideanLoss" loss_weight: 2')
    blobs, loss = [caffe.Blob([1, 2]), caffe.Blob([1, 2])], caffe.Blob([1])
    blobs[0].data[...] = 3
    layer.SetUp(blobs, [loss])
    assert layer.Forward(blobs, [loss]) == 2 * 9


def test_a_python_layer():
    layer = caffe.create_layer(
        'type: "Python" python_param { module: "pycaffe_test_layers" layer: "AddNumber" '
        'param_str: "2" }')
    bottom, top = caffe.Blob([2]), caffe.Blob([1])
    layer.SetUp([bottom], [top])
    layer.Forward([bottom], [top])
    assert (top.data == 2).all() and layer.calls[0] == "setup"


def test_layer_parameter():
    param = caffe.LayerParameter(TEXT)
    assert param.name == "ip" and param.type == "InnerProduct" and "num_output: 2" in str(param)


@pytest.mark.parametrize("description, error, message", [
    ('type: "Nonsense"', caffe.Error, "Nonsense"),
    ('tipe: "ReLU"', caffe.Error, "layer parameter:1:5: .*tipe"),
    (3, TypeError, "not by <class 'int'>"),
    (caffe_pb2.NetParameter(), TypeError, "not by"),
])
def test_bad_descriptions(description, error, message):
    with pytest.raises(error, match=message):
        caffe.create_layer(description)


def test_wrong_numbers_of_blobs():
    layer = caffe.create_layer(TEXT)
    with pytest.raises(caffe.Error, match="exactly 1 bottom"):
        layer.SetUp([], [caffe.Blob([1])])
    with pytest.raises(caffe.Error, match="propagate_down has 2"):
        layer.Backward([caffe.Blob([1])], [True, True], [caffe.Blob([1])])


def test_layer_type_list():
    types = caffe.layer_type_list()
    assert {"Convolution", "Python", "DetectionOutput"} <= set(types) and types == sorted(types)
