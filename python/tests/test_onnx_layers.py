"""Each type of layer, exported, computes what the layer itself computes."""
from __future__ import annotations

import numpy as np
import pytest
from onnx_support import CaffeNet, input_text

# Inputs' shapes, then the layer without its name, bottoms and tops (those that differ are written).
CASES = {
    "AbsVal": ([(2, 3, 4)], "type: 'AbsVal'"),
    "ReLU": ([(2, 3, 4)], "type: 'ReLU'"),
    "ReLU leaky": ([(2, 3, 4)], "type: 'ReLU' relu_param { negative_slope: 0.1 }"),
    "ReLU6": ([(2, 3, 4)], "type: 'ReLU6' relu6_param { threshold: 0.5 }"),
    "ReLU6 leaky": ([(2, 3, 4)], "type: 'ReLU6' relu6_param { threshold: 0.5 negative_slope: 0.2 "
                                 "}"),
    "PReLU": ([(2, 3, 4, 5)], "type: 'PReLU'"),
    "PReLU of vectors": ([(2, 3)], "type: 'PReLU'"),
    "PReLU shared": ([(2, 3, 4, 5)], "type: 'PReLU' prelu_param { channel_shared: true }"),
    "ELU": ([(2, 3)], "type: 'ELU' elu_param { alpha: 0.7 lambda: 1.1 }"),
    "Sigmoid": ([(2, 3)], "type: 'Sigmoid'"),
    "TanH": ([(2, 3)], "type: 'TanH'"),
    "BNLL": ([(2, 3)], "type: 'BNLL'"),
    "Swish": ([(2, 3)], "type: 'Swish' swish_param { beta: 1.5 }"),
    "HardSwish": ([(2, 3)], "type: 'HardSwish'"),
    "GELU": ([(2, 3)], "type: 'GELU'"),
    "Clip": ([(2, 3)], "type: 'Clip' clip_param { min: -0.3 max: 0.4 }"),
    "Threshold": ([(2, 3)], "type: 'Threshold' threshold_param { threshold: 0.1 }"),
    "Power": ([(2, 3)], "type: 'Power' power_param { power: 3 scale: 0.5 shift: 2 }"),
    "Power of two": ([(2, 3)], "type: 'Power' power_param { power: 2 }"),
    "Power of zero": ([(2, 3)], "type: 'Power' power_param { power: 0 }"),
    "Power linear": ([(2, 3)], "type: 'Power' power_param { scale: 0.5 shift: 2 }"),
    "Exp": ([(2, 3)], "type: 'Exp'"),
    "Exp to a base": ([(2, 3)], "type: 'Exp' exp_param { base: 2 scale: 0.5 shift: 1 }"),
    "Log": ([(2, 3)], "type: 'Log' log_param { shift: 2 }"),
    "Log to a base": ([(2, 3)], "type: 'Log' log_param { base: 10 scale: 0.5 shift: 2 }"),
    "SoftTruncation": ([(2, 3)], "type: 'SoftTruncation' soft_truncation_param { c: 0.7 }"),
    "Softmax": ([(2, 5, 3)], "type: 'Softmax'"),
    "Softmax of another axis": ([(2, 5, 3)], "type: 'Softmax' softmax_param { axis: -1 }"),
    "Dropout": ([(2, 3)], "type: 'Dropout'"),
    "CropCenter": ([(2, 3, 6, 7)], "type: 'CropCenter' crop_center_param { crop_size: 0 crop_size: "
                                   "0 crop_size: 2 crop_size: 1 }"),
    "Dropout unscaled": ([(2, 3)], "type: 'Dropout' dropout_param { scale_train: false }"),
    "Scale": ([(2, 3, 4, 5)], "type: 'Scale' scale_param { bias_term: true }"),
    "Scale of two axes": ([(2, 3, 4, 5)], "type: 'Scale' scale_param { axis: 1 num_axes: 2 }"),
    "Scale of all": ([(2, 3, 4)], "type: 'Scale' scale_param { axis: 1 num_axes: -1 bias_term: "
                                  "true }"),
    "Scale by a number": ([(2, 3)], "type: 'Scale' scale_param { num_axes: 0 bias_term: true }"),
    "Scale by a blob": ([(2, 3, 4), (3,)], "type: 'Scale'"),
    "Scale by a blob with bias": ([(2, 3, 4), (2, 3)],
                                  "type: 'Scale' scale_param { axis: 0 bias_term: true }"),
    "Bias": ([(2, 3, 4)], "type: 'Bias'"),
    "Bias by a blob": ([(2, 3, 4), (3, 4)], "type: 'Bias'"),
    "Eltwise product": ([(2, 3)] * 3, "type: 'Eltwise' eltwise_param { operation: PROD }"),
    "Eltwise sum": ([(2, 3)] * 3, "type: 'Eltwise'"),
    "Eltwise weighted": ([(2, 3)] * 2, "type: 'Eltwise' eltwise_param { coeff: 1 coeff: -0.5 }"),
    "Eltwise maximum": ([(2, 3)] * 3, "type: 'Eltwise' eltwise_param { operation: MAX }"),
    "Axpy": ([(2, 3, 1, 1), (2, 3, 4, 5), (2, 3, 4, 5)], "type: 'Axpy'"),
    "Axpy of two axes": ([(2, 3), (2, 3, 4, 5), (2, 3, 4, 5)], "type: 'Axpy'"),
    "Reduction": ([(2, 3, 4)], "type: 'Reduction'"),
    "Reduction ASUM": ([(2, 3, 4)],
                       "type: 'Reduction' reduction_param { operation: ASUM axis: 1 coeff: 2 }"),
    "Reduction SUMSQ": ([(2, 3, 4)], "type: 'Reduction' reduction_param { operation: SUMSQ axis: "
                                     "-1 }"),
    "Reduction MEAN": ([(2, 3, 4)], "type: 'Reduction' reduction_param { operation: MEAN axis: 1 "
                                    "}"),
    "ArgMax": ([(2, 3, 4, 5)], "type: 'ArgMax'"),
    "ArgMax of an axis": ([(2, 6, 4)], "type: 'ArgMax' argmax_param { axis: 1 top_k: 3 }"),
    "ArgMax values": ([(2, 6, 4)], "type: 'ArgMax' argmax_param { axis: 1 top_k: 2 out_max_val: "
                                   "true }"),
    "ArgMax pairs": ([(2, 6, 4, 1)], "type: 'ArgMax' argmax_param { top_k: 4 out_max_val: true }"),
    "InnerProduct": ([(2, 3, 4)], "type: 'InnerProduct' inner_product_param { num_output: 5 }"),
    "InnerProduct without bias": ([(2, 6)], "type: 'InnerProduct' inner_product_param { "
                                  "num_output: 5 bias_term: false }"),
    "InnerProduct of an axis": ([(2, 3, 4)], "type: 'InnerProduct' inner_product_param { "
                                "num_output: 5 axis: -1 }"),
    "InnerProduct of all": ([(2, 3)], "type: 'InnerProduct' inner_product_param { num_output: 5 "
                            "axis: 0 }"),
    "InnerProduct transposed": ([(2, 6)], "type: 'InnerProduct' inner_product_param { num_output: "
                                "5 transpose: true }"),
    "InnerDistance": ([(3, 4)], "type: 'InnerDistance' inner_distance_param { num_output: 5 }"),
    "InnerDistance L1": ([(3, 4)], "type: 'InnerDistance' inner_distance_param { num_output: 5 "
                         "distance_type: 'L1' bias_term: false }"),
    "Convolution": ([(2, 4, 7, 6)], "type: 'Convolution' convolution_param { num_output: 6 "
                    "kernel_size: 3 }"),
    "Convolution grouped": ([(2, 4, 9, 8)], "type: 'Convolution' convolution_param { num_output: 6 "
                            "kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 0 "
                            "group: 2 bias_term: false }"),
    "Convolution dilated": ([(1, 3, 9, 9)], "type: 'Convolution' convolution_param { num_output: 2 "
                            "kernel_size: 3 pad: 2 dilation: 2 }"),
    "Convolution of a row": ([(2, 3, 9)], "type: 'Convolution' convolution_param { num_output: 2 "
                             "kernel_size: 3 stride: 2 }"),
    "Convolution of a volume": ([(1, 2, 5, 4, 3)], "type: 'Convolution' convolution_param { "
                                "num_output: 2 kernel_size: 2 }"),
    "Convolution of axis 2": ([(2, 3, 4, 5, 6)], "type: 'Convolution' convolution_param { "
                              "num_output: 2 kernel_size: 2 axis: 2 }"),
    "Convolution of no axis": ([(2, 3, 4, 6)], "type: 'Convolution' convolution_param { "
                               "num_output: 5 axis: 3 }"),
    "Convolution of vectors": ([(3, 6)], "type: 'Convolution' convolution_param { num_output: 4 "
                               "group: 2 bias_term: false }"),
    "Deconvolution of no axis": ([(2, 4)], "type: 'Deconvolution' convolution_param { num_output: "
                                 "5 }"),
    "Convolution padded on one axis": ([(2, 3, 5, 6)], "type: 'Convolution' convolution_param { "
                                       "num_output: 2 kernel_size: 3 pad_w: 1 }"),
    "DepthwiseConvolution": ([(1, 3, 6, 6)], "type: 'DepthwiseConvolution' convolution_param { "
                             "num_output: 6 kernel_size: 3 }"),
    "ConvolutionDepthwise": ([(1, 3, 6, 6)], "type: 'ConvolutionDepthwise' convolution_param { "
                             "num_output: 3 kernel_size: 3 stride: 2 pad: 1 }"),
    "Deconvolution": ([(2, 4, 5, 4)], "type: 'Deconvolution' convolution_param { num_output: 6 "
                      "kernel_size: 4 stride: 2 pad: 1 group: 2 }"),
    "Im2col": ([(2, 3, 5, 6)], "type: 'Im2col' convolution_param { kernel_size: 3 stride: 2 pad: 1 "
                               "}"),
    "LRN": ([(2, 7, 3, 4)], "type: 'LRN' lrn_param { local_size: 5 alpha: 0.5 beta: 0.6 k: 2 }"),
    "LRN of no neighbours": ([(2, 7, 3, 4)], "type: 'LRN' lrn_param { alpha: 0 beta: 0.5 k: 4 }"),
    "LRN within": ([(2, 3, 6, 5)], "type: 'LRN' lrn_param { local_size: 3 alpha: 0.5 k: 2 "
                   "norm_region: WITHIN_CHANNEL }"),
    "BatchNorm": ([(2, 3, 4, 5)], "type: 'BatchNorm'"),
    "BatchNorm of vectors": ([(4, 3)], "type: 'BatchNorm' batch_norm_param { eps: 0.001 }"),
    "BatchNorm with scale": ([(2, 3, 4, 5)], "type: 'BatchNorm' batch_norm_param { scale_bias: "
                                             "true }"),
    "BatchNorm of the batch": ([(4, 3, 5)], "type: 'BatchNorm' batch_norm_param { "
                               "use_global_stats: false }"),
    "BN": ([(2, 3, 4, 5)], "type: 'BN'"),
    "BN of the batch": ([(4, 3, 4, 5)], "type: 'BN' bn_param { bn_mode: LEARN }"),
    "BN for inference": ([(2, 3, 4, 5)], "type: 'BN' bn_param { bn_mode: INFERENCE }"),
    "MVN": ([(2, 3, 4, 5)], "type: 'MVN'"),
    "MVN across channels": ([(2, 3, 4, 5)], "type: 'MVN' mvn_param { across_channels: true eps: "
                                            "0.1 }"),
    "MVN mean": ([(2, 3, 4, 5)], "type: 'MVN' mvn_param { normalize_variance: false }"),
    "Normalize": ([(2, 3, 4, 5)], "type: 'Normalize' norm_param { }"),
    "Normalize channels": ([(2, 3, 4, 5)], "type: 'Normalize' norm_param { across_spatial: false "
                           "channel_shared: false }"),
    "Normalize faces": ([(2, 3)], "type: 'Normalize' normalize_param { }"),
    "Concat": ([(2, 3, 4), (2, 5, 4)], "type: 'Concat'"),
    "Concat of the batch": ([(2, 3), (4, 3)], "type: 'Concat' concat_param { concat_dim: 0 }"),
    "Slice": ([(2, 6, 3)], "type: 'Slice' top: 'b' top: 'c'"),
    "Slice at points": ([(2, 6, 3)], "type: 'Slice' top: 'b' top: 'c' slice_param { slice_point: 1 "
                        "slice_point: 4 }"),
    "Split": ([(2, 3)], "type: 'Split' top: 'b'"),
    "Flatten": ([(2, 3, 4, 5)], "type: 'Flatten'"),
    "Flatten some": ([(2, 3, 4, 5)], "type: 'Flatten' flatten_param { axis: -3 end_axis: 2 }"),
    "Reshape": ([(2, 3, 4)], "type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 dim: 2 dim: 1 "
                             "} }"),
    "Reshape some": ([(2, 3, 4, 5)], "type: 'Reshape' reshape_param { shape { dim: 2 dim: -1 } "
                     "axis: 1 num_axes: 2 }"),
    "Reshape at the end": ([(2, 3)], "type: 'Reshape' reshape_param { shape { dim: 1 dim: 1 } "
                           "axis: -1 num_axes: 0 }"),
    "Permute": ([(2, 3, 4, 5)], "type: 'Permute' permute_param { order: 0 order: 2 order: 3 }"),
    "Transpose": ([(2, 3, 4)], "type: 'Transpose' transpose_param { dim: 2 dim: 0 dim: 1 }"),
    "Tile": ([(2, 3, 4)], "type: 'Tile' tile_param { axis: 2 tiles: 3 }"),
    "Reverse": ([(4, 2, 3)], "type: 'Reverse'"),
    "Flip": ([(1, 2, 3, 4)], "type: 'Flip' flip_param { flip_height: true }"),
    "Crop": ([(2, 3, 6, 7), (2, 3, 4, 4)], "type: 'Crop' crop_param { offset: 1 offset: 2 }"),
    "Crop channels": ([(2, 5, 6, 7), (1, 3, 4, 4)], "type: 'Crop' crop_param { axis: 1 offset: 2 "
                                                    "}"),
    "MergeCrop": ([(2, 3, 4, 4), (2, 2, 7, 6)], "type: 'MergeCrop'"),
    "BatchReindex": ([(4, 3), (5,)], "type: 'BatchReindex'"),
    "Filter": ([(4, 3), (4, 2, 2), (4,)], "type: 'Filter' top: 'b'"),
    "ShuffleChannel": ([(2, 6, 3, 4)], "type: 'ShuffleChannel' shuffle_channel_param { group: 3 }"),
    "Reorg": ([(2, 8, 4, 6)], "type: 'Reorg' reorg_param { stride: 2 }"),
    "Reorg reversed": ([(2, 8, 3, 2)], "type: 'Reorg' reorg_param { stride: 2 reverse: true }"),
    "Interp to a size": ([(1, 2, 5, 7)], "type: 'Interp' interp_param { height: 11 width: 4 }"),
    "Interp zoomed": ([(2, 2, 5, 6)], "type: 'Interp' interp_param { zoom_factor: 3 pad_beg: -1 }"),
    "Interp shrunk": ([(1, 2, 9, 7)], "type: 'Interp' interp_param { shrink_factor: 2 }"),
    "Interp like another": ([(1, 2, 5, 6), (1, 1, 8, 3)], "type: 'Interp'"),
    "Resample larger": ([(1, 2, 5, 6)], "type: 'Resample' resample_param { height: 9 width: 13 }"),
    "Resample smaller": ([(1, 2, 9, 8)], "type: 'Resample' resample_param { factor: 0.5 type: "
                                         "CUBIC }"),
    "Resample nearest": ([(1, 2, 5, 5)], "type: 'Resample' resample_param { factor: 2 type: "
                                         "NEAREST }"),
    "Upsample": ([(2, 3, 2, 4)], "type: 'Upsample' upsample_param { scale_h: 2 scale_w: 3 }"),
    "SPP": ([(2, 3, 9, 7)], "type: 'SPP' spp_param { pyramid_height: 3 }"),
    "SPP of one level": ([(2, 3, 9, 7)], "type: 'SPP' spp_param { pyramid_height: 1 }"),
    "SPP of one level of means": ([(2, 3, 8, 6)], "type: 'SPP' spp_param { pyramid_height: 1 pool: AVE "
                                  "}"),
    "SPP of means": ([(2, 3, 8, 8)], "type: 'SPP' spp_param { pyramid_height: 2 pool: AVE }"),
    "LSTM": ([(4, 2, 3), (4, 2)], "type: 'LSTM' recurrent_param { num_output: 5 }"),
    "LSTM with a static input": ([(3, 2, 3), (3, 2), (2, 4)],
                                 "type: 'LSTM' recurrent_param { num_output: 5 }"),
    "LSTM with its state": ([(3, 2, 3), (3, 2), (1, 2, 5), (1, 2, 5)],
                            "type: 'LSTM' top: 'b' top: 'c' recurrent_param { num_output: 5 "
                            "expose_hidden: true }"),
    "RNN": ([(4, 2, 3), (4, 2)], "type: 'RNN' recurrent_param { num_output: 5 }"),
    "RNN with its state": ([(4, 2, 3), (4, 2), (1, 2, 5)], "type: 'RNN' top: 'b' recurrent_param { "
                           "num_output: 5 expose_hidden: true }"),
    "Lstm": ([(6, 3)], "type: 'Lstm' lstm_param { num_output: 5 batch_size: 2 }"),
    "Lstm of three axes": ([(4, 2, 3)], "type: 'Lstm' lstm_param { num_output: 5 }"),
    "Lstm with indicators": ([(4, 2, 3), (4, 2)], "type: 'Lstm' lstm_param { num_output: 5 }"),
    "LSTMUnit": ([(1, 2, 3), (1, 2, 12), (1, 2)], "type: 'LSTMUnit' top: 'b'"),
    "Parameter": ([(2, 3)], "type: 'Parameter' parameter_param { shape { dim: 2 dim: 4 } }"),
    "ContinuationIndicator": ([(2, 3)], "type: 'ContinuationIndicator' "
                              "continuation_indicator_param { time_step: 3 batch_size: 2 }"),
    "ContinuationIndicator of a bottom": ([(2, 3)], "type: 'ContinuationIndicator' bottom: 'in0' "
                                          "continuation_indicator_param { time_step: 4 axis: 1 }"),
    "LabelSpecificAdd": ([(2, 3), (2,)], "type: 'LabelSpecificAdd' label_specific_add_param { "
                                         "bias: -0.35 }"),
    "LabelSpecificMargin": ([(2, 3), (2,)], "type: 'LabelSpecificMargin'"),
    "CombinedMargin": ([(2, 3), (2,)], "type: 'CombinedMargin'"),
    "DummyData": ([(2, 3)], "type: 'DummyData' dummy_data_param { shape { dim: 2 dim: 4 } "
                  "data_filler { type: 'constant' value: 1.5 } }"),
    "CTCGreedyDecoder": ([(7, 2, 3)], "type: 'CTCGreedyDecoder'"),
    "CTCGreedyDecoder unmerged": ([(7, 2, 3), (7, 2)], "type: 'CTCGreedyDecoder' top: 'b' "
                                  "ctc_decoder_param { blank_index: 2 ctc_merge_repeated: false }"),
    "ROIAlign adaptive": ([(2, 3, 8, 9), (5, 5)], "type: 'ROIAlign' roi_align_param { pooled_h: 2 "
                          "pooled_w: 3 spatial_scale: 0.5 }"),
    "ROIAlign": ([(2, 3, 8, 9), (5, 5)], "type: 'ROIAlign' roi_align_param { pooled_h: 2 "
                 "pooled_w: 3 spatial_scale: 0.5 sampling_ratio: 2 }"),
    "ROIPooling": ([(2, 3, 8, 9), (5, 5)], "type: 'ROIPooling' roi_pooling_param { pooled_h: 2 "
                   "pooled_w: 3 spatial_scale: 0.5 }"),
    "PSROIPooling": ([(2, 18, 8, 9), (5, 5)], "type: 'PSROIPooling' psroi_pooling_param { "
                     "output_dim: 2 group_size: 3 spatial_scale: 0.5 }"),
}
SOURCES = {"Parameter", "ContinuationIndicator", "DummyData"}


