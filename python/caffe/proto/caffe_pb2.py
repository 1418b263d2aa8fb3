"""The messages of every file that a Caffe user owns: ``NetParameter``, ``Datum``, ...

The classes are made when this module is imported, from the compiled schema ``caffe.desc`` next to it,
which the build writes. So they fit whatever version of Python's protobuf is installed, 3.20 or later;
modules that protoc generates fit few versions. In a source tree that was not built, ``protoc`` or
``grpcio-tools`` compiles the schema on the way.
"""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

try:
    from google.protobuf import descriptor_pb2 as _descriptor_pb2
    from google.protobuf import descriptor_pool as _descriptor_pool
    from google.protobuf.internal import builder as _builder
except ImportError as error:
    raise ImportError(
        "caffe needs Python's protobuf, version 3.20 or later: pip install 'protobuf>=3.20' "
        f"({error})") from error

_HERE = os.path.dirname(os.path.abspath(__file__))
_COMPILED = os.path.join(_HERE, "caffe.desc")
_SCHEMA = os.path.join(_HERE, "..", "..", "..", "src", "caffe", "proto", "caffe.proto")


def _compile(schema: str) -> bytes:
    """The serialized ``FileDescriptorSet`` of a .proto file."""
    if shutil.which("protoc"):
        compiler = ["protoc"]
    elif importlib.util.find_spec("grpc_tools"):
        compiler = [sys.executable, "-m", "grpc_tools.protoc"]
    else:
        raise ImportError(
            f"{_COMPILED} is not there: build Cortado, or install protoc (Debian: "
            "protobuf-compiler) or grpcio-tools (pip), which compile it from caffe.proto")
    with tempfile.TemporaryDirectory() as folder:
        compiled = os.path.join(folder, "caffe.desc")
        subprocess.run(compiler + ["-I" + os.path.dirname(schema), "--descriptor_set_out=" + compiled,
                                   os.path.basename(schema)], check=True)
        with open(compiled, "rb") as file:
            return file.read()


def _load() -> bytes:
    """The compiled schema: the build's, or, where the schema is newer or nothing is built, a new one."""
    in_source_tree = os.path.exists(_SCHEMA)
    if os.path.exists(_COMPILED) and not (
            in_source_tree and os.path.getmtime(_COMPILED) < os.path.getmtime(_SCHEMA)):
        with open(_COMPILED, "rb") as file:
            return file.read()
    if not in_source_tree:
        raise ImportError(f"{_COMPILED} is not there: install the package again")
    return _compile(_SCHEMA)


_files = _descriptor_pb2.FileDescriptorSet.FromString(_load())
DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(_files.file[0].SerializeToString())
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())
