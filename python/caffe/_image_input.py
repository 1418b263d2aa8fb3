"""The input of a net through which images come."""
from __future__ import annotations

import os
from typing import Any, Union


def image_input(net: Any,
                model_file: Union[str, bytes, os.PathLike[str]]) -> tuple[str, tuple[int, ...]]:
    """The name and the shape of a net's first input, N x C x H x W.

    Raises ValueError with the file's name where there is none, or one of another shape.
    """
    file = os.fsdecode(model_file)
    if not net.inputs:
        raise ValueError(f"{file}: this net has no input, as its own layers make its data: give "
                         "the deploy.prototxt, where an Input layer takes images")
    name = net.inputs[0]
    shape = tuple(net.blobs[name].shape)
    if len(shape) != 4:
        raise ValueError(f"{file}: the input '{name}' has the shape {shape}; one for images has 4 "
                         "axes: number, channels, height, width")
    return name, shape
