"""The forms in which files hold batch normalization, and how one becomes another.

BVLC Caffe: a BatchNorm of three blobs (mean, variance and the factor that both were multiplied by)
and a Scale layer. NVCaffe: one of five (mean, variance, factor, scale, bias), whose factor is 1.
NVCaffe 0.15 had the five in the order scale, bias, mean, variance and a value that is not looked
at.
"""
from typing import List, NamedTuple, Optional

import numpy as np

from . import MigrationError
from .caffe_modules import wire
from .conversion import FLOAT
from .model import LAYER_BOTTOM, LAYER_NAME, LAYER_TOP, LAYER_TYPE, ModelBlob, ModelLayer
from .text_fields import TextEdits, TextField, named

FORMS = ("keep", "bvlc", "nvcaffe")

# Field numbers of caffe.proto.
_LAYER_BATCH_NORM, _LAYER_SCALE = 139, 142
_SCALE_FILLER, _BIAS_FILLER, _SCALE_BIAS = 5, 6, 7
_SCALE_BIAS_TERM = 4

#: Types of layers whose tops are the memory of their only bottom.
SHARING = ("Concat", "Flatten", "Reshape", "Split")

_STATISTICS = 3  # the first blobs of a BatchNorm in either form
_FROZEN = "param { lr_mult: 0 decay_mult: 0 }"


class _Change(NamedTuple):
    layer: int        # the BatchNorm, an index into net.layer
    scale_layer: int  # its Scale, likewise; -1: there is none (yet)
    name: str
    scale_name: str
    top: str          # of the pair together
    edits_text: bool
    has_bias: bool    # the Scale layer


def _has_scale_and_bias(layer) -> bool:
    param = layer.batch_norm_param
    return param.scale_bias or param.HasField("scale_filler") or param.HasField("bias_filler")


def _rules(layer) -> list:
    return [list(layer.include), list(layer.exclude)]


def _is_channel_scale(layer) -> bool:
    """A Scale layer that multiplies channels by parameters of its own."""
    return (layer.type == "Scale" and len(layer.bottom) == 1 and len(layer.top) == 1
            and layer.scale_param.axis == 1 and layer.scale_param.num_axes == 1)


def _quoted(name: str) -> str:
    """A name as a prototxt has it: it may hold quotes, backslashes and line ends."""
    return '"' + "".join(f"\\{ord(c):03o}" if c < " " else "\\" + c if c in '"\\' else c
                         for c in name) + '"'


def _param_blocks(layer, field: TextField) -> List[TextField]:
    """Where the ParamSpecs of a layer stand."""
    blocks = named(field.fields, "param")
    if len(blocks) != len(layer.param):
        raise MigrationError(f"layer '{layer.name}': batch normalization takes another form only "
                             "where each param stands in a block of its own: param { ... }")
    return blocks


