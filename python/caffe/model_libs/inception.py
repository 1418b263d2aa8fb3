"""Inception v3 (Szegedy et al. 2015) as the beginning of detectors."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..net_spec import NetSpec, Top
from ..net_spec import layers as L
from ..net_spec import params as P
from .blocks import ConvBNLayer, Extent, InceptionTower

_MAX, _AVE = P.Pooling.MAX, P.Pooling.AVE


def _conv(name: str, num_output: int, kernel_size: Extent = 1, stride: int = 1,
          same: bool = True) -> dict[str, Any]:
    """A convolution of a tower, which keeps the map's size unless ``same`` is false."""
    if isinstance(kernel_size, int):
        pad: Extent = kernel_size // 2 if same else 0
        return dict(name=name, num_output=num_output, kernel_size=kernel_size, pad=pad,
                    stride=stride)
    return dict(name=name, num_output=num_output, kernel_size=list(kernel_size),
                pad=[side // 2 for side in kernel_size], stride=[1, 1])


def _pool(method: int, stride: int = 1) -> dict[str, Any]:
    return dict(name="pool", pool=method, kernel_size=3, pad=1 if stride == 1 else 0, stride=stride)


class _Builder:
    """Adds blocks to a net; ``top`` is the name of the last one's join."""

    def __init__(self, net: NetSpec, top: str, bn_param: dict[str, Any]) -> None:
        self.net = net
        self.top = top
        self.bn_param = bn_param

    def tower(self, name: str, *layers: dict[str, Any], bottom: str = "") -> Top:
        return InceptionTower(self.net, bottom or self.top, name, layers, **self.bn_param)

    def fork(self, name: str, bottom: str, num_output: int) -> Top:
        """Two convolutions of one bottom, along a row and along a column, joined."""
        self.net[name] = L.Concat(
            self.tower(name, _conv("conv", num_output, (1, 3)), bottom=bottom),
            self.tower(name, _conv("conv_1", num_output, (3, 1)), bottom=bottom), axis=1)
        return self.net[name]

    def join(self, block: str, towers: Iterable[Top]) -> None:
        self.top = f"{block}/join"
        self.net[self.top] = L.Concat(*towers, axis=1)

    def squares(self, block: str, pooled: int) -> None:
        """1x1, 5x5 and twice 3x3."""
        self.join(block, [
            self.tower(block, _conv("conv", 64)),
            self.tower(f"{block}/tower", _conv("conv", 48), _conv("conv_1", 64, 5)),
            self.tower(f"{block}/tower_1", _conv("conv", 64), _conv("conv_1", 96, 3),
                       _conv("conv_2", 96, 3)),
            self.tower(f"{block}/tower_2", _pool(_AVE), _conv("conv", pooled))])

    def halve_early(self, block: str) -> None:
        """3x3, and twice 3x3, with stride 2."""
        self.join(block, [
            self.tower(block, _conv("conv", 384, 3, 2, same=False)),
            self.tower(f"{block}/tower", _conv("conv", 64), _conv("conv_1", 96, 3),
                       _conv("conv_2", 96, 3, 2, same=False)),
            self.tower(block, _pool(_MAX, 2))])

    def sevens(self, block: str, outputs: int) -> None:
        """7x7 as rows and columns, once and twice."""
        row, column = (1, 7), (7, 1)
        self.join(block, [
            self.tower(block, _conv("conv", 192)),
            self.tower(f"{block}/tower", _conv("conv", outputs), _conv("conv_1", outputs, row),
                       _conv("conv_2", 192, column)),
            self.tower(f"{block}/tower_1", _conv("conv", outputs), _conv("conv_1", outputs, column),
                       _conv("conv_2", outputs, row), _conv("conv_3", outputs, column),
                       _conv("conv_4", 192, row)),
            self.tower(f"{block}/tower_2", _pool(_AVE), _conv("conv", 192))])

    def halve_late(self, block: str) -> None:
        """3x3, and 7x7 with 3x3, with stride 2."""
        self.join(block, [
            self.tower(f"{block}/tower", _conv("conv", 192),
                       _conv("conv_1", 320, 3, 2, same=False)),
            self.tower(f"{block}/tower_1", _conv("conv", 192), _conv("conv_1", 192, (1, 7)),
                       _conv("conv_2", 192, (7, 1)), _conv("conv_3", 192, 3, 2, same=False)),
            self.tower(block, _pool(_MAX, 2))])

    def forks(self, block: str, method: int) -> None:
        """1x1, and two paths that end in a row next to a column."""
        first = self.tower(block, _conv("conv", 320))
        self.tower(f"{block}/tower", _conv("conv", 384))
        second = self.fork(f"{block}/tower/mixed", f"{block}/tower/conv", 384)
        self.tower(f"{block}/tower_1", _conv("conv", 448), _conv("conv_1", 384, 3))
        third = self.fork(f"{block}/tower_1/mixed", f"{block}/tower_1/conv_1", 384)
        fourth = self.tower(f"{block}/tower_2", _pool(method), _conv("conv", 192))
        self.join(block, [first, second, third, fourth])


def InceptionV3Body(net: NetSpec, from_layer: str, output_pred: bool = False,
                    **bn_param: Any) -> NetSpec:
    """Adds Inception v3 from conv to mixed_10/join or, with ``output_pred``, to the scores of 1008
    classes and their softmax.

    ``bn_param`` are those of :func:`ConvBNLayer`. Bias layers follow BatchNorm in place of Scale
    layers: the net was trained without scales.
    """
    top = from_layer
    for name, *shape in (("conv", 32, 3, 2, 0), ("conv_1", 32, 3, 1, 0), ("conv_2", 64, 3, 1, 1),
                         ("pool",), ("conv_3", 80, 1, 1, 0), ("conv_4", 192, 3, 1, 0), ("pool_1",)):
        if shape:
            outputs, kernel, stride, pad = shape
            ConvBNLayer(net, top, name, True, True, outputs, kernel, pad, stride, use_scale=False,
                        **bn_param)
        else:
            net[name] = L.Pooling(net[top], pool=_MAX, kernel_size=3, pad=0, stride=2)
        top = name
    build = _Builder(net, top, bn_param)
    build.squares("mixed", 32)
    build.squares("mixed_1", 64)
    build.squares("mixed_2", 64)
    build.halve_early("mixed_3")
    for number, outputs in ((4, 128), (5, 160), (6, 160), (7, 192)):
        build.sevens(f"mixed_{number}", outputs)
    build.halve_late("mixed_8")
    build.forks("mixed_9", _AVE)
    build.forks("mixed_10", _MAX)
    if output_pred:
        net.pool_3 = L.Pooling(net[build.top], pool=_AVE, kernel_size=8, pad=0, stride=1)
        net.softmax = L.InnerProduct(net.pool_3, num_output=1008)
        net.softmax_prob = L.Softmax(net.softmax)
    return net
