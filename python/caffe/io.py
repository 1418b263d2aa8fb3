"""Converts images and arrays for nets and databases, and back.

    image = caffe.io.load_image('cat.jpg')                         # H x W x 3, RGB, 0 to 1
    transformer = caffe.io.Transformer({'data': net.blobs['data'].data.shape})
    transformer.set_transpose('data', (2, 0, 1))                    # channels first
    transformer.set_channel_swap('data', (2, 1, 0))                 # RGB to BGR
    transformer.set_raw_scale('data', 255)                          # 0 to 255
    transformer.set_mean('data', np.array([104, 117, 123]))         # of B, G and R
    net.blobs['data'].data[...] = transformer.preprocess('data', image)
"""
from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import IO, Any, Optional, Union

import numpy as np

from . import _images, _resize
from .proto import caffe_pb2

# The weights of red, green and blue in grey (ITU-R BT.709, as in scikit-image).
_GREY = np.array([0.2125, 0.7154, 0.0721], dtype=np.float32)

# Element types of NVCaffe's raw values, little-endian in the file.
_RAW_TYPES = {"DOUBLE": np.dtype("<f8"), "FLOAT": np.dtype("<f4"), "FLOAT16": np.dtype("<f2"),
              "INT": np.dtype("<i4"), "UINT": np.dtype("<u4"), "BOOL": np.dtype("?")}


# --- Messages ---


def _elements(blob: Any, field: str) -> np.ndarray:
    """The values of ``data`` or ``diff``, in whichever of the three forms the message has them."""
    raw = getattr(blob, f"raw_{field}")
    if raw:
        number = getattr(blob, f"raw_{field}_type")
        name = caffe_pb2.Type.Name(number)
        if name not in _RAW_TYPES:
            raise ValueError(f"BlobProto.raw_{field}_type is {name}, which has no numpy type")
        return np.frombuffer(raw, dtype=_RAW_TYPES[name]).astype(_RAW_TYPES[name].newbyteorder("="))
    double = getattr(blob, f"double_{field}")
    if len(double):
        return np.array(double, dtype=np.float64)
    return np.array(getattr(blob, field), dtype=np.float32)


def blobproto_to_array(blob: Any, return_diff: bool = False) -> np.ndarray:
    """The values of a ``BlobProto``, or its gradients, in the blob's shape.

    float32; float64 from ``double_data``; the stored type, such as float16, from NVCaffe's
    ``raw_data``. Files older than ``shape`` give the four axes num, channels, height and width.
    Raises ValueError when there are not as many values as the shape says.
    """
    values = _elements(blob, "diff" if return_diff else "data")
    old = any(blob.HasField(field) for field in ("num", "channels", "height", "width"))
    shape = ((blob.num, blob.channels, blob.height, blob.width) if old
             else tuple(blob.shape.dim))
    if int(np.prod(shape, dtype=np.int64)) != values.size:
        raise ValueError(f"the BlobProto has {values.size} values, which its shape {shape} has not")
    return values.reshape(shape)


def array_to_blobproto(arr: np.ndarray, diff: Optional[np.ndarray] = None) -> Any:
    """A ``BlobProto`` with the values and shape of ``arr``, and gradients of ``diff``."""
    arr = np.asarray(arr)
    blob = caffe_pb2.BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(arr.astype(np.float32).ravel().tolist())
    if diff is not None:
        diff = np.asarray(diff)
        if diff.shape != arr.shape:
            raise ValueError(f"diff has the shape {diff.shape}, and the data {arr.shape}")
        blob.diff.extend(diff.astype(np.float32).ravel().tolist())
    return blob


def arraylist_to_blobprotovector_str(arraylist: Sequence[np.ndarray]) -> bytes:
    """Arrays as a serialized ``BlobProtoVector``."""
    vector = caffe_pb2.BlobProtoVector()
    vector.blobs.extend([array_to_blobproto(arr) for arr in arraylist])
    return vector.SerializeToString()


#: As older versions spelt it, and NVCaffe.
arraylist_to_blobprotovecor_str = arraylist_to_blobprotovector_str


def blobprotovector_str_to_arraylist(str: bytes) -> list[np.ndarray]:
    """The arrays of a serialized ``BlobProtoVector``."""
    vector = caffe_pb2.BlobProtoVector.FromString(str)
    return [blobproto_to_array(blob) for blob in vector.blobs]


