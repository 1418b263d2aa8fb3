#!/usr/bin/env python3
"""Times nets side by side: this Caffe, OpenCV's dnn on the same files, OpenVINO, onnxruntime and
ncnn on the same nets in their own formats, PyTorch on the same architecture.

All programs of one comparison are alive at once and take turns, round after round, so that a noisy
machine is noisy for all of them. A program that is not there is left out with a message. Programs
are also "Cortado FLOAT16", "Cortado BF16" and "Cortado FLOAT16 BF16" (products of BFLOAT16),
"Cortado ONEDNN", "PyTorch channels last" and "PyTorch BF16" (autocast, channels last).

    benchmarks/nets/run.py [--threads 2] [--rounds 15] [--nets lenet] [--programs Cortado,OpenCV]

On Debian, apt-get install python3-opencv python3-torch brings two of the others, pip install onnx
onnxruntime openvino ncnn protobuf the rest; --python names the Pythons that have them.
"""
import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from side_by_side import (LARGE_NETS, ROOT, WORKERS, build, call, find_peers,  # noqa: E402
                          model_files, take_turns)

# Each net: deploy and training file, the batch it trains with, the shape of an image.
NETS = {
    "lenet": ("models/lenet/deploy.prototxt", "models/lenet/lenet_train_test.prototxt", 64,
              (1, 28, 28)),
    "cifar10_quick": ("models/cifar10_quick/deploy.prototxt",
                      "models/cifar10_quick/train_test.prototxt", 100, (3, 32, 32)),
}
TRAIN_BATCHES = {"bvlc_alexnet": 16, "resnet18": 8}
for _name, _size in LARGE_NETS.items():
    NETS[_name] = ("models/%s/deploy.prototxt" % _name, "models/%s/train_val.prototxt" % _name,
                   TRAIN_BATCHES.get(_name, 0), (3, _size, _size))
FORWARD_BATCHES = (1, 8)
PYTORCH_NETS = ("lenet", "cifar10_quick", "bvlc_alexnet", "resnet18")
PYTORCH_WAYS = {"PyTorch": [], "PyTorch channels last": ["channels_last"],
                "PyTorch BF16": ["channels_last", "bfloat16"]}  # the last one: autocast

CORTADO_WAYS = {"Cortado": [],
                "Cortado FLOAT16": ["-type", "FLOAT16"],
                "Cortado BF16": ["-math", "BFLOAT16"],
                "Cortado FLOAT16 BF16": ["-type", "FLOAT16", "-math", "BFLOAT16"],
                # Direct convolutions, where DEFAULT takes Winograd's.
                "Cortado ONEDNN": ["-engine", "ONEDNN"]}


class Programs:
    """The commands that time a net, for each program that is there."""

    def __init__(self, arguments, folder):
        self.folder = folder
        self.threads = arguments.threads
        self.benchmark = os.path.join(arguments.build_dir, "benchmarks", "net_benchmark")
        wanted = arguments.programs.split(",")
        self.cortado = [name for name in CORTADO_WAYS if name in wanted]
        self.pytorch = [name for name in PYTORCH_WAYS if name in wanted]
        self.python = find_peers(wanted + (["PyTorch"] if self.pytorch else []), arguments.python)

    def commands(self, net, mode, batch):
        deploy, train, _, image = NETS[net]
        shape = ",".join(map(str, (batch,) + image))
        for program in self.cortado:
            command = [self.benchmark, "-deploy", deploy, "-batch", str(batch)]
            if mode == "train":
                command += ["-train", train]
            yield program, command + CORTADO_WAYS[program]
        if mode == "forward":
            yield from self.peers(net, deploy, batch, shape)
        if "PyTorch" in self.python and net in PYTORCH_NETS:
            for program in self.pytorch:
                yield program, [self.python["PyTorch"], WORKERS, "pytorch", net, shape,
                                str(self.threads), mode, *PYTORCH_WAYS[program]]

    def peers(self, net, deploy, batch, shape):
        """Programs that compute the same net: they get its files and what Cortado computes."""
        peers = [program for program in self.python if program != "PyTorch"]
        if not peers:
            return
        weights = os.path.join(self.folder, net + ".caffemodel")
        prefix = os.path.join(self.folder, "%s_%d" % (net, batch))
        call([self.benchmark, "-deploy", deploy, "-batch", str(batch), "-save", weights,
              "-reference", prefix])
        for program in peers:
            files = model_files(program, self.python[program], deploy, weights, shape, prefix)
            if files:
                yield program, [self.python[program], WORKERS, program.lower(), *files, prefix,
                                shape, str(self.threads)]


def print_rows(net, mode, batch, workers):
    first = statistics.median(workers[0].times) if workers else None
    for worker in workers:
        median = statistics.median(worker.times)
        print("%-16s %-8s %5d  %-22s %10.3f %10.3f %10.1f %9.2f %8.0f" %
              (net, mode, batch, worker.program, median, min(worker.times), batch * 1000 / median,
               median / first, worker.peak_megabytes))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", default="forward,train", help="one, or both (default)")
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--programs",
                        default="Cortado,Cortado FLOAT16,OpenCV,OpenVINO,onnxruntime,ncnn,PyTorch")
    parser.add_argument(
        "--python", default="", help="Pythons that import cv2, torch, onnxruntime, ncnn: one, or "
        "several with commas between them")
    arguments = parser.parse_args()
    arguments.build_dir = os.path.abspath(arguments.build_dir)
    for net in arguments.nets.split(","):
        if net not in NETS:
            sys.exit("run.py: --nets: no net '%s'; valid are %s" % (net, ", ".join(NETS)))
    build("net_benchmark", arguments.build_dir)

    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(arguments, folder)
        print("%d threads, %d rounds; ratio: times as long as the first program\n" %
              (arguments.threads, arguments.rounds))
        print("%-16s %-8s %5s  %-22s %10s %10s %10s %9s %8s" %
              ("net", "step", "batch", "program", "median ms", "min ms", "images/s", "ratio",
               "peak MB"))
        for net in arguments.nets.split(","):
            cases = [("forward", batch) for batch in FORWARD_BATCHES]
            if NETS[net][2]:
                cases.append(("train", NETS[net][2]))
            for mode, batch in (case for case in cases if case[0] in arguments.steps.split(",")):
                workers = take_turns(programs.commands(net, mode, batch), arguments.threads,
                                     arguments.rounds, "%s %s, batch %d" % (net, mode, batch))
                print_rows(net, mode, batch, workers)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
