"""Protocol Buffers' encoding, as far as files of weights need it:
https://protobuf.dev/programming-guides/encoding.

Blobs are read straight out of the file: no message object holds a second copy of the weights, and
files above protobuf's limit of 2 GB work.
"""
from __future__ import annotations

from typing import Callable, Iterator, List, NamedTuple, Tuple, Union

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """``content`` is a number for VARINT, else the bytes; ``whole`` has tag and length, too."""
    number: int
    wire_type: int
    content: Union[int, memoryview]
    whole: memoryview


def read_varint(data: memoryview, at: int) -> Tuple[int, int]:
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
        start = at
        key, at = read_varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            content, at = read_varint(data, at)
            size = 0
        elif wire_type == BYTES:
            size, at = read_varint(data, at)
            content = data[at:at + size]
        elif wire_type in (FIXED32, FIXED64):
            size = 4 if wire_type == FIXED32 else 8
            content = data[at:at + size]
        else:
            raise ValueError(f"field {number} has the unknown wire type {wire_type}")
        if number == 0 or size > len(data) - at:
            raise ValueError(f"field {number} claims {size} bytes, {len(data) - at} are left")
        at += size
        yield Field(number, wire_type, content, data[start:at])


def varints(field: Field) -> List[int]:
    """The numbers of a repeated field's piece, packed or not."""
    if field.wire_type == VARINT:
        return [field.content]
    numbers, at = [], 0
    while at < len(field.content):
        number, at = read_varint(field.content, at)
        numbers.append(number)
    return numbers


def string(field: Field) -> str:
    return bytes(field.content).decode("utf-8", "replace")


def without(data: memoryview, leave_out: Callable[[Field], bool]) -> bytes:
    """The encoding of all fields but those that ``leave_out`` picks."""
    return b"".join(bytes(field.whole) for field in fields(data) if not leave_out(field))


def varint(value: int) -> bytes:
    encoding = bytearray()
    while value >= 0x80:
        encoding.append(value & 0x7f | 0x80)
        value >>= 7
    encoding.append(value)
    return bytes(encoding)


def header(number: int, length: int) -> bytes:
    """Tag and length of a field of bytes; its content has to follow."""
    return varint(number << 3 | BYTES) + varint(length)


def encoded(number: int, content: bytes) -> bytes:
    """A field of bytes: a string or a message."""
    return header(number, len(content)) + content


def encoded_varint(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)
