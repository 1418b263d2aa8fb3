"""A net that scores windows of images, as R-CNN does."""
from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _deprecated, io
from ._image_input import image_input
from ._selective_search import windows_of
from .proto.caffe_pb2 import TEST
from .pycaffe import Net


class WindowError(ValueError):
    """A window that cannot be cut out of its image: ``filename`` and ``window``, as
    :meth:`Detector.detect_windows` was given them."""

    def __init__(self, reason: str, filename: str, window: np.ndarray) -> None:
        super().__init__(f"{filename}: {reason}")
        self.filename = filename
        self.window = window


class Detector(Net):
    """A :class:`caffe.Net` in the TEST phase that scores windows of images.

        detector = caffe.Detector('deploy.prototxt', 'weights.caffemodel', raw_scale=255,
                                  channel_swap=(2, 1, 0), context_pad=16)
        found = detector.detect_windows([('street.jpg', [(10, 20, 200, 220)])])
        found[0]['prediction']

    ``mean``, ``input_scale``, ``raw_scale`` and ``channel_swap`` are those of
    :class:`caffe.io.Transformer`. ``context_pad`` is how many pixels of the net's input show what
    is around the window, on each side; where that lies outside the image, the mean is seen.
    ``gpu`` and ``mean_file``, as pycaffe had them in 2014, are taken with a DeprecationWarning.
    """

    def __init__(self, model_file: str, pretrained_file: str, mean: Optional[np.ndarray] = None,
                 input_scale: Optional[float] = None, raw_scale: Optional[float] = None,
                 channel_swap: Optional[Sequence[int]] = None,
                 context_pad: Optional[int] = None, *, gpu: Optional[bool] = None,
                 mean_file: Optional[Union[str, "os.PathLike[str]"]] = None) -> None:
        mean = _deprecated.old_arguments("Detector", mean, gpu, mean_file)
        Net.__init__(self, model_file, TEST, weights=pretrained_file)
        name, shape = image_input(self, model_file)
        self.transformer = io.Transformer.for_images(name, shape, mean, input_scale, raw_scale,
                                                     channel_swap)
        self.configure_crop(context_pad)

    def detect_windows(
            self, images_windows: Iterable[tuple[str, Iterable[Sequence[float]]]]) -> list[dict]:
        """The net's first output for each window.

        ``images_windows`` are pairs of an image's file and its windows ``(ymin, xmin, ymax,
        xmax)`` in pixels. The result has for each window, in order, ``{'window', 'prediction',
        'filename'}``. Raises WindowError, a ValueError, for windows that :meth:`crop` refuses.
        """
        found: list[dict[str, Any]] = []
        cuts = []
        name = self.inputs[0]
        for filename, windows in images_windows:
            image = io.load_image(filename)
            for window in windows:
                window = np.asarray(window)
                try:
                    cut = self.crop(image, window)
                except ValueError as error:
                    raise WindowError(str(error), filename, window) from error
                cuts.append(self.transformer.preprocess(name, cut))
                found.append({"window": window, "prediction": None, "filename": filename})
        if not found:
            return found
        predictions = self.forward_all(**{name: np.array(cuts)})[self.outputs[0]]
        if predictions.ndim == 4 and predictions.shape[2:] == (1, 1):
            predictions = predictions.squeeze(axis=(2, 3))
        for detection, prediction in zip(found, predictions):
            detection["prediction"] = prediction
        return found

    def detect_selective_search(self, image_fnames: Iterable[str]) -> list[dict]:
        """:meth:`detect_windows` on windows that selective search proposes.

        They come from the module ``selective_search_ijcv_with_python`` or from OpenCV's contributed
        modules, whichever is installed. Raises ImportError when neither is.
        """
        paths = [os.path.abspath(name) for name in image_fnames]
        return self.detect_windows(zip(paths, windows_of(paths)))

    def crop(self, im: np.ndarray, window: Sequence[float]) -> np.ndarray:
        """The window ``(ymin, xmin, ymax, xmax)`` of an H x W x K image.

        A window may reach beyond the image. Without ``context_pad`` that part is left out; with it
        the result has the net's input size, and the mean there. Raises ValueError for windows that
        hold no pixel of the image.
        """
        corners = np.asarray(window, dtype=np.float64)
        if corners.shape != (4,) or not (np.abs(corners) < 2**31).all():
            raise ValueError(f"the window {tuple(corners.tolist())} is not ymin, xmin, ymax, xmax "
                             "in pixels")
        top, left, bottom, right = (int(corner) for corner in corners)
        height, width = im.shape[:2]
        if not (max(top, 0) < min(bottom, height) and max(left, 0) < min(right, width)):
            raise ValueError(f"the window {(top, left, bottom, right)} (ymin, xmin, ymax, xmax) "
                             f"holds no pixel of an image of {height} x {width} (height x width)")
        if not self.context_pad:
            return im[max(top, 0):bottom, max(left, 0):right]
        return self._crop_with_context(im, (top, left, bottom, right))

    def _crop_with_context(self, im: np.ndarray, window: Sequence[int]) -> np.ndarray:
        size = int(self.crop_dims[0])
        result = self.crop_mean.astype(np.float32).copy()
        places, sources = [], []
        for axis in (0, 1):
            place, source = _context_span(window[axis], window[axis + 2], im.shape[axis], size,
                                          self.context_pad)
            places.append(place)
            sources.append(source)
        content = im[sources[0], sources[1]]
        result[places[0], places[1]] = io.resize_image(
            content, [place.stop - place.start for place in places])
        return result

    def configure_crop(self, context_pad: Optional[int]) -> None:
        """Sets how much :meth:`crop` shows around windows, in pixels of the net's (square)
        input."""
        name = self.inputs[0]
        order = np.argsort(self.transformer.transpose[name])
        self.crop_dims = np.array(self.blobs[name].data.shape[1:])[order]
        self.context_pad = context_pad
        if not context_pad:
            return
        if self.crop_dims[0] != self.crop_dims[1]:
            raise ValueError(f"context_pad needs a net with a square input, not "
                             f"{self.crop_dims[:2]}")
        if not 0 < 2 * context_pad < self.crop_dims[0]:
            raise ValueError(f"context_pad {context_pad} leaves nothing of a side of "
                             f"{self.crop_dims[0]} pixels")
        # The value that is zero after preprocessing.
        zero = np.zeros(self.blobs[name].data.shape[1:], dtype=np.float32)
        self.crop_mean = self.transformer.deprocess(name, zero)


def _context_span(low: int, high: int, available: int, size: int,
                  pad: int) -> tuple[slice, slice]:
    """Along one axis: where in the result, and from where in the image.

    The window ``low`` to ``high`` is to fill ``size - 2 * pad`` pixels of the result, and what is
    around it the rest, as far as the image's ``available`` pixels go.
    """
    half = (high - low + 1) / 2
    centre = low + half
    reach = half * size / (size - 2 * pad)
    first, last = round(centre - reach), round(centre + reach)
    scale = size / (last - first + 1)
    begin = min(int(round(max(0, -first) * scale)), size - 1)
    first, last = max(first, 0), min(last, available)
    length = max(1, min(int(round((last - first + 1) * scale)), size - begin))
    return slice(begin, begin + length), slice(first, last)
