"""``L.TYPE(...)`` of :mod:`caffe.net_spec` by ``from caffe import layers as L``, and below it the
Python layers that come with the package: :mod:`caffe.layers.detectnet`."""
import importlib
import typing


def __getattr__(name: str) -> typing.Any:
    """A part of this package, or else what makes layers of the type ``name``."""
    if name == "detectnet":
        return importlib.import_module("." + name, __name__)
    # Imported here: Python layers in programs need neither net_spec nor protobuf.
    return getattr(importlib.import_module("caffe.net_spec").layers, name)
