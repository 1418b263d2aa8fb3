#!/usr/bin/env python3
"""Prints a net as a table: a line a layer, with its bottoms, tops and most important fields.

example:
  summarize.py models/lenet/lenet_train_test.prototxt

Needs the Python package caffe (in the source tree: PYTHONPATH=python).
"""
from __future__ import annotations

import argparse
import sys
from typing import Any

from google.protobuf import text_format

from caffe.proto import caffe_pb2

HEADER = ["name", "type", "bottom", "top", "fields", "lr_mult"]


def read_net(path: str) -> Any:
    """The net of a .prototxt file. Raises ValueError when it is none, or in an old format."""
    net = caffe_pb2.NetParameter()
    with open(path, encoding="utf-8") as file:
        try:
            text_format.Parse(file.read(), net)
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: {error}") from error
    if net.layers and not net.layer:
        raise ValueError(f"{path} is in an old format ('layers', not 'layer'): "
                         "upgrade_net_proto_text OLD NEW converts it")
    return net


def fields_of(layer: Any) -> str:
    """The fields of the layer's messages (``convolution_param``, ...) in one line, no fillers."""
    parts = []
    for field, message in layer.ListFields():
        if not field.name.endswith("_param"):
            continue
        shown = type(message)()
        shown.CopyFrom(message)
        for inner, _ in message.ListFields():
            if inner.name.endswith("filler"):
                shown.ClearField(inner.name)
        parts.append(text_format.MessageToString(shown, as_one_line=True).strip())
    return " ".join(filter(None, parts))


def row_of(layer: Any) -> list[str]:
    """A layer's line of the table."""
    phases = [caffe_pb2.Phase.Name(rule.phase) for rule in layer.include if rule.HasField("phase")]
    kind = layer.type + (f" ({', '.join(phases)})" if phases else "")
    rates = " ".join(f"{param.lr_mult:g}" for param in layer.param)
    return [layer.name, kind, " ".join(layer.bottom), " ".join(layer.top), fields_of(layer), rates]


def table_of(net: Any) -> str:
    """The whole table."""
    rows = [HEADER] + [row_of(layer) for layer in net.layer]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", help="the net, a .prototxt file")
    print(table_of(read_net(parser.parse_args().net)))


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"summarize.py: {' '.join(str(error).split())}")
