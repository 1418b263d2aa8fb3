"""caffe.layers.detectnet: DetectNet's Python layers, and caffe.layers around them."""
import math

import caffe
import numpy as np
import pytest
from caffe.layers.detectnet import _boxes
from caffe.layers.detectnet.mean_ap import FOUND, MISSED, WRONG, rates, score
from test_module import run

CELL = 16


def layer(bottoms, module, name, param_str="", tops=1):
    """A net of inputs, by their shapes, and one Python layer."""
    inputs = "".join(
        f'layer {{ name: "{bottom}" type: "Input" top: "{bottom}" input_param {{ shape {{ '
        + " ".join(f"dim: {extent}" for extent in shape) + " } } }\n"
        for bottom, shape in bottoms.items())
    names = "".join(f'bottom: "{bottom}" ' for bottom in bottoms)
    names += "".join(f'top: "top{n}" ' for n in range(tops))
    return inputs + f'''layer {{ name: "boxes" type: "Python" {names}
        python_param {{ module: "caffe.layers.detectnet.{module}" layer: "{name}"
                        param_str: "{param_str}" }} }}'''


@pytest.fixture
def cluster(write):
    """The lists of boxes that a layer makes of arrays: those that are not empty rows, by class and
    image."""
    def lists(name, param_str, coverage, corners):
        shapes = {"coverage": coverage.shape, "corners": corners.shape}
        text = layer(shapes, "clustering", name, param_str, coverage.shape[1])
        net = caffe.Net(write(text), caffe.TEST)
        tops = net.forward(coverage=coverage, corners=corners)
        assert all(top.shape == (len(coverage), 50, 5) for top in tops.values())
        return [[[box for box in image.tolist() if any(box)] for image in tops[f"top{n}"]]
                for n in range(coverage.shape[1])]
    return lists


def grid(classes=1, batch=1):
    """Coverage and corners of 4 x 6 cells without objects."""
    return (np.zeros((batch, classes, 4, 6), np.float32),
            np.zeros((batch, 4, 4, 6), np.float32))


def put(coverage, corners, label, box, cells, value=1, image=0):
    """Covers cells (row, column) by an object."""
    for row, column in cells:
        coverage[image, label, row, column] = value
        corners[image, :, row, column] = np.subtract(box, CELL * np.array([column, row] * 2))


# --- ClusterGroundtruth ---


def test_the_truth_has_each_object_once(cluster):
    coverage, corners = grid()
    put(coverage, corners, 0, (10.2, 5.1, 60.3, 50.7), [(0, 1), (0, 2), (1, 1), (1, 2)], 0.25)
    put(coverage, corners, 0, (70, 20, 90, 60), [(2, 5)])
    [[boxes]] = cluster("ClusterGroundtruth", "96, 64, 16", coverage, corners)
    np.testing.assert_allclose(boxes, [[10.2, 5.1, 60.3, 50.7, 0], [70, 20, 90, 60, 0]], rtol=1e-5)


def test_the_truth_of_two_classes_and_images(cluster):
    coverage, corners = grid(2, 2)
    put(coverage, corners, 0, (1, 2, 30, 40), [(0, 0)])
    put(coverage, corners, 1, (50, 10, 80, 60), [(1, 4), (2, 4)], image=1)
    assert cluster("ClusterGroundtruth", "96, 64, 16, 2", coverage, corners) == [
        [[[1, 2, 30, 40, 0]], []], [[], [[50, 10, 80, 60, 0]]]]


def test_a_list_has_fifty_boxes(cluster):
    coverage, corners = np.ones((1, 1, 8, 8), np.float32), np.zeros((1, 4, 8, 8), np.float32)
    corners[0, 2:] = 16
    [[boxes]] = cluster("ClusterGroundtruth", "128, 128, 16", coverage, corners)
    assert len(boxes) == 50 and boxes[-1] == [16, 96, 32, 112, 0]


# --- ClusterDetections ---

SETTINGS = "96, 64, 16, 0.6, 3, 0.1, 22, {}"


