#!/usr/bin/env python3
"""Writes a small SSD detector: train.prototxt, test.prototxt, deploy.prototxt, solver.prototxt.

Five convolutions bring 96 x 96 pixels to maps of 12 x 12 and 6 x 6; each position of a map has boxes
of two sizes and three shapes. Paths in what is written are relative to where caffe is started.

    make_net.py OUT_DIR --data DATA_DIR [--classes N] [--iterations N] [--test-images N]

OUT_DIR is also where snapshots go. DATA_DIR has train_lmdb, test_lmdb, labelmap.prototxt and
test_name_size.txt, as prepare_data.sh writes them. --classes counts the background too.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
from generate import Net, Word, message_text  # noqa: E402  pylint: disable=wrong-import-position

SIZE = 96
MEAN = [104, 117, 123]
SCALE = 0.0078125  # to about -1 to 1
BATCH = 8
# Map, side of the boxes in pixels (and of the next larger ones), pixels from one to the next.
MAPS = (("conv4", 20, 32, 8), ("conv5", 32, 46, 16))
BOXES = 4  # squares of both sides, and two with sides 1 : 2


def sampler(overlap: float) -> dict:
    """Crops, up to 50 tries, of which one that covers a true box that much is taken."""
    return {"sampler": {"min_scale": 0.5, "max_scale": 1.0, "min_aspect_ratio": 0.5,
                        "max_aspect_ratio": 2.0},
            "sample_constraint": {"min_jaccard_overlap": overlap},
            "max_sample": 1, "max_trials": 50}


def add_data(net: Net, data: str, train: bool) -> None:
    transform = {"mirror": train, "mean_value": MEAN, "scale": SCALE,
                 "resize_param": {"prob": 1, "resize_mode": Word("WARP"), "height": SIZE,
                                  "width": SIZE, "interp_mode": [Word("LINEAR")]},
                 "emit_constraint": {"emit_type": Word("CENTER")}}
    annotated = {"label_map_file": data + "/labelmap.prototxt"}
    if train:
        whole = {"max_sample": 1, "max_trials": 1}
        annotated["batch_sampler"] = [whole] + [sampler(o) for o in (0.3, 0.5, 0.7)]
    net.layer("AnnotatedData", "data", [], ["data", "label"],
              include={"phase": Word("TRAIN" if train else "TEST")}, transform_param=transform,
              data_param={"source": "%s/%s_lmdb" % (data, "train" if train else "test"),
                          "batch_size": BATCH if train else 1, "backend": Word("LMDB")},
              annotated_data_param=annotated)
    net.top = "data"


def add_body(net: Net, train: bool) -> None:
    for number, (outputs, shrinks) in enumerate(
            ((16, True), (32, True), (48, True), (64, False), (64, False)), 1):
        name = "conv%d" % number
        net.conv(name, outputs, 3, pad=1, stride=2 if number == 5 else 1, train=train)
        net.relu("relu%d" % number)
        if shrinks:
            net.pool("pool%d" % number, "MAX", 2, 2)


def add_heads(net: Net, classes: int, train: bool) -> None:
    """Locations, scores and priors of all maps, each in one blob."""
    parts = {"loc": [], "conf": [], "priorbox": []}
    for source, least, most, step in MAPS:
        for kind, outputs in (("loc", 4 * BOXES), ("conf", classes * BOXES)):
            name = "%s_mbox_%s" % (source, kind)
            net.conv(name, outputs, 3, source, pad=1, train=train,
                     filler={"type": "xavier"})
            net.layer("Permute", name + "_perm", permute_param={"order": [0, 2, 3, 1]})
            parts[kind].append(net.layer("Flatten", name + "_flat", flatten_param={"axis": 1}))
        parts["priorbox"].append(net.layer(
            "PriorBox", source + "_mbox_priorbox", [source, "data"],
            prior_box_param={"min_size": least, "max_size": most, "aspect_ratio": 2, "flip": True,
                             "clip": False, "variance": [0.1, 0.1, 0.2, 0.2], "step": step,
                             "offset": 0.5}))
    for kind in ("loc", "conf", "priorbox"):
        net.layer("Concat", "mbox_" + kind, parts[kind],
                  concat_param={"axis": 2 if kind == "priorbox" else 1})


def add_detections(net: Net, classes: int) -> None:
    net.layer("Reshape", "mbox_conf_reshape", ["mbox_conf"],
              reshape_param={"shape": {"dim": [0, -1, classes]}})
    net.layer("Softmax", "mbox_conf_softmax", softmax_param={"axis": 2})
    net.layer("Flatten", "mbox_conf_flatten", flatten_param={"axis": 1})
    net.layer("DetectionOutput", "detection_out",
              ["mbox_loc", "mbox_conf_flatten", "mbox_priorbox"],
              include={"phase": Word("TEST")},
              detection_output_param={
                  "num_classes": classes, "share_location": True, "background_label_id": 0,
                  "nms_param": {"nms_threshold": 0.45, "top_k": 100},
                  "code_type": Word("CENTER_SIZE"), "keep_top_k": 50,
                  "confidence_threshold": 0.01})


def train_net(data: str, classes: int) -> Net:
    net = Net("shapes_ssd_train")
    add_data(net, data, True)
    add_body(net, True)
    add_heads(net, classes, True)
    net.layer("MultiBoxLoss", "mbox_loss", ["mbox_loc", "mbox_conf", "mbox_priorbox", "label"],
              include={"phase": Word("TRAIN")}, propagate_down=[True, True, False, False],
              loss_param={"normalization": Word("VALID")},
              multibox_loss_param={
                  "loc_loss_type": Word("SMOOTH_L1"), "conf_loss_type": Word("SOFTMAX"),
                  "loc_weight": 1, "num_classes": classes, "share_location": True,
                  "match_type": Word("PER_PREDICTION"), "overlap_threshold": 0.5,
                  "use_prior_for_matching": True, "background_label_id": 0,
                  "use_difficult_gt": True, "neg_pos_ratio": 3, "neg_overlap": 0.5,
                  "code_type": Word("CENTER_SIZE"), "ignore_cross_boundary_bbox": False,
                  "mining_type": Word("MAX_NEGATIVE")})
    return net


def test_net(data: str, classes: int) -> Net:
    net = Net("shapes_ssd_test")
    add_data(net, data, False)
    add_body(net, False)
    add_heads(net, classes, False)
    add_detections(net, classes)
    net.layer("DetectionEvaluate", "detection_eval", ["detection_out", "label"],
              include={"phase": Word("TEST")},
              detection_evaluate_param={
                  "num_classes": classes, "background_label_id": 0, "overlap_threshold": 0.5,
                  "evaluate_difficult_gt": False,
                  "name_size_file": data + "/test_name_size.txt"})
    return net


def deploy_net(classes: int) -> Net:
    net = Net("shapes_ssd_deploy")
    net.input(1, 3, SIZE, SIZE)
    add_body(net, False)
    add_heads(net, classes, False)
    add_detections(net, classes)
    return net


def solver_text(out: str, iterations: int, test_images: int) -> str:
    return message_text([
        ("train_net", out + "/train.prototxt"), ("test_net", out + "/test.prototxt"),
        ("test_iter", test_images), ("test_interval", max(1, iterations // 4)),
        ("test_initialization", False), ("eval_type", "detection"), ("ap_version", "11point"),
        ("base_lr", 0.001), ("type", "Adam"), ("momentum", 0.9), ("momentum2", 0.999),
        ("lr_policy", "multistep"), ("gamma", 0.1), ("stepvalue", iterations * 3 // 4),
        ("weight_decay", 0.0005), ("max_iter", iterations), ("display", max(1, iterations // 20)),
        ("average_loss", 10), ("snapshot", iterations), ("snapshot_prefix", out + "/shapes_ssd"),
        ("random_seed", 1), ("solver_mode", Word("CPU"))], 0) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir")
    parser.add_argument("--data", required=True)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=1200)
    parser.add_argument("--test-images", type=int, default=100)
    arguments = parser.parse_args()
    out, data, classes = arguments.out_dir, arguments.data, arguments.classes
    os.makedirs(out, exist_ok=True)
    files = {"train": train_net(data, classes).text(), "test": test_net(data, classes).text(),
             "deploy": deploy_net(classes).text(),
             "solver": solver_text(out, arguments.iterations, arguments.test_images)}
    for name, text in files.items():
        with open(os.path.join(out, name + ".prototxt"), "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
