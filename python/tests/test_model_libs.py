"""caffe.model_libs: nets built by SSD's names are the published ones, layer by layer."""
import itertools
import os

import caffe
import numpy as np
import pytest
from google.protobuf import text_format
from shared_data import shared

from caffe import model_libs
from caffe.model_libs import (
    ConvBNLayer, CreateAnnotatedDataLayer, CreateMultiBoxHead, InceptionTower, InceptionV3Body, L,
    MobileNetBody, MobileNetV2Body, P, ResBody, ResNet50Body, ResNet101Body, ResNet152Body,
    UnpackVariable, VGGNetBody, ZFNetBody, caffe_pb2, check_if_exist, make_if_not_exist)
from caffe.net_spec import NetSpec

MODELS = os.path.join(os.path.dirname(__file__), "..", "..", "models")

#: What only training asks: which deploy files leave out.
TRAINING = ("param", "weight_filler", "bias_filler", "filler", "include")


# --- Nets as people wrote them ---


def read(path):
    net = caffe_pb2.NetParameter()
    with open(path) as file:
        text_format.Parse(file.read(), net, allow_unknown_field=True)
    return net


def published(*parts):
    return read(shared(*parts))


def corpus(name):
    return published("prototxt_corpus", f"{name}.prototxt")


def meaning(message, without=()):
    """The fields of a message that say something else than their defaults, as a dict."""
    fields = {}
    for field, value in message.ListFields():
        if field.name in without or field.name == "engine":
            continue
        repeated = not isinstance(value, (str, bytes)) and hasattr(value, "__len__")
        if field.message_type is not None:
            parts = [meaning(part, without) for part in value] if repeated else [
                meaning(value, without)]
            if any(parts) or field.name in ("param", "batch_sampler"):
                fields[field.name] = parts
        elif repeated:
            # A Convolution's window has one value, or one an axis; absent is its default.
            if list(value) != {"pad": [0], "stride": [1], "dilation": [1]}.get(field.name):
                fields[field.name] = list(value)
        elif value != field.default_value:
            fields[field.name] = value
    return fields


def layers_of(net, without=(), until=None):
    """The layers' meanings by name, or those before the layer called ``until``."""
    before = itertools.takewhile(lambda layer: layer.name != until, net.layer)
    return {layer.name: meaning(layer, without) for layer in before}


def assert_same_layers(ours, theirs, without=(), until=None):
    """The same layers in the same order, each of the same meaning."""
    mine, wanted = layers_of(ours, without, until), layers_of(theirs, without, until)
    assert list(mine) == list(wanted)
    for name, layer in wanted.items():
        assert mine[name] == layer, name


def net_with_data():
    net = NetSpec()
    net.data = L.Input(shape=dict(dim=[1, 3, 300, 300]))
    return net


def without_input(net):
    """The same net, but for its Input or data layers."""
    layers = [layer for layer in net.layer if layer.bottom]
    return caffe_pb2.NetParameter(layer=layers)


# --- SSD, as ssd_pascal.py and ssd_coco.py put it together ---

RESIZE = dict(prob=1, resize_mode=P.Resize.WARP, height=300, width=300)
INTERPOLATIONS = [P.Resize.LINEAR, P.Resize.AREA, P.Resize.NEAREST, P.Resize.CUBIC,
                  P.Resize.LANCZOS4]
MEAN = [104, 117, 123]
SAMPLER = dict(min_scale=0.3, max_scale=1.0, min_aspect_ratio=0.5, max_aspect_ratio=2.0)
BATCH_SAMPLER = [dict(sampler={}, max_trials=1, max_sample=1)] + [
    dict(sampler=SAMPLER, sample_constraint=dict(min_jaccard_overlap=overlap), max_trials=50,
         max_sample=1) for overlap in (0.1, 0.3, 0.5, 0.7, 0.9)] + [
    dict(sampler=SAMPLER, sample_constraint=dict(max_jaccard_overlap=1.0), max_trials=50,
         max_sample=1)]
TRAIN_TRANSFORM = dict(
    mirror=True, mean_value=MEAN, resize_param=dict(RESIZE, interp_mode=INTERPOLATIONS),
    distort_param=dict(brightness_prob=0.5, brightness_delta=32, contrast_prob=0.5,
                       contrast_lower=0.5, contrast_upper=1.5, hue_prob=0.5, hue_delta=18,
                       saturation_prob=0.5, saturation_lower=0.5, saturation_upper=1.5,
                       random_order_prob=0.0),
    expand_param=dict(prob=0.5, max_expand_ratio=4.0),
    emit_constraint=dict(emit_type=caffe_pb2.EmitConstraint.CENTER))
