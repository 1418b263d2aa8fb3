"""The messages of Caffe's files, see :mod:`caffe.proto.caffe_pb2`."""
import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """``import caffe`` is enough for ``caffe.proto.caffe_pb2``, which is made when first asked for."""
    if name == "caffe_pb2":
        return importlib.import_module(".caffe_pb2", __name__)
    raise AttributeError(f"module 'caffe.proto' has no attribute '{name}'")
