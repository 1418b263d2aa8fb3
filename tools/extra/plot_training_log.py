#!/usr/bin/env python3
"""Plots one or several logs of `caffe train`, for comparison in one image.

example:
  plot_training_log.py 6 loss.png train.log other.log     # training loss over iterations

The first argument is the number of a chart:
  0  test accuracy over iterations          4  learning rate over iterations
  1  test accuracy over seconds             5  learning rate over seconds
  2  test loss over iterations              6  training loss over iterations
  3  test loss over seconds                 7  training loss over seconds
The outputs whose names contain 'accuracy' or 'loss' are drawn; --output names others. Needs
matplotlib.
"""
from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Optional

import parse_log

# Phase, what is drawn, over what.
CHARTS = [(phase, value, over)
          for phase, value in (("test", "accuracy"), ("test", "loss"), ("train", "LearningRate"),
                               ("train", "loss"))
          for over in ("NumIters", "Seconds")]
TITLES = {"NumIters": "Iterations", "Seconds": "Seconds", "LearningRate": "Learning rate",
          "accuracy": "accuracy", "loss": "loss"}


def columns(rows: list[parse_log.Row], value: str) -> list[str]:
    """The columns to draw: the one of this name, or else all whose names contain it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [name for name in names if name == value] or [
        name for name in names if value.lower() in name.lower()]


def draw(chart: int, logs: list[str], output: Optional[str] = None) -> Any:
    """The matplotlib figure of a chart. Raises ValueError when a log has nothing to draw."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plotting needs matplotlib (pip install matplotlib)") from error
    phase, value, over = CHARTS[chart]
    value = output or value
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for log in logs:
        rows = parse_log.parse_log(log)[0 if phase == "train" else 1]
        names = columns(rows, value)
        if not names:
            raise ValueError(f"{log} has no {phase} output '{value}'")
        for name in names:
            points = [(row[over], row[name]) for row in rows if name in row]
            label = os.path.basename(log) + ("" if name == value else f": {name}")
            axes.plot(*zip(*points), marker="." if len(points) < 50 else None, label=label)
    title = TITLES.get(value, value)
    if value != "LearningRate":
        title = f"{'Training' if phase == 'train' else 'Test'} {title}"
    axes.set_title(f"{title} over {TITLES[over].lower()}")
    axes.set_xlabel(TITLES[over])
    axes.set_ylabel(title)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chart_type", type=int, choices=range(len(CHARTS)), metavar="CHART",
                        help="0 to 7, see above")
    parser.add_argument("image", help="the image to write: .png, .svg, .pdf")
    parser.add_argument("logs", nargs="+", metavar="LOG", help="logs of 'caffe train'")
    parser.add_argument("--output", metavar="NAME", help="draw this output of the net")
    arguments = parser.parse_args()
    draw(arguments.chart_type, arguments.logs, arguments.output).savefig(arguments.image, dpi=100)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, ImportError) as error:
        sys.exit(f"plot_training_log.py: {error}")
