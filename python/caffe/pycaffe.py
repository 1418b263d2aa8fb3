"""``caffe.Net`` and the solvers, on top of the compiled module."""
from collections import OrderedDict
from itertools import zip_longest

from typing import Any, Callable, Dict, Iterable, Iterator, KeysView, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _caffe, _callbacks, _deprecated, _vectors
from ._caffe import (  # noqa: F401
    NCCL, TEST, TRAIN, Blob, Error, Layer, LayerParameter, Timer, __version__,
    create_layer, has_nccl, init_log, layer_type_list, limits, log, set_device, set_devices,
    set_gpu_fallback, set_ignore_unknown_fields, set_limits, set_logging_disabled, set_mode_cpu,
    set_mode_gpu, set_multiprocess, set_random_seed, set_solver_count, set_solver_rank, set_threads,
    solver_count, solver_rank, threads)
from ._deprecated import set_phase_test, set_phase_train  # noqa: F401

#: NVCaffe's name: there every layer is one.
LayerBase = Layer


class BlobsByName(Mapping):
    """A net's blobs by name; each is looked up when it is asked for."""

    def __init__(self, net: "Net", known: Dict[str, Optional[Blob]]) -> None:
        self._net = net
        self._known = known  # None: not asked for yet

    def __getitem__(self, name: str) -> Blob:
        blob = self._known[name]
        if blob is None:
            blob = self._known[name] = self._net._blob_called(name)
        return blob

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def keys(self) -> KeysView[str]:
        """The names, from the first layer's on; they may be reversed."""
        return self._known.keys()

    def copy(self) -> Dict[str, Blob]:
        """The same blobs in a dictionary of the caller's."""
        return OrderedDict(self)

    def __repr__(self) -> str:
        return f"<blobs {', '.join(self._known)}>"


