"""Functions that nets and solvers call."""
from __future__ import annotations

import weakref
from typing import Any, List


class _Held:
    """A function that can be referred to weakly, whatever it is."""

    __slots__ = ("function", "__weakref__")

    def __init__(self, function: Any) -> None:
        self.function = function


def weakly(function: Any, kept: List[Any]) -> Any:
    """What C++ may call in the place of ``function``, as long as ``kept`` is there.

    A function often refers to the net that calls it. Python's garbage collector finds this cycle in
    a list of the net's own, but not in C++. What is no function is returned as it is.
    """
    if not callable(function):
        return function
    held = _Held(function)
    kept.append(held)
    reference = weakref.ref(held)

    def call(*arguments: Any) -> None:
        now = reference()
        if now is not None:
            now.function(*arguments)

    return call