class BatchNormPlan:
    """Which BatchNorm layers of a net take another form: found out from the prototxt alone."""

    def __init__(self, net, form: str):
        self.net = net
        self.form = form
        self.changes: List[_Change] = []
        self.notes: List[str] = []
        for index, layer in enumerate(net.layer):
            if form == "keep" or layer.type != "BatchNorm" or len(layer.top) != 1:
                continue
            if form == "nvcaffe":
                self._plan_merge(index)
            else:
                self._plan_split(index)

    def _scale_after(self, index: int) -> int:
        """The next layer that touches what the layer makes, if that is a Scale layer; else -1."""
        top = self.net.layer[index].top[0]
        for i in range(index + 1, len(self.net.layer)):
            if top in self.net.layer[i].bottom:
                return i if _is_channel_scale(self.net.layer[i]) else -1
            if top in self.net.layer[i].top:
                return -1
        return -1

    def _is_read_besides(self, blob: str, writer: int, reader: int) -> bool:
        """True if a layer other than ``reader`` reads what ``writer`` put into the blob."""
        for i in range(writer + 1, len(self.net.layer)):
            if i != reader and blob in self.net.layer[i].bottom:
                return True
            if blob in self.net.layer[i].top:
                return False
        return False

    def _memory_of(self, blob: str, end: int) -> str:
        """The first of the blobs in whose memory the blob lies, as the layers before ``end`` make
        them."""
        for layer in reversed(self.net.layer[:end]):
            if blob not in layer.top or blob in layer.bottom:
                continue
            if layer.type not in SHARING or len(layer.bottom) != 1:
                break
            blob = layer.bottom[0]
        return blob

    def _seen_besides(self, index: int, reader: int) -> str:
        """A blob that a layer in place changes too, as it has the same memory, and that is an
        output or read behind it by a layer other than ``reader``; "" if there is none."""
        changed = self.net.layer[index].top[0]
        if changed not in self.net.layer[index].bottom:
            return ""
        memory = self._memory_of(changed, index)
        for i, layer in enumerate(self.net.layer[:index]):
            for blob in layer.top:
                if blob == changed or self._memory_of(blob, index) != memory:
                    continue
                if (self._is_read_besides(blob, index, reader)
                        or not self._is_read_besides(blob, i, -1)):
                    return blob
        return ""

    def _plan_merge(self, index: int) -> None:
        norm = self.net.layer[index]
        after = self._scale_after(index)
        if _has_scale_and_bias(norm) or after < 0:
            return
        scale = self.net.layer[after]
        pair = f"'{norm.name}' and '{scale.name}'"
        if self._is_read_besides(norm.top[0], index, after):
            self.notes.append(f"layers {pair} stay two: others read blob '{norm.top[0]}' too")
        elif self._seen_besides(index, after):
            self.notes.append(f"layers {pair} stay two: blob '{self._seen_besides(index, after)}' "
                              f"shows what '{norm.name}' changes in place")
        elif _rules(norm) != _rules(scale):
            self.notes.append(f"layers {pair} stay two: their include or exclude rules differ")
        elif len(norm.param) > _STATISTICS and scale.param:
            self.notes.append(f"layers {pair} stay two: both have a param for the scale")
        else:
            self.changes.append(_Change(index, after, norm.name, scale.name, scale.top[0], True,
                                        scale.scale_param.bias_term))

    def _plan_split(self, index: int) -> None:
        norm = self.net.layer[index]
        if _has_scale_and_bias(norm):
            name = norm.name + "_scale"
            while any(layer.name == name for layer in self.net.layer):
                name += "_"
            self.changes.append(_Change(index, -1, norm.name, name, norm.top[0], True, True))
            return
        after = self._scale_after(index)
        if after >= 0:
            scale = self.net.layer[after]
            self.changes.append(_Change(index, after, norm.name, scale.name, norm.top[0], False,
                                        scale.scale_param.bias_term))

    def edit_text(self, text: str, fields: List[TextField], edits: TextEdits) -> None:
        """Collects what changes in the text that the net was parsed from."""
        layers = named(fields, "layer")
        for change in self.changes:
            if not change.edits_text:
                continue
            if len(layers) != len(self.net.layer):
                raise MigrationError("batch normalization takes another form only where each layer "
                                     "stands in a block of its own: layer { ... }")
            norm = layers[change.layer]
            if self.form == "nvcaffe":
                self._merge_text(change, text, norm, layers[change.scale_layer], edits)
            else:
                self._split_text(change, text, norm, edits)

    def _merged_params(self, change: _Change, text: str, scale: TextField) -> str:
        """The parameters of the Scale layer become the BatchNorm's fourth and fifth."""
        layer = self.net.layer[change.scale_layer]
        given = len(self.net.layer[change.layer].param)
        if not layer.param and (change.has_bias or given > _STATISTICS):
            return ""
        params = [_FROZEN] * (_STATISTICS - given)
        if not layer.param:
            params.append("param { }")
        params += [text[block.begin:block.end] for block in _param_blocks(layer, scale)]
        if not change.has_bias:  # it is zero and stays so
            params.append(_FROZEN)
        return "".join(f"  {param}\n" for param in params)

    def _merge_text(self, change: _Change, text: str, norm: TextField, scale: TextField,
                    edits: TextEdits) -> None:
        edits.remove(scale)
        top = named(norm.fields, "top")[0]
        if self.net.layer[change.layer].top[0] != change.top:
            edits.replace(top.value_begin, top.value_end, _quoted(change.top))
        added = self._merged_params(change, text, scale)
        params = named(norm.fields, "batch_norm_param")
        if params:
            for old in named(params[0].fields, "scale_bias"):
                edits.remove(old)
            edits.insert_first(params[0], "scale_bias: true")
        else:
            added += "  batch_norm_param { scale_bias: true }\n"
        if added:
            edits.insert(norm.value_end, added)

    def _split_params(self, change: _Change, text: str, norm: TextField, edits: TextEdits) -> str:
        """The fourth and fifth parameter of the BatchNorm become the Scale layer's."""
        layer = self.net.layer[change.layer]
        if len(layer.param) <= _STATISTICS:
            return ""
        moved = _param_blocks(layer, norm)[_STATISTICS:]
        for block in moved:
            edits.remove(block)
        return "".join(f"  {text[block.begin:block.end]}\n" for block in moved)

    def _split_text(self, change: _Change, text: str, norm: TextField, edits: TextEdits) -> None:
        for param in named(norm.fields, "batch_norm_param"):
            for name in ("scale_bias", "scale_filler", "bias_filler"):
                for old in named(param.fields, name):
                    edits.remove(old)
        params = self._split_params(change, text, norm, edits)
        rules = "".join(f"  {text[field.begin:field.end]}\n" for field in norm.fields
                        if field.name in ("include", "exclude"))
        top = _quoted(change.top)
        edits.insert(norm.end, f"\nlayer {{\n  name: {_quoted(change.scale_name)}\n"
                     f'  type: "Scale"\n  bottom: {top}\n  top: {top}\n{params}{rules}'
                     "  scale_param { bias_term: true }\n}")

    def edit_weights(self, layers: List[ModelLayer]) -> None:
        """Changes the layers' blobs; raises MigrationError for what is not a normalization."""
        for change in self.changes:
            norm = _find(layers, change.name)
            if norm is None or not norm.blobs:
                continue
            scale = _find(layers, change.scale_name)
            has_scale = scale is not None and bool(scale.blobs)
            is_whole = len(norm.blobs) == 5
            if is_whole and has_scale:
                raise MigrationError(f"the weights of layer '{change.name}' have a scale and a "
                                     f"bias, and so have those of layer '{change.scale_name}'")
            if self.form == "bvlc" and not is_whole:
                continue
            mean, variance, factors, biases = _values(norm, scale if has_scale else None)
            one = np.ones(1, FLOAT)
            if self.form == "nvcaffe":
                _set_blobs(norm, [mean, variance, one, factors, biases])
                norm.rest = _set_scale_bias(norm.rest, True)
                if self.net.layer[change.layer].top[0] != change.top:
                    norm.rest = _drop(norm.rest, LAYER_TOP) + wire.encoded(LAYER_TOP,
                                                                           change.top.encode())
                if scale is not None:
                    layers.remove(scale)
                continue
            _set_blobs(norm, [mean, variance, one])
            norm.rest = _set_scale_bias(norm.rest, False)
            if not change.has_bias and biases.any():
                raise MigrationError(
                    f"the weights of layer '{change.name}' have a bias, which layer "
                    f"'{change.scale_name}' of the prototxt has not: give it "
                    "scale_param { bias_term: true }")
            if scale is None:
                scale = _new_scale(change)
                layers.insert(layers.index(norm) + 1, scale)
            _set_blobs(scale, [factors, biases] if change.has_bias else [factors])


