"""Nets in 8-bit integers for the programs that export them: flags, and what they make."""
from __future__ import annotations

import argparse
import os
from typing import Any, Iterator, List, Optional

from ._quantized_graph import QuantizedGraph
from .onnx.errors import ExportError

_IMAGES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
_AT_A_TIME = 16  # images that the net is run on while it is calibrated


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Flags for where the ranges of blobs come from."""
    parser.add_argument("--calibration-table", metavar="FILE",
                        help="ranges of the blobs, of caffe calibrate; a net that was trained with "
                        "quantized_training needs none")
    parser.add_argument("--images", metavar="FOLDER",
                        help="images to calibrate on instead, all of the folder")
    parser.add_argument("--mean", metavar="FILE|VALUES", default="",
                        help="of --images: what is subtracted, a .npy or .binaryproto file or one "
                        "value a channel")
    parser.add_argument("--scale", type=float, default=1.0, metavar="S",
                        help="of --images: pixels from 0 to 255 less the mean are multiplied by "
                        "this (%(default)s)")
    parser.add_argument("--rounding", choices=("double", "single"), default="double",
                        help="how the engine that agrees with the model rounds (%(default)s)")


def quantized(prototxt: str, weights: str, given: Any, batch: int) -> QuantizedGraph:
    """The net of the files in integers, with the ranges that the flags say.

    Raises ExportError, and caffe.Error.
    """
    try:
        from . import inference
    except ImportError as error:
        raise ExportError("quantizing a net needs the compiled part of the package caffe, which is "
                          f"not there: {error}") from error
    if given.calibration_table and given.images:
        raise ExportError("give --calibration-table or --images, not both")
    definition = inference.NetworkDefinition.from_caffe(prototxt, weights)
    table = None
    if given.calibration_table:
        table = inference.CalibrationTable.read(given.calibration_table)
    elif given.images:
        batches = _batches(definition, given)
        table = inference.calibrate(definition, inference.BatchCalibrator(batches))
    return inference.quantized_graph(definition, table, rounding=given.rounding, max_batch=batch)


def _batches(definition: Any, given: Any) -> Iterator[Any]:
    """The images of a folder as the net's input."""
    import numpy as np

    from . import io
    from ._cli import mean_of
    try:
        names: List[str] = sorted(os.listdir(given.images))
    except OSError as error:
        raise ExportError(f"--images {given.images}: {error.strerror or error}") from error
    files = [os.path.join(given.images, name) for name in names if name.lower().endswith(_IMAGES)]
    if not files:
        raise ExportError(f"--images {given.images}: there are no images in this folder")
    transformer: Optional[Any] = None
    inputs = {}
    for layer in definition.to_proto().layer:
        if layer.type == "Input":
            inputs[layer.top[0]] = tuple(layer.input_param.shape[0].dim)
    if len(inputs) != 1 or len(next(iter(inputs.values()))) != 4:
        raise ExportError("--images fills one input of 4 axes; this net has others: make a table "
                          "with caffe calibrate")
    (name, shape), = inputs.items()
    transformer = io.Transformer.for_images(
        name, shape, mean=mean_of(given.mean), input_scale=given.scale, raw_scale=255.0,
        channel_swap=(2, 1, 0) if shape[1] == 3 else None)
    for first in range(0, len(files), _AT_A_TIME):
        yield {name: np.stack([
            transformer.preprocess(name, io.load_image(file, shape[1] == 3))
            for file in files[first:first + _AT_A_TIME]
        ])}
