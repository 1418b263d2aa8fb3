#!/usr/bin/env python3
"""The overhead of Python: net.forward() compared with Net::Forward in C++, and access to blobs.

    ninja -C build pycaffe forward_in_cpp
    PYTHONPATH=python benchmarks/python/run.py build

Times are microseconds, the least of several rounds: what the work costs where nothing disturbs it.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

os.environ.setdefault("GLOG_minloglevel", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import caffe  # noqa: E402
import numpy as np  # noqa: E402

PASSES, ROUNDS = 300, 30


def net_text(layers: int, type_: str) -> str:
    """A chain of layers that cost next to nothing."""
    text = (f'default_forward_type: {type_} layer {{ name: "data" type: "Input" top: "b0" '
            'input_param { shape { dim: 1 dim: 8 } } }')
    for i in range(layers):
        text += (f'layer {{ name: "l{i}" type: "Power" bottom: "b{i}" top: "b{i + 1}" '
                 'power_param { scale: 0.5 shift: 1 } }')
    return text


def microseconds(function) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(PASSES):
            function()
        best = min(best, (time.perf_counter() - start) / PASSES)
    return best * 1e6


def show_passes(build: pathlib.Path, folder: str) -> None:
    print(f"{'layers':>8} {'type':>8} {'C++':>8} {'_forward':>9} {'forward()':>10} "
          f"{'forward(x)':>11}   Python - C++ of forward()")
    for layers in (1, 10, 100):
        for type_ in ("FLOAT", "FLOAT16"):
            file = pathlib.Path(folder) / "net.prototxt"
            file.write_text(net_text(layers, type_))
            in_cpp = float(subprocess.run(
                [build / "benchmarks" / "forward_in_cpp", file, str(PASSES), str(ROUNDS)],
                check=True, capture_output=True, text=True).stdout)
            net = caffe.Net(str(file), caffe.TEST)
            values = np.ones((1, 8), np.float32)
            plain = microseconds(lambda: net._forward(0, layers))
            whole = microseconds(net.forward)
            with_input = microseconds(lambda: net.forward(b0=values))
            print(f"{layers:8} {type_:>8} {in_cpp:8.2f} {plain:9.2f} {whole:10.2f} "
                  f"{with_input:11.2f}   {whole - in_cpp:.2f}")


def show_access() -> None:
    print(f"\n{'blob of':>12} {'.data':>8}  same memory each time")
    for count in (1, 1000, 1000000, 50000000):
        blob = caffe.Blob([count])
        blob.data[0] = 1
        same = blob.data.ctypes.data == blob.data.ctypes.data
        print(f"{count:>12} {microseconds(lambda: blob.data):8.2f}  {same}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path, help="the build folder")
    build = parser.parse_args().build
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; numpy {np.__version__}\n")
    with tempfile.TemporaryDirectory() as folder:
        show_passes(build, folder)
    show_access()


if __name__ == "__main__":
    main()