def array_to_datum(arr: np.ndarray, label: Optional[int] = None) -> Any:
    """A ``Datum``, a database's record, of a C x H x W array.

    uint8 is stored as bytes, everything else as floats. Raises ValueError for other shapes.
    """
    arr = np.asarray(arr)
    if arr.ndim != 3:
        raise ValueError(f"a Datum has the shape (channels, height, width), not {arr.shape}")
    datum = caffe_pb2.Datum()
    datum.channels, datum.height, datum.width = arr.shape
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(arr.astype(np.float32).ravel().tolist())
    if label is not None:
        datum.label = int(label)
    return datum


def datum_to_array(datum: Any) -> np.ndarray:
    """The C x H x W array of a ``Datum``: uint8 from bytes, float64 from floats.

    A compressed image (``encoded``) is decoded: B, G and R in the order of data layers, or one
    channel of grey. Transparency is left out, which data layers without ``force_color`` and
    ``force_gray`` keep as a fourth channel; 16 bits a channel, which they refuse, give uint16.
    """
    if datum.encoded:
        pixels = _images.decode(datum.data, "the encoded Datum")
        channels_last = pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels[:, :, ::-1]
        return np.ascontiguousarray(channels_last.transpose(2, 0, 1))
    shape = (datum.channels, datum.height, datum.width)
    if len(datum.data):
        values = np.frombuffer(datum.data, dtype=np.uint8).copy()
    else:
        values = np.array(datum.float_data, dtype=float)
    if values.size != int(np.prod(shape)):
        raise ValueError(f"the Datum has {values.size} values, which its shape {shape} has not")
    return values.reshape(shape)


# --- Preprocessing ---


def _absent(order: Sequence[int], channels: int) -> list[int]:
    """Those of an order of channels that are not there; numpy counts negative ones from the end."""
    return [channel for channel in order if not -channels <= channel < channels]


