"""Runs the old net and the new one through the compiled package, where there is one."""
from typing import Dict, List, NamedTuple

import numpy as np

from . import MigrationError


class OutputDifference(NamedTuple):
    """How far an output of one net is from that of another."""

    blob: str
    largest_difference: float  # of values that are finite in both
    largest_value: float       # magnitude in the first net
    not_finite: int            # NaN or infinite in the second net and not in the first
    shapes: str = ""           # both where they differ, as those of detections may

    def __str__(self) -> str:
        if self.shapes:
            return f"output '{self.blob}': not compared, its shapes are {self.shapes}"
        text = (f"output '{self.blob}': largest difference {self.largest_difference:g} "
                f"(largest value {self.largest_value:g})")
        if self.not_finite:
            text += f", {self.not_finite} values became NaN or infinite"
        return text


def compiled_caffe():
    """The compiled package, or None."""
    try:
        import caffe
        return caffe if caffe.Net and caffe.TEST is not None else None
    except Exception:  # whatever keeps it from loading, this tool works without
        return None


def _fill(net, files: List[str], seed: int) -> None:
    names = list(net.inputs)
    if files and len(files) != len(names):
        raise MigrationError(f"the net has {len(names)} inputs, and {len(files)} files were given")
    random = np.random.RandomState(seed)
    for index, name in enumerate(names):
        blob = net.blobs[name]
        if files:
            values = np.load(files[index])
            blob.reshape(*values.shape)
        else:
            values = random.uniform(-1, 1, blob.data.shape)
        blob.data[...] = values


def _difference(blob: str, first: np.ndarray, second: np.ndarray) -> OutputDifference:
    if first.shape != second.shape:
        return OutputDifference(blob, 0, 0, 0, f"{first.shape} and {second.shape}")
    first, second = first.astype(np.float64), second.astype(np.float64)
    counted = np.isfinite(first)
    both = counted & np.isfinite(second)
    return OutputDifference(blob, float(np.abs(first[both] - second[both]).max(initial=0)),
                            float(np.abs(first[counted]).max(initial=0)),
                            int((counted & ~both).sum()))


def load(caffe, prototxt: str, model: str):
    """The net in the TEST phase with its weights."""
    return caffe.Net(prototxt, model, caffe.TEST)


def run(net, files: List[str], seed: int) -> Dict[str, np.ndarray]:
    """The outputs for inputs from .npy files, one for each input, or random ones."""
    _fill(net, files, seed)
    return {blob: np.array(values) for blob, values in net.forward().items()}


def compare(first, outputs: Dict[str, np.ndarray], second) -> List[OutputDifference]:
    """Gives the second net the inputs of the first, and compares its outputs with these."""
    for name in first.inputs:
        second.blobs[name].reshape(*first.blobs[name].data.shape)
        second.blobs[name].data[...] = first.blobs[name].data
    others = second.forward()
    return [_difference(blob, outputs[blob], np.array(others[blob])) for blob in sorted(outputs)]
