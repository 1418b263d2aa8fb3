#!/usr/bin/env python3
"""Times engines next to OpenVINO, onnxruntime, ncnn and OpenCV's dnn, in float and in the narrow
types that each offers, and prints Markdown tables: milliseconds (the median of the quietest turn)
and, in parentheses, how many times as long as the fastest of the row that is.

All programs and types of one net and batch are alive at once and take turns, round after round. A
program that is not there, lacks a layer or gives something else is left out with a message.

    benchmarks/inference/run.py [--nets resnet50,vgg16] [--batch 1,8] [--programs Cortado,OpenVINO]
                                [--precisions fp32,int8] [--rounds 9]

apt-get install python3-opencv and pip install openvino onnxruntime onnx ncnn protobuf numpy bring
the others; --python names the Pythons that have them. --data names a folder with trained detectors
(NAME/deploy.prototxt, NAME/weights.caffemodel); without it only the nets of models/ are timed.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from side_by_side import (LARGE_NETS, ROOT, WORKERS, Worker, build, call,  # noqa: E402
                          find_peers, geometric_mean, model_files, take_turns)

CORTADO = "Cortado"
PRECISIONS = ("fp32", "fp16", "bf16", "int8")
# Engines of integers alone: no program but ours offers them.
INTEGERS = "integers"
# INT8 with weights of a reduced range; the others' INT8 has such ones, or sums that saturate.
REDUCED = "int8_reduced"
OFFERED = {"OpenVINO": PRECISIONS, "onnxruntime": ("fp32", "int8"), "ncnn": PRECISIONS,
           "OpenCV": ("fp32", "int8")}
# How far outputs may be off, as a share of the largest value; random weights lose more than
# trained ones, so that for INT8 this finds only what is plainly wrong.
TOLERANCES = {"fp32": 1e-3, "fp16": 0.05, "bf16": 0.2, "int8": 1.0, INTEGERS: 1.0, REDUCED: 1.0}
# What an engine's time is compared with, where that was measured too.
COMPARED = {INTEGERS: "int8", REDUCED: "int8"}


class Net(NamedTuple):
    """What is timed. Without weights or an image these are random."""
    name: str
    model: str
    shape: Tuple[int, int, int]
    weights: str = ""
    image: str = ""
    transform: str = ""


# Detectors of the data folder: the shape they take, an image, and how it is prepared.
DETECTORS = (
    ("hyperlpr_mininet_ssd_v1", (3, 512, 512), "plates/zeusees_1.jpg",
     "scale: 0.007843 mean_value: 127.5"),
    ("intel_face_detection_retail_0044", (3, 300, 300), "faces_misc/linzaer_1.jpg", ""),
    ("wechat_qrcode_detect", (1, 384, 384), "qr/qrcode.jpg", "scale: 0.00392156862745098"),
    ("yufacedetectnet_v2", (3, 240, 320), "mtcnn_faces/test1.jpg",
     "mean_value: 104 mean_value: 117 mean_value: 123"),
    ("ultralight_face_rfb320", (3, 240, 320), "faces_misc/linzaer_1.jpg",
     "scale: 0.0078125 mean_value: 127"),
    ("retinaface_mnet25_charrin", (3, 640, 640), "faces_misc/linzaer_1.jpg", ""),
    ("mobilenetv2_yolov3_nano_voc", (3, 320, 320), "faces_misc/linzaer_1.jpg",
     "scale: 0.00392156862745098"),
)


def all_nets(data: str) -> Dict[str, Net]:
    """The nets of models/ and, where they are, the detectors of the data folder."""
    nets = {name: Net(name, f"models/{name}/deploy.prototxt", (3, size, size))
            for name, size in LARGE_NETS.items() if name != "resnet18"}
    for name, shape, image, transform in DETECTORS:
        folder = os.path.join(data, "models", name)
        if os.path.exists(os.path.join(folder, "weights.caffemodel")):
            nets[name] = Net(name, os.path.join(folder, "deploy.prototxt"), shape,
                             os.path.join(folder, "weights.caffemodel"),
                             os.path.join(data, "images", image), transform)
    return nets


class Case:
    """A net at a batch: its files, and the commands that time it."""

    def __init__(self, net: Net, batch: int, arguments: argparse.Namespace, folder: str) -> None:
        self.net, self.batch, self._arguments = net, batch, arguments
        programs = os.path.join(arguments.build_dir, "benchmarks")
        self._benchmark = os.path.join(programs, "inference_benchmark")
        self._prefix = os.path.join(folder, f"{net.name}_{batch}")
        self._weights = net.weights or self._prefix + ".caffemodel"
        self._table = self._prefix + ".table"
        self._shape = ",".join(map(str, (batch,) + net.shape))
        command = [os.path.join(programs, "net_benchmark"), "-deploy", net.model, "-batch",
                   str(batch), "-reference", self._prefix]
        if net.weights:
            command += ["-weights", net.weights]
        else:
            command += ["-save", self._weights]
        if net.image:
            command += ["-image", net.image, "-transform", net.transform]
        self.ready = call(command) and call([*self._engine("fp32"), "-calibrate", "-table",
                                             self._table])

    def _engine(self, precision: str) -> List[str]:
        command = [self._benchmark, "-model", self.net.model, "-weights", self._weights, "-batch",
                   str(self.batch), "-reference", self._prefix, "-precision", precision,
                   "-tolerance", str(TOLERANCES[precision]), "-timing_cache",
                   self._arguments.timing_cache]
        return command + (["-table", self._table] if precision in ("int8", INTEGERS, REDUCED) else [])

    def commands(self, peers: Dict[str, str]) -> Iterator[Tuple[str, Sequence[str]]]:
        """"Program precision" and its command, for all that can be tried."""
        for precision in self._arguments.precisions:
            if CORTADO in self._arguments.programs:
                yield f"{CORTADO} {precision}", self._engine(precision)
            for program, python in peers.items():
                if precision not in OFFERED[program]:
                    continue
                files = self._files(program, python, precision)
                if files:
                    yield f"{program} {precision}", [
                        python, WORKERS, program.lower(), *files, self._prefix, self._shape,
                        str(self._arguments.threads), precision, str(TOLERANCES[precision])]

    def _files(self, program: str, python: str, precision: str) -> Optional[List[str]]:
        files = model_files(program, python, self.net.model, self._weights, self._shape,
                            self._prefix)
        if not files or precision != "int8" or program == "OpenCV":
            return files
        if program == "ncnn":
            target = self._prefix + "_ncnn8"
            written = call([python, WORKERS, "write-ncnn", self.net.model, self._weights, target,
                            self._table])
        else:
            target = self._prefix + "_int8.onnx"
            written = os.path.exists(target) or call([python, WORKERS, "write-int8-onnx", files[0],
                                                      self._prefix, self._shape, target])
        return [target] if written else None

    def describe(self, precision: str) -> Optional[Dict[str, float]]:
        """Sizes in bytes and products of an engine; None if it cannot be built."""
        return json_of([*self._engine(precision), "-describe"], self._arguments.threads)


def json_of(command: Sequence[str], threads: int) -> Optional[Dict[str, float]]:
    """What a program prints as JSON; None, which is said, if it fails."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                            env=dict(os.environ, OMP_NUM_THREADS=str(threads)))
    if result.returncode == 0:
        return json.loads(result.stdout)
    lines = result.stderr.strip().splitlines() or ["no message"]
    print(f"left out: {' '.join(command[:3])}: {lines[-1]}", file=sys.stderr)
    return None


