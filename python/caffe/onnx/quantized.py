"""Nets in 8-bit integers as ONNX models with QuantizeLinear and DequantizeLinear (QDQ).

Every blob of integers is rounded by a QuantizeLinear, with the scale and zero point that it has in
an engine, and read through a DequantizeLinear; weights are int8 and biases int32, behind a
DequantizeLinear each. Programs that know the pattern compute with integers; others with floats that
are rounded at the same places.
"""
from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from .._quantized_graph import QuantizedGraph, QuantizedNode, QuantizedValue
from .errors import ExportError, Inexpressible, require
from .graph import FLOAT, INT64, Graph, Value
from .layer import EXPORTERS, Layer
from .layers.convolution import geometry
from .net import Exported

_WEIGHTED = ("Convolution", "DepthwiseConvolution", "ConvolutionDepthwise", "Deconvolution",
             "InnerProduct")
_BYTES, _SIGNED = np.dtype(np.uint8), np.dtype(np.int8)
# Functions of one number that their LayerParameter says all about.
_FUNCTIONS = ("AbsVal", "BNLL", "Clip", "ELU", "Exp", "GELU", "HardSwish", "Log", "Power", "ReLU",
              "ReLU6", "Sigmoid", "Swish", "TanH")


def real_of(multiplier: int, shift: int) -> float:
    """The number that a fixed-point multiplier stands for."""
    return math.ldexp(float(multiplier), int(shift) - 31)


def norm_factors(node: QuantizedNode, value: QuantizedValue, top: QuantizedValue) -> np.ndarray:
    """The learned factors of a Normalize layer, one or one a channel, from its multipliers: factor
    * x / |x| for the smallest x / the top's scale / 2^22."""
    face = node.layer.HasField("normalize_param")
    eps = 1e-6 if face else node.layer.norm_param.eps
    factors = np.array([real_of(*pair) * (1 << 22) for pair in node.parameters[0].reshape(-1, 2)])
    return factors * (top.scale * math.sqrt(value.scale**2 + eps) / value.scale)


