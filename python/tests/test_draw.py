"""caffe.draw: drawings of nets."""
import shutil
import sys

import pytest
from google.protobuf import text_format

from caffe import draw
from caffe.proto import caffe_pb2

NET = """
    name: "small"
    layer { name: "in" type: "Data" top: "data" top: "label" data_param { batch_size: 64 } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            param { lr_mult: 1 } param { lr_mult: 2 }
            convolution_param { num_output: 20 kernel_size: 5 stride: 2 pad: 1 } }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" include { phase: TRAIN }
            pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
    layer { name: "score" type: "InnerProduct" bottom: "pool" top: "score"
            inner_product_param { num_output: 10 } exclude { phase: TEST } }
"""


def net_of(text=NET):
    return text_format.Parse(text, caffe_pb2.NetParameter())


def layer_of(text):
    return text_format.Parse(text, caffe_pb2.LayerParameter())


def edges(graph):
    return {(edge.get_source().strip('"'), edge.get_destination().strip('"')):
            (edge.get_label() or "").strip('"') for edge in graph.get_edges()}


def nodes(graph):
    return {node.get_name().strip('"'): node for node in graph.get_nodes()}


# --- Texts and colours ---


@pytest.mark.parametrize("layer, label", [
    ('type: "Data" data_param { batch_size: 64 }', "Batch 64"),
    ('type: "Convolution" convolution_param { num_output: 20 }', "20"),
    ('type: "Deconvolution" convolution_param { num_output: 21 }', "21"),
    ('type: "InnerProduct" inner_product_param { num_output: 10 }', "10"),
    ('type: "ReLU"', '""')])
def test_edge_labels(layer, label):
    assert draw.get_edge_label(layer_of(layer)) == label


@pytest.mark.parametrize("layer, label", [
    ('name: "r" type: "ReLU"', r'"r\n(ReLU)"'),
    ('name: "c" type: "Convolution" convolution_param { kernel_size: 5 stride: 2 pad: 1 }',
     r'"c\n(Convolution)\nkernel size: 5\nstride: 2\npad: 1"'),
    ('name: "c" type: "Convolution" convolution_param { kernel_h: 3 kernel_w: 1 }',
     r'"c\n(Convolution)\nkernel size: 3x1\nstride: 1\npad: 0"'),
    ('name: "c" type: "Deconvolution" convolution_param { kernel_size: 4 kernel_size: 6 }',
     r'"c\n(Deconvolution)\nkernel size: 4x6\nstride: 1\npad: 0"'),
    ('name: "p" type: "Pooling" pooling_param { kernel_size: 3 stride: 2 }',
     r'"p\n(MAX Pooling)\nkernel size: 3\nstride: 2\npad: 0"'),
    ('name: "p" type: "Pooling" pooling_param { pool: AVE global_pooling: true }',
     r'"p\n(AVE Pooling)\nglobal"')])
def test_layer_labels(layer, label):
    assert draw.get_layer_label(layer_of(layer), "LR") == label
    assert draw.get_layer_label(layer_of(layer), "TB") == label.replace(r"\n", " ")


def test_layer_labels_with_learning_rates():
    conv = net_of().layer[1]
    assert draw.get_layer_label(conv, "TB", display_lrm=True).endswith('pad: 1 lr mult: 1, 2"')
    relu = layer_of('name: "r" type: "ReLU"')
    assert draw.get_layer_label(relu, "TB", display_lrm=True) == '"r (ReLU)"'


def test_layer_labels_keep_characters_that_graphviz_reads():
    assert draw.get_layer_label(layer_of('name: "a|b{c}" type: "ReLU"'), "TB") == \
        r'"a\|b\{c\} (ReLU)"'


def test_colours():
    kinds = ("Convolution", "Deconvolution", "Pooling", "InnerProduct", "LRN", "ReLU")
    colors = {kind: draw.choose_color_by_layertype(kind) for kind in kinds}
    assert colors == {"Convolution": "#FF5050", "Deconvolution": "#FF5050", "Pooling": "#FF9900",
                      "InnerProduct": "#CC33FF", "LRN": "#6495ED", "ReLU": "#6495ED"}


def test_pooling_types():
    assert draw.get_pooling_types_dict() == {0: "MAX", 1: "AVE", 2: "STOCHASTIC"}


# --- Graphs ---


