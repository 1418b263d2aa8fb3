"""The nets of run.py as prototxt, to train and to deploy: LeNet and CIFAR-10 quick as models/ has
them; ResNet-20 (He et al., arXiv:1512.03385, section 4.2, with projections as shortcuts) and
MobileNet v1 of width 0.5 (Howard et al., arXiv:1704.04861; strides for images of 32x32) written
here, with BatchNorm and Scale behind each convolution.
"""
from __future__ import annotations

import os
import sys
from typing import Callable, List, NamedTuple, Optional

from google.protobuf import text_format

from caffe.proto import caffe_pb2

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODELS = os.path.join(ROOT, "models")
sys.path.insert(0, MODELS)

import generate  # noqa: E402  (models/generate.py)

BATCH = 100
CLASSES = 10
CIFAR_MEAN = [114.0, 123.0, 125.0]  # blue, green, red


class NormalizedNet(generate.Net):
    """A net that is trained for some thousand iterations: statistics follow in a hundred."""

    eps = 1e-5  # as Caffe's, and the published ResNets'

    def norm(self, bn, scale, train=False):
        super().norm(bn, scale, train)
        if train:
            self.layers[-2].append(("batch_norm_param",
                                    {"moving_average_fraction": 0.99, "eps": self.eps}))

    def convolution(self, name, outputs, kernel, bottom=None, stride=1, group=1, relu=True,
                    train=False):
        """A convolution with what follows it."""
        top = self.conv(name, outputs, kernel, bottom, stride=stride, pad=kernel // 2, group=group,
                        bias=False, train=train)
        self.norm(name + "/bn", name + "/scale", train)
        if relu:
            self.relu(name + "/relu")
        return top


def resnet20(net: NormalizedNet, train: bool) -> str:
    """Three stages of three blocks, of 16, 32 and 64 channels."""
    top = net.convolution("conv1", 16, 3, train=train)
    for stage in range(3):
        for block in range(3):
            name = f"res{stage + 2}{'abc'[block]}"
            outputs, stride = 16 << stage, 2 if stage and not block else 1
            shortcut = top if stride == 1 else net.convolution(
                name + "_branch1", outputs, 1, top, stride, relu=False, train=train)
            net.convolution(name + "_branch2a", outputs, 3, top, stride, train=train)
            last = net.convolution(name + "_branch2b", outputs, 3, relu=False, train=train)
            top = net.layer("Eltwise", name, [shortcut, last])
            net.relu(name + "_relu")
    net.pool("pool", "AVE")
    return net.inner("fc", CLASSES, train=train)


def mobilenet(net: NormalizedNet, train: bool) -> str:
    """Thirteen pairs of depthwise and pointwise convolutions, of half the published channels. The
    eps of BatchNorm is that of the published nets (TensorFlow's): with a smaller one, channels that
    hardly vary have weights of hundreds of times the others' size once BatchNorm is folded."""
    net.eps = 1e-3
    net.convolution("conv1", 16, 3, train=train)
    channels = 16
    plan = [("2_1", 32, 1), ("2_2", 64, 2), ("3_1", 64, 1), ("3_2", 128, 2), ("4_1", 128, 1),
            ("4_2", 256, 2)] + [(f"5_{i}", 256, 1) for i in range(1, 6)]
    for label, outputs, stride in plan + [("5_6", 512, 2), ("6", 512, 1)]:
        net.convolution(f"conv{label}/dw", channels, 3, None, stride, channels, train=train)
        net.convolution(f"conv{label}/sep", outputs, 1, train=train)
        channels = outputs
    net.pool("pool6", "AVE")
    return net.inner("fc7", CLASSES, train=train)


class Task(NamedTuple):
    """A net, its images and how it is trained in float."""
    title: str
    data: str  # mnist or cifar10
    solver: dict  # fields of SolverParameter
    tuning: dict  # likewise, of the training with quantization; max_iter is added
    scale: float = 1.0
    mean: List[float] = []
    file: str = ""  # in models/: the net to train
    body: Optional[Callable[[NormalizedNet, bool], str]] = None  # or what writes it

    @property
    def size(self) -> int:
        """Height and width of the input."""
        return 28 if self.data == "mnist" else 32

    @property
    def channels(self) -> int:
        """Of the input."""
        return 1 if self.data == "mnist" else 3


