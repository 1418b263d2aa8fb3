#!/usr/bin/env python3
"""How much longer engines and trainings take while other processes want the cores.

    benchmarks/busy_cores/run.py [--rounds 3] [--seconds 2] [--limit 2.5] [--cases WORD]

Everything runs on two cores, an endless loop on each where they are busy. Prints a Markdown table: the
mean time of a run or an iteration, each the median of the rounds, in these settings, which take turns
in a round:

    quiet, busy               on both cores
    one core                  on one of them (affinity, as in a cgroup's cpuset)
    quota of one core         on both, with half of their time (cgroup: cpu.max, or cpu.cfs_quota_us)

A virtual machine whose host runs both cores on one of its own, in turns or on the two hardware threads of
one, would measure that instead. So loops on the cores measure what they get, before and after or, where they
are busy, meanwhile, and `caffe device_query`, before and after, how many products the cores compute together
and one by itself: where that is less than 95% of the time, or 90% of the products, that run is measured
again, for --patience seconds at most.

With one core and with the quota, "times quiet" compares with both cores, quiet. Ends with status 1 if
one of these, or busy compared with quiet, is above the limit. A quota needs the right to make cgroups;
without it that part is left out.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Set

from loops import Loops

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERIOD_US = 100000  # of a quota


class Case(NamedTuple):
    """What is timed: a plan, with a number of contexts, or a training."""

    name: str
    file: str  # without extension
    contexts: int = 0  # 0: a training
    threads: int = 2
    limited: bool = False  # also on one core and with a quota


class Engine(NamedTuple):
    """A plan to be built."""

    net: str  # of models/
    flags: List[str]


ENGINES = {
    "squeezenet": Engine("squeezenet_v1.1", []),
    "squeezenet_int8": Engine("squeezenet_v1.1", ["--int8"]),
    "resnet50": Engine("resnet50", []),
}
TRAININGS = {  # net of models/, and the shape of its data
    "lenet": ("lenet/lenet_train_test.prototxt", (64, 1, 28, 28)),
    "cifar10": ("cifar10_quick/train_test.prototxt", (100, 3, 32, 32)),
}
CASES = [
    Case("SqueezeNet 1.1", "squeezenet", 1, limited=True),
    Case("SqueezeNet 1.1, INT8", "squeezenet_int8", 1, limited=True),
    Case("ResNet-50", "resnet50", 1, limited=True),
    Case("training LeNet, batch 64", "lenet", limited=True),
    Case("training CIFAR-10 quick, batch 100", "cifar10", limited=True),
    Case("SqueezeNet 1.1, 4 contexts of 1 thread", "squeezenet", 4, 1),
    Case("SqueezeNet 1.1, 4 contexts of 2 threads", "squeezenet", 4, 2),
    Case("ResNet-50, 4 contexts of 1 thread", "resnet50", 4, 1),
    Case("ResNet-50, 4 contexts of 2 threads", "resnet50", 4, 2),
]


class Quota:
    """A cgroup that has the time of one core."""

    def __init__(self) -> None:
        self.folder: Optional[pathlib.Path] = None
        groups = {}  # of this process, by controllers
        for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            groups[controllers] = group.lstrip("/")
        for line in pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
            _, mount, kind, options = line.split()[:4]
            if kind == "cgroup2":  # where groups with processes have no groups within
                own = groups.get("", "")
                parent = pathlib.Path(mount, own).parent if own else pathlib.Path(mount)
            elif kind == "cgroup" and "cpu" in options.split(","):
                own = next((group for names, group in groups.items() if "cpu" in names.split(",")), "")
                parent = pathlib.Path(mount, own)
            else:
                continue
            folder = parent / f"busy_cores_{os.getpid()}"
            try:
                folder.mkdir()
            except OSError:
                continue
            try:
                if kind == "cgroup2":
                    (folder / "cpu.max").write_text(f"{PERIOD_US} {PERIOD_US}")
                else:
                    (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                    (folder / "cpu.cfs_quota_us").write_text(str(PERIOD_US))
                self.folder = folder
                return
            except OSError:
                folder.rmdir()

    def enter(self) -> None:
        """Moves the calling process into it."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """Once its processes have ended."""
        if self.folder:
            self.folder.rmdir()


def run(command: List[str], **options) -> str:
    """What a program prints; ends this one with its last line where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"run.py: {' '.join(command)}: {done.stdout.strip().splitlines()[-1:]}")
    return done.stdout


