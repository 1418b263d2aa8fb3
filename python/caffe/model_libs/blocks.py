"""Convolutions with what follows them, and the residual and Inception blocks made of them."""
from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Union

from ..net_spec import NetSpec, Top
from ..net_spec import layers as L

#: One number for both axes, or [height, width].
Extent = Union[int, Sequence[int]]

FROZEN = dict(lr_mult=0, decay_mult=0)


def check_if_exist(path: str) -> bool:
    """Whether there is such a file or folder."""
    return os.path.exists(path)


def make_if_not_exist(path: str) -> None:
    """Makes a folder, and those around it, unless it is there."""
    os.makedirs(path, exist_ok=True)


def UnpackVariable(var: Any, num: int) -> list:
    """A list of ``num`` values: ``var`` itself, or its one value repeated.

    Raises ValueError for lists of any other length.
    """
    values = list(var) if isinstance(var, (list, tuple)) else [var]
    if len(values) == num:
        return values
    if len(values) != 1:
        raise ValueError(f"{var} has {len(values)} values; {num} are wanted, or one for all")
    return values * num


def window(kernel_size: Extent, pad: Extent, stride: Extent) -> dict[str, Any]:
    """The fields of a sliding window: one number each where height and width agree in all three."""
    extents = dict(kernel=UnpackVariable(kernel_size, 2), pad=UnpackVariable(pad, 2),
                   stride=UnpackVariable(stride, 2))
    if all(height == width for height, width in extents.values()):
        return dict(kernel_size=extents["kernel"][0], pad=extents["pad"][0],
                    stride=extents["stride"][0])
    return {f"{name}_{axis}": value for name, pair in extents.items()
            for axis, value in zip("hw", pair)}


def biased(lr_mult: float = 1) -> dict[str, Any]:
    """The fields of a layer that learns weights and a bias, as all of SSD's without batch
    normalization have them."""
    return dict(param=[dict(lr_mult=lr_mult, decay_mult=1),
                       dict(lr_mult=2 * lr_mult, decay_mult=0)],
                weight_filler=dict(type="xavier"), bias_filler=dict(type="constant", value=0))


def _batch_norm_fields(eps: float = 0.001, moving_average_fraction: float = 0.999,
                       use_global_stats: bool = False) -> dict[str, Any]:
    fields: dict[str, Any] = dict(param=[FROZEN] * 3, eps=eps)
    if use_global_stats:
        return dict(fields, use_global_stats=True)
    return dict(fields, moving_average_fraction=moving_average_fraction)


def ConvBNLayer(net: NetSpec, from_layer: str, out_layer: str, use_bn: bool, use_relu: bool,
                num_output: int, kernel_size: Extent, pad: Extent, stride: Extent,
                dilation: int = 1, use_scale: bool = True, lr_mult: float = 1,
                conv_prefix: str = "", conv_postfix: str = "", bn_prefix: str = "",
                bn_postfix: str = "_bn", scale_prefix: str = "", scale_postfix: str = "_scale",
                bias_prefix: str = "", bias_postfix: str = "_bias", **bn_params: Any) -> None:
    """Adds a convolution, with batch normalization and ReLU where asked for.

    ``kernel_size``, ``pad`` and ``stride`` are numbers or [height, width]. With ``use_bn`` a
    BatchNorm layer follows in place, and a Scale layer or, without ``use_scale``, a Bias layer. The
    convolution is called ``conv_prefix + out_layer + conv_postfix``, the others likewise, the ReLU
    like the convolution with ``_relu``. ``bn_params`` are ``eps`` (0.001),
    ``moving_average_fraction`` (0.999) and ``use_global_stats`` (False; True freezes the scales as
    well).
    """
    name = f"{conv_prefix}{out_layer}{conv_postfix}"
    fields = window(kernel_size, pad, stride)
    if dilation > 1:
        fields["dilation"] = dilation
    if use_bn:
        fields.update(param=[dict(lr_mult=lr_mult, decay_mult=1)],
                      weight_filler=dict(type="gaussian", std=0.01), bias_term=False)
    else:
        fields.update(biased(lr_mult))
    net[name] = L.Convolution(net[from_layer], num_output=num_output, **fields)
    if use_bn:
        net[f"{bn_prefix}{out_layer}{bn_postfix}"] = L.BatchNorm(
            net[name], in_place=True, **_batch_norm_fields(**bn_params))
        learned = dict(lr_mult=0 if bn_params.get("use_global_stats") else lr_mult, decay_mult=0)
        if use_scale:
            net[f"{scale_prefix}{out_layer}{scale_postfix}"] = L.Scale(
                net[name], in_place=True, bias_term=True, param=[learned, learned],
                filler=dict(type="constant", value=1), bias_filler=dict(type="constant", value=0))
        else:
            net[f"{bias_prefix}{out_layer}{bias_postfix}"] = L.Bias(
                net[name], in_place=True, param=[learned], filler=dict(type="constant", value=0))
    if use_relu:
        net[f"{name}_relu"] = L.ReLU(net[name], in_place=True)


def ResBody(net: NetSpec, from_layer: str, block_name: str, out2a: int, out2b: int, out2c: int,
            stride: int, use_branch1: bool, dilation: int = 1, **bn_param: Any) -> None:
    """Adds a residual block of three convolutions (He et al. 2015), whose top is
    ``res<block_name>``.

    ``out2a``, ``out2b`` and ``out2c`` are their numbers of outputs. The first one has the stride;
    with ``use_branch1`` the shortcut is a convolution with the same stride, else the bottom itself.
    """
    names = dict(conv_prefix=f"res{block_name}_", bn_prefix=f"bn{block_name}_", bn_postfix="",
                 scale_prefix=f"scale{block_name}_", scale_postfix="")
    shortcut = from_layer
    if use_branch1:
        ConvBNLayer(net, from_layer, "branch1", True, False, out2c, 1, 0, stride, **names,
                    **bn_param)
        shortcut = f"res{block_name}_branch1"
    top = from_layer
    for branch, outputs, kernel, step in (("2a", out2a, 1, stride), ("2b", out2b, 3, 1),
                                          ("2c", out2c, 1, 1)):
        spread = dilation if kernel > 1 else 1
        ConvBNLayer(net, top, f"branch{branch}", True, branch != "2c", outputs, kernel,
                    spread * (kernel // 2), step, dilation=spread, **names, **bn_param)
        top = f"res{block_name}_branch{branch}"
    sum_name = f"res{block_name}"
    net[sum_name] = L.Eltwise(net[shortcut], net[top])
    net[f"{sum_name}_relu"] = L.ReLU(net[sum_name], in_place=True)


def InceptionTower(net: NetSpec, from_layer: str, tower_name: str,
                   layer_params: Iterable[dict[str, Any]], **bn_param: Any) -> Top:
    """Adds one path of an Inception block, layer upon layer, and returns its top.

    Each of ``layer_params`` has a ``name``, which ``tower_name/`` comes before, and the arguments
    of a Pooling layer if 'pool' is in the name, of :func:`ConvBNLayer` otherwise.
    """
    top = from_layer
    for params in layer_params:
        fields = dict(params)
        name = f"{tower_name}/{fields.pop('name')}"
        if "pool" in name:
            net[name] = L.Pooling(net[top], **fields)
        else:
            ConvBNLayer(net, top, name, use_bn=True, use_relu=True, use_scale=False,
                        **{**fields, **bn_param})
        top = name
    return net[top]
