"""The README's example runs as it stands, on a real net and a real image."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from shared_data import shared

README = os.path.join(os.path.dirname(__file__), "..", "..", "README.md")
if not os.path.exists(README):
    pytest.skip("the README is in the source tree only", allow_module_level=True)

pytestmark = pytest.mark.slow


def python_example():
    with open(README, encoding="utf-8") as file:
        return re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1)


def test_the_example_knows_a_dog(tmp_path):
    pytest.importorskip("PIL")
    for name, source in (("deploy.prototxt", "deploy.prototxt"),
                         ("net.caffemodel", "weights.caffemodel"), ("image.png", "dog4.png")):
        shutil.copy(shared("models", "cifar10_quick_current", source), tmp_path / name)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(map(os.path.abspath, sys.path[1:])))
    result = subprocess.run([sys.executable, "-c", python_example()], cwd=tmp_path,
                            env=environment, text=True, capture_output=True, timeout=300)
    assert result.returncode == 0, result.stderr
    dog = 5
    labels = [int(label) for label in re.findall(r"^(\d+) \S+$", result.stdout, re.MULTILINE)]
    assert len(labels) == 5 and labels[0] == dog, result.stdout
