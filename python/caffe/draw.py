"""Drawings of nets, by Graphviz: layers as boxes, blobs as octagons.

    net = caffe_pb2.NetParameter()
    google.protobuf.text_format.Merge(open('deploy.prototxt').read(), net)
    caffe.draw.draw_net_to_file(net, 'deploy.png')

Nets of any age are drawn as today's form of them. Needs the Python package pydot and Graphviz's
program ``dot``.
"""
from __future__ import annotations

import os
from typing import Any, Optional

from ._files import written_aside
from .proto import caffe_pb2

LAYER_STYLE_DEFAULT = {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}
NEURON_LAYER_STYLE = {"shape": "record", "fillcolor": "#90EE90", "style": "filled"}
BLOB_STYLE = {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}

_COLORS = {"Convolution": "#FF5050", "Deconvolution": "#FF5050", "Pooling": "#FF9900",
           "InnerProduct": "#CC33FF"}


def _pydot() -> Any:
    try:
        import pydot
    except ImportError as error:
        raise ImportError("drawing nets needs pydot (pip install pydot) and Graphviz's program dot "
                          "(Debian: graphviz)") from error
    return pydot


def get_pooling_types_dict() -> dict[int, str]:
    """The pooling methods' numbers and names."""
    return {number: name for name, number in caffe_pb2.PoolingParameter.PoolMethod.items()}


def get_edge_label(layer: Any) -> str:
    """What is written on the arrow to a layer's top: the batch size or the number of outputs."""
    if layer.type == "Data":
        return f"Batch {layer.data_param.batch_size}"
    if layer.type in ("Convolution", "Deconvolution"):
        return str(layer.convolution_param.num_output)
    if layer.type == "InnerProduct":
        return str(layer.inner_product_param.num_output)
    return '""'


def _size(param: Any, name: str, default: int) -> str:
    """A window's size, stride or pad: one number, or one an axis as in 3x1."""
    short = {"kernel_size": "kernel"}.get(name, name)
    sides = [getattr(param, f"{short}_{side}") for side in "hw"]
    if any(param.HasField(f"{short}_{side}") for side in "hw"):
        return "x".join(str(side) for side in sides)
    values = getattr(param, name)
    if isinstance(values, int):  # Pooling has one, Convolution any number of them
        return str(values if param.HasField(name) else default)
    return "x".join(str(value) for value in values) or str(default)


def _window(param: Any) -> list[str]:
    return [f"kernel size: {_size(param, 'kernel_size', 0)}",
            f"stride: {_size(param, 'stride', 1)}",
            f"pad: {_size(param, 'pad', 0)}"]


def get_layer_lr_mult(layer: Any) -> str:
    """The learning rate multipliers of a layer with parameters, as 'lr mult: 1, 2', or ''."""
    if layer.type not in ("Convolution", "Deconvolution", "InnerProduct"):
        return ""
    values = [f"{param.lr_mult:g}" for param in layer.param]
    return f"lr mult: {', '.join(values)}" if values else "lr mult: 1"


def get_layer_label(layer: Any, rankdir: str, display_lrm: bool = False) -> str:
    """The text in a layer's box: its name and type, and for windows their sizes.

    The lines are next to each other when the drawing goes down (``rankdir`` TB or BT), to keep boxes
    flat, and below each other when it goes to a side (LR or RL). ``display_lrm`` adds the learning
    rate multipliers.
    """
    parts = [layer.name, f"({layer.type})"]
    if layer.type in ("Convolution", "Deconvolution"):
        parts += _window(layer.convolution_param)
    elif layer.type == "Pooling":
        method = get_pooling_types_dict()[layer.pooling_param.pool]
        if layer.pooling_param.global_pooling:
            parts[1] = f"({method} Pooling)"
            parts.append("global")
        else:
            parts[1] = f"({method} Pooling)"
            parts += _window(layer.pooling_param)
    rate = get_layer_lr_mult(layer) if display_lrm else ""
    if rate:
        parts.append(rate)
    separator = " " if rankdir in ("TB", "BT") else "\\n"
    return '"' + separator.join(_escaped(part) for part in parts) + '"'


def _escaped(text: str) -> str:
    """Text that means itself in a record's label."""
    return "".join("\\" + letter if letter in '\\{}|<>"' else letter for letter in text)


