"""Writes a Caffe net as ncnn's two files, for the layers that the nets of models/ have.

As ncnn's own converter and optimizer do, batch normalizations and scales go into the weights of the
convolution in front of them, and a ReLU into its end. With a calibration table the weights become
8-bit integers, by output channels, and so do the layers' inputs.
"""
from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, List, Optional, Set

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))

from caffe.onnx.caffemodel import read_weights  # noqa: E402
from caffe.onnx.layers.convolution import geometry  # noqa: E402
from caffe.onnx.reading import filter_net, read_net  # noqa: E402

MAGIC = 7767517
FLOAT32_FLAG = np.zeros(1, np.int32)  # in front of weights that might be packed
INT8_FLAG = np.array([0x000D4B38], np.int32)
INT8_STEPS = 127
PERMUTATIONS = {(1, 2, 3): 0, (1, 3, 2): 1, (2, 1, 3): 2, (2, 3, 1): 3, (3, 1, 2): 4, (3, 2, 1): 5}
AUTOMATIC = -233


def _array(key: int, values: Any) -> str:
    """An array parameter: its length, then its values."""
    return f"{-23300 - key}={len(values)}" + "".join(f",{value:g}" for value in values)


class NcnnWriter:
    """Collects the lines of the .param file and the arrays of the .bin file."""

    def __init__(self, net: Any, stored: Dict[str, List[np.ndarray]],
                 thresholds: Optional[Dict[str, float]] = None) -> None:
        self._layers = list(net.layer)
        self._stored = stored
        self._thresholds = thresholds or {}  # of Caffe's blobs; what has one becomes INT8
        self._newest: Dict[str, str] = {}  # what each of Caffe's blobs is called now
        self._lines: List[List[str]] = []  # type, name, inputs, outputs, parameters
        self._data: List[np.ndarray] = []
        self._names = 0
        self._pooled: Set[str] = set()  # what has one position: its convolutions are products

    def write(self, prefix: str) -> None:
        """Writes PREFIX.param and PREFIX.bin."""
        i = 0
        while i < len(self._layers):
            i = self._layer(i)
        lines = self._with_splits()
        blobs = sum(len(outputs) for _, _, _, outputs, _ in lines)
        with open(prefix + ".param", "w", encoding="utf-8") as file:
            file.write(f"{MAGIC}\n{len(lines)} {blobs}\n")
            for type_, name, inputs, outputs, parameters in lines:
                words = [type_, name.replace("/", "_"), str(len(inputs)), str(len(outputs))]
                file.write(" ".join(words + inputs + outputs) + " " + parameters + "\n")
        with open(prefix + ".bin", "wb") as file:
            for array in self._data:
                file.write(np.ascontiguousarray(array).tobytes())

    def _emit(self, type_: str, layer: Any, parameters: str = "", top: str = "") -> None:
        inputs = [self._newest[name] for name in layer.bottom]
        self._names += 1
        output = f"blob{self._names}"
        if type_ == "Input":
            output = layer.top[0]
        self._newest[top or layer.top[0]] = output
        self._lines.append([type_, layer.name, inputs, [output], parameters])

    def _blobs(self, name: str) -> List[np.ndarray]:
        return [np.asarray(blob, np.float32) for blob in self._stored[name]]

    def _with_splits(self) -> List[List[Any]]:
        """Each blob has one reader: a Split for each that has several; the last one is 'output'."""
        readers: Dict[str, List[List[str]]] = {}
        for line in self._lines:
            for name in line[2]:
                readers.setdefault(name, []).append(line)
        result = []
        for line in self._lines:
            result.append(line)
            (made,) = line[3]
            found = readers.get(made, [])
            if not found:
                line[3] = ["output"]
            if len(found) < 2:
                continue
            copies = [f"{made}_copy{k}" for k in range(len(found))]
            for reader, copy in zip(found, copies):
                reader[2][reader[2].index(made)] = copy
            result.append(["Split", f"{made}_split", [made], copies, ""])
        return result

    def _layer(self, i: int) -> int:
        """Writes layer `i`, with those behind it that go into it; the next one's number."""
        layer = self._layers[i]
        if layer.type in ("Convolution", "InnerProduct"):
            return self._product(i)
        if layer.type == "Dropout":
            self._newest[layer.top[0]] = self._newest[layer.bottom[0]]
        else:
            simple = getattr(self, "_" + layer.type.lower(), None)
            if simple is None:
                raise ValueError(f"layer '{layer.name}': {layer.type} has no ncnn form here")
            simple(layer)
        return i + 1

    def _product(self, i: int) -> int:
        layer = self._layers[i]
        weights, *rest = self._blobs(layer.name)
        outputs = weights.shape[0]
        bias = rest[0] if rest else np.zeros(outputs, np.float32)
        i, relu, has_bias = i + 1, 0, bool(rest)
        while i < len(self._layers) and not relu:
            behind = self._layers[i]
            if list(behind.bottom) != list(layer.top) or list(behind.top) != list(layer.top):
                break
            if behind.type == "ReLU" and behind.relu_param.negative_slope == 0:
                relu = 1
            elif behind.type in ("BatchNorm", "Scale"):
                factor, term = self._affine(behind)
                weights = weights * factor.reshape((-1,) + (1,) * (weights.ndim - 1))
                bias, has_bias = bias * factor + term, True
            else:
                break
            i += 1
        self._emit_product(layer, weights, bias if has_bias else None, relu)
        return i

    def _affine(self, layer: Any) -> Any:
        """The factor and the term, by channels, of a BatchNorm or Scale layer."""
        blobs = [blob.reshape(-1) for blob in self._blobs(layer.name)]
        if layer.type == "Scale":
            return blobs[0], blobs[1] if len(blobs) > 1 else np.zeros_like(blobs[0])
        mean, variance, weight = blobs[:3]
        factor = 1 / np.sqrt(variance / weight + layer.batch_norm_param.eps)
        return factor, -mean / weight * factor

    def _emit_product(self, layer: Any, weights: np.ndarray, bias: Any, relu: int) -> None:
        threshold = self._thresholds.get(layer.bottom[0])
        common = f"9={relu}" + (" 8=1" if threshold else "")
        if layer.type == "InnerProduct" or layer.bottom[0] in self._pooled:
            self._emit("InnerProduct", layer, f"0={weights.shape[0]} 1={int(bias is not None)} "
                       f"2={weights.size} {common}")
        else:
            param = layer.convolution_param
            g = geometry(param, 2)
            parameters = (
                f"0={weights.shape[0]} 1={g.kernel[1]} 11={g.kernel[0]} 2={g.dilation[1]} "
                f"12={g.dilation[0]} 3={g.stride[1]} 13={g.stride[0]} 4={g.pad[1]} "
                f"14={g.pad[0]} 5={int(bias is not None)} 6={weights.size} {common}")
            if param.group > 1:
                self._emit("ConvolutionDepthWise", layer, f"{parameters} 7={param.group}")
            else:
                self._emit("Convolution", layer, parameters)
        if threshold:
            scales = self._emit_int8(weights, getattr(layer.convolution_param, "group", 1))
        else:
            self._data += [FLOAT32_FLAG, weights.astype(np.float32)]
        if bias is not None:
            self._data.append(bias.astype(np.float32))
        if threshold:
            self._data += [scales, np.array([INT8_STEPS / threshold], np.float32)]

    def _emit_int8(self, weights: np.ndarray, groups: int) -> np.ndarray:
        """Appends rounded weights; the factors that they were multiplied by: one for each output,
        or for each group where there are groups, as ncnn has it."""
        rows = weights.reshape(groups if groups > 1 else weights.shape[0], -1)
        largest = np.abs(rows).max(axis=1)
        scales = INT8_STEPS / np.where(largest > 0, largest, 1)
        integers = np.rint(rows * scales[:, None]).astype(np.int8).reshape(-1)
        padding = np.zeros(-integers.size % 4, np.int8)
        self._data += [INT8_FLAG, integers, padding]
        return scales.astype(np.float32)

    def _input(self, layer: Any) -> None:
        _, channels, height, width = layer.input_param.shape[0].dim
        self._emit("Input", layer, f"0={width} 1={height} 2={channels}")

    def _relu(self, layer: Any) -> None:
        self._emit("ReLU", layer, f"0={layer.relu_param.negative_slope:g}")

    def _pooling(self, layer: Any) -> None:
        param = layer.pooling_param
        if param.global_pooling:
            self._emit("Pooling", layer, f"0={param.pool} 4=1")
            self._pooled.add(layer.top[0])
            return
        rounds_down = int(param.HasField("round_mode") and param.round_mode == 1)
        self._emit("Pooling", layer, f"0={param.pool} 1={param.kernel_size} 2={param.stride} "
                   f"3={param.pad} 5={rounds_down}")

    def _lrn(self, layer: Any) -> None:
        param = layer.lrn_param
        self._emit("LRN", layer, f"0={param.norm_region} 1={param.local_size} 2={param.alpha:g} "
                   f"3={param.beta:g} 4={param.k:g}")

    def _eltwise(self, layer: Any) -> None:
        self._emit("Eltwise", layer, f"0={layer.eltwise_param.operation}")

    def _concat(self, layer: Any) -> None:
        self._emit("Concat", layer, f"0={layer.concat_param.axis - 1}")

    def _softmax(self, layer: Any) -> None:
        self._emit("Softmax", layer, f"0={layer.softmax_param.axis - 1} 1=1")

    def _flatten(self, layer: Any) -> None:
        self._emit("Flatten", layer)

    def _permute(self, layer: Any) -> None:
        order = tuple(layer.permute_param.order)[1:]
        self._emit("Permute", layer, f"0={PERMUTATIONS[order]}")

    def _reshape(self, layer: Any) -> None:
        dims = list(layer.reshape_param.shape.dim)[1:]
        self._emit("Reshape", layer, " ".join(f"{k}={dim}" for k, dim in enumerate(reversed(dims))))

    def _normalize(self, layer: Any) -> None:
        param = layer.norm_param
        (scale,) = self._blobs(layer.name)
        self._emit(
            "Normalize", layer, f"0={int(param.across_spatial)} 1={int(param.channel_shared)} "
            f"2={param.eps:g} 3={scale.size}")
        self._data.append(scale)

    def _priorbox(self, layer: Any) -> None:
        param = layer.prior_box_param
        step = param.step if param.HasField("step") else AUTOMATIC
        variances = " ".join(f"{3 + i}={v:g}" for i, v in enumerate(param.variance))
        self._emit("PriorBox", layer, " ".join([
            _array(0, param.min_size), _array(1, param.max_size), _array(2, param.aspect_ratio),
            variances, f"7={int(param.flip)} 8={int(param.clip)} 9={AUTOMATIC} 10={AUTOMATIC} "
            f"11={step:g} 12={step:g} 13={param.offset:g}"]))

    def _detectionoutput(self, layer: Any) -> None:
        param = layer.detection_output_param
        self._emit("DetectionOutput", layer, f"0={param.num_classes} "
                   f"1={param.nms_param.nms_threshold:g} 2={param.nms_param.top_k} "
                   f"3={param.keep_top_k} 4={param.confidence_threshold:g}")


def read_thresholds(table: str) -> Dict[str, float]:
    """The activations of a table that `caffe calibrate` has written; names without escapes."""
    with open(table, encoding="utf-8") as file:
        activations = file.read().split("activations:")[1].split("weight scales:")[0]
    return {name: float(number)
            for name, number in re.findall(r'^"([^"\\]*)"\s+(\S+)', activations, re.MULTILINE)}


def write_ncnn(deploy: str, caffemodel: str, prefix: str, table: str = "") -> None:
    """Writes PREFIX.param and PREFIX.bin; in INT8 by a calibration table."""
    net = read_net(deploy)
    filter_net(net)
    stored = {layer.name: layer.blobs for layer in read_weights(caffemodel)}
    NcnnWriter(net, stored, read_thresholds(table) if table else None).write(prefix)
