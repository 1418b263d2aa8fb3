"""Scripts as people wrote them for pycaffe 1.0 run unedited."""
import os
import pathlib
import re
import subprocess
import sys

import caffe
import numpy as np
import pytest
from caffe.proto import caffe_pb2
from seeds import seed_of_this_test
from shared_data import cifar10_images, shared

pytestmark = pytest.mark.slow

SCRIPTS = pathlib.Path(__file__).parent / "old_scripts"


def run(script, *arguments, **settings):
    """What a script prints."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(os.path.abspath, sys.path[1:])),
                       **settings)
    result = subprocess.run([sys.executable, str(SCRIPTS / script), *map(str, arguments)],
                            env=environment, text=True, capture_output=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def cifar():
    pytest.importorskip("PIL")
    folder = pathlib.Path(shared("models", "cifar10_quick_current"))
    return folder / "deploy.prototxt", folder / "weights.caffemodel", folder


def test_classification_with_a_transformer(cifar):
    description, weights, folder = cifar
    text = run("classify_with_transformer.py", description, weights, folder / "mean.binaryproto",
               folder / "dog4.png")
    assert "predicted class is: 5" in text and "averaged class is: 5" in text
    scores = [float(score) for score in re.findall(r"^\d+ (\d\.\d+)$", text, re.MULTILINE)]
    assert len(scores) == 5 and scores == sorted(scores, reverse=True)


def test_a_training_loop_and_net_surgery(tmp_path):
    text = run("train_and_operate.py", tmp_path)
    assert "Iteration 150 loss" in text and "ip1 weights are (16, 2) and biases (16,)" in text
    assert (tmp_path / "wide.caffemodel").exists()


def test_feature_extraction(cifar, tmp_path):
    description, weights, _ = cifar
    with_gradients = tmp_path / "deploy.prototxt"
    with_gradients.write_text("force_backward: true\n" + description.read_text())
    images = [path for path, _ in cifar10_images(tmp_path, 1)][:6]  # not a multiple of the batch
    text = run("extract_features.py", with_gradients, weights, "pool3", "pool3",
               tmp_path / "out.npy", *images)
    features = np.load(tmp_path / "out.npy")
    assert features.shape == (6, 64 * 4 * 4) and (features.std(0) > 0).any()
    assert "then (4, 10)" in text and "gradient True" in text


def test_a_detector_of_ssds_scripts(build, tmp_path):
    """From annotated images to a trained detector, with caffe.model_libs."""
    tools = {name: build / "tools" / name for name in (
        "caffe", "convert_annoset", "create_label_map", "get_image_size")}
    missing = [name for name, path in tools.items() if not path.exists()]
    if missing:
        pytest.skip(f"{build}/tools has no {', '.join(missing)}")
    examples = SCRIPTS.parents[2] / "examples" / "ssd"
    data, nets = tmp_path / "data", tmp_path / "nets"
    make = examples / "make_images.py"
    for command in ([sys.executable, make, data, "--train", 8, "--test", 4],
                    [examples / "prepare_data.sh", data]):
        made = subprocess.run([*map(str, command)], text=True, capture_output=True, timeout=120,
                              env=dict(os.environ, BUILD=str(build.resolve())))
        if made.returncode and "OpenCV" in made.stderr:
            pytest.skip("this build has no OpenCV, which reads the images")
        assert made.returncode == 0, made.stderr

    log = run("ssd_shapes.py", data, nets, tools["caffe"].resolve(),
              GLOG_minloglevel="0")
    assert re.search(r"Iteration 5\b.*loss = ", log) and "Optimization Done" in log, log
    weights = nets / "Tiny_96x96_iter_10.caffemodel"
    net = caffe.Net(str(nets / "deploy.prototxt"), str(weights), caffe.TEST)
    assert net.blobs["mbox_priorbox"].shape == (1, 2, 4 * 4 * (12 * 12 + 6 * 6))
    image = np.random.RandomState(seed_of_this_test()).uniform(-1, 1, net.blobs["data"].shape)
    found = net.forward(data=image)["detection_out"]
    assert found.shape[3] == 7  # item, label, score, left, top, right, bottom
    labels = found[0, 0, :, 1]  # -1, had nothing been found
    assert ((labels >= 1) & (labels <= 3)).all(), labels
    saved = caffe_pb2.NetParameter.FromString(weights.read_bytes())
    trained = {layer.name: layer.blobs for layer in saved.layer}["block1"][0]
    assert len(trained.data) == 16 * 3 * 3 * 3
    np.testing.assert_array_equal(net.params["block1"][0].data.ravel(),
                                  np.array(trained.data, np.float32))
