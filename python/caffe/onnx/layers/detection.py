"""SSD's DetectionOutput in standard operators."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ..errors import require
from ..extents import count, text
from ..layer import FLOAT, Layer, Value, exports
from .boxes import (best, column, decode_center_size, gather_rows, halves, keep_best, numbers_to,
                    places_of, rows_or_none, suppress)

CORNER, CENTER_SIZE, CORNER_SIZE = 1, 2, 3


def _refuse(param: Any) -> None:
    for given, field in ((param.has_lm, "has_lm (landmarks)"), (param.bias_scale, "bias_scale"),
                         (param.class_type == 1, "class_type LOGISTIC"),
                         (param.soft_nms or param.nms_param.soft_nms, "soft_nms")):
        require(not given, f"detection_output_param: {field}")
    require(
        param.nms_param.eta == 1, "detection_output_param: eta other than 1 changes the threshold "
        "from box to box, which NonMaxSuppression cannot")


def _decode(layer: Layer, priors: int, location_classes: int) -> Value:
    """(N, priors, location classes, 4)."""
    param = layer.param.detection_output_param
    shape = (layer.shape(1)[0], priors, location_classes, 4)
    codes = layer.reshape(layer.bottom(0), shape)
    both = layer.reshape(layer.bottom(2), (2, priors, 1, 4))
    boxes, variances = layer.part(both, 0, 0, 1), layer.part(both, 0, 1, 2)
    if not param.variance_encoded_in_target:
        codes = layer.op("Mul", codes, variances, shape=shape)
    extra = 0.0 if param.normalized_bbox else 1.0
    if param.code_type == CENTER_SIZE:
        decoded = decode_center_size(layer, boxes, codes, shape, extra)
    else:
        if param.code_type == CORNER_SIZE:
            first, last = halves(layer, boxes)
            size = layer.binary("Add", layer.op("Sub", last, first), extra)
            codes = layer.op("Mul", codes, layer.concat([size, size], 3), shape=shape)
        decoded = layer.op("Add", codes, boxes, shape=shape)
    return layer.clip(decoded, 0, 1) if param.clip else decoded


def _threshold(param: Any) -> float:
    if param.HasField("nms_param"):
        return param.nms_param.nms_threshold
    return param.nms_thresh if param.HasField("nms_thresh") else param.nms_threshold


def _top_k(param: Any, priors: int) -> int:
    k = param.nms_param.top_k if param.nms_param.HasField("top_k") else (
        param.top_k if param.HasField("top_k") else -1)
    return priors if k < 0 else min(k, priors)


@exports("DetectionOutput", native=False, exact=(0, 1, 2))
def detection_output(layer: Layer) -> None:
    """Rows [item, label, score, xmin, ymin, xmax, ymax].

    Per class: the top_k best scores, non-maximum suppression; of all classes the keep_top_k best.
    """
    param = layer.param.detection_output_param
    _refuse(param)
    require(len(layer.param.bottom) < 5, "RefineDet's first stage (bottoms 3 and 4)")
    layer.require_some_axes(1, bottom=1)
    items, priors = layer.shape(1)[0], count(layer.shape(2)[2:]) // 4
    own_boxes = not param.share_location
    require(
        count(layer.shape(1)[1:]) == priors * param.num_classes, f"{priors} priors and num_classes "
        f"{param.num_classes} do not fit scores of shape {text(layer.shape(1))}")
    labels = [c for c in range(param.num_classes) if c != param.background_label_id]
    require(len(labels) > 0, "detection_output_param: there is no class but the background")

    boxes = _decode(layer, priors, param.num_classes if own_boxes else 1)
    boxes = layer.transpose(boxes, [0, 2, 1, 3])  # N, location classes, priors, 4
    scores = layer.reshape(layer.bottom(1), (items, priors, param.num_classes))
    scores = layer.transpose(scores, [0, 2, 1])
    if len(labels) < param.num_classes:
        scores = layer.op("Gather", scores, layer.constant(labels, "labels"),
                          shape=(items, len(labels), priors), axis=1)

    k = _top_k(param, priors)
    scores, order = best(layer, scores, k)  # N, classes, k
    first_row = np.array(labels if own_boxes else [0] * len(labels), np.int64) * priors
    of_item = layer.op("Mul", numbers_to(layer, items, layer.bottom(1)),
                       layer.constant(priors * (param.num_classes if own_boxes else 1)))
    rows = layer.op("Add", order, layer.reshape(of_item, (items, 1, 1)))
    rows = layer.op("Add", rows, layer.constant(first_row[None, :, None], "first"))
    boxes = gather_rows(layer, boxes, rows)

    lists = items * len(labels)
    compared = boxes if param.normalized_bbox else layer.op(
        "Add", boxes, layer.constant(np.array([0, 0, 1, 1], np.float32), dtype=FLOAT))
    least: Optional[float] = (param.confidence_threshold if param.HasField("confidence_threshold")
                              else None)
    mask = suppress(layer, layer.reshape(compared, (lists, k, 4)),
                    layer.reshape(scores, (lists, k)), _threshold(param), least, k, layer.bottom(1))
    mask = keep_best(layer, mask, scores, items, param.keep_top_k, layer.bottom(1))

    places = places_of(layer, mask)
    each = layer.constant(len(labels) * k)
    item = layer.op("Div", places, each)
    label = layer.op("Div", layer.op("Mod", places, each), layer.constant(k))
    label = layer.op("Gather", layer.constant(np.array(labels, np.float32), dtype=FLOAT), label,
                     shape=places.shape)
    score = layer.op("Gather", layer.reshape(scores, (lists * k,)), places, shape=places.shape)
    found = [column(layer, item), column(layer, label), column(layer, score),
             gather_rows(layer, boxes, places)]
    layer.top(0, rows_or_none(layer, layer.concat(found, 1), items, layer.bottom(1)), FLOAT)
