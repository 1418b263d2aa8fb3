"""LSTM and RNN layers.

Caffe's sequences come with continuation indicators: 0 where one begins, which forgets the state.
Where the indicators are known to be 0 in the first step alone, ONNX's own LSTM and RNN do; else a
Scan runs the steps. The state at the start of each run is 0: what a net in Caffe keeps from one
pass to the next is not kept. Arithmetic is in FLOAT.
"""
from __future__ import annotations

import copy
from typing import Callable, List, NamedTuple, Optional, Sequence

import numpy as np

from ..errors import require
from ..extents import count, text
from ..graph import Graph
from ..layer import FLOAT, Layer, Value, exports


class Weights(NamedTuple):
    """Of the inputs (gates * D, I), of the state (gates * D, D), the bias (gates * D), and of the
    static input if there is one."""
    inputs: np.ndarray
    hidden: np.ndarray
    bias: np.ndarray
    static: Optional[np.ndarray] = None


class Sequences(NamedTuple):
    """What runs: inputs (T, N, I), indicators (T, N) or None, the states at the start or None."""
    inputs: Value
    indicators: Optional[Value]
    static: Optional[Value] = None
    states: Sequence[Value] = ()


def _starts_once(layer: Layer, indicators: Optional[Value]) -> bool:
    """True if the indicators are known to be 0 in the first step and 1 in all others."""
    if indicators is None:
        return True
    known = next((c for c in layer.graph.constants if c.name == indicators.name), None)
    if known is None:
        return False
    values = layer.graph.onnx.numpy_helper.to_array(known)
    return bool(np.all(values[:1] == 0) and np.all(values[1:] == 1))


def _gates(layer: Layer, run: Sequences, weights: Weights) -> Value:
    """(T, N, gates * D): the part that does not depend on the state."""
    columns = weights.inputs.shape[0]
    y = layer.op("MatMul", run.inputs, layer.constant(weights.inputs.T, "weights", FLOAT),
                 shape=run.inputs.shape[:2] + (columns,))
    y = layer.op("Add", y, layer.constant(weights.bias, "bias", FLOAT))
    if run.static is None:
        return y
    part = layer.op("MatMul", run.static, layer.constant(weights.static.T, "static_weights", FLOAT),
                    shape=(run.static.shape[0], columns))
    return layer.op("Add", y, part)


def lstm_step(layer: Layer, gates: Value, cell: Value, indicator: Value) -> List[Value]:
    """[h, c] of one step from the four gates' inputs (N, 4 D), c (N, D) and indicators (N, 1)."""
    d = cell.shape[-1]
    axis = len(gates.shape) - 1
    i, f, o, g = [layer.part(gates, axis, k * d, (k + 1) * d) for k in range(4)]
    f = layer.op("Mul", layer.op("Sigmoid", f), indicator)
    new = layer.op("Mul", layer.op("Sigmoid", i), layer.op("Tanh", g))
    c = layer.op("Add", layer.op("Mul", f, cell), new)
    return [layer.op("Mul", layer.op("Sigmoid", o), layer.op("Tanh", c)), c]


def _rnn_step(layer: Layer, gates: Value, _: Optional[Value], __: Value) -> List[Value]:
    return [layer.op("Tanh", gates)]