def test_layers_and_blobs_are_joined():
    pytest.importorskip("pydot")
    graph = draw.get_pydot_graph(net_of(), "LR")
    assert graph.get_rankdir() == "LR"
    assert edges(graph) == {
        ("in_Data", "data_blob"): "Batch 64", ("in_Data", "label_blob"): "Batch 64",
        ("data_blob", "conv_Convolution"): "", ("conv_Convolution", "conv_blob"): "20",
        ("conv_blob", "relu_ReLU"): "", ("relu_ReLU", "conv_blob"): "",
        ("conv_blob", "pool_Pooling"): "", ("pool_Pooling", "pool_blob"): "",
        ("pool_blob", "score_InnerProduct"): "", ("score_InnerProduct", "score_blob"): "10"}
    drawn = nodes(graph)
    assert drawn["relu_ReLU"].get_fillcolor().strip('"') == "#90EE90"  # in place
    assert drawn["conv_Convolution"].get_fillcolor().strip('"') == "#FF5050"
    assert drawn["conv_blob"].get_shape() == "octagon"


def test_edges_without_labels():
    pytest.importorskip("pydot")
    assert set(edges(draw.get_pydot_graph(net_of(), "LR", label_edges=False)).values()) == {""}


@pytest.mark.parametrize("phase, present", [
    (None, {"pool_Pooling", "score_InnerProduct"}),
    (caffe_pb2.TRAIN, {"pool_Pooling", "score_InnerProduct"}), (caffe_pb2.TEST, set())])
def test_layers_of_one_phase(phase, present):
    pytest.importorskip("pydot")
    drawn = set(nodes(draw.get_pydot_graph(net_of(), "LR", phase=phase)))
    assert drawn & {"pool_Pooling", "score_InnerProduct"} == present


# --- Nets in old formats ---

CONV_V0 = """
    layers { layer { name: "conv" type: "conv" num_output: 20 kernelsize: 5 pad: 2 }
             bottom: "data" top: "conv" }
"""
CONV_V1 = """
    layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv"
             convolution_param { num_output: 20 kernel_size: 5 pad: 2 } }
"""
CONV_V2 = """
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 20 kernel_size: 5 pad: 2 } }
"""
INPUT_DIM = 'input: "data" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8'
INPUT_SHAPE = 'input: "data" input_shape { dim: 1 dim: 3 dim: 8 dim: 8 }'


@pytest.mark.parametrize("text", [
    INPUT_DIM + CONV_V0, INPUT_DIM + CONV_V1, INPUT_DIM + CONV_V2, INPUT_SHAPE + CONV_V2],
    ids=["V0", "V1", "input_dim", "input_shape"])
def test_nets_of_any_age_are_drawn_alike(text):
    pytest.importorskip("pydot")
    pytest.importorskip("caffe._caffe", reason="the compiled module upgrades nets")
    net = net_of(text)
    graph = draw.get_pydot_graph(net, "TB")
    assert edges(graph) == {("input_Input", "data_blob"): "", ("data_blob", "conv_Convolution"): "",
                            ("conv_Convolution", "conv_blob"): "20"}
    assert "kernel size: 5 stride: 1 pad: 2" in nodes(graph)["conv_Convolution"].get_label()
    assert net == net_of(text), "the caller's net stays as it is"


def test_an_old_net_with_an_unknown_layer():
    pytest.importorskip("pydot")
    module = pytest.importorskip("caffe._caffe", reason="the compiled module upgrades nets")
    with pytest.raises(module.Error, match="magic"):
        draw.get_pydot_graph(net_of('layers { layer { name: "m" type: "magic" } }'), "LR")


# --- Files ---


def test_graphvizs_text_needs_no_graphviz(tmp_path):
    pytest.importorskip("pydot")
    path = tmp_path / "net.dot"
    draw.draw_net_to_file(net_of(), str(path), "TB", caffe_pb2.TRAIN, True)
    text = path.read_text()
    assert text.startswith("digraph") and "rankdir=TB" in text and "lr mult: 1, 2" in text
    assert [entry.name for entry in tmp_path.iterdir()] == ["net.dot"]


@pytest.mark.parametrize("ext, begin", [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_images(tmp_path, ext, begin):
    pytest.importorskip("pydot")
    try:
        drawing = draw.draw_net(net_of(), "LR", ext)
    except RuntimeError as error:
        assert "apt-get install graphviz" in str(error)
        pytest.skip(str(error))
    assert drawing.startswith(begin)


def test_an_extension_that_graphviz_does_not_write(tmp_path):
    pytest.importorskip("pydot")
    if not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    with pytest.raises(ValueError, match=r"Graphviz does not write \.xyz: use \.png"):
        draw.draw_net_to_file(net_of(), str(tmp_path / "net.xyz"))


def test_without_graphviz_a_message_says_what_to_install(monkeypatch):
    pytest.importorskip("pydot")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="apt-get install graphviz"):
        draw.draw_net(net_of(), "LR", "png")


def test_without_pydot_a_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydot", None)
    with pytest.raises(ImportError, match="pip install pydot"):
        draw.draw_net(net_of(), "LR", "png")


def test_a_file_without_an_extension(tmp_path):
    with pytest.raises(ValueError, match="extension"):
        draw.draw_net_to_file(net_of(), str(tmp_path / "net"))
