"""Layers that bring data: they become inputs of the graph, or constants."""
from __future__ import annotations

from typing import Any, List, Optional

import numpy as np

from ..errors import require
from ..extents import Shape, count, require_constant, require_extents
from ..layer import Layer, exports

# Layers that read databases and files, by the message that says how many items at a time.
_DATABASES = {"Data": "data_param", "ImageData": "image_data_param", "HDF5Data": "hdf5_data_param",
              "WindowData": "window_data_param", "AnnotatedData": "data_param",
              "DenseImageData": "dense_image_data_param", "ImageSegData": "image_data_param"}
_LISTED = ("ImageData", "DenseImageData", "ImageSegData")


def _database_shape(param: Any) -> Optional[Shape]:
    """The images' shape as far as the net says it: with crop_size or new_height, and colour."""
    message = getattr(param, _DATABASES[param.type])
    transform = param.transform_param
    height = width = transform.crop_size
    height, width = transform.crop_h or height, transform.crop_w or width
    height, width = transform.crop_height or height, transform.crop_width or width
    if param.type == "DenseImageData":
        height, width = message.crop_height or height, message.crop_width or width
    if not height and param.type in _LISTED:
        height, width = message.new_height, message.new_width
    if not height and transform.HasField("resize_param"):
        height, width = transform.resize_param.height, transform.resize_param.width
    if param.type in _LISTED:
        channels = 3 if message.is_color else 1
    elif len(transform.mean_value) == 3 or transform.force_color or param.type == "WindowData":
        channels = 3
    elif transform.force_gray:
        channels = 1
    else:
        return None
    if not height or not width:
        return None
    return (message.batch_size or 1, channels, height, width)


def _listed_shapes(param: Any, shapes: Any) -> List[Optional[Shape]]:
    listed: List[Optional[Shape]] = [tuple(shape.dim) for shape in shapes]
    if len(listed) == 1:
        listed *= len(param.top)
    require(len(listed) in (0, len(param.top)), f"it says {len(listed)} shapes for "
            f"{len(param.top)} tops")
    return listed or [None] * len(param.top)


def _dummy_shapes(param: Any) -> List[Shape]:
    dummy = param.dummy_data_param
    shapes = [tuple(shape.dim) for shape in dummy.shape]
    if not shapes:
        shapes = list(zip(dummy.num, dummy.channels, dummy.height, dummy.width))
    require(len(shapes) in (1, len(param.top)), "it does not say one shape for each top")
    return shapes * (len(param.top) if len(shapes) == 1 else 1)


def _is_constant(param: Any) -> bool:
    return all(filler.type == "constant" for filler in param.dummy_data_param.data_filler)


def input_shapes(param: Any) -> Optional[List[Optional[Shape]]]:
    """One shape for each top, None where the net does not say it; None if the layer is not a
    source. Raises Inexpressible where it says shapes for other tops."""
    unknown: List[Optional[Shape]] = [None] * len(param.top)
    if param.type == "Input":
        return _listed_shapes(param, param.input_param.shape)
    if param.type == "MemoryData":
        memory = param.memory_data_param
        shape = tuple(
            memory.dim) or (memory.batch_size, memory.channels, memory.height, memory.width)
        return [shape, (shape[0],)][:len(param.top)]
    if param.type in _DATABASES:
        return [_database_shape(param)] + unknown[1:]
    if param.type == "VideoData":
        return unknown
    if param.type == "DummyData" and not _is_constant(param):
        return list(_dummy_shapes(param))
    return None


@exports("DummyData", native=False)
def dummy_data(layer: Layer) -> None:
    """Constants; with random fillers the layer is an input."""
    fillers = layer.param.dummy_data_param.data_filler
    require(len(fillers) in (0, 1) or len(fillers) >= len(layer.tops), f"dummy_data_param: "
            f"{len(fillers)} data_filler for {len(layer.tops)} tops")
    for i, shape in enumerate(_dummy_shapes(layer.param)):
        require_extents(shape, "its top")
        require_constant(count(shape), "its top")
        value = fillers[0 if len(fillers) == 1 else i].value if fillers else 0
        layer.top(i, layer.constant(np.full(shape, value, np.float32), "data"))


@exports("ContinuationIndicator", native=False)
def continuation_indicator(layer: Layer) -> None:
    """0 in the first step of each sequence, 1 behind."""
    param = layer.param.continuation_indicator_param
    batch = param.batch_size
    if layer.bottoms and not param.HasField("batch_size"):
        batch = layer.shape()[layer.axis(param.axis, "continuation_indicator_param: axis")]
        require(isinstance(batch, int), "its bottom's batch is not known: give --batch")
    require_extents((param.time_step, batch), "its top")
    require_constant(param.time_step * batch, "its top")
    indicators = np.ones((param.time_step, batch), np.float32)
    indicators[:1] = 0
    layer.top(0, layer.constant(indicators, "indicators"))


@exports("Parameter")
def parameter(layer: Layer) -> None:
    shape = tuple(layer.param.parameter_param.shape.dim)
    require(len(shape) > 0, "parameter_param does not say a shape")
    require_extents(shape, "its top")
    layer.top(0, layer.constant(layer.blob(0, shape), "parameter"))


@exports("HDF5Output", native=False)
def hdf5_output(layer: Layer) -> None:
    """Writes a file: nothing is left of it."""
    layer.notes.append("is left out: it writes a file")
