"""Engines: trained nets, optimized for inference.

    from caffe import inference

    net = inference.NetworkDefinition.from_caffe('deploy.prototxt', 'net.caffemodel')
    engine = inference.Builder(precision='fp16', max_batch=8).build(net)
    engine.save('net.plan')

    engine = inference.Engine.load('net.plan')      # one for all threads
    context = inference.ExecutionContext(engine)    # one per thread
    context.set_batch(2)
    probabilities = context.run(data=images)['prob']

docs/optimizer.md says what the builder does.
"""
from __future__ import annotations

import concurrent.futures
import enum
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _caffe, _images
from ._caffe import (  # noqa: F401
    BlobCalibration, CalibrationTable, Engine, ImagePreprocessing, LayerInfo, LayerParameter,
    ShapeProfile, TimingCache)
from ._gpu_places import Place, handle_of
from ._quantized_graph import Integers, QuantizedGraph, QuantizedNode, QuantizedValue
from .net_spec import Function, NetSpec, Top
from .proto import caffe_pb2

Path = Union[str, bytes, "os.PathLike[str]"]


class Precision(str, enum.Enum):
    """The type in which layers with weights compute, and blobs between them lie.

    Functions that take one take its name too: ``'fp16'``.
    """

    FP32 = "fp32"
    FP16 = "fp16"  #: FP16 values, sums in float
    BF16 = "bf16"  #: the upper half of a float, sums in float
    INT8 = "int8"  #: 8-bit integers, 32-bit sums; needs calibration
    BEST = "best"  #: for each layer the fastest, as far as the accuracy allows


def _message_of(layer: Any) -> Any:
    """A layer as a caffe_pb2.LayerParameter of the caller's own."""
    message = caffe_pb2.LayerParameter()
    if isinstance(layer, Top):
        layer = layer.fn
    if isinstance(layer, Function):
        if layer.inputs:
            raise ValueError(f"a {layer.type_name} layer with bottoms of its own belongs to a "
                             "NetSpec: give all of it to add_layers, or say bottom='name'")
        spec = NetSpec()
        spec["layer"] = layer
        message.CopyFrom(spec.to_proto().layer[0])
        message.ClearField("top")  # a name that the NetSpec made up
        return message
    if isinstance(layer, str):
        inner = re.fullmatch(r"\s*layer\s*:?\s*\{(.*)\}\s*", layer, re.DOTALL)
        layer = LayerParameter(inner.group(1) if inner else layer)
    if isinstance(layer, LayerParameter):
        layer = layer.to_message()
    message.CopyFrom(layer)
    return message


def _names(given: Union[str, Iterable[str]]) -> List[str]:
    return [given] if isinstance(given, str) else list(given)