def net_text(shapes, layer):
    """A net of inputs in0, in1, ... and one layer with the top 'a'."""
    inputs = "".join(input_text(f"in{i}", shape) for i, shape in enumerate(shapes))
    type_ = layer.split("'")[1]
    bottoms = "" if type_ in SOURCES else " ".join(f"bottom: 'in{i}'" for i in range(len(shapes)))
    head, rest = layer.split("'", 2)[:2], layer.split("'", 2)[2]
    return f"{inputs}layer {{ name: 'it' {head[0]}'{head[1]}' {bottoms} top: 'a' {rest} }}\n"


def inputs_for(net, name, shapes):
    """Random numbers; indicators that break sequences off, numbers of items, items that stay, regions
    inside of the image."""
    inputs = {f"in{i}": net.random(shape) for i, shape in enumerate(shapes)}
    if name.startswith(("LSTM", "RNN", "Lstm", "CTC")) and len(shapes) > 1:
        which = 2 if name == "LSTMUnit" else 1
        inputs[f"in{which}"] = (net.generator.random(shapes[which]) > 0.4).astype(np.float32)
    if name == "BatchReindex":
        inputs["in1"] = net.generator.integers(0, shapes[0][0], shapes[1]).astype(np.float32)
    if name == "Filter":
        inputs["in2"] = np.array([1, 0, 1, 1], np.float32)
    if "ROI" in name:
        corners = net.generator.uniform(0, 16, (shapes[1][0], 2, 2))
        items = net.generator.integers(0, 2, (shapes[1][0], 1))
        rows = [items, corners.min(1), corners.max(1)]
        inputs["in1"] = np.concatenate(rows, 1).astype(np.float32)
    return inputs


