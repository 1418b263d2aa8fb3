"""The common part of benchmarks of several programs: processes that take turns, and what the other
programs need.

A worker is a process that answers each line with a number of iterations on standard input by as
many times in milliseconds on one line.
"""
from __future__ import annotations

import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKERS = os.path.join(ROOT, "benchmarks", "nets", "workers.py")
TURN_SECONDS = 0.25
# The nets of models/ that take images of ImageNet's size or SSD's, and how large those are.
LARGE_NETS = {"bvlc_alexnet": 227, "squeezenet_v1.1": 227, "bvlc_googlenet": 224, "resnet18": 224,
              "resnet50": 224, "mobilenet_v1": 224, "mobilenet_v2": 224, "vgg16": 224,
              "ssd300_vgg16": 300}

# The programs in Python: what each imports, itself first, and how to install that.
PEERS = {
    "OpenCV": (["cv2", "numpy"], "Debian: apt-get install python3-opencv"),
    "OpenVINO": (["openvino", "onnx", "google.protobuf", "numpy"],
                 "pip install openvino onnx protobuf"),
    "onnxruntime": (["onnxruntime", "onnx", "google.protobuf", "numpy"],
                    "pip install onnxruntime onnx protobuf"),
    "ncnn": (["ncnn", "google.protobuf", "numpy"], "pip install ncnn protobuf numpy"),
    "PyTorch": (["torch"], "Debian: apt-get install python3-torch"),
}


def peak_megabytes(pid: int) -> float:
    """The most memory that a running process has had resident."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return float("nan")


class Worker:
    """A process that times one program on one net."""

    def __init__(self, program: str, command: Sequence[str], threads: int) -> None:
        self.program = program
        self.times: List[float] = []
        self.turn_medians: List[float] = []
        self.peak_megabytes = float("nan")
        self.iterations = 1
        self._errors = tempfile.TemporaryFile("w+")
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), GLOG_minloglevel="1")
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors)

    @property
    def quiet_median(self) -> float:
        """Milliseconds: the median of the turn that was disturbed least. A virtual machine's cores
        are not always two cores of the machine below; turns that got less differ by half."""
        return min(self.turn_medians)

    def run(self, iterations: int) -> List[float]:
        """Their times in milliseconds. Raises RuntimeError with the program's last line."""
        try:
            self._process.stdin.write(f"{iterations}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._errors.seek(0)
            lines = self._errors.read().strip().splitlines() or ["no message"]
            raise RuntimeError(f"{self.program} ended with status {self._process.returncode}: "
                               f"{lines[-1]}")
        return [float(word) for word in line.split()]

    def warm_up(self) -> None:
        """Finds out how many iterations fill a turn."""
        self.run(2)
        step = statistics.median(self.run(3))
        self.iterations = max(1, min(1000, int(TURN_SECONDS * 1000 / max(step, 0.001))))

    def turn(self) -> None:
        """Adds the times of a turn."""
        times = self.run(self.iterations)
        self.times += times
        self.turn_medians.append(statistics.median(times))

    def close(self) -> None:
        """Ends the process."""
        self.peak_megabytes = peak_megabytes(self._process.pid)
        self._process.stdin.close()
        self._process.wait()


def take_turns(commands: Iterable[Tuple[str, Sequence[str]]], threads: int, rounds: int,
               title: str) -> List[Worker]:
    """Workers, of (program, command), with their times; those that fail are reported and left
    out. All are alive at once and take turns, so that a noisy machine is noisy for all of them."""
    workers = []
    for program, command in commands:
        worker = Worker(program, command, threads)
        try:
            worker.warm_up()
            workers.append(worker)
        except RuntimeError as error:
            print(f"left out, {title}: {error}", file=sys.stderr)
    for number in range(rounds):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{title}: round {number + 1} of {rounds} \r")
        # Workers take turns at being first.
        for i in range(len(workers)):
            workers[(i + number) % len(workers)].turn()
            time.sleep(0.02)
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    for worker in workers:
        worker.close()
    return workers


def python_with(modules: Sequence[str], pythons: Sequence[str]) -> Optional[str]:
    """The first of `pythons` that imports all of `modules`."""
    for python in pythons:
        if shutil.which(python) and subprocess.run(
                [python, "-c", "import " + ", ".join(modules)], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


def find_peers(wanted: Sequence[str], pythons: str) -> Dict[str, str]:
    """The Python of each program of PEERS that is wanted and there; says which are not. `pythons`
    has commas in between; "": this one and the system's."""
    candidates = pythons.split(",") if pythons else [sys.executable, "/usr/bin/python3"]
    found = {}
    for program, (modules, install) in PEERS.items():
        if program not in wanted:
            continue
        python = python_with(modules, candidates)
        if python is None:
            print(f"{program} is left out: none of {', '.join(candidates)} imports "
                  f"{' and '.join(modules)} ({install})")
            continue
        found[program] = python
        version = subprocess.run(
            [python, "-c", f"import {modules[0]}; print({modules[0]}.__version__)"],
            capture_output=True, text=True, check=True).stdout.strip()
        print(f"{program} {version} ({python})")
    return found


def call(command: Sequence[str]) -> bool:
    """Runs a command to its end; says what is left out where it fails."""
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True, check=False)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["no message"]
        print(f"left out: {' '.join(command[1:4])}: {lines[-1]}", file=sys.stderr)
    return result.returncode == 0


def model_files(program: str, python: str, deploy: str, weights: str, shape: str,
                prefix: str) -> Optional[List[str]]:
    """The files that a peer reads a net from, for inputs of `shape` ("8,3,224,224"); None if they
    cannot be written, which is said."""
    if program == "OpenCV":
        return [deploy, weights]
    if program == "ncnn":
        written = call([python, WORKERS, "write-ncnn", deploy, weights, prefix + "_ncnn"])
        return [prefix + "_ncnn"] if written else None
    model = prefix + ".onnx"
    written = os.path.exists(model) or call(
        [python, WORKERS, "write-onnx", deploy, weights, shape, model])
    return [model] if written else None


def build(target: str, folder: str) -> None:
    """Builds a program of benchmarks/; ends this one where that fails."""
    if subprocess.run(["cmake", "--build", folder, "--target", target], stdout=subprocess.DEVNULL,
                      check=False).returncode != 0:
        sys.exit(f"{target} could not be built in {folder}: run scripts/build.sh first")


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers; at least one."""
    return math.exp(sum(math.log(value) for value in values) / len(values))
