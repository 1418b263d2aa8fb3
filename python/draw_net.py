#!/usr/bin/env python3
"""Draws a net: layers as boxes, blobs as octagons, in-place layers green.

examples:
  draw_net.py models/lenet/lenet_train_test.prototxt lenet.png
  draw_net.py --rankdir TB --phase TEST --display_lrm train_val.prototxt net.svg

The extension says what is written: .png, .svg, .pdf, or .dot for Graphviz's text. Needs pydot, and
for everything but .dot the program dot of Graphviz.
"""
import argparse

from google.protobuf import text_format

from caffe import _cli, draw
from caffe.proto import caffe_pb2

PHASES = {"TRAIN": caffe_pb2.TRAIN, "TEST": caffe_pb2.TEST, "ALL": None}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input_net_proto_file", help="the net, a .prototxt file")
    parser.add_argument("output_image_file", help="the drawing to write")
    parser.add_argument("--rankdir", default="LR", choices=["LR", "RL", "TB", "BT"],
                        help="the direction: left to right, top to bottom, ... (default: LR)")
    parser.add_argument("--phase", default="ALL", choices=list(PHASES),
                        help="draw the layers of this phase (default: ALL)")
    parser.add_argument("--display_lrm", action="store_true",
                        help="write learning rate multipliers into the boxes")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    net = caffe_pb2.NetParameter()
    with open(arguments.input_net_proto_file, encoding="utf-8",
              errors="backslashreplace") as file:
        try:
            text_format.Merge(file.read(), net)
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise ValueError(f"{arguments.input_net_proto_file}: {error}") from error
    print(f"Drawing net to {arguments.output_image_file}")
    draw.draw_net_to_file(net, arguments.output_image_file, arguments.rankdir,
                          PHASES[arguments.phase], arguments.display_lrm)


if __name__ == "__main__":
    _cli.run(main)
