"""Images of another size, by the interpolation that pycaffe took from scikit-image and SciPy."""
from __future__ import annotations

import numpy as np


def _axis(values: np.ndarray, axis: int, places: np.ndarray, order: int) -> np.ndarray:
    """Values at fractional ``places`` along one axis; what lies outside counts as 0."""
    size = values.shape[axis]
    low = np.floor(places + 0.5 if order == 0 else places).astype(np.intp)
    share = np.zeros(len(places)) if order == 0 else places - low
    shape = [1] * values.ndim
    shape[axis] = len(places)
    result: np.ndarray = np.zeros((), dtype=values.dtype)
    for index, weight in ((low, 1 - share), (low + 1, share)):
        weight = np.where((index >= 0) & (index < size), weight, 0)
        if not weight.any():
            continue
        taken = values.take(index.clip(0, size - 1), axis=axis)
        result = result + taken * weight.astype(values.dtype).reshape(shape)
    return result


def _interpolate(values: np.ndarray, places: list[np.ndarray], order: int) -> np.ndarray:
    for axis, along in enumerate(places):
        values = _axis(values, axis, along, order)
    return values


def _scipy_zoom(values: np.ndarray, dims: tuple[int, int], order: int, **how: object) -> np.ndarray:
    try:
        from scipy import ndimage
    except ImportError as error:
        raise ImportError(f"interpolation of order {order} needs SciPy (pip install scipy); "
                          "0 and 1 do without") from error
    factors = [new / old for new, old in zip(dims, values.shape)] + [1]
    return ndimage.zoom(values, factors, order=order, **how)


def by_pixel_areas(values: np.ndarray, dims: tuple[int, int], order: int) -> np.ndarray:
    """H x W x K to ``dims``: pixels are areas, and the image's edges stay its edges.

    The place of new pixel ``i`` is ``(i + 0.5) * old / new - 0.5``. Around the image lie zeros,
    which the outermost pixels of an enlarged image mix with. Shrinking takes no more pixels into
    account than enlarging does (no smoothing).
    """
    if order > 1:
        return _scipy_zoom(values, dims, order, mode="grid-constant", grid_mode=True)
    places = [(np.arange(new) + 0.5) * (old / new) - 0.5 for new, old in zip(dims, values.shape)]
    return _interpolate(values, places, order)


def by_corner_pixels(values: np.ndarray, dims: tuple[int, int], order: int) -> np.ndarray:
    """H x W x K to ``dims``: pixels are points, and the first and last ones stay where they
    were."""
    if order > 1:
        return _scipy_zoom(values, dims, order)
    places = [np.arange(new) * ((old - 1) / max(new - 1, 1))
              for new, old in zip(dims, values.shape)]
    return _interpolate(values, places, order)