class NetworkDefinition(_caffe.NetworkDefinition):
    """A net to be built: read from Caffe's files, or put together layer by layer.

        net = NetworkDefinition('small')
        net.add_input('data', (8, 3, 32, 32))
        net.add_layer(L.Convolution(num_output=16, kernel_size=3), name='conv', bottom='data',
                      parameters=[weights, bias])      # (16, 3, 3, 3) and (16,)
        net.add_layer('type: "ReLU"', name='relu', bottom='conv')
        net.mark_output('relu')
    """

    def __init__(self, name: Union[str, _caffe.NetworkDefinition] = "") -> None:
        super().__init__(name)

    @classmethod
    def from_caffe(cls, model: Any, weights: Union[Path, Sequence[Path]] = ()
                   ) -> NetworkDefinition:
        """A net of Caffe's of any age, in the TEST phase.

        ``model`` is a prototxt file, a ``caffe_pb2.NetParameter`` or a ``NetSpec``; ``weights`` a
        file (.caffemodel or HDF5) or several, on top of what the net's fillers make. Layers that
        read data become inputs. Raises :class:`caffe.Error` with file, layer and field.
        """
        files = [weights] if isinstance(weights, (str, bytes, os.PathLike)) else list(weights)
        if isinstance(model, NetSpec):
            model = model.to_proto()
        if hasattr(model, "SerializeToString"):
            return cls(_caffe.NetworkDefinition._from_message(model.SerializeToString(), files))
        return cls(_caffe.NetworkDefinition._from_caffe(model, files))

    def add_layer(self, layer: Any, parameters: Sequence[Any] = (), *, name: Optional[str] = None,
                  bottom: Union[str, Iterable[str], None] = None,
                  top: Union[str, Iterable[str], None] = None) -> None:
        """Appends a layer.

        ``layer`` is prototxt text (``'type: "ReLU" ...'``, with or without ``layer { }`` around
        it), a ``caffe_pb2.LayerParameter``, a ``caffe.LayerParameter``, or a NetSpec layer without
        bottoms (``L.Convolution(num_output=16, kernel_size=3)``). ``name``, ``bottom`` and ``top``
        replace what it says; a layer without tops gets one that is called like it.

        Bottoms are named before. A top named as a bottom is a new blob, which the name means from
        here on. ``parameters`` are the layer's blobs, arrays that convert to float32; without any
        those in ``layer``, else what its fillers make. Raises :class:`caffe.Error` with the layer.
        """
        message = _message_of(layer)
        if name is not None:
            message.name = name
        for field_name, given in (("bottom", bottom), ("top", top)):
            if given is not None:
                message.ClearField(field_name)
                getattr(message, field_name).extend(_names(given))
        if not message.top and message.type != "Silence":
            message.top.append(message.name)
        self._add_layer(LayerParameter(message), list(parameters))

    def add_layers(self, net: Any, parameters: Optional[Mapping[str, Sequence[Any]]] = None
                   ) -> None:
        """Appends the layers of a ``NetSpec`` or ``caffe_pb2.NetParameter``.

        Tops of its Input layers become inputs. ``parameters`` are the blobs of layers, by name.
        """
        given = dict(parameters or {})
        for layer in (net.to_proto() if isinstance(net, NetSpec) else net).layer:
            if layer.type == "Input":
                shapes = list(layer.input_param.shape)
                for index, top in enumerate(layer.top):
                    shape = shapes[index if len(shapes) > 1 else 0]
                    self.add_input(top, [int(extent) for extent in shape.dim])
            else:
                self._add_layer(LayerParameter(layer), list(given.pop(layer.name, ())))
        if given:
            raise ValueError(f"parameters are given for {sorted(given)}, which are not layers")

    @property
    def layer_precisions(self) -> Dict[str, Precision]:
        """What set_precision said, by layer."""
        return {layer: Precision(name) for layer, name in self._layer_precisions.items()}

    def to_proto(self) -> Any:
        """The net as a ``caffe_pb2.NetParameter``, with the parameters as blobs."""
        message = caffe_pb2.NetParameter()
        message.ParseFromString(self._to_message())
        return message


class Calibrator:
    """The source of data for INT8 calibration; derive your own class from this one.

        class Cameras(Calibrator):
            method = 'auto'                # or 'entropy', 'minmax', 'percentile', 'mse'

            def get_batch(self, inputs):
                return {'data': next_images()}    # None: there are no more

    Any object with ``get_batch`` will do; the rest may be missing.
    """

    #: How thresholds are chosen: docs/calibration.md describes the methods. 'auto' takes the one
    #: of the others that changes the net's outputs least on a part of the images.
    method = "auto"
    #: The share of values, in percent, that ``'percentile'`` keeps.
    percent = 99.99

    def get_batch(self, inputs: Dict[str, Tuple[int, ...]]) -> Any:
        """The next batch: a dict of arrays by the names of inputs, or an array where the net has
        one input; None when there are no more.

        ``inputs`` has the net's inputs with their shapes; a batch may have another number of items.
        """
        raise NotImplementedError(f"{type(self).__name__} has no get_batch")

    def read_calibration_cache(self) -> Optional[str]:
        """An earlier result, which is taken instead of running the net if it is for this net and
        these weights; None if there is none."""
        return None

    def write_calibration_cache(self, cache: str) -> None:
        """Is given the result, to keep it."""