def _find(layers: List[ModelLayer], name: str) -> Optional[ModelLayer]:
    return next((layer for layer in layers if layer.name == name), None)


def _set_blobs(layer: ModelLayer, values: List[np.ndarray]) -> None:
    layer.blobs = [ModelBlob(blob.shape, blob) for blob in values]


def _values(norm: ModelLayer, scale: Optional[ModelLayer]) -> List[np.ndarray]:
    """Mean and variance with the factor taken out, scale and bias; all FLOAT."""
    blobs = [blob.values.astype(FLOAT) for blob in norm.blobs]
    is_digits = len(blobs) == 5 and blobs[4].size == 1 and blobs[2].size != 1
    if len(blobs) == 5:
        if is_digits:
            blobs = [blobs[i] for i in (2, 3, 4, 0, 1)]
        mean, variance, factor, factors, biases = blobs
    elif len(blobs) == 3:
        mean, variance, factor = blobs
        affine = [blob.values.astype(FLOAT) for blob in scale.blobs[:2]] if scale else []
        factors = affine[0] if affine else np.ones(mean.size, FLOAT)
        biases = affine[1] if len(affine) > 1 else np.zeros(mean.size, FLOAT)
    else:
        raise MigrationError(f"layer '{norm.name}': batch normalization has 3 or 5 blobs, not "
                             f"{len(blobs)}")
    sizes = [blob.size for blob in (mean, variance, factors, biases)]
    if factor.size != 1 or len(set(sizes)) != 1:
        raise MigrationError(f"layer '{norm.name}': blobs of {', '.join(map(str, sizes))} elements "
                             "are not batch normalization's")
    if len(blobs) == 3:
        inverse = FLOAT.type(0) if factor[0] == 0 else FLOAT.type(1) / factor[0]
        mean, variance = mean * inverse, variance * inverse
    elif not is_digits and factor[0] != 0:
        inverse = FLOAT.type(1) / factor[0]
        mean, variance = mean * inverse, variance * inverse
    return [mean, variance, factors, biases]


def _drop(message: bytes, *numbers: int) -> bytes:
    return wire.without(memoryview(message), lambda field: field.number in numbers)


def _set_scale_bias(rest: bytes, scale_bias: bool) -> bytes:
    """A layer's encoding with batch_norm_param's scale and bias set as told, else the same."""
    old = b"".join(bytes(field.content) for field in wire.fields(memoryview(rest))
                   if field.number == _LAYER_BATCH_NORM)
    param = _drop(old, _SCALE_FILLER, _BIAS_FILLER, _SCALE_BIAS)
    if scale_bias:
        param += wire.encoded_varint(_SCALE_BIAS, 1)
    encoded = wire.encoded(_LAYER_BATCH_NORM, param) if param else b""
    return _drop(rest, _LAYER_BATCH_NORM) + encoded


def _new_scale(change: _Change) -> ModelLayer:
    rest = b"".join([wire.encoded(LAYER_NAME, change.scale_name.encode()),
                     wire.encoded(LAYER_TYPE, b"Scale"),
                     wire.encoded(LAYER_BOTTOM, change.top.encode()),
                     wire.encoded(LAYER_TOP, change.top.encode()),
                     wire.encoded(_LAYER_SCALE, wire.encoded_varint(_SCALE_BIAS_TERM, 1))])
    return ModelLayer("today", change.scale_name, "Scale", rest)
