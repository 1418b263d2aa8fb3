"""Nets written as Python expressions, and turned into ``NetParameter`` messages.

    from caffe import layers as L, params as P, NetSpec

    n = NetSpec()
    n.data, n.label = L.Data(source='train_lmdb', backend=P.Data.LMDB, batch_size=64, ntop=2)
    n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=20, weight_filler=dict(type='xavier'))
    n.relu1 = L.ReLU(n.conv1, in_place=True)
    n.score = L.InnerProduct(n.relu1, num_output=10, weight_filler=dict(type='xavier'))
    n.loss = L.SoftmaxWithLoss(n.score, n.label)
    print(n.to_proto())

``L.TYPE(bottoms..., fields...)`` is one layer of that type; its value is its top, or a tuple of
tops. Fields go where the schema has them: into the layer type's own message
(``ConvolutionParameter`` for ``L.Convolution``) or else into the layer itself (``loss_weight``,
``include``, ``param``, ``transform_param``, ...). Three keywords are not fields: ``ntop``, the
number of tops (default 1); ``in_place=True``, which gives the tops the bottoms' names; both are of
:class:`Function`.
"""
from __future__ import annotations

import difflib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Union

import numpy as np
from google.protobuf.message import Message

from .proto import caffe_pb2

_PARAM = "_param"
_PARAMETER = "Parameter"


def param_name_dict() -> dict[str, str]:
    """Layer types and the names of their own fields, without ``_param``: 'Pooling': 'pooling'."""
    return {field.message_type.name[:-len(_PARAMETER)]: field.name[:-len(_PARAM)]
            for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields
            if field.name.endswith(_PARAM) and field.message_type is not None}


_param_names = param_name_dict()


def _plain(value: Any) -> Any:
    """Numpy's scalars and arrays, and tuples, as Python's numbers and lists."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _is_repeated(field: Any) -> bool:
    # Newer protobufs have only is_repeated, older ones only label.
    known = getattr(field, "is_repeated", None)
    return bool(known) if known is not None else field.label == field.LABEL_REPEATED


def _scalar(field: Any, value: Any) -> Any:
    """A value as the field takes it: the number of an enumerator given by name, and whole floats as
    integers, as Python 3's ``/`` makes them of what were integers in Python 2."""
    value = _plain(value)
    if field.enum_type is not None and isinstance(value, str):
        if value not in field.enum_type.values_by_name:
            raise ValueError(f"{field.containing_type.name}.{field.name} is one of "
                             f"{', '.join(field.enum_type.values_by_name)}, not '{value}'")
        return field.enum_type.values_by_name[value].number
    is_real = field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE)
    if isinstance(value, float) and value.is_integer() and not is_real:
        return int(value)
    return value


def _fill(message: Message, value: Any) -> None:
    if isinstance(value, Message):
        message.CopyFrom(value)
        return
    if not isinstance(value, dict):
        raise TypeError(f"a {message.DESCRIPTOR.name} is given as a dict of its fields, not as "
                        f"{value!r}")
    for name, item in value.items():
        assign_proto(message, name, item)


def assign_proto(proto: Message, name: str, val: Any) -> None:
    """Sets the field ``name`` of a message from plain Python values.

    A message is a dict; a repeated field is a list, and one value stands for a list of it;
    an enumerator is its number or its name. Raises AttributeError when the message has no such
    field, TypeError or ValueError when the value does not fit it.
    """
    field = proto.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise AttributeError(f"{proto.DESCRIPTOR.name} has no field '{name}'"
                             + _suggestion(name, [proto.DESCRIPTOR]))
    val = _plain(val)
    if not _is_repeated(field):
        if field.message_type is not None:
            _fill(getattr(proto, name), val)
        else:
            _set_checked(proto, field, lambda: setattr(proto, name, _scalar(field, val)), val)
        return
    values = val if isinstance(val, list) else [val]
    target = getattr(proto, name)
    if field.message_type is not None:
        for item in values:
            _fill(target.add(), item)
    else:
        _set_checked(proto, field,
                     lambda: target.extend([_scalar(field, item) for item in values]), val)


def _set_checked(proto: Message, field: Any, assign: Any, value: Any) -> None:
    """Protobuf's own messages do not say which field was wrong."""
    try:
        assign()
    except TypeError as error:
        raise TypeError(f"{proto.DESCRIPTOR.name}.{field.name} = {value!r}: {error}") from None


