"""Databases of MNIST's idx files and of CIFAR-10's JPEG images, one tar archive for each class."""
from __future__ import annotations

import glob
import os
import random
import shutil
import subprocess
import sys
import tarfile
from typing import List, Optional, Tuple

from PIL import Image, ImageOps

PADDING = 4  # pixels around training images: random crops lie within
PAD_COLOUR = (125, 123, 114)  # the mean colour: red, green, blue
CALIBRATION_IMAGES = 100  # of each class


def run(command: List[str]) -> None:
    """Stops with what the program said where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"run.py: {' '.join(command)} failed:\n{done.stdout}")


def images_of(archive: str) -> List[Image.Image]:
    """In the order of the archive."""
    with tarfile.open(archive, "r|gz") as tar:
        return [Image.open(tar.extractfile(member)).convert("RGB")
                for member in tar if member.isfile()]


class Databases:
    """The databases of a folder. Each appears under its name only when it is complete."""

    def __init__(self, tools: str, source: Optional[str], folder: str) -> None:
        self.tools, self.source, self.folder = tools, source, folder

    def files(self, *pattern: str) -> List[str]:
        """Of the data sets, in the order of their names."""
        if not self.source:
            sys.exit("run.py: --data must say where the data sets are")
        return sorted(glob.glob(os.path.join(self.source, *pattern)))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def convert(self, program: str, arguments: List[str], name: str) -> None:
        """Runs a program whose last argument is the database."""
        made = self.path(name) + ".part"
        shutil.rmtree(made, ignore_errors=True)
        run([os.path.join(self.tools, program), *arguments, made])
        os.rename(made, self.path(name))

    def mnist(self, part: str) -> None:
        """`part`: train or test."""
        name = f"mnist_{part}"
        if os.path.exists(self.path(name)):
            return
        files = []
        for kind in ("images", "labels"):
            pattern = f"{'t10k' if part == 'test' else part}-{kind}*idx*"
            files.append(self.files("mnist", pattern))
            if not files[-1]:
                sys.exit(f"run.py: there is no mnist/{pattern} in {self.source}")
        self.convert("convert_mnist_data", [",".join(files[0]), files[1][0]], name)

    def cifar10(self, part: str) -> None:
        """`part`: train (padded), calibration (some of the same, as they are) or test."""
        name = f"cifar10_{part}"
        if os.path.exists(self.path(name)):
            return
        where = os.path.join("cifar10_jpg", "test" if part == "test" else "train")
        archives = self.files(where, "*.tar.gz")
        if len(archives) != 10:
            sys.exit(f"run.py: {os.path.join(self.source, where)} should hold 10 archives .tar.gz, "
                     f"one for each class; it holds {len(archives)}")
        pixels = self.path(name) + ".pixels"
        shutil.rmtree(pixels, ignore_errors=True)
        os.makedirs(pixels)
        lines: List[Tuple[str, int]] = []
        for label, archive in enumerate(archives):
            images = images_of(archive)
            if part == "calibration":
                images = images[:CALIBRATION_IMAGES]
            for image in images:
                if part == "train":
                    image = ImageOps.expand(image, PADDING, PAD_COLOUR)
                lines.append((f"{len(lines)}.bmp", label))
                image.save(os.path.join(pixels, lines[-1][0]))
        random.Random(1).shuffle(lines)
        listed = os.path.join(pixels, "list.txt")
        with open(listed, "w", encoding="utf-8") as file:
            file.writelines(f"{path} {label}\n" for path, label in lines)
        self.convert("convert_imageset", [pixels + "/", listed], name)
        shutil.rmtree(pixels)

    def make(self, data: str) -> None:
        """All parts of mnist or cifar10 that are not there yet."""
        os.makedirs(self.folder, exist_ok=True)
        if data == "mnist":
            for part in ("train", "test"):
                self.mnist(part)
        else:
            for part in ("calibration", "test", "train"):
                self.cifar10(part)
