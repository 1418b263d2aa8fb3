"""Nets with odd numbers, shapes and names are refused in one line that names the layer, or exported."""
from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from onnx_support import MadeUpWeights, input_text, onnx, parse

from caffe.onnx import ExportError, Options, export_net
from caffe.onnx.__main__ import main
from caffe.onnx.caffemodel import StoredLayer, read_weights
from caffe.onnx.extents import Symbolic
from caffe.onnx.weights import Weights
from caffe.proto import caffe_pb2

IMAGE, HUGE = (2, 3, 6, 7), (1, 1, 30000, 30000)


def net_of(shapes, layer):
    """A net of inputs in0, in1, ... and one layer, 'it', that reads them."""
    inputs = "".join(input_text(f"in{i}", shape) for i, shape in enumerate(shapes))
    bottoms = " ".join(f"bottom: 'in{i}'" for i in range(len(shapes)))
    return parse(f"{inputs}layer {{ name: 'it' {bottoms} top: 'a' {layer} }}")


def exported(net, **options):
    return export_net(net, MadeUpWeights(net), Options(**options)).model


# The inputs' shapes, the layer without its name and bottoms, what is said.
REFUSED = {
    "no bottoms of a sum": ([], "type: 'Eltwise'", "1 are needed"),
    "summands of two shapes": ([(2, 3, 1, 1), IMAGE, (2, 3, 6, 1)], "type: 'Axpy'",
                               "bottoms 1 and 2 have different shapes"),
    "num_axes below -1": ([IMAGE], "type: 'Scale' scale_param { axis: 3 num_axes: -2 }",
                          "-2 axes from axis 3 on do not fit"),
    "stride 0": ([IMAGE], "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 "
                 "stride: 0 }", "convolution_param: stride is at least 1"),
    "dilation 0": ([IMAGE], "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 "
                   "dilation: 0 }", "convolution_param: dilation is at least 1"),
    "group 0": ([IMAGE], "type: 'Convolution' convolution_param { num_output: 2 kernel_size: 2 "
                "group: 0 }", "convolution_param: group is at least 1"),
    "large windows": ([HUGE], "type: 'Im2col' convolution_param { kernel_size: 20000 }",
                      "a constant of 160000000000000000 numbers"),
    "more padding than image": ([IMAGE], "type: 'Deconvolution' convolution_param { num_output: 2 "
                                "kernel_size: 2 pad: 5 }", "extents are at least 1"),
    "a large upsampling": ([IMAGE], "type: 'Deconvolution' convolution_param { num_output: 2 "
                           "kernel_size: 1 stride: 100000 }", "at most 2147483647 elements"),
    "too few fillers": ([], "type: 'DummyData' top: 'b' top: 'c' dummy_data_param { shape { dim: 1 } "
                        "data_filler { } data_filler { } }", "2 data_filler for 3 tops"),
    "too few shapes of dummies": ([], "type: 'DummyData' top: 'b' top: 'c' dummy_data_param { "
                                  "shape { dim: 1 } shape { dim: 1 } data_filler { type: 'xavier' } }",
                                  "one shape for each top"),
    "large dummies": ([], "type: 'DummyData' dummy_data_param { shape { dim: 100000 dim: 10000 } }",
                      "a constant of 1000000000 numbers"),
    "negative dummies": ([], "type: 'DummyData' dummy_data_param { shape { dim: -2 } }",
                         "extents are at least 1"),
    "too few shapes of inputs": ([], "type: 'Input' top: 'b' top: 'c' input_param { shape { dim: 1 } "
                                 "shape { dim: 1 } }", "2 shapes for 3 tops"),
    "an empty input": ([], "type: 'Input' input_param { shape { dim: 0 dim: 3 } }",
                       "the input 'a' would have the shape 0 x 3"),
    "a large input": ([], "type: 'Input' input_param { shape { dim: 65536 dim: 65536 } }",
                      "at most 2147483647 elements"),
    "large indicators": ([], "type: 'ContinuationIndicator' continuation_indicator_param { "
                         "time_step: 65536 batch_size: 30000 }", "a constant of"),
    "no class": ([(1, 4), (1, 1), (1, 2, 4)], "type: 'DetectionOutput' detection_output_param { "
                 "num_classes: 1 }", "no class but the background"),
    "billions of classes": ([(1, 4), (1, 1), (1, 2, 4)], "type: 'DetectionOutput' "
                            "detection_output_param { num_classes: 4294967295 }", "do not fit scores"),
    "parts of a box": ([(1, 4), (1, 2), (1, 2, 5)], "type: 'DetectionOutput' "
                       "detection_output_param { num_classes: 2 }", "does not fit into"),
    "centers without rows": ([(3, 4), ()], "type: 'InnerDistance'", "bottom 1 of 1 axes or more"),
    "a scalar to normalize": ([()], "type: 'BatchNorm' batch_norm_param { use_global_stats: false }",
                              "1 axes or more"),
    "padding of averages": ([IMAGE], "type: 'Pooling' pooling_param { pool: AVE kernel_size: 2 pad: 3 }",
                            "pooling_param: pad is less than the kernel"),
    "a pyramid of no levels": ([IMAGE], "type: 'SPP' spp_param { pyramid_height: 0 }",
                               "pyramid_height is missing"),
    "averages of many windows": ([HUGE], "type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 "
                                 "pad_h: 1 stride: 1 }", "a constant of"),
    "widths without heights": ([IMAGE, IMAGE], "type: 'PriorBox' prior_box_param { width: 2 }",
                               "width and height"),
    "half an offset": ([IMAGE, IMAGE], "type: 'PriorBox' prior_box_param { min_size: 2 offset_h: 1 }",
                       "offset_h and offset_w"),
    "an image of two axes": ([IMAGE, (2, 3)], "type: 'PriorBox' prior_box_param { min_size: 2 }",
                             "bottom 1 of 4 axes"),
    "priors of a large map": ([HUGE, IMAGE], "type: 'PriorBox' prior_box_param { min_size: 2 }",
                              "a constant of"),
    "proposals from a vector": ([(2, 3)] * 3, "type: 'Proposal' proposal_param { ratio: 1 scale: 1 }",
                                "4 axes"),
    "proposals of two sizes": ([(1, 2, 4, 4), (1, 4, 4, 5), (1, 3)],
                               "type: 'Proposal' proposal_param { ratio: 1 scale: 1 }",
                               "four numbers for each anchor"),
    "sequences without items": ([(4,), (4,)], "type: 'LSTM' recurrent_param { num_output: 2 }",
                                "2 axes or more"),
    "a static input for others": ([(4, 2, 3), (4, 2), (3, 3)], "type: 'LSTM' recurrent_param { "
                                  "num_output: 2 }", "a static input of shape 3 x 3"),
    "sequences of 0 items": ([(6, 3)], "type: 'Lstm' lstm_param { num_output: 2 batch_size: 0 }",
                             "batch_size is at least 1"),
    "gates that do not fit": ([(1, 2, 3), (1, 3, 8), (1, 2)], "type: 'LSTMUnit' top: 'b'",
                              "gates of shape 1 x 3 x 8"),
    "regions of a vector": ([(2, 3), (5, 5)], "type: 'ROIPooling' roi_pooling_param { pooled_h: 1 "
                            "pooled_w: 1 }", "4 axes"),
    "regions without a scale": ([IMAGE, (5, 5)], "type: 'ROIPooling' roi_pooling_param { pooled_h: 1 "
                                "pooled_w: 1 spatial_scale: 0 }", "spatial_scale 0.0 is not positive"),
    "a concatenation of two ranks": ([(1, 2), (1,)], "type: 'Concat'", "do not fit: 1 x 2 and 1"),
    "neighbours that count negatively": ([IMAGE], "type: 'LRN' lrn_param { alpha: -1 }",
                                         "lrn_param: alpha -1.0 and beta 0.75"),
    "a table without rows": ([(2, 3)], "type: 'Embed' embed_param { num_output: 5 }",
                             "one of its parameters would have the shape 0 x 5"),
    "negative groups": ([(2, 18, 4, 4), (5, 5)], "type: 'PSROIPooling' psroi_pooling_param { "
                        "output_dim: 2 group_size: -3 spatial_scale: 1 }", "group_size -3"),
    "shrinking by 0": ([IMAGE], "type: 'Interp' interp_param { shrink_factor: 0 }",
                       "shrink_factor is at least 1"),
    "positive padding": ([IMAGE], "type: 'Interp' interp_param { height: 9 width: 9 pad_beg: 1 }",
                         "pad_beg and pad_end cut off"),
    "more cut off than there is": ([IMAGE], "type: 'Interp' interp_param { height: 9 width: 9 "
                                   "pad_beg: -4 pad_end: -4 }", "no entries 4 to 2"),
    "like a vector": ([IMAGE, (2, 3)], "type: 'Interp'", "bottom 1 of 4 axes"),
    "resampling to nothing": ([IMAGE], "type: 'Resample' resample_param { factor: 0.01 }",
                              "no positions"),
    "resampling to infinity": ([IMAGE], "type: 'Resample' resample_param { factor: inf }",
                               "factor inf is not possible"),
    "resampling to a large map": ([HUGE], "type: 'Resample' resample_param { height: 30000 "
                                  "width: 30000 }", "a constant of"),
    "unpooling to nothing": ([IMAGE, IMAGE], "type: 'Upsample' upsample_param { upsample_h: 0 "
                             "upsample_w: 0 }", "no positions"),
    "paths of a vector": ([(4,)], "type: 'CTCGreedyDecoder'", "2 axes or more"),
    "indicators of three axes": ([(4, 2, 3), (4, 2, 1)], "type: 'CTCGreedyDecoder'",
                                 "not a blob of continuation indicators"),
    "two negative extents": ([(2, 3)], "type: 'Reshape' reshape_param { shape { dim: -2 dim: -3 } }",
                             "extents are at least 1"),
    "merging two ranks": ([IMAGE, (2, 3)], "type: 'MergeCrop'", "different numbers of axes"),
    "merging a smaller one": ([IMAGE, (2, 3, 4, 4)], "type: 'MergeCrop'", "no entries -1 to 5"),
    "merging one": ([IMAGE, IMAGE], "type: 'MergeCrop' mergecrop_param { forward: true }",
                    "once for each bottom"),
    "items of a scalar": ([(), (2,)], "type: 'BatchReindex'", "1 axes or more"),
    "a filter of nothing": ([], "type: 'Filter'", "0 bottoms, 1 are needed"),
    "a selector of others": ([(4, 3), (5,)], "type: 'Filter'", "a selector of shape 5"),
    "no groups": ([IMAGE], "type: 'ShuffleChannel' shuffle_channel_param { group: 0 }",
                  "group is at least 1"),
    "channels of a vector": ([(4,)], "type: 'ShuffleChannel' shuffle_channel_param { group: 2 }",
                             "2 axes or more"),
    "strides that do not divide": ([(1, 4, 5, 6)], "type: 'Reorg' reorg_param { stride: 2 }",
                                   "5 x 6 positions are not multiples of 2"),
    "half a pair of biases": ([(2, 16, 4, 5)], "type: 'YoloDetectionOutput' "
                              "yolo_detection_output_param { num_classes: 3 num_box: 2 biases: 1 }",
                              "biases are pairs"),
    "biases for fewer boxes": ([(2, 16, 4, 5)], "type: 'YoloDetectionOutput' "
                               "yolo_detection_output_param { num_classes: 3 num_box: 2 biases: 1 "
                               "biases: 1 }", "biases are not two for each of 2 boxes"),
    "masks of no biases": ([(2, 8, 4, 5)], "type: 'Yolov3DetectionOutput' "
                           "yolov3_detection_output_param { num_classes: 3 num_box: 1 biases: 1 "
                           "biases: 1 mask: 3 anchors_scale: 8 }", "mask names boxes"),
    "a map of two axes": ([(2, 3)], "type: 'YoloDetectionOutput' yolo_detection_output_param { "
                          "num_classes: 3 num_box: 2 biases: 1 biases: 1 }", "4 axes"),
    "a blob without a name": ([IMAGE], "type: 'Split' top: ''", "a bottom or top has no name"),
    "a top that is made before": ([IMAGE], "type: 'Split' top: 'a'",
                                  "makes the blob 'a', as layer 'it' does before it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_layer(name):
    shapes, layer, message = REFUSED[name]
    net = net_of(shapes, layer)
    with pytest.raises(ExportError, match=r"^layer 'it' \(\w+\): .*" + message):
        exported(net)


# Extents that are known only when the model runs: what needs their numbers is refused.
UNKNOWN = {
    "a cropped middle": "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: 0 "
                        "crop_size: 1 crop_size: 1 }",
    "pooling": "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 }",
    "a smaller image": "type: 'Interp' interp_param { shrink_factor: 2 }",
    "resampling": "type: 'Resample' resample_param { factor: 2 }",
    "the nearest": "type: 'Resample' resample_param { height: 8 width: 8 type: NEAREST }",
    "unpooling": "type: 'UnPooling' bottom: 'in0' pooling_param { kernel_size: 2 stride: 2 }",
    "channels and positions": "type: 'Slice' slice_param { axis: 2 slice_point: 2 } top: 'b'",
    "boxes of cells": "type: 'YoloDetectionOutput' yolo_detection_output_param { num_classes: 3 "
                      "num_box: 2 biases: 1 biases: 1 biases: 1 biases: 1 }",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_extents_that_are_not_known(name):
    net = net_of([(1, 16, 8, 8)], UNKNOWN[name])
    shape = (1, 16, Symbolic("height"), 8)
    with pytest.raises(ExportError, match=r"^layer 'it' \(\w+\): .*(height|fixed|one extent)"):
        exported(net, shapes={"in0": shape})


def test_large_zeros_are_no_constants():
    model = exported(net_of([(1, 4, 64, 64)] * 2, "type: 'Upsample' upsample_param { scale: 4 }"))
    assert "ConstantOfShape" in [node.op_type for node in model.graph.node]
    assert model.ByteSize() < 1 << 14


def test_a_single_step_has_none_before():
    model = exported(net_of([(1, 2, 3)], "type: 'CTCGreedyDecoder'"))
    assert [axis.dim_value for axis in model.graph.output[0].type.tensor_type.shape.dim] == [2, 1, 1, 1]


def test_factors_may_be_infinite():
    model = exported(net_of([(2, 3)], "type: 'Exp' exp_param { base: 1e30 shift: 1e30 }"))
    (factor,) = [onnx.numpy_helper.to_array(constant) for constant in model.graph.initializer
                 if math.isinf(onnx.numpy_helper.to_array(constant).max())]
    assert factor > 0


def test_size_of_a_resized_image_of_any_height():
    net = net_of([IMAGE], "type: 'Interp' interp_param { height: 9 width: 9 }")
    model = exported(net, shapes={"in0": (1, 3, Symbolic("height"), 8)})
    shape = model.graph.output[0].type.tensor_type.shape
    assert [axis.dim_value for axis in shape.dim] == [1, 3, 9, 9]


def test_a_layer_in_place_on_an_input_makes_an_output():
    net = parse(input_text("data", (2, 3)) +
                "layer { name: 'it' type: 'ReLU' bottom: 'data' top: 'data' }")
    model = exported(net)
    assert [output.name for output in model.graph.output] == ["data_2"]
    assert [node.op_type for node in model.graph.node] == ["Relu"]


@pytest.mark.parametrize("text", ["a\nb", "a\r\n b", "a\u2028b"])
def test_names_with_line_breaks(text):
    net = parse(input_text("in0", (2, 3)))
    net.layer.add(name=text, type="Softmax", bottom=["in0"], top=["a"]).softmax_param.axis = 7
    with pytest.raises(ExportError) as caught:
        exported(net)
    assert str(caught.value).startswith("layer 'a b' (Softmax): ")


@pytest.mark.parametrize("bottoms,tops", [(0, 1), (1, 0)])
def test_padding_of_version_0(bottoms, tops):
    with pytest.raises(ExportError, match="layer 'pad' .*one bottom and one top"):
        parse("layers { layer { name: 'pad' type: 'padding' pad: 1 } " + "bottom: 'a' " * bottoms +
              "top: 'b' " * tops + "} layers { layer { name: 'conv' type: 'conv' num_output: 2 "
              "kernelsize: 2 } bottom: 'b' top: 'c' }")


def test_weights_of_more_than_64_bits():
    weights = Weights([StoredLayer("a", blobs=[np.zeros(1, np.float32)])], "w.caffemodel")
    with pytest.raises(ExportError, match="layer 'a', blob 0 has shape 1, the net needs"):
        weights("a", 0, (1 << 40, 1 << 40))


@pytest.mark.parametrize("factor", [np.zeros(0, np.float32), np.ones(2, np.float32)])
def test_batch_normalization_without_its_factor(factor):
    ones = np.ones(3, np.float32)
    weights = Weights([StoredLayer("it", "BatchNorm", ["in0"], ["a"], [ones, ones, factor])], "w")
    net = net_of([IMAGE], "type: 'BatchNorm' batch_norm_param { scale_bias: true }")
    weights.fit(net.layer)
    with pytest.raises(ExportError, match="layer 'it' has 3 blobs of weights, number 3 is missing"):
        export_net(net, weights)


def test_stored_shapes_of_more_than_64_bits(tmp_path):
    net = caffe_pb2.NetParameter()
    net.layer.add(name="a").blobs.add(data=[1]).shape.dim.extend([-1, -1])
    path = tmp_path / "it.caffemodel"
    path.write_bytes(net.SerializeToString())
    with pytest.raises(ExportError, match="layer 'a', blob 0: the shape .* do not agree"):
        read_weights(str(path))


@pytest.mark.parametrize("name,message", [
    ("nothing", "has no group 'data'"), ("data", "has no group 'data'"),
    ("data/ip", "'ip' is not a group of blobs"), ("data/ip/1", "layer 'ip', blob 0 is missing"),
    ("data/ip/0/0", "layer 'ip', blob 0 is missing"), ("data/ip/bias", "layer 'ip', blob 0 is missing")])
def test_hdf5_files_of_others(name, message, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "it.h5")
    with h5py.File(path, "w") as file:
        file[name] = [1.0]
    with pytest.raises(ExportError, match=message):
        read_weights(path)


def test_hdf5_blobs_of_words(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "it.h5")
    with h5py.File(path, "w") as file:
        file["data/ip/0"] = ["one"]
        file["data/ip/1"] = [1.0]
    with pytest.raises(ExportError, match="layer 'ip', blob 0 is missing, or holds no numbers"):
        read_weights(path)


def test_flags_with_a_missing_extent(capsys):
    with pytest.raises(SystemExit):
        main(["net.prototxt", "net.caffemodel", "net.onnx", "--shape", "data:1,,3"])
    assert "'data:1,,3': an extent is missing" in capsys.readouterr().err
