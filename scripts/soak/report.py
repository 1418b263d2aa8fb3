"""Says whether programs were flat, from the samples that watch.py wrote.

    report.py [--limit PERCENT] [--warm-up S] [--plot FILE] SAMPLES.csv...

What follows the warm-up is cut into quarters. "growth" is how far the median of the resident memory in
the last quarter is above that in the first one, in percent; a program is flat if that is within the
limit. "most" is the largest single sample. Of descriptors and threads the fewest in a quarter count,
since files are open and threads live for a moment: the last quarter may have no more than the first.
Ends with status 1
where a program was not flat.
"""
from __future__ import annotations

import argparse
import csv
import pathlib
import statistics
import sys
from typing import Dict, List, NamedTuple

FEWEST_SAMPLES = 5  # of a quarter

Samples = List[Dict[str, float]]


class Verdict(NamedTuple):
    """A row of the table."""

    name: str
    cells: List[str]
    complaints: List[str]


def read(path: str) -> Samples:
    """The lines of a file."""
    with open(path, encoding="ascii", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def quarters(samples: Samples, warm_up: float) -> List[Samples]:
    """The samples after the warm-up; none if there are too few."""
    end = samples[-1]["seconds"] if samples else 0
    length = (end - warm_up) / 4
    if length <= 0:
        return []
    parts: List[Samples] = [[], [], [], []]
    for row in samples:
        if row["seconds"] >= warm_up:
            parts[min(3, int((row["seconds"] - warm_up) / length))].append(row)
    return parts if all(len(part) >= FEWEST_SAMPLES for part in parts) else []


def slope(samples: Samples, column: str) -> float:
    """The slope of the line of least squares, a second."""
    x, y = ([row[name] for row in samples] for name in ("seconds", column))
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) /
            sum((a - mean_x) ** 2 for a in x))


def judge(path: str, warm_up: float, limit: float) -> Verdict:
    """What is to be said of a program."""
    name, samples = pathlib.Path(path).stem, read(path)
    parts = quarters(samples, warm_up)
    if not parts:
        return Verdict(name, ["-"] * 9,
                       [f"it ran for too short a time to see anything after {warm_up:g} s"])
    first, last = (statistics.median(row["resident_kib"] for row in part)
                   for part in (parts[0], parts[-1]))
    growth = 100 * (last / first - 1)
    kept = [row for part in parts for row in part]
    fewest = {column: [int(min(row[column] for row in part)) for part in (parts[0], parts[-1])]
              for column in ("descriptors", "threads")}
    complaints = []
    if growth > limit:
        complaints.append(f"its memory grew by {growth:.2f} %, more than {limit:g} %")
    for column, (before, after) in fewest.items():
        if after > before:
            complaints.append(f"{before} {column} became {after}")
    cells = [f"{samples[-1]['seconds'] / 60:.1f}", f"{first / 1024:.1f}", f"{last / 1024:.1f}",
             f"{growth:+.2f}", f"{max(row['resident_kib'] for row in kept) / 1024:.1f}",
             f"{slope(kept, 'resident_kib') * 3600 / 1024:+.2f}",
             f"{statistics.median(row['anonymous_kib'] for row in parts[-1]) / 1024:.1f}"]
    cells += [f"{before}, {after}" for before, after in fewest.values()]
    return Verdict(name, cells, complaints)


def print_table(verdicts: List[Verdict]) -> None:
    """Markdown."""
    header = ["part", "min", "MB, first quarter", "last quarter", "growth %", "most", "MB an hour",
              "last quarter, not of files", "descriptors", "threads", ""]
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " ---: |" * (len(header) - 2) + " --- |")
    for verdict in verdicts:
        print("| " + " | ".join([verdict.name, *verdict.cells,
                                 "not flat" if verdict.complaints else "flat"]) + " |")


def plot(paths: List[str], warm_up: float, file: str) -> None:
    """A plot of all programs' memory; a note where matplotlib is not there."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("report.py: no plot without matplotlib (Debian: python3-matplotlib)")
        return
    matplotlib.use("agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    figure, axes = pyplot.subplots(len(paths), 1, squeeze=False, sharex=True,
                                   figsize=(9, 2.5 * len(paths)), layout="constrained")
    for path, axis in zip(paths, axes[:, 0]):
        samples = read(path)
        x = [row["seconds"] / 60 for row in samples]
        axis.plot(x, [row["resident_kib"] / 1024 for row in samples], label="resident, MB")
        axis.plot(x, [row["anonymous_kib"] / 1024 for row in samples], label="not of files, MB")
        axis.axvline(warm_up / 60, color="grey", linestyle=":")
        axis.set_ylim(bottom=0)
        axis.set_title(pathlib.Path(path).stem)
        axis.legend(loc="lower right")
    axes[-1, 0].set_xlabel("minutes")
    figure.savefig(file)
    print(f"report.py: drawn in {file}")


def main() -> None:
    """Reads the command line, prints the table, decides."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=1, metavar="PERCENT")
    parser.add_argument("--warm-up", type=float, default=60, metavar="S")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("samples", nargs="+")
    arguments = parser.parse_args()
    verdicts = [judge(path, arguments.warm_up, arguments.limit) for path in arguments.samples]
    print_table(verdicts)
    if arguments.plot:
        plot(arguments.samples, arguments.warm_up, arguments.plot)
    for verdict in verdicts:
        for complaint in verdict.complaints:
            print(f"{verdict.name}: {complaint}")
    sys.exit(1 if any(verdict.complaints for verdict in verdicts) else 0)


if __name__ == "__main__":
    main()