class Transformer:
    """Turns images as they are loaded into what a net's input takes, and back.

    ``inputs`` are the names of inputs and their shapes: ``{'data': net.blobs['data'].data.shape}``.
    Each step is off until it is set for an input. :meth:`preprocess` takes them in this order:
    resize, transpose, channel swap, raw scale, mean, input scale.
    """

    def __init__(self, inputs: Mapping[str, Sequence[int]]) -> None:
        self.inputs = {name: tuple(int(size) for size in shape) for name, shape in inputs.items()}
        self.transpose: dict[str, Sequence[int]] = {}
        self.channel_swap: dict[str, Sequence[int]] = {}
        self.raw_scale: dict[str, float] = {}
        self.mean: dict[str, np.ndarray] = {}
        self.input_scale: dict[str, float] = {}

    @classmethod
    def for_images(cls, in_: str, shape: Sequence[int], mean: Optional[np.ndarray] = None,
                   input_scale: Optional[float] = None, raw_scale: Optional[float] = None,
                   channel_swap: Optional[Sequence[int]] = None) -> Transformer:
        """One for an input of the shape N x C x H x W, with channels put first and the steps
        given."""
        transformer = cls({in_: shape})
        transformer.set_transpose(in_, (2, 0, 1))
        if mean is not None:
            transformer.set_mean(in_, mean)
        if input_scale is not None:
            transformer.set_input_scale(in_, input_scale)
        if raw_scale is not None:
            transformer.set_raw_scale(in_, raw_scale)
        if channel_swap is not None:
            transformer.set_channel_swap(in_, channel_swap)
        return transformer

    def _shape(self, in_: str) -> tuple[int, ...]:
        if in_ not in self.inputs:
            raise ValueError(f"'{in_}' is not an input of the net; they are: {', '.join(self.inputs)}")
        return self.inputs[in_]

    def preprocess(self, in_: str, data: np.ndarray) -> np.ndarray:
        """An image (H x W x K) as one item of the input ``in_``: float32, K x H x W after the
        usual transpose. The argument is left as it is.
        """
        dims = self._shape(in_)[2:]
        out = np.array(data, dtype=np.float32)
        if len(dims) == 2 and out.shape[:2] != dims:
            out = resize_image(out, dims)
        if in_ in self.transpose:
            out = out.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            order = self.channel_swap[in_]
            absent = _absent(order, len(out))
            if absent:
                raise ValueError(f"an image of the shape {out.shape}, channels first, has no "
                                 f"channel {absent[0]}, which the order {tuple(order)} of the "
                                 f"input '{in_}' takes: give images of {len(order)} channels")
            out = out[list(order)]
        if in_ in self.raw_scale:
            out = out * np.float32(self.raw_scale[in_])
        if in_ in self.mean:
            out = out - self.mean[in_].astype(np.float32)
        if in_ in self.input_scale:
            out = out * np.float32(self.input_scale[in_])
        return out

    def deprocess(self, in_: str, data: np.ndarray) -> np.ndarray:
        """The image behind one item of the input ``in_``: all steps but the resizing,
        backwards."""
        shape = self._shape(in_)
        out = np.array(data)
        if not np.issubdtype(out.dtype, np.floating):
            out = out.astype(np.float32)
        if out.ndim == len(shape) and out.shape[0] == 1:
            out = out[0]
        if in_ in self.input_scale:
            out = out / out.dtype.type(self.input_scale[in_])
        if in_ in self.mean:
            out = out + self.mean[in_].astype(out.dtype)
        if in_ in self.raw_scale:
            out = out / out.dtype.type(self.raw_scale[in_])
        if in_ in self.channel_swap:
            out = out[np.argsort(self.channel_swap[in_])]
        if in_ in self.transpose:
            return out.transpose(np.argsort(self.transpose[in_]))
        return out.squeeze()

    def set_transpose(self, in_: str, order: Sequence[int]) -> None:
        """The order of the axes: ``(2, 0, 1)`` puts an image's channels first."""
        if len(order) != len(self._shape(in_)) - 1:
            raise ValueError(f"the order {tuple(order)} names {len(order)} axes, and the input "
                             f"'{in_}' has {len(self._shape(in_)) - 1} without the number of items")
        self.transpose[in_] = order

    def set_channel_swap(self, in_: str, order: Sequence[int]) -> None:
        """The order of the channels, after the transpose: ``(2, 1, 0)`` makes BGR of RGB."""
        if len(order) != self._shape(in_)[1]:
            raise ValueError(f"the order {tuple(order)} names {len(order)} channels, and the input "
                             f"'{in_}' has {self._shape(in_)[1]}")
        absent = _absent(order, len(order))
        if absent:
            raise ValueError(f"the order {tuple(order)} names channel {absent[0]}, and the input "
                             f"'{in_}' has 0 to {len(order) - 1}")
        self.channel_swap[in_] = order

    def set_raw_scale(self, in_: str, scale: float) -> None:
        """A factor before the mean: 255 for images from 0 to 1 and a mean from 0 to 255."""
        self._shape(in_)
        self.raw_scale[in_] = scale

    def set_mean(self, in_: str, mean: np.ndarray) -> None:
        """The mean, which is subtracted: one value per channel, or an image (C x H x W, or H x W for all
        channels).

        It is in the order of channels and in the scale that the net sees. An image of another size
        is resized.
        """
        shape = self._shape(in_)
        mean = np.asarray(mean)
        if mean.ndim == 1:
            if mean.shape[0] != shape[1]:
                raise ValueError(f"the mean has {mean.shape[0]} channels, and the input '{in_}' "
                                 f"has {shape[1]}")
            self.mean[in_] = mean[:, np.newaxis, np.newaxis]
            return
        if mean.ndim == 2:
            mean = mean[np.newaxis]
        if mean.ndim != 3 or mean.shape[0] not in (1, shape[1]):
            raise ValueError(f"the mean has the shape {mean.shape}; for the input '{in_}' it is "
                             f"({shape[1]},) or {shape[1:]}")
        if mean.shape[1:] != shape[2:]:
            mean = resize_image(mean.transpose(1, 2, 0), shape[2:]).transpose(2, 0, 1)
        self.mean[in_] = mean

    def set_input_scale(self, in_: str, scale: float) -> None:
        """A factor after the mean, such as 1/128."""
        self._shape(in_)
        self.input_scale[in_] = scale


# --- Images ---


def load_image(filename: Union[str, os.PathLike[str], IO[bytes]],
               color: bool = True) -> np.ndarray:
    """An image as float32 from 0 to 1: H x W x 3, RGB, or H x W x 1 without ``color``.

    ``filename`` is a path, a URL (``file:``, ``http:``, ``https:`` or ``ftp:``) or a file that is
    open for reading bytes. Grey images get three equal channels; transparency is left out. The
    image is not turned, whatever EXIF says of its orientation. Read with Pillow or OpenCV, the
    first that is installed. Raises OSError or ValueError with the file's name.
    """
    pixels = _images.as_unit_floats(_images.read(filename))
    if pixels.ndim == 2:
        return np.tile(pixels[:, :, np.newaxis], (1, 1, 3 if color else 1))
    return pixels if color else (pixels @ _GREY)[:, :, np.newaxis]


