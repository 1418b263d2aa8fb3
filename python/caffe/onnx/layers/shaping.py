"""Layers that move elements without computing with them."""
from __future__ import annotations

from typing import List, Sequence

import numpy as np

from ..errors import require
from ..extents import Extent, Symbolic, count, text
from ..graph import BOOL
from ..layer import ALL, FLOAT, INT64, Layer, Value, exports


@exports("Split", shares_bottom=True, moves=1)
def split(layer: Layer) -> None:
    for i in range(len(layer.tops)):
        layer.top(i, layer.bottom(0))


@exports("Concat", shares_bottom=True, moves=ALL)
def concat(layer: Layer) -> None:
    param = layer.param.concat_param
    axis = param.concat_dim if param.HasField("concat_dim") else param.axis
    axis = layer.axis(axis, "concat_param: axis")
    for i in range(1, len(layer.bottoms)):
        shape = layer.shape(i)
        require(len(shape) == len(layer.shape()) and
                shape[:axis] + shape[axis + 1:] == layer.shape()[:axis] + layer.shape()[axis + 1:],
                f"its bottoms do not fit: {text(layer.shape())} and {text(shape)}")
    layer.top(0, layer.concat([layer.bottom(i) for i in range(len(layer.bottoms))], axis))


@exports("Slice", moves=1)
def slice_(layer: Layer) -> None:
    param = layer.param.slice_param
    axis = layer.axis(param.slice_dim if param.HasField("slice_dim") else param.axis,
                      "slice_param: axis")
    shape, tops = layer.shape(), len(layer.tops)
    require(tops > 0, "it has no tops")
    if param.slice_point:
        points = [0] + list(param.slice_point) + [shape[axis]]
        sizes: List[Extent] = [end - begin for begin, end in zip(points, points[1:])]
        require(len(sizes) == tops and all(size > 0 for size in sizes), "slice_param: slice_point "
                f"does not cut {shape[axis]} entries into {tops} parts")
    else:
        require(shape[axis] % tops == 0, f"slice_param: {shape[axis]} entries are not {tops} equal "
                "parts")
        sizes = [shape[axis] // tops] * tops
    if tops == 1:
        layer.top(0, layer.bottom(0))
        return
    shapes = [shape[:axis] + (size,) + shape[axis + 1:] for size in sizes]
    x = layer.bottom(0)
    sizes_value = layer.constant(np.array(sizes, np.int64), "sizes")
    for i, part in enumerate(layer.ops("Split", x, sizes_value, shapes=shapes, axis=axis)):
        layer.top(i, part)


@exports("Flatten", shares_bottom=True, moves=1)
def flatten(layer: Layer) -> None:
    param = layer.param.flatten_param
    begin = layer.axis(param.axis, "flatten_param: axis")
    end = layer.axis(param.end_axis, "flatten_param: end_axis")
    require(begin <= end, "flatten_param: axis lies behind end_axis")
    shape = layer.shape()
    layer.top(0, layer.reshape(layer.bottom(0),
                               shape[:begin] + (count(shape[begin:end + 1]),) + shape[end + 1:]))


@exports("Reshape", shares_bottom=True, moves=1)
def reshape(layer: Layer) -> None:
    """shape replaces num_axes axes from axis on; 0 keeps an extent, -1 is what is left."""
    param = layer.param.reshape_param
    shape = layer.shape()
    axes = len(shape)
    first = param.axis if param.axis >= 0 else axes + 1 + param.axis
    end = axes if param.num_axes == -1 else first + param.num_axes
    require(0 <= first <= end <= axes, f"reshape_param: axis {param.axis} and num_axes "
            f"{param.num_axes} do not fit {text(shape)}")
    wanted: List[Extent] = []
    for i, dim in enumerate(param.shape.dim):
        require(dim != 0 or first + i < axes,
                "reshape_param: dim 0 copies an axis that is not there")
        wanted.append(shape[first + i] if dim == 0 else dim)
    top = list(shape[:first]) + wanted + list(shape[end:])
    if -1 in wanted:
        rest = count(extent for extent in top if extent != -1)
        top[top.index(-1)] = count(shape) // rest
    require(
        count(top) == count(shape), f"reshape_param: {text(shape)} does not fit into {text(top)}")
    layer.top(0, layer.reshape(layer.bottom(0), top))


@exports("Permute", "Transpose", moves=1)
def permute(layer: Layer) -> None:
    order = list(layer.param.permute_param.order if layer.type == "Permute"
                 else layer.param.transpose_param.dim)
    axes = range(len(layer.shape()))
    require(all(axis in axes for axis in order) and len(set(order)) == len(order),
            f"its order {order} does not fit {text(layer.shape())}")
    layer.top(0, layer.transpose(layer.bottom(0), order + [axis for axis in axes
                                                           if axis not in order]))


@exports("Tile", moves=1)
def tile(layer: Layer) -> None:
    param = layer.param.tile_param
    axis = layer.axis(param.axis, "tile_param: axis")
    require(param.tiles > 0, "tile_param: tiles is missing")
    shape = layer.shape()
    repeats = np.ones(len(shape), np.int64)
    repeats[axis] = param.tiles
    top = shape[:axis] + (shape[axis] * param.tiles,) + shape[axis + 1:]
    layer.top(0, layer.op("Tile", layer.bottom(0), layer.constant(repeats, "repeats"), shape=top))


@exports("Reverse", moves=1)
def reverse(layer: Layer) -> None:
    axis = layer.axis(layer.param.reverse_param.axis, "reverse_param: axis")
    layer.top(0, layer.backwards(layer.bottom(0), axis))


@exports("Flip", moves=1)
def flip(layer: Layer) -> None:
    param = layer.param.flip_param
    layer.require_axes(4)
    y = layer.bottom(0)
    for axis, wanted in ((2, param.flip_height), (3, param.flip_width)):
        y = layer.backwards(y, axis) if wanted else y
    layer.top(0, y)


def _window(layer: Layer, value: Value, offsets: Sequence[int], extents: Sequence[Extent]) -> Value:
    for axis, (offset, extent) in enumerate(zip(offsets, extents)):
        if value.shape[axis] != extent:
            value = layer.part(value, axis, offset, offset + extent)
    return value


@exports("Crop", moves=1)
def crop(layer: Layer) -> None:
    """From axis on, the extents of bottom 1, at an offset."""
    param = layer.param.crop_param
    axis = layer.axis(param.axis, "crop_param: axis")
    shape, reference = layer.shape(0), layer.shape(1)
    require(
        len(shape) == len(reference), f"its bottoms have different numbers of axes: {text(shape)} "
        f"and {text(reference)}")
    given = list(param.offset) or [0]
    given = given * (len(shape) - axis) if len(given) == 1 else given
    require(
        len(given) == len(shape) - axis, "crop_param: offset is not given once or once per axis")
    offsets = [0] * axis + given
    extents = shape[:axis] + reference[axis:]
    for k in range(axis, len(shape)):
        require(
            shape[k] == reference[k] or offsets[k] + reference[k] <= shape[k],
            f"crop_param: offset {offsets[k]} and extent {reference[k]} reach behind the extent "
            f"{shape[k]} of axis {k}")
    layer.top(0, _window(layer, layer.bottom(0), offsets, extents))


@exports("CropCenter", moves=1)
def crop_center(layer: Layer) -> None:
    """crop_size elements less at each end of each axis."""
    shape, cuts = layer.shape(0), list(layer.param.crop_center_param.crop_size)
    require(
        len(cuts) == len(shape), f"crop_center_param: crop_size is given {len(cuts)} times for the "
        f"shape {text(shape)}")
    extents = [extent - 2 * cut if cut else extent for extent, cut in zip(shape, cuts)]
    layer.top(0, _window(layer, layer.bottom(0), cuts, extents))


@exports("MergeCrop", moves=ALL)
def merge_crop(layer: Layer) -> None:
    """The channels of both bottoms, the second cropped around its middle."""
    forward = list(layer.param.mergecrop_param.forward) or [True, True]
    a, b = layer.bottom(0), layer.bottom(1)
    layer.require_some_axes(2)
    require(len(a.shape) == len(b.shape), f"its bottoms have different numbers of axes: "
            f"{text(a.shape)} and {text(b.shape)}")
    require(len(forward) == 2, "mergecrop_param: forward is given once for each bottom")
    offsets = [0, 0] + [0 if x == y else (y - x) // 2 for x, y in zip(a.shape[2:], b.shape[2:])]
    b = _window(layer, b, offsets, (a.shape[0], b.shape[1]) + a.shape[2:])
    parts = [value if wanted else layer.binary("Mul", value, 0.0)
             for value, wanted in zip((a, b), forward)]
    layer.top(0, layer.concat(parts, 1))


@exports("BatchReindex", moves=1, exact=(1,))
def batch_reindex(layer: Layer) -> None:
    """The items of bottom 0 that bottom 1 names."""
    layer.require_some_axes(1)
    indices = layer.cast(layer.bottom(1, FLOAT), INT64)
    layer.top(0, layer.op("Gather", layer.bottom(0), indices,
                          shape=indices.shape + layer.shape()[1:], axis=0))


@exports("Filter", native=False)
def filter_(layer: Layer) -> None:
    """The items whose selector is not 0: how many is known only when the model runs."""
    selector = layer.bottom(len(layer.bottoms) - 1, FLOAT)
    flat = layer.reshape(selector, (count(selector.shape),))
    chosen = layer.cast(flat, BOOL)
    for i in range(len(layer.tops)):
        x = layer.bottom(i)
        require(x.shape[:1] == selector.shape[:1] and flat.shape == selector.shape[:1],
                f"a selector of shape {text(selector.shape)} does not fit a bottom of shape "
                f"{text(x.shape)}")
        shape = (Symbolic(f"{layer.name}_items"),) + x.shape[1:]
        layer.top(i, layer.op("Compress", x, chosen, shape=shape, axis=0))
