"""Random nets from given ones: cuts, crossovers, and changes that know the messages' fields.

What message_mutator.cpp does for libFuzzer, for writers that are Python.
"""
from __future__ import annotations

import math
import random
from typing import Any, Dict, List, Sequence

MAX_LAYERS = 24
_NUMBERS = (0, -1, 1, 255, 256, 32768, 65536, 46341, 2**31 - 1, -2**31, 2**32 - 1, 2**63 - 1, -2**63)
_REALS = (0.0, -1.0, 0.5, 1.0, 1e-30, 1e30, -1e30, math.inf, -math.inf, math.nan)
_TEXTS = ("", "a\nb", "a/b", "\u00e9", "'", "x" * 300, "batch", "constant", "L1")


def parameters_of(layer: Any) -> Any:
    """The message with the layer's own settings, as convolution_param of Convolution; else the
    layer itself."""
    wanted = layer.type.lower() + "param"
    for field in layer.DESCRIPTOR.fields:
        if field.name.replace("_", "") == wanted and not _is_repeated(field):
            return getattr(layer, field.name)
    return layer


def _is_repeated(field: Any) -> bool:
    # What new versions of protobuf have instead of `label`, which they will leave out.
    known = getattr(type(field), "is_repeated", None)
    return bool(field.is_repeated) if known is not None else field.label == field.LABEL_REPEATED


