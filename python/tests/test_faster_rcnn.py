"""A public detector that had Python layers trains with the types in C++ instead."""
import pathlib
import re

import caffe
import numpy as np
import pytest
from google.protobuf import text_format
from shared_data import shared

TWINS = {"AnchorTargetLayer": "AnchorTarget", "ProposalTargetLayer": "ProposalTarget"}


@pytest.fixture
def heads(tmp_path):
    """R-FCN's region proposal network and what trains it, without the layers below and behind."""
    path = shared("prototxt_corpus", "intel__caffe__rfcn_end2end_train_agnostic_ohem.prototxt")
    net = caffe.proto.caffe_pb2.NetParameter()
    text_format.Parse(pathlib.Path(path).read_text(), net, allow_unknown_field=True)
    kept = caffe.proto.caffe_pb2.NetParameter(force_backward=True)
    for name, shape in (("rpn/output", (1, 32, 28, 40)), ("im_info", (1, 3)), ("gt_boxes", (2, 5)),
                        ("data", (1, 3, 448, 640))):
        layer = kept.layer.add(name=name, type="Input", top=[name])
        layer.input_param.shape.add().dim.extend(shape)
    wanted = ("rpn_cls_score", "rpn_bbox_pred", "rpn_cls_score_reshape", "rpn-data", "rpn_loss_cls",
              "rpn_loss_bbox", "rpn_cls_prob", "rpn_cls_prob_reshape", "proposal", "roi-data")
    for layer in net.layer:
        if layer.name not in wanted:
            continue
        twin = kept.layer.add()
        twin.CopyFrom(layer)
        if layer.type == "Python":
            twin.type = TWINS.get(layer.python_param.layer, "Proposal")
        if twin.type == "Proposal":
            twin.ClearField("python_param")
            text_format.Parse("feat_stride: 16 ratio: 0.5 ratio: 1 ratio: 2 scale: 8 scale: 16 "
                              "scale: 32 post_nms_topn: 50", twin.proposal_param)
        if twin.type == "ProposalTarget":  # what R-FCN sets in its configuration file
            twin.python_param.param_str += ", 'agnostic': True, 'batch_size': -1"
    file = tmp_path / "rfcn.prototxt"
    file.write_text(text_format.MessageToString(kept))
    return str(file)


def test_trains(heads, random):
    net = caffe.Net(heads, caffe.TRAIN)
    net.blobs["rpn/output"].data[...] = random.rand(1, 32, 28, 40)
    net.blobs["im_info"].data[...] = (448, 640, 1)
    net.blobs["gt_boxes"].data[...] = [(60, 40, 320, 300, 7), (400, 120, 600, 400, 12)]
    outputs = net.forward()

    labels = net.blobs["rpn_labels"].data
    assert labels.shape == (1, 1, 9 * 28, 40)
    objects, background = (labels == 1).sum(), (labels == 0).sum()
    assert 2 <= objects <= 128 and objects + background == 256
    np.testing.assert_allclose(net.blobs["rpn_bbox_outside_weights"].data.sum(), 4, rtol=1e-5)
    assert net.blobs["rpn_bbox_inside_weights"].data.sum() == 4 * objects
    assert outputs["rpn_cls_loss"] == pytest.approx(np.log(2), abs=0.1)

    rois, classes = net.blobs["rois"].data, net.blobs["labels"].data
    assert len(classes) == len(rois) <= 52  # two of them are the true boxes
    assert {7, 12} <= set(classes) <= {0, 7, 12}
    assert net.blobs["bbox_targets"].data.shape == (len(rois), 8)

    net.clear_param_diffs()
    net.backward()
    assert np.abs(net.params["rpn_bbox_pred"][0].diff).sum() > 0


def test_the_switch_in_the_documentation_is_a_layer():
    path = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
    if not path.exists():
        pytest.skip("the documentation is in the source tree only")
    text = path.read_text()
    layer = re.search(r'layer \{\n  name: "rpn-data".*?\n\}\n', text, re.DOTALL).group(0)
    message = caffe.proto.caffe_pb2.NetParameter()
    text_format.Parse(layer, message)
    made = caffe.create_layer(message.layer[0])
    bottom = [caffe.Blob(shape) for shape in ((1, 18, 4, 5), (1, 5), (1, 3), (1, 3, 64, 80))]
    top = [caffe.Blob([1]) for _ in range(4)]
    made.SetUp(bottom, top)
    assert top[0].shape == (1, 1, 36, 5)
    proposal = re.search(r'`(type: "Proposal".*?)`', text).group(1)
    assert caffe.create_layer(proposal).type == "Proposal"