def _step_graph(layer: Layer, run: Sequences, weights: Weights, states: List[Value],
                step: Callable) -> object:
    """The body of the Scan: states, gates and indicators of one step in; states and output out."""
    graph = Graph(layer.graph.onnx, layer.graph.opset)
    param = copy.deepcopy(layer.param)
    param.name = f"{layer.name}/step"
    body = Layer(graph, param, FLOAT, [], layer.blob)
    n, d = states[0].shape
    before = [graph.add_input(f"{param.name}/state{i}", (n, d), FLOAT) for i in range(len(states))]
    gates = graph.add_input(f"{param.name}/gates", (n, weights.bias.shape[0]), FLOAT)
    indicator = graph.add_input(f"{param.name}/indicator", (n,), FLOAT)
    indicators = body.reshape(indicator, (n, 1))
    kept = body.op("Mul", before[0], indicators)
    product = body.op("MatMul", kept, body.constant(weights.hidden.T, "weights"), shape=gates.shape)
    after = step(body, body.op("Add", gates, product), before[-1], indicators)
    output = body.op("Identity", after[0])
    helper = graph.onnx.helper

    def infos(values: List[Value]) -> list:
        return [helper.make_tensor_value_info(value.name, 1, None) for value in values]

    return helper.make_graph(graph.nodes, param.name, infos(before + [gates, indicator]),
                             infos(after + [output]), graph.constants)


def _scan(layer: Layer, run: Sequences, weights: Weights, states: int,
          step: Callable) -> List[Value]:
    """[outputs (T, N, D), final states (N, D)...]."""
    steps, n = run.inputs.shape[:2]
    d = weights.hidden.shape[1]
    start = list(run.states) or [layer.filled(0, (n, d), run.inputs, FLOAT, axis=1)] * states
    start = [layer.reshape(state, (n, d)) for state in start]
    gates = _gates(layer, run, weights)
    body = _step_graph(layer, run, weights, start, step)
    results = layer.ops("Scan", *start, gates, run.indicators,
                        shapes=[(n, d)] * states + [(steps, n, d)],
                        dtypes=[FLOAT] * (states + 1), body=body, num_scan_inputs=2)
    return results[-1:] + results[:-1]


def _reordered(weights: np.ndarray, d: int) -> np.ndarray:
    """Gates i, f, o, g as ONNX has them: i, o, f, g."""
    i, f, o, g = (weights[k * d:(k + 1) * d] for k in range(4))
    return np.concatenate([i, o, f, g])


def _standard(layer: Layer, op_type: str, run: Sequences, weights: Weights) -> List[Value]:
    """ONNX's own LSTM or RNN, from a state of 0."""
    d = weights.hidden.shape[1]
    order = (lambda w: _reordered(w, d)) if op_type == "LSTM" else (lambda w: w)
    steps, n = run.inputs.shape[:2]
    both = np.concatenate([order(weights.bias), np.zeros_like(weights.bias)])
    arrays = {"weights": order(weights.inputs), "hidden_weights": order(weights.hidden),
              "bias": both}
    inputs = [layer.constant(array[None], hint, FLOAT) for hint, array in arrays.items()]
    y = layer.op(op_type, run.inputs, *inputs, shape=(steps, 1, n, d), hidden_size=d)
    return [layer.reshape(y, (steps, n, d))]


def _run(layer: Layer, run: Sequences, weights: Weights, op_type: str) -> List[Value]:
    if run.static is None and not run.states and _starts_once(layer, run.indicators):
        return _standard(layer, op_type, run, weights)
    states, step = (2, lstm_step) if op_type == "LSTM" else (1, _rnn_step)
    return _scan(layer, run, weights, states, step)


def _read(layer: Layer, states: int) -> Sequences:
    """The bottoms: inputs, indicators, a static input, with expose_hidden the states."""
    exposed = states if layer.param.recurrent_param.expose_hidden else 0
    has_static = len(layer.bottoms) > 2 + exposed
    layer.require_some_axes(2)
    x, indicators = layer.bottom(0, FLOAT), layer.bottom(1, FLOAT)
    require(indicators.shape == x.shape[:2], f"indicators of shape {text(indicators.shape)} do not "
            f"fit inputs of shape {text(x.shape)}")
    static = layer.bottom(2, FLOAT) if has_static else None
    if static is not None:
        require(static.shape[:1] == x.shape[1:2], f"a static input of shape {text(static.shape)} "
                f"does not fit inputs of shape {text(x.shape)}")
        static = layer.reshape(static, (static.shape[0], count(static.shape[1:])))
    given = [layer.bottom(2 + has_static + i, FLOAT) for i in range(exposed)]
    return Sequences(layer.reshape(x, x.shape[:2] + (count(x.shape[2:]),)), indicators, static,
                     given)


