#!/usr/bin/env python3
"""Writes the nets of models/ from the architectures as they were published.

    models/generate.py            writes all of them next to this script
    models/generate.py --check    says which files differ from what it would write, exits 1 if any

Each model gets deploy.prototxt, and train_val.prototxt with solver.prototxt where people train it
with this framework; names ending in _fp16 are the same in half precision.
"""
import argparse
import os
import re
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Word(str):
    """An enum's value: written without quotes."""


def value_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return '"%s"' % value
    return "%g" % value


def message_text(fields, indent):
    """Fields as a list of (name, value); a list as value repeats the field, a dict is a message."""
    lines = []
    pad = "  " * indent
    for name, value in fields:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                inner = message_text(one.items(), indent + 1)
                one_line = "%s%s { %s }" % (pad, name, " ".join(inner.split()))
                lines.append(one_line if len(one_line) <= 90 and inner.count("\n") < 4
                             else "%s%s {\n%s\n%s}" % (pad, name, inner, pad))
            else:
                lines.append("%s%s: %s" % (pad, name, value_text(one)))
    return "\n".join(lines)


class Net:
    """A net being written, layer after layer; `top` is the blob that was made last."""

    def __init__(self, name):
        self.name = name
        self.layers = []
        self.top = None
        self.channels = {}

    def layer(self, kind, name, bottoms=None, tops=None, **fields):
        bottoms = [self.top] if bottoms is None else bottoms
        tops = [name] if tops is None else tops
        self.layers.append([("name", name), ("type", kind), ("bottom", list(bottoms)),
                            ("top", list(tops))] + list(fields.items()))
        self.top = tops[0] if tops else self.top
        return self.top

    def input(self, *shape):
        return self.layer("Input", "data", [], input_param={"shape": {"dim": list(shape)}})

    def conv(self, name, outputs, kernel, bottom=None, stride=1, pad=0, group=1, bias=True,
             dilation=1, filler=None, bias_value=0, train=False):
        param = {"num_output": outputs}
        if not bias:
            param["bias_term"] = False
        if pad:
            param["pad"] = pad
        param["kernel_size"] = kernel
        if group != 1:
            param["group"] = group
        if stride != 1:
            param["stride"] = stride
        if dilation != 1:
            param["dilation"] = dilation
        fields = {}
        if train:
            fields["param"] = [{"lr_mult": 1, "decay_mult": 1}]
            if bias:
                fields["param"].append({"lr_mult": 2, "decay_mult": 0})
            param["weight_filler"] = filler or {"type": "msra"}
            if bias and bias_value:
                param["bias_filler"] = {"type": "constant", "value": bias_value}
        fields["convolution_param"] = param
        return self.layer("Convolution", name, bottom and [bottom], **fields)

    def inner(self, name, outputs, bottom=None, filler=None, bias_value=0, train=False):
        param = {"num_output": outputs}
        fields = {}
        if train:
            fields["param"] = [{"lr_mult": 1, "decay_mult": 1}, {"lr_mult": 2, "decay_mult": 0}]
            param["weight_filler"] = filler or {"type": "xavier"}
            if bias_value:
                param["bias_filler"] = {"type": "constant", "value": bias_value}
        fields["inner_product_param"] = param
        return self.layer("InnerProduct", name, bottom and [bottom], **fields)

    def in_place(self, kind, name, **fields):
        return self.layer(kind, name, tops=[self.top], **fields)

    def relu(self, name):
        return self.in_place("ReLU", name)

    def norm(self, bn, scale, train=False):
        frozen = {"lr_mult": 0, "decay_mult": 0}
        fields = {"param": [frozen] * 3} if train else {}
        self.in_place("BatchNorm", bn, **fields)
        fields = {"param": [{"decay_mult": 0}, {"decay_mult": 0}]} if train else {}
        return self.in_place("Scale", scale, scale_param={"bias_term": True}, **fields)

    def dropout(self, name, ratio=0.5):
        return self.in_place("Dropout", name, dropout_param={"dropout_ratio": ratio})

    def pool(self, name, kind, kernel=None, stride=1, pad=0, bottom=None):
        param = {"pool": Word(kind)}
        if kernel is None:
            param["global_pooling"] = True
        else:
            param["kernel_size"] = kernel
        if stride != 1:
            param["stride"] = stride
        if pad:
            param["pad"] = pad
        return self.layer("Pooling", name, bottom and [bottom], pooling_param=param)

    def lrn(self, name):
        return self.layer("LRN", name,
                          lrn_param={"local_size": 5, "alpha": 0.0001, "beta": 0.75})

    def softmax(self, name="prob"):
        return self.layer("Softmax", name)

    def data(self, crop, batch, test_batch, mean):
        """A Data layer for each phase, of ImageNet's database or one like it."""
        for phase, folder, size in (("TRAIN", "train", batch), ("TEST", "val", test_batch)):
            transform = {"mirror": phase == "TRAIN", "crop_size": crop}
            transform["mean_value"] = mean
            self.layer("Data", "data", [], ["data", "label"], include={"phase": Word(phase)},
                       transform_param=transform,
                       data_param={"source": "examples/imagenet/ilsvrc12_%s_lmdb" % folder,
                                   "batch_size": size, "backend": Word("LMDB")})
        self.top = "data"

    def loss(self, scores, weight=1, suffix=""):
        fields = {} if weight == 1 else {"loss_weight": weight}
        self.layer("SoftmaxWithLoss", "loss" + suffix, [scores, "label"], **fields)
        for top in (1, 5):
            accuracy = {"accuracy_param": {"top_k": top}} if top > 1 else {}
            self.layer("Accuracy", "accuracy%s/top-%d" % (suffix, top), [scores, "label"],
                       include={"phase": Word("TEST")}, **accuracy)

    def text(self, half=False):
        head = [("name", self.name)]
        if half:
            head += HALF_PRECISION
        blocks = [message_text(head, 0)]
        blocks += ["layer {\n%s\n}" % message_text(layer, 1) for layer in self.layers]
        return "\n".join(blocks) + "\n"