class Bench:
    """Programs, plans and cores."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.tools = pathlib.Path(arguments.build_dir).resolve() / "tools"
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.seconds = arguments.seconds
        self.cores = sorted(os.sched_getaffinity(0))[:2]
        if len(self.cores) < 2:
            sys.exit("run.py: there is one core; it takes two to share one")
        self.environment = dict(os.environ, OMP_NUM_THREADS="2", GLOG_minloglevel="0",
                                GLOG_logtostderr="1")
        self.iterations: Dict[str, int] = {}  # of a training

    def prepare(self, cases: List[Case]) -> None:
        """Builds the plans that are not there, and writes the trainings."""
        for name in {case.file for case in cases}:
            if name in ENGINES and not (self.folder / f"{name}.plan").exists():
                net = ROOT / "models" / ENGINES[name].net / "deploy.prototxt"
                print(f"building {name}.plan", file=sys.stderr)
                run([str(self.tools / "caffe_exec"), f"--deploy={net}", "--batch=1", "--buildOnly",
                     f"--saveEngine={self.folder / name}.plan", "--cpuThreads=2",
                     *ENGINES[name].flags], env=self.environment)
            elif name in TRAININGS:
                self._write_training(name)

    def _write_training(self, name: str) -> None:
        """The published net on made up data."""
        file, shape = TRAININGS[name]
        layers = re.split(r"^(?=layer \{)", (ROOT / "models" / file).read_text(encoding="utf-8"),
                          flags=re.MULTILINE)
        dims = " ".join(f"dim: {extent}" for extent in shape)
        data = f"""layer {{ name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param {{ shape {{ {dims} }} shape {{ dim: {shape[0]} }}
    data_filler {{ type: "uniform" }} data_filler {{ type: "constant" value: 1 }} }} }}
