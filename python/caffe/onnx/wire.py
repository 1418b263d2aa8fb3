"""Protocol Buffers' wire format, as far as a file of weights needs it.

Blobs are read straight out of the mapped file: no message object holds a second copy of the
weights, and files above protobuf's limit of 2 GB work.
"""
from __future__ import annotations

from typing import Iterator, List, NamedTuple, Tuple, Union

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """``content`` is a number for VARINT, else the bytes."""
    number: int
    wire_type: int
    content: Union[int, memoryview]


def varint(data: memoryview, at: int) -> Tuple[int, int]:
    """The number at `at` and where it ends. Raises ValueError if it is cut off or too long."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off or too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & 0xffffffffffffffff, at
        shift += 7


def fields(data: memoryview) -> Iterator[Field]:
    """The fields of a message. Raises ValueError where it is damaged."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            content, at = varint(data, at)
            yield Field(number, wire_type, content)
            continue
        if wire_type == BYTES:
            size, at = varint(data, at)
        elif wire_type in (FIXED32, FIXED64):
            size = 4 if wire_type == FIXED32 else 8
        else:
            raise ValueError(f"field {number} has the unknown wire type {wire_type}")
        if number == 0 or size > len(data) - at:
            raise ValueError(f"field {number} claims {size} bytes, {len(data) - at} are left")
        yield Field(number, wire_type, data[at:at + size])
        at += size


def varints(field: Field) -> List[int]:
    """The numbers of a repeated field's piece, packed or not."""
    if field.wire_type == VARINT:
        return [field.content]
    numbers, at = [], 0
    while at < len(field.content):
        number, at = varint(field.content, at)
        numbers.append(number)
    return numbers


def string(field: Field) -> str:
    return bytes(field.content).decode("utf-8", "replace")