HALF_PRECISION = [("default_forward_type", Word("FLOAT16")),
                  ("default_backward_type", Word("FLOAT16")), ("global_grad_scale", 1000.0)]
BGR_MEAN = [104, 117, 123]
GAUSSIAN = {"type": "gaussian", "std": 0.01}
THIN_GAUSSIAN = {"type": "gaussian", "std": 0.005}


def alexnet_body(net, train, norm_first):
    """Krizhevsky, Sutskever, Hinton 2012. CaffeNet pools before it normalises."""
    def normalise_and_pool(i):
        if norm_first:
            net.lrn("norm%d" % i)
            net.pool("pool%d" % i, "MAX", 3, 2)
        else:
            net.pool("pool%d" % i, "MAX", 3, 2)
            net.lrn("norm%d" % i)
    net.conv("conv1", 96, 11, stride=4, filler=GAUSSIAN, train=train)
    net.relu("relu1")
    normalise_and_pool(1)
    # The biases that start at 1 (0.1 in AlexNet's form) keep rectifiers alive at first.
    one = 0.1 if norm_first else 1
    net.conv("conv2", 256, 5, pad=2, group=2, filler=GAUSSIAN, bias_value=one, train=train)
    net.relu("relu2")
    normalise_and_pool(2)
    net.conv("conv3", 384, 3, pad=1, filler=GAUSSIAN, train=train)
    net.relu("relu3")
    net.conv("conv4", 384, 3, pad=1, group=2, filler=GAUSSIAN, bias_value=one, train=train)
    net.relu("relu4")
    net.conv("conv5", 256, 3, pad=1, group=2, filler=GAUSSIAN, bias_value=one, train=train)
    net.relu("relu5")
    net.pool("pool5", "MAX", 3, 2)
    for i in (6, 7):
        net.inner("fc%d" % i, 4096, filler=THIN_GAUSSIAN, bias_value=one, train=train)
        net.relu("relu%d" % i)
        net.dropout("drop%d" % i)
    return net.inner("fc8", 1000, filler=GAUSSIAN, train=train)


