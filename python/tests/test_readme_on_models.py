"""README's commands time, build and infer on every net of models/ and every trained net of the shared data."""
import os
import pathlib
import subprocess

import caffe
import pytest
from documents import ROOT
from shared_data import FOLDER

if not (ROOT / "docs").exists():
    pytest.skip("needs the source tree", allow_module_level=True)

from test_documented_commands import write_image  # noqa: E402

pytestmark = pytest.mark.slow

#: Nets that take long (mnist_siamese: batches of 10000): only where CAFFE_SLOW_TESTS=1 is in the environment.
SLOW = {"models/vgg16", "models/ssd300_vgg16", "mnist_siamese"}


def nets():
    """Pairs of a name and the net's file; weights lie next to those of the shared data."""
    found = [(f"models/{path.parent.name}", path) for path in sorted(ROOT.glob("models/*/deploy.prototxt"))]
    shared = pathlib.Path(FOLDER) / "models"
    for path in sorted(shared.glob("*/deploy.prototxt")):
        found.append((path.parent.name, path))
    return found


NETS = nets()


@pytest.mark.parametrize("name, model", NETS, ids=[name for name, _ in NETS])
def test_readme_commands(name, model, build, tmp_path):
    if name in SLOW and os.environ.get("CAFFE_SLOW_TESTS") != "1":
        pytest.skip("slow: CAFFE_SLOW_TESTS=1 runs it")
    weights = model.with_name("weights.caffemodel")
    if not weights.exists():
        weights = tmp_path / "weights.caffemodel"
        caffe.Net(str(model), caffe.TEST).save(str(weights))
    write_image(tmp_path / "image.png", 48, 1)
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "GLOG_minloglevel": "1",
                   "CUDA_VISIBLE_DEVICES": ""}

    def run(*arguments):
        command = [str(build.resolve() / "tools" / "caffe"), *map(str, arguments)]
        result = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True,
                                timeout=300)
        assert result.returncode == 0, f"caffe {arguments[0]}: {result.stderr[-1000:]}"
        return result.stdout

    run("time", "-model", model, "-weights", weights, "-phase", "TEST", "-iterations", 1)
    for precision in ("fp32", "fp16"):
        run("build", "-model", model, "-weights", weights, "-precision", precision, "-plan", "net.plan",
            "-timing_iterations", 1)
        printed = run("infer", "-plan", "net.plan", "image.png")
        # In noise a detector may find nothing.
        assert "image.png" in printed or "DetectionOutput" in model.read_text()
