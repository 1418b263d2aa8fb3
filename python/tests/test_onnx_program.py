"""The program python -m caffe.onnx, and what it says about bad input."""
from __future__ import annotations

import os

import numpy as np
import pytest
from onnx_support import ROOT, CaffeNet, MadeUpWeights, input_text, onnx, outputs_of, parse
from seeds import seed_of_this_test

from caffe.onnx import ExportError, Options, export, export_net
from caffe.onnx.__main__ import main
from caffe.onnx.caffemodel import StoredLayer, read_weights
from caffe.onnx.layer import EXPORTERS
from caffe.onnx.layers.data import input_shapes
from caffe.onnx.layers.losses import EVALUATIONS, INEXPRESSIBLE, PENALTIES
from caffe.onnx.weights import Weights
from caffe.proto import caffe_pb2

SMALL = input_text("data", (2, 3, 8, 8)) + """
    layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
            convolution_param { num_output: 4 kernel_size: 3 } }
    layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip'
            inner_product_param { num_output: 5 } }
    layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }"""


@pytest.fixture(name="small")
def small_files(tmp_path):
    """A description and a caffemodel, made without the compiled module."""
    net = parse(SMALL)
    weights = MadeUpWeights(net)
    export_net(net, weights)
    stored = caffe_pb2.NetParameter()
    for layer in net.layer:
        kept = stored.layer.add(name=layer.name, type=layer.type)
        for _, values in sorted(weights.used.get(layer.name, {}).items()):
            blob = kept.blobs.add(data=values.ravel().tolist())
            blob.shape.dim.extend(values.shape)
    (tmp_path / "net.prototxt").write_text(SMALL)
    (tmp_path / "net.caffemodel").write_bytes(stored.SerializeToString())
    return tmp_path


def arguments(folder, *more):
    files = ("net.prototxt", "net.caffemodel", "net.onnx")
    return [str(folder / name) for name in files] + list(more)


def shape_of(folder):
    model = onnx.load(str(folder / "net.onnx"))
    return [axis.dim_param or axis.dim_value
            for axis in model.graph.input[0].type.tensor_type.shape.dim]


def test_writes_a_model(small, capsys):
    assert main(arguments(small)) == 0
    model = onnx.load(str(small / "net.onnx"))
    assert [output.name for output in model.graph.output] == ["prob"]
    assert shape_of(small) == [2, 3, 8, 8]
    assert model.opset_import[0].version == Options.opset
    assert "wrote" in capsys.readouterr().out
    assert sorted(os.listdir(small)) == ["net.caffemodel", "net.onnx", "net.prototxt"]


def test_checks_itself(tmp_path, capsys):
    CaffeNet(SMALL, tmp_path)
    assert main(arguments(tmp_path, "--check", "yes")) == 0
    assert "output prob (2x5): differs from Caffe's by at most" in capsys.readouterr().out


def test_batch_and_shapes(small):
    assert main(arguments(small, "--batch", "dynamic")) == 0
    assert shape_of(small) == ["batch", 3, 8, 8]
    assert main(arguments(small, "--batch", "7", "--opset", "13")) == 0
    assert shape_of(small) == [7, 3, 8, 8]
    assert main(arguments(small, "--shape", "data:any,3,8,8")) == 0
    assert shape_of(small) == ["any", 3, 8, 8]


def test_half_precision(small):
    assert main(arguments(small, "--fp16")) == 0
    model = onnx.load(str(small / "net.onnx"))
    half = onnx.TensorProto.FLOAT16
    assert model.graph.input[0].type.tensor_type.elem_type == half
    assert {tensor.data_type for tensor in model.graph.initializer
            if tensor.data_type != onnx.TensorProto.INT64} == {half}


def test_types_by_layer():
    """Own fields beat the net's default; a layer in place has the type of its bottom."""
    net = parse("default_forward_type: FLOAT16 " + SMALL.replace(
        "name: 'ip' type", "name: 'ip' forward_type: FLOAT type"))
    weights = MadeUpWeights(net)
    model = export_net(net, weights).model
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    assert types["conv/weights"] == onnx.TensorProto.FLOAT16
    assert types["ip/weights"] == onnx.TensorProto.FLOAT
    data = np.random.default_rng(seed_of_this_test()).uniform(-1, 1, (2, 3, 8, 8))
    half = outputs_of(net, weights, {"data": data.astype(np.float16)})["prob"]
    full = outputs_of(parse(SMALL), weights, {"data": data.astype(np.float32)})["prob"]
    np.testing.assert_allclose(half, full, atol=5e-3)


