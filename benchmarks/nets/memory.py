#!/usr/bin/env python3
"""Compares what nets take in memory in FLOAT and in FLOAT16, each in a process of its own.

    benchmarks/nets/memory.py [--batches 1,8] [--threads 2] [--nets squeezenet_v1.1,bvlc_googlenet]

Prints a Markdown table: weights (packed ones included) and activations with scratch by the library's
count, and by how much resident memory grew while the net was made, loaded and run.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import List

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from side_by_side import LARGE_NETS, ROOT, build  # noqa: E402

NETS = ["lenet", "cifar10_quick", *LARGE_NETS]
COLUMNS = ("weights", "activations", "resident")


def measure(program: str, net: str, batch: int, kind: str, threads: int, folder: str) -> List[int]:
    """KiB, one for each of COLUMNS, of a net that a process loads from a file of its type."""
    command = [program, "-deploy", os.path.join(ROOT, "models", net, "deploy.prototxt"),
               "-batch", str(batch), "-type", kind]
    weights = os.path.join(folder, f"{net}.{kind}.caffemodel")
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive",
                       GLOG_minloglevel="1")

    def run(*more: str) -> str:
        return subprocess.run([*command, *more], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    if not os.path.exists(weights):
        run("-save", weights)
    return [int(word) for word in run("-weights", weights, "-memory").split()]


def main() -> None:
    """Reads the command line and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--nets", default=",".join(NETS))
    arguments = parser.parse_args()
    arguments.build_dir = os.path.abspath(arguments.build_dir)
    for net in arguments.nets.split(","):
        if net not in NETS:
            sys.exit(f"memory.py: --nets: no net '{net}'; valid are {', '.join(NETS)}")
    build("net_benchmark", arguments.build_dir)
    program = os.path.join(arguments.build_dir, "benchmarks", "net_benchmark")
    print("| net | batch | " + " | ".join(f"{name}, MB | x" for name in COLUMNS) + " |")
    print("| --- | ---: |" + " ---: | ---: |" * len(COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for net in arguments.nets.split(","):
            for batch in map(int, arguments.batches.split(",")):
                wide, half = (measure(program, net, batch, kind, arguments.threads, folder)
                              for kind in ("FLOAT", "FLOAT16"))
                cells = [f"{w / 1024:.1f} | {h / w:.2f}" for w, h in zip(wide, half)]
                print(f"| {net} | {batch} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
