"""The outputs of YOLO versions 2 and 3 in standard operators."""
from __future__ import annotations

from typing import List, Sequence, Tuple

import numpy as np

from ..errors import require
from ..extents import is_fixed, require_constant, text
from ..layer import FLOAT, INT64, Layer, Value, exports
from .boxes import (best, column, gather_rows, numbers_to, places_of, rows_or_none, suppress)


def _anchors(biases: Sequence[float]) -> np.ndarray:
    """Rows of width and height."""
    require(len(biases) % 2 == 0, f"biases are pairs of a width and a height, {len(biases)} are "
            "given")
    return np.array(biases, np.float32).reshape(-1, 2)


def _by_cell(layer: Layer, i: int, boxes: int, classes: int) -> Tuple[Value, int, int]:
    """Bottom `i` as (N, cells, boxes, 5 + classes), and how many rows and columns of cells."""
    shape = layer.shape(i)
    require(boxes > 0 and classes > 0, "num_box and num_classes are at least 1")
    require(
        len(shape) == 4 and shape[1] == boxes * (5 + classes), f"num_box {boxes} and num_classes "
        f"{classes} do not fit a map of shape {text(shape)}")
    n, _, h, w = shape
    require(is_fixed((h, w)), "the maps' extents are not fixed")
    require_constant(h * w * boxes * classes, "its cells")
    x = layer.reshape(layer.bottom(i), (n, boxes, 5 + classes, h * w))
    return layer.transpose(x, [0, 3, 1, 2]), h, w


def _boxes(layer: Layer, x: Value, cells: Tuple[int, int], anchors: np.ndarray) -> Value:
    """(N, cells, boxes, 4); `anchors` (boxes, 2) are widths and heights in parts of the image."""
    height, width = cells
    rows, columns = np.mgrid[0:height, 0:width].reshape(2, -1, 1, 1).astype(np.float32)
    corners = np.concatenate([columns, rows], axis=-1)
    size = layer.constant(np.array([width, height], np.float32), "cells", dtype=FLOAT)
    offset = layer.op("Sigmoid", layer.part(x, 3, 0, 2))
    middle = layer.op("Div", layer.op("Add", offset, layer.constant(corners, "corners")), size)
    reach = layer.op("Mul", layer.op("Exp", layer.part(x, 3, 2, 4)),
                     layer.constant(anchors.astype(np.float32) / 2, "anchors"))
    return layer.concat([layer.op("Sub", middle, reach), layer.op("Add", middle, reach)], 3)


def _rows(layer: Layer, boxes: Value, scores: Value, labels: Value, per_box: int, overlap: float,
          least: float) -> None:
    """Suppression over all classes together. `boxes` (N, b, 4); `scores`, `labels` (N, b *
    per_box).

    A box goes if it overlaps a better one by the threshold or more, so the threshold is one less.
    """
    items, total = scores.shape
    like = layer.bottom(0)
    scores, order = best(layer, scores, total)
    item = layer.reshape(numbers_to(layer, items, like), (items, 1))
    rows = layer.op("Add", order, layer.op("Mul", item, layer.constant(total)))
    box_rows = layer.op("Div", rows, layer.constant(per_box)) if per_box > 1 else rows
    boxes = gather_rows(layer, boxes, box_rows)
    below = float(np.nextafter(np.float32(overlap), np.float32(-1)))
    mask = suppress(layer, boxes, scores, below, least, total, like)
    places = places_of(layer, mask)

    def chosen(values: Value) -> Value:
        flat = layer.reshape(values, (items * total,))
        return layer.op("Gather", flat, places, shape=places.shape)

    label_rows = chosen(rows)
    flat_labels = layer.reshape(labels, (items * total,))
    label = layer.op("Gather", flat_labels, label_rows, shape=places.shape)
    found = [column(layer, layer.op("Div", places, layer.constant(total))), column(layer, label),
             column(layer, chosen(scores)), gather_rows(layer, boxes, places)]
    layer.top(0, rows_or_none(layer, layer.concat(found, 1), items, like), FLOAT)


