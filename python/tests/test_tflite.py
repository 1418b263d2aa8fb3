"""Nets in integers as LiteRT models: what LiteRT computes is what the engine's arithmetic says."""
from __future__ import annotations

import sys
from typing import List

import numpy as np
import pytest
from layers_in_integers import EXACT, NEARLY, classifier, conv, function, pool, two
from litert_support import DEFAULT, REFERENCE, differences, interpreter, largest, run
from quantized_graphs import NetInIntegers, layer_of

from caffe._quantized_graph import Integers, QuantizedGraph, QuantizedNode, QuantizedValue
from caffe.tflite import ExportError, export_graph

@pytest.mark.parametrize("case", EXACT)
def test_layer_equals_the_engines_arithmetic(case):
    net = NetInIntegers()
    net.output(EXACT[case](net))
    assert largest(net) == 0
    assert largest(net, DEFAULT) <= 1


@pytest.mark.parametrize("case", NEARLY)
def test_layer_is_within_one(case):
    net = NetInIntegers()
    net.output(NEARLY[case](net))
    assert largest(net, REFERENCE) <= 1
    assert largest(net, DEFAULT) <= 1


def test_elu_is_an_operator_or_a_table():
    """LiteRT's reference kernels lack ELU."""
    def real(x):
        return np.where(x > 0, x, np.expm1(x))

    for text, operator in (("'ELU'", "ELU"), ("'ELU' elu_param { alpha: 1.5 }", "GATHER")):
        net = NetInIntegers()
        net.output(function(text, real, 0.03, 40)(net))
        assert operator in operators_of(export_graph(net.graph))
        assert largest(net, DEFAULT) <= 1


def test_three_blobs_are_added_two_at_a_time():
    net = NetInIntegers()
    a, b = two(net)
    c = net.input(2, 5, 4, 3, scale=0.02, zero_point=130)
    both = net.sum(a, b, 0.036, 115)  # of -3.82 to 4.6: nothing is clamped
    y = net.sum(both, c, 0.05, 125)
    net.output(y)
    node = net.graph.nodes.pop()
    net.graph.nodes[0] = QuantizedNode(node.name, "Eltwise", [a, b, c], [y], layer_of(
        "type: 'Eltwise'"), Integers())
    result = export_graph(net.graph)
    assert max(np.abs(d).max() for d in differences(net, REFERENCE, result).values()) <= 1
    assert any("two blobs at a time" in note for note in result.notes)


# Whole nets.


def operators_of(result) -> List[str]:
    """Names of a model's operators, as the schema has them."""
    import tflite
    names = {number: name for name, number in vars(tflite.BuiltinOperator).items()
             if isinstance(number, int)}
    model = tflite.Model.GetRootAs(result.content, 0)
    graph = model.Subgraphs(0)
    codes = [model.OperatorCodes(i).BuiltinCode() for i in range(model.OperatorCodesLength())]
    return [names[codes[graph.Operators(i).OpcodeIndex()]] for i in range(graph.OperatorsLength())]


def test_net_equals_the_engines_arithmetic():
    net = classifier(NetInIntegers())
    result = export_graph(net.graph)
    vectors, images = differences(net, REFERENCE, result).values()
    assert not images.any()
    # One step for LiteRT's rounding once in the last inner product, one for what those before it make of theirs.
    assert np.abs(vectors).max() <= 2
    # Only the flattened blob that is an output is brought into Caffe's order.
    assert operators_of(result).count("TRANSPOSE") == 1


def test_inner_products_take_flattened_images_without_a_transpose():
    net = classifier(NetInIntegers())
    net.graph.outputs.pop()
    assert "TRANSPOSE" not in operators_of(export_graph(net.graph))
    assert largest(net) <= 2  # in another order values would have nothing in common


