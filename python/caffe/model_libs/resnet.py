"""Residual nets (He et al. 2015) as the beginnings of detectors."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..net_spec import NetSpec
from ..net_spec import layers as L
from ..net_spec import params as P
from .blocks import ConvBNLayer, ResBody, biased


def _block_names(stage: int, count: int, numbered: bool) -> list[str]:
    """a, b, c, ... or, where the alphabet is short, a, b1, b2, ..."""
    if numbered:
        return [f"{stage}a"] + [f"{stage}b{index}" for index in range(1, count)]
    return [f"{stage}{chr(ord('a') + index)}" for index in range(count)]


def _body(net: NetSpec, from_layer: str, counts: Sequence[int], numbered: bool, use_pool5: bool,
          use_dilation_conv5: bool, bn_param: dict[str, Any]) -> NetSpec:
    ConvBNLayer(net, from_layer, "conv1", True, True, 64, 7, 3, 2, bn_prefix="bn_", bn_postfix="",
                scale_prefix="scale_", scale_postfix="", **bn_param)
    net.pool1 = L.Pooling(net.conv1, pool=P.Pooling.MAX, kernel_size=3, stride=2)
    top = "pool1"
    for stage, count in enumerate(counts, 2):
        width = 64 << (stage - 2)
        dilated = stage == 5 and use_dilation_conv5
        for index, name in enumerate(_block_names(stage, count, numbered and stage in (3, 4))):
            first = index == 0
            stride = 2 if first and stage > 2 and not dilated else 1
            ResBody(net, top, name, width, width, 4 * width, stride, use_branch1=first,
                    dilation=2 if dilated else 1, **bn_param)
            top = f"res{name}"
    if use_pool5:
        net.pool5 = L.Pooling(net[top], pool=P.Pooling.AVE, global_pooling=True)
    return net


def ResNet50Body(net: NetSpec, from_layer: str, use_pool5: bool = True,
                 use_dilation_conv5: bool = False, **bn_param: Any) -> NetSpec:
    """Adds ResNet-50 from conv1 to res5c or, with ``use_pool5``, to the mean over the map.

    ``use_dilation_conv5`` dilates the last stage instead of halving the map. ``bn_param`` are those
    of :func:`ConvBNLayer`.
    """
    _body(net, from_layer, (3, 4, 6, 3), False, use_pool5, use_dilation_conv5, bn_param)
    # The published weights of this depth alone have a bias there.
    net.update("conv1", dict(bias_term=True, param=biased()["param"]))
    return net


def ResNet101Body(net: NetSpec, from_layer: str, use_pool5: bool = True,
                  use_dilation_conv5: bool = False, **bn_param: Any) -> NetSpec:
    """Adds ResNet-101; as :func:`ResNet50Body`."""
    return _body(net, from_layer, (3, 4, 23, 3), True, use_pool5, use_dilation_conv5, bn_param)


def ResNet152Body(net: NetSpec, from_layer: str, use_pool5: bool = True,
                  use_dilation_conv5: bool = False, **bn_param: Any) -> NetSpec:
    """Adds ResNet-152; as :func:`ResNet50Body`."""
    return _body(net, from_layer, (3, 8, 36, 3), True, use_pool5, use_dilation_conv5, bn_param)