def inception(net, name, bottom, sizes, train):
    """Szegedy et al. 2014: 1x1, 3x3, 5x5 and pooled branches side by side."""
    one, three_reduce, three, five_reduce, five, pooled = sizes
    path = "inception_%s/" % name

    def conv(label, outputs, kernel, source, pad=0):
        top = net.conv(path + label, outputs, kernel, source, pad=pad,
                       filler={"type": "xavier"}, bias_value=0.2, train=train)
        net.relu(path + "relu_" + label)
        return top

    branches = [conv("1x1", one, 1, bottom)]
    branches.append(conv("3x3", three, 3, conv("3x3_reduce", three_reduce, 1, bottom), 1))
    branches.append(conv("5x5", five, 5, conv("5x5_reduce", five_reduce, 1, bottom), 2))
    branches.append(conv("pool_proj", pooled, 1, net.pool(path + "pool", "MAX", 3, 1, 1, bottom)))
    return net.layer("Concat", path + "output", branches)


def googlenet_head(net, number, bottom, train):
    """An auxiliary classifier, for training only."""
    path = "loss%d/" % number
    net.pool(path + "ave_pool", "AVE", 5, 3, bottom=bottom)
    net.conv(path + "conv", 128, 1, filler={"type": "xavier"}, bias_value=0.2, train=train)
    net.relu(path + "relu_conv")
    net.inner(path + "fc", 1024, bias_value=0.2, train=train)
    net.relu(path + "relu_fc")
    net.dropout(path + "drop_fc", 0.7)
    net.loss(net.inner(path + "classifier", 1000, train=train), 0.3, "%d" % number)


def googlenet_body(net, train):
    def conv(name, outputs, kernel, stride=1, pad=0):
        net.conv(name, outputs, kernel, stride=stride, pad=pad, filler={"type": "xavier"},
                 bias_value=0.2, train=train)
        net.relu(name.split("/")[0] + "/relu_" + name.split("/")[1])
    conv("conv1/7x7_s2", 64, 7, 2, 3)
    net.pool("pool1/3x3_s2", "MAX", 3, 2)
    net.lrn("pool1/norm1")
    conv("conv2/3x3_reduce", 64, 1)
    conv("conv2/3x3", 192, 3, pad=1)
    net.lrn("conv2/norm2")
    top = net.pool("pool2/3x3_s2", "MAX", 3, 2)
    top = inception(net, "3a", top, (64, 96, 128, 16, 32, 32), train)
    inception(net, "3b", top, (128, 128, 192, 32, 96, 64), train)
    top = net.pool("pool3/3x3_s2", "MAX", 3, 2)
    top = inception(net, "4a", top, (192, 96, 208, 16, 48, 64), train)
    if train:
        googlenet_head(net, 1, top, train)
    top = inception(net, "4b", top, (160, 112, 224, 24, 64, 64), train)
    top = inception(net, "4c", top, (128, 128, 256, 24, 64, 64), train)
    top = inception(net, "4d", top, (112, 144, 288, 32, 64, 64), train)
    if train:
        googlenet_head(net, 2, top, train)
    inception(net, "4e", top, (256, 160, 320, 32, 128, 128), train)
    top = net.pool("pool4/3x3_s2", "MAX", 3, 2)
    top = inception(net, "5a", top, (256, 160, 320, 32, 128, 128), train)
    inception(net, "5b", top, (384, 192, 384, 48, 128, 128), train)
    net.pool("pool5/7x7_s1", "AVE", 7, 1)
    net.dropout("pool5/drop_7x7_s1", 0.4)
    return net.inner("loss3/classifier", 1000, train=train)


