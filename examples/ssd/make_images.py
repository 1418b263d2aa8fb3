#!/usr/bin/env python3
"""Draws images of simple shapes and says where they are: data to try an SSD detector with.

Each image is 96 x 96, noise with one to three discs, squares and triangles in it, none over
another. Annotations are XML files as those of PASCAL VOC. What is written:

    OUT_DIR/images/NUMBER.png, OUT_DIR/annotations/NUMBER.xml
    OUT_DIR/train.txt, OUT_DIR/test.txt   lines "image annotation" for convert_annoset
    OUT_DIR/labels.txt                    lines "name number name" for create_label_map

    make_images.py OUT_DIR [--train N] [--test N] [--seed N]
"""
import argparse
import os
import random
import struct
import zlib
from typing import Iterator, List, Tuple

SIZE = 96
NAMES = ("disc", "square", "triangle")
Box = Tuple[int, int, int, int]


def png(rows: List[bytearray]) -> bytes:
    """A PNG file of rows of red, green, blue bytes."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def spans(name: str, box: Box) -> Iterator[Tuple[int, int, int]]:
    """The shape's pixels: row, first column, last column but one."""
    left, top, right, bottom = box
    side = right - left
    for y in range(top, bottom):
        if name == "square":
            half = side / 2
        elif name == "disc":
            half = max(0.0, (side / 2) ** 2 - (y + 0.5 - top - side / 2) ** 2) ** 0.5
        else:
            half = (y + 1 - top) / 2
        middle = (left + right) / 2
        yield y, round(middle - half), round(middle + half)


def overlaps(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def choose_boxes(chance: random.Random) -> List[Box]:
    boxes: List[Box] = []
    wanted = chance.randint(1, 3)
    while len(boxes) < wanted:
        side = chance.randint(18, 44)
        left, top = chance.randint(0, SIZE - side), chance.randint(0, SIZE - side)
        box = (left, top, left + side, top + side)
        if not any(overlaps(box, other) for other in boxes):
            boxes.append(box)
    return boxes


def draw(chance: random.Random) -> Tuple[List[bytearray], List[Tuple[str, Box]]]:
    """An image's rows, and its shapes."""
    rows = [bytearray(128 + (value & 63) - 32 for value in chance.randbytes(3 * SIZE))
            for _ in range(SIZE)]
    shapes = []
    for box in choose_boxes(chance):
        name = chance.choice(NAMES)
        color = bytes(chance.choice((chance.randint(0, 60), chance.randint(195, 255)))
                      for _ in range(3))
        for y, first, last in spans(name, box):
            rows[y][3 * first:3 * last] = color * (last - first)
        shapes.append((name, box))
    return rows, shapes


def annotation(shapes: List[Tuple[str, Box]]) -> str:
    """PASCAL VOC counts pixels from 1 and names the last one."""
    objects = "".join(
        "<object><name>%s</name><difficult>0</difficult><bndbox><xmin>%d</xmin><ymin>%d</ymin>"
        "<xmax>%d</xmax><ymax>%d</ymax></bndbox></object>\n"
        % (name, box[0] + 1, box[1] + 1, box[2], box[3]) for name, box in shapes)
    return ("<annotation><size><width>%d</width><height>%d</height><depth>3</depth></size>\n%s"
            "</annotation>\n" % (SIZE, SIZE, objects))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir")
    parser.add_argument("--train", type=int, default=600, help="images to train with")
    parser.add_argument("--test", type=int, default=100, help="images to test with")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    for folder in ("images", "annotations"):
        os.makedirs(os.path.join(arguments.out_dir, folder), exist_ok=True)

    def write(path: str, data: bytes) -> None:
        with open(os.path.join(arguments.out_dir, path), "wb") as file:
            file.write(data)

    number = 0
    for part, count in (("train", arguments.train), ("test", arguments.test)):
        lines = []
        for _ in range(count):
            rows, shapes = draw(chance)
            image, boxes = "images/%05d.png" % number, "annotations/%05d.xml" % number
            write(image, png(rows))
            write(boxes, annotation(shapes).encode())
            lines.append("%s %s\n" % (image, boxes))
            number += 1
        write(part + ".txt", "".join(lines).encode())
    write("labels.txt", "".join("%s %d %s\n" % (name, i + 1, name)
                                for i, name in enumerate(NAMES)).encode())


if __name__ == "__main__":
    main()