def table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> None:
    """Prints Markdown; the first `words` columns are aligned to the left."""
    print("\n| " + " | ".join(header) + " |")
    print("| " + " | ".join("---" if i < words else "---:" for i in range(len(header))) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.stdout.flush()


class Results:
    """Times of all programs, and what the engines are."""

    def __init__(self, peaks: Dict[str, float]) -> None:
        self._peaks = peaks
        self._cases: List[Tuple[str, int]] = []
        self._times: Dict[Tuple[str, int], Dict[str, float]] = {}
        self._engines: Dict[Tuple[str, int, str], Dict[str, float]] = {}

    def add(self, case: Case, workers: Sequence[Worker], precisions: Sequence[str]) -> None:
        """The workers' times and the engines' descriptions."""
        key = (case.net.name, case.batch)
        self._cases.append(key)
        self._times[key] = {worker.program: worker.quiet_median for worker in workers}
        for precision in precisions:
            described = case.describe(precision)
            if described:
                self._engines[key + (precision,)] = described

    def print_times(self, precision: str) -> None:
        """A row for each net and batch, a column for each program that has the precision."""
        columns = [program for program in (CORTADO, *OFFERED)
                   if any(f"{program} {precision}" in times
                          for times in self._times.values())]
        if not columns:
            return
        own = [CORTADO] if CORTADO in columns else []
        ratios: Dict[str, List[float]] = {program: [] for program in columns}
        gains: List[float] = []
        rows = []
        for key in self._cases:
            times = {program: self._times[key].get(f"{program} {precision}")
                     for program in columns}
            known = [time for time in times.values() if time is not None]
            if not known:
                continue
            row = [key[0], str(key[1])]
            for program, time in times.items():
                if time is None:
                    row.append("")
                    continue
                ratios[program].append(time / min(known))
                row.append(f"{time:.3g} ({time / min(known):.2f})")
            if own:
                row += self._own_cells(key, precision, times[CORTADO], gains)
            rows.append(row)
        means = ["geometric mean", ""] + [f"({geometric_mean(ratios[program]):.2f})"
                                          for program in columns]
        if own:
            means += [f"{geometric_mean(gains):.2f}" if gains else "", ""]
        print(f"\n### {precision}")
        wide = COMPARED.get(precision, "fp32")
        table(["net", "batch", *columns] + ([f"x of own {wide}", "of the roof"] if own else []),
              rows + [means])

    def _own_cells(self, key: Tuple[str, int], precision: str, time: Optional[float],
                   gains: List[float]) -> List[str]:
        """How many times as fast as the engine it is compared with, and the share of the roof."""
        if time is None:
            return ["", ""]
        wide = self._times[key].get(f"{CORTADO} {COMPARED.get(precision, 'fp32')}")
        if wide:
            gains.append(wide / time)
        return [f"{wide / time:.2f}" if wide else "", self._roof(key + (precision,), time)]

    def _roof(self, key: Tuple[str, int, str], time: float) -> str:
        """The share of the time that the products would take at the peak, or reading the weights
        once, whichever is longer. Winograd's algorithm and narrow types can be above 100 %."""
        engine = self._engines.get(key)
        if not engine:
            return ""
        products = 1000 * engine["products"] / self._peaks["products_per_second"]
        reading = 1000 * engine["weight_bytes"] / self._peaks["bytes_per_second"]
        what = "products" if products >= reading else "weights"
        return f"{100 * max(products, reading) / time:.0f} % {what}"

    def print_memory(self, precisions: Sequence[str]) -> None:
        """Weights and activations of the engines, relative to the float Net's."""
        rows = []
        for key in self._cases:
            engines = [self._engines.get(key + (precision,)) for precision in precisions]
            known = next((engine for engine in engines if engine), None)
            if not known:
                continue
            row = [key[0], str(key[1]), f"{known['net_bytes'] / 1e6:.1f}"]
            for engine in engines:
                row.append("" if not engine else "%.1f (%.2f)" % (
                    (engine["weight_bytes"] + engine["activation_bytes"]) / 1e6,
                    (engine["weight_bytes"] + engine["activation_bytes"]) / engine["net_bytes"]))
            rows.append(row)
        if rows:
            print("\n### Memory\n\nMB of weights and activations; in parentheses the share of what "
                  "the float `Net` takes.")
            table(["net", "batch", "Net", *precisions], rows)


def parse_arguments() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build"))
    parser.add_argument("--data", default=os.environ.get(
        "CAFFE_TEST_DATA", os.path.join(ROOT, "..", "shared", "data")))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--nets", default="", help="default: all that are there")
    parser.add_argument("--batch", default="1,8")
    parser.add_argument("--programs", default=",".join((CORTADO, *OFFERED)))
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--timing-cache", default="",
                        help="a file that keeps what candidates took from run to run")
    parser.add_argument("--python", default="", help="Pythons that import openvino, onnxruntime, "
                        "ncnn, cv2: one, or several with commas between them")
    arguments = parser.parse_args()
    arguments.build_dir = os.path.abspath(arguments.build_dir)
    arguments.data = os.path.abspath(arguments.data)
    nets = all_nets(arguments.data)
    arguments.nets = checked("--nets", arguments.nets or ",".join(nets), nets)
    arguments.nets = [nets[name] for name in arguments.nets]
    arguments.precisions = checked("--precisions", arguments.precisions,
                                   (*PRECISIONS, INTEGERS, REDUCED))
    arguments.programs = checked("--programs", arguments.programs, (CORTADO, *OFFERED))
    if not all(batch.isdigit() and int(batch) > 0 for batch in arguments.batch.split(",")):
        sys.exit(f"run.py: --batch: numbers above 0 with commas in between, not {arguments.batch}")
    arguments.batch = [int(batch) for batch in arguments.batch.split(",")]
    return arguments


