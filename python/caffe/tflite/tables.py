"""Functions of one byte by their values: whatever LiteRT has no operator for, bit for bit."""
from __future__ import annotations

import numpy as np

from .layer import SIGN, Layer, require
from .model import Tensor


def is_table(layer: Layer) -> bool:
    """The node is one function of each byte, or one for each channel."""
    parameters = layer.node.parameters
    return (len(layer.node.inputs) == 1 and len(parameters) == 1 and
            parameters[0].dtype == np.uint8 and parameters[0].size % 256 == 0)


def table(layer: Layer) -> None:
    """The node's table, by channel (axis 1) where it has several."""
    tables = layer.node.parameters[0].reshape(-1, 256)
    # Indexed by unsigned bytes from 0 on, which are LiteRT's from -128 on.
    tables = tables.astype(np.int16) - SIGN
    shape, stored = layer.shape(), layer.bottom()
    if len(tables) == 1 or len(shape) == 2 and stored.moved is None:
        x, moved = stored.tensor, stored.moved
    elif len(shape) > 2:
        x, moved = layer.last(), shape
    else:
        x, moved = layer.plain(), None
    require(len(tables) in (1, x.shape[-1]), f"it has {len(tables)} tables for {x.shape[-1]} "
            "channels")
    # The bounds are part of the tables.
    look_up(layer, x, tables, layer.top(moved))


def look_up(layer: Layer, x: Tensor, tables: np.ndarray, y: Tensor) -> None:
    """y is looked up in the tables (1 or channels, 256) by x, from -128 on; channels lie last."""
    model, name = layer.model, layer.node.name
    wide = model.tensor(f"{name}/wide", x.shape, np.int32)
    model.operator("CAST", 1, [x], [wide], "CastOptions")
    firsts = model.constant(f"{name}/firsts", SIGN + 256 * np.arange(len(tables)))
    places = model.tensor(f"{name}/places", x.shape, np.int32)
    model.operator("ADD", 1, [wide, firsts], [places], "AddOptions")
    content = model.constant(f"{name}/table", tables.reshape(-1), np.int8, y.quantization)
    model.operator("GATHER", 2, [content, places], [y], "GatherOptions", Axis=0, BatchDims=0)
