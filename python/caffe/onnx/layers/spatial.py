"""Layers that trade channels for positions or mix channels."""
from __future__ import annotations

from ..errors import require
from ..layer import Layer, exports


@exports("ShuffleChannel", moves=1)
def shuffle_channel(layer: Layer) -> None:
    """Channels as a matrix of groups, transposed."""
    group = layer.param.shuffle_channel_param.group
    layer.require_some_axes(2)
    shape = layer.shape()
    require(group > 0, "shuffle_channel_param: group is at least 1")
    require(shape[1] % group == 0,
            f"shuffle_channel_param: group {group} does not divide {shape[1]}")
    # Positions stay together: one axis for them, whatever their number.
    positions = shape[2:]
    parts = (shape[0], group, shape[1] // group) + positions
    x = layer.reshape(layer.bottom(0), parts)
    y = layer.transpose(x, [0, 2, 1] + list(range(3, len(parts))))
    layer.top(0, layer.reshape(y, shape))


@exports("Reorg", moves=1)
def reorg(layer: Layer) -> None:
    """Darknet's: stride x stride positions become channels, or with reverse the other way round.

    Forwards, the bottom's memory is read as if it had stride * stride times fewer channels of as
    many times more positions.
    """
    param = layer.param.reorg_param
    layer.require_axes(4)
    n, c, h, w = layer.shape()
    s = param.stride
    require(s > 0 and c % (s * s) == 0, f"reorg_param: {c} channels are not a multiple of {s} * {s}")
    require(param.reverse or (h % s == 0 and w % s == 0), f"reorg_param: {h} x {w} positions are "
            f"not multiples of {s}")
    inner = c // (s * s)
    if param.reverse:
        # Each channel's phases (row, column) are spread over the positions.
        x = layer.reshape(layer.bottom(0), (n, s, s, inner, h, w))
        y = layer.transpose(x, [0, 3, 4, 1, 5, 2])
        layer.top(0, layer.reshape(y, (n, inner, h * s, w * s)))
        return
    x = layer.reshape(layer.bottom(0), (n, inner, h, s, w, s))
    y = layer.transpose(x, [0, 3, 5, 1, 2, 4])
    layer.top(0, layer.reshape(y, (n, c * s * s, h // s, w // s)))
