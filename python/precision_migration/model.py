"""Files of weights whose elements change and nothing else.

What is not an element of a blob passes from file to file byte for byte, whatever version or fork
wrote it.
"""
from typing import BinaryIO, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import MigrationError
from .caffe_modules import wire
from .conversion import DOUBLE, FLOAT, FLOAT16, NAMES, Counts, LayerConversion, convert

LARGEST_FILE = (2 << 30) - 1  # what protobuf, and so other readers in Python, can take
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"

# Field numbers of caffe.proto.
NET_LAYERS, NET_LAYER = 2, 100
V1_LAYER = 1
LAYER_NAME, LAYER_TYPE, LAYER_BOTTOM, LAYER_TOP = 1, 2, 3, 4
BLOB_LEGACY_SHAPE = (1, 2, 3, 4)
BLOB_DATA, BLOB_DIFF, BLOB_SHAPE, BLOB_DOUBLE_DATA, BLOB_DOUBLE_DIFF = 5, 6, 7, 8, 9
BLOB_RAW_TYPE, BLOB_RAW_DIFF_TYPE, BLOB_RAW_DATA, BLOB_RAW_DIFF = 10, 11, 12, 13
_ELEMENTS = (BLOB_DATA, BLOB_DIFF, BLOB_DOUBLE_DATA, BLOB_DOUBLE_DIFF, BLOB_RAW_TYPE,
             BLOB_RAW_DIFF_TYPE, BLOB_RAW_DATA, BLOB_RAW_DIFF)
# The schema's enum Type, where it can hold weights.
_RAW_TYPES = {0: DOUBLE, 1: FLOAT, 2: FLOAT16, 3: np.dtype("<i4"), 4: np.dtype("<u4")}
_RAW_NUMBERS = {dtype: number for number, dtype in _RAW_TYPES.items()}


class _Numbers(NamedTuple):
    blobs: int
    name: int
    type: int  # 0: the form has none


_FORMS = {"V0": _Numbers(50, 1, 0), "V1": _Numbers(6, 4, 0),
          "today": _Numbers(7, LAYER_NAME, LAYER_TYPE)}


class ModelBlob:
    """A blob of such a file: its shape, its elements (flat), and the rest of its encoding."""

    def __init__(self, shape: Sequence[int], values: np.ndarray, rest: Optional[bytes] = None):
        self.shape = tuple(shape)
        self.values = values
        self.rest = _encoded_shape(shape) if rest is None else rest


class ModelLayer:
    """A layer of such a file."""

    def __init__(self, form: str = "today", name: str = "", type_: str = "", rest: bytes = b""):
        self.form = form
        self.name = name
        self.type = type_       # empty in V0 and V1
        self.outer = b""        # V0: the encoded connection around the layer
        self.rest = rest        # the encoded layer without its blobs
        self.blobs: List[ModelBlob] = []


class LayerIdentity(NamedTuple):
    """What a prototxt says about a layer."""

    name: str
    type: str
    bottoms: List[str]
    tops: List[str]
    param_names: List[str]  # per blob: the name under which it is shared, "" if it is not


class Storage(NamedTuple):
    """How the blobs of a layer are to be stored."""

    type: np.dtype
    raw: bool  # raw_data; else `data`, which needs FLOAT
    clamp: bool


def _encoded_shape(shape: Sequence[int]) -> bytes:
    axes = b"".join(wire.varint(int(axis)) for axis in shape)
    return wire.encoded(BLOB_SHAPE, wire.encoded(1, axes) if shape else b"")


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def _shape(message: memoryview) -> List[int]:
    return [_signed(axis, 64) for field in wire.fields(message) if field.number == 1
            for axis in wire.varints(field)]


def _numbers(pieces: List[memoryview], dtype: np.dtype) -> np.ndarray:
    """Elements from the contents of fields, packed or one by one."""
    for piece in pieces:
        if len(piece) % dtype.itemsize:
            raise MigrationError(
                f"{len(piece)} bytes are not a whole number of {NAMES[dtype]} elements")
    if len(pieces) == 1:
        return np.frombuffer(pieces[0], dtype)
    return np.frombuffer(b"".join(pieces), dtype)


