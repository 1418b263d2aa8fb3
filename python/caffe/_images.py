"""Images from files, with whichever library is installed: Pillow or OpenCV."""
from __future__ import annotations

import io
import os
import urllib.request
from typing import IO, Callable, Union

import numpy as np

_Reader = Callable[[bytes], np.ndarray]

_URLS = ("file:", "http:", "https:", "ftp:")


def _pillow() -> _Reader:
    from PIL import Image

    def read(data: bytes) -> np.ndarray:
        with Image.open(io.BytesIO(data)) as image:
            if image.mode.startswith("I"):  # 16 bits, which some versions widen to 32
                return np.array(image).astype(np.uint16)
            if image.mode in ("1", "L", "LA"):
                return np.array(image.convert("L"))
            return np.array(image if image.mode == "F" else image.convert("RGB"))

    return read


def _opencv() -> _Reader:
    import cv2

    def read(data: bytes) -> np.ndarray:
        # "Unchanged" keeps 16 bits and grey images, and leaves the turning of cameras alone.
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        if image is None:
            raise ValueError("OpenCV cannot read it")
        return image if image.ndim == 2 else image[:, :, 2::-1]

    return read


def _reader() -> _Reader:
    for library in (_pillow, _opencv):
        try:
            return library()
        except ImportError:
            continue
    raise ImportError("images are read with Pillow or OpenCV, and neither is installed: "
                      "pip install Pillow")


def decode(data: bytes, name: str) -> np.ndarray:
    """The pixels of a compressed image as its file has them: H x W for grey, H x W x 3 for RGB.

    uint8, or uint16 for 16 bits a channel. Transparency is left out, and images are not turned,
    whatever a camera wrote about its position. Raises ValueError with ``name`` when the data is not
    an image, ImportError when no library is there to read it.
    """
    read = _reader()
    try:
        return read(data)
    except Exception as error:  # each library and each format has its own errors
        raise ValueError(f"{name} cannot be read as an image: {error}") from error


def read(source: Union[str, os.PathLike[str], IO[bytes]]) -> np.ndarray:
    """:func:`decode` of a path, a URL or an open file. Raises OSError when it cannot be opened."""
    if hasattr(source, "read"):
        return decode(source.read(), str(getattr(source, "name", "the open file")))
    if isinstance(source, str) and source.lower().startswith(_URLS):
        with urllib.request.urlopen(source) as file:
            return decode(file.read(), source)
    with open(source, "rb") as file:
        return decode(file.read(), os.fspath(source))


def as_unit_floats(pixels: np.ndarray) -> np.ndarray:
    """float32 values from 0 to 1, whatever the type: integers are divided by their largest
    value."""
    if np.issubdtype(pixels.dtype, np.floating):
        return pixels.astype(np.float32)
    if pixels.dtype == np.bool_:
        return pixels.astype(np.float32)
    return (pixels / float(np.iinfo(pixels.dtype).max)).astype(np.float32)
