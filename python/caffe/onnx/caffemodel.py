"""Reads weights: caffemodels of all versions (current, V1, V0, NVCaffe's raw data) and HDF5
files."""
from __future__ import annotations

import math
import mmap
from dataclasses import dataclass, field
from typing import Dict, List

import numpy as np

from .. import _wire as wire
from .errors import ExportError

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Field numbers of BlobProto, and of the three forms of a layer in caffe.proto.
_LEGACY_AXES = (1, 2, 3, 4)
_FLOATS, _SHAPE, _DOUBLES, _RAW_TYPE, _RAW = 5, 7, 8, 10, 12
_RAW_TYPES = {0: "<f8", 1: "<f4", 2: "<f2", 3: "<i4", 4: "<u4"}


@dataclass
class StoredLayer:
    """A layer as a file of weights has it; ``type`` is empty in files before the current form."""
    name: str = ""
    type: str = ""
    bottoms: List[str] = field(default_factory=list)
    tops: List[str] = field(default_factory=list)
    blobs: List[np.ndarray] = field(default_factory=list)


def _numbers(pieces: List[wire.Field], kind: str) -> np.ndarray:
    """The elements of a repeated float or double field, packed or one by one."""
    if len(pieces) > 1 and all(piece.wire_type != wire.BYTES for piece in pieces):
        return np.frombuffer(b"".join(bytes(piece.content) for piece in pieces), kind)
    arrays = [np.frombuffer(piece.content, kind) for piece in pieces]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _blob(data: memoryview, where: str) -> np.ndarray:
    """A BlobProto's elements, under its shape, in the type in which they are stored."""
    legacy: Dict[int, int] = {}
    shape: List[int] = []
    floats: List[wire.Field] = []
    doubles: List[wire.Field] = []
    raw, raw_type = None, None
    for piece in wire.fields(data):
        if piece.number in _LEGACY_AXES and piece.wire_type == wire.VARINT:
            legacy[piece.number] = piece.content
        elif piece.number == _SHAPE and piece.wire_type == wire.BYTES:
            shape = [extent for axes in wire.fields(piece.content) if axes.number == 1
                     for extent in wire.varints(axes)]
        elif piece.number == _RAW_TYPE:
            raw_type = piece.content
        elif piece.wire_type == wire.VARINT:
            continue
        elif piece.number == _FLOATS:
            floats.append(piece)
        elif piece.number == _DOUBLES:
            doubles.append(piece)
        elif piece.number == _RAW:
            raw = piece.content
    if doubles:
        values = _numbers(doubles, "<f8")
    elif floats:
        values = _numbers(floats, "<f4")
    elif raw is not None and len(raw):
        if raw_type not in _RAW_TYPES:
            raise ValueError(f"{where}: raw_data of type number {raw_type}, which holds no weights")
        values = np.frombuffer(raw, _RAW_TYPES[raw_type])
    else:
        values = np.zeros(0, np.float32)
    if legacy:
        shape = [legacy.get(number, 0) for number in _LEGACY_AXES]
    if values.size != math.prod(shape):
        raise ValueError(f"{where}: the shape {shape} and {values.size} elements do not agree")
    return values.reshape(shape)


class _Numbers:
    """The numbers that a layer's fields have in one version of the schema; -1: it has none."""

    def __init__(self, name: int, type_: int, bottom: int, top: int, blobs: int,
                 inner: int) -> None:
        self.name, self.type, self.bottom, self.top = name, type_, bottom, top
        self.blobs, self.inner = blobs, inner


_CURRENT = _Numbers(1, 2, 3, 4, 7, -1)
_V1 = _Numbers(4, -1, 2, 3, 6, 1)
_V0 = _Numbers(1, 2, -1, -1, 50, -1)


def _layer(data: memoryview, numbers: _Numbers, layer: StoredLayer) -> StoredLayer:
    for piece in wire.fields(data):
        if piece.wire_type != wire.BYTES:
            continue
        if piece.number == numbers.name:
            layer.name = wire.string(piece)
        elif piece.number == numbers.type:
            layer.type = wire.string(piece)
        elif piece.number == numbers.bottom:
            layer.bottoms.append(wire.string(piece))
        elif piece.number == numbers.top:
            layer.tops.append(wire.string(piece))
        elif piece.number == numbers.blobs:
            where = f"layer '{layer.name}', blob {len(layer.blobs)}"
            layer.blobs.append(_blob(piece.content, where))
        elif piece.number == numbers.inner:
            _layer(piece.content, _V0, layer)
    return layer


def _read_binary(data: memoryview) -> List[StoredLayer]:
    layers = []
    for piece in wire.fields(data):
        if piece.wire_type != wire.BYTES or piece.number not in (2, 100):
            continue
        numbers = _CURRENT if piece.number == 100 else _V1
        layers.append(_layer(piece.content, numbers, StoredLayer()))
    return layers


def _read_hdf5(path: str) -> List[StoredLayer]:
    try:
        import h5py
    except ImportError as error:
        raise ExportError(
            f"{path}: reading HDF5 needs h5py (pip install h5py), or save the weights "
            "as .caffemodel") from error
    layers = []
    with h5py.File(path, "r") as file:
        data = file.get("data")
        if not isinstance(data, h5py.Group):
            raise ExportError(f"{path}: has no group 'data', so Caffe did not write it")
        for name in data:
            group = data.get(name)
            if not isinstance(group, h5py.Group):
                raise ExportError(f"{path}: '{name}' is not a group of blobs")
            layers.append(StoredLayer(name=name))
            for i in range(len(group)):
                blob = group.get(str(i))
                if not isinstance(blob, h5py.Dataset) or blob.dtype.kind not in "fiu":
                    raise ExportError(f"{path}: layer '{name}', blob {i} is missing, or holds no "
                                      "numbers")
                layers[-1].blobs.append(blob[()])
    return layers


def read_weights(path: str) -> List[StoredLayer]:
    """The layers of a file of weights, in its order. Raises ExportError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            if file.read(len(HDF5_SIGNATURE)) == HDF5_SIGNATURE:
                return _read_hdf5(path)
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return _read_binary(data)
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ExportError(f"{path}: is not a caffemodel, or is damaged: {error}") from error
