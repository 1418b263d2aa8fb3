"""SSD's own layers (Liu et al. 2016): annotated images, and boxes predicted from several maps."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

from ..net_spec import NetSpec, Top
from ..net_spec import layers as L
from ..net_spec import params as P
from ..proto import caffe_pb2
from .blocks import ConvBNLayer


def CreateAnnotatedDataLayer(source: str, batch_size: int = 32, backend: int = P.Data.LMDB,
                             output_label: bool = True, train: bool = True,
                             label_map_file: str = "", anno_type: Optional[int] = None,
                             transform_param: Optional[dict[str, Any]] = None,
                             batch_sampler: Sequence[dict[str, Any]] = ({},)) -> Any:
    """The layer 'data' that reads a database of annotated images: its tops data and, with
    ``output_label``, label.

    It belongs to the TRAIN phase or, without ``train``, to TEST. ``transform_param`` and
    ``batch_sampler`` are fields as :class:`caffe.NetSpec` takes them.
    """
    annotated = dict(label_map_file=label_map_file, batch_sampler=list(batch_sampler))
    if anno_type is not None:
        annotated["anno_type"] = anno_type
    phase = caffe_pb2.TRAIN if train else caffe_pb2.TEST
    return L.AnnotatedData(
        name="data", include=dict(phase=phase), transform_param=transform_param or {},
        data_param=dict(batch_size=batch_size, backend=backend, source=source),
        annotated_data_param=annotated, ntop=2 if output_label else 1)


def _listed(value: Any) -> list:
    return list(value) if isinstance(value, Iterable) else [value]


class _Lists:
    """Arguments of which each has one value for each map, or none."""

    def __init__(self, from_layers: Sequence[str], **lists: Sequence[Any]) -> None:
        for name, values in lists.items():
            if len(values) not in (0, len(from_layers)):
                raise ValueError(f"CreateMultiBoxHead: {name} has {len(values)} values for the "
                                 f"{len(from_layers)} from_layers")
        self._lists = lists

    def value(self, name: str, index: int, otherwise: Any) -> Any:
        values = self._lists[name]
        return values[index] if len(values) else otherwise


class _Priors:
    """The boxes that a place of a map is compared with."""

    def __init__(self, from_layer: str, min_size: Any, max_size: Any, aspect_ratio: Any,
                 flip: bool) -> None:
        self.smallest, self.largest = _listed(min_size), _listed(max_size)
        self.ratios, self.flip = _listed(aspect_ratio), flip
        if self.largest and len(self.largest) != len(self.smallest):
            raise ValueError(f"CreateMultiBoxHead: {len(self.largest)} max_sizes and "
                             f"{len(self.smallest)} min_sizes for '{from_layer}'")

    def count(self) -> int:
        shapes = len(self.ratios) * (2 if self.flip else 1)
        return len(self.smallest) * (1 + bool(self.largest) + shapes)

    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = dict(min_size=self.smallest)
        if self.largest:
            fields["max_size"] = self.largest
        if self.ratios:
            fields.update(aspect_ratio=self.ratios, flip=self.flip)
        return fields


def _predict(net: NetSpec, from_layer: str, name: str, outputs: int, **convolution: Any) -> Top:
    """Values for each place of a map, as one row for each item."""
    ConvBNLayer(net, from_layer, name, use_relu=False, num_output=outputs, stride=1, **convolution)
    net[f"{name}_perm"] = L.Permute(net[name], order=[0, 2, 3, 1])
    net[f"{name}_flat"] = L.Flatten(net[f"{name}_perm"], axis=1)
    return net[f"{name}_flat"]


def CreateMultiBoxHead(net: NetSpec, data_layer: str = "data", num_classes: int = 0,
                       from_layers: Sequence[str] = (), use_objectness: bool = False,
                       normalizations: Sequence[float] = (), use_batchnorm: bool = True,
                       lr_mult: float = 1, use_scale: bool = True, min_sizes: Sequence[Any] = (),
                       max_sizes: Sequence[Any] = (),
                       prior_variance: Union[float, Sequence[float]] = (0.1,),
                       aspect_ratios: Sequence[Any] = (), steps: Sequence[Any] = (),
                       img_height: int = 0, img_width: int = 0, share_location: bool = True,
                       flip: bool = True, clip: bool = True, offset: float = 0.5,
                       inter_layer_depth: Sequence[int] = (), kernel_size: int = 1, pad: int = 0,
                       conf_postfix: str = "", loc_postfix: str = "", **bn_param: Any) -> list[Top]:
    """Adds predictions of boxes and classes on the maps ``from_layers``.

    Returns the tops mbox_loc, mbox_conf, mbox_priorbox and, with ``use_objectness``,
    mbox_objectness. Arguments that are lists have one value for each map, or are empty:

    ================= ==================================================================
    min_sizes         side of the smallest prior, in pixels, or several; needed
    max_sizes         one for each minimum, whose geometric mean with it is a prior too
    aspect_ratios     other shapes of the smallest prior; with ``flip`` on their side, too
    steps             pixels between the centres of priors
    normalizations    the scale of a Normalize layer before the map; -1: none
    inter_layer_depth outputs of a 3x3 convolution before the map; 0: none
    ================= ==================================================================

    ``prior_variance`` is one number or one for each coordinate. ``kernel_size`` and ``pad`` are
    those of the predictions, ``bn_param`` those of :func:`ConvBNLayer`. Raises ValueError where the
    lists' lengths differ.
    """
    if not num_classes or num_classes < 0:
        raise ValueError(f"CreateMultiBoxHead needs num_classes above 0, not {num_classes}")
    if len(min_sizes) != len(from_layers):
        raise ValueError(f"CreateMultiBoxHead: min_sizes has {len(min_sizes)} values for the "
                         f"{len(from_layers)} from_layers")
    if data_layer not in net:
        raise ValueError(f"CreateMultiBoxHead: the net has no blob '{data_layer}' (data_layer)")
    lists = _Lists(from_layers, max_sizes=max_sizes, aspect_ratios=aspect_ratios, steps=steps,
                   normalizations=normalizations, inter_layer_depth=inter_layer_depth)
    learning = dict(use_bn=use_batchnorm, lr_mult=lr_mult, **bn_param)
    predicting = dict(learning, use_scale=use_scale, kernel_size=kernel_size, pad=pad)
    # What all maps have in common of the priors.
    common: dict[str, Any] = dict(clip=clip, variance=_listed(prior_variance), offset=offset)
    if img_height and img_width:
        common.update(dict(img_size=img_height) if img_height == img_width
                      else dict(img_h=img_height, img_w=img_width))
    parts: dict[str, list[Top]] = {"loc": [], "conf": [], "priorbox": [], "objectness": []}
    for index, name in enumerate(from_layers):
        scale = lists.value("normalizations", index, -1)
        if scale != -1:
            net[f"{name}_norm"] = L.Normalize(net[name], across_spatial=False, channel_shared=False,
                                              scale_filler=dict(type="constant", value=scale))
            name = f"{name}_norm"
        depth = lists.value("inter_layer_depth", index, 0)
        if depth > 0:
            ConvBNLayer(net, name, f"{name}_inter", use_relu=True, num_output=depth, kernel_size=3,
                        pad=1, stride=1, **learning)
            name = f"{name}_inter"

        priors = _Priors(name, min_sizes[index], lists.value("max_sizes", index, []),
                         lists.value("aspect_ratios", index, []), flip)
        boxes = 4 * priors.count() * (1 if share_location else num_classes)
        scores = num_classes * priors.count()
        parts["loc"].append(
            _predict(net, name, f"{name}_mbox_loc{loc_postfix}", boxes, **predicting))
        parts["conf"].append(
            _predict(net, name, f"{name}_mbox_conf{conf_postfix}", scores, **predicting))
        fields = dict(common, **priors.fields())
        step = lists.value("steps", index, None)
        if step:
            fields["step"] = step
        net[f"{name}_mbox_priorbox"] = L.PriorBox(net[name], net[data_layer], **fields)
        parts["priorbox"].append(net[f"{name}_mbox_priorbox"])
        if use_objectness:
            parts["objectness"].append(
                _predict(net, name, f"{name}_mbox_objectness", 2 * priors.count(), **predicting))

    joined = []
    for kind, tops in parts.items():
        if tops:
            net[f"mbox_{kind}"] = L.Concat(*tops, axis=2 if kind == "priorbox" else 1)
            joined.append(net[f"mbox_{kind}"])
    return joined