class NetMutator:
    """Draws nets from `seeds`; the same numbers from `draw` give the same nets."""

    def __init__(self, draw: random.Random, seeds: Sequence[Any], types: Sequence[str]) -> None:
        self._draw = draw
        self._seeds = list(seeds)
        self._types = sorted(types)
        self._by_type: Dict[str, List[Any]] = {}
        for seed in self._seeds:
            for layer in seed.layer:
                self._by_type.setdefault(layer.type, []).append((seed, layer))

    def fresh(self) -> Any:
        """Some layers of a seed with what they are computed from."""
        if self._by_type and self._draw.randrange(4):
            # Layer types are equally likely, however many layers of one type the seeds have.
            name = self._draw.choice(sorted(self._by_type))
            seed, layer = self._draw.choice(self._by_type[name])
            return self._cut(seed, list(seed.layer).index(layer))
        seed = self._draw.choice(self._seeds)
        if not seed.layer or len(seed.layer) <= 4 and self._draw.randrange(2):
            return self._copy(seed)
        return self._cut(seed, self._draw.randrange(len(seed.layer)))

    def mutate(self, net: Any) -> None:
        """One change, in place."""
        choice = self._draw.randrange(16)
        if choice == 0:
            self._cross(net)
        elif choice == 1:
            self._rewire(net)
        else:
            self._change_field(net)
        while len(net.layer) > MAX_LAYERS:
            del net.layer[self._draw.randrange(len(net.layer))]

    # Layers.

    @staticmethod
    def _copy(message: Any) -> Any:
        return type(message).FromString(message.SerializePartialToString())

    def _cut(self, seed: Any, last: int) -> Any:
        """Layer number `last` and those below it, the nearest ones if they are many."""
        needed = set(seed.layer[last].bottom)
        kept = [seed.layer[last]]
        for layer in reversed(seed.layer[:last]):
            if len(kept) >= MAX_LAYERS // 2:
                break
            if needed & set(layer.top):
                kept.append(layer)
                needed |= set(layer.bottom)
        net = type(seed)()
        net.CopyFrom(seed)
        net.ClearField("layer")
        for layer in reversed(kept):
            net.layer.add().CopyFrom(layer)
        return net

    def _cross(self, net: Any) -> None:
        """Layers of another net, at the end or anywhere."""
        other = self.fresh()
        at = self._draw.choice((len(net.layer), self._draw.randrange(len(net.layer) + 1)))
        layers = [self._copy(layer) for layer in net.layer]
        layers[at:at] = [self._copy(layer) for layer in other.layer]
        net.ClearField("layer")
        net.layer.extend(layers)

    def _rewire(self, net: Any) -> None:
        """A layer reads another blob that there is."""
        tops = sorted({top for layer in net.layer for top in layer.top})
        readers = [layer for layer in net.layer if layer.bottom]
        if tops and readers:
            reader = self._draw.choice(readers)
            reader.bottom[self._draw.randrange(len(reader.bottom))] = self._draw.choice(tops)

    # Fields.

    def _change_field(self, net: Any) -> None:
        messages: List[Any] = []
        strings: List[str] = []
        self._collect(net, messages, strings)
        message = self._draw.choice(messages)
        if message.DESCRIPTOR.name == "LayerParameter" and self._draw.randrange(4):
            message = parameters_of(message)
        field = self._field_of(message)
        if field is None:
            return
        if _is_repeated(field):
            self._change_list(message, field, strings)
        elif message.HasField(field.name) and self._draw.randrange(4) == 0:
            message.ClearField(field.name)
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, self._value(field, strings))

    def _collect(self, message: Any, messages: List[Any], strings: List[str]) -> None:
        messages.append(message)
        for field, value in message.ListFields():
            for element in value if _is_repeated(field) else [value]:
                if field.message_type is not None:
                    self._collect(element, messages, strings)
                elif isinstance(element, str):
                    strings.append(element)

    def _field_of(self, message: Any) -> Any:
        """Mostly one that is set."""
        given = message.ListFields()
        if given and self._draw.randrange(4):
            return self._draw.choice(given)[0]
        fields = message.DESCRIPTOR.fields
        return self._draw.choice(fields) if fields else None

    def _change_list(self, message: Any, field: Any, strings: List[str]) -> None:
        elements = getattr(message, field.name)
        size = len(elements)
        choice = self._draw.randrange(4) if size else 0
        if choice == 0:
            if field.message_type is None:
                elements.append(self._value(field, strings))
            else:
                element = self._copy(self._draw.choice(elements)) if size else None
                added = elements.add()
                if element is not None:
                    added.CopyFrom(element)
        elif choice == 1:
            del elements[self._draw.randrange(size)]
        elif choice == 2:
            i, j = self._draw.randrange(size), self._draw.randrange(size)
            swapped = [self._copy(e) if field.message_type else e for e in elements]
            swapped[i], swapped[j] = swapped[j], swapped[i]
            del elements[:]
            elements.extend(swapped)
        elif field.message_type is None:
            elements[self._draw.randrange(size)] = self._value(field, strings)
        else:
            elements[self._draw.randrange(size)].Clear()

    def _value(self, field: Any, strings: List[str]) -> Any:
        kind = field.cpp_type
        if kind == field.CPPTYPE_BOOL:
            return self._draw.randrange(2) == 1
        if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            # Numbers that a field with an extent or a threshold may have, and strange ones.
            return self._draw.choice(_REALS) if self._draw.randrange(2) else self._draw.uniform(-2, 9)
        if kind == field.CPPTYPE_ENUM:
            return self._draw.choice(field.enum_type.values).number
        if kind == field.CPPTYPE_STRING:
            return self._text(field, strings)
        return self._integer(field)

    def _integer(self, field: Any) -> int:
        least, most = {
            field.CPPTYPE_INT32: (-2**31, 2**31 - 1), field.CPPTYPE_UINT32: (0, 2**32 - 1),
            field.CPPTYPE_INT64: (-2**63, 2**63 - 1), field.CPPTYPE_UINT64: (0, 2**64 - 1)
        }[field.cpp_type]
        number = self._draw.choice(_NUMBERS) if self._draw.randrange(3) == 0 else (
            self._draw.randrange(-2, 10))
        return min(max(number, least), most)

    def _text(self, field: Any, strings: List[str]) -> Any:
        """Types of layers go to fields of that name, strings of the net to others."""
        if field.type == field.TYPE_BYTES:
            return self._draw.choice((b"", b"\x00\xff"))
        if (field.name == "type") != (self._draw.randrange(16) == 0):
            return self._draw.choice(self._types)
        if not strings or self._draw.randrange(8) == 0:
            return self._draw.choice(_TEXTS)
        return self._draw.choice(strings)