def resnet_body(net, train, blocks, bottleneck):
    """He, Zhang, Ren, Sun 2015."""
    def conv(name, outputs, kernel, bottom=None, stride=1, relu=True):
        top = net.conv(name, outputs, kernel, bottom, stride=stride, pad=kernel // 2, bias=False,
                       train=train)
        label = name.replace("res", "", 1) if name.startswith("res") else "_" + name
        net.norm("bn" + label, "scale" + label, train)
        if relu:
            net.relu(name + "_relu")
        return top

    conv("conv1", 64, 7, stride=2)
    top = net.pool("pool1", "MAX", 3, 2)
    for stage, count in enumerate(blocks):
        width = 64 << stage
        outputs = width * 4 if bottleneck else width
        for block in range(count):
            name = "res%d%s" % (stage + 2, chr(ord("a") + block))
            stride = 2 if stage > 0 and block == 0 else 1
            shortcut = top
            if block == 0 and (bottleneck or stage > 0):
                shortcut = conv(name + "_branch1", outputs, 1, top, stride, relu=False)
            if bottleneck:
                conv(name + "_branch2a", width, 1, top, stride)
                conv(name + "_branch2b", width, 3)
                last = conv(name + "_branch2c", outputs, 1, relu=False)
            else:
                conv(name + "_branch2a", width, 3, top, stride)
                last = conv(name + "_branch2b", width, 3, relu=False)
            top = net.layer("Eltwise", name, [shortcut, last])
            net.relu(name + "_relu")
    net.pool("pool5", "AVE", 7, 1)
    return net.inner("fc1000", 1000, train=train)


def vgg16_convolutions(net, train, until=5):
    """Simonyan, Zisserman 2014, configuration D."""
    for stage, (count, outputs) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))):
        for i in range(count):
            net.conv("conv%d_%d" % (stage + 1, i + 1), outputs, 3, pad=1, filler=GAUSSIAN,
                     train=train)
            net.relu("relu%d_%d" % (stage + 1, i + 1))
        if stage < until:
            net.pool("pool%d" % (stage + 1), "MAX", 2, 2)


def vgg16_body(net, train):
    vgg16_convolutions(net, train)
    for i in (6, 7):
        net.inner("fc%d" % i, 4096, filler=THIN_GAUSSIAN, bias_value=1, train=train)
        net.relu("relu%d" % i)
        net.dropout("drop%d" % i)
    return net.inner("fc8", 1000, filler=GAUSSIAN, train=train)


def squeezenet_body(net, train):
    """Iandola et al. 2016, version 1.1."""
    def fire(number, squeeze, expand):
        path = "fire%d/" % number
        xavier = {"type": "xavier"}
        top = net.conv(path + "squeeze1x1", squeeze, 1, filler=xavier, train=train)
        net.relu(path + "relu_squeeze1x1")
        one = net.conv(path + "expand1x1", expand, 1, top, filler=xavier, train=train)
        net.relu(path + "relu_expand1x1")
        three = net.conv(path + "expand3x3", expand, 3, top, pad=1, filler=xavier, train=train)
        net.relu(path + "relu_expand3x3")
        net.layer("Concat", path + "concat", [one, three])

    net.conv("conv1", 64, 3, stride=2, filler={"type": "xavier"}, train=train)
    net.relu("relu_conv1")
    net.pool("pool1", "MAX", 3, 2)
    fire(2, 16, 64)
    fire(3, 16, 64)
    net.pool("pool3", "MAX", 3, 2)
    fire(4, 32, 128)
    fire(5, 32, 128)
    net.pool("pool5", "MAX", 3, 2)
    fire(6, 48, 192)
    fire(7, 48, 192)
    fire(8, 64, 256)
    fire(9, 64, 256)
    net.dropout("drop9")
    net.conv("conv10", 1000, 1, filler=GAUSSIAN, train=train)
    net.relu("relu_conv10")
    return net.pool("pool10", "AVE")


def conv_norm(net, name, outputs, kernel, train, stride=1, group=1, bottom=None, relu=True):
    top = net.conv(name, outputs, kernel, bottom, stride=stride, pad=kernel // 2, group=group,
                   bias=False, train=train)
    net.norm(name + "/bn", name + "/scale", train)
    if relu:
        net.relu("relu" + name[4:] if name.startswith("conv") else name + "/relu")
    return top


def mobilenet_v1_body(net, train):
    """Howard et al. 2017, width 1."""
    conv_norm(net, "conv1", 32, 3, train, 2)
    channels = 32
    plan = [("2_1", 64, 1), ("2_2", 128, 2), ("3_1", 128, 1), ("3_2", 256, 2), ("4_1", 256, 1),
            ("4_2", 512, 2)] + [("5_%d" % i, 512, 1) for i in range(1, 6)]
    plan += [("5_6", 1024, 2), ("6", 1024, 1)]
    for label, outputs, stride in plan:
        conv_norm(net, "conv%s/dw" % label, channels, 3, train, stride, channels)
        conv_norm(net, "conv%s/sep" % label, outputs, 1, train)
        channels = outputs
    net.pool("pool6", "AVE")
    return net.conv("fc7", 1000, 1, train=train)


