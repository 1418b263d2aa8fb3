"""Layers that find boxes: the exported ones find the same."""
from __future__ import annotations

import numpy as np
import pytest
from onnx_support import CaffeNet, input_text

from caffe.onnx import ExportError


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


PRIORS = {
    "one size": "min_size: 12",
    "two sizes, ratios": "min_size: 12 max_size: 20 aspect_ratio: 2 aspect_ratio: 3 clip: true "
                         "variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2",
    "no flip, steps": "min_size: 7 min_size: 9 aspect_ratio: 2 flip: false step: 8 offset: 0.3",
    "image size": "min_size: 12 img_h: 50 img_w: 70 step_h: 4 step_w: 6",
    "offsets": "min_size: 12 offset_h: 0.2 offset_h: 0.7 offset_w: 0.4 offset_w: 0.6",
    "listed": "width: 10 width: 15 height: 12 height: 7",
}


@pytest.mark.parametrize("type_,name", [("PriorBox", name) for name in PRIORS] +
                         [("PriorBoxClustered", "listed")])
def test_priors(type_, name, tmp_path):
    net = CaffeNet(input_text("map", (1, 2, 5, 7)) + input_text("data", (1, 3, 40, 56)) +
                   f"layer {{ name: 'it' type: '{type_}' bottom: 'map' bottom: 'data' top: 'a' "
                   f"prior_box_param {{ {PRIORS[name]} }} }}", tmp_path)
    net.check({"map": net.random((1, 2, 5, 7)), "data": net.random((1, 3, 40, 56))}, relative=1e-6)


CELLS, SIZES = (4, 5), 3
BOXES = CELLS[0] * CELLS[1] * SIZES


def detection_text(classes, locations, parameters, items=2):
    return (input_text("map", (items, 2) + CELLS) + input_text("data", (items, 3, 40, 56)) +
            input_text("loc", (items, BOXES * 4 * locations)) +
            input_text("conf", (items, BOXES * classes)) + f"""
        layer {{ name: 'priors' type: 'PriorBox' bottom: 'map' bottom: 'data' top: 'priors'
                prior_box_param {{ min_size: 12 aspect_ratio: 2 variance: 0.1 variance: 0.1
                                  variance: 0.2 variance: 0.2 }} }}
        layer {{ name: 'found' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'priors'
                top: 'a' detection_output_param {{ num_classes: {classes} {parameters} }} }}""")


def detection_inputs(net, classes, locations, items=2):
    scores = softmax(3 * net.random((items, BOXES, classes)), 2)
    return {"map": net.random((items, 2) + CELLS), "data": net.random((items, 3, 40, 56)),
            "loc": net.random((items, BOXES * 4 * locations)),
            "conf": scores.reshape(items, -1).astype(np.float32)}


DETECTIONS = {
    "usual": "code_type: CENTER_SIZE nms_param { nms_threshold: 0.45 top_k: 20 } keep_top_k: 15 "
             "confidence_threshold: 0.1",
    "all": "code_type: CENTER_SIZE nms_param { nms_threshold: 0.3 }",
    "few of many": "code_type: CENTER_SIZE nms_param { nms_threshold: 0.45 top_k: 400 } "
                   "keep_top_k: 3",
    "corners": "code_type: CORNER nms_param { nms_threshold: 0.4 top_k: 30 } confidence_threshold: "
               "0.2",
    "corner sizes": "code_type: CORNER_SIZE nms_param { nms_threshold: 0.4 } "
                    "confidence_threshold: 0.2 clip: true",
    "variances in the targets": "code_type: CENTER_SIZE variance_encoded_in_target: true "
                                "nms_param { nms_threshold: 0.45 } confidence_threshold: 0.2",
    "background last": "code_type: CENTER_SIZE background_label_id: 3 nms_param { nms_threshold: "
                       "0.45 } confidence_threshold: 0.2",
    "no background": "code_type: CENTER_SIZE background_label_id: -1 nms_threshold: 0.45 top_k: 10 "
                     "confidence_threshold: 0.2",
    "pixels": "code_type: CENTER_SIZE normalized_bbox: false nms_param { nms_threshold: 0.45 } "
              "confidence_threshold: 0.2",
    "nothing": "code_type: CENTER_SIZE nms_param { nms_threshold: 0.45 } confidence_threshold: 2",
}


