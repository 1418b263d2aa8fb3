"""The parameters of a net's layers by name, whatever form of batch normalization the file has.

A trained batch normalization lies in files in one of four forms: BVLC's (mean * factor, variance *
factor, factor, and a Scale layer behind it), NVCaffe's with three blobs (mean, variance, 1) or five
(mean, variance, 1, scale, bias), and DIGITS's (scale, bias, mean, variance, 1). The net's layers
and the file may differ in that.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from .caffemodel import StoredLayer
from .errors import ExportError
from .extents import count, text

_FROM_DIGITS = (2, 3, 4, 0, 1)


def wants_scale_and_bias(param: Any) -> bool:
    """True if a BatchNorm layer has five blobs: NVCaffe's scale_bias, or a filler for either."""
    norm = param.batch_norm_param
    return norm.scale_bias or norm.HasField("scale_filler") or norm.HasField("bias_filler")


class Weights:
    """Parameter blobs by layer name."""

    def __init__(self, layers: Sequence[StoredLayer], path: str) -> None:
        self._path = path
        self._blobs: Dict[str, List[np.ndarray]] = {layer.name: layer.blobs for layer in layers}
        self._layers = list(layers)

    def __call__(self, name: str, i: int, shape: Sequence[int]) -> np.ndarray:
        """Blob number `i` of layer `name`, float32. Raises ExportError unless it has `shape`."""
        blobs = self._blobs.get(name) or []
        if not blobs:
            raise ExportError(
                f"{self._path}: has no weights for layer '{name}': do the names in the "
                "two files agree?")
        if i >= len(blobs):
            raise ExportError(f"{self._path}: layer '{name}' has {len(blobs)} blobs of weights, "
                              f"number {i} is missing")
        blob = blobs[i]
        stored = blob.shape
        # Files of old versions have four axes always, the first ones 1.
        legacy = len(stored) == 4 and stored == (1,) * (4 - len(shape)) + tuple(shape)
        single = blob.size == 1 and count(shape) == 1
        if stored != tuple(shape) and not legacy and not single:
            raise ExportError(
                f"{self._path}: layer '{name}', blob {i} has shape {text(stored)}, the "
                f"net needs {text(shape)}")
        return np.asarray(blob, np.float32).reshape(tuple(shape))

    def fit(self, layers: Sequence[Any]) -> None:
        """Brings batch normalizations into the form that the net's `layers` have."""
        names = {layer.name for layer in layers}
        for layer in layers:
            stored = self._stored(layer.name)
            if layer.type != "BatchNorm" or stored is None or len(stored.blobs) not in (3, 5):
                continue
            if wants_scale_and_bias(layer) and len(stored.blobs) == 3:
                self._join(stored, names)
            elif len(stored.blobs) == 5:
                self._order(stored)
                if not wants_scale_and_bias(layer):
                    self._part(stored, layer, layers)

    def _stored(self, name: str) -> Optional[StoredLayer]:
        return next((layer for layer in self._layers if layer.name == name), None)

    def _order(self, stored: StoredLayer) -> None:
        blobs = stored.blobs
        if blobs[4].size == 1 and blobs[2].size != 1:
            blobs = [blobs[i] for i in _FROM_DIGITS]
        self._blobs[stored.name] = [blob.reshape(-1) for blob in blobs]

    def _join(self, stored: StoredLayer, names: set) -> None:
        """Three blobs and the Scale layer behind them become five, the factor taken out."""
        mean, variance, factor = (np.asarray(blob, np.float32).reshape(-1) for blob in stored.blobs)
        if factor.size != 1:
            return  # what the net needs is said when it asks for the blob
        scale = next((layer for layer in self._layers if layer.type == "Scale" and stored.tops and
                      layer.bottoms == stored.tops[:1] and layer.name not in names), None)
        affine = [blob.reshape(-1) for blob in scale.blobs] if scale else []
        inverse = 0 if factor[0] == 0 else 1 / factor[0]
        self._blobs[stored.name] = [
            mean * inverse, variance * inverse, np.ones(1, np.float32),
            affine[0] if affine else np.ones_like(mean),
            affine[1] if len(affine) > 1 else np.zeros_like(mean)]

    def _part(self, stored: StoredLayer, layer: Any, layers: Sequence[Any]) -> None:
        """Five blobs become three, and those of the net's Scale layer behind them."""
        mean, variance, _, scale, bias = self._blobs[stored.name]
        # The fifth form's reserved value is not looked at: the statistics are as they are.
        self._blobs[stored.name] = [mean, variance, np.ones(1, np.float32)]
        behind = list(layers)[list(layers).index(layer) + 1:]
        follower = next((other for other in behind if other.type == "Scale" and
                         list(other.bottom) == list(layer.top[:1])), None)
        if follower is None:
            if not (np.all(scale == 1) and np.all(bias == 0)):
                raise ExportError(
                    f"{self._path}: the stored layer '{layer.name}' has a scale and a bias, which "
                    "the net's BatchNorm has not: give it batch_norm_param { scale_bias: true }, "
                    "or a Scale layer with bias_term: true after it")
            return
        if self._blobs.get(follower.name):
            raise ExportError(
                f"{self._path}: the stored layers '{layer.name}' and '{follower.name}' "
                "both have a scale: give the net's BatchNorm batch_norm_param "
                "{ scale_bias: true }")
        self._blobs[follower.name] = [scale, bias] if follower.scale_param.bias_term else [scale]
