"""Exceptions: one for the user, one for a layer that has no form in the other
format. caffe.tflite has the same ones."""
from __future__ import annotations


class ExportError(Exception):
    """A net cannot be exported; the message says which layer or file it is about and what helps.

    It is one line, whatever names and other packages' messages are part of it.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(line.strip() for line in str(message).splitlines() if line.strip()))


class Inexpressible(Exception):
    """Raised inside a layer's function: why that layer cannot be written.

    The caller adds the layer's name and type and raises :class:`ExportError`.
    """


def require(condition: bool, reason: str) -> None:
    """Raises :class:`Inexpressible` with `reason` unless `condition` holds."""
    if not condition:
        raise Inexpressible(reason)