class Net(_caffe.Net, _deprecated.OldNet):
    """A net of a prototxt file, with its weights.

        Net(network_file, phase, level=0, stages=None, weights=None)
        Net(network_file, weights, phase)

    ``phase`` is ``caffe.TRAIN`` or ``caffe.TEST``; ``level`` and ``stages`` decide on layers with
    include and exclude rules. Raises :class:`caffe.Error`, which says what is wrong with the file.
    """

    def __init__(self, network_file: Any, *args: Any, **options: Any) -> None:
        if isinstance(network_file, _caffe.Net):
            super().__init__(network_file)
            return
        given = self._name_arguments(args, options)
        phase = given.pop("phase")
        super().__init__(network_file, phase, given.get("level", 0),
                         list(given.get("stages") or []), given.get("weights"))

    @staticmethod
    def _name_arguments(args: Sequence[Any], options: Dict[str, Any]) -> Dict[str, Any]:
        """The arguments after the file by name, whichever form of the constructor was used."""
        weights_first = bool(args) and not isinstance(args[0], (int, np.integer))
        names = ["weights", "phase"] if weights_first else ["phase", "level", "stages", "weights"]
        if len(args) > len(names):
            raise TypeError(f"Net takes at most {len(names) + 1} arguments in this form")
        given = dict(zip(names, args))
        for name, value in options.items():
            if name not in ("phase", "level", "stages", "weights"):
                raise TypeError(f"Net has no argument '{name}'")
            if name in given:
                raise TypeError(f"Net was given '{name}' twice")
            given[name] = value
        if "phase" not in given:
            if set(given) - {"weights"}:
                raise TypeError("Net needs a phase: Net(network_file, caffe.TEST, ...)")
            _deprecated.warn("a net without a phase", "caffe.Net(network_file, caffe.TEST)",
                             depth=4)
            given["phase"] = _deprecated.default_phase()
        return given

    # Of what does not change one object is made, so that names can be looked up quickly and what
    # people attach to it stays.

    def _once(self, name: str, make: Any) -> Any:
        try:
            return self.__dict__[name]
        except KeyError:
            return self.__dict__.setdefault(name, make())

    def _weakly(self, function: Any) -> Any:
        return _callbacks.weakly(function, self._once("_callbacks", list))

    def before_forward(self, function: Callable[[int], Any]) -> None:
        """Calls function(layer index) before each layer runs forward."""
        super().before_forward(self._weakly(function))

    def after_forward(self, function: Callable[[int], Any]) -> None:
        """Calls function(layer index) after each layer has run forward."""
        super().after_forward(self._weakly(function))

    def before_backward(self, function: Callable[[int], Any]) -> None:
        """Calls function(layer index) before each layer runs backward."""
        super().before_backward(self._weakly(function))

    def after_backward(self, function: Any) -> None:
        """Calls function(layer index) after each layer has run backward; a :class:`caffe.NCCL` needs
        no call."""
        super().after_backward(self._weakly(function))

    @property
    def blobs(self) -> "Mapping[str, Blob]":
        """The blobs by name, in the order in which they are made.

        A net in the test phase keeps all of them in memory from when the first one is asked for
        that is neither an input nor an output.
        """
        known = self._once("_blobs_dict", lambda: OrderedDict.fromkeys(self._blob_names))
        return BlobsByName(self, known)

    @property
    def blob_loss_weights(self) -> "OrderedDict[str, float]":
        """What each blob counts in the loss; 0 for those that are not losses."""
        return self._once("_blob_loss_weights_dict",
                          lambda: OrderedDict(zip(self._blob_names, self._blob_loss_weights)))

    @property
    def layers(self) -> List[Layer]:
        """The layers in the order in which they run; Python layers are the user's own objects."""
        return self._once("_layers_list", lambda: _vectors.LayerVec(self._layers))

    @property
    def layer_dict(self) -> "OrderedDict[str, Layer]":
        """The layers by name."""
        return self._once("_layer_dict", lambda: OrderedDict(zip(self._layer_names, self.layers)))

    @property
    def params(self) -> "OrderedDict[str, Sequence[Blob]]":
        """The learned blobs of each layer that has any, by the layer's name."""
        return self._once("_params_dict", lambda: OrderedDict(
            (name, layer.blobs) for name, layer in zip(self._layer_names, self.layers)
            if len(layer.blobs) > 0))

    @property
    def inputs(self) -> List[str]:
        """The names of the input blobs."""
        return self._once("_input_list", lambda: [self._blob_names[i] for i in self._inputs])

    @property
    def outputs(self) -> List[str]:
        """The names of the output blobs, in alphabetical order."""
        return self._once("_output_list", lambda: [self._blob_names[i] for i in self._outputs])

    @property
    def top_names(self) -> "OrderedDict[str, List[str]]":
        """The names of the blobs that each layer makes, by the layer's name."""
        return self._once("_top_names", lambda: self._names_of(self._top_ids))

    @property
    def bottom_names(self) -> "OrderedDict[str, List[str]]":
        """The names of the blobs that each layer takes, by the layer's name."""
        return self._once("_bottom_names", lambda: self._names_of(self._bottom_ids))

    def _names_of(self, ids: Any) -> "OrderedDict[str, List[str]]":
        return OrderedDict((name, self._names(ids(layer)))
                           for layer, name in enumerate(self._layer_names))

    def _names(self, blobs: Iterable[int]) -> List[str]:
        return [self._blob_names[blob] for blob in blobs]

    def _layer_index(self, name: Optional[str], otherwise: int) -> int:
        """The place of a layer in the net; of -1 the last one's."""
        indices = self._once("_layer_indices", lambda: {  # the first one of a name
            layer: index for index, layer in reversed(list(enumerate(self._layer_names)))})
        if name is None:
            return otherwise % len(self._layer_names)
        if name not in indices:
            layers = ", ".join(dict.fromkeys(self._layer_names))
            raise ValueError(f"the net has no layer '{name}'; its layers: {layers}")
        return indices[name]

    def _blob(self, name: str) -> Blob:
        try:
            return self.blobs[name]
        except KeyError:
            raise ValueError(f"the net has no blob '{name}'; its blobs: "
                             f"{', '.join(self.blobs)}") from None

    def _fill(self, values_of: Dict[str, Any], expected: Sequence[str], gradients: bool) -> None:
        """Writes values, by name, into all of the expected blobs' data or diff."""
        if set(values_of) != set(expected):
            raise ValueError(f"values are given for {sorted(values_of)}; the net's "
                             f"{'outputs' if gradients else 'inputs'} are {sorted(expected)}")
        for name, given in values_of.items():
            blob = self.blobs[name]
            what = f"{'the gradient of ' if gradients else ''}blob '{name}'"
            values = np.asarray(given)
            if values.dtype.kind not in "fiub":
                raise TypeError(f"{what} takes float32, or numbers that convert to it, not "
                                f"{values.dtype}")
            fits = values.shape[:1] == blob.shape[:1]  # a batch of another size is a mistake
            target = blob.diff if gradients else blob.data
            try:
                if not fits:
                    raise ValueError
                target[...] = values
            except ValueError:
                raise ValueError(f"{what} has shape {blob.shape}, the values have {values.shape}: "
                                 f"net.blobs['{name}'].reshape(...) changes the blob's") from None

    def forward(self, blobs: Optional[Iterable[str]] = None, start: Optional[str] = None,
                end: Optional[str] = None, **inputs: Any) -> Dict[str, np.ndarray]:
        """Runs the net, or its layers from ``start`` to ``end`` (names, both included).

        ``inputs`` are values for the input blobs, by name: for all of them or none. Returns the
        output blobs (with ``end``: what that layer makes) and those named in ``blobs``, as views:
        the next pass overwrites them.
        """
        first, last = self._layer_index(start, 0), self._layer_index(end, -1)
        names = self.outputs if end is None else self._names(self._top_ids(last))
        wanted = {name: self._blob(name) for name in (*names, *(blobs or ()))}
        if inputs:
            self._fill(inputs, self.inputs, gradients=False)
        self._forward(first, last)
        return {name: blob.data for name, blob in wanted.items()}

    def backward(self, diffs: Optional[Iterable[str]] = None, start: Optional[str] = None,
                 end: Optional[str] = None, **gradients: Any) -> Dict[str, np.ndarray]:
        """Runs the net backwards, or its layers from ``start`` down to ``end``.

        ``gradients`` are values for the diffs of the output blobs, by name: for all of them or none.
        Returns the diffs of the input blobs (with ``end``: of what that layer takes) and of those
        named in ``diffs``, as views. Gradients of parameters are added to those that are there.
        """
        first, last = self._layer_index(start, -1), self._layer_index(end, 0)
        names = self.inputs if end is None else self._names(self._bottom_ids(last))
        wanted = {name: self._blob(name) for name in (*names, *(diffs or ()))}
        if gradients:
            self._fill(gradients, self.outputs, gradients=True)
        self._backward(first, last)
        return {name: blob.diff for name, blob in wanted.items()}

    def forward_all(self, blobs: Optional[Iterable[str]] = None,
                    **inputs: Any) -> Dict[str, np.ndarray]:
        """Runs any number of items through the net, batch by batch.

        Returns copies of the outputs, and of those in ``blobs``, for all items. The last batch is
        filled up with zeros, whose results are left out.
        """
        collected: Dict[str, List[np.ndarray]] = {}
        for batch in self._batch(inputs):
            _collect(collected, self.forward(blobs=blobs, **batch))
        return _joined(collected, _items(inputs))

    def forward_backward_all(self, blobs: Optional[Iterable[str]] = None,
                             diffs: Optional[Iterable[str]] = None, **values: Any
                             ) -> Tuple[Dict[str, np.ndarray], Dict[str, np.ndarray]]:
        """Runs any number of items forwards and backwards, batch by batch.

        ``values`` are inputs and gradients of outputs, by name. Returns what ``forward_all`` does,
        and likewise the diffs of the inputs and of those named in ``diffs``.
        """
        inputs = {name: values[name] for name in self.inputs if name in values}
        gradients = {name: values[name] for name in self.outputs if name in values}
        unknown = set(values) - set(inputs) - set(gradients)
        if unknown:
            raise ValueError(f"{sorted(unknown)} are neither inputs nor outputs of the net")
        outputs: Dict[str, List[np.ndarray]] = {}
        results: Dict[str, List[np.ndarray]] = {}
        for inputs_now, gradients_now in zip_longest(
                self._batch(inputs), self._batch(gradients), fillvalue={}):
            _collect(outputs, self.forward(blobs=blobs, **inputs_now))
            _collect(results, self.backward(diffs=diffs, **gradients_now))
        items = _items(inputs or gradients)
        return _joined(outputs, items), _joined(results, items)

    def _batch(self, values_of: Dict[str, Any]) -> Iterator[Dict[str, np.ndarray]]:
        """Cuts arrays into batches of the net's size; the last one is filled up with zeros."""
        if not values_of:
            return
        items = _items(values_of)
        size = self._blob(next(iter(values_of))).shape[0]
        arrays = {name: np.asarray(values) for name, values in values_of.items()}
        for begin in range(0, items, size):
            batch = {name: array[begin:begin + size] for name, array in arrays.items()}
            missing = begin + size - items
            if missing > 0:
                batch = {name: np.concatenate([part, np.zeros((missing,) + part.shape[1:],
                                                              part.dtype)])
                         for name, part in batch.items()}
            yield batch

    def set_input_arrays(self, data: np.ndarray, labels: np.ndarray) -> None:
        """Lets the MemoryData layer that the net begins with read these arrays in each pass: what is
        written into them is seen by the next one.

        ``data`` has shape (N, channels, height, width), ``labels`` N values; both are float32 and
        C contiguous, N a multiple of the batch size.
        """
        self._set_input_arrays(data, labels)


