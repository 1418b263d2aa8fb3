"""MobileNets (Howard et al. 2017, Sandler et al. 2018) as the beginnings of detectors."""
from __future__ import annotations

from typing import Any, Optional

from ..net_spec import NetSpec
from ..net_spec import layers as L
from ..net_spec import params as P
from .blocks import FROZEN, biased


def _weights(lr_mult: float, **fields: Any) -> dict[str, Any]:
    return dict(param=[dict(lr_mult=lr_mult, decay_mult=1)], bias_term=False,
                weight_filler=dict(type="msra"), **fields)


def _window(outputs: int, kernel: int, stride: int, depthwise: bool) -> dict[str, Any]:
    fields = dict(num_output=outputs, kernel_size=kernel)
    if kernel > 1:
        fields["pad"] = kernel // 2
    if stride > 1:
        fields["stride"] = stride
    # Caffe's own engine: cuDNN was slower with as many groups as channels.
    return dict(fields, group=outputs, engine=P.Convolution.CAFFE) if depthwise else fields


def _statistics(use_global_stats: Optional[bool], eps: Optional[float]) -> dict[str, Any]:
    given = dict(use_global_stats=use_global_stats, eps=eps)
    return {name: value for name, value in given.items() if value is not None}


def MobileNetBody(net: NetSpec, from_layer: str = "data", lr_mult: float = 1,
                  use_global_stats: Optional[bool] = None, eps: Optional[float] = None) -> NetSpec:
    """Adds MobileNet from conv0 to conv13, named as in MobileNet-SSD: each of conv1 to conv13 is a
    depthwise convolution conv*/dw and a 1x1 convolution conv*.

    ``use_global_stats`` and ``eps`` are BatchNorm's; unset, its defaults hold.
    """
    def add(name: str, bottom: str, outputs: int, kernel: int, stride: int,
            depthwise: bool = False) -> None:
        shape = _window(outputs, kernel, stride, depthwise)
        net[name] = L.Convolution(net[bottom], **_weights(lr_mult, **shape))
        net[f"{name}/bn"] = L.BatchNorm(net[name], in_place=True, param=[FROZEN] * 3,
                                        **_statistics(use_global_stats, eps))
        net[f"{name}/scale"] = L.Scale(
            net[name], in_place=True, bias_term=True, filler=dict(value=1),
            bias_filler=dict(value=0),
            param=[dict(lr_mult=lr_mult, decay_mult=0), dict(lr_mult=2 * lr_mult, decay_mult=0)])
        net[f"{name}/relu"] = L.ReLU(net[name], in_place=True)

    add("conv0", from_layer, 32, 3, 2)
    channels = 32
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5
    for number, (outputs, stride) in enumerate(plan + [(1024, 2), (1024, 1)], 1):
        add(f"conv{number}/dw", f"conv{number - 1}", channels, 3, stride, depthwise=True)
        add(f"conv{number}", f"conv{number}/dw", outputs, 1, 1)
        channels = outputs
    return net


def MobileNetV2Body(net: NetSpec, from_layer: str = "data", lr_mult: float = 1,
                    use_global_stats: Optional[bool] = None, eps: Optional[float] = None,
                    output_pred: bool = False) -> NetSpec:
    """Adds MobileNet v2 from conv1 to conv6_4 or, with ``output_pred``, to the scores of 1000
    classes and their softmax.

    Names are those of the published net: conv*/expand, conv*/dwise and conv*/linear, and block_*
    for the sums of a block and its bottom. The other arguments are those of :func:`MobileNetBody`.
    """
    def add(name: str, bottom: str, outputs: int, kernel: int = 1, stride: int = 1,
            depthwise: bool = False, relu: bool = True) -> str:
        shape = _window(outputs, kernel, stride, depthwise)
        net[name] = L.Convolution(net[bottom], **_weights(lr_mult, **shape))
        top = f"{name}/bn"
        net[top] = L.BatchNorm(net[name], param=[FROZEN] * 3, **_statistics(use_global_stats, eps))
        learned = dict(lr_mult=lr_mult, decay_mult=0)
        net[f"{name}/scale"] = L.Scale(net[top], in_place=True, bias_term=True,
                                       param=[learned, learned])
        if relu:
            net[f"relu{name[len('conv'):]}"] = L.ReLU(net[top], in_place=True)
        return top

    top, channels = add("conv1", from_layer, 32, 3, 2), 32
    plan = {2: [(16, 1, 1), (24, 6, 2)], 3: [(24, 6, 1), (32, 6, 2)],
            4: [(32, 6, 1)] * 2 + [(64, 6, 1)] * 4 + [(96, 6, 2)],
            5: [(96, 6, 1)] * 2 + [(160, 6, 2)], 6: [(160, 6, 1)] * 2 + [(320, 6, 1)]}
    for stage, blocks in plan.items():
        for index, (outputs, factor, stride) in enumerate(blocks, 1):
            name, wide = f"{stage}_{index}", channels * factor
            bottom = top
            top = add(f"conv{name}/expand", bottom, wide)
            top = add(f"conv{name}/dwise", top, wide, 3, stride, depthwise=True)
            top = add(f"conv{name}/linear", top, outputs, relu=False)
            if stride == 1 and channels == outputs:
                net[f"block_{name}"] = L.Eltwise(net[bottom], net[top])
                top = f"block_{name}"
            channels = outputs
    top = add("conv6_4", top, 1280)
    if output_pred:
        net.pool6 = L.Pooling(net[top], pool=P.Pooling.AVE, global_pooling=True)
        fields = dict(biased(lr_mult), weight_filler=dict(type="msra"))
        net.fc7 = L.Convolution(net.pool6, num_output=1000, kernel_size=1, **fields)
        net.prob = L.Softmax(net.fc7)
    return net
