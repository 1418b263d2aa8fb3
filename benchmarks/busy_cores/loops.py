"""Endless loops, one on each core, that measure what they get of it."""
from __future__ import annotations

import ctypes
import multiprocessing
import os
import time
from typing import List

GAP = 0.0005  # seconds between two readings of the clock: something else ran


class _Readings(ctypes.Structure):
    """What a loop says at its end, in seconds."""

    _fields_ = [("all", ctypes.c_double),
                ("own", ctypes.c_double),     # without gaps
                ("taken", ctypes.c_double)]   # gaps in which, by the system's count, the loop ran


def _loop(core: int, stop, readings: _Readings) -> None:
    os.sched_setaffinity(0, {core})
    begin = last = time.perf_counter()
    cpu, own, taken = time.process_time(), 0.0, 0.0
    own_at_gap = 0.0
    while not stop.value:
        now = time.perf_counter()
        if now - last > GAP:
            before, cpu = cpu, time.process_time()
            taken += max(0.0, cpu - before - (own - own_at_gap))
            own_at_gap = own
        else:
            own += now - last
        last = now
    readings.all, readings.own, readings.taken = last - begin, own, taken


class Loops:
    """A context in which a loop runs on each core."""

    def __init__(self, cores: List[int]) -> None:
        self._stop = multiprocessing.Value(ctypes.c_bool, False, lock=False)
        self._readings = [multiprocessing.Value(_Readings, lock=False) for _ in cores]
        self._loops = [multiprocessing.Process(target=_loop, args=(core, self._stop, readings),
                                               daemon=True)
                       for core, readings in zip(cores, self._readings)]

    def __enter__(self) -> Loops:
        for loop in self._loops:
            loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.value = True
        for loop in self._loops:
            loop.join()

    def own(self) -> float:
        """The share of its time that a loop had, the least of them; after the context."""
        return min(readings.own / readings.all for readings in self._readings)

    def taken(self) -> float:
        """The share that the host of a virtual machine took for something else, unseen by the
        system, the largest of them; after the context."""
        return max(readings.taken / readings.all for readings in self._readings)
