"""Times the bundle's nets in PyTorch on the first GPU: a line for each measurement.

    peers.py --models DIR --nets A,B --batches 1,32 [--seconds N]

    peak TYPE TFLOP/s                        a square product, 8192 on a side; int8: TOP/s; copy: TB/s
    engine NET BATCH TYPE WAY MEDIAN_MS IMAGES/S
    step NET BATCH TYPE WAY MEDIAN_MS IMAGES/S

A net is built of the layers of its deploy.prototxt, channels last. TYPE is tf32, fp16 or bf16;
WAY is eager, graph (the same recorded as a CUDA graph) or compiled (torch.compile with frozen weights
and CUDA graphs). Steps are forward, backward and SGD with momentum, the types by autocast. The softmax
at the end is part of an engine; what follows PriorBox layers in detectors is left out.
"""
from __future__ import annotations

import argparse
import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch import nn

Message = Dict[str, List[Any]]


def tokens(text: str) -> Iterator[str]:
    for match in re.finditer(r'#[^\n]*|"([^"]*)"|([{}:])|([^\s{}:"#]+)', text):
        if match.group(1) is not None:
            yield '"' + match.group(1)
        elif match.group(2) or match.group(3):
            yield match.group(2) or match.group(3)


def parse(words: Iterator[str]) -> Message:
    """Fields of a message up to its closing brace, each a list."""
    message: Message = {}
    for name in words:
        if name == "}":
            return message
        word = next(words)
        if word == ":":
            word = next(words)
        value: Any = parse(words) if word == "{" else word.lstrip('"')
        message.setdefault(name, []).append(value)
    return message


def first(message: Message, name: str, otherwise: Any) -> Any:
    return message.get(name, [otherwise])[0]


def number(message: Message, name: str, otherwise: int) -> int:
    return int(first(message, name, otherwise))


