#!/usr/bin/env python3
"""Resizes images so that their shorter side has a length, and cuts squares from their centres.

example:
  resize_and_crop_images.py --input train.txt --input_folder raw --output_folder small \\
      --output_side_length 256 --num_clients 8

The input names one image a line, relative to --input_folder; what follows the name, such as a
label, is ignored. Each result has the same name under --output_folder. Needs Pillow.
"""
from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import sys
from typing import Optional


def resize_and_crop(name: str, input_folder: str, output_folder: str, side: int) -> Optional[str]:
    """Writes one image; what is wrong with it, or None."""
    from PIL import Image
    target = os.path.join(output_folder, name)
    try:
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with Image.open(os.path.join(input_folder, name)) as image:
            factor = side / min(image.size)
            size = [max(side, round(length * factor)) for length in image.size]
            left, top = ((length - side) // 2 for length in size)
            result = image.convert("RGB").resize(size, Image.Resampling.BILINEAR).crop(
                (left, top, left + side, top + side))
        result.save(target)
    except (OSError, ValueError) as error:
        return f"{name}: {error}"
    return None


def names_in(path: str) -> list[str]:
    """The first word of each line."""
    with open(path, encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", required=True, metavar="FILE", help="the names, one a line")
    parser.add_argument("--input_folder", default="", metavar="DIR", help="where the images are")
    parser.add_argument("--output_folder", required=True, metavar="DIR", help="where results go")
    parser.add_argument("--output_side_length", type=int, default=256, metavar="N",
                        help="the side of the squares in pixels (default: 256)")
    parser.add_argument("--num_clients", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="processes to use (default: one for each processor)")
    parser.add_argument("--image_lib", type=str.lower, choices=["opencv", "pil"], default="opencv",
                        help="accepted for Caffe's scripts, without effect: Pillow does the work")
    parser.add_argument("--launch", metavar="WHERE",
                        help="accepted for Caffe's scripts, without effect: all processes run here")
    arguments = parser.parse_args()
    if arguments.output_side_length < 1 or arguments.num_clients < 1:
        raise ValueError("--output_side_length and --num_clients are at least 1")
    names = names_in(arguments.input)
    work = functools.partial(resize_and_crop, input_folder=arguments.input_folder,
                             output_folder=arguments.output_folder,
                             side=arguments.output_side_length)
    with multiprocessing.Pool(min(arguments.num_clients, max(len(names), 1))) as pool:
        wrong = [text for text in pool.imap_unordered(work, names, chunksize=8) if text]
    print(f"{len(names) - len(wrong)} of {len(names)} images written to "
          f"{arguments.output_folder}")
    if wrong:
        raise ValueError("; ".join(sorted(wrong)[:5]))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, ImportError) as error:
        sys.exit(f"resize_and_crop_images.py: {error}")