def test_heads_of_detectors_lie_as_litert_has_them():
    """Permute to (N, H, W, C) and Flatten of images whose channels lie last move nothing."""
    net = NetInIntegers()
    x = net.input(2, 3, 8, 8)
    parts = []
    for outputs in (4, 6):
        y = net.convolution(x, outputs, zero_point=117)
        net.graph.values[y].scale = float(np.float32(0.02))  # as a table would join them
        net.graph.nodes[-1].integers = Integers()
        data = net.bytes[y].transpose(0, 2, 3, 1)
        order = "type: 'Permute' permute_param { order: 0 order: 2 order: 3 order: 1 }"
        permuted = net.like(order, [y], data)
        parts.append(net.like("type: 'Flatten'", [permuted], data.reshape(2, -1)))
    net.output(net.concat(*parts, zero_point=117))
    found = operators_of(export_graph(net.graph))
    assert "TRANSPOSE" not in found
    assert sorted(set(found)) == ["CONCATENATION", "CONV_2D", "RESHAPE"]


def test_moving_layers():
    net = NetInIntegers()
    x = net.input(2, 6, 4, 5)
    data = net.bytes[x]
    crop = "type: 'Crop' crop_param { axis: 2 offset: 1 offset: 2 }"
    net.output(
        *net.slice(x, 1, 2, 3), *net.slice(x, 3, 2),
        net.like("type: 'Permute' permute_param { order: 0 order: 3 order: 1 order: 2 }", [x],
                 data.transpose(0, 3, 1, 2)),
        net.like("type: 'Reshape'", [x], data.reshape(2, 3, 40)),
        net.like("type: 'Reshape'", [x], data.reshape(4, 60)),
        net.like(crop, [x], data[:, :, 1:3, 2:4]),
        net.like("type: 'Upsample' upsample_param { scale: 2 }", [x],
                 data.repeat(2, 2).repeat(2, 3)),
        net.like("type: 'ShuffleChannel' shuffle_channel_param { group: 2 }", [x],
                 data.reshape(2, 2, 3, 4, 5).swapaxes(1, 2).reshape(2, 6, 4, 5)),
        net.like("type: 'Softmax'", [x], data))
    net.graph.nodes.pop()
    net.graph.outputs.pop()
    assert largest(net) == 0


def test_factors_of_items_and_channels():
    """What squeeze and excitation does: a number for each channel of each item."""
    net = NetInIntegers()
    x, a = net.input(2, 5, 4, 3), net.input(2, 5, scale=1 / 256, zero_point=0)
    by = net.graph.values[x].scale / 256 / 0.02
    wide = net.centred(x) * net.centred(a).reshape(2, 5, 1, 1)
    y = np.clip(np.floor(wide * by + 0.5) + 125, 0, 255)
    net.output(net._add("type: 'Scale' scale_param { axis: 0 }", [x, a], y, 0.02, 125))
    assert largest(net) <= 1


def test_interpolation_is_within_one():
    net = NetInIntegers()
    x = net.input(1, 2, 3, 4)
    rows, columns = np.linspace(0, 2, 7), np.linspace(0, 3, 9)
    q = np.stack([[np.interp(rows, range(3), plane[:, c]) for c in range(4)]
                  for plane in net.bytes[x][0]]).swapaxes(1, 2)
    y = np.stack([[np.interp(columns, range(4), row) for row in plane] for plane in q])
    net.output(net.like("type: 'Interp' interp_param { height: 7 width: 9 }", [x],
                        np.floor(y + 0.5)[None]))
    assert largest(net) <= 1


def test_values_by_hand():
    """y = (2 (3 - 1) + 4 (5 - 1) + 10) / 4 - 3: int8 from 128 less than our bytes."""
    values = [QuantizedValue("x", (1, 2), "UINT8", 0.5, 1),
              QuantizedValue("y", (1, 1), "UINT8", 2, 3)]
    node = QuantizedNode(
        "ip", "InnerProduct", [0], [1],
        layer_of("type: 'InnerProduct' inner_product_param { num_output: 1 }"), Integers(),
        [np.array([[2, 4]], np.int8), np.array([10], np.int32), np.array([2**30], np.int32),
         np.array([-1], np.int32), np.array([1], np.float32)])
    graph = QuantizedGraph("hand", values, [node], [0], [1])
    result = export_graph(graph)
    assert result.notes == []
    x = np.array([[3, 5]]) - 128
    # 30 / 4 = 7.5: ties away from zero.
    assert run(result.content, {"x": x.astype(np.int8)})["y"].tolist() == [[8 + 3 - 128]]


