#!/usr/bin/env python3
"""Scores windows of images, as R-CNN does, and writes them with their scores.

examples:
  detect.py --crop_mode list --model_def deploy.prototxt --pretrained_model weights.caffemodel \\
      windows.csv scores.csv
  detect.py --crop_mode selective_search --context_pad 16 images.txt scores.csv

With --crop_mode list the input is a .csv file with one window a line, in pixels:

  filename,ymin,xmin,ymax,xmax
  street.jpg,10,20,200,220

A window may reach beyond its image, and holds at least one pixel of it.

With --crop_mode selective_search it is a text file with the name of an image per line; the windows
come from selective search, which needs opencv-contrib-python or selective_search_ijcv_with_python.
The result is a .csv file with the columns filename, ymin, xmin, ymax, xmax, class0, class1, ...;
or, with the extension .h5, the same as a pandas table with the scores in the column prediction.
"""
import argparse
import csv
import math
import os
import time

import numpy as np

import caffe
from caffe import _cli
from caffe._files import written_aside
from caffe.detector import WindowError

CORNERS = ["ymin", "xmin", "ymax", "xmax"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input_file", help="a .csv file of windows, or a text file of images")
    parser.add_argument("output_file", help="the .csv or .h5 file to write")
    _cli.add_net_flags(parser, "bvlc_reference_rcnn_ilsvrc13")
    _cli.add_image_flags(parser)
    parser.add_argument("--crop_mode", choices=["list", "selective_search"],
                        default="selective_search",
                        help="where windows come from (default: selective_search)")
    parser.add_argument("--context_pad", type=int, default=16, metavar="N",
                        help="pixels of the net's input around the window "
                        "(default: 16; 0: cut only)")
    return parser.parse_args()


def read_rows(path):
    """A .csv file's rows, each with its line."""
    with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        rows = csv.DictReader(file)
        try:
            missing = [name for name in ["filename"] + CORNERS
                       if name not in (rows.fieldnames or [])]
            if missing:
                raise ValueError(f"{path} has no column {', '.join(missing)} in its first line")
            for row in rows:
                yield row, rows.line_num
        except csv.Error as error:
            raise ValueError(f"{path}:{rows.reader.line_num}: {error}") from error


def read_windows(path):
    """A .csv file's windows, pairs of an image and its windows in the order of the file; and the
    line of each (image, window)."""
    windows, lines = {}, {}
    for row, line in read_rows(path):
        try:
            window = tuple(float(row[corner]) for corner in CORNERS)
        except (TypeError, ValueError):
            window = (math.nan, )
        if not all(map(math.isfinite, window)):
            raise ValueError(f"{path}:{line}: ymin, xmin, ymax and xmax are numbers of pixels")
        if not row["filename"] or "\0" in row["filename"]:
            raise ValueError(f"{path}:{line}: there is no filename")
        windows.setdefault(row["filename"], []).append(window)
        lines.setdefault((row["filename"], window), line)
    return list(windows.items()), lines


def detect_listed(detector, path):
    """Scores a .csv file's windows."""
    windows, lines = read_windows(path)
    try:
        return detector.detect_windows(windows)
    except WindowError as error:
        line = lines[error.filename, tuple(error.window.tolist())]
        raise ValueError(f"{path}:{line}: {error}") from error


def read_names(path):
    with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:  # as sys.argv has them
        return [line.strip() for line in file if line.strip()]


def write_csv(path, detections):
    classes = len(detections[0]["prediction"].ravel()) if detections else 0
    with written_aside(path) as temporary, \
            open(temporary, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["filename"] + CORNERS + [f"class{n}" for n in range(classes)])
        for found in detections:
            writer.writerow([found["filename"]] + np.asarray(found["window"]).tolist()
                            + found["prediction"].ravel().tolist())


def import_pandas():
    try:
        import pandas
        import tables  # noqa: F401  pandas writes .h5 files with it
    except ImportError as error:
        raise ImportError("writing .h5 needs pandas and PyTables (pip install pandas tables); .csv "
                          "needs neither") from error
    return pandas


def write_hdf5(path, detections):
    pandas = import_pandas()
    table = pandas.DataFrame(detections).set_index("filename")
    table[CORNERS] = pandas.DataFrame(np.vstack(table["window"]), index=table.index,
                                      columns=CORNERS)
    with written_aside(path) as temporary:
        table.drop(columns="window").to_hdf(temporary, key="df", mode="w")


def main():
    arguments = parse_arguments()
    extension = os.path.splitext(arguments.output_file)[1].lower()
    if extension not in (".csv", ".h5", ".hdf5"):
        raise ValueError(f"the output file {arguments.output_file} ends neither in .csv nor in .h5")
    if extension != ".csv":
        import_pandas()  # before the work rather than after it
    _cli.set_mode(arguments.gpu)
    detector = caffe.Detector(arguments.model_def, arguments.pretrained_model)
    _cli.set_image_steps(detector, arguments)
    detector.configure_crop(arguments.context_pad)

    print(f"Loading input: {arguments.input_file}")
    start = time.time()
    if arguments.crop_mode == "list":
        detections = detect_listed(detector, arguments.input_file)
    else:
        detections = detector.detect_selective_search(read_names(arguments.input_file))
    print(f"Processed {len(detections)} windows in {time.time() - start:.2f} s.")

    write = write_csv if extension == ".csv" else write_hdf5
    write(arguments.output_file, detections)
    print(f"Saved to {arguments.output_file}")


if __name__ == "__main__":
    _cli.run(main)
