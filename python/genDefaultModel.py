#!/usr/bin/env python3
"""Turns a net and its weights into half precision, or back.

    python genDefaultModel.py --input net.prototxt --model net_fp32.caffemodel \\
        --output net_fp16.caffemodel

writes the weights and, next to them, a prototxt, and prints what rounding did to each layer's
weights. Where the compiled package ``caffe`` can be imported, the old net and the new one are then
run and the largest differences of their outputs printed; ``tools/upgrade_net_fp16`` always does
that.
"""
import argparse
import os
import sys
from typing import Any, List, Optional, Tuple

from precision_migration import MigrationError, batch_norm, comparison, conversion
from precision_migration.migration import (Options, OutputFile, PrecisionMigration, math_named,
                                           precision_named)

PROGRAM = "genDefaultModel.py"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        """One line and status 1: argparse's 2 is what --strict answers with."""
        raise MigrationError(f"{message}; --help shows the flags")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=PROGRAM, description=__doc__,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--input", required=True, metavar="PROTOTXT", help="the net that the weights belong to")
    add("--model", required=True, metavar="WEIGHTS", help="a .caffemodel of any age, or .h5")
    add("--output", required=True, metavar="CAFFEMODEL", help="the .caffemodel to write")
    add("--prototxt", metavar="FILE",
        help="the prototxt to write (default: --output's name, with .prototxt)")
    add("--to", default="fp16", metavar="fp16|fp32",
        help="fp16: NVCaffe's half precision (default); fp32: what BVLC Caffe reads")
    add("--math", default="FLOAT16", metavar="FLOAT16|BFLOAT16|FLOAT",
        help="the default_*_math types in the prototxt (default FLOAT16)")
    add("--strict", action="store_true",
        help="write nothing and exit with 2 if values overflow, with --clamp too, or if weights "
             "are NaN or infinite")
    add("--clamp", action="store_true",
        help="values that overflow become the largest number, not infinity")
    add("--batch_norm", default="keep", metavar="|".join(batch_norm.FORMS),
        help="bvlc: 3 blobs and a Scale layer; nvcaffe: 5 blobs (default keep)")
    add("--inputs", default="", metavar="NPY[,NPY]",
        help="inputs for the comparison, in the order of the net's inputs (default: random)")
    add("--seed", type=int, default=1, help="of the random inputs: -1 to 1, or indices")
    add("--skip_check", action="store_true", help="do not run the old net and the new one")
    return parser


def _require_apart(flag: str, written: str, others: List[str]) -> None:
    for other in others:
        if os.path.realpath(written) == os.path.realpath(other):
            raise MigrationError(f"{flag} {written} would replace {other}; name another file")


def _inputs(arguments: argparse.Namespace) -> List[str]:
    return [name for name in arguments.inputs.split(",") if name]


def _check(arguments: argparse.Namespace) -> Options:
    """The options; raises MigrationError for bad ones. Fills in --prototxt."""
    to = precision_named("--to", arguments.to)
    math = math_named("--math", arguments.math)
    if arguments.batch_norm not in batch_norm.FORMS:
        raise MigrationError(f"--batch_norm {arguments.batch_norm}: valid are keep, bvlc (3 blobs "
                             "and a Scale layer) and nvcaffe (5 blobs)")
    if arguments.output.endswith(".h5"):
        raise MigrationError(f"--output {arguments.output}: HDF5 files hold no half precision; "
                             "name a .caffemodel")
    if not arguments.prototxt:
        arguments.prototxt = os.path.splitext(arguments.output)[0] + ".prototxt"
    files = [*_inputs(arguments), arguments.input, arguments.model]
    _require_apart("--output", arguments.output, files)
    _require_apart("--prototxt", arguments.prototxt, [*files, arguments.output])
    return Options(to, math, arguments.clamp, arguments.batch_norm)


def _migrate(arguments: argparse.Namespace, options: Options) -> int:
    with OutputFile(arguments.output) as model_file, OutputFile(arguments.prototxt) as text_file:
        migration = PrecisionMigration(arguments.input, arguments.model, options)
        old, why_not = _run_old(arguments)
        report = migration.write_model(model_file)
        print(conversion.table(report), end="")
        for note in migration.notes:
            print(f"note: {note}")
        faults = conversion.faults(report) if arguments.strict else ""
        for warning in conversion.warnings(report, options.to, options.clamp, not faults):
            print(f"warning: {warning}")
        if faults:
            sys.stdout.flush()
            print(f"{PROGRAM}: {faults}, so nothing was written (--strict)", file=sys.stderr)
            return 2
        text_file.write(migration.prototxt.encode("utf-8", "surrogateescape"))
        text_file.commit()
        model_file.commit()
    before, after = os.path.getsize(arguments.model), os.path.getsize(arguments.output)
    print(f"{arguments.output}: {after} bytes, {after / before:.3f} of {arguments.model} "
          f"({before} bytes)")
    print(f"{arguments.prototxt}: the net definition")
    _compare(arguments, old, why_not)
    return 0


def _run_old(arguments: argparse.Namespace) -> Tuple[Any, str]:
    """(package, net, its outputs), before anything is written; or None, and why not."""
    if arguments.skip_check:
        return None, "--skip_check was given"
    caffe = comparison.compiled_caffe()
    if caffe is None:
        return None, ("the compiled package caffe cannot be imported here; tools/upgrade_net_fp16 "
                      "runs both and compares their outputs")
    try:
        net = comparison.load(caffe, arguments.input, arguments.model)
        comparison.fill(net, _inputs(arguments), arguments.seed)
        return (caffe, net, comparison.run(net)), ""
    except MigrationError:
        raise
    except Exception as error:  # custom layers, or data that is elsewhere
        return None, str(error)


def _compare(arguments: argparse.Namespace, old: Any, why_not: str) -> None:
    if old is None:
        print(f"The nets were not run: {why_not}")
        return
    caffe, net, outputs = old
    try:
        new = comparison.load(caffe, arguments.prototxt, arguments.output)
        differences = comparison.compare(net, outputs, new)
    except MigrationError:
        raise
    except Exception as error:  # a net that cannot be made, as the old one could
        raise MigrationError(str(error)) from None
    for difference in differences:
        print(difference)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the program; returns its exit status."""
    try:
        parsed = _parser().parse_args(arguments)
        return _migrate(parsed, _check(parsed))
    except MigrationError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except ImportError as error:
        message = f"{error}: numpy and protobuf are needed (pip install numpy protobuf)"
    print(f"{PROGRAM}: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