class BatchCalibrator(Calibrator):
    """Calibrates with batches that are there: an iterable of what ``get_batch`` may return.

        batches = ({'data': images[i:i + 8]} for i in range(0, 500, 8))
        BatchCalibrator(batches, cache_file='net.table')
    """

    def __init__(self, batches: Iterable[Any], method: str = "auto", percent: float = 99.99,
                 cache_file: Optional[Path] = None) -> None:
        self.method = method
        self.percent = percent
        self._batches = iter(batches)
        self._cache_file = cache_file

    def get_batch(self, inputs: Dict[str, Tuple[int, ...]]) -> Any:
        """The next of the batches."""
        return next(self._batches, None)

    def read_calibration_cache(self) -> Optional[str]:
        """The text of the cache file, if there is one."""
        if self._cache_file is None or not os.path.exists(self._cache_file):
            return None
        with open(self._cache_file, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def write_calibration_cache(self, cache: str) -> None:
        """Writes the cache file; it is replaced at once."""
        if self._cache_file is not None:
            CalibrationTable.parse(cache).write(self._cache_file)


@dataclass
class CalibrationOptions:
    """How calibration goes about it."""

    #: Fewer images than this are refused; 0: fewer than 100 are warned of in the log.
    minimum_images: int = 0
    #: Blobs that stay float.
    leave_out: Iterable[str] = ()
    #: Puts the scales of the weights into the table.
    weight_scales: bool = True
    #: Called after each batch with the number of batches and of images so far.
    progress: Optional[Callable[[int, int], Any]] = None

    def _fields(self) -> Dict[str, Any]:
        return {"minimum_images": self.minimum_images, "leave_out": set(_names(self.leave_out)),
                "weight_scales": self.weight_scales, "calibration_progress": self.progress}


def calibrate(net: NetworkDefinition, calibrator: Any,
              options: Optional[CalibrationOptions] = None) -> CalibrationTable:
    """Runs a net on a calibrator's batches and returns a threshold for each blob that may be
    quantized.

    Raises :class:`caffe.Error` for too few images and for blobs that are constant or not finite.
    """
    return _caffe._calibrate(net, calibrator, (options or CalibrationOptions())._fields())


@dataclass
class BuilderConfig:
    """How an engine is built. Every field is a keyword argument and an attribute."""

    #: The type in which layers compute.
    precision: Union[Precision, str] = Precision.FP32
    #: By layer: another precision than that.
    layer_precisions: Mapping[str, Union[Precision, str]] = field(default_factory=dict)
    #: The largest batch; 0: the batch that the net's inputs have.
    max_batch: int = 0
    #: The largest shapes of inputs, by name, where they shall not be the net's.
    max_input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    #: Ranges of input shapes that the engine runs, instead of max_batch and max_input_shapes: each
    #: profile is tuned by itself and has memory of its own.
    profiles: Sequence[ShapeProfile] = ()
    #: How images become the net's input, for ``run_images`` and ``caffe infer``.
    preprocessing: Optional[ImagePreprocessing] = None
    #: Names of classes, by label.
    class_names: Iterable[str] = ()
    #: For INT8, one of the two: thresholds, or what makes them (see :class:`Calibrator`).
    calibration: Optional[CalibrationTable] = None
    calibrator: Optional[Any] = None
    calibration_options: CalibrationOptions = field(default_factory=CalibrationOptions)
    #: For BEST: ``accuracy_loss(engine)`` judges a candidate; smaller is better, 0 as good as
    #: FLOAT. None: every allowed type may be taken.
    accuracy_loss: Optional[Callable[[Engine], float]] = None
    #: The largest accuracy_loss that is accepted.
    max_accuracy_loss: float = 0.0
    #: Types that BEST chooses from.
    allowed: Sequence[Union[Precision, str]] = ("fp32", "fp16", "bf16", "int8")
    #: 'cpu'; 'cuda': the GPU that ``caffe.set_device`` chose; or 'reference': every layer by
    #: itself, in FLOAT.
    backend: str = "cpu"
    #: For 'int8': how numbers become integers: 'symmetric', 'affine' or 'paper' (Jacob et al.,
    #: arXiv:1712.05877). None: what the net was trained for, else 'symmetric'.
    quantization: Optional[str] = None
    #: For 'int8': what is computed between sums of products: 'float'; 'integer', integers alone but
    #: for layers that they cannot hold; 'integer_only': such a layer is an Error. None: what the
    #: prototxt says, else 'float'.
    arithmetic: Optional[str] = None
    #: Of integers alone: sums are rounded twice ('double'), as published, or once ('single'). None:
    #: what the prototxt says, else 'double'.
    rounding: Optional[str] = None
    #: For INT8 on processors with AVX2 or AVX-512 but without VNNI: no two neighbouring weights of a
    #: convolution have a sum beyond 128 steps, so that bytes can be multiplied.
    reduce_range: bool = False
    #: With 'cuda': products of FLOAT may round their factors to TF32's 10 bits.
    tensor_float: bool = False
    #: On the CPU: with how many threads candidates are timed, those that contexts will have; 0:
    #: ``caffe.threads()``.
    threads: int = 0
    #: Runs of each candidate, of which the fastest counts; 0: no timing.
    timing_iterations: int = 5
    #: Read and added to.
    timing_cache: Optional[TimingCache] = None
    #: Bytes of scratch memory that a layer may need; 0: any.
    max_workspace: int = 0
    #: Bytes of weights, activations and scratch together; 0: any.
    max_memory: int = 0
    #: Names of passes to leave out; :func:`passes` lists them.
    skip_passes: Iterable[str] = ()
    #: ``pass_observer(name, graph)`` sees the graph, as text, before the first pass (whose name is
    #: empty) and after each.
    pass_observer: Optional[Callable[[str, str], Any]] = None
    #: ``progress(done, of, layer)`` is called while candidates are timed.
    progress: Optional[Callable[[int, int, str], Any]] = None
    #: ``remark(line)`` is called for each demand that could not be met, and for each blob that loses half of its
    #: 8 bits by a range that it shares.
    remark: Optional[Callable[[str], Any]] = None

    def _fields(self) -> Dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values.update(values.pop("calibration_options")._fields())
        values["skip_passes"] = _names(self.skip_passes)
        values["class_names"] = _names(self.class_names)
        return values


class Builder:
    """Optimizes nets and builds engines from them: ``Builder(precision='fp16').build(net)``.

    Takes a :class:`BuilderConfig`, or its fields as keyword arguments.
    """

    def __init__(self, config: Optional[BuilderConfig] = None, **config_fields: Any) -> None:
        if config is not None and config_fields:
            raise TypeError("give a BuilderConfig or its fields, not both")
        self.config = config if config is not None else BuilderConfig(**config_fields)

    def build(self, net: NetworkDefinition) -> Engine:
        """Builds an engine. Raises :class:`caffe.Error` naming what is wrong with the net or the
        configuration, and what a function of the configuration raises."""
        return _caffe._build_engine(net, self.config._fields())


def quantized_graph(net: NetworkDefinition, calibration: Optional[CalibrationTable] = None,
                    quantization: Optional[str] = "affine", rounding: str = "double", max_batch: int = 0,
                    **config_fields: Any) -> QuantizedGraph:
    """What an engine computes with integers alone, before kernels are chosen: for export.

    Without a table a net is taken that was trained with ranges, or a ``calibrator`` among the
    further fields of :class:`BuilderConfig`. Raises :class:`caffe.Error` naming what is wrong.
    """
    remarks: List[str] = []
    config = BuilderConfig(precision=Precision.INT8, calibration=calibration,
                           quantization=quantization, arithmetic="integer", rounding=rounding,
                           max_batch=max_batch, remark=remarks.append, **config_fields)
    name, values, nodes, inputs, outputs = _caffe._quantized_graph(net, config._fields())
    return QuantizedGraph(name, [QuantizedValue(*value) for value in values],
                          [_quantized_node(*node) for node in nodes], inputs, outputs, remarks)


def _quantized_node(name: str, type_: str, inputs: List[int], outputs: List[int], layer: bytes,
                    integers: Optional[Tuple[Any, ...]], parameters: List[np.ndarray],
                    epilogue: List[Tuple[bytes, List[np.ndarray]]]) -> QuantizedNode:
    parse = caffe_pb2.LayerParameter.FromString
    return QuantizedNode(name, type_, inputs, outputs, parse(layer),
                         None if integers is None else Integers(*integers), parameters,
                         [(parse(step), of_step) for step, of_step in epilogue])


class ThreadSplit(NamedTuple):
    """How threads are used: contexts that run side by side, and the threads of each."""

    contexts: int
    threads: int


def split_threads(hint: str, threads: int = 0) -> ThreadSplit:
    """How a hint divides this many threads (0: ``caffe.threads()``).

    ``'latency'``: one context, all threads share each of its loops. ``'throughput'``: as many
    contexts as threads, each with one thread.

        split = split_threads('throughput')
        engine = Builder(threads=split.threads).build(net)
        contexts = [ExecutionContext(engine, split.threads) for _ in range(split.contexts)]

    Raises :class:`caffe.Error` for another hint.
    """
    return ThreadSplit(*_caffe._split_threads(hint, threads))


def passes() -> Dict[str, str]:
    """What the optimizer does, in order: names of passes and a line on each."""
    return dict(_caffe._pass_names())


def _image(source: Any) -> Any:
    """A path as it is; an array as bytes, H x W x 1 or H x W x 3 in the order B, G, R."""
    if isinstance(source, (str, bytes, os.PathLike)):
        return source
    values = np.asarray(source)
    if values.ndim == 2:
        values = values[:, :, np.newaxis]
    if values.ndim != 3 or values.shape[2] not in (1, 3) or 0 in values.shape:
        raise ValueError(f"an image has the shape (height, width, 1 or 3), not {values.shape}")
    if values.dtype.kind == "f":
        if not (values.min() >= 0 and values.max() <= 1):
            raise ValueError("an image of floats has values from 0 to 1; from 0 to 255 they are "
                             "uint8")
        values = np.rint(values * 255).astype(np.uint8)
    if values.dtype != np.uint8:
        raise TypeError(f"an image is uint8, or floats from 0 to 1, not {values.dtype}")
    return np.ascontiguousarray(values[:, :, ::-1])


class ExecutionContext(_caffe.ExecutionContext):
    """The state with which one thread runs an engine: activations, a batch, shapes of inputs.

        context = ExecutionContext(engine)
        context.set_batch(2)
        prob = context.run(data=images)['prob']      # (2, 3, 227, 227) -> (2, 1000)

        data = context.input('data')                   # the same without a copy
        data[...] = images
        prob = context.run()['prob']

    Other Python threads run meanwhile. A context that two threads use is used by one after the
    other. Loops of its runs are shared by ``threads`` threads; 0: as many as ``caffe.threads()``
    says when it is made.
    """

    def __init__(self, engine: Engine, threads: int = 0) -> None:
        super().__init__(engine, threads)
        self._lock = threading.RLock()
        self._make_executor()
        #: The engine that it runs.
        self.engine = engine
        #: ``profiler(layer, milliseconds)`` is called after each layer, if it is set.
        self.profiler: Optional[Callable[[str, float], Any]] = None
        #: ``observer(blob, values)`` is called with a copy of each blob that a layer has made,
        #: if it is set.
        self.observer: Optional[Callable[[str, np.ndarray], Any]] = None

    def _make_executor(self) -> None:
        # Its thread starts with the first task.
        self._executor = concurrent.futures.ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="caffe.inference")
        self._process = os.getpid()

    def set_batch(self, batch: int) -> None:
        """Runs ``batch`` items from now on, 1 to ``engine.max_batch``. Contents of inputs are
        lost."""
        with self._lock:
            self._set_batch(batch)

    def set_input_shape(self, name: str, shape: Sequence[int]) -> None:
        """Another shape of an input, with no more elements than it was built for; for an engine
        with profiles, one that a profile has in its range. Contents of inputs are lost. Raises
        :class:`caffe.Error` with the layer that cannot take it, or with the ranges; everything is
        as it was then."""
        self.set_input_shapes({name: shape})

    def set_input_shapes(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """The same for several inputs at once."""
        with self._lock:
            self._set_input_shapes({name: tuple(shape) for name, shape in shapes.items()})

    def set_profile(self, profile: int) -> None:
        """Runs one profile of ``engine.profiles`` only from now on, starting at its largest shapes.
        Without this the first is taken that has the shapes in its range. Contents of inputs are
        lost."""
        with self._lock:
            self._set_profile(profile)

    def input(self, name: str) -> np.ndarray:
        """A writable float32 array on an input's memory, in its present shape.

        What is written stays until it is written again. It may be kept; ask for a new one after
        set_batch, set_input_shape and set_profile. Raises :class:`caffe.Error` listing the inputs for another
        name.
        """
        return np.asarray(self._input_memory(name))

    def run(self, inputs: Optional[Mapping[str, Any]] = None, **named: Any
            ) -> Dict[str, np.ndarray]:
        """Computes the outputs: new float32 arrays by name.

        Values for inputs are given as a dict or by keyword, in the shape that the input has now
        (``input_shape(name)``); an input without keeps what it holds. Raises ValueError for another
        shape, :class:`caffe.Error` with the layer where one fails, and what profiler, observer or a
        Python layer raises.
        """
        with self._lock:
            for name, values in self._given(inputs, named).items():
                self._write(name, values)
            self._run(self.profiler, self.observer)
            return {name: self._output(name) for name in self.engine.outputs}

    def run_images(self, images: Sequence[Any]) -> List[Dict[str, np.ndarray]]:
        """Computes the outputs for images, prepared as ``engine.preprocessing`` says: for each a
        dict of float32 arrays by name, without the axis of the batch; of detections the rows of the
        image, (1, 1, N, 7).

            best = context.run_images(['cat.jpg', pixels])[0]['prob'].argmax()

        An image is a path, or an array: H x W x 3 in the order R, G, B, H x W x 1 or H x W, of
        uint8, or of floats from 0 to 1 as :func:`caffe.io.load_image` gives them. Any number of
        images is run, at most ``engine.max_batch`` at a time; the context's batch is that of the
        last ones.

        Raises :class:`caffe.Error` for an engine that does not know how images are prepared, and
        with a file that is not an image; TypeError or ValueError for an array that is none.
        """
        if isinstance(images, (str, bytes, os.PathLike)):
            raise TypeError(f"run_images takes a list of images: [{images!r}]")
        sources = [_image(image) for image in images]
        results: List[Dict[str, np.ndarray]] = []
        with self._lock:
            most = max(self.engine.max_batch, 1)
            for first in range(0, len(sources), most):
                self._set_images(sources[first:first + most])
                self._run(self.profiler, self.observer)
                results += self._item_outputs()
        return results

    def enqueue(self, inputs: Optional[Mapping[str, Any]] = None, **named: Any
                ) -> concurrent.futures.Future[Dict[str, np.ndarray]]:
        """``run`` on a thread of the context's own, after those enqueued before.

        Arrays are copied now. ``future.result()`` returns what run returns, or raises what it
        raises; ``future.add_done_callback(f)`` calls ``f(future)``.
        """
        given = {name: np.array(values) for name, values in self._given(inputs, named).items()}
        if self._process != os.getpid():  # a forked child, which has no threads of its parent's
            with self._lock:
                if self._process != os.getpid():
                    self._make_executor()
        return self._executor.submit(self.run, given)

    def enqueue_on(self, stream: int, places: Optional[Mapping[str, Any]] = None, **named: Any
                   ) -> None:
        """Puts a run of an engine on a GPU on a CUDA stream, behind what is there, and returns at
        once.

            context.enqueue_on(torch.cuda.current_stream().cuda_stream, data=x, prob=y)

        ``stream`` is the stream's handle (0: CUDA's default stream), of the GPU on which the
        context was made. Every input and output has a place, given in a dict or by keyword: a
        contiguous float32 tensor on that GPU, of the shape that ``input_shape`` or
        ``output_shape`` says, with ``__cuda_array_interface__`` (PyTorch, CuPy, Numba); or the
        address of such memory, an integer, of which only the GPU is checked. Addresses are
        multiples of 16. A stream that the interface names is waited for, on the GPU.

        The caller keeps the tensors, and leaves them alone, until the stream is past the run: the
        context keeps none of them. From the second run in the same places on it is one CUDA graph.

        Raises TypeError or ValueError, naming the binding, for a tensor that does not fit;
        :class:`caffe.Error` for a binding without a place or unknown, for memory that is not that
        GPU's, for an output whose shape depends on the data, for an engine on the CPU, and with the
        layer where one fails.
        """
        with self._lock:
            if not self._computes_on_gpu:
                raise _caffe.Error("enqueue_on: the engine was built for the CPU; one for a GPU is "
                                   "built with backend='cuda'")
            handle = handle_of(stream)
            given = {name: self._place(name, place)
                     for name, place in self._given(places, named).items()}
            producers = {producer for place in given.values() for producer in place.producers}
            self._enqueue_on(handle, sorted(producers),
                             {name: place.address for name, place in given.items()})

    def _place(self, name: str, given: Any) -> Place:
        if name in self.engine.inputs:
            return Place(f"input '{name}'", given, self.input_shape(name), False)
        if name in self.engine.outputs:
            return Place(f"output '{name}'", given, self.output_shape(name), True)
        bindings = ", ".join([*self.engine.inputs, *self.engine.outputs])
        raise _caffe.Error(f"engine '{self.engine.name}' has no input or output '{name}'; it has "
                           f"{bindings}")

    @staticmethod
    def _given(inputs: Optional[Mapping[str, Any]], named: Mapping[str, Any]) -> Dict[str, Any]:
        both = set(inputs or ()) & set(named)
        if both:
            raise TypeError(f"{sorted(both)} given twice, in the dict and by keyword")
        return {**(inputs or {}), **named}

    def _write(self, name: str, given: Any) -> None:
        target = self.input(name)
        values = np.asarray(given)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"input '{name}' takes float32, or numbers that convert to it, not "
                            f"{values.dtype}")
        if values.shape != target.shape:
            raise ValueError(f"input '{name}' has shape {target.shape}, the values have "
                             f"{values.shape}: set_batch or set_input_shape changes it")
        target[...] = values


