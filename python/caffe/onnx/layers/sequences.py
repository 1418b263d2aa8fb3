"""CTC's greedy decoder in standard operators."""
from __future__ import annotations

import numpy as np

from ..errors import require
from ..extents import count
from ..graph import BOOL
from ..layer import FLOAT, INT64, Layer, Value, exports


def _alive(layer: Layer, steps: int) -> Value:
    """(T, N) bool: before the first step, but the very first, whose indicator is 0."""
    ended = layer.op("Equal", layer.bottom(1), layer.constant(0.0, dtype=FLOAT), dtype=BOOL)
    later = np.ones((steps, 1), np.int64)
    later[0] = 0
    ended = layer.op("Mul", layer.cast(ended, INT64), layer.constant(later, "later"))
    so_far = layer.op("CumSum", ended, layer.constant(0))
    return layer.op("Equal", so_far, layer.constant(0), dtype=BOOL)


def _emits(layer: Layer, labels: Value, alive: Value) -> Value:
    """(T, N) int64: 1 where a label of the path is one of the result."""
    param = layer.param.ctc_decoder_param
    blank = layer.constant(param.blank_index)
    emits = layer.op("And", layer.op("Not", layer.op("Equal", labels, blank, dtype=BOOL)), alive)
    if param.ctc_merge_repeated:
        steps, items = labels.shape
        before = [layer.filled(-1, (1, items), labels, INT64, axis=1)]
        if steps != 1:
            before.append(layer.part(labels, 0, 0, steps - 1))
        before = layer.concat(before, 0)
        differs = layer.op("Not", layer.op("Equal", labels, before, dtype=BOOL))
        emits = layer.op("And", emits, differs)
    return layer.cast(emits, INT64)


@exports("CTCGreedyDecoder", native=False)
def ctc_greedy_decoder(layer: Layer) -> None:
    """(N, T, 1, 1): the labels of the best path, then -1; with indicators, a penalty for each
    item."""
    require(
        len(layer.bottoms) <= 2, "its labels and accuracy are for tests of a net, not for its use")
    layer.require_some_axes(2)
    x = layer.bottom(0)
    steps, items = x.shape[:2]
    x = layer.reshape(x, (steps, items, count(x.shape[2:])))
    has_indicators = len(layer.bottoms) == 2
    if has_indicators:
        require(layer.shape(1) == (steps, items), "bottom 1 is not a blob of continuation indicators")
        alive = _alive(layer, steps)
    else:
        alive = layer.cast(layer.filled(1, (steps, items), x, INT64, axis=1), BOOL)
    labels = layer.op("ArgMax", x, shape=(steps, items), dtype=INT64, axis=2, keepdims=0)
    emits = _emits(layer, labels, alive)
    place = layer.op("Sub", layer.op("CumSum", emits, layer.constant(0)), layer.constant(1))
    # What is not emitted goes into a row of its own, which is cut off.
    place = layer.op("Where", layer.cast(emits, BOOL), place, layer.constant(steps), dtype=INT64)
    nothing = layer.filled(-1, (steps + 1, items), labels, FLOAT, axis=1)
    rows = layer.op("ScatterElements", nothing, place, layer.cast(labels, FLOAT), axis=0)
    found = layer.transpose(layer.part(rows, 0, 0, steps), [1, 0])
    layer.top(0, layer.reshape(found, (items, steps, 1, 1)))
    if len(layer.tops) > 1:
        best = layer.reduce("ReduceMax", x, [2], keep=False)
        counted = layer.op("Mul", best, layer.cast(alive, FLOAT))
        penalty = layer.op("Neg", layer.reduce("ReduceSum", counted, [0], keep=False))
        layer.top(1, layer.reshape(penalty, (items, 1, 1, 1)))
