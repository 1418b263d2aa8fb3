"""The program ``python -m caffe.onnx``."""
from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List, Optional

from .. import _quantizing
from . import Export, ExportError, Options, export, export_quantized
from .checking import compare, pycaffe, random_inputs, run_caffe, run_model
from .extents import Shape, Symbolic
from .writing import OLDEST_OPSET, write

DESCRIPTION = """\
Writes a Caffe net with its weights as an ONNX model, for programs that do not read Caffe's files.

The net is the one that Caffe runs in the TEST phase: layers for training are left out, losses
become the probabilities below them, data layers become inputs. Nets and weights of all versions are
read (V0, V1, input_dim, NVCaffe's FLOAT16 weights, HDF5). Nothing of Caffe has to be compiled.
"""

EXAMPLES = """\
examples:
  python -m caffe.onnx deploy.prototxt net.caffemodel net.onnx
      a net for the batch that deploy.prototxt says, checked with onnxruntime if that is installed
  python -m caffe.onnx deploy.prototxt net.caffemodel net.onnx --batch dynamic
      a net for any number of images at once
  python -m caffe.onnx face.prototxt face.caffemodel face.onnx --shape data:1,3,480,640
      a fully convolutional net for larger images than face.prototxt says
  python -m caffe.onnx train_val.prototxt net.caffemodel net.onnx --shape data:1,3,227,227
      from the file that describes training
  python -m caffe.onnx deploy.prototxt net.caffemodel net.onnx --fp16
      weights and arithmetic in half precision
  python -m caffe.onnx deploy.prototxt net.caffemodel net.onnx --quantized \\
      --calibration-table net.table
      8-bit integers, as an engine with -quantization affine -arithmetic integer computes: pairs of
      QuantizeLinear and DequantizeLinear (this needs the compiled part of Caffe)

A detection net has standard operators in its end: its output has one row [image, label, score,
xmin, ymin, xmax, ymax] for each box, as in Caffe. What cannot be expressed is said, with the layer
and the reason.
"""


def _shape(text: str) -> tuple:
    """'data:1,3,224,224' as a name and extents; words are extents known only when the model
    runs."""
    name, colon, extents = text.rpartition(":")
    if not colon or not name or not extents:
        raise argparse.ArgumentTypeError(f"'{text}': give NAME:1,3,224,224")
    words = [word.strip() for word in extents.split(",")]
    if not all(words):
        raise argparse.ArgumentTypeError(f"'{text}': an extent is missing")
    shape = tuple(int(word) if word.lstrip("-").isdigit() else Symbolic(word) for word in words)
    if any(isinstance(extent, int) and extent < 1 for extent in shape):
        raise argparse.ArgumentTypeError(f"'{text}': extents are at least 1")
    return name, shape


def _batch(text: str) -> Any:
    if text == "dynamic":
        return text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}': give a number, or dynamic")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m caffe.onnx", description=DESCRIPTION, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", help="the net's description, a prototxt file")
    parser.add_argument("weights", help="its weights: .caffemodel or .h5")
    parser.add_argument("output", help="the ONNX file to write")
    parser.add_argument("--opset", type=int, default=Options.opset,
                        help=f"version of ONNX's operators, {OLDEST_OPSET} or later (%(default)s)")
    parser.add_argument(
        "--batch", type=_batch, metavar="N|dynamic",
        help="images at once: a number, or dynamic for any (default: what the net "
        "says)")
    parser.add_argument(
        "--shape", type=_shape, action="append", default=[], metavar="NAME:EXTENTS",
        help="the shape of an input, for nets that do not say "
        "it or for another one; a word instead of a number is an extent that may differ "
        "from run to run; may be given several times")
    parser.add_argument("--fp16", action="store_true",
                        help="FLOAT16 in all layers that do not ask for another type (a net whose "
                        "layers ask for FLOAT16 has it anyway)")
    parser.add_argument("--level", type=int, default=0, help="the net's level, for include rules")
    parser.add_argument("--stage", action="append", default=[],
                        help="a stage of the net, for include "
                        "rules; may be given several times")
    parser.add_argument("--quantized", action="store_true",
                        help="8-bit integers with the engine's scales and zero points (QDQ); a net "
                        "that was trained with quantized_training needs no flag of these:")
    _quantizing.add_flags(parser)
    parser.add_argument("--check", choices=("auto", "yes", "no"), default="auto",
                        help="run a model of floats with onnxruntime on random numbers and compare "
                        "it with Caffe; auto: if both are installed (%(default)s)")
    return parser


def _has_onnxruntime() -> bool:
    try:
        import onnxruntime
    except ImportError:
        return False
    return bool(onnxruntime)


def _check(result: Export, weights: str, wanted: str) -> None:
    """Prints the largest difference of each output."""
    if not _has_onnxruntime():
        if wanted == "yes":
            raise ExportError("--check yes: onnxruntime is not installed: pip install onnxruntime")
        print("not checked: onnxruntime is not installed (pip install onnxruntime)")
        return
    inputs = random_inputs(result.model)
    outputs = run_model(result.model, inputs)
    if pycaffe() is None:
        if wanted == "yes":
            raise ExportError("--check yes: the compiled part of the package caffe is not there to "
                              "compare with")
        print(
            "runs in onnxruntime; not compared: the compiled part of the package caffe is not there"
        )
        return
    caffe_inputs = {name: values.astype("float32") for name, values in inputs.items()}
    expected = run_caffe(result.net, weights, caffe_inputs, list(outputs))
    for difference in compare(expected, outputs):
        shape = "x".join(map(str, difference.shape))
        print(f"output {difference.output} ({shape}): differs from Caffe's by at most "
              f"{difference.absolute:.3g}, {difference.relative:.2g} of the largest value")


def _quantized(given: argparse.Namespace, options: Options) -> Export:
    """The net in 8-bit integers."""
    if given.fp16 or options.shapes or given.level or given.stage or options.batch == "dynamic":
        raise ExportError("--quantized takes the net's own shapes, level and stages: leave --fp16, "
                          "--shape, --level, --stage and --batch dynamic out")
    try:
        graph = _quantizing.quantized(given.net, given.weights, given, options.batch or 0)
    except (OSError, RuntimeError, ValueError) as error:
        raise ExportError(" ".join(str(error).split())) from error
    return export_quantized(graph, options.opset)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the program; returns its exit status."""
    given = _parser().parse_args(arguments)
    shapes: Dict[str, Shape] = dict(given.shape)
    options = Options(opset=given.opset, batch=given.batch, shapes=shapes, fp16=given.fp16)
    try:
        if given.quantized:
            result = _quantized(given, options)
        else:
            result = export(given.net, given.weights, options, given.level, given.stage)
        write(result.model, given.output)
        for note in result.notes:
            print(f"note: {note}")
        print(f"wrote {given.output}: {len(result.model.graph.node)} nodes, operators of version "
              f"{given.opset}")
        if given.check != "no" and not given.quantized:
            _check(result, given.weights, given.check)
    except ExportError as error:
        print(f"caffe.onnx: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