# --- Drawing results ---


def _item_of(name: str, values: Any, item: int) -> np.ndarray:
    """What belongs to one item of a batch: its detections, or a row of the first axis."""
    array = np.asarray(values, np.float32)
    if array.ndim == 4 and array.shape[:2] == (1, 1) and array.shape[3] == 7:
        return array[:, :, array[0, 0, :, 0] == item]
    if array.ndim == 0 or not 0 <= item < len(array):
        raise ValueError(f"output '{name}' of shape {array.shape} has no item {item}")
    return array[item]


def _pixels_of(image: Any) -> np.ndarray:
    """A file or an array as bytes, (height, width, 3), in the order blue, green, red."""
    pixels = _images.read(image) if isinstance(image, (str, os.PathLike)) else np.asarray(image)
    if pixels.dtype != np.uint8:
        pixels = np.clip(_images.as_unit_floats(pixels) * 255 + 0.5, 0, 255).astype(np.uint8)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if pixels.ndim == 2:
        pixels = np.stack([pixels] * 3, axis=2)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise ValueError(f"an image is (height, width) or (height, width, 3), not {pixels.shape}")
    return np.ascontiguousarray(pixels[:, :, ::-1])


def draw(image: Any, outputs: Mapping[str, Any], names: Union[Path, Sequence[str], None] = None, *,
         item: int = 0, top: int = 5, min_score: float = 0.5, opacity: float = 0.5,
         seen: Optional[Sequence[float]] = None, kinds: Optional[Mapping[str, str]] = None,
         channel_order: str = "BGR") -> np.ndarray:
    """Draws what outputs say onto the image that they are of: uint8, (height, width, 3), RGB.

        outputs = context.run(data=transformer.preprocess('data', image)[None])
        plt.imshow(inference.draw(image, outputs, 'labelmap_voc.prototxt', min_score=0.3))

    ``image`` is the original: a file, or an array (height, width) or (height, width, 3) in RGB, of
    uint8 or of floats from 0 to 1. ``outputs`` is what ``ExecutionContext.run`` or ``Net.forward``
    returned, of which ``item`` is drawn. ``names`` are those of the classes, or a file as
    ``caffe infer -labels`` takes it.

    Scores of classes become a list of the ``top`` best; detections boxes, those with ``min_score``
    or more; score maps (C, H, W) and label maps colours of this ``opacity`` with a legend; other
    maps with 1 or 3 channels are shown as images, whose channels are in the order
    ``channel_order``. ``kinds`` says for an output where that is to be different: 'classes',
    'boxes', 'segmentation', 'image' or 'nothing'. ``seen`` is the part of the image that the net
    saw, (left, top, width, height) in pixels; None: all of it.

    An image whose longer side has less than 200 pixels is enlarged. Raises :class:`caffe.Error` for
    an output that does not fit its kind, where names are missing, where there is nothing to draw,
    and without OpenCV; ValueError for what is not an image or no item.
    """
    if channel_order not in ("BGR", "RGB"):
        raise ValueError(f"channel_order is 'BGR' or 'RGB', not {channel_order!r}")
    if seen is not None and len(seen) != 4:
        raise ValueError(f"seen is (left, top, width, height), not {seen!r}")
    items = {name: _item_of(name, values, item) for name, values in outputs.items()}
    drawn, height, width = _caffe._draw_results(
        _pixels_of(image), items, names, seen, dict(kinds or {}), top, min_score,
        opacity, channel_order == "RGB")
    return np.ascontiguousarray(np.frombuffer(drawn, np.uint8).reshape(height, width, 3)[:, :, ::-1])