def mobilenet_v2_body(net, train):
    """Sandler et al. 2018, width 1: inverted residuals with linear ends."""
    conv_norm(net, "conv1", 32, 3, train, 2)
    channels = 32
    top = net.top
    number = 0
    for expand, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                           (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                           (6, 320, 1, 1)):
        for i in range(count):
            number += 1
            path = "block%d" % number
            wide = channels * expand
            if expand > 1:
                conv_norm(net, path + "/expand", wide, 1, train, bottom=top)
            conv_norm(net, path + "/dwise", wide, 3, train, stride if i == 0 else 1, wide,
                      bottom=None if expand > 1 else top)
            last = conv_norm(net, path + "/linear", outputs, 1, train, relu=False)
            if i > 0:
                last = net.layer("Eltwise", path, [top, last])
            top = last
            channels = outputs
    conv_norm(net, "conv_last", 1280, 1, train)
    net.pool("pool", "AVE")
    return net.conv("fc", 1000, 1, train=train)


SSD_CLASSES = 21
XAVIER = {"type": "xavier"}


def ssd300_body(net, train):
    """VGG-16 with pool5 at stride 1 and fc6 and fc7 as convolutions."""
    for stage, (count, outputs) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))):
        for i in range(count):
            net.conv("conv%d_%d" % (stage + 1, i + 1), outputs, 3, pad=1, filler=XAVIER,
                     train=train)
            net.relu("relu%d_%d" % (stage + 1, i + 1))
        if stage < 4:
            net.pool("pool%d" % (stage + 1), "MAX", 2, 2)
        else:
            net.pool("pool5", "MAX", 3, 1, 1)
    net.conv("fc6", 1024, 3, "pool5", pad=6, dilation=6, filler=XAVIER, train=train)
    net.relu("relu6")
    net.conv("fc7", 1024, 1, filler=XAVIER, train=train)
    net.relu("relu7")


def ssd300_heads(net, train):
    """Liu et al. 2016: six maps, each with boxes of its own."""
    for name, outputs, kernel, pad, stride in (
            ("conv6_1", 256, 1, 0, 1), ("conv6_2", 512, 3, 1, 2), ("conv7_1", 128, 1, 0, 1),
            ("conv7_2", 256, 3, 1, 2), ("conv8_1", 128, 1, 0, 1), ("conv8_2", 256, 3, 0, 1),
            ("conv9_1", 128, 1, 0, 1), ("conv9_2", 256, 3, 0, 1)):
        net.conv(name, outputs, kernel, pad=pad, stride=stride, filler=XAVIER, train=train)
        net.relu(name + "_relu")
    net.layer("Normalize", "conv4_3_norm", ["conv4_3"],
              norm_param={"across_spatial": False,
                          "scale_filler": {"type": "constant", "value": 20},
                          "channel_shared": False})
    maps = (("conv4_3_norm", 30, 60, [2], 8), ("fc7", 60, 111, [2, 3], 16),
            ("conv6_2", 111, 162, [2, 3], 32), ("conv7_2", 162, 213, [2, 3], 64),
            ("conv8_2", 213, 264, [2], 100), ("conv9_2", 264, 315, [2], 300))
    parts = {"loc": [], "conf": [], "priorbox": []}
    for source, least, most, ratios, step in maps:
        boxes = 2 + 2 * len(ratios)
        for kind, outputs in (("loc", 4 * boxes), ("conf", SSD_CLASSES * boxes)):
            name = "%s_mbox_%s" % (source, kind)
            net.conv(name, outputs, 3, source, pad=1, filler=XAVIER, train=train)
            net.layer("Permute", name + "_perm", permute_param={"order": [0, 2, 3, 1]})
            parts[kind].append(net.layer("Flatten", name + "_flat", flatten_param={"axis": 1}))
        parts["priorbox"].append(net.layer(
            "PriorBox", source + "_mbox_priorbox", [source, "data"],
            prior_box_param={"min_size": least, "max_size": most, "aspect_ratio": ratios,
                             "flip": True, "clip": False, "variance": [0.1, 0.1, 0.2, 0.2],
                             "step": step, "offset": 0.5}))
    net.layer("Concat", "mbox_loc", parts["loc"], concat_param={"axis": 1})
    net.layer("Concat", "mbox_conf", parts["conf"], concat_param={"axis": 1})
    net.layer("Concat", "mbox_priorbox", parts["priorbox"], concat_param={"axis": 2})


