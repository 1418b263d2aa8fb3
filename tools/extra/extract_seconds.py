#!/usr/bin/env python3
"""Writes for each line of a training log that speaks of an iteration how many seconds the training
ran.

example:
  extract_seconds.py train.log seconds.txt

The seconds count from the line with 'Solving', before the first iteration.
"""
from __future__ import annotations

import argparse
import datetime
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

# glog's prefix: a letter, the date as MMDD or (newer versions) as YYYYMMDD, the time.
_TIME = re.compile(r"\b[IWEF](\d{4})?(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


def extract_datetime_from_line(line: str, year: int) -> datetime.datetime:
    """The time in a log line; ``year`` is for lines that do not name one. Raises ValueError if
    there is no time in the line."""
    found = _TIME.search(line)
    if found is None:
        raise ValueError(f"the line has no time as in 'I0405 10:18:51.677330': {line.strip()}")
    named, month, day, hour, minute, second, fraction = found.groups()
    values = [int(value) for value in (month, day, hour, minute, second)]
    microseconds = int((fraction or "0").ljust(6, "0"))
    if (values[0], values[1]) == (2, 29) and not named:
        year -= year % 4  # the file was touched in a year that has no such day
    return datetime.datetime(int(named or year), *values, microseconds)


def get_log_created_year(input_file: str) -> int:
    """The year in which a log was last written."""
    return datetime.datetime.fromtimestamp(os.path.getmtime(input_file)).year


def get_start_time(line_iterable: Iterable[str], year: int) -> datetime.datetime:
    """The time of the line in which training begins. Raises ValueError if there is none."""
    for line in line_iterable:
        if "Solving" in line:
            return extract_datetime_from_line(line, year)
    raise ValueError("there is no line with 'Solving': is it the log of 'caffe train', on standard "
                     "error?")


def timed_lines(lines: Sequence[str], year: int) -> Iterator[tuple[str, Optional[float]]]:
    """Each line, and the seconds since training began where it speaks of an iteration."""
    start = previous = get_start_time(lines, year)
    for line in lines:
        if "Iteration" not in line or _TIME.search(line) is None:
            yield line, None
            continue
        time = extract_datetime_from_line(line, year)
        if time.month < previous.month and time < previous:
            year += 1  # a new year began
            time = extract_datetime_from_line(line, year)
        previous = time
        yield line, (time - start).total_seconds()


def extract_seconds(input_file: str, output_file: str) -> None:
    """Writes one number a line."""
    with open(input_file, encoding="utf-8", errors="replace") as file:
        times = list(timed_lines(file.readlines(), get_log_created_year(input_file)))
    with open(output_file, "w", encoding="utf-8") as file:
        file.writelines(f"{seconds:f}\n" for _, seconds in times if seconds is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input_file", help="the log of 'caffe train'")
    parser.add_argument("output_file", help="the text file to write")
    arguments = parser.parse_args()
    extract_seconds(arguments.input_file, arguments.output_file)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"extract_seconds.py: {error}")
