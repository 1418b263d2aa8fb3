"""The notebooks in examples/ run from the first cell to the last."""
import glob
import os
import sys

import pytest

EXAMPLES = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "examples"))
NOTEBOOKS = sorted(glob.glob(os.path.join(EXAMPLES, "*.ipynb")))
if not NOTEBOOKS:
    pytest.skip("the notebooks are in the source tree only", allow_module_level=True)
for module in ("caffe._caffe", "nbclient", "ipykernel", "matplotlib"):
    pytest.importorskip(module)
sys.path.insert(0, EXAMPLES)
import run_notebooks  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", NOTEBOOKS, ids=os.path.basename)
def test_notebook(path, monkeypatch):
    # The kernel finds the same caffe as this process, and small nets gain nothing from threads.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    try:
        run_notebooks.run(path)
    except run_notebooks.Skipped as reason:
        pytest.skip(str(reason))


def written(tmp_path, source):
    nbformat = pytest.importorskip("nbformat")
    path = tmp_path / "case.ipynb"
    cells = [nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return str(path)


def test_a_notebook_without_its_data_is_skipped(tmp_path):
    with pytest.raises(run_notebooks.Skipped, match="nothing here"):
        run_notebooks.run(written(tmp_path, "raise SystemExit('Skipped: nothing here')"))


def test_a_notebook_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="(?s)case.ipynb.*ZeroDivisionError"):
        run_notebooks.run(written(tmp_path, "1 / 0"))
