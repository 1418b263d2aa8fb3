"""The program ``python -m caffe.tflite``."""
from __future__ import annotations

import argparse
import sys
from typing import List, Optional

from .. import _quantizing
from ..onnx.errors import ExportError
from . import export_graph
from .model import import_packages
from .net import TYPES

DESCRIPTION = """\
Writes a Caffe net with its weights as a LiteRT (TensorFlow Lite) model that computes with 8-bit
integers alone: int8 activations with a zero point, int8 weights with a scale for each output
channel, 32-bit biases.

The net is the one that an INT8 engine computes with -quantization affine -arithmetic integer: the
same integers, layer by layer. Images have their channels last in LiteRT: N x H x W x C. What inputs
and outputs mean is printed.
"""

EXAMPLES = """\
examples:
  caffe calibrate -model deploy.prototxt -weights net.caffemodel -images images.txt \\
      -mean 104,117,123 -calibration_table net.table
  python -m caffe.tflite deploy.prototxt net.caffemodel net.tflite --calibration-table net.table
      ranges of a table
  python -m caffe.tflite deploy.prototxt net.caffemodel net.tflite --images images \\
      --mean 104,117,123
      ranges of what the net computes from these images
  python -m caffe.tflite deploy.prototxt trained.caffemodel net.tflite
      a net that was trained with quantized_training: its ranges lie with its weights

It needs the packages flatbuffers and tflite (pip install flatbuffers tflite).
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m caffe.tflite", description=DESCRIPTION, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", help="the net's description, a prototxt file")
    parser.add_argument("weights", help="its weights: .caffemodel or .h5")
    parser.add_argument("output", help="the LiteRT file to write")
    _quantizing.add_flags(parser)
    parser.add_argument("--batch", type=int, default=1, metavar="N",
                        help="images at once (%(default)s)")
    parser.add_argument("--io-type", choices=TYPES, default="int8",
                        help="what inputs and outputs of the model are; float32 takes and gives "
                        "real numbers (%(default)s)")
    return parser


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the program; returns its exit status."""
    given = _parser().parse_args(arguments)
    try:
        if given.batch < 1:
            raise ExportError(f"--batch {given.batch}: at least 1")
        import_packages()
        graph = _quantizing.quantized(given.net, given.weights, given, given.batch)
        result = export_graph(graph, given.io_type)
        result.write(given.output)
    except (ExportError, OSError, RuntimeError, ValueError) as error:
        print(f"caffe.tflite: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    for note in result.notes:
        print(f"note: {note}")
    for port in result.inputs:
        print(f"input {port}")
    for port in result.outputs:
        print(f"output {port}")
    print(f"wrote {given.output}: {result.operators} operators, {len(result.content)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
