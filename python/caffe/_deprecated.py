"""Names that pycaffe had in 2013 and 2014. They work, and warn with what to write instead."""
from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from ._caffe import TEST, TRAIN, Error, set_device, set_mode_cpu, set_mode_gpu

_PHASES = {TRAIN: "TRAIN", TEST: "TEST"}

# The phase of nets that are made without one, as all were when it was a setting of the process.
_default_phase = TEST


def warn(old: str, new: str, depth: int = 3) -> None:
    """Warns of an old name, at the line that used it: the caller's caller, or further up."""
    warnings.warn(f"{old} is deprecated since 2015: use {new}", DeprecationWarning, stacklevel=depth)


def default_phase() -> int:
    """The phase of a net that is made without one: TEST unless ``set_phase_train`` was called."""
    return _default_phase


def set_phase_train() -> None:
    """Old: nets made without a phase are for training from now on."""
    _set_phase(TRAIN)


def set_phase_test() -> None:
    """Old: nets made without a phase are for testing from now on."""
    _set_phase(TEST)


def _set_phase(phase: int) -> None:
    global _default_phase
    name = _PHASES[phase]
    warn(f"caffe.set_phase_{name.lower()}()", f"caffe.Net(network_file, caffe.{name})", depth=4)
    _default_phase = phase


class OldNet:
    """Methods of nets that became functions of the module, or went to caffe.io.Transformer."""

    phase: int
    blobs: Any

    def set_phase_train(self) -> None:
        """Old: says that the net is used for training. Raises caffe.Error for a net that was made
        for testing."""
        self._check_phase(TRAIN)

    def set_phase_test(self) -> None:
        """Old: says that the net is used for testing. Raises caffe.Error for a net that was made
        for training."""
        self._check_phase(TEST)

    def _check_phase(self, wanted: int) -> None:
        name = _PHASES[wanted]
        warn(f"net.set_phase_{name.lower()}()", f"caffe.Net(network_file, caffe.{name})", depth=4)
        if self.phase != wanted:
            raise Error(f"this net was made for the phase {_PHASES[self.phase]}, which it keeps: "
                        f"make it with caffe.Net(network_file, caffe.{name})")

    def set_mode_cpu(self) -> None:
        """Old: ``caffe.set_mode_cpu()``."""
        warn("net.set_mode_cpu()", "caffe.set_mode_cpu()")
        set_mode_cpu()

    def set_mode_gpu(self) -> None:
        """Old: ``caffe.set_mode_gpu()``."""
        warn("net.set_mode_gpu()", "caffe.set_mode_gpu()")
        set_mode_gpu()

    def set_device(self, device: int) -> None:
        """Old: ``caffe.set_device(device)``."""
        warn("net.set_device()", "caffe.set_device()")
        set_device(device)

    def _old_transformer(self, method: str, input_: str) -> Any:
        """The net's Transformer: a classifier's or detector's, else one that is made for it and that
        puts channels first, as these methods did."""
        warn(f"net.{method}()", f"caffe.io.Transformer's {method}", depth=4)
        from . import io
        if "transformer" not in self.__dict__:
            self.__dict__["transformer"] = io.Transformer({})
        transformer = self.__dict__["transformer"]
        if input_ not in transformer.inputs:
            transformer.inputs[input_] = tuple(self.blobs[input_].shape)
            transformer.set_transpose(input_, (2, 0, 1))
        return transformer

    def set_mean(self, input_: str, mean: Union[str, "os.PathLike[str]", np.ndarray],
                 mode: str = "elementwise") -> None:
        """Old: what :meth:`preprocess` subtracts, an array or a .npy file; with ``mode``
        'channel' the mean of each of its channels."""
        transformer = self._old_transformer("set_mean", input_)
        values = mean if isinstance(mean, np.ndarray) else np.load(mean)
        if mode not in ("elementwise", "channel"):
            raise ValueError(f"set_mean's mode is 'elementwise' or 'channel', not '{mode}'")
        if mode == "channel" and values.ndim == 3:
            values = values.mean(axis=(1, 2))
        transformer.set_mean(input_, values)

    def set_input_scale(self, input_: str, scale: float) -> None:
        """Old: a factor after the mean."""
        self._old_transformer("set_input_scale", input_).set_input_scale(input_, scale)

    def set_raw_scale(self, input_: str, scale: float) -> None:
        """Old: a factor before the mean."""
        self._old_transformer("set_raw_scale", input_).set_raw_scale(input_, scale)

    def set_channel_swap(self, input_: str, order: Sequence[int]) -> None:
        """Old: the order of the channels."""
        self._old_transformer("set_channel_swap", input_).set_channel_swap(input_, order)

    def preprocess(self, input_: str, data: np.ndarray) -> np.ndarray:
        """Old: ``caffe.io.Transformer.preprocess``."""
        return self._old_transformer("preprocess", input_).preprocess(input_, data)

    def deprocess(self, input_: str, data: np.ndarray) -> np.ndarray:
        """Old: ``caffe.io.Transformer.deprocess``."""
        return self._old_transformer("deprocess", input_).deprocess(input_, data)


def old_arguments(owner: str, mean: Optional[np.ndarray], gpu: Optional[bool],
                  mean_file: Optional[Union[str, "os.PathLike[str]"]]) -> Optional[np.ndarray]:
    """Obeys the arguments that classifiers and detectors had in addition to today's: ``gpu``
    chooses where to compute, ``mean_file`` is a .npy file; None: not given. Returns the mean to
    subtract."""
    if gpu is not None:
        mode = "gpu" if gpu else "cpu"
        warn(f"{owner}'s argument gpu", f"caffe.set_mode_{mode}()", depth=4)
        (set_mode_gpu if gpu else set_mode_cpu)()
    if mean_file is None:
        return mean
    warn(f"{owner}'s argument mean_file", "mean=numpy.load(file)", depth=4)
    return np.load(mean_file)
