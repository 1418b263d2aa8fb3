"""The common part of the programs next to this package: their flags for images, and how they
fail."""
from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, Callable, Optional

import numpy as np
from google.protobuf.message import DecodeError

from .io import Transformer, blobproto_to_array
from .proto import caffe_pb2

# Means of blue, green and red over the training images of ILSVRC 2012, from 0 to 255.
ILSVRC_MEAN = "104.007,116.669,122.679"


def run(main: Callable[[], None]) -> None:
    """Runs a program; what is wrong with files, flags or the installation becomes one line and exit
    1."""
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError, ImportError, RuntimeError, MemoryError,
            argparse.ArgumentTypeError) as error:
        program = os.path.basename(sys.argv[0])
        text = " ".join(str(error).split())
        sys.exit(f"{program}: {text or type(error).__name__}")


@contextlib.contextmanager
def about(what: str) -> Iterator[None]:
    """A ValueError of the block says that it is about ``what``, a file or a flag."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def numbers(text: str) -> list[float]:
    """'2, 1, 0' as numbers. Raises ArgumentTypeError for anything else."""
    try:
        return [float(part) for part in text.split(",")] if text else []
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of numbers such as 2,1,0") from None


def whole_numbers(text: str) -> list[int]:
    """'2, 1, 0' as whole numbers. Raises ArgumentTypeError for anything else."""
    values = numbers(text)
    if not all(value.is_integer() for value in values):  # nor infinity nor NaN is one
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers such as 2,1,0")
    return [int(value) for value in values]


def mean_of(text: str) -> Optional[np.ndarray]:
    """The mean that a flag names: a .npy or .binaryproto file, or one value a channel; None for
    ''."""
    if not text:
        return None
    if os.path.exists(text) or text.endswith((".npy", ".binaryproto")):
        return _mean_file(text)
    return np.array(numbers(text), dtype=np.float32)


def array_of(path: str) -> np.ndarray:
    """The array of a .npy file. Raises ValueError with the file's name where it has no numbers."""
    try:
        array = np.load(path)
    except OSError:
        raise
    except Exception as error:  # numpy parses the header as Python, and an archive as zipfile does
        raise ValueError(f"{path} cannot be read as a .npy file: {error}") from error
    if not isinstance(array, np.ndarray):  # numpy looks at what is in a file, not at its name
        raise ValueError(f"{path} is an archive (.npz): write the one array with numpy.save")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{path} has elements of the type {array.dtype}, which are no numbers")
    return array


def _mean_file(path: str) -> np.ndarray:
    if path.endswith(".npy"):
        return array_of(path)
    with open(path, "rb") as file:
        data = file.read()
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", RuntimeWarning)
            mean = blobproto_to_array(caffe_pb2.BlobProto.FromString(data))
        if noted:  # some versions of protobuf only warn of a message that ends before its file
            raise ValueError(noted[0].message)
    except (DecodeError, ValueError) as error:
        raise ValueError(f"{path} is neither a .npy nor a .binaryproto file, or it is damaged: "
                         f"{error}") from error
    return mean[0] if mean.ndim == 4 else mean


def add_net_flags(parser: argparse.ArgumentParser, model: str) -> None:
    """Flags for the net of a published model, ``models/MODEL``, and for the processor."""
    folder = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "..", "models", model))
    parser.add_argument("--model_def", default=os.path.join(folder, "deploy.prototxt"),
                        metavar="FILE", help="the net (default: models/%s/deploy.prototxt)" % model)
    parser.add_argument("--pretrained_model", default=os.path.join(folder, model + ".caffemodel"),
                        metavar="FILE",
                        help="its weights (default: models/%s/%s.caffemodel)" % (model, model))
    parser.add_argument("--gpu", action="store_true", help="compute on the GPU")


def add_image_flags(parser: argparse.ArgumentParser) -> None:
    """Flags for the steps of :class:`caffe.io.Transformer`."""
    parser.add_argument("--mean_file", default=None, metavar="FILE|VALUES",
                        help="the mean to subtract: a .npy or .binaryproto file, or one value a "
                        f"channel (default for colour: {ILSVRC_MEAN}, of B, G and R; '' for none)")
    parser.add_argument("--raw_scale", type=float, default=255.0, metavar="X",
                        help="multiply by this before the mean; images are from 0 to 1 "
                        "(default: 255)")
    parser.add_argument("--input_scale", type=float, metavar="X",
                        help="multiply by this after the mean")
    parser.add_argument("--channel_swap", type=whole_numbers, metavar="I,J,K",
                        help="the order of channels; 2,1,0 makes BGR of RGB "
                        "(default for colour: 2,1,0)")


def set_image_steps(net: Any, arguments: Any) -> None:
    """Gives a Classifier or Detector the steps of the flags; some defaults depend on its
    channels."""
    name = net.inputs[0]
    shape = net.blobs[name].data.shape
    mean, swap = arguments.mean_file, arguments.channel_swap
    if mean is None:
        mean = ILSVRC_MEAN if shape[1] == 3 else ""
    if swap is None:
        swap = [2, 1, 0] if shape[1] == 3 else []
    values = mean_of(mean)
    transformer = Transformer.for_images(name, shape, raw_scale=arguments.raw_scale,
                                         input_scale=arguments.input_scale)
    if values is not None:
        with about(f"--mean_file {mean}"):
            transformer.set_mean(name, values)
    if swap:
        with about("--channel_swap"):
            transformer.set_channel_swap(name, swap)
    net.transformer = transformer


def set_mode(gpu: bool) -> None:
    """GPU or CPU, and says which."""
    import caffe
    if gpu:
        caffe.set_mode_gpu()
    else:
        caffe.set_mode_cpu()
    print("GPU mode" if gpu else "CPU mode")

