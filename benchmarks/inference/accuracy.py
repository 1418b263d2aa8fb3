#!/usr/bin/env python3
"""What trained nets lose as engines of each precision, as Markdown tables: right answers of
classifiers on MNIST and CIFAR-10, and how far a detector's boxes and scores are from those in FP32.

The numbers are those that the tests in src/caffe/test/inference/test_engine_accuracy.cpp record, which also
hold them to bounds; INT8 is calibrated on training images. The nets and images lie in the
folder that CAFFE_TEST_DATA names, else ../shared/data.

    benchmarks/inference/accuracy.py [--build-dir build]
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from typing import Dict, List, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The last: with -reduce_range.
NARROW = ("fp16", "bf16", "int8", "int8_reduced")
Properties = Dict[str, str]


def run_tests(program: str) -> Dict[str, List[Properties]]:
    """What the tests recorded, by test suite. Tests that miss their bounds are reported."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        subprocess.run([program, "--gtest_filter=*ClassifierAccuracy.*:*DetectorAccuracy.*",
                        "--gtest_output=xml:" + report], stdout=subprocess.DEVNULL, check=False)
        if not os.path.exists(report):
            sys.exit(f"accuracy.py: {program} did not run to its end")
        suites = ElementTree.parse(report).getroot()
    recorded: Dict[str, List[Properties]] = {}
    for suite in suites:
        for case in suite:
            properties = {item.get("name"): item.get("value") for item in case.iter("property")}
            name = case.get("name").split("/")[-1]
            if case.find("failure") is not None:
                print(f"{name} misses its bounds", file=sys.stderr)
            if properties:
                kind = suite.get("name").split("/")[-1]
                recorded.setdefault(kind, []).append({"net": name, **properties})
    return recorded


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints Markdown."""
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " ---: |" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def with_layers(text: str, precision: str, properties: Properties) -> str:
    """Says so where no layer computes in the precision: the number is that of FP32 then."""
    return text + ("" if int(properties[f"{precision} layers"]) else " (all float)")


def classifier_row(properties: Properties) -> List[str]:
    """Percentages; of narrow types the points that they are above FP32."""
    images, wide = int(properties["images"]), int(properties["fp32"])
    row = [properties["net"], f"{100 * wide / images:.2f} %"]
    for precision in NARROW:
        points = 100 * (int(properties[precision]) - wide) / images
        row.append(with_layers(f"{points:+.2f}", precision, properties))
    return row


def detector_row(properties: Properties) -> List[str]:
    """The number of boxes, then the worst overlap and difference of scores of each precision."""
    row = [properties["net"], properties["boxes"]]
    for precision in NARROW:
        cell = f"{properties[precision + ' overlap']}, {properties[precision + ' score']}"
        row.append(with_layers(cell, precision, properties))
    return row


def main() -> None:
    """Runs the tests and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", default=os.path.join(ROOT, "build"))
    program = os.path.join(os.path.abspath(parser.parse_args().build_dir), "caffe_tests")
    if not os.path.exists(program):
        sys.exit(f"accuracy.py: there is no {program}: run scripts/build.sh first")
    recorded = run_tests(program)
    if not recorded:
        sys.exit("accuracy.py: no net could be tested: where are nets and images? "
                 "CAFFE_TEST_DATA may name their folder")
    print("Right answers; of narrow types points above FP32:\n")
    table(["net", "fp32", *NARROW],
          [classifier_row(properties) for properties in recorded.get("ClassifierAccuracy", [])])
    print("Boxes of detectors; of narrow types the least overlap (intersection over union) with "
          "the box of FP32 and the largest difference of scores:\n")
    table(["net and image", "boxes", *NARROW],
          [detector_row(properties) for properties in recorded.get("DetectorAccuracy", [])])


if __name__ == "__main__":
    main()
