#!/usr/bin/env python3
"""What 8-bit and 4-bit numbers cost trained nets: accuracy on all 10,000 test images of float, of
engines after calibration, and of nets trained with quantization.

DATA is a folder with mnist/ (the idx files, gzipped or not) and cifar10_jpg/ (train/ and test/
with an archive .tar.gz of JPEG images for each class). All that is made lies in OUT; a run that was
interrupted goes on where it was, and what is there is not made again.

example:
  nice -n 19 benchmarks/quantization/run.py --data ~/datasets --out build/quantization
  benchmarks/quantization/run.py --data ~/datasets --out build/quantization --nets lenet --seeds 1
  benchmarks/quantization/run.py --out build/quantization --only-report
"""
from __future__ import annotations

import argparse
import datetime
import glob
import json
import os
import re
import subprocess
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

os.environ.setdefault("GLOG_minloglevel", "2")
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "python"))

import numpy as np  # noqa: E402
from google.protobuf import text_format  # noqa: E402

import caffe  # noqa: E402
from caffe import inference  # noqa: E402
from caffe.proto import caffe_pb2  # noqa: E402

import databases  # noqa: E402
import nets  # noqa: E402

TEST_IMAGES = 10000
EPOCH = 50000 // nets.BATCH  # iterations
SIMULATED, ENGINE, FLOATS = "simulated", "integers only", "floats between"
INTEGER_ONLY = ["-arithmetic", "integer_only"]


class Variant(NamedTuple):
    """A way to quantize by training, or by calibration alone."""
    weight_bits: int
    scheme: str  # as -quantization has it
    rate: float = 1  # times that of the task: fewer bits have more to learn, steps of a whole
    # layer are coarse


TRAINED = {"trained 8 bits": Variant(8, "affine"),
           "trained 4-bit weights": Variant(4, "affine", 2),
           "trained paper": Variant(8, "paper", 0.2)}
CALIBRATED = {"calibrated 4-bit weights": Variant(4, "affine"),  # simulated, without training
              "calibrated paper simulated": Variant(8, "paper")}
FLOAT_ON = "float trained on"  # the same training without quantization
TRAINED_WITH_PAPER = ("mobilenet",)  # where calibration cannot serve a whole tensor


class Row(NamedTuple):
    """A line of the table."""
    how: str
    computed: str
    key: str  # of results, without the seed


ROWS = [Row("float", "float", "float"),
        Row("float, trained on", "float", FLOAT_ON),
        Row("calibrated 8 bits, symmetric", FLOATS, "calibrated symmetric"),
        Row("calibrated 8 bits", FLOATS, "calibrated affine floats"),
        Row("calibrated 8 bits", ENGINE, "calibrated affine"),
        Row("trained 8 bits", SIMULATED, "trained 8 bits simulated"),
        Row("trained 8 bits", ENGINE, "trained 8 bits engine"),
        Row("calibrated paper", SIMULATED, "calibrated paper simulated"),
        Row("calibrated paper", ENGINE, "calibrated paper"),
        Row("trained paper", SIMULATED, "trained paper simulated"),
        Row("trained paper", ENGINE, "trained paper engine"),
        Row("calibrated 4-bit weights", SIMULATED, "calibrated 4-bit weights"),
        Row("trained 4-bit weights", SIMULATED, "trained 4-bit weights simulated"),
        Row("trained 4-bit weights", ENGINE, "trained 4-bit weights engine")]


def say(net: str, text: str) -> None:
    """A line of progress."""
    print(f"{datetime.datetime.now():%H:%M:%S}  {net:<10} {text}", flush=True)


