"""Runs the old net and the new one through the compiled package, where there is one."""
import os
from typing import Dict, List, NamedTuple, Optional

import numpy as np

from . import MigrationError
from .batch_norm import SHARING


class OutputDifference(NamedTuple):
    """How far an output of one net is from that of another."""

    blob: str
    largest_difference: float    # of values that are finite in both
    largest_value: float         # magnitude in the first net, of finite values
    values: int = 0
    not_finite: int = 0          # NaN or infinite in the second net and not in the first
    not_finite_before: int = 0   # in the first and not in the second
    not_finite_in_both: int = 0
    shapes: str = ""             # both where they differ, as those of detections may

    def _counted(self) -> List[str]:
        counts = [(self.not_finite, "became NaN or infinite"),
                  (self.not_finite_before, "are NaN or infinite in the old net alone"),
                  (self.not_finite_in_both, "are NaN or infinite in both nets")]
        return [f"{'all ' if count == self.values else ''}{count} values {what}"
                for count, what in counts if count]

    def __str__(self) -> str:
        if self.shapes:
            return f"output '{self.blob}': not compared, its shapes are {self.shapes}"
        if not self.values:
            return f"output '{self.blob}': not compared, it has no values"
        counted = self._counted()
        if self.not_finite + self.not_finite_before + self.not_finite_in_both == self.values:
            return f"output '{self.blob}': {', '.join(counted)}: nothing could be compared"
        return ", ".join([f"output '{self.blob}': largest difference {self.largest_difference:g} "
                          f"(largest value {self.largest_value:g})", *counted])


def compiled_caffe():
    """The compiled package, or None. Its log tells warnings and errors only: two nets' set-up is no
    news."""
    try:
        import caffe
        level = os.environ.get("GLOG_minloglevel", "")
        caffe.init_log(max(1, int(level) if level.isdigit() else 0), True)
        return caffe if caffe.Net and caffe.TEST is not None else None
    except Exception:  # whatever keeps it from loading, this tool works without
        return None


def _read_input(file: str) -> np.ndarray:
    try:
        values = np.load(file)
    except OSError:
        raise MigrationError(f"{file}: cannot be read") from None
    except Exception:  # whatever NumPy says of a file that is none of its own
        raise MigrationError(f"{file}: no .npy file, or cut off") from None
    if not isinstance(values, np.ndarray):
        raise MigrationError(f"{file}: no .npy file")
    if values.dtype.kind not in "fiub":
        raise MigrationError(f"{file}: elements of type '{values.dtype.str}' are not read; "
                             "numpy.float32 is")
    return values


def _fill_from(net, files: List[str]) -> None:
    names = list(net.inputs)
    if len(files) != len(names):
        raise MigrationError(f"the net has {len(names)} inputs, and {len(files)} files were given")
    arrays = [_read_input(file) for file in files]
    try:
        for name, values in zip(names, arrays):
            net.blobs[name].reshape(*values.shape)
            net.blobs[name].data[...] = values
        net.reshape()
    except Exception as error:  # a layer takes no input of that shape
        raise MigrationError(str(error)) from None


def _index_limits(net) -> Dict[str, int]:
    """Below what the numbers of blobs have to lie that Embed and BatchReindex read as indices."""
    limits: Dict[str, int] = {}

    def lower(blob: str, limit: Optional[int]) -> None:
        if limit:
            limits[blob] = min(limit, limits.get(blob, limit))

    # Backwards: what comes after a layer that passes its bottom on is known then.
    for name, layer in reversed(net.layer_dict.items()):
        bottoms = net.bottom_names[name]
        if layer.type == "Embed":
            lower(bottoms[0], layer.blobs[0].data.shape[0])
        elif layer.type == "BatchReindex":
            lower(bottoms[1], net.blobs[bottoms[0]].data.shape[0])
        elif layer.type in SHARING and len(bottoms) == 1:
            for top in net.top_names[name]:
                lower(bottoms[0], limits.get(top))
    return limits


def fill(net, files: List[str], seed: int) -> None:
    """Gives the net inputs from .npy files, one for each input, or random ones: numbers between -1
    and 1, or indices.

    Raises MigrationError for files that are no such inputs.
    """
    if files:
        _fill_from(net, files)
        return
    random = np.random.RandomState(seed)
    limits = _index_limits(net)
    for name in net.inputs:
        data = net.blobs[name].data
        if name in limits:
            data[...] = random.randint(0, limits[name], data.shape)
        else:
            data[...] = random.uniform(-1, 1, data.shape)


def _difference(blob: str, first: np.ndarray, second: np.ndarray) -> OutputDifference:
    if first.shape != second.shape:
        return OutputDifference(blob, 0, 0, shapes=f"{first.shape} and {second.shape}")
    first, second = first.astype(np.float64), second.astype(np.float64)
    before, after = np.isfinite(first), np.isfinite(second)
    both = before & after
    return OutputDifference(blob, float(np.abs(first[both] - second[both]).max(initial=0)),
                            float(np.abs(first[before]).max(initial=0)), first.size,
                            *(int(mask.sum())
                              for mask in (before & ~after, ~before & after, ~before & ~after)))


def load(caffe, prototxt: str, model: str):
    """The net in the TEST phase with its weights.

    Raises MigrationError if these do not fit, and whatever keeps the net itself from being made.
    """
    net = caffe.Net(prototxt, caffe.TEST)
    try:
        net.copy_from(model)
    except RuntimeError as error:
        raise MigrationError(str(error)) from None
    return net


def run(net) -> Dict[str, np.ndarray]:
    """The outputs for the inputs that the net has."""
    return {blob: np.array(values) for blob, values in net.forward().items()}


def compare(first, outputs: Dict[str, np.ndarray], second) -> List[OutputDifference]:
    """Gives the second net the inputs of the first, and compares its outputs with these."""
    for name in first.inputs:
        second.blobs[name].reshape(*first.blobs[name].data.shape)
        second.blobs[name].data[...] = first.blobs[name].data
    others = second.forward()
    return [_difference(blob, outputs[blob], np.array(others[blob])) for blob in sorted(outputs)]
