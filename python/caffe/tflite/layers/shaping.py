"""Layers that move elements without computing with them."""
from __future__ import annotations

from typing import List, Optional, Sequence

from ..layer import Layer, Shape, Stored, channels_last, exports, quantization_of, require
from ..model import Tensor


@exports("Split")
def split(layer: Layer) -> None:
    for i in range(len(layer.node.outputs)):
        layer.store(*layer.bottom(), i=i)


def _requantized(layer: Layer, stored: Stored) -> Stored:
    """In the scale of the top."""
    return Stored(layer.requantized(stored.tensor, quantization_of(layer.top_value())),
                  stored.moved)


@exports("Flatten", "Reshape")
def reshape(layer: Layer) -> None:
    """Of a blob whose channels lie last nothing but the shape changes, as long as items stay items:
    an InnerProduct behind it takes its weights in that order."""
    shape, top = layer.shape(), layer.top_shape()
    stored = _requantized(layer, layer.bottom())
    moved = stored.moved
    if moved is not None and (top == moved or len(top) == 2 and top[0] == shape[0]):
        wanted = channels_last(top) if top == moved else top
    else:
        stored, wanted, moved = Stored(layer.in_caffes_order(stored, top)), top, None
    if stored.tensor.shape == wanted:
        layer.store(stored.tensor, moved)
    else:
        layer.reshaped(stored.tensor, wanted, layer.top(moved))


@exports("Permute", "Transpose")
def permute(layer: Layer) -> None:
    """(N, H, W, C) of a blob whose channels lie last is as it lies."""
    shape = layer.shape()
    order = list(layer.param.permute_param.order if layer.node.type == "Permute"
                 else layer.param.transpose_param.dim)
    order += [axis for axis in range(len(shape)) if axis not in order]
    stored = _requantized(layer, layer.bottom())
    if stored.moved == shape:
        # Where each of Caffe's axes lies.
        places = [0, len(shape) - 1, *range(1, len(shape) - 1)]
        _transpose(layer, stored.tensor, [places[axis] for axis in order])
    else:
        _transpose(layer, layer.in_caffes_order(stored, shape), order)


def _transpose(layer: Layer, x: Tensor, order: Sequence[int]) -> None:
    if list(order) == list(range(len(order))):
        layer.store(x)
    else:
        layer.transposed(x, order, layer.top())


def _axis(shape: Shape, axis: int, moved: Optional[Shape]) -> int:
    """Where one of Caffe's axes lies."""
    if moved is None or axis == 0:
        return axis
    return len(shape) - 1 if axis == 1 else axis - 1


def _bottoms(layer: Layer) -> Optional[Shape]:
    """The shape whose channels lie last in all bottoms; None where Caffe's order is taken."""
    return layer.top_shape() if layer.all_last() else None


@exports("Concat")
def concat(layer: Layer) -> None:
    """LiteRT joins what has one scale."""
    param = layer.param.concat_param
    top = layer.top_shape()
    axis = (param.concat_dim if param.HasField("concat_dim") else param.axis) % len(top)
    moved = _bottoms(layer)
    common = quantization_of(layer.top_value())
    parts = [layer.requantized(layer.last(i) if moved else layer.plain(i), common)
             for i in range(len(layer.node.inputs))]
    layer.write_plainly(lambda y, _: layer.model.operator(
        "CONCATENATION", 2, parts, [y], "ConcatenationOptions", Axis=_axis(top, axis, moved),
        FusedActivationFunction=0), moved)


def _cut(layer: Layer, i: int, begin: List[int]) -> None:
    """Top number `i` is the part of the bottom that begins there, in Caffe's axes."""
    moved = layer.shape() if layer.bottom().moved == layer.shape() else None
    top = layer.top_shape(i)
    x = layer.last() if moved else layer.plain()
    order = [0, *range(2, len(top)), 1] if moved else list(range(len(top)))
    y = layer.top(top if moved else None, i)
    inner = y if y.quantization == x.quantization else layer.like(x.quantization, y.shape)
    layer.part(x, [begin[axis] for axis in order], [top[axis] for axis in order], inner)
    if inner is not y:
        layer.model.operator("QUANTIZE", 2, [inner], [y], "QuantizeOptions")


@exports("Slice")
def slice_(layer: Layer) -> None:
    param = layer.param.slice_param
    shape = layer.shape()
    axis = (param.slice_dim if param.HasField("slice_dim") else param.axis) % len(shape)
    first = 0
    for i in range(len(layer.node.outputs)):
        begin = [0] * len(shape)
        begin[axis] = first
        _cut(layer, i, begin)
        first += layer.top_shape(i)[axis]


@exports("Crop")
def crop(layer: Layer) -> None:
    param = layer.param.crop_param
    shape = layer.shape()
    axis = param.axis % len(shape)
    given = list(param.offset) or [0]
    given = given * (len(shape) - axis) if len(given) == 1 else given
    require(len(given) == len(shape) - axis,
            "crop_param: offset is not given once or once per axis")
    top = layer.top_shape()
    begin = [0] * axis + given
    _cut(layer, 0, [b if shape[i] != top[i] else 0 for i, b in enumerate(begin)])


@exports("ShuffleChannel")
def shuffle_channel(layer: Layer) -> None:
    """Channels as (groups, rest), transposed."""
    shape, group = layer.shape(), layer.param.shuffle_channel_param.group
    require(len(shape) == 4, f"it takes a bottom of 4 axes, not {shape}")
    n, c, h, w = shape
    x = layer.requantized(layer.last(), quantization_of(layer.top_value()))
    y = layer.transposed(layer.reshaped(x, (n, h, w, group, c // group)), (0, 1, 2, 4, 3))
    layer.reshaped(y, (n, h, w, c), layer.top(shape))