def test_moved_indices_are_not_rounded():
    """As in Net: ArgMax writes FLOAT, and so do layers that move what it writes."""
    net = parse("default_forward_type: FLOAT16 " + input_text("x", (1, 4000)) + """
        layer { name: 'best' type: 'ArgMax' bottom: 'x' top: 'best' argmax_param { top_k: 2 } }
        layer { name: 'turned' type: 'Permute' bottom: 'best' top: 'turned'
                permute_param { order: 2 order: 0 order: 1 } }
        layer { name: 'slice' type: 'Slice' bottom: 'turned' top: 'first' top: 'second'
                slice_param { axis: 0 } }
        layer { name: 'joined' type: 'Concat' bottom: 'second' bottom: 'first' top: 'joined'
                concat_param { axis: 0 } }
        layer { name: 'next' type: 'Power' bottom: 'joined' top: 'joined' power_param { shift: 2 } }
        layer { name: 'rounded' type: 'Power' bottom: 'first' top: 'rounded' }
        layer { name: 'moved' type: 'Flatten' bottom: 'rounded' top: 'moved' }
        layer { name: 'half' type: 'Tile' bottom: 'second' top: 'half' forward_type: FLOAT16
                tile_param { tiles: 1 } }
        """)
    x = np.zeros((1, 4000), np.float16)
    x[0, [3333, 2051]] = 2, 1
    outputs = outputs_of(net, MadeUpWeights(net), {"x": x})
    assert outputs["joined"].ravel().tolist() == [2053, 3335]
    assert outputs["half"].ravel().tolist() == [2052] and outputs["half"].dtype == np.float16
    assert outputs["moved"].ravel().tolist() == [3332] and outputs["moved"].dtype == np.float16


@pytest.mark.parametrize("between", ["", "forward_type: FLOAT16"])
def test_inputs_that_are_indices_are_not_rounded(between):
    """Unless a layer on the way says that it is FLOAT16."""
    net = parse("default_forward_type: FLOAT16 " + input_text("words", (2, 3)) + f"""
        layer {{ name: 'turned' type: 'Permute' bottom: 'words' top: 'turned' {between}
                permute_param {{ order: 1 order: 0 }} }}
        layer {{ name: 'embed' type: 'Embed' bottom: 'turned' top: 'y'
                embed_param {{ input_dim: 4000 num_output: 2 bias_term: false }} }}""")
    weights = MadeUpWeights(net)
    words = np.array([[2051, 2999, 1], [2, 2049, 7]], np.float16 if between else np.float32)
    y = outputs_of(net, weights, {"words": words})["y"]
    table = weights.used["embed"][0].astype(np.float16)
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, table[words.T.astype(int)])


def test_training_file():
    """Data becomes an input, the loss what it is computed from; labels and measures go."""
    net = parse("""
        layer { name: 'data' type: 'Data' top: 'data' top: 'label' include { phase: TEST }
                data_param { batch_size: 5 } transform_param { crop_size: 4 mean_value: 1
                mean_value: 2 mean_value: 3 } }
        layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
                inner_product_param { num_output: 5 } }
        layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy' }
        layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
        layer { name: 'aside' type: 'Silence' bottom: 'label' }
        layer { name: 'train' type: 'EuclideanLoss' bottom: 'ip' bottom: 'label' top: 'other'
                include { phase: TRAIN } }""")
    result = export_net(net, MadeUpWeights(net))
    assert [info.name for info in result.model.graph.input] == ["data"]
    assert [info.name for info in result.model.graph.output] == ["loss"]
    assert any("exported as Softmax" in note for note in result.notes)
    assert any("'accuracy' (Accuracy) is left out" in note for note in result.notes)


def test_old_forms_are_upgraded():
    v1 = parse("""input: 'data' input_dim: 2 input_dim: 3 input_dim: 8 input_dim: 8
        layers { name: 'conv' type: CONVOLUTION bottom: 'data' top: 'conv'
                 convolution_param { num_output: 4 kernel_size: 3 } }
        layers { name: 'relu' type: RELU bottom: 'conv' top: 'conv' }
        layers { name: 'ip' type: INNER_PRODUCT bottom: 'conv' top: 'ip'
                 inner_product_param { num_output: 5 } }
        layers { name: 'prob' type: SOFTMAX bottom: 'ip' top: 'prob' }""")
    v0 = parse("""input: 'data' input_dim: 2 input_dim: 3 input_dim: 6 input_dim: 6
        layers { layer { name: 'pad' type: 'padding' pad: 1 } bottom: 'data' top: 'pad' }
        layers { layer { name: 'conv' type: 'conv' num_output: 4 kernelsize: 3 } bottom: 'pad'
                 top: 'conv' }
        layers { layer { name: 'relu' type: 'relu' } bottom: 'conv' top: 'conv' }
        layers { layer { name: 'ip' type: 'innerproduct' num_output: 5 } bottom: 'conv' top: 'ip' }
        layers { layer { name: 'prob' type: 'softmax' } bottom: 'ip' top: 'prob' }""")
    assert [layer.type for layer in v1.layer] == [layer.type for layer in parse(SMALL).layer]
    assert [layer.type for layer in v0.layer] == [layer.type for layer in v1.layer]
    assert list(v0.layer[1].convolution_param.pad) == [1]
    data = np.random.default_rng(seed_of_this_test()).uniform(-1, 1, (2, 3, 8, 8)).astype(np.float32)
    now = parse(SMALL)
    np.testing.assert_array_equal(outputs_of(v1, MadeUpWeights(v1), {"data": data})["prob"],
                                  outputs_of(now, MadeUpWeights(now), {"data": data})["prob"])


