"""The tests' device and NCCL, which builds with CUDA have in the folder `doubles`."""
import ctypes
import os

import numpy as np
import pytest


def path_of(build, library):
    """The path of a library in the place of a GPU's; skips the test where it was not built."""
    path = (build / "doubles" / library).resolve()
    if not path.exists():
        pytest.skip(f"needs {library}, which builds with CUDA have")
    return path


class FakeGpu:
    """A device in the place of all GPUs: memory of the host's, in which work happens late."""

    def __init__(self, build):
        self._library = ctypes.CDLL(str(path_of(build, "libfake_gpu.so")))
        self._library.fake_gpu_allocate.restype = ctypes.c_void_p
        self._library.fake_gpu_install()

    def remove(self):
        self._library.fake_gpu_remove()

    @property
    def launches(self):
        """How many recorded runs were started."""
        return self._library.fake_gpu_launches()

    def tensor(self, values, **interface):
        return Tensor(self._library, np.asarray(values), interface)


class Tensor:
    """An array on that device, as PyTorch and others show theirs; `interface` says otherwise."""

    def __init__(self, library, values, interface):
        self._library = library
        self._values = np.ascontiguousarray(values)
        self._bytes = ctypes.c_size_t(self._values.nbytes)
        self.address = library.fake_gpu_allocate(self._bytes)
        library.fake_gpu_write(ctypes.c_void_p(self.address), self._pointer(), self._bytes)
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "data": (self.address, False),
            "version": 3, **interface}

    def __del__(self):
        self._library.fake_gpu_free(ctypes.c_void_p(self.address), self._bytes)

    def _pointer(self):
        return self._values.ctypes.data_as(ctypes.c_void_p)

    def read(self):
        self._library.fake_gpu_read(self._pointer(), ctypes.c_void_p(self.address), self._bytes)
        return self._values.copy()


def environment_with_doubles(build, folder):
    """What Python programs are started with that shall find the tests' device and NCCL; `folder`
    takes a file."""
    gpu, nccl = path_of(build, "libfake_gpu.so"), path_of(build, "libnccl.so.2")
    (folder / "sitecustomize.py").write_text(
        f"import ctypes\nctypes.CDLL({str(gpu)!r}).fake_gpu_install()\n")
    package = os.path.join(os.path.dirname(__file__), "..")
    paths = {"PYTHONPATH": [str(folder), package], "LD_LIBRARY_PATH": [str(nccl.parent)]}
    environment = dict(os.environ, GLOG_minloglevel="1", OMP_NUM_THREADS="1")
    for name, first in paths.items():
        environment[name] = os.pathsep.join([*first, os.environ.get(name, "")])
    return environment
