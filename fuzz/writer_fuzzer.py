"""What the fuzz targets of writers in Python share: the loop, its limits, findings.

A target says what a good answer is; anything else is a finding: another exception, more than ten
seconds, more than one GiB, the end of the process. The loop runs in a child, so that a finding may
end it. Nets that lead to something new are kept and changed further. The same seed gives the same
nets.
"""
from __future__ import annotations

import argparse
import contextlib
import dis
import functools
import json
import mmap
import os
import pickle
import random
import re
import resource
import signal
import struct
import sys
import time
import traceback
from types import CodeType, FrameType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))

from google.protobuf import text_format  # noqa: E402
from net_mutator import NetMutator  # noqa: E402

from caffe.proto import caffe_pb2  # noqa: E402

MAX_SECONDS = 10
HANGS_AFTER = 300
MAX_BYTES = 1 << 30
MINIMISE_SECONDS = 5
_POOL = 2000
_TRACED = 50  # of so many runs, one is traced for coverage
_SHARED = 8 << 20
_TELL_SECONDS = 30
_HEAD = struct.Struct("dQI")  # when a run began, its number, how long its input is


class Input(NamedTuple):
    net: Any
    options: Dict[str, Any]


class BadAnswer(Exception):
    """What came out is wrong; `where` says how, for all inputs of which that is true."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where


class TooSlow(BaseException):
    """Not an Exception, which a writer might catch."""


class Target:
    """A writer. `package` is the folder of its sources, `types` the layers that it knows."""

    name = ""
    package = ""
    types: Sequence[str] = ()
    default_options: Dict[str, Any] = {}

    def options(self, draw: random.Random, net: Any) -> Dict[str, Any]:
        raise NotImplementedError

    def run(self, given: Input) -> Tuple[Set[str], Set[str]]:
        """Writes the net. Returns what is special about the answer, and the types of layers that
        were written. Raises what a finding is."""
        raise NotImplementedError


class Finding(NamedTuple):
    """`key` is the same for all inputs with the same fault."""
    key: str
    told: str


def template(message: str) -> str:
    """A message without its names and numbers."""
    return re.sub(r"[-\d.]+|'[^']*'", "_", " ".join(message.split()))[:200]


# Inputs as text.


def text_of(given: Input) -> str:
    """A prototxt with the options in a comment at its head."""
    net = text_format.MessageToString(given.net)
    return f"# {json.dumps(given.options, sort_keys=True)}\n{net}"


def input_of(text: str, default_options: Dict[str, Any]) -> Input:
    """Reads what text_of wrote, or any prototxt. Raises text_format.ParseError."""
    net = caffe_pb2.NetParameter()
    text_format.Parse(text, net)
    head = text.split("\n", 1)[0]
    return Input(net, json.loads(head[2:]) if head.startswith("# {") else dict(default_options))


def read_inputs(paths: Sequence[str], default_options: Dict[str, Any]) -> Dict[str, Input]:
    """The prototxt files among and below `paths`; solvers and what is no net are left out."""
    files: List[str] = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(path)
        for folder, _, names in os.walk(path):
            files += [os.path.join(folder, name) for name in names if name.endswith(".prototxt")]
    inputs = {}
    for file in sorted(files):
        with open(file, encoding="utf-8") as opened:
            with contextlib.suppress(text_format.ParseError):
                inputs[file] = input_of(opened.read(), default_options)
    return inputs


# One run.


def _on_alarm(_: int, __: Optional[FrameType]) -> None:
    raise TooSlow()


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    # Seconds of the processor: others may keep the machine busy.
    before = signal.signal(signal.SIGPROF, _on_alarm)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _innermost(error: BaseException, package: str) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if frame.filename.startswith(package)]
    if not frames:
        return "outside of the writer"
    last = frames[-1]
    return f"{os.path.relpath(last.filename, ROOT)}:{last.lineno} {last.name}"


def judge(target: Target, given: Input) -> Tuple[Optional[Finding], Set[str], Set[str]]:
    """A finding, or None with what the answer says."""
    try:
        with _in_time():
            features, types = target.run(given)
        return None, features, types
    except BadAnswer as error:
        return Finding(error.where, f"{error.where}: {error}"), set(), set()
    except TooSlow as error:
        where = _innermost(error, target.package)
        return Finding(f"time {where}", f"more than {MAX_SECONDS} s: {where}"), set(), set()
    except (Exception, SystemExit) as error:  # whatever it is, it is a finding
        where = _innermost(error, target.package)
        kind = type(error).__name__
        message = " ".join(str(error).split())[:200]
        return Finding(f"{kind} {where}", f"{kind} in {where}: {message}"), set(), set()


def limit_memory() -> None:
    """What is used now, and MAX_BYTES more."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES,) * 2)