def test_old_crops_need_the_upgrade():
    with pytest.raises(ExportError, match=r"layer 'crop' \(CROP\): upgrade_net_proto_text finds"):
        parse("layers { name: 'crop' type: CROP bottom: 'a' bottom: 'b' top: 'c' }")


class TestWeights:
    """Files of weights."""

    def read(self, tmp_path, net):
        path = tmp_path / "it.caffemodel"
        path.write_bytes(net.SerializeToString())
        return read_weights(str(path))

    def test_raw_half_precision(self, tmp_path):
        net = caffe_pb2.NetParameter()
        blob = net.layer.add(name="a", type="Scale").blobs.add(
            raw_data_type=caffe_pb2.FLOAT16, raw_data=np.array([1.5, -2], np.float16).tobytes())
        blob.shape.dim.append(2)
        assert self.read(tmp_path, net)[0].blobs[0].tolist() == [1.5, -2]

    def test_v1_and_v0(self, tmp_path):
        net = caffe_pb2.NetParameter()
        net.layers.add(name="a").blobs.add(num=1, channels=1, height=1, width=2, data=[1, 2])
        net.layers.add().layer.name = "b"
        net.layers[1].layer.blobs.add(num=1, channels=1, height=2, width=1, data=[3, 4])
        a, b = self.read(tmp_path, net)
        assert (a.name, a.blobs[0].tolist()) == ("a", [[[[1, 2]]]])
        assert (b.name, b.blobs[0].tolist()) == ("b", [[[[3], [4]]]])

    def test_double(self, tmp_path):
        net = caffe_pb2.NetParameter()
        net.layer.add(name="a").blobs.add(double_data=[0.5]).shape.dim.append(1)
        assert self.read(tmp_path, net)[0].blobs[0].tolist() == [0.5]

    def test_damaged_files(self, tmp_path):
        net = caffe_pb2.NetParameter()
        net.layer.add(name="a").blobs.add(data=[1, 2, 3]).shape.dim.append(3)
        whole = net.SerializeToString()
        path = tmp_path / "it.caffemodel"
        for content in (whole[:-3], whole[:7], b"\xff" * 20, b"layer { }"):
            path.write_bytes(content)
            with pytest.raises(ExportError, match="it.caffemodel: is not a caffemodel, or is damaged"):
                read_weights(str(path))

    def test_shapes_that_differ(self):
        weights = Weights([StoredLayer("a", blobs=[np.zeros((2, 3), np.float32)])], "w.caffemodel")
        with pytest.raises(ExportError, match="w.caffemodel: layer 'a', blob 0 has shape 2 x 3, "
                                              "the net needs 3 x 3"):
            weights("a", 0, (3, 3))
        with pytest.raises(ExportError, match="has no weights for layer 'b'"):
            weights("b", 0, (1,))
        with pytest.raises(ExportError, match="layer 'a' has 1 blobs"):
            weights("a", 1, (1,))

    def test_legacy_shape(self):
        blob = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
        assert Weights([StoredLayer("a", blobs=[blob])], "w")("a", 0, (2, 3)).shape == (2, 3)


def batch_norm_net(scale_bias, with_scale):
    scale = """layer { name: 'scale' type: 'Scale' bottom: 'bn' top: 'out'
                       scale_param { bias_term: true } }"""
    flag = "batch_norm_param { scale_bias: true }" if scale_bias else ""
    return parse(input_text("data", (2, 3, 2, 2)) + f"""
        layer {{ name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn' {flag} }}
        {scale if with_scale else ''}""")


MEAN, VARIANCE = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
SCALE, BIAS = np.array([0.5, 2, -1], np.float32), np.array([1, 0, 3], np.float32)
ONE = np.ones(1, np.float32)
BVLC = [StoredLayer("bn", "BatchNorm", ["data"], ["bn"], [2 * MEAN, 2 * VARIANCE, 2 * ONE]),
        StoredLayer("scale", "Scale", ["bn"], ["out"], [SCALE, BIAS])]
