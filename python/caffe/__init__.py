"""Caffe for Python: ``caffe.Net``, solvers, layers, and the tools around them.

    import caffe
    net = caffe.Net('deploy.prototxt', 'net.caffemodel', caffe.TEST)
    net.blobs['data'].data[...] = image
    probabilities = net.forward()['prob']

What needs the compiled module ``caffe._caffe`` says so when it is asked for and was not built;
``caffe.proto.caffe_pb2`` and other modules that are Python alone work without it.
"""
import contextlib
import importlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any, Dict, List, Set

if TYPE_CHECKING:
    from .pycaffe import (  # noqa: F401
        NCCL, TEST, TRAIN, AdaDeltaSolver, AdaGradSolver, AdamSolver, Blob, Error, Layer,
        LayerBase, LayerParameter, NesterovSolver, Net, RMSPropSolver, SAGSolver, SGDSolver, Solver,
        Timer, __version__, create_layer, get_solver, has_nccl, init_log, layer_type_list, limits, log, set_device,
        set_devices, set_gpu_fallback, set_ignore_unknown_fields, set_limits, set_logging_disabled,
        set_mode_cpu, set_mode_gpu, set_multiprocess, set_phase_test, set_phase_train, set_random_seed,
        set_solver_count, set_solver_rank, set_threads, solver_count, solver_rank, threads)

#: What is made on the compiled module, in :mod:`caffe.pycaffe`.
_COMPILED_NAMES = [
    "AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "Blob", "Error", "Layer",
    "LayerBase", "LayerParameter", "NCCL", "NesterovSolver", "Net", "RMSPropSolver", "SAGSolver",
    "SGDSolver", "Solver",
    "TEST", "TRAIN", "Timer", "__version__", "create_layer", "get_solver", "has_nccl", "init_log",
    "layer_type_list", "limits", "log", "set_device", "set_devices", "set_gpu_fallback",
    "set_ignore_unknown_fields", "set_limits", "set_logging_disabled", "set_mode_cpu", "set_mode_gpu",
    "set_multiprocess", "set_phase_test", "set_phase_train", "set_random_seed",
    "set_solver_count", "set_solver_rank", "set_threads", "solver_count", "solver_rank", "threads",
]

#: What lies in modules of its own, imported when it is first asked for.
_ELSEWHERE = {
    "Classifier": "classifier", "Detector": "detector", "params": "net_spec", "NetSpec": "net_spec",
    "to_proto": "net_spec",
}
_MODULES = ["classifier", "coord_map", "detector", "draw", "inference", "io", "layers",
            "model_libs", "net_spec", "proto", "pycaffe"]

# Scripts count on `import google.protobuf as pb2; pb2.text_format` behind `import caffe`.
with contextlib.suppress(ImportError):  # caffe_pb2 says what to install
    importlib.import_module("google.protobuf.text_format")


def _early_settings() -> Dict[str, str]:
    """What libgomp and OpenBLAS, which NumPy may load before the compiled module can say it, are
    told as src/caffe/openmp_settings/openmp_settings.cpp tells them."""
    settings = {}
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & set(os.environ):
        settings["GOMP_SPINCOUNT"] = "3000"
    if "OPENBLAS_CORETYPE" in os.environ:
        return settings
    flags: Set[str] = set()
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="ascii",
                                            errors="replace") as file:
        text = file.read(1 << 14)
        flags = set(text.split("\nflags", 1)[-1].split("\n", 1)[0].split())
        flags |= {"intel"} if "GenuineIntel" in text else set()
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        settings["OPENBLAS_CORETYPE"] = "SkylakeX"
    elif {"avx2", "fma", "intel"} <= flags:
        settings["OPENBLAS_CORETYPE"] = "Haswell"
    return settings


if importlib.util.find_spec("caffe._caffe") is not None:
    _SETTINGS = _early_settings()
    os.environ.update(_SETTINGS)
    try:
        from . import pycaffe as _pycaffe
    finally:
        for _name in _SETTINGS:  # child processes do not inherit them
            del os.environ[_name]
    globals().update({name: getattr(_pycaffe, name) for name in _COMPILED_NAMES})

__all__ = [name for name in _COMPILED_NAMES if name != "__version__"] + [*_ELSEWHERE, "layers"]


def _what_to_build() -> str:
    """Says what is missing where the compiled module is."""
    folder = os.path.dirname(os.path.abspath(__file__))
    others = sorted(name for name in os.listdir(folder)
                    if name.startswith("_caffe.") and name.endswith(".so"))
    if others:
        return (f"the compiled module caffe._caffe in {folder} is for another Python "
                f"({', '.join(others)}): build it for this one (cmake -DPython_EXECUTABLE=...)")
    return (f"the compiled module caffe._caffe is not in {folder}: build Cortado with "
            "-DBUILD_python=ON, or install the package with pip")


def __getattr__(name: str) -> Any:
    """Modules and what lies in them, when first asked for; why there is no compiled module."""
    if name in _COMPILED_NAMES and name != "__version__":
        raise ImportError(f"caffe.{name}: {_what_to_build()}")
    if name in _ELSEWHERE:
        value = getattr(importlib.import_module("." + _ELSEWHERE[name], __name__), name)
    elif name in _MODULES:
        value = importlib.import_module("." + name, __name__)
    else:
        raise AttributeError(f"module 'caffe' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__) | set(_MODULES))
