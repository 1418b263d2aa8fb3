#!/usr/bin/env python3
"""Trains LeNet on MNIST and CIFAR-10 quick with several seeds in FLOAT and in another way, FLOAT16
storage or math of BFLOAT16, and prints the accuracies side by side.

example, from the repository's root, where the databases of examples/mnist and examples/cifar10 are:
  benchmarks/fp16_training/run.py --way FLOAT16 --seeds 1,2,3

Each run is the model's own solver with another random_seed; FLOAT16 runs add
-forward_type FLOAT16 -backward_type FLOAT16 -forward_math FLOAT -backward_math FLOAT and a dynamic
loss scale, BFLOAT16 runs -forward_math BFLOAT16 -backward_math BFLOAT16. A run that has ended is
kept in --out and not repeated. Output: a Markdown table; the difference of each pair in points (0.01
of the test images).
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from typing import NamedTuple, Optional

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Way(NamedTuple):
    """Flags of `caffe train`, and what stands at the head of the net."""
    flags: list[str]
    head: str = ""


WAYS = {
    "FLOAT": Way([]),
    "FLOAT16": Way(["-forward_type", "FLOAT16", "-backward_type", "FLOAT16",
                    "-forward_math", "FLOAT", "-backward_math", "FLOAT"],
                   "global_grad_scale_adaptive: true\n"),
    "BFLOAT16": Way(["-forward_math", "BFLOAT16", "-backward_math", "BFLOAT16"]),
}


class Task(NamedTuple):
    """A net and the solvers that train it, each going on where the one before stopped."""
    net: str
    solvers: list[str]


TASKS = {
    "LeNet": Task("models/lenet/lenet_train_test.prototxt", ["models/lenet/solver.prototxt"]),
    "CIFAR-10 quick": Task("models/cifar10_quick/train_test.prototxt",
                           ["models/cifar10_quick/solver.prototxt",
                            "models/cifar10_quick/solver_lr1.prototxt"]),
}


def read(path: str) -> str:
    """A text file of the repository or an absolute one."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def write(path: str, text: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def field(solver: str, name: str) -> str:
    """The value of a number field of a solver's prototxt."""
    return re.search(rf"^{name}: *(\S+)", solver, re.MULTILINE).group(1)


def solver_text(path: str, net: str, seed: int, prefix: str) -> str:
    """The model's solver for another net file and seed, with its snapshots elsewhere."""
    text = re.sub(r"^(net|snapshot_prefix|snapshot|random_seed):.*\n", "", read(path),
                  flags=re.MULTILINE)
    return (f'{text}net: "{net}"\nsnapshot_prefix: "{prefix}"\nrandom_seed: {seed}\n'
            f"snapshot: {field(text, 'max_iter')}\n")


def final_accuracy(log: str) -> Optional[float]:
    """The last accuracy that a test net reported; None unless the run came to its end."""
    scores = re.findall(r"Test net output #\d+: accuracy = (\S+)", log)
    return float(scores[-1]) if scores and "Optimization Done." in log else None


def train(caffe: str, out: str, name: str, way: str, seed: int) -> float:
    """Runs the solvers of a task one after the other; the accuracy that the last one reached."""
    run = os.path.join(out, f"{name.replace(' ', '_')}_{way}_{seed}")
    os.makedirs(run, exist_ok=True)
    net = write(os.path.join(run, "net.prototxt"),
                WAYS[way].head + read(TASKS[name].net))
    state = None
    for index, path in enumerate(TASKS[name].solvers):
        log_path = os.path.join(run, f"log{index}.txt")
        log = read(log_path) if os.path.exists(log_path) else ""
        text = solver_text(path, net, seed, os.path.join(run, "s"))
        if final_accuracy(log) is None:
            solver = write(os.path.join(run, f"solver{index}.prototxt"), text)
            command = [caffe, "train", "-solver", solver] + WAYS[way].flags
            command += ["-snapshot", state] if state else []
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False,
                                  env={**os.environ, "GLOG_logtostderr": "1"})
            log = done.stdout
            write(log_path, log)
            if final_accuracy(log) is None:
                sys.exit(f"run.py: {' '.join(command)} did not come to its end; see {log_path}")
        state = os.path.join(run, f"s_iter_{field(text, 'max_iter')}.solverstate")
    return final_accuracy(log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=[way for way in WAYS if way != "FLOAT"],
                        default="FLOAT16", help="default: FLOAT16")
    parser.add_argument("--seeds", default="1,2,3", help="default: 1,2,3")
    parser.add_argument("--nets", default=",".join(TASKS), help="default: %(default)s")
    parser.add_argument("--caffe", default=os.path.join(ROOT, "build", "tools", "caffe"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "fp16_training"),
                        help="logs and snapshots; default: %(default)s")
    arguments = parser.parse_args()
    if not os.access(arguments.caffe, os.X_OK):
        sys.exit(f"run.py: {arguments.caffe} is not there; scripts/build.sh makes it")
    print(f"| net | seed | FLOAT | {arguments.way} | difference, points |\n"
          "| --- | ---: | ---: | ---: | ---: |")
    for name in arguments.nets.split(","):
        for seed in (int(text) for text in arguments.seeds.split(",")):
            scores = [train(arguments.caffe, arguments.out, name, way, seed)
                      for way in ("FLOAT", arguments.way)]
            print(f"| {name} | {seed} | {100 * scores[0]:.2f}% | {100 * scores[1]:.2f}% | "
                  f"{100 * (scores[1] - scores[0]):+.2f} |", flush=True)


if __name__ == "__main__":
    main()