@pytest.mark.parametrize("name", CASES)
def test_exported_layer(name, tmp_path):
    shapes, layer = CASES[name]
    net = CaffeNet(net_text(shapes, layer), tmp_path)
    net.check(inputs_for(net, name, shapes))


# Where the batch is dynamic, one model computes several of them.
BATCHED = [name for name, (shapes, layer) in CASES.items()
           if all(len(shape) >= 2 for shape in shapes) and name.split()[0] in {
               "ReLU", "PReLU", "Softmax", "Eltwise", "Axpy", "ArgMax", "InnerProduct",
               "Convolution", "Deconvolution", "Im2col", "LRN", "BatchNorm", "MVN", "Normalize",
               "Flatten", "Permute", "Reshape", "ShuffleChannel", "Reorg", "Interp", "Upsample",
               "SPP", "Tile", "Slice"}
           and name not in ("InnerProduct of all", "BatchNorm of the batch", "Interp like another")]


@pytest.mark.parametrize("name", BATCHED)
def test_dynamic_batch(name, tmp_path):
    shapes, layer = CASES[name]
    net = CaffeNet(net_text(shapes, layer), tmp_path)
    for batch in (1, 3):
        shapes = [(batch,) + shape[1:] for shape in shapes]
        net.check(inputs_for(net, name, shapes), batch="dynamic")


@pytest.mark.parametrize("opset", [13, 15, 18, 21])
def test_versions_of_operators(opset, tmp_path):
    """Those that changed: reductions, Resize, RoiAlign, Pad, Split."""
    for name in ("Reduction MEAN", "MVN", "Interp to a size", "ROIAlign", "Slice", "Normalize",
                 "Upsample", "BatchNorm", "ArgMax", "LSTM", "Clip"):
        shapes, layer = CASES[name]
        net = CaffeNet(net_text(shapes, layer), tmp_path)
        net.check(inputs_for(net, name, shapes), opset=opset)