"""
        kept = [layer for layer in layers if 'type: "Data"' not in layer]
        net = self.folder / f"{name}.prototxt"
        net.write_text(kept[0] + data + "".join(kept[1:]), encoding="utf-8")
        self.iterations[name] = 20
        self._write_solver(name)
        mean = self.time(Case("", name), set(self.cores))
        self.iterations[name] = max(20, int(self.seconds * 1000 / mean / 2))
        self._write_solver(name)

    def _write_solver(self, name: str) -> None:
        """So that the first half of the iterations goes before the one that is timed."""
        count = self.iterations[name]
        (self.folder / f"{name}_solver.prototxt").write_text(
            f'net: "{self.folder / name}.prototxt" base_lr: 0.0001 lr_policy: "fixed" '
            f"max_iter: {2 * count + 1} display: {count} snapshot_after_train: false\n",
            encoding="utf-8")

    def time(self, case: Case, cores: Set[int], quota: Optional[Quota] = None) -> float:
        """Milliseconds of a run, or of an iteration."""

        def enter() -> None:
            os.sched_setaffinity(0, cores)
            if quota:
                quota.enter()

        if case.contexts == 0:
            said = run([str(self.tools / "caffe"), "train", "-solver",
                        str(self.folder / f"{case.file}_solver.prototxt")],
                       env=self.environment, preexec_fn=enter)
            rates = re.findall(r"Iteration \d+ \(([0-9.e+]+) iter/s", said)
            return 1000 / float(rates[-1])
        said = run([str(self.tools / "caffe_exec"), f"--loadEngine={self.folder / case.file}.plan",
                    f"--cpuThreads={case.threads}", f"--streams={case.contexts}", "--threads",
                    f"--duration={self.seconds}", "--warmUp=200"],
                   env=self.environment, preexec_fn=enter)
        return float(re.search(r"Latency: .*mean = ([0-9.e+-]+) ms", said).group(1))

    def products(self, cores: List[int]) -> float:
        """Products and sums of FLOAT a second that these cores compute at most, in GFLOP/s."""
        said = run([str(self.tools / "caffe"), "device_query"],
                   env=dict(self.environment, OMP_NUM_THREADS=str(len(cores))),
                   preexec_fn=lambda: os.sched_setaffinity(0, cores))
        rate, unit = re.search(r"of FLOAT .* ([0-9.]+) ([GT])FLOP/s", said).groups()
        return float(rate) * (1000 if unit == "T" else 1)


class Patience:
    """Waits for cores of our own."""

    def __init__(self, bench: Bench, seconds: float) -> None:
        self.bench, self.end = bench, time.monotonic() + seconds
        self.alone = 0.0  # products a second of one core, the most so far

    def _accepts(self, share: float, least: float, what: str) -> bool:
        """Ends the program where the share of a core has been too little for too long."""
        if share < least and time.monotonic() > self.end:
            sys.exit(f"run.py: {what.format(100 * share)}: something else runs, or the host has fewer "
                     "cores for this machine")
        return share >= least

    def _accepts_time(self, share: float) -> bool:
        return self._accepts(share, 0.95, "a loop on each core gets {:.0f}% of its time")

    def _has_products(self) -> bool:
        """The cores multiply together as fast as one by one."""
        cores = self.bench.cores
        together = self.bench.products(cores)
        if self.alone == 0 or together < 2 * 0.95 * self.alone:
            self.alone = max([self.alone, *(self.bench.products([core]) for core in cores)])
        return self._accepts(together / (2 * self.alone), 0.9,
                             "both cores compute {:.0f}% of what each does by itself")

    def _has_cores(self) -> bool:
        """Nothing else runs, and they are two."""
        with Loops(self.bench.cores) as loops:
            time.sleep(0.3)
        return self._accepts_time(loops.own()) and self._has_products()

    def measure(self, run: Callable[[], float], is_busy: bool) -> float:
        """What `run` returns, with a loop on each core or without, while the cores are our own."""
        while True:
            while not self._has_cores():
                time.sleep(2)
            with Loops(self.bench.cores if is_busy else []) as loops:
                result = run()
            if (not is_busy or self._accepts_time(1 - loops.taken())) and self._has_cores():
                return result


def measure(bench: Bench, cases: List[Case], rounds: int, quota: Quota,
            patience: Patience) -> Dict[str, Dict[str, list]]:
    """Times by case and setting, one a round."""
    both, one = set(bench.cores), {bench.cores[0]}
    settings = {"quiet": (both, None, False), "busy": (both, None, True),
                "one core": (one, None, False), "one core, busy": (one, None, True),
                "quota": (both, quota, False), "quota, busy": (both, quota, True)}
    times: Dict[str, Dict[str, list]] = {case.name: {} for case in cases}
    for number in range(rounds):
        for case in cases:
            if sys.stderr.isatty():
                print(f"round {number + 1} of {rounds}, {case.name}" + 20 * " ", end="\r",
                      file=sys.stderr)
            for name, (cores, group, is_busy) in settings.items():
                if name not in ("quiet", "busy") and not case.limited:
                    continue
                if group and not group.folder:
                    continue
                milliseconds = patience.measure(lambda: bench.time(case, cores, group), is_busy)
                times[case.name].setdefault(name, []).append(milliseconds)
    return times


def print_table(times: Dict[str, Dict[str, list]]) -> float:
    """Prints the rows; returns the largest ratio."""
    print("| | quiet ms | busy ms | times quiet | the worst round | one core ms | times quiet | busy ms "
          "| quota ms | times quiet | busy ms |")
    print("| --- |" + " ---: |" * 10)
    largest = 0.0
    for name, settings in times.items():
        medians = {setting: statistics.median(values) for setting, values in settings.items()}
        ratios = {setting: value / medians["quiet"] for setting, value in medians.items()}
        largest = max([largest] + [ratios[s] for s in ("busy", "one core", "quota") if s in ratios])
        worst = max(b / q for b, q in zip(settings["busy"], settings["quiet"]))
        cells = [f"{medians['quiet']:.3g}", f"{medians['busy']:.3g}", f"{ratios['busy']:.2f}",
                 f"{worst:.2f}"]
        for limit in ("one core", "quota"):
            there = limit in medians
            cells += [f"{medians[limit]:.3g}", f"{ratios[limit]:.2f}",
                      f"{medians[limit + ', busy']:.3g}"] if there else ["-"] * 3
        print("| " + " | ".join([name, *cells]) + " |")
    return largest


def main() -> None:
    """Reads the command line, measures, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=str(ROOT / "build"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="that a program runs each time")
    parser.add_argument("--limit", type=float, default=2.5, help="times the quiet time")
    parser.add_argument("--patience", type=float, default=600, metavar="SECONDS",
                        help="how long to wait for cores of our own")
    parser.add_argument("--cases", default="", metavar="WORD", help="only those with this word")
    parser.add_argument("--folder", help="where plans are kept (default: one that is removed)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("run.py: SIGTERM"))  # loops end with it
    cases = [case for case in CASES if arguments.cases in case.name]
    if not cases:
        sys.exit(f"run.py: no case has '{arguments.cases}': "
                 + "; ".join(case.name for case in CASES))
    quota = Quota()
    if not quota.folder:
        print("run.py: without a quota: no cgroup can be made here", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        stack.callback(quota.remove)
        if not arguments.folder:
            arguments.folder = stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(arguments.folder, exist_ok=True)
        bench = Bench(arguments)
        bench.prepare(cases)
        patience = Patience(bench, arguments.patience)
        largest = print_table(measure(bench, cases, arguments.rounds, quota, patience))
    if largest > arguments.limit:
        sys.exit(f"run.py: {largest:.2f} times the quiet time is above {arguments.limit:g}")


if __name__ == "__main__":
    main()
