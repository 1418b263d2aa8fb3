"""A net that classifies images: preprocessing, ten cuts of each image, and one answer."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Optional, Union

import numpy as np

from . import _deprecated, io
from ._image_input import image_input
from .proto.caffe_pb2 import TEST
from .pycaffe import Net


class Classifier(Net):
    """A :class:`caffe.Net` in the TEST phase that takes images as :func:`caffe.io.load_image`
    gives them.

        classifier = caffe.Classifier('deploy.prototxt', 'weights.caffemodel', image_dims=(256,
        256),
                                      mean=np.array([104, 117, 123]), raw_scale=255,
                                      channel_swap=(2, 1, 0))
        scores = classifier.predict([caffe.io.load_image('cat.jpg')])[0]

    ``image_dims`` is the height and width to which images are resized before cuts of the net's
    input size are taken (default: that size). ``mean``, ``input_scale``, ``raw_scale`` and
    ``channel_swap`` are those of :class:`caffe.io.Transformer`. ``gpu`` and ``mean_file``, as
    pycaffe had them in 2014, are taken with a DeprecationWarning.
    """

    def __init__(self, model_file: str, pretrained_file: str,
                 image_dims: Optional[Sequence[int]] = None, mean: Optional[np.ndarray] = None,
                 input_scale: Optional[float] = None, raw_scale: Optional[float] = None,
                 channel_swap: Optional[Sequence[int]] = None, *, gpu: Optional[bool] = None,
                 mean_file: Optional[Union[str, "os.PathLike[str]"]] = None) -> None:
        mean = _deprecated.old_arguments("Classifier", mean, gpu, mean_file)
        Net.__init__(self, model_file, TEST, weights=pretrained_file)
        name, shape = image_input(self, model_file)
        self.transformer = io.Transformer.for_images(name, shape, mean, input_scale, raw_scale,
                                                     channel_swap)
        self.crop_dims = np.array(shape[2:])
        self.image_dims = self.crop_dims if image_dims is None else np.array(image_dims)
        if (self.image_dims < self.crop_dims).any():
            raise ValueError(f"image_dims {tuple(self.image_dims.tolist())} are smaller than the "
                             f"net's input '{name}', {tuple(self.crop_dims.tolist())}")

    def predict(self, inputs: Sequence[np.ndarray], oversample: bool = True) -> np.ndarray:
        """The net's first output for each image: an array of N rows.

        ``inputs`` are N images, H x W x K. With ``oversample`` the answers for ten cuts are
        averaged, see :func:`caffe.io.oversample`; without it only the cut from the centre is looked
        at.
        """
        if len(inputs) == 0:
            raise ValueError("there are no images to classify")
        images = np.array([io.resize_image(image, self.image_dims) for image in inputs])
        if oversample:
            cuts = io.oversample(images, self.crop_dims)
        else:
            top, left = (self.image_dims - self.crop_dims) // 2
            height, width = self.crop_dims
            cuts = images[:, top:top + height, left:left + width]

        name = self.inputs[0]
        prepared = np.array([self.transformer.preprocess(name, cut) for cut in cuts])
        predictions = self.forward_all(**{name: prepared})[self.outputs[0]]
        if oversample:
            predictions = predictions.reshape((len(images), 10, -1)).mean(axis=1)
        return predictions