def checked(flag: str, text: str, valid: Sequence[str]) -> List[str]:
    """The words of `text`, all of which have to be among `valid`."""
    words = text.split(",")
    for word in words:
        if word not in valid:
            sys.exit(f"run.py: {flag}: no '{word}'; valid are {', '.join(valid)}")
    return words


def main() -> None:
    """Times everything and prints the tables."""
    arguments = parse_arguments()
    build("net_benchmark", arguments.build_dir)
    build("inference_benchmark", arguments.build_dir)
    peers = find_peers([program for program in arguments.programs if program != CORTADO],
                       arguments.python)
    peaks = json_of([os.path.join(arguments.build_dir, "benchmarks", "inference_benchmark"),
                     "-peaks"], arguments.threads)
    if not peaks:
        sys.exit("run.py: the machine could not be measured")
    print(f"{arguments.threads} threads, {arguments.rounds} rounds; at most "
          f"{peaks['products_per_second'] / 1e9:.0f} billion products and sums of floats and "
          f"{peaks['bytes_per_second'] / 1e9:.1f} GB from memory a second")
    results = Results(peaks)
    own = arguments.precisions if CORTADO in arguments.programs else []
    with tempfile.TemporaryDirectory() as folder:
        arguments.timing_cache = arguments.timing_cache or os.path.join(folder, "timing.cache")
        for net in arguments.nets:
            for batch in arguments.batch:
                case = Case(net, batch, arguments, folder)
                if case.ready:
                    workers = take_turns(case.commands(peers), arguments.threads, arguments.rounds,
                                         f"{net.name}, batch {batch}")
                    results.add(case, workers, own)
    for precision in arguments.precisions:
        results.print_times(precision)
    results.print_memory(own)


if __name__ == "__main__":
    main()