def test_other_multipliers_than_litert_would_compute_are_told():
    net = NetInIntegers()
    net.output(conv()(net))
    net.graph.nodes[0].parameters[2][5] += 3
    notes = export_graph(net.graph).notes
    assert len(notes) == 1 and "output 5" in notes[0] and "convolution0" in notes[0]


@pytest.mark.parametrize("io_type", ["uint8", "float32"])
def test_other_types_of_inputs_and_outputs(io_type):
    interpreter()
    net = NetInIntegers()
    x = net.input(1, 3, 6, 5)
    y = net.convolution(x, 4)
    net.output(y)
    result = export_graph(net.graph, io_type)
    given, expected = net.bytes[x], net.bytes[y]
    if io_type == "float32":
        given = (net.centred(x) * net.graph.values[x].scale).astype(np.float32)
        expected = (net.centred(y) * net.graph.values[y].scale).astype(np.float32)
    name = result.inputs[0].name
    found = run(result.content, {name: np.ascontiguousarray(np.moveaxis(given, 1, -1))})
    np.testing.assert_array_equal(found[result.outputs[0].name], np.moveaxis(expected, 1, -1))
    assert f": {io_type} 1x6x5x3 (1x3x6x5 with the channels last)" in str(result.inputs[0])


# What has no form.


def refusal(net: NetInIntegers) -> str:
    with pytest.raises(ExportError) as caught:
        export_graph(net.graph)
    return str(caught.value)


def test_layers_without_an_operator_are_named_all_at_once():
    net = NetInIntegers()
    x = net.input(1, 4, 5, 5)
    y = net.like("type: 'LRN'", [x], net.bytes[x])
    net.output(net.like("type: 'MVN'", [y], net.bytes[y]))
    message = refusal(net)
    assert "layer 'lrn0' (LRN): LiteRT's operator has no 8-bit form" in message
    assert "layer 'mvn1' (MVN): LiteRT has no such operator: cut the net before it" in message


def test_layers_in_floats_are_refused_with_the_engines_reason():
    net = NetInIntegers()
    net.output(conv()(net))
    node = net.graph.nodes[0]
    node.integers = None
    net.graph.remarks.append(f"layer '{node.name}' (Convolution) computes in floats: the range of "
                             "blob 'data' is not known")
    assert ("it computes with floats (the range of blob 'data' is not known): calibrate again"
            in refusal(net))


def test_schemes_other_than_affine_are_refused():
    net = NetInIntegers()
    net.output(conv()(net))
    net.graph.nodes[0].integers.weight_zero_point = 128
    assert "'paper'" in refusal(net) and "export with the scheme 'affine'" in refusal(net)
    net.graph.values[1].type = "INT8"
    assert "its scales are symmetric" in refusal(net)


def test_averages_that_litert_cannot_divide_are_refused():
    net = NetInIntegers()
    net.output(pool("AVE", 5, 3, 2)(net))
    message = refusal(net)
    assert "layer 'pooling0' (Pooling): its last windows reach behind the image" in message


def test_products_of_three_blobs_are_refused():
    net = NetInIntegers()
    x = net.input(1, 4)
    net.output(net._add("type: 'Eltwise' eltwise_param { operation: PROD }", [x, x, x],
                        net.bytes[x], 0.02, 3))
    assert "it multiplies 3 blobs" in refusal(net)


@pytest.mark.parametrize("package", ["flatbuffers", "tflite"])
def test_packages_that_are_missing_are_named(package, monkeypatch):
    net = NetInIntegers()
    net.output(conv()(net))
    monkeypatch.setitem(sys.modules, package, None)
    assert "pip install flatbuffers tflite" in refusal(net)


def test_file_that_cannot_be_written(tmp_path):
    net = NetInIntegers()
    net.output(conv()(net))
    result = export_graph(net.graph)
    with pytest.raises(ExportError, match="No such file or directory"):
        result.write(str(tmp_path / "nowhere" / "net.tflite"))
    (tmp_path / "net.tflite").mkdir()
    with pytest.raises(ExportError, match="net.tflite"):
        result.write(str(tmp_path / "net.tflite"))
    assert [path.name for path in tmp_path.iterdir()] == ["net.tflite"]
