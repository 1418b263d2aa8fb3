"""Runs a program and writes what it holds, a line each second: resident memory (all of it, and the part
that is not of files), open descriptors, threads.

    watch.py [--every S] [--seconds S [--interrupt]] [--keep N FILES] SAMPLES.csv COMMAND...

Ends with the program's status.
"""
from __future__ import annotations

import argparse
import glob
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Dict, Optional

COLUMNS = ("seconds", "resident_kib", "anonymous_kib", "descriptors", "threads")
FIELDS = {"VmRSS": "resident_kib", "RssAnon": "anonymous_kib", "Threads": "threads"}
SECONDS_TO_END = 120  # after SIGINT


def sample(process: int) -> Optional[Dict[str, int]]:
    """What a process holds now; None if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
        held = {"descriptors": len(os.listdir(f"/proc/{process}/fd"))}
    except OSError:
        return None
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name in FIELDS:
            held[FIELDS[name]] = int(value.split()[0])
    return held if all(name in held for name in FIELDS.values()) else None


def remove_old(pattern: str, keep: int) -> None:
    """Removes all but the newest files."""
    times = []
    for name in glob.glob(pattern):
        try:
            times.append((os.path.getmtime(name), name))
        except OSError:  # it has been renamed
            continue
    for _, name in sorted(times)[:-keep]:
        pathlib.Path(name).unlink(missing_ok=True)


class Progress:
    """A line about the latest sample: on a terminal one that rewrites itself, elsewhere one a minute."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rewrites = sys.stdout.isatty()
        self.said = 0.0

    def tell(self, seconds: float, held: Dict[str, int]) -> None:
        """Shows a sample, if it is time to."""
        if not self.rewrites and seconds - self.said < 60:
            return
        self.said = seconds
        print(f"{self.name}: {seconds:.0f} s, {held['resident_kib'] / 1024:.1f} MB, "
              f"{held['descriptors']} descriptors, {held['threads']} threads",
              end="  \r" if self.rewrites else "\n", flush=True)


def watch(arguments: argparse.Namespace) -> int:
    """Runs the command to its end; returns its status."""
    progress = Progress(pathlib.Path(arguments.samples).stem)
    begin = time.monotonic()
    interrupted = None
    with open(arguments.samples, "w", encoding="ascii") as samples, \
            subprocess.Popen(arguments.command) as program:
        try:
            print(",".join(COLUMNS), file=samples)
            while program.poll() is None:
                seconds = time.monotonic() - begin
                held = sample(program.pid)
                is_over = bool(arguments.seconds) and seconds >= arguments.seconds
                if held is not None and not is_over:
                    row = {"seconds": f"{seconds:.1f}", **held}
                    print(",".join(str(row[column]) for column in COLUMNS), file=samples, flush=True)
                    progress.tell(seconds, held)
                if arguments.keep:
                    remove_old(arguments.keep[1], int(arguments.keep[0]))
                if arguments.interrupt and is_over and interrupted is None:
                    interrupted = seconds
                    program.send_signal(signal.SIGINT)
                if interrupted is not None and seconds - interrupted > SECONDS_TO_END:
                    print(f"{progress.name}: it has not ended {SECONDS_TO_END} s after SIGINT")
                    return 1
                try:
                    program.wait(arguments.every)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            if program.poll() is None:
                program.kill()
    if program.returncode != 0:
        print(f"{progress.name}: {arguments.command[0]} ended with status {program.returncode}")
    return 0 if program.returncode == 0 else 1


def main() -> None:
    """Reads the command line and watches."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=float, default=1, metavar="S")
    parser.add_argument("--seconds", type=float, metavar="S",
                        help="take no samples after that, when the program comes to its end")
    parser.add_argument("--interrupt", action="store_true", help="send it SIGINT then")
    parser.add_argument("--keep", nargs=2, metavar=("N", "FILES"),
                        help="remove all but the newest N files of this pattern meanwhile")
    parser.add_argument("samples")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    sys.exit(watch(parser.parse_args()))


if __name__ == "__main__":
    main()
