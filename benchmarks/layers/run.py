#!/usr/bin/env python3
"""Times layers alone, forward and backward: a net of one layer on made-up data, in `caffe time`.

    benchmarks/layers/run.py [--build-dir build[,other]] [--layers WORD] [--threads 2] [--rounds 3]

Prints a Markdown table: milliseconds, the least of the rounds, and what a pass reads and writes at
least, in GB/s: bottoms and tops once forward, their gradients and the bottoms once backward. A
layer that is far slower than others of the same size deserves a look. With several build folders these
take turns, one pair of columns each.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import List, NamedTuple, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = (8, 64, 56, 56)
XAVIER = "weight_filler { type: 'xavier' }"


class Bottom(NamedTuple):
    """What a layer reads."""

    shape: Tuple[int, ...]
    constant: Optional[float] = None  # all its numbers; else they are from -1 to 1


class Case(NamedTuple):
    """A layer: its type, its fields, what tells it from others of the type, and its bottoms."""

    type: str
    fields: str = ""
    word: str = ""
    bottoms: Tuple[Bottom, ...] = (Bottom(IMAGES),)

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.type, self.word]))


TWO = (Bottom(IMAGES), Bottom(IMAGES))
ROWS = (Bottom((64, 512)),)
SCORES = (Bottom((256, 1000)), Bottom((256,), 1))
PIXELS = (Bottom((8, 21, 112, 112)), Bottom((8, 1, 112, 112), 1))
CASES = [
    *(Case(name) for name in ("ReLU", "PReLU", "ELU", "Sigmoid", "TanH", "AbsVal", "BNLL", "Exp",
                              "Log", "Swish", "GELU", "HardSwish", "ReLU6", "Dropout", "Softmax",
                              "LRN", "BatchNorm", "Scale", "Bias", "MVN", "Normalize")),
    Case("Power", "power_param { power: 2 scale: 0.5 shift: 1 }", "2"),
    Case("Clip", "clip_param { min: -0.5 max: 0.5 }"),
    Case("LRN", "lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 }", "within channels"),
    Case("PReLU", "", "of rows", ROWS),
    Case("Scale", "scale_param { bias_term: true }", "of rows", ROWS),
    Case("BatchNorm", "", "of rows", ROWS),
    Case("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 }", "MAX 3/2"),
    Case("Pooling", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }", "MAX 2/2"),
    Case("Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 }", "AVE 3/2"),
    Case("Pooling", "pooling_param { pool: AVE global_pooling: true }", "AVE global"),
    Case("SPP", "spp_param { pyramid_height: 3 }"),
    Case("Interp", "interp_param { zoom_factor: 2 }"),
    Case("Resample", "resample_param { factor: 2 }"),
    Case("Upsample", "upsample_param { scale: 2 }"),
    Case("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }"),
    Case("Tile", "tile_param { tiles: 2 }"),
    Case("Reorg", "reorg_param { stride: 2 }"),
    Case("Reduction", "reduction_param { axis: 1 }"),
    Case("Im2col", "convolution_param { kernel_size: 3 pad: 1 }"),
    Case("Eltwise", "eltwise_param { operation: SUM }", "SUM", TWO),
    Case("Eltwise", "eltwise_param { operation: PROD }", "PROD", TWO),
    Case("Eltwise", "eltwise_param { operation: MAX }", "MAX", TWO),
    Case("Concat", "", "", TWO),
    Case("EuclideanLoss", "", "", TWO),
    Case("SmoothL1Loss", "", "", TWO),
    Case("SigmoidCrossEntropyLoss", "", "", TWO),
    Case("SoftmaxWithLoss", "", "of rows", SCORES),
    Case("SoftmaxWithLoss", "", "of pixels", PIXELS),
    Case("HingeLoss", "", "", SCORES),
    Case("InnerProduct", f"inner_product_param {{ num_output: 4096 {XAVIER} }}", "",
         (Bottom((16, 9216)),)),
    Case("Convolution",
         f"convolution_param {{ num_output: 64 kernel_size: 3 pad: 1 {XAVIER} }}", "3x3"),
    Case("Convolution", f"convolution_param {{ num_output: 256 kernel_size: 1 {XAVIER} }}", "1x1"),
    Case("Convolution",
         f"convolution_param {{ num_output: 64 group: 64 kernel_size: 3 pad: 1 {XAVIER} }}",
         "depthwise"),
    Case("Deconvolution",
         f"convolution_param {{ num_output: 64 kernel_size: 4 stride: 2 pad: 1 {XAVIER} }}"),
    Case("LSTM", f"recurrent_param {{ num_output: 256 {XAVIER} }}", "",
         (Bottom((20, 16, 256)), Bottom((20, 16), 1))),
]


def net_of(case: Case) -> str:
    """The text of a net that computes all gradients of the layer."""
    text, names = "force_backward: true\n", []
    for i, bottom in enumerate(case.bottoms):
        names.append(f"x{i}")
        dims = " ".join(f"dim: {extent}" for extent in bottom.shape)
        filler = ("type: 'uniform' min: -1 max: 1" if bottom.constant is None
                  else f"type: 'constant' value: {bottom.constant}")
        text += (f"layer {{ name: 'x{i}' type: 'DummyData' top: 'x{i}' dummy_data_param {{\n"
                 f"  shape {{ {dims} }} data_filler {{ {filler} }} }} }}\n")
    bottoms = " ".join(f"bottom: '{name}'" for name in names)
    return (f"{text}layer {{ name: 'timed' type: '{case.type}' {bottoms} top: 'y'\n"
            f"  {case.fields} }}\n")


class Times(NamedTuple):
    """Milliseconds, and the numbers that the layer reads and makes."""

    forward: float
    backward: float
    bottoms: int
    tops: int


def time(build: pathlib.Path, net: pathlib.Path, threads: int, iterations: int) -> Times:
    """Ends the program with the tool's last line where it fails."""
    done = subprocess.run([str(build / "tools" / "caffe"), "time", "-model", str(net), "-phase",
                           "TRAIN", "-iterations", str(iterations)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, OMP_NUM_THREADS=str(threads), GLOG_logtostderr="1",
                                   GLOG_minloglevel="0"))
    found = {direction: re.search(rf"\btimed\s+{direction}: ([0-9.e+-]+) ms", done.stdout)
             for direction in ("forward", "backward")}
    if done.returncode != 0 or not all(found.values()):
        sys.exit(f"run.py: {net.read_text(encoding='utf-8')}{done.stdout.strip()[-300:]}")
    counts = [int(count) for count in re.findall(r"Top shape:.*\((\d+)\)", done.stdout)]
    return Times(float(found["forward"].group(1)), float(found["backward"].group(1)),
                 sum(counts[:-1]), counts[-1])