class Net(nn.Module):
    """The layers of a deploy.prototxt up to what PyTorch has nothing for."""

    def __init__(self, file: str, with_softmax: bool) -> None:
        super().__init__()
        with open(file, encoding="utf-8") as text:
            layers = parse(tokens(text.read()))["layer"]
        self.steps: List[Tuple[str, List[str], List[str], Any]] = []
        self.parts = nn.ModuleDict()
        channels: Dict[str, int] = {}
        places: Dict[str, int] = {}  # pixels, where inner products need them
        sides: Dict[str, Tuple[int, int]] = {}
        self.shape: List[int] = []
        for layer in layers:
            kind, name = layer["type"][0], layer["name"][0].replace(".", "_").replace("/", "_")
            bottoms, tops = layer.get("bottom", []), layer["top"]
            if kind == "Input":
                self.shape = [int(n) for n in layer["input_param"][0]["shape"][0]["dim"]]
                channels[tops[0]], sides[tops[0]] = self.shape[1], (self.shape[2], self.shape[3])
                continue
            if any(bottom not in channels for bottom in bottoms) or kind in ("PriorBox", "Permute"):
                break
            if kind == "Softmax" and not with_softmax:
                break
            inputs, side = channels[bottoms[0]], sides[bottoms[0]]
            outputs = inputs
            if kind == "Convolution":
                p = layer["convolution_param"][0]
                outputs = number(p, "num_output", 0)
                kernel, stride = number(p, "kernel_size", 1), number(p, "stride", 1)
                pad, dilation = number(p, "pad", 0), number(p, "dilation", 1)
                part = nn.Conv2d(inputs, outputs, kernel, stride, pad, dilation, number(p, "group", 1),
                                 first(p, "bias_term", "true") == "true")
                side = tuple((s + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for s in side)
            elif kind == "BatchNorm":
                part = nn.BatchNorm2d(inputs)
            elif kind in ("Scale", "Split"):
                part = nn.Identity()  # BatchNorm2d has the scale
            elif kind == "ReLU":
                part = nn.ReLU(True)
            elif kind == "ReLU6" or (kind == "Clip"):
                part = nn.ReLU6(True)
            elif kind == "LRN":
                p = layer["lrn_param"][0]
                part = nn.LocalResponseNorm(number(p, "local_size", 5), float(first(p, "alpha", 1)),
                                            float(first(p, "beta", 0.75)))
            elif kind == "Pooling":
                p = layer["pooling_param"][0]
                whole = first(p, "global_pooling", "false") == "true"
                kernel, stride = number(p, "kernel_size", 1), number(p, "stride", 1)
                pad = number(p, "pad", 0)
                average = first(p, "pool", "MAX") == "AVE"
                if whole:
                    part, side = nn.AdaptiveAvgPool2d(1), (1, 1)
                else:
                    part = (nn.AvgPool2d if average else nn.MaxPool2d)(kernel, stride, pad, ceil_mode=True)
                    side = tuple(-((s + 2 * pad - kernel) // -stride) + 1 for s in side)
            elif kind == "InnerProduct":
                outputs = number(layer["inner_product_param"][0], "num_output", 0)
                part = nn.Sequential(nn.Flatten(), nn.Linear(inputs * side[0] * side[1], outputs))
                side = (1, 1)
            elif kind == "Dropout":
                part = nn.Dropout(float(first(first(layer, "dropout_param", {}), "dropout_ratio", 0.5)))
            elif kind == "Eltwise":
                part = None
            elif kind == "Concat":
                part, outputs = None, sum(channels[bottom] for bottom in bottoms)
            elif kind == "Softmax":
                part = nn.Softmax(1)
            else:
                break
            if part is not None:
                self.parts[name] = part
            self.steps.append((kind, bottoms, tops, name))
            for top in tops:
                channels[top], sides[top] = outputs, side
        read = {bottom for _, bottoms, tops, _ in self.steps for bottom in bottoms if bottom not in tops}
        self.outputs = sorted({tops[0] for _, _, tops, _ in self.steps} - read)

    def forward(self, x: torch.Tensor) -> List[torch.Tensor]:
        values = {"data": x}
        for kind, bottoms, tops, name in self.steps:
            if kind == "Eltwise":
                y = values[bottoms[0]] + values[bottoms[1]]
            elif kind == "Concat":
                y = torch.cat([values[bottom] for bottom in bottoms], 1)
            else:
                y = self.parts[name](values[bottoms[0]])
            for top in tops:
                values[top] = y
        return [values[name] for name in self.outputs]


def median_ms(step: Callable[[], Any], seconds: float = 0.4) -> float:
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 10:
        begin, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        stop.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(stop))
    return sorted(times)[len(times) // 2]


def recorded(step: Callable[[], Any]) -> Callable[[], Any]:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


class OneAtATime:
    """The GPU is for one process' measurement."""

    def __init__(self, file: str) -> None:
        self.file = open(file, "w", encoding="utf-8")  # pylint: disable=consider-using-with

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: Any) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)


TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def say(kind: str, net: str, batch: int, name: str, way: str, milliseconds: float) -> None:
    print(f"{kind} {net:16} {batch:4} {name:5} {way:9} {milliseconds:9.3f} {1000 * batch / milliseconds:9.0f}",
          flush=True)


def time_engines(file: str, net: str, batches: List[int], lock: OneAtATime) -> None:
    for batch in batches:
        for name in ("fp16", "bf16", "tf32"):
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
            model = Net(file, True).eval().cuda().to(TYPES[name], memory_format=torch.channels_last)
            x = torch.rand([batch] + model.shape[1:], device="cuda", dtype=TYPES[name])
            x = x.contiguous(memory_format=torch.channels_last)
            with torch.no_grad():
                with lock:
                    if name == "fp16":
                        say("engine", net, batch, name, "eager", median_ms(lambda: model(x)))
                    say("engine", net, batch, name, "graph", median_ms(recorded(lambda: model(x))))
                if name != "fp16":
                    continue
                torch._dynamo.reset()  # pylint: disable=protected-access
                torch._inductor.config.freezing = True  # pylint: disable=protected-access
                compiled = torch.compile(model, mode="reduce-overhead")
                for _ in range(3):
                    compiled(x)
                torch.cuda.synchronize()
                with lock:
                    say("engine", net, batch, name, "compiled", median_ms(lambda: compiled(x)))


def time_steps(file: str, net: str, batch: int, lock: OneAtATime) -> None:
    for name in ("fp16", "bf16", "tf32"):
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        for way in ("eager", "compiled"):
            if way == "compiled" and name == "tf32":
                continue
            model = Net(file, False).train().cuda().to(memory_format=torch.channels_last)
            used = torch.compile(model) if way == "compiled" else model
            x = torch.rand([batch] + model.shape[1:], device="cuda")
            x = x.contiguous(memory_format=torch.channels_last)
            labels = torch.randint(1000, (batch,), device="cuda")
            rule = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4, fused=True)
            scaler = torch.amp.GradScaler("cuda", enabled=name == "fp16")

            def step() -> None:
                rule.zero_grad(set_to_none=True)
                with torch.autocast("cuda", TYPES[name], enabled=name != "tf32"):
                    loss = nn.functional.cross_entropy(used(x)[-1].flatten(1).float(), labels)
                scaler.scale(loss).backward()
                scaler.step(rule)
                scaler.update()

            torch.backends.cudnn.benchmark = True
            for _ in range(3):
                step()
            with lock:
                say("step", net, batch, name, way, median_ms(step, 2))