def ssd300_detections(net, **fields):
    net.layer("Reshape", "mbox_conf_reshape", ["mbox_conf"],
              reshape_param={"shape": {"dim": [0, -1, SSD_CLASSES]}}, **fields)
    net.layer("Softmax", "mbox_conf_softmax", softmax_param={"axis": 2}, **fields)
    net.layer("Flatten", "mbox_conf_flatten", flatten_param={"axis": 1}, **fields)
    net.layer("DetectionOutput", "detection_out",
              ["mbox_loc", "mbox_conf_flatten", "mbox_priorbox"],
              include={"phase": Word("TEST")},
              detection_output_param={
                  "num_classes": SSD_CLASSES, "share_location": True, "background_label_id": 0,
                  "nms_param": {"nms_threshold": 0.45, "top_k": 400},
                  "code_type": Word("CENTER_SIZE"), "keep_top_k": 200,
                  "confidence_threshold": 0.01})


def ssd300_deploy():
    net = Net("VGG_VOC0712_SSD_300x300_deploy")
    net.input(1, 3, 300, 300)
    ssd300_body(net, False)
    ssd300_heads(net, False)
    ssd300_detections(net)
    return net


def ssd_sampler(**constraint):
    """Crops, up to 50 tries, of which the first that satisfies `constraint` is taken."""
    return {"sampler": {"min_scale": 0.3, "max_scale": 1.0, "min_aspect_ratio": 0.5,
                        "max_aspect_ratio": 2.0},
            "sample_constraint": constraint, "max_sample": 1, "max_trials": 50}


def ssd300_data(net, train):
    interpolations = ["LINEAR", "AREA", "NEAREST", "CUBIC", "LANCZOS4"] if train else ["LINEAR"]
    transform = {"mirror": train, "mean_value": BGR_MEAN,
                 "resize_param": {"prob": 1, "resize_mode": Word("WARP"), "height": 300,
                                  "width": 300,
                                  "interp_mode": [Word(name) for name in interpolations]}}
    annotated = {"label_map_file": "data/VOC0712/labelmap_voc.prototxt"}
    if train:
        transform["emit_constraint"] = {"emit_type": Word("CENTER")}
        transform["distort_param"] = {
            "brightness_prob": 0.5, "brightness_delta": 32, "contrast_prob": 0.5,
            "contrast_lower": 0.5, "contrast_upper": 1.5, "hue_prob": 0.5, "hue_delta": 18,
            "saturation_prob": 0.5, "saturation_lower": 0.5, "saturation_upper": 1.5,
            "random_order_prob": 0.0}
        transform["expand_param"] = {"prob": 0.5, "max_expand_ratio": 4.0}
        annotated["batch_sampler"] = [{"max_sample": 1, "max_trials": 1}]
        annotated["batch_sampler"] += [ssd_sampler(min_jaccard_overlap=overlap)
                                       for overlap in (0.1, 0.3, 0.5, 0.7, 0.9)]
        annotated["batch_sampler"].append(ssd_sampler(max_jaccard_overlap=1.0))
    net.layer("AnnotatedData", "data", [], ["data", "label"],
              include={"phase": Word("TRAIN" if train else "TEST")}, transform_param=transform,
              data_param={"source": "examples/VOC0712/VOC0712_%s_lmdb"
                                    % ("trainval" if train else "test"),
                          "batch_size": 32 if train else 1, "backend": Word("LMDB")},
              annotated_data_param=annotated)
    net.top = "data"


