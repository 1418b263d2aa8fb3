"""The exporters of all types of layers; importing this package fills the table.

Each module has the functions of related layers; see :mod:`caffe.tflite.layer`.
"""
from . import activations, arithmetic, convolution, inner_product, pooling, resizing, shaping

__all__ = ["activations", "arithmetic", "convolution", "inner_product", "pooling", "resizing",
           "shaping"]