def _items(values_of: Dict[str, Any]) -> int:
    """The number of items in arrays that have to have the same number."""
    lengths = {name: len(values) for name, values in values_of.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"give each blob the same number of items; given are {lengths or 'none'}")
    return next(iter(lengths.values()))


def _collect(collected: Dict[str, List[np.ndarray]], batch: Dict[str, np.ndarray]) -> None:
    for name, values in batch.items():
        collected.setdefault(name, []).append(np.atleast_1d(values).copy())


def _joined(collected: Dict[str, List[np.ndarray]], items: int) -> Dict[str, np.ndarray]:
    """The batches one after another. Blobs with another first extent than the batch have no items
    that could be left out."""
    joined = {}
    for name, batches in collected.items():
        whole = np.concatenate(batches)
        surplus = sum(len(values) for values in batches) - items
        joined[name] = whole[:items] if 0 < surplus < len(batches[0]) else whole
    return joined


class Solver(_caffe.Solver):
    """Trains the net of a solver's prototxt file, with the update rule that the file names."""

    #: The update rule; empty: the file's.
    _type = ""

    def __init__(self, solver_file: Any) -> None:
        if isinstance(solver_file, _caffe.Solver):
            super().__init__(solver_file)
        else:
            super().__init__(solver_file, self._type)
        self._nets: Optional[List[Net]] = None
        self._callbacks: List[Any] = []

    def add_callback(self, *callbacks: Any, **named: Any) -> None:
        """add_callback(on_start, on_gradients_ready) calls on_start() before each iteration's
        forward pass, and on_gradients_ready() when its gradients are there and the weights still to
        be changed; add_callback(nccl) averages the gradients over processes."""
        super().add_callback(
            *[_callbacks.weakly(each, self._callbacks) for each in callbacks],
            **{name: _callbacks.weakly(each, self._callbacks) for name, each in named.items()})

    def _all_nets(self) -> List[Net]:
        if self._nets is None:
            self._nets = [Net(net) for net in [self._net] + self._test_nets]
        return self._nets

    @property
    def net(self) -> Net:
        """The net that is trained."""
        return self._all_nets()[0]

    @property
    def test_nets(self) -> List[Net]:
        """The nets that tests run, which use the trained net's weights then."""
        return _vectors.NetVec(self._all_nets()[1:])