def ssd300_train_val():
    net = Net("VGG_VOC0712_SSD_300x300")
    for train in (True, False):
        ssd300_data(net, train)
    ssd300_body(net, True)
    ssd300_heads(net, True)
    net.layer("MultiBoxLoss", "mbox_loss", ["mbox_loc", "mbox_conf", "mbox_priorbox", "label"],
              include={"phase": Word("TRAIN")}, propagate_down=[True, True, False, False],
              loss_param={"normalization": Word("VALID")},
              multibox_loss_param={
                  "loc_loss_type": Word("SMOOTH_L1"), "conf_loss_type": Word("SOFTMAX"),
                  "loc_weight": 1, "num_classes": SSD_CLASSES, "share_location": True,
                  "match_type": Word("PER_PREDICTION"), "overlap_threshold": 0.5,
                  "use_prior_for_matching": True, "background_label_id": 0,
                  "use_difficult_gt": True, "neg_pos_ratio": 3, "neg_overlap": 0.5,
                  "code_type": Word("CENTER_SIZE"), "ignore_cross_boundary_bbox": False,
                  "mining_type": Word("MAX_NEGATIVE")})
    test = {"phase": Word("TEST")}
    ssd300_detections(net, include=test)
    net.layer("DetectionEvaluate", "detection_eval", ["detection_out", "label"], include=test,
              detection_evaluate_param={
                  "num_classes": SSD_CLASSES, "background_label_id": 0, "overlap_threshold": 0.5,
                  "evaluate_difficult_gt": False,
                  "name_size_file": "data/VOC0712/test_name_size.txt"})
    return net


def ssd300_solver_text(half):
    """For a start from VGG-16's weights (-weights), as published."""
    suffix = "_fp16" if half else ""
    return message_text([
        ("net", "models/ssd300_vgg16/train_val%s.prototxt" % suffix),
        ("test_iter", 4952), ("test_interval", 10000), ("test_initialization", False),
        ("eval_type", "detection"), ("ap_version", "11point"), ("base_lr", 0.001),
        ("lr_policy", "multistep"), ("gamma", 0.1), ("stepvalue", [80000, 100000, 120000]),
        ("max_iter", 120000), ("momentum", 0.9), ("weight_decay", 0.0005), ("display", 10),
        ("average_loss", 10), ("snapshot", 10000),
        ("snapshot_prefix", "models/ssd300_vgg16/ssd300_vgg16" + suffix),
        ("solver_mode", Word("CPU"))], 0) + "\n"


