"""Rounding weights to another type, and the report on what that did to them."""
from typing import List, NamedTuple, Tuple

import numpy as np

FLOAT16 = np.dtype("<f2")
FLOAT = np.dtype("<f4")
DOUBLE = np.dtype("<f8")
NAMES = {FLOAT16: "FLOAT16", FLOAT: "FLOAT", DOUBLE: "DOUBLE",
         np.dtype("<i4"): "INT32", np.dtype("<u4"): "UINT32"}


class Counts(NamedTuple):
    """What became of numbers that were rounded to another type."""

    values: int = 0
    overflowed: int = 0   # finite before, beyond the type's largest number after rounding
    subnormal: int = 0    # nonzero and below the type's smallest normal number
    zeroed: int = 0       # not zero before, zero after rounding
    nans: int = 0         # before
    infinities: int = 0   # before
    # |after - before| / |before|, over finite values that neither overflowed nor became zero.
    largest_error: float = 0.0

    def plus(self, other: "Counts") -> "Counts":
        sums = [a + b for a, b in zip(self[:-1], other[:-1])]
        return Counts(*sums, max(self.largest_error, other.largest_error))


class LayerConversion(NamedTuple):
    """One row of a report."""

    layer: str
    stored: str  # the type in the file: "FLOAT16" or "FLOAT"
    counts: Counts


def _nan_bits(before: np.ndarray, to: np.dtype) -> np.ndarray:
    """The bits of quiet NaNs of type ``to`` with the given NaNs' signs and top payload bits."""
    wide = {2: (10, 5), 4: (23, 8), 8: (52, 11)}
    mantissa, exponent = wide[before.dtype.itemsize]
    to_mantissa, to_exponent = wide[to.itemsize]
    bits = before.view(f"<u{before.dtype.itemsize}").astype(np.uint64)
    sign = bits >> np.uint64(mantissa + exponent)
    payload = bits & np.uint64((1 << mantissa) - 1)
    shift = mantissa - to_mantissa
    payload = payload >> np.uint64(shift) if shift >= 0 else payload << np.uint64(-shift)
    quiet = np.uint64((2 << to_exponent) - 1 << to_mantissa - 1)  # exponent and top of the mantissa
    result = sign << np.uint64(to_mantissa + to_exponent) | quiet | payload
    return result.astype(f"<u{to.itemsize}")


def _convert_piece(before: np.ndarray, to: np.dtype, clamp: bool) -> Tuple[np.ndarray, Counts]:
    with np.errstate(all="ignore"):
        after = before.astype(to)
        nans, infinite = np.isnan(before), np.isinf(before)
        if nans.any() and to != before.dtype:
            after.view(f"<u{to.itemsize}")[nans] = _nan_bits(before[nans], to)
        overflowed = np.isinf(after) & ~infinite
        zeroed = (after == 0) & (before != 0)
        subnormal = (after != 0) & (np.abs(after) < np.finfo(to).tiny)
        counted = np.isfinite(after) & (after != 0)
        exact = before[counted].astype(np.float64)
        errors = np.abs(after[counted].astype(np.float64) - exact) / np.abs(exact)
        if clamp and overflowed.any():
            after[overflowed] = np.copysign(np.finfo(to).max, before[overflowed].astype(np.float64))
    numbers = [int(mask.sum()) for mask in (overflowed, subnormal, zeroed, nans, infinite)]
    return after, Counts(before.size, *numbers, float(errors.max()) if errors.size else 0.0)


def convert(before: np.ndarray, to: np.dtype, clamp: bool) -> Tuple[np.ndarray, Counts]:
    """Rounds a flat array to FLOAT or FLOAT16, to nearest even.

    Finite numbers beyond the type's largest become infinity or, with ``clamp``, the largest. NaN
    becomes a quiet NaN.
    """
    piece = 1 << 20
    after = np.empty(before.size, to)
    counts = Counts()
    for at in range(0, before.size, piece):
        after[at:at + piece], some = _convert_piece(before[at:at + piece], to, clamp)
        counts = counts.plus(some)
    return after, counts


def _row(layer: str, stored: str, counts: Counts) -> List[str]:
    error = "%.1e" % counts.largest_error if counts.largest_error > 0 else "0"
    return [layer, stored, *(str(number) for number in counts[:-1]), error]


def table(layers: List[LayerConversion]) -> str:
    """The rows below a header, columns lined up, with a last row for all layers together."""
    rows = [["layer", "stored", "values", "overflow", "subnormal", "zero", "NaN", "Inf",
             "largest error"]]
    total = Counts()
    for layer in layers:
        rows.append(_row(*layer))
        total = total.plus(layer.counts)
    rows.append(_row("all layers", "", total))

    def width(text: str) -> int:
        return len(text.encode("utf-8"))

    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = []
        for i, cell in enumerate(row):
            padding = " " * (widths[i] - width(cell))
            cells.append(cell + padding if i < 2 else padding + cell)
        lines.append("  ".join(cells))
    return "\n".join(lines) + "\n"


def overflowed(layers: List[LayerConversion]) -> int:
    return sum(layer.counts.overflowed for layer in layers)


def faults(layers: List[LayerConversion]) -> str:
    """What makes new weights unusable: "2 values overflow and 1 are NaN or infinite"; "" if nothing
    does."""
    beyond = overflowed(layers)
    not_finite = sum(layer.counts.nans + layer.counts.infinities for layer in layers)
    found = f"{beyond} values overflow" if beyond else ""
    if not_finite:
        found += f" and {not_finite}" if beyond else f"{not_finite} values"
        found += " are NaN or infinite"
    return found


def warnings(layers: List[LayerConversion], to: np.dtype, clamp: bool,
             written: bool = True) -> List[str]:
    """Sentences on what a table does not make plain: NaN and infinity by layer, and overflow.

    ``written`` is False where the new weights are not kept.
    """
    found = [f"layer '{layer.layer}': the weights hold {layer.counts.nans} NaN and "
             f"{layer.counts.infinities} infinite values"
             for layer in layers if layer.counts.nans or layer.counts.infinities]
    count = overflowed(layers)
    beyond = f"{count} values beyond {NAMES[to]}'s range {'became' if written else 'would become'}"
    if count and clamp:
        found.append(f"{beyond} its largest number")
    elif count:
        keeps = (", and forward_type: FLOAT in a layer of the prototxt keeps its weights"
                 if to == FLOAT16 else "")
        found.append(f"{beyond} infinite: --clamp makes them its largest number{keeps}")
    return found