NVCAFFE = [StoredLayer("bn", "BatchNorm", ["data"], ["bn"], [MEAN, VARIANCE, ONE, SCALE, BIAS])]
DIGITS = [StoredLayer("bn", "BatchNorm", ["data"], ["bn"], [SCALE, BIAS, MEAN, VARIANCE, ONE])]


@pytest.mark.parametrize("stored", [BVLC, NVCAFFE, DIGITS], ids=["BVLC", "NVCaffe", "DIGITS"])
@pytest.mark.parametrize("joined", [True, False], ids=["one layer", "two layers"])
def test_forms_of_batch_normalization(stored, joined):
    net = batch_norm_net(scale_bias=joined, with_scale=not joined)
    weights = Weights(stored, "w.caffemodel")
    weights.fit(net.layer)
    data = np.random.default_rng(seed_of_this_test()).uniform(-3, 3, (2, 3, 2, 2)).astype(np.float32)
    (actual,) = outputs_of(net, weights, {"data": data}).values()

    def channels(values):
        return values.reshape(1, 3, 1, 1)

    expected = (data - channels(MEAN)) / np.sqrt(channels(VARIANCE) + 1e-5)
    expected = expected * channels(SCALE) + channels(BIAS)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_scale_without_a_layer_for_it():
    weights = Weights(NVCAFFE, "w.caffemodel")
    with pytest.raises(ExportError, match="give it batch_norm_param { scale_bias: true }"):
        weights.fit(batch_norm_net(False, False).layer)


def test_every_type_is_known():
    """Each type of docs/layers.md is exported, left out, an input, or refused with a reason."""
    with open(os.path.join(ROOT, "docs", "layers.md"), encoding="utf-8") as file:
        types = [line.split("|")[1].strip() for line in file][2:]
    known = set(EXPORTERS) | PENALTIES | EVALUATIONS | set(INEXPRESSIBLE) | {"Silence"}
    sources = {type_ for type_ in set(types) - known
               if input_shapes(caffe_pb2.LayerParameter(type=type_, top=["a"])) is not None}
    assert set(types) == known | sources


BAD_NETS = {
    "no such file": (None, "nothing.prototxt: No such file"),
    "a misspelt field": (SMALL + " layerr { }", "net.prototxt: line .*layerr"),
    "an unknown type": (SMALL + " layer { name: 'x' type: 'Python' bottom: 'prob' top: 'x' }",
                        r"no ONNX form: Python \(layer 'x'\): what it computes is a program"),
    "a missing blob": (SMALL + " layer { name: 'x' type: 'ReLU' bottom: 'absent' top: 'x' }",
                       r"layer 'x' \(ReLU\): reads the blob 'absent'"),
    "a bad axis": (SMALL + " layer { name: 'x' type: 'Softmax' bottom: 'prob' top: 'x' "
                   "softmax_param { axis: 5 } }",
                   r"layer 'x' \(Softmax\): softmax_param: axis 5 is out of range"),
    "unknown data": ("layer { name: 'data' type: 'HDF5Data' top: 'data' } "
                     "layer { name: 'x' type: 'ReLU' bottom: 'data' top: 'x' }",
                     "give --shape data:"),
    "other weights": (SMALL.replace("'conv' type", "'other' type"), "no weights for layer 'other'"),
    "rules of both kinds": (SMALL + " layer { name: 'x' type: 'ReLU' include { } exclude { } }",
                            "either include rules or exclude rules"),
}


@pytest.mark.parametrize("name", BAD_NETS)
def test_bad_nets_are_one_line(name, small, capsys):
    text, message = BAD_NETS[name]
    given = arguments(small)
    if text is None:
        given[0] = str(small / "nothing.prototxt")
    else:
        (small / "net.prototxt").write_text(text)
    assert main(given) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    with pytest.raises(ExportError, match=message):
        export(given[0], given[1])
    assert not (small / "net.onnx").exists()


def test_bad_flags(small, capsys):
    assert main(arguments(small, "--opset", "3")) == 1
    assert "--opset 3: " in capsys.readouterr().err
    for flags in (["--batch", "none"], ["--shape", "data"], ["--shape", "data:0,3"]):
        with pytest.raises(SystemExit):
            main(arguments(small, *flags))


def test_unknown_extents_are_named(small, capsys):
    """A fully connected layer needs to know how large the image is."""
    assert main(arguments(small, "--shape", "data:1,3,height,8")) == 1
    assert "layer 'conv' (Convolution): what it computes depends on the extent 'height'" in (
        capsys.readouterr().err)


def test_folder_that_is_not_there(small, capsys):
    given = arguments(small)
    given[2] = str(small / "absent" / "net.onnx")
    assert main(given) == 1
    assert "absent" in capsys.readouterr().err