def _read_blob(message: memoryview) -> ModelBlob:
    pieces: Dict[int, List[memoryview]] = {number: [] for number in _ELEMENTS}
    shape: List[int] = []
    legacy = [0, 0, 0, 0]
    is_legacy = False
    raw_type = None
    rest = []
    for field in wire.fields(message):
        if field.number not in _ELEMENTS:
            rest.append(bytes(field.whole))
        if field.number in BLOB_LEGACY_SHAPE and field.wire_type == wire.VARINT:
            legacy[field.number - 1] = _signed(field.content, 32)
            is_legacy = True
        elif field.number == BLOB_SHAPE and field.wire_type == wire.BYTES:
            shape += _shape(field.content)
        elif field.number == BLOB_RAW_TYPE:
            raw_type = field.content
        elif field.number in pieces and field.wire_type != wire.VARINT:
            pieces[field.number].append(field.content)
    if any(pieces[BLOB_DOUBLE_DATA]):
        values = _numbers(pieces[BLOB_DOUBLE_DATA], DOUBLE)
    elif any(pieces[BLOB_DATA]):
        values = _numbers(pieces[BLOB_DATA], FLOAT)
    elif any(pieces[BLOB_RAW_DATA]):
        if raw_type not in _RAW_TYPES:
            raise MigrationError("raw_data without a raw_data_type" if raw_type is None else
                                 f"raw_data: type number {raw_type} cannot hold weights; FLOAT, "
                                 "FLOAT16 or DOUBLE can")
        values = _numbers(pieces[BLOB_RAW_DATA][-1:], _RAW_TYPES[raw_type])
    else:
        values = np.empty(0, FLOAT)
    return ModelBlob(legacy if is_legacy else shape, values, b"".join(rest))


def _read_layer(form: str, message: memoryview, file: str) -> ModelLayer:
    layer = ModelLayer(form)
    numbers = _FORMS[form]
    blobs = []
    rest = []
    for field in wire.fields(message):
        if field.wire_type == wire.BYTES and field.number == numbers.blobs:
            blobs.append(field.content)
            continue
        rest.append(bytes(field.whole))
        if field.wire_type == wire.BYTES and field.number == numbers.name:
            layer.name = wire.string(field)
        elif field.wire_type == wire.BYTES and field.number == numbers.type:
            layer.type = wire.string(field)
    layer.rest = b"".join(rest)
    for content in blobs:
        try:
            layer.blobs.append(_read_blob(content))
        except (MigrationError, ValueError) as error:
            raise MigrationError(
                f"{file}: layer '{layer.name}', blob {len(layer.blobs)}: {error}") from None
    return layer


def _read_old_layer(message: memoryview, file: str) -> ModelLayer:
    inner = [field.content for field in wire.fields(message)
             if field.number == V1_LAYER and field.wire_type == wire.BYTES]
    if not inner:
        return _read_layer("V1", message, file)
    layer = _read_layer("V0", inner[-1], file)
    layer.outer = wire.without(message, lambda field: field.number == V1_LAYER
                               and field.wire_type == wire.BYTES)
    return layer


class ModelLayers:
    """The layers of a file of weights."""

    def __init__(self) -> None:
        self.head = b""  # the encoded net without its layers
        self.layers: List[ModelLayer] = []

    def write(self, storage_of: Callable[[ModelLayer], Storage],
              file: BinaryIO) -> List[LayerConversion]:
        """Writes everything, elements as ``storage_of`` wants them for each layer, and reports."""
        report = []
        file.write(self.head)
        for layer in self.layers:
            storage = storage_of(layer)
            blobs, counts = [], Counts()
            for index, blob in enumerate(layer.blobs):
                try:
                    encoded, some = _encode_blob(blob, storage)
                except MigrationError as error:
                    raise MigrationError(f"layer '{layer.name}', blob {index}: {error}") from None
                blobs.append(wire.header(_FORMS[layer.form].blobs, len(encoded)) + encoded)
                counts = counts.plus(some)
            _write_layer(layer, blobs, file)
            if blobs:
                report.append(LayerConversion(layer.name, NAMES[storage.type], counts))
        return report


def _encode_blob(blob: ModelBlob, storage: Storage) -> Tuple[bytes, Counts]:
    count = 1
    for axis in blob.shape:
        count *= axis
    if min(blob.shape, default=0) < 0 or count != blob.values.size:
        shape = " x ".join(str(axis) for axis in blob.shape) or "(scalar)"
        raise MigrationError(f"the shape {shape} has {count} elements, and the file holds "
                             f"{blob.values.size}")
    if blob.values.size == 0:
        return blob.rest, Counts()
    if blob.values.dtype.kind != "f":
        if not storage.raw:
            raise MigrationError(f"{NAMES[blob.values.dtype]} elements cannot become "
                                 f"{NAMES[storage.type]}")
        values, counts = blob.values, Counts(blob.values.size)
    else:
        values, counts = convert(blob.values, storage.type, storage.clamp)
    if not storage.raw:
        return blob.rest + wire.encoded(BLOB_DATA, values.tobytes()), counts
    return (blob.rest + wire.encoded_varint(BLOB_RAW_TYPE, _RAW_NUMBERS[values.dtype])
            + wire.encoded(BLOB_RAW_DATA, values.tobytes())), counts


