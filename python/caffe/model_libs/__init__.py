"""Building blocks of detectors, by the names and arguments of SSD's ``caffe.model_libs``.

    from caffe.model_libs import *

    net = caffe.NetSpec()
    net.data, net.label = CreateAnnotatedDataLayer('train_lmdb', batch_size=32,
                                                   label_map_file='labelmap.prototxt')
    VGGNetBody(net, from_layer='data', fully_conv=True, reduced=True, dilated=True, dropout=False)
    mbox_layers = CreateMultiBoxHead(net, data_layer='data', from_layers=['conv4_3', 'fc7'],
                                     num_classes=21, min_sizes=[30, 60], max_sizes=[60, 111],
                                     aspect_ratios=[[2], [2, 3]], normalizations=[20, -1],
                                     use_batchnorm=False, clip=False, kernel_size=3, pad=1,
                                     prior_variance=[0.1, 0.1, 0.2, 0.2])

Each function adds layers to a :class:`caffe.NetSpec`; ``from_layer`` is the name of the blob to
begin at. Names of layers, and so of blobs, are those of the published nets, whose weights then fit.
What else ``import *`` brings (``L``, ``P``, ``caffe_pb2``, ``caffe``, ``os``) is what scripts use.
"""
import os

import caffe
from caffe import layers as L
from caffe import params as P
from caffe.proto import caffe_pb2

from .blocks import (ConvBNLayer, InceptionTower, ResBody, UnpackVariable, check_if_exist,
                     make_if_not_exist)
from .inception import InceptionV3Body
from .mobilenet import MobileNetBody, MobileNetV2Body
from .multibox import CreateAnnotatedDataLayer, CreateMultiBoxHead
from .resnet import ResNet50Body, ResNet101Body, ResNet152Body
from .vgg import VGGNetBody, ZFNetBody

__all__ = ["ConvBNLayer", "CreateAnnotatedDataLayer", "CreateMultiBoxHead", "InceptionTower",
           "InceptionV3Body", "L", "MobileNetBody", "MobileNetV2Body", "P", "ResBody",
           "ResNet101Body", "ResNet152Body", "ResNet50Body", "UnpackVariable", "VGGNetBody",
           "ZFNetBody", "caffe", "caffe_pb2", "check_if_exist", "make_if_not_exist", "os"]