@exports("YoloDetectionOutput", native=False)
def yolo_detection_output(layer: Layer) -> None:
    """Version 2: each box has the class that is the most probable one."""
    param = layer.param.yolo_detection_output_param
    require(param.coords == 4, "yolo_detection_output_param: coords other than 4")
    classes, boxes = param.num_classes, param.num_box
    layer.require_axes(4)
    items = layer.shape()[0]
    anchors = _anchors(param.biases)[:boxes]
    require(len(anchors) == boxes, f"yolo_detection_output_param: biases are not two for each of "
            f"{boxes} boxes")
    found: List[Value] = []
    scores: List[Value] = []
    labels: List[Value] = []
    for i in range(len(layer.bottoms)):
        x, height, width = _by_cell(layer, i, boxes, classes)
        total = height * width * boxes
        sizes = anchors / np.array([width, height], np.float32)
        found.append(layer.reshape(_boxes(layer, x, (height, width), sizes), (items, total, 4)))
        logits = layer.part(x, 3, 5, 5 + classes)
        largest = layer.reduce("ReduceMax", layer.op("Softmax", logits, axis=3), [3])
        score = layer.op("Mul", largest, layer.op("Sigmoid", layer.part(x, 3, 4, 5)))
        scores.append(layer.reshape(score, (items, total)))
        label = layer.op("ArgMax", logits, shape=logits.shape[:3] + (1,), dtype=INT64, axis=3)
        labels.append(layer.reshape(label, (items, total)))
    # At least the threshold: more than what is just below it.
    least = float(np.nextafter(np.float32(param.confidence_threshold), np.float32(-np.inf)))
    labels_from_1 = layer.op("Add", layer.concat(labels, 1), layer.constant(1))
    _rows(layer, layer.concat(found, 1), layer.concat(scores, 1), labels_from_1, 1,
          param.nms_threshold, least)


@exports("Yolov3DetectionOutput", native=False)
def yolov3_detection_output(layer: Layer) -> None:
    """Version 3: each box has a score for each class."""
    param = layer.param.yolov3_detection_output_param
    classes = param.num_classes
    boxes = param.num_boxes if param.HasField("num_boxes") else param.num_box
    mask: Sequence[int] = param.mask or param.masks
    maps = len(layer.bottoms)
    require(len(mask) == maps * boxes and len(param.anchors_scale) >= maps,
            f"yolov3_detection_output_param: {maps} maps of {boxes} boxes need as many mask and "
            "anchors_scale")
    layer.require_axes(4)
    items = layer.shape()[0]
    anchors = _anchors(param.biases)
    require(all(0 <= i < len(anchors) for i in mask), f"yolov3_detection_output_param: mask names "
            f"boxes that the {len(anchors)} pairs of biases have not")
    found, scores, total = [], [], 0
    for i in range(maps):
        x, height, width = _by_cell(layer, i, boxes, classes)
        sizes = anchors[list(mask[i * boxes:(i + 1) * boxes])]
        sizes = sizes / (np.array([width, height], np.float32) * param.anchors_scale[i])
        cells = height * width * boxes
        total += cells
        found.append(layer.reshape(_boxes(layer, x, (height, width), sizes), (items, cells, 4)))
        chances = layer.op("Sigmoid", layer.part(x, 3, 4, 5 + classes))
        score = layer.op("Mul", layer.part(chances, 3, 1, 1 + classes),
                         layer.part(chances, 3, 0, 1))
        scores.append(layer.reshape(score, (items, cells * classes)))
    numbers = np.tile(np.arange(1, classes + 1), total)[None].astype(np.float32)
    zeros = layer.filled(0, (items, total * classes), layer.bottom(0), FLOAT)
    labels = layer.op("Add", zeros, layer.constant(numbers, "labels"))
    _rows(layer, layer.concat(found, 1), layer.concat(scores, 1), labels, classes,
          param.nms_threshold, param.confidence_threshold)