def _suggestion(name: str, descriptors: Iterable[Any]) -> str:
    known = [field for descriptor in descriptors for field in descriptor.fields_by_name]
    near = difflib.get_close_matches(name, known, n=2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


class Top:
    """One output of a layer: what other layers take as their input.

    ``fn`` is the :class:`Function` and ``n`` the number of the output, from 0.
    """

    def __init__(self, fn: Function, n: int) -> None:
        self.fn = fn
        self.n = n

    def to_proto(self) -> Message:
        """The net that computes this top, with automatic names."""
        return to_proto(self)

    def _update(self, params: dict[str, Any]) -> None:
        self.fn._update(params)


class Function:
    """One layer: its type, its input :class:`Top` objects and its fields.

    ``params`` are the fields and two more: ``ntop``, the number of outputs (0 for layers such as
    Silence; default 1), and ``in_place``, true for a layer that overwrites its inputs.
    """

    def __init__(self, type_name: str, inputs: Iterable[Top], params: dict[str, Any]) -> None:
        self.type_name = type_name
        self.inputs = tuple(inputs)
        for index, bottom in enumerate(self.inputs):
            if not isinstance(bottom, Top):
                raise TypeError(f"{type_name} input {index} is not a Top (type is {type(bottom)})")
        self.params = dict(params)
        self.ntop = self.params.pop("ntop", 1)
        self.in_place = self.params.pop("in_place", False)
        self.tops = tuple(Top(self, n) for n in range(self.ntop))

    def _update(self, params: dict[str, Any]) -> None:
        self.params.update(params)


class _Writer:
    """Writes layers after the layers they read, and gives names to what has none."""

    def __init__(self, names: dict[Any, str]) -> None:
        self.layers: OrderedDict[Function, Any] = OrderedDict()
        self.names = dict(names)
        self.taken = set(names.values())
        self.counts: Counter[str] = Counter()

    def write(self, fn: Function) -> None:
        """Adds ``fn`` and all it depends on. No recursion: nets are deeper than Python's stack."""
        waiting: list[tuple[Function, Iterator[Top]]] = [(fn, iter(fn.inputs))]
        while waiting:
            current, bottoms = waiting[-1]
            following = next((b.fn for b in bottoms if b.fn not in self.layers), None)
            if following is not None:
                waiting.append((following, iter(following.inputs)))
                continue
            waiting.pop()
            if current not in self.layers:
                self.layers[current] = self._layer(current)

    def net(self) -> Message:
        net = caffe_pb2.NetParameter()
        net.layer.extend(self.layers.values())
        return net

    def _name(self, owner: Top | Function, type_name: str) -> str:
        if owner not in self.names:
            while True:
                self.counts[type_name] += 1
                name = f"{type_name}{self.counts[type_name]}"
                if name not in self.taken:
                    break
            self.names[owner] = name
        return self.names[owner]

    def _layer(self, fn: Function) -> Message:
        layer = caffe_pb2.LayerParameter(type=fn.type_name)
        layer.bottom.extend(self.layers[b.fn].top[b.n] for b in fn.inputs)
        if fn.in_place:
            layer.top.extend(layer.bottom)
        else:
            layer.top.extend(self._name(top, fn.type_name) for top in fn.tops)
        # A layer is called like its first top, or, without tops, as in `n.quiet = L.Silence(...)`.
        owner = fn.tops[0] if fn.tops and fn not in self.names else fn
        layer.name = self._name(owner, fn.type_name)
        for name, value in fn.params.items():
            _assign_field(layer, name, value)
        return layer


def _assign_field(layer: Message, name: str, value: Any) -> None:
    """Sets a field in the layer type's own message, or else in the layer."""
    places = [layer.DESCRIPTOR]
    own = _param_names.get(layer.type)
    # Names such as transform_param are the layer's, even where its own message has one like it.
    if own is not None and not name.endswith("param"):
        places.insert(0, layer.DESCRIPTOR.fields_by_name[own + _PARAM].message_type)
    try:
        place = next((p for p in places if name in p.fields_by_name), None)
        if place is None:
            raise AttributeError(_unknown_field(layer, name, places))
        target = layer if place is layer.DESCRIPTOR else getattr(layer, own + _PARAM)
        assign_proto(target, name, value)
    except (AttributeError, TypeError, ValueError) as error:
        raise type(error)(f"layer '{layer.name}' ({layer.type}): {error}") from None


def _unknown_field(layer: Message, name: str, places: list[Any]) -> str:
    if layer.type not in _param_names:
        return (f"LayerParameter has no field '{name}', and {layer.type} has no message of its "
                f"own: name the message too, as in convolution_param=dict({name}=...)")
    known = " nor ".join(place.name for place in places)
    return f"no field '{name}' in {known}" + _suggestion(name, places)


def to_proto(*tops: Top) -> Message:
    """The ``NetParameter`` of all layers that the given tops need, with automatic names.

    Names are the layer's type and a number: Data1, Data2, Convolution1, ...
    """
    writer = _Writer({})
    for top in tops:
        writer.write(top.fn)
    return writer.net()


class NetSpec:
    """A net whose tops have names: its attributes.

    ``n.conv1 = L.Convolution(...)`` names a top and, for first tops, its layer; ``n['a/b'] = ...``
    takes names that are not identifiers. Layers are written in the order of these assignments, each
    after those it reads; what was never assigned gets an automatic name. A layer without tops can
    be assigned too, which puts it into the net: ``n.quiet = L.Silence(n.label, ntop=0)``.
    """

    def __init__(self) -> None:
        super().__setattr__("tops", OrderedDict())

    def __setattr__(self, name: str, value: Union[Top, Function]) -> None:
        if not isinstance(value, (Top, Function)):
            raise TypeError(f"'{name}' is set to {value!r}, which is not a layer's top"
                            + ("; the layer has as many tops as its ntop says"
                               if isinstance(value, tuple) else ""))
        self.tops[name] = value

    def __getattr__(self, name: str) -> Union[Top, Function]:
        # Python's protocols (copy, pickle) ask for names that no net has, some before __init__.
        if name.startswith("__") or name == "tops":
            raise AttributeError(name)
        try:
            return self.tops[name]
        except KeyError:
            raise AttributeError(f"the net has no top '{name}'") from None

    def __setitem__(self, name: str, value: Union[Top, Function]) -> None:
        self.__setattr__(name, value)

    def __getitem__(self, name: str) -> Union[Top, Function]:
        return self.tops[name]

    def __delattr__(self, name: str) -> None:
        try:
            del self.tops[name]
        except KeyError:
            raise AttributeError(f"the net has no top '{name}'") from None

    def __delitem__(self, name: str) -> None:
        del self.tops[name]

    def __contains__(self, name: str) -> bool:
        return name in self.tops

    def keys(self) -> list[str]:
        """The names, in the order of their assignment."""
        return list(self.tops)

    def vals(self) -> list[Union[Top, Function]]:
        """The tops, in the order of :meth:`keys`."""
        return list(self.tops.values())

    def update(self, name: str, params: dict[str, Any]) -> None:
        """Sets or replaces fields of the layer that makes the top ``name``."""
        self.tops[name]._update(params)

    def to_proto(self, verbose: bool = False) -> Message:
        """The net as a ``NetParameter``. ``verbose`` is accepted for NVCaffe's scripts, without
        effect."""
        writer = _Writer({top: name for name, top in self.tops.items()})
        for top in self.tops.values():
            writer.write(top.fn if isinstance(top, Top) else top)
        return writer.net()


class Layers:
    """``layers.TYPE(*bottoms, **fields)`` makes a layer of any type, see the module's text.

    The value is the top; a tuple of them for ``ntop`` above 1; the :class:`Function` for
    ``ntop=0``.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def layer(*inputs: Top, **fields: Any) -> Any:
            fn = Function(name, inputs, fields)
            if fn.ntop == 0:
                return fn
            return fn.tops[0] if fn.ntop == 1 else fn.tops

        return layer


class Parameters:
    """``params.TYPE.NAME`` is the enumerator NAME of the message TYPEParameter:
    params.Pooling.MAX."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(caffe_pb2, name + _PARAMETER)
        except AttributeError:
            raise AttributeError(f"there is no message {name}{_PARAMETER}") from None


layers = Layers()
params = Parameters()
