"""examples/custom_layer: custom layers, in C++ and in Python, in nets and engines."""
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "custom_layer"
if not EXAMPLE.exists():
    pytest.skip("the examples are in the source tree only", allow_module_level=True)

pytestmark = pytest.mark.slow

ANGLES = ["0 degrees", "90 degrees", "135 degrees", "-90 degrees"]


def run(*command):
    """Runs a program that finds the package and the layer."""
    folders = [str(EXAMPLE), *filter(None, map(os.path.abspath, sys.path[1:]))]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(folders))
    return subprocess.run(list(map(str, command)), env=environment, text=True, capture_output=True,
                          timeout=300)


@pytest.fixture
def program(build):
    """The program of the build folder."""
    file = build / "examples" / "custom_layer" / "custom_layer"
    if not file.exists():
        pytest.skip("this build has no examples")
    return file


def test_in_python(tmp_path):
    result = run(sys.executable, EXAMPLE / "angle.py", EXAMPLE / "python_net.prototxt",
                 tmp_path / "plan")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ANGLES * 2


@pytest.mark.parametrize("net", ["net.prototxt", "python_net.prototxt"])
def test_in_cpp(program, build, tmp_path, net):
    if "python" in net and not (build / "lib" / "libcaffe_python.so").exists():
        pytest.skip("this build has no plugin for Python layers")
    result = run(program, EXAMPLE / net)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ANGLES
    result = run(program, EXAMPLE / net, tmp_path / "plan")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ANGLES * 2


def test_a_plan_without_its_layer(build, program, tmp_path):
    import caffe
    from caffe import inference

    assert run(program, EXAMPLE / "net.prototxt", tmp_path / "plan").returncode == 0
    engine = inference.Engine.load(tmp_path / "plan")
    with pytest.raises(caffe.Error, match="layer 'angle' .Angle."):
        inference.ExecutionContext(engine)
