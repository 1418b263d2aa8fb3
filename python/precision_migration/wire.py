"""Protobuf's encoding: https://protobuf.dev/programming-guides/encoding."""
from typing import Callable, Iterator, NamedTuple, Tuple

from . import MigrationError

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field as it stands in the encoding."""

    number: int
    type: int
    value: int           # of a VARINT
    content: memoryview  # of the others: without tag and length
    whole: memoryview    # with tag and length


def read_varint(data: memoryview, at: int) -> Tuple[int, int]:
    """The number that stands at an offset, and the offset behind it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise MigrationError("a number is cut off: the file is truncated or damaged")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message; raises MigrationError where the encoding is broken."""
    at = 0
    while at < len(message):
        start = at
        tag, at = read_varint(message, at)
        number, kind, value = tag >> 3, tag & 7, 0
        begin = at
        if kind == VARINT:
            value, at = read_varint(message, at)
        elif kind == FIXED64:
            at += 8
        elif kind == FIXED32:
            at += 4
        elif kind == LENGTH_DELIMITED:
            size, begin = read_varint(message, at)
            at = begin + size
        else:
            raise MigrationError("no field of a message starts where one is expected: the file is "
                                 "damaged, or of another kind")
        if number == 0 or at > len(message):
            raise MigrationError(f"a field needs {at - len(message)} bytes more than there are: "
                                 "the file is truncated or damaged, or of another kind")
        yield Field(number, kind, value, message[begin:at], message[start:at])


def without(message: memoryview, leave_out: Callable[[Field], bool]) -> bytes:
    """The encoding of all fields but those that ``leave_out`` picks."""
    return b"".join(bytes(field.whole) for field in fields(message) if not leave_out(field))


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def header(number: int, length: int) -> bytes:
    """Tag and length of a length-delimited field; its content has to follow."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(length)


def encoded(number: int, content: bytes) -> bytes:
    """A length-delimited field: a string or a message."""
    return header(number, len(content)) + content


def encoded_varint(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)