TEST_TRANSFORM = dict(mean_value=MEAN, resize_param=dict(RESIZE, interp_mode=[P.Resize.LINEAR]))

VOC_SIZES = dict(min_sizes=[30.0, 60.0, 111.0, 162.0, 213.0, 264.0],
                 max_sizes=[60.0, 111.0, 162.0, 213.0, 264.0, 315.0])
COCO_SIZES = dict(min_sizes=[21.0, 45.0, 99.0, 153.0, 207.0, 261.0],
                  max_sizes=[45.0, 99.0, 153.0, 207.0, 261.0, 315.0])


def add_extra_layers(net, lr_mult=1):
    """What ssd_pascal.py has behind VGG-16."""
    from_layer = "fc7"
    for name, outputs, kernel, pad, stride in (
            ("conv6_1", 256, 1, 0, 1), ("conv6_2", 512, 3, 1, 2), ("conv7_1", 128, 1, 0, 1),
            ("conv7_2", 256, 3, 1, 2), ("conv8_1", 128, 1, 0, 1), ("conv8_2", 256, 3, 0, 1),
            ("conv9_1", 128, 1, 0, 1), ("conv9_2", 256, 3, 0, 1)):
        ConvBNLayer(net, from_layer, name, False, True, outputs, kernel, pad, stride,
                    lr_mult=lr_mult)
        from_layer = name


