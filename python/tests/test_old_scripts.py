"""Scripts as people wrote them for pycaffe 1.0 run unedited."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from shared_data import cifar10_pictures, shared

SCRIPTS = pathlib.Path(__file__).parent / "old_scripts"


def run(script, *arguments):
    """What a script prints."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(os.path.abspath, sys.path[1:])))
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
    pictures = [path for path, _ in cifar10_pictures(tmp_path, 1)][:6]  # no multiple of the batch
    text = run("extract_features.py", with_gradients, weights, "pool3", "pool3",
               tmp_path / "out.npy", *pictures)
    features = np.load(tmp_path / "out.npy")
    assert features.shape == (6, 64 * 4 * 4) and (features.std(0) > 0).any()
    assert "then (4, 10)" in text and "gradient True" in text
