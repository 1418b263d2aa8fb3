"""``caffe.Net`` and the solvers, on top of the compiled module."""
from collections import OrderedDict

from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

import numpy as np

from . import _caffe
from ._caffe import (TEST, TRAIN, Blob, Error, LayerBase, LayerParameter, create_layer,  # noqa: F401
                     set_mode_cpu, set_mode_gpu, __version__)


class Net(_caffe.Net):
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
        old_form = bool(args) and not isinstance(args[0], (int, np.integer))
        names = ["weights", "phase"] if old_form else ["phase", "level", "stages", "weights"]
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
            raise TypeError("Net needs a phase: Net(network_file, caffe.TEST) or "
                            "Net(network_file, weights, caffe.TEST)")
        return given

    # Of what does not change one object is made, so that names can be looked up quickly and what
    # people attach to it stays.

    def _once(self, name: str, make: Any) -> Any:
        try:
            return self.__dict__[name]
        except KeyError:
            return self.__dict__.setdefault(name, make())

    @property
    def blobs(self) -> "OrderedDict[str, Blob]":
        """The blobs by name, in the order in which they are made."""
        return self._once("_blobs_dict",
                          lambda: OrderedDict(zip(self._blob_names, self._blobs)))

    @property
    def blob_loss_weights(self) -> "OrderedDict[str, float]":
        """What each blob counts in the loss; 0 for those that are no losses."""
        return self._once("_blob_loss_weights_dict",
                          lambda: OrderedDict(zip(self._blob_names, self._blob_loss_weights)))

    @property
    def layers(self) -> List[LayerBase]:
        """The layers in the order in which they run; Python layers are the user's own objects."""
        return self._once("_layers_list", lambda: self._layers)

    @property
    def layer_dict(self) -> "OrderedDict[str, LayerBase]":
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
        blobs = self._blob_names
        return OrderedDict((name, [blobs[blob] for blob in ids(layer)])
                           for layer, name in enumerate(self._layer_names))

    def _layer_index(self, name: str) -> int:
        indices = self._once("_layer_indices", lambda: {
            layer: index for index, layer in enumerate(self._layer_names)})
        if name not in indices:
            raise ValueError(f"the net has no layer '{name}'; its layers: {', '.join(indices)}")
        return indices[name]

    def _fill(self, name: str, values: Any, gradient: bool = False) -> None:
        """Writes values into a blob, in the blob's shape."""
        blob = self.blobs[name]
        what = f"{'the gradient of ' if gradient else ''}blob '{name}'"
        target = blob.diff if gradient else blob.data
        values = np.asarray(values)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"{what} takes float32, or numbers that convert to it, not "
                            f"{values.dtype}")
        if values.ndim == 0 and target.ndim > 0 or (
                target.ndim > 0 and values.shape[0] != target.shape[0]):
            raise ValueError(f"{what} has shape {target.shape}, the values {values.shape}: "
                             "the batch sizes differ (Blob.reshape changes the blob's)")
        try:
            target[...] = values
        except ValueError:
            raise ValueError(f"{what} has shape {target.shape}, the values {values.shape} "
                             "(Blob.reshape changes the blob's)") from None

    def forward(self, blobs: Optional[Iterable[str]] = None, start: Optional[str] = None,
                end: Optional[str] = None, **inputs: Any) -> Dict[str, np.ndarray]:
        """Runs the net, or its layers ``start`` to ``end`` (names, both included).

        ``inputs`` are values for input blobs, by name: all of them or none. Returns the output blobs
        (with ``end``, what that layer makes) and those named in ``blobs``, as views: the next pass
        overwrites them.
        """
        start_index = 0 if start is None else self._layer_index(start)
        if end is None:
            end_index, names = len(self._layer_names) - 1, list(self.outputs)
        else:
            end_index, names = self._layer_index(end), list(self.top_names[end])
        if blobs is not None:
            names += [name for name in blobs if name not in names]
        if inputs:
            if set(inputs) != set(self.inputs):
                raise ValueError(f"the net's inputs are {self.inputs}, values were given for "
                                 f"{sorted(inputs)}")
            for name, values in inputs.items():
                self._fill(name, values)
        self._forward(start_index, end_index)
        return {name: self.blobs[name].data for name in names}
