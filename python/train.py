#!/usr/bin/env python3
"""Trains a net, as `caffe train` does; with several GPUs, one process each.

examples:
  train.py --solver models/lenet/solver.prototxt
  train.py --solver solver.prototxt --snapshot snap_iter_500.solverstate
  train.py --solver solver.prototxt --gpus 0 1 2 3
  train.py --solver solver.prototxt --timing

Without --gpus the CPU computes. Ctrl-C stops after the iteration at hand. The batch size in the net
is that of each GPU.
"""
import argparse
import multiprocessing
import multiprocessing.connection

import caffe
from caffe import _cli
from caffe._layer_times import LayerTimes


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solver", required=True, metavar="FILE",
                        help="the solver's .prototxt file")
    parser.add_argument("--snapshot", metavar="FILE",
                        help="a .solverstate or .solverstate.h5 file to go on from")
    parser.add_argument("--gpus", type=int, nargs="+", default=[], metavar="N",
                        help="the GPUs to train on (default: none, the CPU)")
    parser.add_argument("--timing", action="store_true",
                        help="print how long each layer took, every `display` iterations")
    return parser.parse_args()


def make_solver(path, snapshot):
    solver = caffe.get_solver(path)
    if snapshot:
        solver.restore(snapshot)
    return solver


def train(path, snapshot, timing):
    """Trains in this process alone."""
    solver = make_solver(path, snapshot)
    if timing:
        LayerTimes(solver).install()
    solver.solve()


def train_rank(path, snapshot, gpus, timing, uid, rank):
    """One process of several, which average their gradients."""
    caffe.set_mode_gpu()
    caffe.set_device(gpus[rank])
    caffe.set_solver_count(len(gpus))
    caffe.set_solver_rank(rank)
    caffe.set_multiprocess(True)
    solver = make_solver(path, snapshot)
    nccl = caffe.NCCL(solver, uid)
    nccl.bcast()
    if timing and rank == 0:
        LayerTimes(solver).install()
    solver.add_callback(nccl)
    if solver.param.layer_wise_reduce:
        solver.net.after_backward(nccl)
    solver.step(max(0, solver.param.max_iter - solver.iter))
    solver.snapshot()  # all take part, rank 0 writes


def run_rank(*arguments):
    """train_rank in a process of its own, which fails with one line."""
    _cli.run(lambda: train_rank(*arguments))


def first_failed(ranks):
    """Waits for all processes. When one fails it ends the others, who would wait for that one, and
    returns its number."""
    running = {process.sentinel: number for number, process in enumerate(ranks)}
    while running:
        for sentinel in multiprocessing.connection.wait(running):
            number = running.pop(sentinel)
            ranks[number].join()
            if ranks[number].exitcode != 0:
                for other in running.values():
                    ranks[other].terminate()
                return number
    return None


def train_together(path, snapshot, gpus, timing):
    """One process a GPU; ends with an error when one of them does."""
    uid = caffe.NCCL.new_uid()
    caffe.log(f"Using devices {gpus}")
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    ranks = [context.Process(target=run_rank, args=(path, snapshot, gpus, timing, uid, rank))
             for rank in range(len(gpus))]
    for rank in ranks:
        rank.start()
    failed = first_failed(ranks)
    if failed is not None:
        raise RuntimeError(f"training failed on GPU {gpus[failed]}")


def main():
    arguments = parse_arguments()
    caffe.init_log()
    if len(arguments.gpus) > 1:
        train_together(arguments.solver, arguments.snapshot, arguments.gpus, arguments.timing)
        return
    if arguments.gpus:
        caffe.set_mode_gpu()
        caffe.set_device(arguments.gpus[0])
    else:
        caffe.set_mode_cpu()
    train(arguments.solver, arguments.snapshot, arguments.timing)


if __name__ == "__main__":
    _cli.run(main)