@pytest.mark.parametrize("name", DETECTIONS)
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "own boxes"])
def test_detections(name, shared, tmp_path):
    classes, locations = 4, 1 if shared else 4
    parameters = f"share_location: {str(shared).lower()} {DETECTIONS[name]}"
    net = CaffeNet(detection_text(classes, locations, parameters), tmp_path)
    inputs = detection_inputs(net, classes, locations)
    net.check(inputs)


def test_detections_of_any_batch(tmp_path):
    net = CaffeNet(detection_text(4, 1, DETECTIONS["usual"]), tmp_path)
    for items in (1, 3):
        net.check(detection_inputs(net, 4, 1, items), batch="dynamic")


def test_adaptive_threshold_is_refused(tmp_path):
    net = CaffeNet(detection_text(4, 1, "code_type: CENTER_SIZE nms_param { eta: 0.9 }"), tmp_path)
    with pytest.raises(ExportError, match=r"layer 'found' \(DetectionOutput\): .*eta"):
        net.check(detection_inputs(net, 4, 1))


@pytest.mark.parametrize("items", [1, 2])
@pytest.mark.parametrize("numbers", [3, 4, 6])
def test_proposals(items, numbers, tmp_path):
    shapes = {"scores": (items, 12, 5, 6), "codes": (items, 24, 5, 6), "info": (items, numbers)}
    net = CaffeNet("".join(input_text(name, shape) for name, shape in shapes.items()) + """
        layer { name: 'it' type: 'Proposal' bottom: 'scores' bottom: 'codes' bottom: 'info'
                top: 'rois' top: 'chance'
                proposal_param { feat_stride: 16 ratio: 0.5 ratio: 1 ratio: 2 scale: 2 scale: 4
                                 min_size: 8 pre_nms_topn: 60 post_nms_topn: 12 nms_thresh: 0.6 }
                                 }""",
                   tmp_path)
    inputs = {name: net.random(shape) for name, shape in shapes.items()}
    inputs["scores"] = np.abs(inputs["scores"])
    inputs["codes"] *= np.float32(0.4)
    inputs["info"] = np.tile(np.array([80, 90, 1.5, 1.2, 1, 1][:numbers], np.float32), (items, 1))
    net.check(inputs)


YOLO2 = """layer { name: 'it' type: 'YoloDetectionOutput' bottom: 'in0' top: 'a'
    yolo_detection_output_param { num_classes: 3 num_box: 2 confidence_threshold: %g
        nms_threshold: 0.4 biases: 1.1 biases: 1.5 biases: 2.2 biases: 0.8 } }"""
YOLO3 = """layer { name: 'it' type: 'Yolov3DetectionOutput' bottom: 'in0' bottom: 'in1' top: 'a'
    yolov3_detection_output_param { num_classes: 3 num_box: 2 confidence_threshold: %g
        nms_threshold: 0.4 biases: 10 biases: 14 biases: 23 biases: 27 biases: 37 biases: 58
        biases: 81 biases: 82 mask: 2 mask: 3 mask: 0 mask: 1 anchors_scale: 32 anchors_scale: 16 }
        }"""


@pytest.mark.parametrize("least", [0.05, 0.3, 2], ids=["many", "some", "none"])
@pytest.mark.parametrize("text,shapes", [(YOLO2, [(2, 16, 4, 5)]),
                                         (YOLO3, [(2, 16, 3, 4), (2, 16, 6, 8)])], ids=["2", "3"])
def test_yolo(text, shapes, least, tmp_path):
    inputs = "".join(input_text(f"in{i}", shape) for i, shape in enumerate(shapes))
    net = CaffeNet(inputs + text % least, tmp_path)
    values = {f"in{i}": net.random(shape) for i, shape in enumerate(shapes)}
    net.check(values)
    net.check(values, batch="dynamic")
