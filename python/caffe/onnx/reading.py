"""Reads a net's description and leaves what is in the TEST phase."""
from __future__ import annotations

from typing import Any, Iterable

from .errors import ExportError
from .upgrade import upgrade


def read_net(path: str) -> Any:
    """The NetParameter of a prototxt file of any version, in the current format."""
    from google.protobuf import text_format

    from caffe.proto import caffe_pb2
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ExportError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    net = caffe_pb2.NetParameter()
    try:
        text_format.Parse(content, net)
    except text_format.ParseError as error:
        raise ExportError(f"{path}: line {error}") from error
    try:
        upgrade(net)
    except ExportError as error:
        raise ExportError(f"{path}: {error}") from error
    return net


def _meets(state: Any, rule: Any) -> bool:
    if rule.HasField("phase") and rule.phase != state.phase:
        return False
    if rule.HasField("min_level") and state.level < rule.min_level:
        return False
    if rule.HasField("max_level") and state.level > rule.max_level:
        return False
    return (all(stage in state.stage for stage in rule.stage) and
            not any(stage in state.stage for stage in rule.not_stage))


def _included(state: Any, layer: Any) -> bool:
    if layer.include and layer.exclude:
        raise ExportError(f"layer '{layer.name}' ({layer.type}): specify either include rules or "
                          "exclude rules, not both")
    if layer.include:
        return any(_meets(state, rule) for rule in layer.include)
    return not any(_meets(state, rule) for rule in layer.exclude)


def filter_net(net: Any, level: int = 0, stages: Iterable[str] = ()) -> None:
    """Leaves the layers that the TEST phase has, for a level and stages, in place."""
    net.state.phase = 1  # TEST
    net.state.level = level or net.state.level
    net.state.stage.extend(stages)
    kept = [layer for layer in net.layer if _included(net.state, layer)]
    copies = [type(layer).FromString(layer.SerializePartialToString()) for layer in kept]
    net.ClearField("layer")
    net.layer.extend(copies)
