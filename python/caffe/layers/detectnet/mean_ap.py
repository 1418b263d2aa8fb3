"""How well lists of boxes, which :mod:`.clustering` makes, agree with the truth.

    layer {
      type: 'Python' name: 'score' bottom: 'bbox-list-label' bottom: 'bbox-list' top: 'scored'
      python_param { module: 'caffe.layers.detectnet.mean_ap' layer: 'ScoreDetections' }
    }
    layer {
      type: 'Python' name: 'mAP' bottom: 'scored' top: 'mAP' top: 'precision' top: 'recall'
      python_param { module: 'caffe.layers.detectnet.mean_ap' layer: 'mAP'
                     param_str: '1248, 352, 16' }
    }
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._boxes import BoxLayer, overlaps

#: The least intersection over union of a true box and one that has found it.
LEAST_OVERLAP = 0.7

#: The fifth number in a list of scored boxes.
FOUND, WRONG, MISSED = 1, 2, 3


def score(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Says of the boxes that were found, (n, 5) with their confidence, which are true.

    ``truth`` is (m, 5). The surest box comes first and takes the true box that it overlaps most,
    which no other box can take then. Returns the boxes that were found, as FOUND or WRONG, and
    the true ones that were not, as MISSED, in an array (k, 5).
    """
    found = found[np.argsort(-found[:, 4], kind="stable")]
    shares = overlaps(found[:, :4], truth[:, :4])
    marks = np.full(len(found), WRONG)
    missed = np.ones(len(truth), bool)
    for row in range(len(found) if len(truth) else 0):
        best = int(np.argmax(np.where(missed, shares[row], -1)))
        if missed[best] and shares[row, best] >= LEAST_OVERLAP:
            marks[row], missed[best] = FOUND, False
    return np.vstack([np.column_stack([found[:, :4], marks]),
                      np.column_stack([truth[missed, :4], np.full(missed.sum(), MISSED)])])


def rates(marks: np.ndarray) -> tuple[float, float, float]:
    """DetectNet's simplified mAP, which is precision times recall, precision and recall, in per
    cent, of scored boxes' fifth numbers. A rate of no boxes is 0."""
    found, wrong, missed = (np.count_nonzero(marks == mark) for mark in (FOUND, WRONG, MISSED))
    precision = found / (found + wrong) if found else 0.0
    recall = found / (found + missed) if found else 0.0
    return 100 * precision * recall, 100 * precision, 100 * recall


class ScoreDetections(BoxLayer):
    """Compares lists of boxes: bottoms are the true ones and those that were found, (batch, boxes,
    5). The top has all that were found and the true ones that were not, (batch, boxes of both,
    5), with FOUND, WRONG or MISSED as the fifth number."""

    def setup(self, bottom: Any, top: Any) -> None:
        """Raises ValueError for another number of bottoms or tops."""
        if (len(bottom), len(top)) != (2, 1):
            self.fail(f"it has {len(bottom)} bottoms and {len(top)} tops: name two bottoms, the "
                      "true boxes and those that were found, and one top")

    def reshape(self, bottom: Any, top: Any) -> None:
        """Gives the top its shape. Raises ValueError for bottoms that are no lists of boxes."""
        truth, found = (tuple(blob.shape) for blob in bottom)
        if not len(truth) == len(found) == 3 or (truth[0], 5, 5) != (found[0], truth[2], found[2]):
            self.fail(f"bottoms have the shapes {truth} and {found}: give it two lists of boxes, "
                      "(batch, boxes, 5)")
        top[0].reshape(truth[0], truth[1] + found[1], 5)

    def forward(self, bottom: Any, top: Any) -> None:
        """Writes the scored boxes."""
        self.write_lists(top[0], (
            score(*(rows[rows.any(axis=1)] for rows in lists))
            for lists in zip(bottom[0].data, bottom[1].data)))


class mAP(BoxLayer):
    """Rates of a batch of scored boxes, (batch, boxes, 5), in per cent: tops are mAP, precision
    and recall, (1) each. ``param_str``, which NVCaffe's nets give, has no effect."""

    def setup(self, bottom: Any, top: Any) -> None:
        """Raises ValueError for another number of bottoms or tops."""
        if (len(bottom), len(top)) != (1, 3):
            self.fail(f"it has {len(bottom)} bottoms and {len(top)} tops: name one bottom, the "
                      "scored boxes, and the tops mAP, precision and recall")

    def reshape(self, bottom: Any, top: Any) -> None:
        """Gives the tops their shape. Raises ValueError for a bottom that is no list of boxes."""
        shape = tuple(bottom[0].shape)
        if len(shape) != 3 or shape[2] != 5:
            self.fail(f"the bottom has the shape {shape}: give it scored boxes, (batch, boxes, 5)")
        for each in top:
            each.reshape(1)

    def forward(self, bottom: Any, top: Any) -> None:
        """Writes the rates."""
        for each, rate in zip(top, rates(bottom[0].data[..., 4])):
            each.data[...] = rate
