#!/usr/bin/env python3
"""Makes two tables, of training and of testing, from the log of `caffe train`.

example:
  caffe train --solver=solver.prototxt 2>&1 | tee train.log
  parse_log.py train.log tables        # writes tables/train.log.train and tables/train.log.test

The tables are comma-separated: NumIters, Seconds (since training began), LearningRate, and one
column for each output of the net. Logs of Caffe and NVCaffe are read too. Outputs that are not
finite are written as they are, and named on standard error.
"""
from __future__ import annotations

import argparse
import bisect
import csv
import math
import os
import re
import sys
from typing import Any, Optional

import extract_seconds

Row = dict[str, Any]

_ITERATION = re.compile(r"Iteration (\d+)")
_NUMBER = r"([-+]?(?:nan|inf|\d*\.?\d+(?:e[-+]?\d+)?))"
_RATE = re.compile(r"\blr = " + _NUMBER, re.IGNORECASE)
_OUTPUT = re.compile(r"(Train|Test) net output #\d+: (\S+) = " + _NUMBER, re.IGNORECASE)


class _Table:
    """Rows of one phase, one for each iteration of which outputs were logged."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, iteration: int, seconds: float, name: str, value: float) -> None:
        if not self.rows or self.rows[-1]["NumIters"] != iteration:
            self.rows.append({"NumIters": iteration, "Seconds": seconds,
                              "LearningRate": math.nan})
        self.rows[-1][name] = value


def _set_rates(rows: list[Row], rates: dict[int, float]) -> None:
    """The rate is logged after the outputs: that of the same iteration, or else the one before."""
    if not rates:
        return
    known = sorted(rates)
    for row in rows:
        last = bisect.bisect_right(known, row["NumIters"]) - 1
        row["LearningRate"] = rates[known[max(last, 0)]]


def parse_log(path_to_log: str) -> tuple[list[Row], list[Row]]:
    """The rows of training and of testing: dicts with NumIters, Seconds, LearningRate and the
    outputs.

    Raises ValueError when the file has no line in which training begins.
    """
    year = extract_seconds.get_log_created_year(path_to_log)
    with open(path_to_log, encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    try:
        timed = list(extract_seconds.timed_lines(lines, year))
    except ValueError as error:
        raise ValueError(f"{path_to_log}: {error}") from error

    tables = {"train": _Table(), "test": _Table()}
    rates: dict[int, float] = {}
    iteration: Optional[int] = None
    seconds = math.nan
    for line, time in timed:
        found = _ITERATION.search(line)
        if time is not None and found:
            iteration, seconds = int(found.group(1)), time
        if iteration is None:  # the outputs of a net are logged after their iteration
            continue
        rate = _RATE.search(line)
        if rate:
            rates[iteration] = float(rate.group(1))
        output = _OUTPUT.search(line)
        if output:
            phase, name, value = output.groups()
            tables[phase.lower()].add(iteration, seconds, name, float(value))
    for table in tables.values():
        _set_rates(table.rows, rates)
    return tables["train"].rows, tables["test"].rows


def not_finite(rows: list[Row]) -> list[str]:
    """What to say about outputs that are nan or inf: the first iteration of each."""
    seen: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            if name != "LearningRate" and not math.isfinite(value):
                seen.setdefault(name, f"{name} is {value} from iteration {row['NumIters']} on")
    return list(seen.values())


def write_csv(output_filename: str, dict_list: list[Row], delimiter: str = ",",
              verbose: bool = False) -> None:
    """Writes rows as a table with a line of names; nothing when there are none."""
    if not dict_list:
        if verbose:
            print(f"Not writing {output_filename}: the log has no such lines")
        return
    names = list(dict.fromkeys(name for row in dict_list for name in row))
    temporary = f"{output_filename}.tmp.{os.getpid()}"
    with open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(dict_list)
    os.replace(temporary, output_filename)
    if verbose:
        print(f"Wrote {output_filename}")


def save_csv_files(logfile_path: str, output_dir: str, train_dict_list: list[Row],
                   test_dict_list: list[Row], delimiter: str = ",", verbose: bool = False) -> None:
    """Writes the tables next to each other, as the log's name with .train and .test."""
    base = os.path.join(output_dir, os.path.basename(logfile_path))
    write_csv(base + ".train", train_dict_list, delimiter, verbose)
    write_csv(base + ".test", test_dict_list, delimiter, verbose)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logfile_path", help="the log of 'caffe train'")
    parser.add_argument("output_dir", help="the folder for the tables")
    parser.add_argument("--verbose", action="store_true", help="say which files are written")
    parser.add_argument("--delimiter", default=",",
                        help="what separates columns (default: a comma)")
    return parser.parse_args()


def main() -> None:
    arguments = parse_args()
    train, test = parse_log(arguments.logfile_path)
    for phase, rows in (("training", train), ("testing", test)):
        for text in not_finite(rows):
            print(f"parse_log.py: {phase}: {text}", file=sys.stderr)
    save_csv_files(arguments.logfile_path, arguments.output_dir, train, test,
                   arguments.delimiter, arguments.verbose)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"parse_log.py: {error}")