# Smaller inputs with the same fault.


def _smaller(given: Input) -> Iterator[Input]:
    """The input with a layer, a field or an option less."""
    for name in ("layer", "layers"):
        for i in reversed(range(len(getattr(given.net, name)))):
            net = caffe_pb2.NetParameter()
            net.CopyFrom(given.net)
            del getattr(net, name)[i]
            yield Input(net, given.options)
    flags = given.options.get("flags", [])
    for i in range(len(flags)):
        yield Input(given.net, {**given.options, "flags": flags[:i] + flags[i + 1:]})

    def messages_of(message: Any) -> List[Any]:
        found = [message]
        for _, value in message.ListFields():
            for element in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
                if hasattr(element, "ListFields"):
                    found += messages_of(element)
        return found

    for i, message in enumerate(messages_of(given.net)):
        for descriptor, _ in message.ListFields():
            net = caffe_pb2.NetParameter()
            net.CopyFrom(given.net)
            messages_of(net)[i].ClearField(descriptor.name)
            yield Input(net, given.options)


def minimised(target: Target, given: Input, key: str) -> Input:
    """`given` with as little in it as the finding needs."""
    end = time.process_time() + MINIMISE_SECONDS
    shrinks = True
    while shrinks and time.process_time() < end:
        shrinks = False
        for smaller in _smaller(given):
            if time.process_time() > end:
                break
            finding = judge(target, smaller)[0]
            if finding is not None and finding.key == key:
                given, shrinks = smaller, True
                break
    return given


# Coverage.


def _lines_of(code: CodeType) -> Set[int]:
    lines = {line for _, line in dis.findlinestarts(code) if line}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            lines |= _lines_of(constant)
    return lines


@functools.lru_cache(maxsize=None)
def _function_lines(file: str) -> Set[Tuple[str, int]]:
    """Those of functions: lines of the module itself run once, when it is imported."""
    with open(file, encoding="utf-8") as opened:
        code = compile(opened.read(), file, "exec")
    return {(file, line) for constant in code.co_consts if isinstance(constant, CodeType)
            for line in _lines_of(constant)}


class Coverage:
    """Lines of the writer's functions that runs came to."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.seen: Set[Tuple[str, int]] = set()

    def _trace(self, frame: FrameType, _: str, __: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._package):
            return None
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(None)

    def __str__(self) -> str:
        known: Set[Tuple[str, int]] = set()
        for file in sorted({file for file, _ in self.seen}):
            known |= _function_lines(file)
        return f"{len(known & self.seen)} of {len(known)} lines"


# The loop.


class _Shared:
    """What the child is at, for the parent to read when the child is gone."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SHARED)

    def write(self, number: int, given: Input) -> None:
        content = pickle.dumps((given.net.SerializePartialToString(), given.options))
        content = content if len(content) + _HEAD.size <= _SHARED else b""
        self._memory[_HEAD.size:_HEAD.size + len(content)] = content
        self._memory[:_HEAD.size] = _HEAD.pack(time.monotonic(), number, len(content))

    def idle(self) -> None:
        _, number, size = _HEAD.unpack(self._memory[:_HEAD.size])
        self._memory[:_HEAD.size] = _HEAD.pack(0, number, size)

    def began(self) -> float:
        return float(_HEAD.unpack(self._memory[:_HEAD.size])[0])

    def read(self) -> Tuple[int, Optional[Input]]:
        _, number, size = _HEAD.unpack(self._memory[:_HEAD.size])
        if size == 0:
            return number, None
        net, options = pickle.loads(self._memory[_HEAD.size:_HEAD.size + size])
        return number, Input(caffe_pb2.NetParameter.FromString(net), options)


