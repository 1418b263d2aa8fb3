#!/usr/bin/env python3
"""Writes scikit-learn's handwritten digits as idx files, the format of MNIST.

The data set (1797 images of 8 x 8, values 0 to 16; E. Alpaydin and C. Kaynak, UCI 1998) is part of
the package scikit-learn. This script needs no more than the file digits.csv.gz in it: it is taken
from an installed scikit-learn, from the folder given with --package, or from Debian's package
python3-sklearn, which is downloaded and unpacked, not installed.

Images are enlarged to 28 x 28 (bilinear, values 0 to 255) and put in a random order that is
always the same: 1500 to train with, 297 to test with.

    create_digits.py OUT_DIR
"""
import argparse
import csv
import glob
import gzip
import importlib.util
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

SIZE, LARGE = 8, 28
TRAINING = 1500


def find_in(folder):
    found = glob.glob(os.path.join(folder, "**", "digits.csv.gz"), recursive=True)
    return found[0] if found else None


def find_installed():
    """The file in an installed scikit-learn, without importing that."""
    try:
        spec = importlib.util.find_spec("sklearn")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return find_in(os.path.join(list(spec.submodule_search_locations)[0], "datasets"))


def run(command, folder):
    """True when the command is there and ends well."""
    try:
        return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0
    except OSError:
        return False


def from_debian(folder):
    if run(["apt-get", "download", "python3-sklearn"], folder):
        for package in glob.glob(os.path.join(folder, "*.deb")):
            run(["dpkg-deb", "-x", package, folder], folder)
    return find_in(folder)


def from_wheel(folder):
    run([sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
         "scikit-learn"], folder)
    for package in glob.glob(os.path.join(folder, "*.whl")):
        with zipfile.ZipFile(package) as wheel:
            wheel.extractall(folder)
    return find_in(folder)


def from_debian_updated(folder):
    """Fresh machines, containers above all, have no lists of packages yet."""
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    return run(as_root + ["apt-get", "update"], folder) and from_debian(folder)


def download(folder):
    """The file from Debian's package, or else from the wheel."""
    print("Downloading scikit-learn's package for its digits", flush=True)
    found = from_debian(folder) or from_wheel(folder) or from_debian_updated(folder)
    if not found:
        sys.exit("create_digits.py: scikit-learn's digits.csv.gz was not found, and neither "
                 "'apt-get download python3-sklearn' nor 'pip download scikit-learn' got it: "
                 "install scikit-learn, or name the folder of its package with --package")
    return found


def read(path):
    with gzip.open(path, "rt") as file:
        rows = [[int(float(value)) for value in row] for row in csv.reader(file)]
    if len(rows) < TRAINING or any(len(row) != SIZE * SIZE + 1 for row in rows):
        sys.exit("create_digits.py: %s is not the file that was expected" % path)
    return [(row[:-1], row[-1]) for row in rows]


def enlarge(image):
    """Bilinear, corners on corners."""
    steps = []
    for i in range(LARGE):
        position = i * (SIZE - 1) / (LARGE - 1)
        low = min(int(position), SIZE - 2)
        steps.append((low, position - low))
    result = bytearray()
    for y, v in steps:
        for x, u in steps:
            first = y * SIZE + x
            top = image[first] * (1 - u) + image[first + 1] * u
            bottom = image[first + SIZE] * (1 - u) + image[first + SIZE + 1] * u
            result.append(min(255, round((top * (1 - v) + bottom * v) * 255 / 16)))
    return bytes(result)


def write(folder, name, digits):
    with open(os.path.join(folder, name + "-images-idx3-ubyte"), "wb") as file:
        file.write(struct.pack(">IIII", 2051, len(digits), LARGE, LARGE))
        for image, _ in digits:
            file.write(enlarge(image))
    with open(os.path.join(folder, name + "-labels-idx1-ubyte"), "wb") as file:
        file.write(struct.pack(">II", 2049, len(digits)))
        file.write(bytes(label for _, label in digits))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", metavar="OUT_DIR")
    parser.add_argument("--package", help="the folder of an unpacked scikit-learn")
    arguments = parser.parse_args()
    os.makedirs(arguments.out_dir, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.package:
            path = find_in(arguments.package)
            if path is None:
                sys.exit("create_digits.py: there is no digits.csv.gz in " + arguments.package)
        else:
            path = find_installed() or download(folder)
        digits = read(path)
    random.Random(1998).shuffle(digits)
    write(arguments.out_dir, "train", digits[:TRAINING])
    write(arguments.out_dir, "t10k", digits[TRAINING:])
    print("%d digits to train with, %d to test with, in %s" %
          (TRAINING, len(digits) - TRAINING, arguments.out_dir))


if __name__ == "__main__":
    main()