class Classifier:
    def __init__(self, folder, name, body, crop, batch, test_batch, solver, mean=None):
        self.folder, self.name, self.body, self.crop = folder, name, body, crop
        self.batch, self.test_batch, self.solver = batch, test_batch, solver
        self.mean = mean or BGR_MEAN

    def deploy(self):
        net = Net(self.name)
        net.input(1, 3, self.crop, self.crop)
        self.body(net, False)
        net.softmax()
        return net

    def train_val(self):
        net = Net(self.name)
        net.data(self.crop, self.batch, self.test_batch, self.mean)
        net.loss(self.body(net, True))
        return net

    def solver_text(self, half):
        suffix = "_fp16" if half else ""
        fields = [("net", "models/%s/train_val%s.prototxt" % (self.folder, suffix)),
                  ("test_iter", 50000 // self.test_batch), ("test_interval", 5000),
                  ("test_initialization", False)]
        fields += self.solver
        fields += [("display", 20), ("snapshot", 10000),
                   ("snapshot_prefix", "models/%s/%s%s" % (self.folder, self.folder, suffix)),
                   ("solver_mode", Word("CPU"))]
        return message_text(fields, 0) + "\n"


def step_solver(rate, decay=0.0005, every=100000, total=450000):
    return [("base_lr", rate), ("lr_policy", "step"), ("gamma", 0.1), ("stepsize", every),
            ("max_iter", total), ("momentum", 0.9), ("weight_decay", decay)]


def poly_solver(rate, power, total, decay):
    return [("base_lr", rate), ("lr_policy", "poly"), ("power", power), ("max_iter", total),
            ("momentum", 0.9), ("weight_decay", decay)]


CLASSIFIERS = [
    Classifier("bvlc_alexnet", "AlexNet", lambda net, train: alexnet_body(net, train, True), 227,
               256, 50, step_solver(0.01)),
    Classifier("bvlc_reference_caffenet", "CaffeNet",
               lambda net, train: alexnet_body(net, train, False), 227, 256, 50,
               step_solver(0.01)),
    Classifier("bvlc_googlenet", "GoogleNet", googlenet_body, 224, 32, 50,
               poly_solver(0.01, 0.5, 2400000, 0.0002)),
    Classifier("resnet18", "ResNet-18",
               lambda net, train: resnet_body(net, train, (2, 2, 2, 2), False), 224, 64, 25,
               step_solver(0.05, 0.0001, 150000, 600000)),
    Classifier("resnet50", "ResNet-50",
               lambda net, train: resnet_body(net, train, (3, 4, 6, 3), True), 224, 32, 25,
               step_solver(0.025, 0.0001, 300000, 1200000)),
    Classifier("vgg16", "VGG-16", vgg16_body, 224, 64, 25, step_solver(0.01, 0.0005, 100000, 370000)),
    Classifier("squeezenet_v1.1", "SqueezeNet v1.1", squeezenet_body, 227, 64, 50,
               poly_solver(0.04, 1, 170000, 0.0002)),
    Classifier("mobilenet_v1", "MobileNet v1", mobilenet_v1_body, 224, 64, 50,
               poly_solver(0.05, 1, 600000, 0.0001)),
    Classifier("mobilenet_v2", "MobileNet v2", mobilenet_v2_body, 224, 64, 50,
               poly_solver(0.05, 1, 600000, 0.00004)),
]


# Written by hand, and read here for what is the same in half precision.
HAND_WRITTEN_NETS = ("lenet/deploy", "lenet/lenet_train_test", "cifar10_quick/deploy",
                     "cifar10_quick/train_test")
HAND_WRITTEN_SOLVERS = ("lenet/solver", "cifar10_quick/solver", "cifar10_quick/solver_lr1")


def hand_written(name):
    with open(os.path.join(FOLDER, name + ".prototxt")) as file:
        return file.read()


def half_net(text):
    """The net's text with the fields of half precision behind its name."""
    named = re.search(r"^name: .*\n", text, re.MULTILINE)
    return text[:named.end()] + message_text(HALF_PRECISION, 0) + "\n" + text[named.end():]


def half_solver(text):
    """The solver's text for the net in half precision, with snapshots of its own."""
    text = re.sub(r"\.prototxt", "_fp16.prototxt", text)
    return re.sub(r'(snapshot_prefix: "[^"]*)"', r'\1_fp16"', text)


def all_files():
    """Paths below models/, with their contents."""
    files = {}
    for model in CLASSIFIERS:
        for half in (False, True):
            suffix = "_fp16" if half else ""
            files["%s/deploy%s.prototxt" % (model.folder, suffix)] = model.deploy().text(half)
            files["%s/train_val%s.prototxt" % (model.folder, suffix)] = model.train_val().text(half)
            files["%s/solver%s.prototxt" % (model.folder, suffix)] = model.solver_text(half)
    for name in HAND_WRITTEN_NETS:
        files[name + "_fp16.prototxt"] = half_net(hand_written(name))
    for name in HAND_WRITTEN_SOLVERS:
        files[name + "_fp16.prototxt"] = half_solver(hand_written(name))
    for half in (False, True):
        path = "ssd300_vgg16/%s" + ("_fp16" if half else "") + ".prototxt"
        files[path % "deploy"] = ssd300_deploy().text(half)
        files[path % "train_val"] = ssd300_train_val().text(half)
        files[path % "solver"] = ssd300_solver_text(half)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    different = []
    for path, text in sorted(all_files().items()):
        whole = os.path.join(FOLDER, path)
        if arguments.check:
            if not os.path.exists(whole) or open(whole).read() != text:
                different.append(path)
            continue
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w") as file:
            file.write(text)
    if different:
        sys.exit("models/generate.py: not as generated: " + ", ".join(different))


if __name__ == "__main__":
    main()