class Fuzzer:
    """Runs a target on inputs until time is over or enough were run."""

    def __init__(self, target: Target, inputs: Dict[str, Input], seed: int, folder: str) -> None:
        self._target = target
        self._inputs = inputs
        self._seed = seed
        self._folder = folder
        self._known: Set[str] = set()

    def save(self, given: Input, finding: Finding) -> None:
        """Writes the input and says in one line what it does."""
        os.makedirs(self._folder, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9]+", "_", finding.key).strip("_")[-100:] + ".prototxt"
        path = os.path.join(self._folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text_of(given))
        print(f"finding: {finding.told} ({path})", flush=True)

    def replay(self) -> bool:
        """Runs the inputs as they are. True if there are no findings."""
        good = True
        for path, given in self._inputs.items():
            finding = judge(self._target, given)[0]
            if finding is not None:
                good = False
                print(f"finding: {path}: {finding.told}", flush=True)
        return good

    def loop(self, shared: _Shared, seconds: float, runs: int, restarts: int) -> bool:
        """True if there are no findings."""
        draw = random.Random(f"{self._seed}/{restarts}")
        # Fields are drawn apart from nets to start from, so that these are as many of each kind.
        mutator = NetMutator(draw, [given.net for given in self._inputs.values()],
                             self._target.types)
        pool: List[Input] = []
        features: Set[str] = set()
        types: Set[str] = set()
        coverage = Coverage(self._target.package)
        good = True
        begin = told = time.monotonic()
        number = 0
        for number in range(1, runs + 1):
            now = time.monotonic()
            if now - begin > seconds:
                number -= 1
                break
            if now - told > _TELL_SECONDS:
                told = now
                self._tell(number, now - begin, types, features, coverage)
            given = self._next(draw, mutator, pool)
            shared.write(number, given)
            with coverage.on() if number % _TRACED == 0 else contextlib.nullcontext():
                finding, new, written = judge(self._target, given)
            shared.idle()
            types |= written
            if finding is not None:
                good = False
                if finding.key not in self._known:
                    self._known.add(finding.key)
                    self.save(minimised(self._target, given, finding.key), finding)
            elif not new <= features:
                features |= new
                pool.append(given)
                if len(pool) > _POOL:
                    del pool[draw.randrange(_POOL)]
        self._tell(number, time.monotonic() - begin, types, features, coverage)
        return good

    def _next(self, draw: random.Random, mutator: NetMutator, pool: List[Input]) -> Input:
        if pool and draw.randrange(2):
            kept = draw.choice(pool)
            net = caffe_pb2.NetParameter()
            net.CopyFrom(kept.net)
            options = kept.options if draw.randrange(2) else self._target.options(draw, net)
        else:
            net = mutator.fresh()
            options = self._target.options(draw, net)
        for _ in range(draw.choice((0, 1, 1, 1, 2, 2, 3, 6))):
            mutator.mutate(net)
        return Input(net, options)

    def _tell(self, number: int, seconds: float, types: Set[str], features: Set[str],
              coverage: Coverage) -> None:
        print(f"{self._target.name}: {number} executions in {seconds:.0f} s, "
              f"{number / max(seconds, 1e-3):.0f}/s; {len(types)} of {len(self._target.types)} "
              f"types written; {len(features)} kinds of answers; {coverage}", flush=True)

    def run(self, seconds: float, runs: int) -> bool:
        """The loop in a child, and in another one when that has died."""
        shared = _Shared()
        end = time.monotonic() + seconds
        good, restarts = True, 0
        while runs > 0 and time.monotonic() < end:
            child = os.fork()
            if child == 0:
                self._run_child(shared, end - time.monotonic(), runs, restarts)
            status = self._wait(child, shared)
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 1):
                return good and os.WEXITSTATUS(status) == 0
            number, given = shared.read()
            good, runs, restarts = False, runs - number, restarts + 1
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "exit"
            if given is not None:
                self.save(given, Finding(f"{how} {restarts}", f"the process ended by {how}"))
        return good

    def _run_child(self, shared: _Shared, seconds: float, runs: int, restarts: int) -> None:
        status = 2
        try:
            limit_memory()
            status = 0 if self.loop(shared, seconds, runs, restarts) else 1
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)

    @staticmethod
    def _wait(child: int, shared: _Shared) -> int:
        """The child's status. It is killed where it does not end a run by itself."""
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
            began = shared.began()
            if began and time.monotonic() - began > HANGS_AFTER:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.05)


def main(target: Target, description: str, arguments: Optional[List[str]] = None) -> int:
    """The program of a target; returns its exit status."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", metavar="CORPUS",
                        help="prototxt files of nets, or folders with some")
    parser.add_argument("-seconds", type=float, default=60, help="how long (%(default)g)")
    parser.add_argument("-runs", type=int, default=1 << 62, metavar="N",
                        help="how many nets at most; 0 runs the files as they are")
    parser.add_argument("-seed", type=int, default=1, help="of random numbers (%(default)s)")
    parser.add_argument("-findings", default="findings", metavar="FOLDER",
                        help="where inputs are written that went wrong (%(default)s)")
    given = parser.parse_args(arguments)
    try:
        inputs = read_inputs(given.inputs, target.default_options)
    except (OSError, UnicodeDecodeError) as error:
        print(f"{target.name}: {error}", file=sys.stderr)
        return 1
    if not inputs:
        print(f"{target.name}: no nets in {' '.join(given.inputs)}", file=sys.stderr)
        return 1
    fuzzer = Fuzzer(target, inputs, given.seed, given.findings)
    good = fuzzer.replay()
    if given.runs > 0:
        good = fuzzer.run(given.seconds, given.runs) and good
    print(f"{target.name}: {'no findings' if good else 'findings'}")
    return 0 if good else 1
