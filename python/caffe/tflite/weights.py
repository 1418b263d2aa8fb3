"""Weights, biases and scales of layers with weights, and what fused PReLUs become."""
from __future__ import annotations

import math
from typing import Callable, Optional, Tuple

import numpy as np

from .layer import NONE, RELU, SIGN, Layer, Shape, channels_last, quantization_of, require
from .model import Quantization, Tensor


def multiplier_of(real: float) -> Tuple[int, int]:
    """A number as LiteRT's kernels write it: value * 2^(shift - 31), value in [2^30, 2^31)."""
    if real == 0:
        return 0, 0
    fraction, shift = math.frexp(real)
    value = math.floor(fraction * (1 << 31) + 0.5)
    if value == 1 << 31:
        value, shift = value // 2, shift + 1
    return (0, 0) if shift < -31 else (value, shift)


class Weights:
    """The parameters of one node: ``values`` (outputs first, but for deconvolutions), biases and
    scales by output."""

    def __init__(self, layer: Layer, outputs: int) -> None:
        node = layer.node
        require(node.integers is not None and len(node.parameters) >= 5,
                "it computes with floats: LiteRT's integers need ranges of its bottom and its "
                "top, by calibration or by training")
        require(node.integers.weight_zero_point == 0,
                "its weights have a zero point (the quantization scheme 'paper'), and LiteRT's "
                "int8 weights have none: export with the scheme 'affine'")
        self._layer = layer
        self._name = node.name
        self.values = node.parameters[0].astype(np.int8)
        if node.type != "Deconvolution":
            self.values = self.values.reshape(outputs, -1)
        self.biases = node.parameters[1].astype(np.int32).reshape(-1)
        self.scales = node.parameters[4].astype(np.float32).reshape(-1)
        self._multipliers, self._shifts = node.parameters[2], node.parameters[3]
        require(self.biases.size == outputs and self.scales.size == outputs,
                f"it has {self.biases.size} biases and {self.scales.size} scales for {outputs} "
                "outputs")
        self._check()

    def _check(self) -> None:
        """LiteRT computes the multipliers itself, from scales that are float32."""
        factor = float(np.float32(self._layer.value().scale)), float(
            np.float32(self._layer.top_value().scale))
        for o, scale in enumerate(self.scales):
            ours = int(self._multipliers[o]), int(self._shifts[o])
            theirs = multiplier_of(factor[0] * float(scale) / factor[1])
            if ours != theirs:
                self._layer.notes.append(
                    f"output {o} is multiplied by {_real(ours):.9g} in the engine and by "
                    f"{_real(theirs):.9g} in LiteRT")
                return

    def tensor(self, values: np.ndarray, axis: int) -> Tensor:
        """The weights, in LiteRT's order; outputs lie along `axis`."""
        quantization = Quantization(tuple(map(float, self.scales)), 0, axis)
        return self._layer.model.constant(f"{self._name}/weights", values, np.int8, quantization)

    def bias(self) -> Tensor:
        scales = self.scales * np.float32(self._layer.value().scale)
        return self._layer.model.constant(f"{self._name}/bias", self.biases, np.int32,
                                          Quantization(tuple(map(float, scales))))

    def slopes(self) -> Optional[np.ndarray]:
        """What negative sums are multiplied by, relative to the others; None: by the same."""
        parameters = self._layer.node.parameters
        if len(parameters) < 7:
            return None
        ours = [_real((int(m), int(s))) for m, s in zip(self._multipliers, self._shifts)]
        negative = [_real((int(m), int(s))) for m, s in zip(parameters[5], parameters[6])]
        return np.array([a / b if b else 0.0 for a, b in zip(negative, ours)])

    def times(self, factors: np.ndarray) -> Weights:
        """The same sums by output times a factor, which the scale has, and the weights its sign;
        0 is a scale so small that nothing is left."""
        same = Weights.__new__(Weights)
        same.__dict__.update(self.__dict__)
        signs = np.where(factors < 0, -1, 1)
        magnitudes = np.where(factors == 0, 1, np.abs(factors))
        same.scales = (self.scales.astype(np.float64) * magnitudes).astype(np.float32)
        alive = np.where(factors == 0, 0, signs)
        # A deconvolution's outputs are axis 1.
        axis = 1 if self._layer.node.type == "Deconvolution" else 0
        same.biases = self.biases * alive.astype(np.int32)
        same.values = self._by_output(alive, axis)
        return same

    def _by_output(self, signs: np.ndarray, axis: int) -> np.ndarray:
        if axis == 0:
            return (self.values * signs[:, None]).astype(np.int8)
        shape = self.values.shape
        group = len(signs) // shape[1]
        by_group = signs.reshape(group, 1, shape[1], *[1] * (len(shape) - 2))
        values = self.values.reshape(group, shape[0] // group, *shape[1:])
        return (values * by_group).astype(np.int8).reshape(shape)


def _real(multiplier: Tuple[int, int]) -> float:
    return math.ldexp(multiplier[0], multiplier[1] - 31)


def write_with_weights(layer: Layer, weights: Weights,
                       make: Callable[[Tensor, int, Weights], None],
                       moved: Optional[Shape] = None) -> None:
    """Top 0, by ``make(tensor, activation function, weights)``.

    A PReLU has two factors for a sum, and LiteRT's operators one: the layer is computed twice. With
    slopes from 0 to 1 the larger result is the right one, as multiplying and rounding keep the
    order of numbers. With other slopes what is above zero and what is below are added.
    """
    slopes = weights.slopes()
    if slopes is None:
        layer.write(lambda y, function: make(y, function, weights), moved)
        return
    shape = layer.top_shape()
    last = channels_last(shape) if moved == shape else shape
    quantization = quantization_of(layer.top_value())
    zero, other = quantization.zero_point, weights.times(slopes)

    def part(function: int, factors: Weights) -> Tensor:
        y = layer.like(quantization, last)
        make(y, function, factors)
        return y

    def both(y: Tensor, function: int) -> None:
        if np.all((slopes >= 0) & (slopes <= 1)) and function == NONE:
            layer.binary("MAXIMUM", part(NONE, weights), part(NONE, other), y)
            return
        negative = part(NONE, other)
        # Where the slope is negative, what negative sums give is above zero.
        most = np.where(slopes < 0, SIGN - 1, zero)
        least = np.where(slopes < 0, zero, -SIGN)
        for name, bounds in (("MINIMUM", most), ("MAXIMUM", least)):
            bound = layer.model.constant(f"{layer.node.name}/bounds", bounds, np.int8, quantization)
            negative = layer.binary(name, negative, bound)
        layer.model.operator("ADD", 2, [part(RELU, weights), negative], [y], "AddOptions",
                             FusedActivationFunction=function)

    layer.write(both, moved)
