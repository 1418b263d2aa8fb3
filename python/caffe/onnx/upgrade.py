"""Nets of old versions as nets of today: V0 and V1 layers, input fields.

Only what a net needs to be exported is carried over: fields of data layers and of training stay
behind where their layer has another place for them.
"""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

from .errors import ExportError

# Type names of V1 (an enum) that are not simply the words in capitals.
_V1_NAMES = {
    "NONE": "", "ABSVAL": "AbsVal", "ARGMAX": "ArgMax", "BNLL": "BNLL", "HDF5_DATA": "HDF5Data",
    "HDF5_OUTPUT": "HDF5Output", "LRN": "LRN", "MVN": "MVN", "RELU": "ReLU", "TANH": "TanH",
    "SOFTMAX_LOSS": "SoftmaxWithLoss", "IM2COL": "Im2col",
}

_V0_TYPES = {
    "accuracy": "Accuracy", "bnll": "BNLL", "concat": "Concat", "conv": "Convolution",
    "data": "Data", "dropout": "Dropout", "euclidean_loss": "EuclideanLoss", "flatten": "Flatten",
    "hdf5_data": "HDF5Data", "hdf5_output": "HDF5Output", "im2col": "Im2col", "images": "ImageData",
    "infogain_loss": "InfogainLoss", "innerproduct": "InnerProduct", "lrn": "LRN",
    "multinomial_logistic_loss": "MultinomialLogisticLoss", "pool": "Pooling", "relu": "ReLU",
    "sigmoid": "Sigmoid", "softmax": "Softmax", "softmax_loss": "SoftmaxWithLoss",
    "split": "Split", "tanh": "TanH", "window_data": "WindowData",
}

# Where a flat field of a V0 layer goes: by the layer's V0 type, message and field.
_V0_FIELDS: Dict[str, Dict[str, Tuple[str, str]]] = {
    "num_output": {"conv": ("convolution_param", "num_output"),
                   "innerproduct": ("inner_product_param", "num_output")},
    "biasterm": {"conv": ("convolution_param", "bias_term"),
                 "innerproduct": ("inner_product_param", "bias_term")},
    "group": {"conv": ("convolution_param", "group")},
    "pad": {"conv": ("convolution_param", "pad"), "pool": ("pooling_param", "pad")},
    "kernelsize": {"conv": ("convolution_param", "kernel_size"),
                   "pool": ("pooling_param", "kernel_size")},
    "stride": {"conv": ("convolution_param", "stride"), "pool": ("pooling_param", "stride")},
    "pool": {"pool": ("pooling_param", "pool")},
    "dropout_ratio": {"dropout": ("dropout_param", "dropout_ratio")},
    "concat_dim": {"concat": ("concat_param", "concat_dim")},
    "local_size": {"lrn": ("lrn_param", "local_size")},
    "alpha": {"lrn": ("lrn_param", "alpha")},
    "beta": {"lrn": ("lrn_param", "beta")},
    "k": {"lrn": ("lrn_param", "k")},
    "batchsize": {"data": ("data_param", "batch_size"),
                  "images": ("image_data_param", "batch_size"),
                  "hdf5_data": ("hdf5_data_param", "batch_size"),
                  "window_data": ("window_data_param", "batch_size")},
    "new_height": {"images": ("image_data_param", "new_height")},
    "new_width": {"images": ("image_data_param", "new_width")},
    "cropsize": {"data": ("transform_param", "crop_size"),
                 "images": ("transform_param", "crop_size"),
                 "window_data": ("transform_param", "crop_size")},
}


def _v1_type(name: str) -> str:
    if name in _V1_NAMES:
        return _V1_NAMES[name]
    return "".join(word.capitalize() for word in name.split("_"))


def _set(message: Any, field: str, value: Any) -> None:
    """Sets a field, or adds to it if it is repeated."""
    current = getattr(message, field)
    if hasattr(current, "append"):
        current.append(value)
    else:
        setattr(message, field, value)


