"""What a layer changes in place changes, as in Caffe, all blobs of that memory in the exported net, too."""
from __future__ import annotations

import pytest
from onnx_support import CaffeNet, input_text, parse

from caffe.onnx import ExportError, export_net

SHAPE = (2, 3, 4, 5)

# Layers whose tops are the memory of their bottom, 'c'; 'f' is one of them.
SHARING = {
    "Flatten": "layer { name: 'f' type: 'Flatten' bottom: 'c' top: 'f' }",
    "Reshape": "layer { name: 'f' type: 'Reshape' bottom: 'c' top: 'f' "
               "reshape_param { shape { dim: 0 dim: -1 } } }",
    "Concat": "layer { name: 'f' type: 'Concat' bottom: 'c' top: 'f' }",
    "Split": "layer { name: 'f' type: 'Split' bottom: 'c' top: 'f' top: 'g' }",
    "Reshape of a Flatten": "layer { name: 'v' type: 'Flatten' bottom: 'c' top: 'v' } "
                            "layer { name: 'f' type: 'Reshape' bottom: 'v' top: 'f' "
                            "reshape_param { shape { dim: -1 dim: 6 } } }",
}
IN_PLACE = "layer { name: 'r' type: 'ReLU' bottom: 'f' top: 'f' %s } "
READER = "layer { name: 'y' type: 'Power' bottom: 'c' top: 'y' power_param { shift: 2 } } "


def net_text(*layers):
    return (input_text("data", SHAPE) +
            "layer { name: 'c' type: 'Power' bottom: 'data' top: 'c' power_param { scale: 3 } } " +
            " ".join(layers))


def nodes(text):
    return [node.op_type for node in export_net(parse(text), None).model.graph.node]


def check(text, folder, **options):
    net = CaffeNet(text, folder)
    net.check({"data": net.random(SHAPE)}, **options)


@pytest.mark.parametrize("name", SHARING)
def test_readers_of_the_bottom_see_the_change(name, tmp_path):
    check(net_text(SHARING[name], IN_PLACE % "", READER), tmp_path)


@pytest.mark.parametrize("name", SHARING)
def test_readers_before_the_change_do_not(name, tmp_path):
    check(net_text(SHARING[name], READER, IN_PLACE % ""), tmp_path)


def test_each_of_several_changes_is_seen(tmp_path):
    check(net_text(SHARING["Split"], IN_PLACE % "", READER,
                   "layer { name: 's' type: 'Sigmoid' bottom: 'g' top: 'g' } "
                   "layer { name: 'z' type: 'TanH' bottom: 'f' top: 'z' }"), tmp_path)


def test_batches_of_any_size(tmp_path):
    check(net_text(SHARING["Flatten"], IN_PLACE % "", READER), tmp_path, batch="dynamic")


def test_where_no_layer_looks_nothing_is_added():
    assert nodes(net_text(SHARING["Flatten"], IN_PLACE % "")) == ["Mul", "Reshape", "Relu"]
    drop = "layer { name: 'r' type: 'Dropout' bottom: 'f' top: 'f' } "
    assert nodes(net_text(SHARING["Flatten"], drop, READER)) == ["Mul", "Reshape", "Add"]


def test_a_convolution_keeps_its_bottom(tmp_path):
    """Written in place it has, in a net, a tensor of its own."""
    check(net_text("layer { name: 'f' type: 'Concat' bottom: 'c' top: 'f' } "
                   "layer { name: 'k' type: 'Convolution' bottom: 'f' top: 'f' convolution_param { "
                   "num_output: 3 kernel_size: 1 } }", IN_PLACE % "", READER), tmp_path)


@pytest.mark.parametrize("field", ["forward_type: FLOAT16", "backward_type: FLOAT16"])
def test_types_of_their_own_are_refused_where_it_matters(field, tmp_path):
    """A net keeps such a layer's two blobs apart, if the types differ."""
    with pytest.raises(ExportError, match=r"^layer 'r' \(ReLU\): .*in place on blob 'f', in the memory of "
                       "blob 'c', .*a name of its own$"):
        export_net(parse(net_text(SHARING["Flatten"], IN_PLACE % field, READER)), None)
    check(net_text(SHARING["Flatten"], IN_PLACE % field), tmp_path, relative=2e-3)