def resize_image(im: np.ndarray, new_dims: Sequence[int], interp_order: int = 1) -> np.ndarray:
    """An H x W x K image in the size ``new_dims`` (height, width), as float32.

    ``interp_order`` 1 is linear interpolation, 0 takes the nearest pixel, 2 to 5 are splines (these
    need SciPy). The results are those that pycaffe had from scikit-image and SciPy:

    * With one or three channels the centres of pixels are at half places, and there is no smoothing
      when an image shrinks. Around the image lies its smallest value, which the outermost pixels
      mix with when an image grows. Splines are clipped to the image's smallest and largest value.
    * With other numbers of channels the corner pixels keep their places, and nothing is clipped.
    """
    im = np.asarray(im)
    dims = (int(new_dims[0]), int(new_dims[1]))
    if im.ndim != 3 or 0 in im.shape:
        raise ValueError(f"an image to resize has the shape (height, width, channels), not "
                         f"{im.shape}")
    if min(dims) < 1:
        raise ValueError(f"an image cannot have the size {dims}")
    values = im.astype(np.float32)
    if im.shape[2] not in (1, 3):
        return _resize.by_corner_pixels(values, dims, interp_order).astype(np.float32)
    lowest = values.min()
    resized = _resize.by_pixel_areas(values - lowest, dims, interp_order) + lowest
    if interp_order > 1:
        resized = resized.clip(lowest, values.max())
    return resized.astype(np.float32)


def resize(image: np.ndarray, output_shape: Sequence[int], order: int = 1, mode: str = "constant",
           cval: float = 0, clip: bool = True, preserve_range: bool = False) -> np.ndarray:
    """An image, H x W or H x W x K, in the size ``output_shape`` (height, width, perhaps K):
    scikit-image's function of 2014, which pycaffe offered under this name.

    Integers become floats from 0 to 1 unless ``preserve_range``. ``order`` is as in
    :func:`resize_image`; pixels outside count as ``cval`` (``mode`` 'constant'), and ``clip`` keeps
    splines within the range of the image. Raises ValueError for other modes, and where K changes.
    """
    image = np.asarray(image)
    if mode != "constant":
        raise ValueError(f"caffe.io.resize has no mode '{mode}', only 'constant'; "
                         "skimage.transform.resize has more")
    dims = tuple(int(size) for size in output_shape)
    if image.ndim not in (2, 3) or len(dims) not in (2, 3) or dims[2:] not in ((), image.shape[2:]):
        raise ValueError(f"an image of the shape {image.shape} cannot be resized to {dims}")
    values = (image.astype(np.float64) if preserve_range or image.dtype.kind == "f"
              else _images.as_unit_floats(image).astype(np.float64))
    planes = values.reshape(*values.shape[:2], -1) - cval
    resized = _resize.by_pixel_areas(planes, (dims[0], dims[1]), order) + cval
    if clip and order > 1:
        resized = resized.clip(min(values.min(), cval), max(values.max(), cval))
    return resized.reshape(*dims[:2], *image.shape[2:])


def oversample(images: Union[np.ndarray, Sequence[np.ndarray]],
               crop_dims: Sequence[int]) -> np.ndarray:
    """Ten cuts of each image: four corners, the centre, and the mirror images of these five.

    ``images`` are H x W x K and of one size, ``crop_dims`` the height and width of the cuts. The
    result has the shape (10 * number, height, width, K), float32. Raises ValueError when the
    images are smaller than the cuts.
    """
    images = [np.asarray(image) for image in images]
    height, width = (int(size) for size in crop_dims)
    rows, columns, channels = images[0].shape
    if height > rows or width > columns:
        raise ValueError(f"images of {rows} x {columns} have no cuts of {height} x {width}")
    corners = [(top, left) for top in (0, rows - height) for left in (0, columns - width)]
    places = corners + [((rows - height) // 2, (columns - width) // 2)]
    cuts = np.empty((10 * len(images), height, width, channels), dtype=np.float32)
    for number, image in enumerate(images):
        own = cuts[10 * number:10 * (number + 1)]
        for index, (top, left) in enumerate(places):
            own[index] = image[top:top + height, left:left + width]
        own[5:] = own[:5, :, ::-1]
    return cuts


def __getattr__(name: str) -> Any:
    """``caffe.io.skimage`` and ``caffe.io.zoom``, which pycaffe's module had: imported when they are
    asked for. Raises AttributeError where their packages are not installed."""
    try:
        if name == "skimage":
            importlib.import_module("skimage.io")
            return importlib.import_module("skimage")
        if name == "zoom":
            return importlib.import_module("scipy.ndimage").zoom
    except ImportError as error:
        package = {"skimage": "scikit-image", "zoom": "scipy"}[name]
        raise AttributeError(
            f"caffe.io.{name} needs {package}: pip install {package}") from error
    raise AttributeError(f"module 'caffe.io' has no attribute '{name}'")