def write(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def quantized_training(variant: Variant, iterations: int) -> str:
    """The message of a net. Statistics of BatchNorm freeze after half of the training."""
    return (f"quantized_training {{ weight_bits: {variant.weight_bits} activation_bits: 8 "
            f"scheme: {variant.scheme.upper()} fold_batch_norm: true "
            f"ema_decay: 0.99 freeze_batch_norm_iter: {max(1, iterations // 2)} }}\n")


def steps(values: np.ndarray) -> float:
    """The scale of quantized values: the least difference between two of them."""
    return float(np.diff(np.unique(values)).min())


class Bench:
    """A net and what became of it, in a folder of OUT."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.name, self.task, self.arguments = name, nets.TASKS[name], arguments
        self.folder = os.path.join(arguments.out, name)
        self.databases = os.path.join(arguments.out, "data")
        self.calibration = os.path.join(self.databases, "mnist_train" if self.task.data == "mnist"
                                        else "cifar10_calibration")
        self.images: Optional[Tuple[np.ndarray, np.ndarray]] = None
        self.failed: Dict[str, str] = {}

    def path(self, *parts: str) -> str:
        return os.path.join(self.folder, *parts)

    # ------------------------------------------------------------------ programs

    def caffe(self, command: str, flags: List[str], log: str) -> None:
        """Runs the program, with a line for each tenth of a training. Raises RuntimeError with
        the last line that it wrote."""
        os.makedirs(os.path.dirname(log), exist_ok=True)
        line = [os.path.join(self.arguments.tools, "caffe"), command, *flags,
                "-threads", str(self.arguments.threads)]
        last, total, tenth = "", 0, -1
        with open(log, "a", encoding="utf-8") as file, \
                subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 env={**os.environ, "GLOG_logtostderr": "1",
                                      "GLOG_minloglevel": "0"}) as process:
            for text in process.stdout:
                file.write(text)
                last = text.strip() or last
                found = re.search(r"^max_iter: (\d+)", text)
                total = int(found.group(1)) if found else total
                found = re.search(r"Iteration (\d+) .*loss = (\S+)", text)
                if found and total and 10 * int(found.group(1)) // total > tenth:
                    tenth = 10 * int(found.group(1)) // total
                    say(self.name, f"  iteration {int(found.group(1)):5} of {total}, "
                                   f"loss {float(found.group(2)):.4f}")
        if process.returncode:
            raise RuntimeError(f"{last} (see {log})")

    def write_nets(self) -> None:
        """train.prototxt and deploy.prototxt."""
        write(self.path("train.prototxt"),
              text_format.MessageToString(nets.to_train(self.task, self.databases)))
        write(self.path("deploy.prototxt"), text_format.MessageToString(nets.to_deploy(self.task)))

    def train(self, folder: str, extra: str, fields: dict, seed: int, start: str) -> str:
        """Trains the net, with `extra` in its prototxt, in a folder of its own; goes on where an
        earlier run stopped. The weights."""
        iterations = fields["max_iter"]
        weights = self.path(folder, f"s_iter_{iterations}.caffemodel")
        if os.path.exists(weights):
            return weights
        with open(self.path("train.prototxt"), encoding="utf-8") as file:
            net = write(self.path(folder, "train.prototxt"), extra + file.read())
        solver = caffe_pb2.SolverParameter(
            net=net, test_iter=[TEST_IMAGES // nets.BATCH], test_interval=2 * EPOCH,
            test_initialization=False, display=50, average_loss=50, snapshot=EPOCH // 2,
            snapshot_prefix=self.path(folder, "s"), random_seed=seed, **fields)
        flags = ["-solver", write(self.path(folder, "solver.prototxt"),
                                  text_format.MessageToString(solver))]
        states = glob.glob(self.path(folder, "s_iter_*.solverstate"))
        if states:
            flags += ["-snapshot", max(states, key=lambda path: int(path.split("_")[-1][:-12]))]
        elif start:
            flags += ["-weights", start]
        say(self.name, f"{folder}: {iterations} iterations")
        self.caffe("train", flags, self.path(folder, "log.txt"))
        return weights

    # ------------------------------------------------------------------ scores

    def test_images(self) -> Tuple[np.ndarray, np.ndarray]:
        """All test images as the net takes them, and their classes."""
        if self.images is None:
            net = caffe.Net(self.path("train.prototxt"), caffe.TEST)
            data, labels = [], []
            for _ in range(TEST_IMAGES // nets.BATCH):
                net.forward(end="data")
                data.append(net.blobs["data"].data.copy())
                labels.append(net.blobs["label"].data.astype(int).ravel())
            self.images = np.concatenate(data), np.concatenate(labels)
        return self.images

    def accuracy(self, scores: np.ndarray) -> float:
        """In percent. Of equal scores none is right unless it is the first."""
        return 100 * float((scores.argmax(axis=1) == self.test_images()[1]).mean())

    def scores_of_net(self, model: str, weights: str) -> np.ndarray:
        """The scores in front of the Softmax, of all test images, by the net itself in TEST."""
        net = caffe.Net(model, weights, caffe.TEST)
        rows = []
        for first in range(0, TEST_IMAGES, nets.BATCH):
            net.blobs["data"].data[...] = self.test_images()[0][first:first + nets.BATCH]
            net.forward()
            rows.append(next(iter(net.blobs[name].data.copy() for name in net.outputs)))
        return np.concatenate(rows)

    def scores_of_plan(self, plan: str) -> np.ndarray:
        """The same by an engine."""
        context = inference.ExecutionContext(inference.Engine.load(plan))
        rows = []
        for first in range(0, TEST_IMAGES, nets.BATCH):
            outputs = context.run(data=self.test_images()[0][first:first + nets.BATCH])
            rows.append(next(iter(outputs.values())))
        return np.concatenate(rows)

    def kept(self, key: str) -> str:
        """Where the scores of a result are."""
        return self.path("scores", key.replace(" ", "_") + ".npy")

    def once(self, key: str, compute) -> Optional[np.ndarray]:
        """The scores that are kept under a key, else computed now; None where that fails: the
        table then has no number there."""
        if os.path.exists(self.kept(key)):
            return np.load(self.kept(key))
        try:
            scores = compute()
        except (RuntimeError, caffe.Error) as error:
            say(self.name, f"{key}: FAILED: {error}")
            self.failed[key] = str(error)
            return None
        os.makedirs(self.path("scores"), exist_ok=True)
        np.save(self.kept(key), scores)
        say(self.name, f"{key}: {self.accuracy(scores):.2f} %")
        return scores

    # ------------------------------------------------------------------ stages

    def float_weights(self) -> str:
        """Stage 2."""
        start = self.arguments.start.get(self.name, "")
        fields = dict(self.task.solver)
        if start:  # two epochs instead of all, and less of a jump
            fields.update(max_iter=2 * EPOCH, base_lr=fields["base_lr"] / 5)
        return self.train("float", "", fields, 1, start)

    def table(self, weights: str) -> str:
        """Stage 3: the ranges of the float net's blobs, on training images."""
        path = self.path("calibration.table")
        if not os.path.exists(path):
            flags = ["-model", self.path("deploy.prototxt"), "-weights", weights,
                     "-data", self.calibration, "-scale", repr(self.task.scale),
                     "-batches", str(10 * databases.CALIBRATION_IMAGES // nets.BATCH),
                     "-calibration_table", path + ".part"]
            if self.task.mean:
                flags += ["-mean", ",".join(map(str, self.task.mean))]
            self.caffe("calibrate", flags, self.path("calibration.log"))
            os.rename(path + ".part", path)
        return path

    def engine(self, key: str, model: str, weights: str, flags: List[str]) -> np.ndarray:
        """Builds an INT8 engine; its scores."""
        plan = self.path("plans", key.replace(" ", "_") + ".plan")
        os.makedirs(os.path.dirname(plan), exist_ok=True)
        self.caffe("build", ["-model", model, "-weights", weights, "-plan", plan,
                             "-precision", "int8", "-timing_iterations", "1", *flags],
                   plan[:-5] + ".log")
        return self.scores_of_plan(plan)

    def calibrate(self, weights: str) -> None:
        """Stage 3: engines of the float net."""
        for key in ("symmetric", "affine floats", "affine", "paper"):
            flags = ["-quantization", key.split()[0]]
            if key in ("affine", "paper"):
                flags += INTEGER_ONLY
            self.once(f"calibrated {key}", lambda key=key, flags=flags: self.engine(
                f"calibrated {key}", self.path("scores.prototxt"), weights,
                ["-calibration_table", self.table(weights), *flags]))

    def trained(self, name: str, variant: Variant, seed: int, weights: str) -> None:
        """Stages 4 and 5 for one seed: training, the simulated net, the engine."""
        folder = f"{name.replace(' ', '_')}_{seed}"
        fields = dict(self.task.tuning)
        fields["max_iter"] = int(self.arguments.epochs * EPOCH)
        fields["base_lr"] *= variant.rate
        message = quantized_training(variant, fields["max_iter"])
        self.quantized(f"{name} simulated {seed}", folder, message, fields, seed, weights)
        model = self.path(folder, "scores.prototxt")
        if f"{name} simulated {seed}" in self.failed:
            return
        self.once(f"{name} engine {seed}", lambda: self.engine(
            f"{name} {seed}", model, self.train(folder, message, fields, seed, weights),
            ["-quantization", variant.scheme, *INTEGER_ONLY]))

    def trained_on(self, seed: int, weights: str) -> None:
        """What the same training gives without quantization."""
        fields = dict(self.task.tuning, max_iter=int(self.arguments.epochs * EPOCH))
        self.once(f"{FLOAT_ON} {seed}", lambda: self.scores_of_net(
            self.path("scores.prototxt"),
            self.train(f"float_trained_on_{seed}", "", fields, seed, weights)))

    def observed(self, name: str, variant: Variant, weights: str) -> None:
        """Stage 3: the simulated net, with ranges from a training that changes nothing."""
        fields = dict(self.task.tuning, max_iter=EPOCH // 5, base_lr=0.0)
        self.quantized(name, name.replace(" ", "_"), quantized_training(variant, 0), fields, 1,
                       weights)

    def quantized(self, key: str, folder: str, message: str, fields: dict, seed: int,
                  weights: str) -> None:
        """Trains, and takes the scores of the simulated net."""
        def compute() -> np.ndarray:
            trained = self.train(folder, message, fields, seed, weights)
            with open(self.path("scores.prototxt"), encoding="utf-8") as file:
                model = write(self.path(folder, "scores.prototxt"), message + file.read())
            return self.scores_of_net(model, trained)
        self.once(key, compute)

    def write_scores_net(self) -> None:
        """scores.prototxt: the deployed net without its Softmax, which would hide steps."""
        net = nets.to_deploy(self.task)
        del net.layer[-1]
        write(self.path("scores.prototxt"), text_format.MessageToString(net))

    def run(self, stages: Iterator[int]) -> None:
        """All stages, one seed after the other, so that each row has a number early."""
        self.write_nets()
        self.write_scores_net()
        weights = self.float_weights()
        self.once("float", lambda: self.scores_of_net(self.path("scores.prototxt"), weights))
        if 3 in stages:
            for name, variant in CALIBRATED.items():
                self.observed(name, variant, weights)
            self.calibrate(weights)
        if 4 in stages:
            for seed in self.arguments.seeds:
                for name, variant in TRAINED.items():
                    wanted = variant.scheme != "paper" or self.name in TRAINED_WITH_PAPER
                    if wanted and name in self.arguments.ways:
                        self.trained(name, variant, seed, weights)
                if FLOAT_ON in self.arguments.ways:
                    self.trained_on(seed, weights)

    # ------------------------------------------------------------------ results

    def results(self) -> dict:
        """Accuracies by key and seed, and how simulation and engine agree."""
        accuracies: Dict[str, Dict[str, float]] = {}
        agreement: Dict[str, dict] = {}
        for path in sorted(glob.glob(self.path("scores", "*.npy"))):
            key = os.path.basename(path)[:-4].replace("_", " ")
            found = re.match(r"(.* )(\d+)$", key)
            row, seed = (found.group(1).strip(), found.group(2)) if found else (key, "")
            scores = np.load(path)
            accuracies.setdefault(row, {})[seed] = self.accuracy(scores)
            other = self.kept(key.replace(" engine ", " simulated "))
            if " engine " in key and os.path.exists(other):
                simulated, scale = np.load(other), steps(scores)
                agreement[key.replace(" engine", "")] = {
                    "equal predictions": 100 * float(
                        (simulated.argmax(axis=1) == scores.argmax(axis=1)).mean()),
                    "output scale": scale,
                    "largest difference": float(np.abs(simulated - scores).max()) / scale}
        return {"title": self.task.title, "accuracy": accuracies, "agreement": agreement}


# ---------------------------------------------------------------------- tables

def columns(lines: List[List[str]]) -> str:
    """Text in columns, the first two to the left, a rule below the head."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
            for line in lines]
    return "\n".join([text[0], "  ".join("-" * width for width in widths), *text[1:]]) + "\n"


def cell_of(values: Dict[str, float]) -> str:
    """Percent; mean and spread of several seeds."""
    if not values:
        return "-"
    numbers = list(values.values())
    spread = f" ±{(max(numbers) - min(numbers)) / 2:.2f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.2f}{spread}"


def demands(results: Dict[str, dict]) -> List[List[str]]:
    """What the numbers should show, and what they do."""
    lines = [["net", "demand", "points", "met"]]

    def mean(net: str, key: str) -> Optional[float]:
        values = results[net]["accuracy"].get(key)
        return float(np.mean(list(values.values()))) if values else None

    def compare(net: str, demand: str, key: str, other: str, least: float,
                most: float = np.inf) -> None:
        one, two = mean(net, key), mean(net, other)
        if one is not None and two is not None:
            difference = round(one - two, 3)
            lines.append([results[net]["title"], demand, f"{difference:+.2f}",
                          "yes" if least <= difference <= most else "NO"])

    for net in results:
        compare(net, "trained 8 bits at most 0.1 below float", "trained 8 bits engine", "float",
                -0.1)
        compare(net, "trained 8 bits not below calibrated", "trained 8 bits engine",
                "calibrated affine", 0)
        compare(net, "integers only within 0.05 of floats between", "calibrated affine",
                "calibrated affine floats", -0.05, 0.05)
        lost = (mean(net, "calibrated 4-bit weights") or np.inf) - (mean(net, "float") or 0)
        if lost < -3:
            compare(net, f"trained 4-bit weights within 1.0 (calibrated: {lost:+.2f})",
                    "trained 4-bit weights simulated", "float", -1)
        if net in TRAINED_WITH_PAPER:
            compare(net, "paper's uint8 fails with calibration: 3 below float",
                    "calibrated paper simulated", "float", -np.inf, -3)
            compare(net, "training cures it: at most 1.0 below float",
                    "trained paper simulated", "float", -1)
    return lines


def report(results: Dict[str, dict], seeds: int) -> str:
    """The tables."""
    names = list(results)
    lines = [["how", "computed", *(results[net]["title"] for net in names)]]
    for row in ROWS:
        cells = [cell_of(results[net]["accuracy"].get(row.key, {})) for net in names]
        lines.append([row.how, row.computed, *cells])
    text = ["Right answers of 10,000 test images, percent; of what is trained the mean of up to "
            f"{seeds} seeds, ± half of the range\n\n" + columns(lines)]
    lines = [["net", "trained, seed", "equal predictions", "output scale", "largest difference"]]
    for net in names:
        for key, values in results[net]["agreement"].items():
            lines.append([results[net]["title"], key, f"{values['equal predictions']:.2f} %",
                          f"{values['output scale']:.5f}",
                          f"{values['largest difference']:.2f} steps"])
    if len(lines) > 1:
        text.append("Simulated net and engine of integers, scores of the same images; differences "
                    "in steps of the output scale\n\n" + columns(lines))
    lines = demands(results)
    if len(lines) > 1:
        text.append("What the numbers should show\n\n" + columns(lines))
    return "\n".join(text)


def starts(text: str) -> Dict[str, str]:
    """NET=FILE,..."""
    return dict(item.split("=", 1) for item in text.split(",")) if text else {}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", help="the folder of the data sets; needed until the databases are made")
    add("--out", default=os.path.join(ROOT, "build", "quantization"),
        help="what is made, results.txt and results.json; default: build/quantization")
    add("--nets", default=",".join(nets.TASKS), help="default: %(default)s")
    add("--seeds", default="1,2,3", help="of the training with quantization; default: %(default)s")
    add("--epochs", type=float, default=2,
        help="of the training with quantization; default: %(default)s")
    add("--ways", default=",".join([*TRAINED, FLOAT_ON]),
        help="of training; default: %(default)s")
    add("--start", default="", metavar="NET=FILE,...", type=starts,
        help="trained weights that float training starts from: it then takes two epochs")
    add("--until", type=int, default=5, choices=range(1, 6), metavar="STAGE",
        help="the last stage: 1 databases, 2 float training, 3 calibration, 4 training with "
             "quantization, 5 the tables (default)")
    add("--only-report", action="store_true", help="print the tables of what is there")
    add("--threads", type=int, default=os.cpu_count(), help="default: all processors")
    add("--tools", default=os.path.join(ROOT, "build", "tools"),
        help="the folder of the program caffe; default: build/tools")
    arguments = parser.parse_args()
    arguments.nets = arguments.nets.split(",")
    arguments.ways = arguments.ways.split(",")
    for way in arguments.ways:
        if way not in [*TRAINED, FLOAT_ON]:
            parser.error(f"there is no way {way}; there are {', '.join([*TRAINED, FLOAT_ON])}")
    arguments.seeds = [int(seed) for seed in arguments.seeds.split(",")]
    arguments.out = os.path.abspath(arguments.out)
    if isinstance(arguments.start, str):
        arguments.start = starts(arguments.start)
    for name in [*arguments.nets, *arguments.start]:
        if name not in nets.TASKS:
            parser.error(f"there is no net {name}; there are {', '.join(nets.TASKS)}")
    if not os.access(os.path.join(arguments.tools, "caffe"), os.X_OK):
        parser.error(f"there is no program caffe in {arguments.tools}; scripts/build.sh makes it")
    return arguments


def main() -> None:
    arguments = parse()
    caffe.set_threads(arguments.threads)
    results: Dict[str, dict] = {}
    for name in arguments.nets:
        bench = Bench(name, arguments)
        if not arguments.only_report:
            made = databases.Databases(arguments.tools, arguments.data, bench.databases)
            made.make(bench.task.data)
            if arguments.until >= 2:
                bench.run(range(1, arguments.until + 1))
        if glob.glob(bench.path("scores", "*.npy")):
            results[name] = bench.results()
    if results and (arguments.until == 5 or arguments.only_report):
        text = report(results, len(arguments.seeds))
        write(os.path.join(arguments.out, "results.txt"), text)
        write(os.path.join(arguments.out, "results.json"), json.dumps(results, indent=2) + "\n")
        print("\n" + text)


if __name__ == "__main__":
    main()
