"""A net as integers compute it: what caffe.inference.quantized_graph returns, and exporters read.

Nothing of Caffe has to be compiled for it.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Optional, Tuple

import numpy as np


@dataclass
class QuantizedValue:
    """A blob. Real numbers are scale (q - zero_point); ``'FLOAT'`` is what is not in integers."""

    name: str
    shape: Tuple[int, ...]
    type: str = "UINT8"  #: or 'INT8', of symmetric scales, or 'FLOAT'
    scale: float = 1.0  #: a float32
    zero_point: int = 0
    data: Optional[np.ndarray] = None  #: of a constant


@dataclass
class Integers:
    """How a node computes with integers alone."""

    rounding: str = "double"  #: or 'single'
    least: int = 0  #: bytes that output 0 may be: ReLU, ReLU6 and Clip
    most: int = 255
    weight_zero_point: int = 0  #: not 0: the weights are uint8


@dataclass
class QuantizedNode:
    """One operation.

    Inputs and outputs are indices of values. Of Convolution, DepthwiseConvolution, Deconvolution
    and InnerProduct the parameters are: weights (int8, in Caffe's order), bias (int32, of the scale
    input scale * weight scale), multipliers and shifts (int32), weight scales (float32), each of
    the last four with one entry for an output; and, where a PReLU or a leaky ReLU is part of the
    node, the multipliers and shifts of negative sums. Of functions of one number: a table of 256
    bytes (uint8), or one for each channel.
    """

    name: str
    type: str
    inputs: List[int]
    outputs: List[int]
    layer: Any  #: caffe_pb2.LayerParameter
    integers: Optional[Integers] = None  #: None: it computes with floats
    parameters: List[np.ndarray] = field(default_factory=list)
    #: Steps behind it, a layer and its parameters each; of integers they are among the parameters
    #: and bounds.
    epilogue: List[Tuple[Any, List[np.ndarray]]] = field(default_factory=list)


@dataclass
class QuantizedGraph:
    """What the net computes in the TEST phase, in the order in which it does."""

    name: str
    values: List[QuantizedValue]
    nodes: List[QuantizedNode]
    inputs: List[int]  #: values
    outputs: List[int]
    #: Why layers compute with floats, a line each.
    remarks: List[str] = field(default_factory=list)
