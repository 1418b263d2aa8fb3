"""Modules of the package ``caffe`` that are Python alone, without the package around them, which
loads the compiled library."""
import importlib.util
import os
import sys

from . import MigrationError

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "caffe")


def load(name: str):
    """``caffe.NAME``, by its path. A later import of the module gets this one."""
    full_name = "caffe." + name
    if full_name in sys.modules:
        return sys.modules[full_name]
    spec = importlib.util.spec_from_file_location(
        full_name, os.path.join(_PACKAGE, *name.split(".")) + ".py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise MigrationError(str(error)) from None
    sys.modules[full_name] = module
    return module


wire = load("_wire")