def _write_layer(layer: ModelLayer, blobs: List[bytes], file: BinaryIO) -> None:
    inner = len(layer.rest) + sum(len(blob) for blob in blobs)
    if layer.form == "V0":
        header = wire.header(V1_LAYER, inner)
        file.write(wire.header(NET_LAYERS, len(layer.outer) + len(header) + inner))
        file.write(layer.outer + header)
    else:
        file.write(wire.header(NET_LAYERS if layer.form == "V1" else NET_LAYER, inner))
    file.write(layer.rest)
    for blob in blobs:
        file.write(blob)


def read_caffemodel(name: str) -> ModelLayers:
    """A caffemodel of any age, of less than 2 GB."""
    with open(name, "rb") as file:
        file.seek(0, 2)
        size = file.tell()
        if size > LARGEST_FILE:
            raise MigrationError(
                f"{name}: {size} bytes are more than the 2 GB that protobuf reads in Python; "
                "tools/upgrade_net_fp16 converts files of any size")
        file.seek(0)
        contents = memoryview(file.read())
    if not contents:
        raise MigrationError(f"{name}: the file is empty")
    model = ModelLayers()
    head = []
    try:
        for field in wire.fields(contents):
            if field.wire_type == wire.BYTES and field.number == NET_LAYER:
                model.layers.append(_read_layer("today", field.content, name))
            elif field.wire_type == wire.BYTES and field.number == NET_LAYERS:
                model.layers.append(_read_old_layer(field.content, name))
            else:
                head.append(bytes(field.whole))
    except ValueError as error:
        raise MigrationError(f"{name}: a caffemodel is needed: {error}; the file is truncated or "
                             "damaged, or of another kind") from None
    model.head = b"".join(head)
    return model


def read_hdf5(name: str, identities: List[LayerIdentity]) -> ModelLayers:
    """An HDF5 file (data/LAYER/INDEX), which says nothing of a layer but its blobs.

    A blob that is missing because it is shared is taken from the first layer that has one of that
    name.
    """
    try:
        import h5py
    except ImportError:
        raise MigrationError(f"{name}: this is an HDF5 file, which needs h5py (pip install h5py); "
                             "tools/upgrade_net_fp16 does without") from None
    model = ModelLayers()
    shared: Dict[str, ModelBlob] = {}
    with h5py.File(name, "r") as file:
        if "data" not in file:
            raise MigrationError(f"{name}: there is no group 'data': this is not an HDF5 file of a "
                                 "net's parameters")
        for identity in identities:
            if identity.name in file["data"]:
                group = file["data"][identity.name]
                model.layers.append(_read_group(group, identity, shared, name))
    return model


def _read_group(group, identity: LayerIdentity, shared: Dict[str, ModelBlob],
                file: str) -> ModelLayer:
    rest = wire.encoded(LAYER_NAME, identity.name.encode())
    if identity.type:
        rest += wire.encoded(LAYER_TYPE, identity.type.encode())
    for number, blobs in ((LAYER_BOTTOM, identity.bottoms), (LAYER_TOP, identity.tops)):
        rest += b"".join(wire.encoded(number, blob.encode()) for blob in blobs)
    layer = ModelLayer("today", identity.name, identity.type, rest)
    left = len(group)
    index = 0
    while left > 0 or index < len(identity.param_names):
        param = identity.param_names[index] if index < len(identity.param_names) else ""
        if str(index) in group:
            values = np.asarray(group[str(index)])
            layer.blobs.append(ModelBlob(values.shape, values.astype(FLOAT).ravel()))
            if param:
                shared.setdefault(param, layer.blobs[-1])
            left -= 1
        elif param in shared:
            layer.blobs.append(shared[param])
        elif left:
            raise MigrationError(f"{file}: layer '{identity.name}', blob {index}: it is missing, "
                                 "and no layer before shares it")
        else:
            break
        index += 1
    return layer


def read_model(name: str, identities: List[LayerIdentity]) -> ModelLayers:
    """A file of weights of either kind, told apart by content."""
    with open(name, "rb") as file:
        is_hdf5 = file.read(len(HDF5_SIGNATURE)) == HDF5_SIGNATURE
    return read_hdf5(name, identities) if is_hdf5 else read_caffemodel(name)