def test_detections_are_means_of_groups_with_their_confidence(cluster):
    coverage, corners = grid()
    cells = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1)]
    for cell, shift in zip(cells, (-1, 0, 0, 0, 1)):
        put(coverage, corners, 0, (10 + shift, 5, 60 + shift, 50), [cell], 0.7)
    put(coverage, corners, 0, (70, 20, 90, 60), [(2, 5), (3, 5)])       # too few
    put(coverage, corners, 0, (60, 1, 70, 61), [(0, 4)], 0.5)           # too little coverage
    [[[box]]] = cluster("ClusterDetections", SETTINGS.format(1), coverage, corners)
    assert box == [10, 5, 60, 50, pytest.approx(math.log(5))]


def test_detections_of_two_classes_the_surest_first(cluster):
    coverage, corners = grid(2)
    put(coverage, corners, 0, (0, 2, 30, 40), [(0, 0), (0, 1), (1, 0), (1, 1)])
    put(coverage, corners, 0, (60, 20, 90, 62), [(y, x) for y in (2, 3) for x in (3, 4, 5)])
    put(coverage, corners, 1, (50, 10, 80, 60), [(0, 2), (0, 3), (1, 2), (1, 3)])
    first, second = cluster("ClusterDetections", SETTINGS.format(2), coverage, corners)
    assert [box[:4] for box in first[0]] == [[60, 20, 90, 62], [0, 2, 30, 40]]
    assert [box[:4] for box in second[0]] == [[50, 10, 80, 60]]


@pytest.mark.parametrize("height, count", [(22, 1), (21, 0)])
def test_low_detections_are_left_out(cluster, height, count):
    coverage, corners = grid()
    put(coverage, corners, 0, (10, 5, 60, 5 + height), [(0, 1), (0, 2), (1, 1), (1, 2)])
    [[boxes]] = cluster("ClusterDetections", SETTINGS.format(1), coverage, corners)
    assert len(boxes) == count


@pytest.mark.parametrize("name, param_str", [("ClusterGroundtruth", "96, 64, 16"),
                                             ("ClusterDetections", "96, 64, 16, 0.6, 3, 0.02, 22")])
def test_without_coverage_there_are_no_boxes(cluster, name, param_str):
    coverage, corners = grid()
    assert cluster(name, param_str, coverage, corners) == [[[]]]


def test_corners_that_no_image_has_are_left_out():
    corners = np.zeros((4, 1, 4))
    corners[0] = [[np.nan, 1, np.inf, 1e30]]
    assert _boxes.boxes_of_cells(np.ones((1, 4), bool), corners, 16).tolist() == [[17, 0, 16, 0]]


# --- Groups ---


def test_groups_have_more_than_the_least_number_of_boxes():
    boxes = np.array([[0, 0, 10, 10]] * 3 + [[50, 50, 90, 90]] * 2)
    means, counts = _boxes.group(boxes, 2, 0.2)
    assert means.tolist() == [[0, 0, 10, 10]] and counts.tolist() == [3]
    means, counts = _boxes.group(boxes, 0, 0.2)
    assert means.tolist() == boxes.tolist() and counts.tolist() == [1] * 5


def test_similar_to_a_member_is_in_the_group():
    boxes = np.array([[shift, 0, 100, 100] for shift in (0, 8, 16, 24)])
    means, counts = _boxes.group(boxes, 1, 0.1)
    assert means.tolist() == [[12, 0, 100, 100]] and counts.tolist() == [4]


def test_a_group_inside_of_a_stronger_one_is_left_out():
    boxes = np.array([[0, 0, 100, 100]] * 5 + [[40, 40, 20, 20]] * 2)
    means, _ = _boxes.group(boxes, 1, 0.1)
    assert means.tolist() == [[0, 0, 100, 100]]