def cells(times: List[Times]) -> List[str]:
    """Of a build: forward and backward."""
    first = times[0]
    forward, backward = (min(t.forward for t in times), min(t.backward for t in times))
    moved = (4e-6 * (first.bottoms + first.tops), 4e-6 * (2 * first.bottoms + first.tops))
    return [f"{ms:.3g} ({megabytes / ms:.0f})" if ms > 0 else "-"
            for ms, megabytes in zip((forward, backward), moved)]


def main() -> None:
    """Reads the command line, measures, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build"), metavar="FOLDER[,FOLDER]")
    parser.add_argument("--layers", default="", metavar="WORD", help="only those with this word")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=12, help="of a round")
    arguments = parser.parse_args()
    builds = [pathlib.Path(folder).resolve() for folder in arguments.build_dir.split(",")]
    cases = [case for case in CASES if arguments.layers in case.name]
    if not cases:
        sys.exit(f"run.py: no layer has '{arguments.layers}': "
                 + ", ".join(case.name for case in CASES))
    print("| layer |" + " forward ms (GB/s) | backward |" * len(builds))
    print("| --- |" + " ---: | ---: |" * len(builds))
    with tempfile.TemporaryDirectory() as folder:
        net = pathlib.Path(folder, "net.prototxt")
        for number, case in enumerate(cases):
            if sys.stderr.isatty():
                print(f"{number + 1} of {len(cases)}, {case.name}" + 20 * " ", end="\r",
                      file=sys.stderr)
            net.write_text(net_of(case), encoding="utf-8")
            times: List[List[Times]] = [[] for _ in builds]
            for _ in range(arguments.rounds):
                for build, own in zip(builds, times):
                    own.append(time(build, net, arguments.threads, arguments.iterations))
            row = [case.name] + [cell for own in times for cell in cells(own)]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