def choose_color_by_layertype(layertype: str) -> str:
    """The colour of a layer's box, as #RRGGBB."""
    return _COLORS.get(layertype, LAYER_STYLE_DEFAULT["fillcolor"])


def _in_phase(layer: Any, phase: Optional[int]) -> bool:
    """Whether the rules of a layer leave it in a net of the phase; stages and levels are not
    known."""
    if phase is None:
        return True
    if layer.include:
        return any(not rule.HasField("phase") or rule.phase == phase for rule in layer.include)
    return not any(rule.HasField("phase") and rule.phase == phase for rule in layer.exclude)


def _is_in_place(layer: Any) -> bool:
    return len(layer.bottom) == 1 and list(layer.bottom) == list(layer.top)


def get_pydot_graph(caffe_net: Any, rankdir: str, label_edges: bool = True,
                    phase: Optional[int] = None, display_lrm: bool = False) -> Any:
    """The drawing of a ``NetParameter`` as a ``pydot.Dot``.

    ``rankdir`` is the direction: LR, RL, TB or BT. With a ``phase`` (caffe.TRAIN, caffe.TEST) only
    its layers are drawn. A net in an old format is upgraded first (``caffe_net`` stays as it is);
    raises :class:`caffe.Error` if it has what is not known today.
    """
    pydot = _pydot()
    caffe_net = _upgraded(caffe_net)
    graph = pydot.Dot(_quoted(caffe_net.name or "Net"), graph_type="digraph", rankdir=rankdir)
    blobs: set[str] = set()

    def blob(name: str) -> str:
        node = f"{name}_blob"
        if name not in blobs:
            blobs.add(name)
            graph.add_node(pydot.Node(_quoted(node), label=_quoted(name), **BLOB_STYLE))
        return _quoted(node)

    for layer in caffe_net.layer:
        if not _in_phase(layer, phase):
            continue
        style = dict(NEURON_LAYER_STYLE if _is_in_place(layer) else LAYER_STYLE_DEFAULT)
        if not _is_in_place(layer):
            style["fillcolor"] = choose_color_by_layertype(layer.type)
        node = _quoted(f"{layer.name}_{layer.type}")
        label = get_layer_label(layer, rankdir, display_lrm)
        graph.add_node(pydot.Node(node, label=label, **style))
        for bottom in layer.bottom:
            graph.add_edge(pydot.Edge(blob(bottom), node))
        edge = get_edge_label(layer).strip('"') if label_edges else ""
        for top in layer.top:
            graph.add_edge(pydot.Edge(node, blob(top), label=_quoted(edge)))
    return graph


def _upgraded(net: Any) -> Any:
    """The net as today's files have it: with ``layer``, and inputs as layers of type Input."""
    if not net.layers and not net.input:
        return net
    from . import _caffe  # nets of today need no compiled module
    return caffe_pb2.NetParameter.FromString(_caffe._upgraded_net(net.SerializeToString()))


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def draw_net(caffe_net: Any, rankdir: str, ext: str = "png", phase: Optional[int] = None,
             display_lrm: bool = False) -> bytes:
    """The drawing as the content of a file of the type ``ext``: png, svg, pdf, dot (text), ..."""
    graph = get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm)
    if ext in ("dot", "raw"):
        return graph.to_string().encode()
    try:
        return graph.create(format=ext)
    except AssertionError as error:  # pydot's, where dot fails
        raise ValueError(f"Graphviz does not write .{ext}: use .png, .svg, .pdf or .dot") from error
    except OSError as error:
        raise RuntimeError("Graphviz's program dot was not found (Debian: apt-get install "
                           f"graphviz); the extension .dot needs none ({error})") from error


def draw_net_to_file(caffe_net: Any, filename: str, rankdir: str = "LR",
                     phase: Optional[int] = None, display_lrm: bool = False) -> None:
    """Writes the drawing to a file; its extension says which type: .png, .svg, .pdf, .dot, ..."""
    ext = os.path.splitext(filename)[1][1:]
    if not ext:
        raise ValueError(f"{filename} has no extension, which says what to draw: .png, .svg, .dot")
    drawing = draw_net(caffe_net, rankdir, ext, phase, display_lrm)
    with written_aside(filename) as temporary, open(temporary, "wb") as file:
        file.write(drawing)
