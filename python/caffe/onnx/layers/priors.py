"""Prior boxes: constants, since they depend on extents alone."""
from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np

from ..errors import require
from ..extents import count, is_fixed, require_constant, text
from ..layer import FLOAT, Layer, exports

_SAME = 1e-6  # aspect ratios nearer than that are one


def _aspect_ratios(param: Any) -> List[np.float32]:
    ratios = [np.float32(1)]
    for ratio in map(np.float32, param.aspect_ratio):
        require(ratio > 0, f"prior_box_param: aspect_ratio {ratio} is not positive")
        if any(abs(ratio - known) < _SAME for known in ratios):
            continue
        ratios.append(ratio)
        if param.flip:
            ratios.append(np.float32(1) / ratio)
    return ratios


def _boxes(param: Any) -> List[Tuple[np.float32, np.float32]]:
    """Widths and heights in pixels."""
    if param.width or param.height:
        require(len(param.width) == len(param.height), "prior_box_param: width and height are not "
                "given as often")
        return list(zip(map(np.float32, param.width), map(np.float32, param.height)))
    require(len(param.min_size) > 0, "prior_box_param: min_size is missing")
    require(
        len(param.max_size) in (0, len(param.min_size)), "prior_box_param: max_size is not given "
        "once per min_size")
    boxes = []
    for i, min_size in enumerate(param.min_size):
        smaller = np.float32(np.floor(min_size))
        boxes.append((smaller, smaller))
        if param.max_size:
            middle = np.sqrt(smaller * np.float32(np.floor(param.max_size[i])))
            boxes.append((middle, middle))
        for ratio in _aspect_ratios(param):
            if abs(ratio - 1) >= _SAME:
                boxes.append((smaller * np.sqrt(ratio), smaller / np.sqrt(ratio)))
    return boxes


def _pair(param: Any, name: str) -> Tuple[float, float]:
    """A vertical and a horizontal number, given as one or as two; 0 if they are not given."""
    both = "img_size" if name == "img" else name
    if param.HasField(both):
        return (getattr(param, both),) * 2
    return getattr(param, name + "_h"), getattr(param, name + "_w")


def _offsets(param: Any) -> List[Tuple[float, float]]:
    """Where in a cell the boxes' middles lie: vertically, horizontally."""
    if param.offset_h or param.offset_w:
        require(len(param.offset_h) == len(param.offset_w), "prior_box_param: offset_h and offset_w "
                "are not given as often")
        return list(zip(param.offset_h, param.offset_w))
    return [(param.offset, param.offset)]


def _corners(param: Any, cells: Tuple[int, int], image: Tuple[float, float],
             step: Tuple[float, float]) -> np.ndarray:
    """Boxes of all cells, of all sizes, of all offsets: (rows, columns, sizes, offsets, 4)."""
    boxes = np.array(_boxes(param), np.float32)
    offsets = np.array(_offsets(param), np.float32)
    shape = (cells[0], cells[1], len(boxes), len(offsets))
    require_constant(count(shape) * 8, "boxes and variances")
    step_h, step_w = np.float32(step[0]), np.float32(step[1])
    y = (np.arange(cells[0], dtype=np.float32)[:, None] + offsets[:, 0]) * step_h
    x = (np.arange(cells[1], dtype=np.float32)[:, None] + offsets[:, 1]) * step_w
    y = np.broadcast_to(y[:, None, None, :], shape).astype(np.float64)
    x = np.broadcast_to(x[None, :, None, :], shape).astype(np.float64)
    width, height = (boxes[:, i].astype(np.float64)[None, None, :, None] / 2 for i in (0, 1))
    edges = [(x - width) / image[1], (y - height) / image[0],
             (x + width) / image[1], (y + height) / image[0]]
    corners = np.stack(edges, axis=-1)
    return np.clip(corners, 0, 1) if param.clip else corners


@exports("PriorBox", "PriorBoxClustered", native=False)
def prior_box(layer: Layer) -> None:
    """(1, 2, boxes * 4): the boxes in parts of the image, then a variance for each number."""
    param = layer.param.prior_box_param
    layer.require_axes(4)
    cells, image = layer.shape()[2:], _pair(param, "img")
    if 0 in image:
        layer.require_axes(4, bottom=1)
        image = layer.shape(1)[2:]
    require(is_fixed(cells) and is_fixed(image), f"the image's shape {text(image)} is not fixed")
    step = _pair(param, "step")
    if 0 in step:
        step = tuple(np.float32(size) / np.float32(count) for size, count in zip(image, cells))
    corners = _corners(param, cells, image, step).astype(np.float32).reshape(-1)
    variances = np.array(param.variance or [0.1], np.float32)
    require(len(variances) in (1, 4), "prior_box_param: variance is given once or 4 times")
    spread = np.resize(variances, corners.size)
    layer.top(0, layer.constant(np.stack([corners, spread])[None], "priors"), FLOAT)
