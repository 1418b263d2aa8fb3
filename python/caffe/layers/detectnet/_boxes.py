"""Boxes of DetectNet's grids, and lists of them. Boxes are arrays of the shape (n, 4): x1, y1, x2,
y2 in pixels."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Union

import caffe
import numpy as np

#: The most boxes of one image and class in a list.
MAX_BOXES = 50

Number = Union[int, float]
Field = tuple[str, Callable[[str], Number], Number]  # name, int or float, the least value


class BoxLayer(caffe.Layer):
    """What the layers share: parameters, lists as tops, and errors that name the layer."""

    def fail(self, text: str) -> NoReturn:
        """Raises a ValueError in the layer's name."""
        raise ValueError(f"layer '{self.layer_param.name}' ({type(self).__name__}): {text}")

    def read_parameters(self, fields: Sequence[Field], **defaults: Number) -> dict[str, Any]:
        """The numbers in ``param_str``, by the names of the fields; those with defaults come last
        and may be left out. Raises ValueError."""
        texts = [text.strip() for text in self.param_str.split(",")] if self.param_str else []
        if not len(fields) - len(defaults) <= len(texts) <= len(fields):
            self.fail(f"param_str: '{self.param_str}' has {len(texts)} numbers: write "
                      + ", ".join(name for name, *_ in fields))
        values = dict(defaults)
        for text, (name, kind, least) in zip(texts, fields):
            try:
                values[name] = kind(text)
            except ValueError:
                self.fail(f"param_str: {name} is '{text}': write a"
                          f"{' whole' if kind is int else ''} number")
            if not values[name] >= least:
                self.fail(f"param_str: {name} is {text}: write {least} or more")
        return values

    def write_lists(self, top: Any, lists: Iterable[np.ndarray]) -> None:
        """Fills a blob with a list, an array (n, 5), for each image; what does not fit is left
        out."""
        top.data[...] = 0
        for rows, boxes in zip(top.data, lists):
            count = min(len(rows), len(boxes))
            rows[:count] = boxes[:count]

    def backward(self, top: Any, propagate_down: Sequence[bool], bottom: Any) -> None:
        """Boxes have no gradients."""


def boxes_of_cells(chosen: np.ndarray, corners: np.ndarray, stride: int) -> np.ndarray:
    """The boxes of chosen cells, row by row.

    ``chosen`` (rows, columns) is true for those cells, ``corners`` (4, rows, columns) has their
    boxes, in pixels from the cell's own corner at left and top; cells lie ``stride`` pixels apart.
    Boxes with sides that are not finite, or need more than 31 bits, are left out.
    """
    rows, columns = np.nonzero(chosen)
    origins = stride * np.stack([columns, rows, columns, rows], axis=1)
    boxes = corners[:, rows, columns].T.astype(np.float64) + origins
    return boxes[(np.abs(boxes) < 2**31).all(axis=1)]


def distinct(boxes: np.ndarray) -> np.ndarray:
    """The boxes that differ by more than half a pixel in some side, in the order of the first of
    each: all cells of an object have the same box, but for rounding."""
    found = []
    while len(boxes):
        found.append(boxes[0])
        boxes = boxes[np.abs(boxes - boxes[0]).max(axis=1) > 0.5]
    return np.reshape(found, (-1, 4))


def group(boxes: np.ndarray, least: int, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Groups similar boxes as OpenCV's ``groupRectangles`` does, which OpenCV 5 no longer has.

    Groups of more than ``least`` boxes count. Returns their means in whole pixels (g, 4) and the
    numbers of their boxes (g,). With ``least`` 0 each box is a group of its own.

    OpenCV takes (x, y, width, height), and NVCaffe gave it corners: the tolerance, ``eps`` times
    the mean of width and height, grows to the right and down. DetectNet's eps are chosen for that.
    """
    boxes = boxes.astype(np.int64)
    if not least or not len(boxes):
        return boxes, np.ones(len(boxes), np.int64)
    means, counts = [], []
    for members in _groups(boxes, eps):
        count = int(members.sum())
        if count > least:
            # OpenCV's own arithmetic, which decides halves.
            total = boxes[members].sum(axis=0).astype(np.float32)
            means.append(np.rint(total * np.float32(1 / count)))
            counts.append(count)
    kept = [not any(_covers(means[j], counts[j], means[i], counts[i], eps)
                    for j in range(len(means)) if j != i) for i in range(len(means))]
    return (np.reshape(means, (-1, 4)).astype(np.int64)[kept],
            np.array(counts, np.int64)[kept])


def _far_sides(boxes: np.ndarray) -> np.ndarray:
    return boxes[..., :2] + boxes[..., 2:]


def _groups(boxes: np.ndarray, eps: float) -> Iterable[np.ndarray]:
    """The groups of boxes that are similar to another one of the group, as masks (n,)."""
    waiting = np.ones(len(boxes), bool)
    while waiting.any():
        members = np.zeros_like(waiting)
        reached = [int(np.argmax(waiting))]
        waiting[reached] = False
        while reached:  # one after another: a matrix of all pairs can be gigabytes
            index = reached.pop()
            members[index] = True
            near = waiting & _similar(boxes[index], boxes, eps)
            waiting &= ~near
            reached += np.flatnonzero(near).tolist()
        yield members


def _similar(box: np.ndarray, boxes: np.ndarray, eps: float) -> np.ndarray:
    """(n,): whether all four sides of boxes lie within the tolerance of a box's."""
    tolerance = eps * np.minimum(boxes[:, 2:], box[2:]).sum(axis=1) * 0.5
    apart = np.hstack([boxes[:, :2] - box[:2], _far_sides(boxes) - _far_sides(box)])
    return np.abs(apart).max(axis=1) <= tolerance


def _covers(outer: np.ndarray, outer_count: int, inner: np.ndarray, inner_count: int,
            eps: float) -> bool:
    """Whether a group lies in the box of a stronger one, with a margin of eps of its size."""
    margin = np.rint(outer[2:] * eps)
    return bool((inner[:2] >= outer[:2] - margin).all()
                and (_far_sides(inner) <= _far_sides(outer) + margin).all()
                and (outer_count > max(3, inner_count) or inner_count < 3))


def overlaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Intersection over union of each of n boxes with each of m: (n, m), 0 to 1."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(axis=2)
    areas = [np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(axis=1)
             for boxes in (first, second)]
    union = areas[0][:, None] + areas[1][None] - common
    return common / np.where(union > 0, union, 1)
