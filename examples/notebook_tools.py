"""The common part of the notebooks in this folder: where caffe and the data are.

Importing this module makes ``import caffe`` work in the source tree as well as where it is
installed, and makes the folder ``notebook_files``, which git ignores and where notebooks write.
"""
from __future__ import annotations

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED_DATA = os.path.join(HERE, "..", "..", "shared", "data")

os.environ.setdefault("GLOG_minloglevel", "1")  # warnings and errors only; before caffe is imported

try:
    _built = importlib.util.find_spec("caffe._caffe") is not None
except ImportError:
    _built = False
if not _built:
    sys.path.insert(0, os.path.join(HERE, "..", "python"))

_FILES = os.path.join(HERE, "notebook_files")
os.makedirs(_FILES, exist_ok=True)
with open(os.path.join(_FILES, ".gitignore"), "w", encoding="utf-8") as _file:
    _file.write("*\n")


def skip(reason: str) -> None:
    """Ends a notebook that cannot go on here, with a sentence that says why."""
    raise SystemExit(f"Skipped: {reason}")


def require(module: str, reason: str) -> None:
    """Skips the notebook where a Python module is absent."""
    if importlib.util.find_spec(module) is None:
        skip(reason)


def shared(*parts: str) -> str:
    """The path of a real net or image next to the source tree; skips the notebook where it is
    absent."""
    path = os.path.normpath(os.path.join(SHARED_DATA, *parts))
    if not os.path.exists(path):
        skip(f"{os.path.join('../../shared/data', *parts)} is not there")
    return path


def digits():
    """scikit-learn's handwritten digits: (images, labels) to train with and (images, labels) to
    test with.

    Images are N x 1 x 8 x 8, float32 from 0 to 1; labels are N, float32; 1472 and 320 of them.
    """
    require("sklearn", "the digits come with scikit-learn: pip install scikit-learn")
    import numpy as np
    from sklearn.datasets import load_digits
    data = load_digits()
    order = np.random.RandomState(1998).permutation(len(data.target))
    images = (data.images[order, np.newaxis] / 16).astype(np.float32)
    labels = data.target[order].astype(np.float32)
    return (images[:1472], labels[:1472]), (images[1472:1792], labels[1472:1792])


def made_by(notebook: str, *names: str) -> list[str]:
    """Files that another notebook writes; runs it first where they are not there yet, and skips
    this one where that one is skipped."""
    from run_notebooks import Skipped, run
    paths = [os.path.join(HERE, name) for name in names]
    if all(os.path.exists(path) for path in paths):
        return paths
    print(f"running {notebook}, which writes {' and '.join(names)}")
    reason = None
    try:
        run(os.path.join(HERE, notebook))
    except Skipped as skipped:
        reason = str(skipped)
    if reason is not None:
        skip(reason)
    return paths