def peaks() -> None:
    for name, kind in TYPES.items():
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        a, b = (torch.randn(8192, 8192, device="cuda", dtype=kind) for _ in range(2))
        print(f"peak {name} {2 * 8192 ** 3 / median_ms(lambda: a @ b, 0.3) / 1e9:.0f} TFLOP/s", flush=True)
    a, b = (torch.randint(-127, 127, (8192, 8192), device="cuda", dtype=torch.int8) for _ in range(2))
    rate = 2 * 8192 ** 3 / median_ms(lambda: torch._int_mm(a, b.t()), 0.3) / 1e9
    print(f"peak int8 {rate:.0f} TOP/s", flush=True)
    c = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    d = torch.empty_like(c)
    print(f"peak copy {2 * (1 << 30) / median_ms(lambda: d.copy_(c), 0.3) / 1e9:.2f} TB/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", required=True)
    parser.add_argument("--nets", required=True)
    parser.add_argument("--batches", required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--part", choices=("peaks", "engines", "steps"))
    parser.add_argument("--lock", help="a file of which one measurement at a time has the lock")
    args = parser.parse_args()
    nets, batches = args.nets.split(","), [int(n) for n in args.batches.split(",")]
    torch.backends.cudnn.benchmark = True
    args.lock = args.lock or os.path.join(tempfile.mkdtemp(), "lock")
    lock = OneAtATime(args.lock)
    if args.part == "engines":
        time_engines(f"{args.models}/{nets[0]}/deploy.prototxt", nets[0], batches, lock)
    elif args.part == "steps":
        time_steps(f"{args.models}/{nets[0]}/deploy.prototxt", nets[0], 256, lock)
    if args.part:
        return
    # A process each: torch.compile takes a core for most of the time, a measurement the GPU.
    end = time.monotonic() + args.seconds
    jobs = [(net, "steps") for net in nets if net in ("bvlc_alexnet", "resnet50")]
    jobs += [(net, "engines") for net in nets if net not in ("lenet", "cifar10_quick")]
    running = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "--models", args.models, "--nets", net,
                                 "--batches", args.batches, "--part", part, "--lock", args.lock])
               for net, part in jobs]
    with lock:
        peaks()
    failed = []
    for process, (net, part) in zip(running, jobs):
        try:
            if process.wait(max(1, end - time.monotonic())):
                failed.append(f"{part} of {net} failed")
        except subprocess.TimeoutExpired:
            process.kill()
            failed.append(f"no time for {part} of {net}")
    if failed:
        sys.exit(f"peers.py: {', '.join(failed)}")


if __name__ == "__main__":
    main()
