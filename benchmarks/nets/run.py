#!/usr/bin/env python3
"""Times nets side by side: this Caffe, OpenCV's dnn on the same files, onnxruntime and ncnn on the
same nets in their own formats, PyTorch on the same architecture.

All programs of one comparison are alive at once and take turns, round after round, so that a noisy
machine is noisy for all of them. A program that is not there is left out with a message.

    benchmarks/nets/run.py [--threads 2] [--rounds 15] [--nets lenet] [--programs Cortado,OpenCV]

On Debian, apt-get install python3-opencv python3-torch brings two of the others, pip install onnx
onnxruntime ncnn protobuf the rest; --python names the Pythons that have them.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workers.py")
# Each net: deploy and training file, the batch it trains with, the shape of a picture.
NETS = {
    "lenet": ("models/lenet/deploy.prototxt", "models/lenet/lenet_train_test.prototxt", 64,
              (1, 28, 28)),
    "cifar10_quick": ("models/cifar10_quick/deploy.prototxt",
                      "models/cifar10_quick/train_test.prototxt", 100, (3, 32, 32)),
}
for _name, _batch, _size in (("bvlc_alexnet", 16, 227), ("squeezenet_v1.1", 0, 227),
                             ("bvlc_googlenet", 0, 224), ("resnet18", 8, 224),
                             ("resnet50", 0, 224), ("mobilenet_v1", 0, 224),
                             ("mobilenet_v2", 0, 224), ("vgg16", 0, 224),
                             ("ssd300_vgg16", 0, 300)):
    NETS[_name] = ("models/%s/deploy.prototxt" % _name, "models/%s/train_val.prototxt" % _name,
                   _batch, (3, _size, _size))
FORWARD_BATCHES = (1, 8)
PYTORCH_NETS = ("lenet", "cifar10_quick", "bvlc_alexnet", "resnet18")
TURN_SECONDS = 0.25


def peak_megabytes(pid):
    """The most memory that a running process has had resident."""
    try:
        with open("/proc/%d/status" % pid) as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return float("nan")


class Worker:
    """A process that times one program on one net."""

    def __init__(self, program, command, threads):
        self.program = program
        self.times = []
        self.errors = tempfile.TemporaryFile("w+")
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), GLOG_minloglevel="1")
        # Between its turns a program's threads sleep instead of spinning on cores that others time.
        environment.setdefault("GOMP_SPINCOUNT", "10000")
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)
        self.iterations = 1

    def run(self, iterations):
        try:
            self.process.stdin.write("%d\n" % iterations)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.process.wait()
            self.errors.seek(0)
            lines = self.errors.read().strip().splitlines() or ["no message"]
            raise RuntimeError("%s ended with status %d: %s" %
                               (self.program, self.process.returncode, lines[-1]))
        return [float(word) for word in line.split()]

    def warm_up(self):
        """Finds out how many iterations fill a turn."""
        self.run(2)
        step = statistics.median(self.run(3))
        self.iterations = max(1, min(1000, int(TURN_SECONDS * 1000 / max(step, 0.001))))

    def turn(self):
        self.times += self.run(self.iterations)

    def close(self):
        self.peak_megabytes = peak_megabytes(self.process.pid)
        self.process.stdin.close()
        self.process.wait()


def python_with(modules, pythons):
    """The first of `pythons` that imports all of `modules`."""
    for python in pythons:
        if shutil.which(python) and subprocess.run(
                [python, "-c", "import " + ", ".join(modules)], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return python
    return None


def version_of(python, module):
    return subprocess.run([python, "-c", "import %s; print(%s.__version__)" % (module, module)],
                          capture_output=True, text=True, check=True).stdout.strip()


# The programs in Python: what each imports, itself first, and how to install that.
PEERS = {
    "OpenCV": (["cv2", "numpy"], "Debian: apt-get install python3-opencv"),
    "onnxruntime": (["onnxruntime", "onnx", "google.protobuf", "numpy"],
                    "pip install onnxruntime onnx protobuf"),
    "ncnn": (["ncnn", "google.protobuf", "numpy"], "pip install ncnn protobuf numpy"),
    "PyTorch": (["torch"], "Debian: apt-get install python3-torch"),
}


class Programs:
    """The commands that time a net, for each program that is there."""

    def __init__(self, arguments, folder):
        self.folder = folder
        self.threads = arguments.threads
        self.benchmark = os.path.join(arguments.build_dir, "benchmarks", "net_benchmark")
        wanted = arguments.programs.split(",")
        pythons = (arguments.python.split(",") if arguments.python
                   else [sys.executable, "/usr/bin/python3"])
        self.cortado = [name for name in ("Cortado", "Cortado FLOAT16") if name in wanted]
        self.python = {}
        for program, (modules, install) in PEERS.items():
            if program not in wanted:
                continue
            python = python_with(modules, pythons)
            if python:
                self.python[program] = python
                print("%s %s (%s)" % (program, version_of(python, modules[0]), python))
            else:
                print("%s is left out: none of %s imports %s (%s)" %
                      (program, ", ".join(pythons), " and ".join(modules), install))

    def commands(self, net, mode, batch):
        deploy, train, _, picture = NETS[net]
        shape = ",".join(map(str, (batch,) + picture))
        for program in self.cortado:
            command = [self.benchmark, "-deploy", deploy, "-batch", str(batch)]
            if mode == "train":
                command += ["-train", train]
            if program.endswith("FLOAT16"):
                command += ["-type", "FLOAT16"]
            yield program, command
        if mode == "forward":
            yield from self.peers(net, deploy, batch, shape)
        if "PyTorch" in self.python and net in PYTORCH_NETS:
            yield "PyTorch", [self.python["PyTorch"], WORKERS, "pytorch", net, shape,
                              str(self.threads), mode]

    def peers(self, net, deploy, batch, shape):
        """Programs that compute the same net: they get its files and what Cortado computes."""
        peers = [program for program in ("OpenCV", "onnxruntime", "ncnn") if program in self.python]
        if not peers:
            return
        weights = os.path.join(self.folder, net + ".caffemodel")
        reference = os.path.join(self.folder, net)
        self.call([self.benchmark, "-deploy", deploy, "-batch", str(batch), "-save", weights,
                   "-reference", reference])
        for program in peers:
            files = self.files(program, net, deploy, weights, shape)
            if files:
                yield program, [self.python[program], WORKERS, program.lower(), *files, reference,
                                shape, str(self.threads)]

    def files(self, program, net, deploy, weights, shape):
        """The files that a program reads, written before its process starts; None if that fails."""
        if program == "OpenCV":
            return [deploy, weights]
        target = os.path.join(self.folder, net + (".onnx" if program == "onnxruntime" else "_ncnn"))
        command = [self.python[program], WORKERS]
        if program == "onnxruntime":
            command += ["write-onnx", deploy, weights, shape, target]
        else:
            command += ["write-ncnn", deploy, weights, target]
        return [target] if self.call(command) else None

    @staticmethod
    def call(command):
        result = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines() or ["no message"]
            print("left out: %s: %s" % (" ".join(command[1:4]), lines[-1]))
        return result.returncode == 0


def measure(programs, net, mode, batch, rounds):
    """Workers with their times; those that failed are reported and left out."""
    workers = []
    for program, command in programs.commands(net, mode, batch):
        worker = Worker(program, command, programs.threads)
        try:
            worker.warm_up()
            workers.append(worker)
        except RuntimeError as error:
            print("left out, %s, %s, batch %d: %s" % (net, mode, batch, error))
    for number in range(rounds):
        if sys.stderr.isatty():
            sys.stderr.write("\r%s %s, batch %d: round %d of %d \r" %
                             (net, mode, batch, number + 1, rounds))
        # Nobody always comes first.
        for i in range(len(workers)):
            workers[(i + number) % len(workers)].turn()
            time.sleep(0.02)
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    for worker in workers:
        worker.close()
    return workers


def print_rows(net, mode, batch, workers):
    first = statistics.median(workers[0].times) if workers else None
    for worker in workers:
        median = statistics.median(worker.times)
        print("%-16s %-8s %5d  %-16s %10.3f %10.3f %10.1f %9.2f %8.0f" %
              (net, mode, batch, worker.program, median, min(worker.times), batch * 1000 / median,
               median / first, worker.peak_megabytes))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--programs",
                        default="Cortado,Cortado FLOAT16,OpenCV,onnxruntime,ncnn,PyTorch")
    parser.add_argument(
        "--python", help="Pythons that import cv2, torch, onnxruntime, ncnn: one, or "
        "several with commas between them")
    arguments = parser.parse_args()
    arguments.build_dir = os.path.abspath(arguments.build_dir)
    for net in arguments.nets.split(","):
        if net not in NETS:
            sys.exit("run.py: --nets: no net '%s'; valid are %s" % (net, ", ".join(NETS)))
    if subprocess.run(["cmake", "--build", arguments.build_dir, "--target", "net_benchmark"],
                      stdout=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit("run.py: net_benchmark could not be built in %s: run scripts/build.sh first" %
                 arguments.build_dir)

    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(arguments, folder)
        print("%d threads, %d rounds; ratio: times as long as the first program\n" %
              (arguments.threads, arguments.rounds))
        print("%-16s %-8s %5s  %-16s %10s %10s %10s %9s %8s" %
              ("net", "step", "batch", "program", "median ms", "min ms", "images/s", "ratio",
               "peak MB"))
        for net in arguments.nets.split(","):
            cases = [("forward", batch) for batch in FORWARD_BATCHES]
            if NETS[net][2]:
                cases.append(("train", NETS[net][2]))
            for mode, batch in cases:
                print_rows(net, mode, batch, measure(programs, net, mode, batch, arguments.rounds))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
