"""What layers that find boxes have in common. Boxes are (..., 4): xmin, ymin, xmax, ymax."""
from __future__ import annotations

from typing import List, Optional, Sequence

import numpy as np

from ..extents import Extent, Symbolic, count, require_constant
from ..graph import BOOL
from ..layer import FLOAT, INT64, Layer, Value

LOWEST = float(np.finfo(np.float32).min)


def halves(layer: Layer, boxes: Value) -> List[Value]:
    """The first and the last two numbers of each box."""
    last = len(boxes.shape) - 1
    return [layer.part(boxes, last, 0, 2), layer.part(boxes, last, 2, 4)]


def decode_center_size(layer: Layer, priors: Value, codes: Value, shape: Sequence[Extent],
                       extra: float) -> Value:
    """Codes (dx, dy, log w, log h) relative to priors; `extra`: what a box is larger by than the
    difference of its corners, 0 or, in pixels, 1. `shape` is the result's."""
    first, last = halves(layer, priors)
    size = layer.binary("Add", layer.op("Sub", last, first), extra)
    middle = layer.op("Add", first, layer.binary("Mul", size, 0.5))
    moves, scales = halves(layer, codes)
    half = tuple(shape[:-1]) + (2,)
    center = layer.op("Add", layer.op("Mul", moves, size, shape=half), middle, shape=half)
    reach = layer.binary("Mul", layer.op("Mul", layer.op("Exp", scales), size, shape=half), 0.5)
    return layer.concat([layer.op("Sub", center, reach), layer.op("Add", center, reach)],
                        len(shape) - 1)


def numbers_to(layer: Layer, extent: Extent, like: Value) -> Value:
    """0, 1, ... below an extent (int64), which is the first one of `like` where it is symbolic."""
    if isinstance(extent, int):
        require_constant(extent, "the numbers of its items")
        return layer.constant(np.arange(extent, dtype=np.int64), "numbers")
    end = layer.reshape(layer.shape_of((extent,), like), ())
    return layer.op("Range", layer.constant(0), end, layer.constant(1), shape=(extent,),
                    dtype=INT64)


def best(layer: Layer, scores: Value, k: int) -> List[Value]:
    """The `k` largest scores along the last axis, falling, and where they were."""
    shape = scores.shape[:-1] + (k,)
    return layer.ops("TopK", scores, layer.constant([k]), shapes=[shape, shape],
                     dtypes=[scores.dtype, INT64], axis=len(shape) - 1)


def gather_rows(layer: Layer, boxes: Value, rows: Value) -> Value:
    """Boxes by row number, over all axes before the last one."""
    flat = layer.reshape(boxes, (count(boxes.shape[:-1]), boxes.shape[-1]))
    return layer.op("Gather", flat, rows, shape=rows.shape + (boxes.shape[-1],), axis=0)


def _ones_at(layer: Layer, places: Value, total: Value, axis: int) -> Value:
    """A copy of zeros `total` with ones at `places`."""
    one = layer.graph.onnx.numpy_helper.from_array(np.ones(1, np.float32))
    ones = layer.op("ConstantOfShape", layer.op("Shape", places, shape=(len(places.shape),)),
                    shape=places.shape, dtype=FLOAT, value=one)
    return layer.op("ScatterElements", total, places, ones, axis=axis)


def suppress(layer: Layer, boxes: Value, scores: Value, overlap: float, least: Optional[float],
             limit: int, like: Value) -> Value:
    """Non-maximum suppression in each of B lists of k boxes, sorted by falling score.

    `boxes` is (B, k, 4), `scores` (B, k); a box is dropped whose overlap with a better one that
    stays is more than `overlap`, or whose score is not more than `least`; at most `limit` stay in a
    list. Returns (B * k), 1 for boxes that stay, else 0.
    """
    lists, k = scores.shape
    # ONNX takes the corners of a box in either order; here a box with swapped ones has no area.
    first, last = halves(layer, boxes)
    boxes = layer.concat([first, layer.op("Max", first, last)], 2)
    inputs = [boxes, layer.reshape(scores, (lists, 1, k)), layer.constant([limit]),
              layer.constant(np.array([min(max(overlap, 0.0), 1.0)], np.float32), dtype=FLOAT)]
    if least is not None:
        inputs.append(layer.constant(np.array([least], np.float32), dtype=FLOAT))
    found = Symbolic(f"{layer.name}_found")
    selected = layer.op("NonMaxSuppression", *inputs, shape=(found, 3), dtype=INT64)
    of_list = layer.op("Gather", selected, layer.constant(0), shape=(found,), axis=1)
    in_list = layer.op("Gather", selected, layer.constant(2), shape=(found,), axis=1)
    places = layer.op("Add", layer.op("Mul", of_list, layer.constant(k)), in_list)
    return _ones_at(layer, places, layer.filled(0, (lists * k,), like, FLOAT), 0)


def keep_best(layer: Layer, mask: Value, scores: Value, items: Extent, keep: int,
              like: Value) -> Value:
    """Of the boxes that `mask` has, those with the `keep` best scores in each item."""
    each = count(mask.shape) // items
    if keep < 0 or keep >= each:
        return mask
    shape = (items, each)
    mask, scores = layer.reshape(mask, shape), layer.reshape(scores, shape)
    candidates = layer.op("Where", layer.cast(mask, BOOL), scores,
                          layer.constant(LOWEST, dtype=FLOAT), dtype=FLOAT)
    _, places = best(layer, candidates, keep)
    chosen = _ones_at(layer, places, layer.filled(0, shape, like, FLOAT), 1)
    return layer.reshape(layer.op("Mul", mask, chosen), (items * each,))


def places_of(layer: Layer, mask: Value) -> Value:
    """Where a vector is not 0, rising."""
    found = Symbolic(f"{layer.name}_rows")
    rows = layer.op("NonZero", mask, shape=(1, found), dtype=INT64)
    return layer.reshape(rows, (found,))


def rows_or_none(layer: Layer, rows: Value, items: Extent, like: Value) -> Value:
    """(1, 1, rows, 7): the rows, or one [item, -1, ...] for each item where there are no rows."""
    nothing = layer.filled(-1, (items, 6), like, FLOAT)
    number = layer.reshape(layer.cast(numbers_to(layer, items, like), FLOAT), (items, 1))
    empty = layer.concat([number, nothing], 1)
    both = layer.op("Concat", rows, empty, shape=None, axis=0)
    found = layer.op("Gather", layer.op("Shape", rows, shape=(2,), dtype=INT64),
                     layer.constant([0]), shape=(1,))
    is_empty = layer.cast(layer.op("Equal", found, layer.constant([0]), dtype=BOOL), INT64)
    end = layer.op("Add", found, layer.op("Mul", is_empty, layer.shape_of((items,), like)))
    shape = (rows.shape[0], 7)
    used = layer.op("Slice", both, layer.constant([0]), end, layer.constant([0]), shape=shape)
    return layer.reshape(used, (1, 1) + shape)


def column(layer: Layer, values: Value) -> Value:
    """A vector as a float column."""
    return layer.reshape(layer.cast(values, FLOAT), values.shape + (1,))