class QuantizedExporter:
    """Exports a quantized graph into an ONNX graph."""

    def __init__(self, graph: Graph, quantized: QuantizedGraph) -> None:
        self._graph = graph
        self._quantized = quantized
        self._values: Dict[int, Value] = {}  # bytes, or floats where a blob is not in integers

    def run(self) -> Exported:
        for i in self._quantized.inputs:
            value = self._quantized.values[i]
            given = self._graph.add_input(value.name, tuple(value.shape), FLOAT)
            self._values[i] = self._rounded(given, value) if self._is_integer(i) else given
        for i, value in enumerate(self._quantized.values):
            if value.data is not None:
                self._values[i] = self._graph.constant(value.data, value.name)
        notes: List[str] = []
        for node in self._quantized.nodes:
            try:
                self._export(node)
            except Inexpressible as reason:
                raise ExportError(f"layer '{node.name}' ({node.type}): {reason}") from reason
            if node.integers is None:
                notes.append(f"layer '{node.name}' ({node.type}) computes with floats")
        outputs = [self._named(self._quantized.values[i].name, self._real(i))
                   for i in self._quantized.outputs]
        return Exported(self._graph, outputs, notes)

    def _is_integer(self, i: int) -> bool:
        return self._quantized.values[i].type in ("UINT8", "INT8")

    # Between bytes and floats.

    def _op(self, op_type: str, inputs: Sequence[Optional[Value]], name: str, shape: Any,
            dtype: np.dtype, **attributes: Any) -> Value:
        value = Value(self._graph.unique(name), shape, dtype)
        self._graph.node(op_type, inputs, [value], name=value.name, **attributes)
        return value

    def _affine(self, value: QuantizedValue) -> List[Value]:
        """The scale and the zero point of a blob."""
        dtype = _BYTES if value.type == "UINT8" else _SIGNED
        return [self._graph.constant(np.array(value.scale, np.float32), f"{value.name}/scale"),
                self._graph.constant(np.array(value.zero_point, dtype), f"{value.name}/zero_point")]

    def _rounded(self, x: Value, value: QuantizedValue) -> Value:
        affine = self._affine(value)
        return self._op("QuantizeLinear", [x, *affine], f"{value.name}/QuantizeLinear",
                        tuple(value.shape), affine[1].dtype)

    def _real(self, i: int) -> Value:
        """A blob in floats, read by one node: a DequantizeLinear of its own."""
        if not self._is_integer(i):
            return self._values[i]
        value = self._quantized.values[i]
        return self._op("DequantizeLinear", [self._values[i], *self._affine(value)],
                        f"{value.name}/DequantizeLinear", tuple(value.shape), FLOAT)

    def _constant(self, array: np.ndarray, scales: np.ndarray, axis: int, name: str) -> Value:
        """Integers that never change, with a scale for each index of an axis."""
        integers = self._graph.constant(array, name)
        factors = self._graph.constant(scales.astype(np.float32), f"{name}/scales")
        zeros = self._graph.constant(np.zeros(scales.shape, array.dtype), f"{name}/zero_points")
        return self._op("DequantizeLinear", [integers, factors, zeros], f"{name}/DequantizeLinear",
                        array.shape, FLOAT, axis=axis)

    def _named(self, name: str, value: Value) -> Value:
        output = Value(self._graph.unique(name), value.shape, value.dtype)
        self._graph.node("Identity", [value], [output], name=f"{name}/Identity")
        return output

    # Nodes.

    def _export(self, node: QuantizedNode) -> None:
        if node.integers is None:
            self._write(node, self._computed(node, node.parameters))
        elif node.type in _WEIGHTED:
            self._write(node, [self._weighted(node)])
        elif self._is_table(node):
            self._values[node.outputs[0]] = self._looked_up(node)
        elif node.type == "Rescale":
            self._write(node, [self._real(node.inputs[0])])
        else:
            self._write(node, self._computed(node, self._parameters(node)))

    def _write(self, node: QuantizedNode, tops: List[Value]) -> None:
        """Rounds what a node has made, within its bounds."""
        for i, top in zip(node.outputs, tops):
            value = self._quantized.values[i]
            if self._is_integer(i):
                if i == node.outputs[0] and node.integers is not None:
                    top = self._clipped(node, top, value)
                top = self._rounded(top, value)
            self._values[i] = top

    def _clipped(self, node: QuantizedNode, x: Value, value: QuantizedValue) -> Value:
        """Bounds that are not those of the bytes themselves."""
        assert node.integers is not None
        least, most = node.integers.least, node.integers.most
        lowest, highest = (0, 255) if value.type == "UINT8" else (-127, 127)
        if (least, most) == (lowest, highest):
            return x
        if least == value.zero_point and most == highest:
            return self._op("Relu", [x], f"{node.name}/Relu", x.shape, FLOAT)
        bounds = [None if bound == extreme else self._graph.constant(
            np.array(value.scale * (bound - value.zero_point), np.float32), f"{node.name}/bound")
            for bound, extreme in ((least, lowest), (most, highest))]
        return self._op("Clip", [x, *bounds], f"{node.name}/Clip", x.shape, FLOAT)

    def _layer(self, node: QuantizedNode, param: Any, bottoms: List[Value],
               parameters: Sequence[np.ndarray]) -> Layer:
        named = type(param)()
        named.CopyFrom(param)
        del named.top[:]
        named.top.extend(self._quantized.values[i].name for i in node.outputs)
        return Layer(self._graph, named, FLOAT, bottoms,
                     lambda _, i, shape: np.asarray(parameters[i], np.float32).reshape(shape))

    def _computed(self, node: QuantizedNode, parameters: Sequence[np.ndarray]) -> List[Value]:
        """In floats, by the function of the layer's type."""
        require(node.type in EXPORTERS, "it has no ONNX form")
        layer = self._layer(node, node.layer, [self._real(i) for i in node.inputs], parameters)
        EXPORTERS[node.type].function(layer)
        tops = [top for top in layer.tops if top is not None]
        for step, of_step in node.epilogue if node.integers is None else []:
            require(step.type in EXPORTERS and step.type != "Eltwise", "it has no ONNX form")
            behind = self._layer(node, step, tops[:1], of_step)
            behind.name = f"{node.name}/{step.type}"
            EXPORTERS[step.type].function(behind)
            tops[0] = behind.tops[0] or tops[0]
        return tops

    def _parameters(self, node: QuantizedNode) -> List[np.ndarray]:
        """What the layer's function asks for, from the engine's integers."""
        if node.type != "Normalize":
            return []
        return [norm_factors(node, self._quantized.values[node.inputs[0]],
                             self._quantized.values[node.outputs[0]])]

    def _weighted(self, node: QuantizedNode) -> Value:
        """A convolution, deconvolution or inner product, with the slopes of a PReLU in it."""
        top = self._quantized.values[node.outputs[0]]
        weights, biases = node.parameters[:2]
        scales = node.parameters[4].reshape(-1)
        outputs = scales.size
        bottom = self._quantized.values[node.inputs[0]]
        x = self._real(node.inputs[0])
        bias = self._constant(biases.reshape(-1).astype(np.int32),
                              scales * np.float32(bottom.scale), 0, f"{node.name}/bias")
        name, shape = f"{node.name}/weights", tuple(top.shape)
        if node.type == "InnerProduct":
            w = self._weights(node, weights.reshape(outputs, -1), scales, 0, name)
            axis = node.layer.inner_product_param.axis % len(bottom.shape)
            rows = int(np.prod(bottom.shape[:axis], dtype=np.int64))
            flat = self._reshaped(x, (rows, weights.size // outputs), node)
            y = self._op("Gemm", [flat, w, bias], f"{node.name}/Gemm", (rows, outputs), FLOAT,
                         transB=1)
            y = self._reshaped(y, shape, node)
        else:
            y = self._convolved(node, x, weights, scales, bias, shape)
        if len(node.parameters) < 7:
            return y
        values = zip(*node.parameters[2:4], *node.parameters[5:7])
        slopes = np.array([real_of(c, d) / real_of(a, b) if a else 0 for a, b, c, d in values])
        constant = self._graph.constant(
            slopes.astype(np.float32).reshape((-1,) + (1,) * (len(shape) - 2)),
            f"{node.name}/slopes")
        return self._op("PRelu", [y, constant], f"{node.name}/PRelu", shape, FLOAT)

    def _convolved(self, node: QuantizedNode, x: Value, weights: np.ndarray, scales: np.ndarray,
                   bias: Value, shape: Any) -> Value:
        param = node.layer.convolution_param
        spatial = len(shape) - 2
        g = geometry(param, spatial)
        transposed = node.type == "Deconvolution"
        channels, outputs = x.shape[1], scales.size
        if transposed:
            group = param.group
            kernels = weights.reshape(channels, outputs // group, *g.kernel)
        else:
            group = channels * outputs * int(np.prod(g.kernel)) // weights.size
            kernels = weights.reshape(outputs, channels // group, *g.kernel)
        name = f"{node.name}/weights"
        if transposed and group > 1:
            # One scale for each index of an axis cannot say one for each output of each group.
            by_output = scales.reshape(group, 1, -1, *[1] * spatial)
            real = kernels.reshape(group, channels // group, *kernels.shape[1:]) * by_output
            w = self._graph.constant(real.astype(np.float32).reshape(kernels.shape), name)
        else:
            w = self._weights(node, kernels, scales, 1 if transposed else 0, name)
        return self._op("ConvTranspose" if transposed else "Conv", [x, w, bias],
                        f"{node.name}/Conv", shape, FLOAT, kernel_shape=g.kernel, strides=g.stride,
                        pads=g.pad + g.pad, dilations=g.dilation, group=group)

    def _weights(self, node: QuantizedNode, array: np.ndarray, scales: np.ndarray, axis: int,
                 name: str) -> Value:
        assert node.integers is not None
        require(node.integers.weight_zero_point == 0, "its weights have a zero point (the "
                "quantization scheme 'paper'): export with the scheme 'affine'")
        return self._constant(array.astype(np.int8), scales, axis, name)

    def _reshaped(self, x: Value, shape: Sequence[int], node: QuantizedNode) -> Value:
        if tuple(shape) == x.shape:
            return x
        sizes = self._graph.constant(np.array(shape, np.int64), f"{node.name}/shape")
        return self._op("Reshape", [x, sizes], f"{node.name}/Reshape", tuple(shape), FLOAT)

    def _is_table(self, node: QuantizedNode) -> bool:
        """A function whose numbers are in a table alone."""
        return (len(node.parameters) == 1 and node.parameters[0].dtype == np.uint8 and
                len(node.inputs) == 1 and node.type not in _FUNCTIONS)

    def _looked_up(self, node: QuantizedNode) -> Value:
        tables = node.parameters[0].reshape(-1, 256)
        x, top = self._values[node.inputs[0]], self._quantized.values[node.outputs[0]]
        require(len(tables) in (1, x.shape[1] if len(x.shape) > 1 else 1),
                f"it has {len(tables)} tables for its channels")
        kind = self._graph.onnx.TensorProto.INT64
        places = self._op("Cast", [x], f"{node.name}/places", x.shape, INT64, to=kind)
        if len(tables) > 1:
            firsts = 256 * np.arange(len(tables)).reshape((-1,) + (1,) * (len(x.shape) - 2))
            first = self._graph.constant(firsts.astype(np.int64), f"{node.name}/firsts")
            places = self._op("Add", [places, first], f"{node.name}/Add", x.shape, INT64)
        table = self._graph.constant(tables.reshape(-1), f"{node.name}/table")
        return self._op("Gather", [table, places], f"{node.name}/Gather", tuple(top.shape), _BYTES,
                        axis=0)