def sgd(rate: float, decay: float, iterations: int, power: float = 1) -> dict:
    """Momentum 0.9, and a rate that falls to 0."""
    return {"type": "SGD", "base_lr": rate, "lr_policy": "poly", "power": power, "momentum": 0.9,
            "weight_decay": decay, "max_iter": iterations}


TASKS = {
    "lenet": Task("LeNet", "mnist", sgd(0.01, 0.0005, 5000), sgd(0.001, 0.0005, 0),
                  scale=1 / 256, file="lenet/lenet_train_test.prototxt"),
    "quick": Task("CIFAR-10 quick", "cifar10", sgd(0.001, 0.004, 5000, 0.5),
                  sgd(0.0001, 0.004, 0), mean=CIFAR_MEAN,
                  file="cifar10_quick/train_test.prototxt"),
    "resnet20": Task("ResNet-20", "cifar10", sgd(0.1, 0.0001, 4000), sgd(0.005, 0.0001, 0),
                     1 / 64, CIFAR_MEAN, body=resnet20),
    "mobilenet": Task("MobileNet v1 0.5", "cifar10", sgd(0.05, 0.0002, 8000),
                      sgd(0.005, 0.0002, 0), 1 / 64, CIFAR_MEAN, body=mobilenet),
}


def layers_of(task: Task) -> caffe_pb2.NetParameter:
    """The net without data layers; its scores are the loss's first bottom."""
    net = caffe_pb2.NetParameter()
    if task.file:
        with open(os.path.join(MODELS, task.file), encoding="utf-8") as file:
            text_format.Parse(file.read(), net)
        for layer in [layer for layer in net.layer if layer.type == "Data"]:
            net.layer.remove(layer)
    else:
        written = NormalizedNet(task.title)
        written.top = "data"
        scores = task.body(written, True)
        written.layer("SoftmaxWithLoss", "loss", [scores, "label"])
        written.layer("Accuracy", "accuracy", [scores, "label"],
                      include={"phase": generate.Word("TEST")})
        text_format.Parse(written.text(), net)
    return net


def prepare(task: Task, transform: caffe_pb2.TransformationParameter) -> None:
    """What becomes of pixels."""
    transform.scale = task.scale
    transform.mean_value.extend(task.mean)


def to_train(task: Task, folder: str) -> caffe_pb2.NetParameter:
    """The net on the databases of a folder: random crops and mirror images of CIFAR-10 in TRAIN,
    all test images in TEST."""
    body = layers_of(task)
    net = caffe_pb2.NetParameter(name=body.name)
    for phase, part in ((caffe_pb2.TRAIN, "train"), (caffe_pb2.TEST, "test")):
        data = net.layer.add(name="data", type="Data", top=["data", "label"])
        data.include.add().phase = phase
        prepare(task, data.transform_param)
        if phase == caffe_pb2.TRAIN:
            data.data_param.rand_skip = 50000  # seeds differ in where they start
            if task.data == "cifar10":
                data.transform_param.crop_size = task.size
                data.transform_param.mirror = True
        data.data_param.source = os.path.join(folder, f"{task.data}_{part}")
        data.data_param.batch_size = BATCH
        data.data_param.backend = caffe_pb2.DataParameter.LMDB
    net.layer.extend(body.layer)
    return net


def to_deploy(task: Task) -> caffe_pb2.NetParameter:
    """The net with an input, and the probabilities of the classes as its output."""
    body = layers_of(task)
    net = caffe_pb2.NetParameter(name=body.name)
    data = net.layer.add(name="data", type="Input", top=["data"])
    data.input_param.shape.add().dim.extend([BATCH, task.channels, task.size, task.size])
    for layer in body.layer:
        if layer.type == "SoftmaxWithLoss":
            net.layer.add(name="prob", type="Softmax", bottom=layer.bottom[:1], top=["prob"])
        elif layer.type != "Accuracy":
            net.layer.add().CopyFrom(layer)
    return net