class SGDSolver(Solver):
    """Stochastic gradient descent with momentum."""

    _type = "SGD"


class NesterovSolver(Solver):
    """Nesterov's accelerated gradient."""

    _type = "Nesterov"


class SAGSolver(Solver):
    """NVCaffe's average of gradients."""

    _type = "SAG"


class AdaGradSolver(Solver):
    """AdaGrad (Duchi, Hazan and Singer 2011)."""

    _type = "AdaGrad"


class RMSPropSolver(Solver):
    """RMSProp (Tieleman and Hinton 2012)."""

    _type = "RMSProp"


class AdaDeltaSolver(Solver):
    """AdaDelta (Zeiler 2012)."""

    _type = "AdaDelta"


class AdamSolver(Solver):
    """Adam (Kingma and Ba 2015)."""

    _type = "Adam"


_SOLVERS = {solver._type: solver for solver in (
    SGDSolver, NesterovSolver, SAGSolver, AdaGradSolver, RMSPropSolver, AdaDeltaSolver,
    AdamSolver)}


def get_solver(solver_file: Any) -> Solver:
    """The solver that a prototxt file describes, of the class for its type."""
    solver = _caffe.Solver(solver_file, "")
    return _SOLVERS.get(solver.type, Solver)(solver)


# Names that scripts take from here, or from the compiled module, as they lay in pycaffe 1.0.

_Net_blobs = Net.blobs
_Net_blob_loss_weights = Net.blob_loss_weights
_Net_layer_dict = Net.layer_dict
_Net_params = Net.params
_Net_inputs = Net.inputs
_Net_outputs = Net.outputs
_Net_forward = Net.forward
_Net_backward = Net.backward
_Net_forward_all = Net.forward_all
_Net_forward_backward_all = Net.forward_backward_all
_Net_set_input_arrays = Net.set_input_arrays
_Net_batch = Net._batch


def _Net_get_id_name(func: Any, field: str) -> property:
    """A property of nets: names of blobs by the layer's name, from a function of the layer's index
    such as ``Net._top_ids``. ``field`` is where each net keeps them."""
    return property(lambda net: net._once(field, lambda: net._names_of(
        lambda layer: func(net, layer))))


for _class in (*_SOLVERS.values(), _vectors.BoolVec, _vectors.DtypeVec, _vectors.IntVec,
               _vectors.LayerVec, _vectors.NetVec, _vectors.RawBlobVec, _vectors.StringVec):
    setattr(_caffe, _class.__name__, _class)
_caffe.get_solver = get_solver