def _weights(layer: Layer, run: Sequences, gates: int) -> Weights:
    d = layer.param.recurrent_param.num_output
    rows = gates * d
    has_static = run.static is not None
    static = layer.blob(2, (rows, run.static.shape[1])) if has_static else None
    return Weights(layer.blob(0, (rows, run.inputs.shape[2])),
                   layer.blob(2 + has_static, (rows, d)), layer.blob(1, (rows,)), static)


def _state_tops(layer: Layer, states: List[Value]) -> None:
    for i, state in enumerate(states):
        layer.top(1 + i, layer.reshape(state, (1,) + state.shape))


@exports("LSTM")
def lstm(layer: Layer) -> None:
    run = _read(layer, 2)
    results = _run(layer, run, _weights(layer, run, 4), "LSTM")
    layer.top(0, results[0])
    _state_tops(layer, results[1:] if len(layer.tops) > 1 else [])


@exports("RNN")
def rnn(layer: Layer) -> None:
    """h = tanh(...), of which the output is tanh(W h + b)."""
    run = _read(layer, 1)
    results = _run(layer, run, _weights(layer, run, 1), "RNN")
    h = results[0]
    d = layer.param.recurrent_param.num_output
    first = 3 + (run.static is not None)
    product = layer.op("MatMul", h,
                       layer.constant(layer.blob(first, (d, d)).T, "out_weights", FLOAT))
    product = layer.op("Add", product,
                       layer.constant(layer.blob(first + 1, (d,)), "out_bias", FLOAT))
    layer.top(0, layer.op("Tanh", product))
    _state_tops(layer, results[1:] if len(layer.tops) > 1 else [])


@exports("Lstm")
def forks_lstm(layer: Layer) -> None:
    """CRNN's: steps and items in one axis, or inputs of three axes; indicators if there are any."""
    param = layer.param.lstm_param
    x, d = layer.bottom(0, FLOAT), param.num_output
    flat = len(x.shape) != 3 or param.HasField("batch_size")
    if flat:
        layer.require_some_axes(1)
        require(param.batch_size > 0, "lstm_param: batch_size is at least 1")
        x = layer.reshape(x, (x.shape[0] // param.batch_size, param.batch_size, count(x.shape[1:])))
    indicators = None
    if len(layer.bottoms) > 1:
        given = layer.reshape(layer.bottom(1, FLOAT), x.shape[:2])
        sure = layer.op("Not", layer.op("Equal", given, layer.constant(0.0, dtype=FLOAT),
                                        dtype=np.dtype(np.bool_)))
        indicators = given if _starts_once(layer, given) else layer.cast(sure, FLOAT)
    weights = Weights(layer.blob(0, (4 * d, x.shape[2])), layer.blob(1, (4 * d, d)),
                      layer.blob(2, (4 * d,)))
    h = _run(layer, Sequences(x, indicators), weights, "LSTM")[0]
    layer.top(0, layer.reshape(h, (count(h.shape[:2]), d)) if flat else h)


@exports("LSTMUnit", native=False)
def lstm_unit(layer: Layer) -> None:
    """One step: bottoms are c (1, N, D), the gates (1, N, 4 D) and the indicators (1, N)."""
    layer.require_axes(3)
    cell, gates = layer.bottom(0, FLOAT), layer.bottom(1, FLOAT)
    require(gates.shape == cell.shape[:2] + (4 * cell.shape[2],), f"gates of shape "
            f"{text(gates.shape)} do not fit cells of shape {text(cell.shape)}")
    indicator = layer.reshape(layer.bottom(2, FLOAT), cell.shape[:2] + (1,))
    h, c = lstm_step(layer, gates, cell, indicator)
    layer.top(0, c)
    layer.top(1, h)