def _from_v0(connection: Any, padding: Dict[str, Any], layer: Any) -> None:
    """Fills `layer` from a V0 layer; `padding`: the padding layers by top."""
    v0 = connection.layer
    if v0.type not in _V0_TYPES:
        raise ExportError(f"layer '{v0.name}': '{v0.type}' is not a layer type of the V0 form")
    layer.name, layer.type = v0.name, _V0_TYPES[v0.type]
    layer.top.extend(connection.top)
    for field, places in _V0_FIELDS.items():
        if v0.HasField(field) and v0.type in places:
            message, target = places[v0.type]
            _set(getattr(layer, message), target, getattr(v0, field))
    for bottom in connection.bottom:
        pad = padding.get(bottom)
        if pad is None:
            layer.bottom.append(bottom)
            continue
        if v0.type not in ("conv", "pool"):
            raise ExportError(f"layer '{v0.name}' ({v0.type}): reads padded data, which in V0 nets "
                              "only conv and pool layers can")
        layer.bottom.append(pad.bottom[0])
        message = layer.convolution_param if v0.type == "conv" else layer.pooling_param
        message.ClearField("pad")
        _set(message, "pad", pad.layer.pad)


def _from_v1(v1: Any, layer: Any) -> None:
    layer.name = v1.name
    layer.type = _v1_type(
        v1.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number[v1.type].name)
    if layer.type == "Crop":
        raise ExportError(f"layer '{v1.name}' (CROP): upgrade_net_proto_text finds where it cuts: "
                          "run it first")
    layer.bottom.extend(v1.bottom)
    layer.top.extend(v1.top)
    layer.include.extend(v1.include)
    layer.exclude.extend(v1.exclude)
    for descriptor, value in v1.ListFields():
        known = layer.DESCRIPTOR.fields_by_name.get(descriptor.name)
        if descriptor.name.endswith("_param") and known is not None:
            getattr(layer, descriptor.name).CopyFrom(value)


def _upgrade_layers(net: Any) -> None:
    old = list(net.layers)
    padding: Dict[str, Any] = {}
    for connection in old:
        is_v0 = connection.HasField("layer")
        if is_v0 and connection.layer.type == "padding":
            if len(connection.bottom) != 1 or len(connection.top) != 1:
                raise ExportError(f"layer '{connection.layer.name}' (padding): it has one bottom and "
                                  "one top")
            padding[connection.top[0]] = connection
            continue
        layer = net.layer.add()
        if is_v0:
            _from_v0(connection, padding, layer)
        else:
            _from_v1(connection, layer)
        for top in connection.top:
            padding.pop(top, None)
    net.ClearField("layers")


def _input_shapes(net: Any) -> List[List[int]]:
    inputs = len(net.input)
    if net.input_shape:
        shapes = [list(shape.dim) for shape in net.input_shape]
    else:
        dims = list(net.input_dim)
        shapes = [dims[i:i + 4] for i in range(0, len(dims), 4)]
    if len(shapes) != inputs or len(net.input_dim) % 4 != 0:
        raise ExportError(
            f"net '{net.name}': has {inputs} inputs; each needs one input_shape, or four "
            "numbers input_dim")
    return shapes


def _upgrade_inputs(net: Any) -> None:
    first = net.layer.add()
    first.name, first.type = "input", "Input"
    first.top.extend(net.input)
    if net.input_shape or net.input_dim:
        for shape in _input_shapes(net):
            first.input_param.shape.add().dim.extend(shape)
    layers = list(net.layer)
    reordered = [layers[-1]] + layers[:-1]
    copies = [type(layer).FromString(layer.SerializePartialToString()) for layer in reordered]
    net.ClearField("layer")
    net.layer.extend(copies)
    for field in ("input", "input_shape", "input_dim"):
        net.ClearField(field)


def upgrade(net: Any) -> None:
    """Upgrades a NetParameter of any version to the current format, in place."""
    if net.layers:
        if net.layer:
            raise ExportError(
                f"net '{net.name}': has both 'layer' and 'layers' (the old form): use "
                "one of them")
        _upgrade_layers(net)
    if net.input:
        _upgrade_inputs(net)
