"""Lists of boxes from DetectNet's grids: what the net has found, and what it should have.

    layer {
      type: 'Python' name: 'cluster' bottom: 'coverage' bottom: 'bboxes' top: 'bbox-list'
      python_param { module: 'caffe.layers.detectnet.clustering' layer: 'ClusterDetections'
                     param_str: '1248, 352, 16, 0.6, 3, 0.02, 22, 1' }
    }

Bottoms of both layers: coverage (batch, classes, rows, columns) and corners (batch, 4, rows,
columns), x1, y1, x2, y2 in pixels from the cell's own corner. Tops: a list for each class, (batch,
50, 5).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._boxes import MAX_BOXES, BoxLayer, Field, boxes_of_cells, distinct, group

#: The size of the image in pixels, which the blobs say too, and the distance of cells.
_GRID: list[Field] = [("image_size_x", int, 1), ("image_size_y", int, 1), ("stride", int, 1)]
_CLASSES: Field = ("num_classes", int, 1)


class _ClusterLayer(BoxLayer):
    fields = [*_GRID, _CLASSES]

    def setup(self, bottom: Any, top: Any) -> None:
        """Reads ``param_str``. Raises ValueError for what it cannot use."""
        self.settings = self.read_parameters(self.fields, num_classes=1)
        classes = self.settings["num_classes"]
        if len(bottom) != 2:
            self.fail(f"it has {len(bottom)} bottoms: name two, coverage and corners of boxes")
        if len(top) != classes:
            self.fail(f"it has {len(top)} tops for {classes} classes: name one for each class, or "
                      "change num_classes, the last number in param_str")

    def reshape(self, bottom: Any, top: Any) -> None:
        """Gives the tops their shape. Raises ValueError for bottoms of other shapes."""
        coverage, corners = (tuple(blob.shape) for blob in bottom)
        classes = self.settings["num_classes"]
        if len(coverage) != 4 or coverage[1] != classes or \
                corners != (coverage[0], 4, *coverage[2:]):
            self.fail(f"bottoms have the shapes {coverage} and {corners}: give it (batch, "
                      f"{classes}, rows, columns) and (batch, 4, rows, columns)")
        for each in top:
            each.reshape(coverage[0], MAX_BOXES, 5)

    def forward(self, bottom: Any, top: Any) -> None:
        """Writes the lists."""
        coverage, corners = bottom[0].data, bottom[1].data
        for label, each in enumerate(top):
            self.write_lists(each, (self.boxes(cells[label], sides)
                                    for cells, sides in zip(coverage, corners)))

    def boxes(self, coverage: np.ndarray, corners: np.ndarray) -> np.ndarray:
        """The list (n, 5) of an image and class, from (rows, columns) and (4, rows, columns)."""
        raise NotImplementedError


class ClusterGroundtruth(_ClusterLayer):
    """The boxes of DetectNetTransformation's labels, each once; the fifth number is 0.

    ``param_str``: image_size_x, image_size_y, stride, and num_classes (default 1).
    """

    def boxes(self, coverage: np.ndarray, corners: np.ndarray) -> np.ndarray:
        """The boxes of cells with any coverage."""
        found = distinct(boxes_of_cells(coverage > 0, corners, self.settings["stride"]))
        return np.pad(found, ((0, 0), (0, 1)))


class ClusterDetections(_ClusterLayer):
    """Groups the boxes of cells with enough coverage; the fifth number is the confidence, the
    logarithm of the number of boxes in the group. The surest come first.

    ``param_str``: image_size_x, image_size_y, stride, the least coverage of a cell, how many boxes
    a group has to exceed, the tolerance of a group (a share of the boxes' size), the least height
    of a result in pixels, and num_classes (default 1).
    """

    fields = [*_GRID, ("gridbox_cvg_threshold", float, 0), ("gridbox_rect_thresh", int, 0),
              ("gridbox_rect_eps", float, 0), ("min_height", float, 0), _CLASSES]

    def boxes(self, coverage: np.ndarray, corners: np.ndarray) -> np.ndarray:
        """The means of groups."""
        settings = self.settings
        cells = boxes_of_cells(coverage >= settings["gridbox_cvg_threshold"], corners,
                               settings["stride"])
        means, counts = group(cells, settings["gridbox_rect_thresh"],
                              settings["gridbox_rect_eps"])
        found = np.column_stack([means, np.log(counts)])
        found = found[found[:, 3] - found[:, 1] >= settings["min_height"]]
        return found[np.argsort(-found[:, 4], kind="stable")]