def test_groups_are_opencvs(random):
    cv2 = pytest.importorskip("cv2")
    if not hasattr(cv2, "groupRectangles"):
        pytest.skip("OpenCV 5 has no groupRectangles")
    for _ in range(200):
        middles = random.randint(0, 400, (random.randint(1, 8), 4))
        boxes = middles[random.randint(0, len(middles), 40)] + random.randint(-6, 7, (40, 4))
        least, eps = int(random.randint(0, 5)), float(random.choice([0.02, 0.1, 0.5]))
        means, counts = cv2.groupRectangles(boxes.tolist(), least, eps)
        ours = _boxes.group(boxes, least, eps)
        assert ours[0].tolist() == np.reshape(means, (-1, 4)).tolist()
        assert ours[1].tolist() == np.ravel(counts).tolist()


# --- ScoreDetections and mAP ---


def boxes(*rows):
    return np.reshape(rows, (-1, 5)).astype(np.float32)


TRUTH = boxes((0, 0, 100, 100, 0), (200, 0, 300, 100, 0))


def test_overlaps():
    ten, empty = [0, 0, 10, 10], [5, 5, 5, 5]
    shares = _boxes.overlaps(np.array([ten, empty]),
                             np.array([ten, [5, 0, 15, 10], [20, 0, 30, 10], empty]))
    np.testing.assert_allclose(shares, [[1, 1 / 3, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("found, marks", [
    ([(0, 0, 100, 70, 1)], [FOUND, MISSED]), ([(0, 0, 100, 69, 1)], [WRONG, MISSED, MISSED]),
    ([(0, 0, 100, 90, 1), (0, 0, 100, 80, 2)], [FOUND, WRONG, MISSED]), ([], [MISSED, MISSED])],
    ids=["0.7 of it", "less", "twice", "nothing"])
def test_each_true_box_is_found_once(found, marks):
    assert score(TRUTH, boxes(*found))[:, 4].tolist() == marks


def test_the_surest_box_takes_the_true_one():
    scored = score(TRUTH, boxes((0, 0, 100, 90, 1), (0, 0, 100, 80, 2)))
    assert scored.tolist() == [[0, 0, 100, 80, FOUND], [0, 0, 100, 90, WRONG],
                               [200, 0, 300, 100, MISSED]]


def test_boxes_of_an_image_without_objects_are_wrong():
    assert score(boxes(), boxes((0, 0, 9, 9, 1))).tolist() == [[0, 0, 9, 9, WRONG]]


@pytest.mark.parametrize("marks, expected", [
    ([FOUND] * 3 + [WRONG] + [MISSED] * 3, (37.5, 75, 50)), ([WRONG, MISSED, 0], (0, 0, 0)),
    ([], (0, 0, 0)), ([FOUND, 0, 0], (100, 100, 100))])
def test_rates_are_in_per_cent(marks, expected):
    assert rates(np.array(marks)) == pytest.approx(expected)


# --- Nets ---


def test_a_net_from_grids_to_rates(write):
    """As in DIGITS' nets: the labels, what was found, their scores and the rates of a batch."""
    shapes = {"coverage-label": (2, 1, 4, 6), "bbox-label": (2, 4, 4, 6)}
    text = layer(shapes, "clustering", "ClusterGroundtruth", "96, 64, 16, 1") + layer(
        {"coverage": (2, 1, 4, 6), "bboxes": (2, 4, 4, 6)}, "clustering", "ClusterDetections",
        "96, 64, 16, 0.6, 3, 0.02, 22, 1").replace('"boxes"', '"found"').replace("top0", "found")
    text += '''
        layer { name: "score" type: "Python" bottom: "top0" bottom: "found" top: "scored"
                python_param { module: "caffe.layers.detectnet.mean_ap" layer: "ScoreDetections" } }
        layer { name: "map" type: "Python" bottom: "scored"
                top: "mAP" top: "precision" top: "recall"
                python_param { module: "caffe.layers.detectnet.mean_ap" layer: "mAP"
                               param_str: "96, 64, 16" } }'''
    net = caffe.Net(write(text), caffe.TEST)
    truth, found = grid(batch=2), grid(batch=2)
    cells = [(0, 1), (0, 2), (1, 1), (1, 2)]
    for image in (0, 1):
        put(*truth, 0, (10, 5, 60, 50), cells, image=image)
    put(*found, 0, (12, 5, 60, 50), cells)
    result = net.forward(**{"coverage-label": truth[0], "bbox-label": truth[1],
                            "coverage": found[0], "bboxes": found[1]})
    assert net.blobs["scored"].data.shape == (2, 100, 5)
    assert [result[name].item() for name in ("mAP", "precision", "recall")] == [50, 100, 50]


CLUSTER_SHAPES = {"coverage": (1, 1, 4, 6), "corners": (1, 4, 4, 6)}
LIST_SHAPES = {"truth": (1, 50, 5), "found": (1, 50, 5)}


@pytest.mark.parametrize("shapes, name, param_str, tops, says", [
    (CLUSTER_SHAPES, "ClusterGroundtruth", "", 1, "'' has 0 numbers: write image_size_x, "),
    (CLUSTER_SHAPES, "ClusterGroundtruth", "96, 64, 16, 1, 2", 1, "has 5 numbers"),
    (CLUSTER_SHAPES, "ClusterDetections", "96, 64, 16", 1, "has 3 numbers.*min_height, num"),
    (CLUSTER_SHAPES, "ClusterGroundtruth", "96, x, 16", 1, "image_size_y is 'x': write a whole "),
    (CLUSTER_SHAPES, "ClusterGroundtruth", "96, 64, 0", 1, "stride is 0: write 1 or more"),
    (CLUSTER_SHAPES, "ClusterDetections", "96, 64, 16, nan, 3, 0.02, 22", 1,
     "gridbox_cvg_threshold is nan: write 0 or more"),
    (CLUSTER_SHAPES, "ClusterGroundtruth", "96, 64, 16, 2", 1, "1 tops for 2 classes"),
    (CLUSTER_SHAPES, "ClusterGroundtruth", "96, 64, 16, 2", 2, r"\(1, 1, 4, 6\).*\(batch, 2, rows"),
    ({"coverage": (1, 1, 4, 6)}, "ClusterGroundtruth", "96, 64, 16", 1, "1 bottoms: name two"),
    ({"truth": (1, 50, 5)}, "ScoreDetections", "", 1, "1 bottoms and 1 tops: name two bottoms"),
    ({**LIST_SHAPES, "found": (1, 50, 4)}, "ScoreDetections", "", 1, r"\(1, 50, 4\).*two lists"),
    ({"scored": (1, 50, 5)}, "mAP", "", 1, "1 bottoms and 1 tops: .*mAP, precision and recall"),
    ({"scored": (1, 50)}, "mAP", "", 3, r"\(1, 50\): give it scored boxes")])
def test_what_is_wrong_is_said_in_the_layers_name(write, shapes, name, param_str, tops, says):
    module = "clustering" if name.startswith("Cluster") else "mean_ap"
    with pytest.raises(ValueError, match=rf"^layer 'boxes' \({name}\): .*{says}"):
        caffe.Net(write(layer(shapes, module, name, param_str, tops)), caffe.TEST)


# --- The package ---


@pytest.mark.parametrize("imports", [
    "from caffe import layers as L; from caffe.layers.detectnet.mean_ap import mAP",
    "from caffe.layers.detectnet.mean_ap import mAP; import caffe; L = caffe.layers",
    "import caffe.layers.detectnet.clustering; L = caffe.layers",
    "import caffe; L = caffe.layers; from caffe.layers import detectnet",
    "from caffe import *; L = layers; import caffe.layers.detectnet.mean_ap",
    "import caffe.net_spec; import caffe.layers as L; import caffe.layers.detectnet.clustering"])
def test_makers_of_layers_and_the_package_in_any_order(imports):
    result = run(f"{imports}; import caffe, sys; assert L is sys.modules['caffe.layers']; "
                 "print(caffe.layers.detectnet.__name__, L.Input(ntop=0).type_name)")
    assert result.stdout == "caffe.layers.detectnet Input\n", result.stderr


def test_the_package_answers_pythons_protocols():
    with pytest.raises(AttributeError):
        caffe.layers.__wrapped__