def ssd300(net, num_classes, sizes, first_step=8):
    VGGNetBody(net, from_layer="data", fully_conv=True, reduced=True, dilated=True, dropout=False)
    add_extra_layers(net)
    return CreateMultiBoxHead(
        net, data_layer="data", from_layers=["conv4_3", "fc7", "conv6_2", "conv7_2", "conv8_2",
                                             "conv9_2"],
        use_batchnorm=False, aspect_ratios=[[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        steps=[first_step, 16, 32, 64, 100, 300], normalizations=[20, -1, -1, -1, -1, -1],
        num_classes=num_classes, share_location=True, flip=True, clip=False,
        prior_variance=[0.1, 0.1, 0.2, 0.2], kernel_size=3, pad=1, lr_mult=1, **sizes)


def ssd_loss(net, mbox_layers, num_classes, **fields):
    net["mbox_loss"] = L.MultiBoxLoss(
        *mbox_layers, net.label, include=dict(phase=caffe_pb2.Phase.Value("TRAIN")),
        propagate_down=[True, True, False, False], loss_param=dict(normalization=P.Loss.VALID),
        multibox_loss_param=dict(
            loc_loss_type=P.MultiBoxLoss.SMOOTH_L1, conf_loss_type=P.MultiBoxLoss.SOFTMAX,
            loc_weight=1.0, num_classes=num_classes, share_location=True,
            match_type=P.MultiBoxLoss.PER_PREDICTION, overlap_threshold=0.5,
            use_prior_for_matching=True, background_label_id=0, neg_pos_ratio=3.0, neg_overlap=0.5,
            code_type=P.PriorBox.CENTER_SIZE, ignore_cross_boundary_bbox=False,
            mining_type=P.MultiBoxLoss.MAX_NEGATIVE, **fields))


def ssd_detections(net, mbox_layers, num_classes, **save):
    net.mbox_conf_reshape = L.Reshape(mbox_layers[1], shape=dict(dim=[0, -1, num_classes]))
    net.mbox_conf_softmax = L.Softmax(net.mbox_conf_reshape, axis=2)
    net.mbox_conf_flatten = L.Flatten(net.mbox_conf_softmax, axis=1)
    net.detection_out = L.DetectionOutput(
        mbox_layers[0], net.mbox_conf_flatten, mbox_layers[2],
        detection_output_param=dict(
            num_classes=num_classes, share_location=True, background_label_id=0,
            nms_param=dict(nms_threshold=0.45, top_k=400), keep_top_k=200,
            confidence_threshold=0.01, code_type=P.PriorBox.CENTER_SIZE, **save),
        include=dict(phase=caffe_pb2.Phase.Value("TEST")))


def ssd_evaluation(net, num_classes, name_size_file):
    net.detection_eval = L.DetectionEvaluate(
        net.detection_out, net.label, include=dict(phase=caffe_pb2.Phase.Value("TEST")),
        detection_evaluate_param=dict(num_classes=num_classes, background_label_id=0,
                                      overlap_threshold=0.5, evaluate_difficult_gt=False,
                                      name_size_file=name_size_file))


def add_train_data(net, source, label_map_file, batch_size=32):
    net.data, net.label = CreateAnnotatedDataLayer(
        source, batch_size=batch_size, train=True, output_label=True, label_map_file=label_map_file,
        transform_param=TRAIN_TRANSFORM, batch_sampler=BATCH_SAMPLER)


def add_test_data(net, source, label_map_file, batch_size):
    net.data, net.label = CreateAnnotatedDataLayer(
        source, batch_size=batch_size, train=False, output_label=True,
        label_map_file=label_map_file, transform_param=TEST_TRANSFORM)


def test_ssd300_for_coco_is_the_published_train_net():
    net = NetSpec()
    add_train_data(net, "examples/coco/coco_train_lmdb", "data/coco/labelmap_coco.prototxt")
    ssd_loss(net, ssd300(net, 81, COCO_SIZES), 81, use_difficult_gt=False)
    assert_same_layers(net.to_proto(), corpus("NVIDIA__caffe__SSD_300x300_train"))


def test_ssd300_for_coco_is_the_published_test_net():
    net = NetSpec()
    add_test_data(net, "examples/coco/coco_minival_lmdb", "data/coco/labelmap_coco.prototxt", 8)
    save = dict(output_name_prefix="detections_minival_ssd300_results", output_format="COCO",
                label_map_file="data/coco/labelmap_coco.prototxt",
                name_size_file="data/coco/minival2014_name_size.txt", num_test_image=5000)
    ssd_detections(net, ssd300(net, 81, COCO_SIZES), 81, save_output_param=save)
    ssd_evaluation(net, 81, "data/coco/minival2014_name_size.txt")
    assert_same_layers(net.to_proto(), corpus("NVIDIA__caffe__SSD_300x300_test"))


def test_ssd300_for_coco_is_the_published_deploy_net():
    net = net_with_data()
    save = dict(output_name_prefix="detections_minival_ssd300_results", output_format="COCO",
                label_map_file="data/coco/labelmap_coco.prototxt",
                name_size_file="data/coco/test2014_name_size.txt", num_test_image=5000)
    ssd_detections(net, ssd300(net, 81, COCO_SIZES), 81, save_output_param=save)
    assert_same_layers(without_input(net.to_proto()), corpus("NVIDIA__caffe__SSD_300x300_deploy"),
                       without=("output_directory",))


def test_ssd300_for_voc_is_the_published_net():
    """As Intel's Caffe published it, from a later version of SSD, for a webcam."""
    net = net_with_data()
    ssd300(net, 21, VOC_SIZES)
    theirs = corpus("intel__caffe__SSD_300x300_webcam_test")
    assert_same_layers(without_input(net.to_proto()), without_input(theirs),
                       until="mbox_conf_reshape")


def test_ssd300_is_the_one_in_models():
    net = NetSpec()
    add_train_data(net, "examples/VOC0712/VOC0712_trainval_lmdb", "data/VOC0712/labelmap_voc.prototxt")
    mbox_layers = ssd300(net, 21, VOC_SIZES)
    ssd_loss(net, mbox_layers, 21, use_difficult_gt=True)
    ssd_detections(net, mbox_layers, 21)
    ssd_evaluation(net, 21, "data/VOC0712/test_name_size.txt")
    theirs = read(os.path.join(MODELS, "ssd300_vgg16", "train_val.prototxt"))
    test_phase = [caffe_pb2.TEST]
    theirs = caffe_pb2.NetParameter(layer=[
        layer for layer in theirs.layer
        if not (layer.type == "AnnotatedData" and layer.include[0].phase in test_phase)])
    # The file has a bias filler only where it is not 0, and runs the softmax in the TEST phase.
    assert_same_layers(net.to_proto(), theirs, without=("bias_filler", "include"))


def priors(net_spec, write):
    """The number of priors of a net, counted by the library."""
    path = write(str(net_spec.to_proto()))
    return caffe.Net(path, caffe.TEST).blobs["mbox_priorbox"].shape[2] // 4


def priors_alone(side, sources, **head):
    """A net that has only the maps, of the sizes that the real ones have."""
    net = NetSpec()
    net.data = L.Input(shape=dict(dim=[1, 3, side, side]))
    for name, size in sources:
        net[name] = L.Input(shape=dict(dim=[1, 1, size, size]))
    CreateMultiBoxHead(net, from_layers=[name for name, _ in sources], use_batchnorm=False,
                       num_classes=21, clip=False, kernel_size=3, pad=1,
                       prior_variance=[0.1, 0.1, 0.2, 0.2], **head)
    return net


def test_the_paper_counts_8732_and_24564_priors(write):
    """Liu et al. 2016, section 3 and table 6."""
    maps = ["conv4_3", "fc7", "conv6_2", "conv7_2", "conv8_2", "conv9_2", "conv10_2"]
    ssd300_maps = list(zip(maps, [38, 19, 10, 5, 3, 1]))
    assert priors(priors_alone(300, ssd300_maps, normalizations=[20] + [-1] * 5,
                               aspect_ratios=[[2], [2, 3], [2, 3], [2, 3], [2], [2]],
                               steps=[8, 16, 32, 64, 100, 300], **VOC_SIZES), write) == 8732
    sizes = [35.84, 76.8, 153.6, 230.4, 307.2, 384.0, 460.8, 537.6]
    ssd512_maps = list(zip(maps, [64, 32, 16, 8, 4, 2, 1]))
    assert priors(priors_alone(512, ssd512_maps, normalizations=[20] + [-1] * 6,
                               aspect_ratios=[[2]] + [[2, 3]] * 4 + [[2], [2]],
                               steps=[8, 16, 32, 64, 128, 256, 512],
                               min_sizes=sizes[:-1], max_sizes=sizes[1:]), write) == 24564


# --- Heads of other detectors ---


def head_like(theirs, num_classes):
    """The head of a published detector, from the sizes that its prior boxes say, on maps that stand
    for its body."""
    by_name = {layer.name: layer for layer in theirs.layer}
    maps = [layer.bottom[0] for layer in theirs.layer if layer.type == "PriorBox"]
    boxes = [by_name[f"{name}_mbox_priorbox"].prior_box_param for name in maps]
    scales = [by_name[name].norm_param.scale_filler.value if name.endswith("_norm") else -1
              for name in maps]
    sources = [name[:-len("_norm")] if scale != -1 else name for name, scale in zip(maps, scales)]
    net = net_with_data()
    for name in sources:
        net[name] = L.Input(shape=dict(dim=[1, 64, 10, 10]))
    CreateMultiBoxHead(
        net, from_layers=sources, use_batchnorm=False, num_classes=num_classes,
        normalizations=scales, kernel_size=3, pad=1, clip=boxes[0].clip,
        prior_variance=list(boxes[0].variance), min_sizes=[list(box.min_size) for box in boxes],
        max_sizes=[list(box.max_size) for box in boxes],
        aspect_ratios=[list(box.aspect_ratio) for box in boxes], steps=[box.step for box in boxes])
    return without_input(net.to_proto())


@pytest.mark.parametrize("place, num_classes, without", [
    # SSD on AlexNet, by Intel.
    (("prototxt_corpus", "intel__caffe__SSD_300x300_test.prototxt"), 21, ()),
    # YuFaceDetectNet: several minimum sizes a map, no maximum, no other shapes; no biases.
    (("models", "yufacedetectnet_v2", "train_val.prototxt"), 2, (*TRAINING, "bias_term")),
    # MobileNet v2 with SSD: maps without a step, another filler.
    (("prototxt_corpus", "chuanqi305__MobileNetv2-SSDLite__coco_train.prototxt"), 91,
     ("weight_filler",))], ids=["AlexNet", "faces", "MobileNet v2"])
def test_heads_are_the_published_ones(place, num_classes, without):
    theirs = published(*place)
    ours, wanted = layers_of(head_like(theirs, num_classes), without), layers_of(theirs, without)
    maps = sum(layer.type == "PriorBox" for layer in theirs.layer)
    norms = sum(layer.type == "Normalize" for layer in theirs.layer)
    assert len(ours) == 7 * maps + norms + 3
    for name, layer in ours.items():
        assert layer == wanted[name], name


# --- Bodies ---


@pytest.mark.parametrize("depth, body", [(50, ResNet50Body), (101, ResNet101Body),
                                         (152, ResNet152Body)])
def test_residual_nets_are_the_published_ones(depth, body):
    theirs = corpus(f"KaimingHe__deep-residual-networks__prototxt_ResNet-{depth}-deploy")
    net = net_with_data()
    body(net, "data", use_global_stats=True, eps=1e-5)
    assert_same_layers(without_input(net.to_proto()), theirs, without=TRAINING,
                       until="pool5")


def test_a_dilated_residual_net_keeps_the_size_of_its_map():
    net = net_with_data()
    ResNet101Body(net, "data", use_pool5=False, use_dilation_conv5=True)
    layers = {layer.name: layer.convolution_param for layer in net.to_proto().layer}
    assert "pool5" not in layers
    assert list(layers["res5a_branch1"].stride) == [1]
    assert list(layers["res5a_branch2a"].stride) == [1]
    for block in "abc":
        middle = layers[f"res5{block}_branch2b"]
        assert (list(middle.dilation), list(middle.pad)) == ([2], [2])
    assert list(layers["res4a_branch2a"].stride) == [2]


def test_inception_v3_is_the_published_net():
    """Names differ: mixed/tower/conv is mixed_tower_conv_conv2d there; so shapes are compared, and
    which convolution reads which."""
    theirs = corpus("smichalowski__google_inception_v3_for_caffe__train_val")
    net = net_with_data()
    InceptionV3Body(net, "data", output_pred=True)
    ours = net.to_proto()

    def convolutions(net):
        return [layer for layer in net.layer if layer.type == "Convolution"]

    def shape(layer):
        p = layer.convolution_param
        sides = [[p.kernel_h, p.kernel_w] if p.HasField("kernel_h") else list(p.kernel_size) * 2,
                 [p.pad_h, p.pad_w] if p.HasField("pad_h") or p.HasField("pad_w")
                 else (list(p.pad) or [0]) * 2,
                 [p.stride_h, p.stride_w] if p.HasField("stride_h")
                 else (list(p.stride) or [1]) * 2]
        return p.num_output, [side[:2] for side in sides]

    def there(name):
        stem = {"conv_1": "conv_1_1", "conv_2": "conv_2_2", "conv_3": "conv_3_3",
                "conv_4": "conv_4_4"}.get(name, name.replace("/", "_"))
        return f"{stem}_conv2d"

    wanted = {layer.name: layer for layer in convolutions(theirs)}
    assert {there(layer.name) for layer in convolutions(ours)} == set(wanted)
    for layer in convolutions(ours):
        assert shape(layer) == shape(wanted[there(layer.name)]), layer.name

    def pools(net):
        return [(layer.pooling_param.pool, layer.pooling_param.kernel_size,
                 layer.pooling_param.stride, layer.pooling_param.pad)
                for layer in net.layer if layer.type == "Pooling"]

    assert sorted(pools(ours)) == sorted(pools(theirs))


def test_inception_v3_computes(write):
    """On an image of 299 x 299 every join has the extents of the paper's table 1."""
    net_spec = NetSpec()
    net_spec.data = L.Input(shape=dict(dim=[1, 3, 299, 299]))
    InceptionV3Body(net_spec, "data", output_pred=True)
    net = caffe.Net(write(str(net_spec.to_proto())), caffe.TEST)
    extents = {name: net.blobs[name].shape[1:] for name in net.blobs if name.endswith("/join")}
    assert extents == {
        "mixed/join": (256, 35, 35), "mixed_1/join": (288, 35, 35), "mixed_2/join": (288, 35, 35),
        "mixed_3/join": (768, 17, 17), "mixed_4/join": (768, 17, 17), "mixed_5/join": (768, 17, 17),
        "mixed_6/join": (768, 17, 17), "mixed_7/join": (768, 17, 17),
        "mixed_8/join": (1280, 8, 8), "mixed_9/join": (2048, 8, 8), "mixed_10/join": (2048, 8, 8)}
    assert net.blobs["softmax_prob"].shape == (1, 1008)


def test_mobilenet_is_that_of_the_published_detector():
    """MobileNet-YOLO's, which has MobileNet-SSD's names; it trains more slowly, and has a layer
    type of its own for depthwise convolutions."""
    theirs = without_input(corpus("eric612__MobileNet-YOLO__cityscapes_mobilenet_yolov3_test"))
    for layer in theirs.layer:
        if layer.type == "DepthwiseConvolution":
            layer.type = "Convolution"
    net = net_with_data()
    MobileNetBody(net, "data", lr_mult=0.1)
    ours = without_input(net.to_proto())
    assert len(ours.layer) == 4 * 27
    wanted = layers_of(theirs)
    for name, layer in layers_of(ours).items():
        rates = [rate.pop("decay_mult", 1) for rate in layer.get("param", [])]
        theirs_rates = [rate.pop("decay_mult", 1) for rate in wanted[name].get("param", [])]
        assert layer == wanted[name], name
        assert [rate > 0 for rate in rates] == [rate > 0 for rate in theirs_rates], name


def test_mobilenet_v2_is_the_published_net():
    theirs = corpus("shicai__MobileNet-Caffe__mobilenet_v2_deploy")
    net = net_with_data()
    MobileNetV2Body(net, "data", use_global_stats=True, eps=1e-5, output_pred=True)
    assert_same_layers(without_input(net.to_proto()), without_input(theirs))


def test_vgg16_for_classification_is_the_published_net():
    theirs = read(os.path.join(MODELS, "vgg16", "deploy.prototxt"))
    net = net_with_data()
    VGGNetBody(net, "data")
    assert_same_layers(without_input(net.to_proto()), without_input(theirs), without=TRAINING,
                       until="fc8")


def window_of(net, name):
    p = {layer.name: layer for layer in net.to_proto().layer}[name].convolution_param
    return p.num_output, list(p.kernel_size), list(p.pad), list(p.dilation)


@pytest.mark.parametrize("how, fc6", [
    (dict(), (4096, [7], [3], [])),
    (dict(dilated=True), (4096, [7], [6], [2])),
    (dict(reduced=True), (1024, [3], [3], [3])),
    (dict(reduced=True, dilated=True), (1024, [3], [6], [6])),
    (dict(reduced=True, dilated=True, dilate_pool4=True), (1024, [3], [12], [12]))])
def test_fc6_of_vgg_as_a_convolution_sees_the_same(how, fc6):
    net = net_with_data()
    VGGNetBody(net, "data", fully_conv=True, **how)
    assert window_of(net, "fc6") == fc6
    assert window_of(net, "fc7") == (fc6[0], [1], [], [])
    assert window_of(net, "conv5_1")[2:] == (([2], [2]) if "dilate_pool4" in how else ([1], [1]))


@pytest.mark.parametrize("how, fc6", [
    (dict(), (4096, [6], [2], [])), (dict(dilated=True), (4096, [6], [5], [2])),
    (dict(reduced=True), (1024, [3], [2], [2])),
    (dict(reduced=True, dilated=True), (1024, [3], [5], [5]))])
def test_fc6_of_zf_as_a_convolution(how, fc6):
    net = net_with_data()
    ZFNetBody(net, "data", fully_conv=True, **how)
    assert window_of(net, "fc6") == fc6


def test_zf_with_all_layers(write):
    net_spec = NetSpec()
    net_spec.data = L.Input(shape=dict(dim=[1, 3, 224, 224]))
    ZFNetBody(net_spec, "data", need_fc8=True)
    net = caffe.Net(write(str(net_spec.to_proto())), caffe.TEST)
    assert list(net.blobs) == ["data", "conv1", "norm1", "pool1", "conv2", "norm2", "pool2",
                               "conv3", "conv4", "conv5", "pool5", "fc6", "fc7", "fc8", "prob"]
    assert net.blobs["conv5"].shape == (1, 256, 15, 15)
    assert net.blobs["prob"].shape == (1, 1000)


def test_vgg_without_pools():
    net = net_with_data()
    VGGNetBody(net, "data", nopool=True, need_fc=False)
    layers = net.to_proto().layer
    assert not [layer for layer in layers if layer.type == "Pooling"]
    strided = {layer.name: layer.convolution_param.num_output for layer in layers
               if list(layer.convolution_param.stride) == [2]}
    assert strided == {"conv1_3": 64, "conv2_3": 128, "conv3_4": 256, "conv4_4": 512}
    assert layers[-1].name == "relu5_3"


@pytest.mark.parametrize("body", [VGGNetBody, ZFNetBody])
def test_frozen_layers_do_not_learn(body):
    net = net_with_data()
    first = "conv1_1" if body is VGGNetBody else "conv1"
    body(net, "data", freeze_layers=[first, "no such layer"])
    rates = {layer.name: [p.lr_mult for p in layer.param] for layer in net.to_proto().layer}
    assert rates[first] == [0, 0]
    assert rates["conv2_1" if body is VGGNetBody else "conv2"] == [1, 2]


# --- Blocks ---


def test_convolution_with_batch_normalization():
    net = net_with_data()
    ConvBNLayer(net, "data", "c", True, True, 8, [1, 7], [0, 3], [1, 1], dilation=1, lr_mult=2)
    expected = text_format.Parse("""
        layer { name: "c" type: "Convolution" bottom: "data" top: "c"
                param { lr_mult: 2 decay_mult: 1 }
                convolution_param { num_output: 8 bias_term: false kernel_h: 1 kernel_w: 7 pad_h: 0
                    pad_w: 3 stride_h: 1 stride_w: 1
                    weight_filler { type: "gaussian" std: 0.01 } } }
        layer { name: "c_bn" type: "BatchNorm" bottom: "c" top: "c"
                param { lr_mult: 0 decay_mult: 0 } param { lr_mult: 0 decay_mult: 0 }
                param { lr_mult: 0 decay_mult: 0 }
                batch_norm_param { eps: 0.001 moving_average_fraction: 0.999 } }
        layer { name: "c_scale" type: "Scale" bottom: "c" top: "c"
                param { lr_mult: 2 decay_mult: 0 } param { lr_mult: 2 decay_mult: 0 }
                scale_param { bias_term: true filler { type: "constant" value: 1 }
                              bias_filler { type: "constant" value: 0 } } }
        layer { name: "c_relu" type: "ReLU" bottom: "c" top: "c" }
    """, caffe_pb2.NetParameter())
    assert list(net.to_proto().layer)[1:] == list(expected.layer)


@pytest.mark.parametrize("kernel, pad, stride", [
    (3, [0, 1], [1, 2]), (3, [0, 1], 1), (3, 1, [1, 2]), ([1, 7], [0, 3], 1)])
def test_a_window_that_differs_between_the_axes(kernel, pad, stride):
    net = net_with_data()
    ConvBNLayer(net, "data", "c", False, False, 8, kernel, pad, stride)
    p = net.to_proto().layer[1].convolution_param
    assert [[p.kernel_h, p.kernel_w], [p.pad_h, p.pad_w], [p.stride_h, p.stride_w]] == [
        UnpackVariable(value, 2) for value in (kernel, pad, stride)]
    assert not p.kernel_size and not p.pad and not p.stride


def test_a_window_that_is_the_same_on_both_axes():
    net = net_with_data()
    ConvBNLayer(net, "data", "c", False, False, 8, [3, 3], [1, 1], [2, 2])
    p = net.to_proto().layer[1].convolution_param
    assert (list(p.kernel_size), list(p.pad), list(p.stride)) == ([3], [1], [2])
    assert not p.HasField("kernel_h") and not p.HasField("pad_h") and not p.HasField("stride_h")


def test_global_statistics_freeze_the_scales_too():
    net = net_with_data()
    ConvBNLayer(net, "data", "c", True, False, 8, 1, 0, 1, use_scale=False, use_global_stats=True,
                bn_prefix="bn_", bn_postfix="", bias_prefix="b_", bias_postfix="")
    _, _, norm, bias = net.to_proto().layer
    assert norm.name == "bn_c" and norm.batch_norm_param.use_global_stats
    assert not norm.batch_norm_param.HasField("moving_average_fraction")
    assert (bias.name, bias.type, [p.lr_mult for p in bias.param]) == ("b_c", "Bias", [0])


def test_a_mistyped_argument_of_batch_normalization_is_an_error():
    net = net_with_data()
    with pytest.raises(TypeError, match="epsilon"):
        ConvBNLayer(net, "data", "c", True, True, 8, 3, 1, 1, epsilon=1e-5)


def test_residual_block_without_a_branch_takes_its_bottom():
    net = net_with_data()
    ResBody(net, "data", "9z", 1, 1, 3, stride=1, use_branch1=False)
    total = {layer.name: layer for layer in net.to_proto().layer}["res9z"]
    assert list(total.bottom) == ["data", "res9z_branch2c"]


def test_a_tower_leaves_its_description_as_it_was():
    net = net_with_data()
    layers = [dict(name="pool", pool=P.Pooling.AVE, kernel_size=3, pad=1, stride=1),
              dict(name="conv", num_output=4, kernel_size=1, pad=0, stride=1)]
    top = InceptionTower(net, "data", "t", layers)
    assert top is net["t/conv"] and [layer["name"] for layer in layers] == ["pool", "conv"]


def test_unpack_variable():
    assert UnpackVariable(3, 2) == [3, 3]
    assert UnpackVariable([3], 2) == [3, 3]
    assert UnpackVariable([1, 7], 2) == [1, 7]
    with pytest.raises(ValueError, match="3 values; 2"):
        UnpackVariable([1, 2, 3], 2)


def test_folders(tmp_path):
    folder = str(tmp_path / "a" / "b")
    assert not check_if_exist(folder)
    make_if_not_exist(folder)
    make_if_not_exist(folder)
    assert check_if_exist(folder) and os.path.isdir(folder)


# --- Data and heads ---


def test_data_layer_without_labels():
    net = NetSpec()
    net.data = CreateAnnotatedDataLayer("db", batch_size=2, output_label=False, train=False,
                                        anno_type=caffe_pb2.AnnotatedDatum.BBOX)
    layer = net.to_proto().layer[0]
    assert (layer.name, list(layer.top), layer.include[0].phase) == ("data", ["data"],
                                                                     caffe_pb2.TEST)
    assert layer.data_param.backend == caffe_pb2.DataParameter.LMDB
    assert layer.annotated_data_param.HasField("anno_type")


def head(**changes):
    net = net_with_data()
    arguments = dict(from_layers=["data"], num_classes=3, min_sizes=[10])
    arguments.update(changes)
    return net, CreateMultiBoxHead(net, **arguments)


def outputs_of(net):
    return {layer.name: layer.convolution_param.num_output for layer in net.to_proto().layer
            if layer.type == "Convolution"}


@pytest.mark.parametrize("shape, priors", [
    (dict(), 1), (dict(max_sizes=[20]), 2), (dict(aspect_ratios=[[2]]), 3),
    (dict(aspect_ratios=[2], flip=False), 2), (dict(max_sizes=[20], aspect_ratios=[[2, 3]]), 6),
    (dict(min_sizes=[[10, 12]], max_sizes=[[20, 24]], aspect_ratios=[[2]]), 8)])
def test_predictions_for_each_prior(shape, priors):
    net, _ = head(use_batchnorm=False, **shape)
    assert outputs_of(net) == {"data_mbox_loc": 4 * priors, "data_mbox_conf": 3 * priors}


def test_a_head_with_everything():
    net, tops = head(use_objectness=True, normalizations=[20], inter_layer_depth=[16], steps=[8],
                     share_location=False, img_height=100, img_width=200, loc_postfix="_a",
                     conf_postfix="_b", use_batchnorm=False)
    assert outputs_of(net) == {"data_norm_inter": 16, "data_norm_inter_mbox_loc_a": 12,
                               "data_norm_inter_mbox_conf_b": 3,
                               "data_norm_inter_mbox_objectness": 2}
    layers = {layer.name: layer for layer in net.to_proto().layer}
    box = layers["data_norm_inter_mbox_priorbox"].prior_box_param
    assert (box.img_h, box.img_w, box.step) == (100, 200, 8)
    assert [layers[name].concat_param.axis for name in (
        "mbox_loc", "mbox_conf", "mbox_priorbox", "mbox_objectness")] == [1, 1, 2, 1]
    assert tops == [net.mbox_loc, net.mbox_conf, net.mbox_priorbox, net.mbox_objectness]


@pytest.mark.parametrize("given, variance", [
    (0.1, [0.1]), ([0.1], [0.1]), ((0.1, 0.1, 0.2, 0.2), [0.1, 0.1, 0.2, 0.2]),
    (np.array([0.1, 0.1, 0.2, 0.2]), [0.1, 0.1, 0.2, 0.2])])
def test_one_variance_for_all_coordinates_or_one_each(given, variance):
    net, _ = head(prior_variance=given)
    box = {layer.name: layer for layer in net.to_proto().layer}["data_mbox_priorbox"]
    assert list(box.prior_box_param.variance) == pytest.approx(variance)


@pytest.mark.parametrize("changes, complaint", [
    (dict(num_classes=0), "num_classes"), (dict(min_sizes=[]), "min_sizes has 0 values for the 1"),
    (dict(steps=[8, 16]), "steps has 2 values"), (dict(data_layer="images"), "no blob 'images'"),
    (dict(max_sizes=[[20, 30]]), "2 max_sizes and 1 min_sizes for 'data'")])
def test_a_head_that_cannot_be(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        head(**changes)


def test_import_star_brings_what_scripts_use():
    names = {}
    exec("from caffe.model_libs import *", names)
    for name in ("L", "P", "caffe_pb2", "caffe", "os", "VGGNetBody", "CreateMultiBoxHead"):
        assert name in names
    assert set(model_libs.__all__) <= set(names)
