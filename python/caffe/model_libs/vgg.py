"""VGG-16 and ZF as the beginnings of detectors."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..net_spec import NetSpec, Top
from ..net_spec import layers as L
from ..net_spec import params as P
from .blocks import FROZEN, biased


def _relu(net: NetSpec, name: str, bottom: Top) -> Top:
    net[name] = L.ReLU(bottom, in_place=True)
    return net[name]


def _freeze(net: NetSpec, layers: Iterable[str]) -> None:
    for name in layers:
        if name in net:
            net.update(name, dict(param=[FROZEN, FROZEN]))


class _Classifier:
    """fc6 and fc7, as inner products or as convolutions over a map of any size."""

    def __init__(self, fully_conv: bool, reduced: bool, dropout: bool) -> None:
        self.fully_conv = fully_conv
        self.outputs = 1024 if fully_conv and reduced else 4096
        self.dropout = dropout

    def add(self, net: NetSpec, bottom: Top, kernel: int, dilation: int,
            pad: Optional[int] = None) -> Top:
        """Adds both; the first one's window is given, ``pad`` by default so that the map keeps its
        size."""
        if pad is None:
            pad = dilation * (kernel - 1) // 2
        first = dict(kernel_size=kernel, pad=pad)
        if dilation > 1:
            first["dilation"] = dilation
        top = bottom
        for number, shape in ((6, first), (7, dict(kernel_size=1))):
            if self.fully_conv:
                layer = L.Convolution(top, num_output=self.outputs, **shape, **biased())
            else:
                layer = L.InnerProduct(top, num_output=self.outputs)
            net[f"fc{number}"] = layer
            top = _relu(net, f"relu{number}", layer)
            if self.dropout:
                net[f"drop{number}"] = L.Dropout(top, dropout_ratio=0.5, in_place=True)
        return top


def VGGNetBody(net: NetSpec, from_layer: str, need_fc: bool = True, fully_conv: bool = False,
               reduced: bool = False, dilated: bool = False, nopool: bool = False,
               dropout: bool = True, freeze_layers: Iterable[str] = (),
               dilate_pool4: bool = False) -> NetSpec:
    """Adds VGG-16 (Simonyan and Zisserman 2014) from conv1_1 to relu5_3 or, with ``need_fc``, to
    relu7.

    ``fully_conv`` makes convolutions of fc6 and fc7, ``reduced`` 1024 outputs with a 3x3 kernel of
    them, ``dilated`` keeps the map's size in pool5 and dilates fc6 instead, ``dilate_pool4`` does
    the same from pool4 on. ``nopool`` puts convolutions of stride 2 in the places of the pools.
    ``freeze_layers`` do not learn.
    """
    top, dilation = net[from_layer], 1
    for stage, (count, outputs) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), 1):
        for index in range(1, count + 1):
            fields = dict(num_output=outputs, pad=dilation, kernel_size=3, **biased())
            if stage == 5:
                fields["dilation"] = dilation
            net[f"conv{stage}_{index}"] = L.Convolution(top, **fields)
            top = _relu(net, f"relu{stage}_{index}", net[f"conv{stage}_{index}"])
        if stage == 5 and not need_fc:
            break
        keeps_size = dilate_pool4 if stage == 4 else dilated and stage == 5
        if nopool:
            name = f"conv{stage}_{count + 1}"
            stride = 1 if stage == 5 and dilated else 2
            net[name] = L.Convolution(top, num_output=outputs, pad=1, kernel_size=3, stride=stride,
                                      **biased())
        else:
            name = f"pool{stage}"
            size = (dict(kernel_size=3, stride=1, pad=1) if keeps_size
                    else dict(kernel_size=2, stride=2))
            net[name] = L.Pooling(top, pool=P.Pooling.MAX, **size)
            if stage == 4 and keeps_size:
                dilation = 2
        top = net[name]
    if need_fc:
        if reduced:
            kernel, spread = 3, 6 if dilated else 3
        else:
            kernel, spread = 7, 2 if dilated else 1
        _Classifier(fully_conv, reduced, dropout).add(net, top, kernel, dilation * spread)
    _freeze(net, freeze_layers)
    return net


def ZFNetBody(net: NetSpec, from_layer: str, need_fc: bool = True, fully_conv: bool = False,
              reduced: bool = False, dilated: bool = False, dropout: bool = True,
              need_fc8: bool = False, freeze_layers: Iterable[str] = ()) -> NetSpec:
    """Adds ZF (Zeiler and Fergus 2013) from conv1 to relu5 or, with ``need_fc``, to relu7;
    ``need_fc8`` adds the scores of ImageNet's classes and their softmax, too.

    The other arguments are those of :func:`VGGNetBody`.
    """
    top = net[from_layer]
    for number, outputs, kernel, stride in ((1, 96, 7, 2), (2, 256, 5, 2), (3, 384, 3, 1),
                                            (4, 384, 3, 1), (5, 256, 3, 1)):
        name = f"conv{number}"
        step = dict(stride=stride) if stride > 1 else {}
        net[name] = L.Convolution(top, num_output=outputs, pad=kernel // 2, kernel_size=kernel,
                                  **step, **biased())
        top = _relu(net, f"relu{number}", net[name])
        if number <= 2:
            net[f"norm{number}"] = L.LRN(top, local_size=3, alpha=0.00005, beta=0.75,
                                         norm_region=P.LRN.WITHIN_CHANNEL, engine=P.LRN.CAFFE)
            top = net[f"pool{number}"] = L.Pooling(net[f"norm{number}"], pool=P.Pooling.MAX, pad=1,
                                                   kernel_size=3, stride=2)
    if need_fc:
        net.pool5 = L.Pooling(top, pool=P.Pooling.MAX, pad=1, kernel_size=3,
                              stride=1 if dilated else 2)
        if reduced:
            kernel, dilation, pad = 3, 5 if dilated else 2, None
        else:
            kernel, dilation, pad = 6, 2 if dilated else 1, 5 if dilated else 2
        top = _Classifier(fully_conv, reduced, dropout).add(net, net.pool5, kernel, dilation, pad)
    if need_fc8:
        if fully_conv:
            net.fc8 = L.Convolution(top, num_output=1000, kernel_size=1, **biased())
        else:
            net.fc8 = L.InnerProduct(top, num_output=1000)
        net.prob = L.Softmax(net.fc8)
    _freeze(net, freeze_layers)
    return net
