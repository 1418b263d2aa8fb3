"""Faster R-CNN's Proposal in standard operators."""
from __future__ import annotations

from typing import Any, List

import numpy as np

from ..errors import require
from ..extents import count, is_fixed, require_constant, text
from ..graph import BOOL
from ..layer import FLOAT, Layer, Value, exports
from .boxes import (best, column, decode_center_size, gather_rows, numbers_to, places_of, suppress)


def _anchors(param: Any) -> np.ndarray:
    """(ratios * scales, 4): boxes around a cell's middle, whose sides are whole before they
    scale."""
    area = np.float32(param.base_size) * np.float32(param.base_size)
    middle = np.float32(0.5) * (np.float32(param.base_size) - 1)
    anchors = []
    for ratio in map(np.float32, param.ratio):
        width = np.floor(np.sqrt(area / ratio) + np.float32(0.5))
        height = np.floor(width * ratio + np.float32(0.5))
        for scale in map(np.float32, param.scale):
            x, y = np.float32(0.5) * (width * scale - 1), np.float32(0.5) * (height * scale - 1)
            anchors.append([middle - x, middle - y, middle + x, middle + y])
    return np.array(anchors, np.float32)


def _grid(param: Any, height: int, width: int) -> np.ndarray:
    """(cells * anchors, 4): the anchors at all cells, row by row."""
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32) * np.float32(param.feat_stride)
    corners = np.stack([columns, rows, columns, rows], axis=-1).reshape(-1, 1, 4)
    return (corners + _anchors(param)).reshape(-1, 4)


def _by_cell(layer: Layer, x: Value, anchors: int, numbers: int) -> Value:
    """A map (N, anchors * numbers, H, W) as (N, cells * anchors, numbers)."""
    n, _, h, w = x.shape
    x = layer.reshape(x, (n, anchors, numbers, h * w))
    return layer.reshape(layer.transpose(x, [0, 3, 1, 2]), (n, h * w * anchors, numbers))


def _information(layer: Layer, items: Any) -> List[Value]:
    """Height, width, and the least height and width of a box, each (N, 1, 1)."""
    shape = layer.shape(2)
    each = count(shape) // items
    require(each >= 3, f"bottom 2 of shape {text(shape)} has not height, width and scale")
    information = layer.reshape(layer.bottom(2), (items, each, 1))
    columns = [layer.part(information, 1, i, i + 1) for i in (0, 1, 2, 3 if each > 3 else 2)]
    smallest = layer.param.proposal_param.min_size
    return columns[:2] + [layer.binary("Mul", scale, smallest) for scale in columns[2:]]


def _clipped(layer: Layer, boxes: Value, height: Value, width: Value) -> Value:
    most = [layer.binary("Sub", width, 1.0), layer.binary("Sub", height, 1.0)]
    limit = layer.concat(most + most, 2)
    return layer.clip(layer.op("Min", boxes, limit), 0, None)


def _is_large(layer: Layer, boxes: Value, least_height: Value, least_width: Value) -> Value:
    """(N, boxes) of bool: both sides are long enough."""
    large = []
    for i, least in ((0, least_width), (1, least_height)):
        side = layer.op("Sub", layer.part(boxes, 2, i + 2, i + 3), layer.part(boxes, 2, i, i + 1))
        large.append(layer.op("GreaterOrEqual", layer.binary("Add", side, 1.0), least, dtype=BOOL))
    return layer.reshape(layer.op("And", *large), boxes.shape[:2])


@exports("Proposal", native=False, exact=(0, 1, 2))
def proposal(layer: Layer) -> None:
    """Rows [item, xmin, ymin, xmax, ymax] in pixels, and their scores."""
    param = layer.param.proposal_param
    layer.require_axes(4)
    items, channels, height, width = layer.shape(0)
    anchors = len(param.ratio) * len(param.scale)
    require(anchors > 0 and channels == 2 * anchors,
            f"proposal_param: {anchors} anchors do not fit "
            f"{channels} channels of scores")
    require(is_fixed((height, width)), "the maps' extents are not fixed")
    require(layer.shape(1) == (items, 4 * anchors, height, width), f"bottom 1 of shape "
            f"{text(layer.shape(1))} has not four numbers for each anchor")
    require_constant(height * width * anchors * 4, "its anchors")
    total = height * width * anchors
    codes = _by_cell(layer, layer.bottom(1), anchors, 4)
    boxes = decode_center_size(layer, layer.constant(_grid(param, height, width)[None], "anchors"),
                               codes, (items, total, 4), 1.0)
    rows, columns, least_height, least_width = _information(layer, items)
    boxes = _clipped(layer, boxes, rows, columns)
    objects = layer.part(layer.bottom(0), 1, anchors, 2 * anchors)
    scores = layer.reshape(_by_cell(layer, objects, anchors, 1), (items, total))
    scores = layer.op("Where", _is_large(layer, boxes, least_height, least_width), scores,
                      layer.constant(0.0, dtype=FLOAT), shape=scores.shape, dtype=FLOAT)

    k = min(param.pre_nms_topn, total)
    scores, order = best(layer, scores, k)
    first = layer.op("Mul", numbers_to(layer, items, layer.bottom(0)), layer.constant(total))
    boxes = gather_rows(layer, boxes, layer.op("Add", order, layer.reshape(first, (items, 1))))
    whole = layer.op("Add", boxes, layer.constant(np.array([0, 0, 1, 1], np.float32), dtype=FLOAT))
    mask = suppress(layer, whole, scores, param.nms_thresh, None, param.post_nms_topn,
                    layer.bottom(0))
    places = places_of(layer, mask)
    item = layer.op("Div", places, layer.constant(k))
    layer.top(0, layer.concat([column(layer, item), gather_rows(layer, boxes, places)], 1), FLOAT)
    layer.top(1, layer.op("Gather", layer.reshape(scores, (items * k,)), places,
                          shape=places.shape), FLOAT)
