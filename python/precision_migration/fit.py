"""Whether weights fit a prototxt, as far as the prototxt says without running through the net.

How many channels come in is not known here; those axes are left open.
"""
from typing import Dict, List, Optional, Sequence, Tuple

from . import MigrationError
from .model import ModelLayer

Shape = Tuple[Optional[int], ...]  # None: any extent

_CONVOLUTIONS = ("Convolution", "DepthwiseConvolution", "ConvolutionDepthwise")
_WITHOUT_BLOBS = ("Concat", "Dropout", "Eltwise", "Flatten", "Input", "LRN", "Pooling", "ReLU",
                  "Reshape", "Sigmoid", "Softmax", "TanH")
_V1_CONVOLUTION, _V1_DECONVOLUTION, _V1_INNER_PRODUCT = 4, 39, 14
# Types that have weights whatever their fields say, but for Bias and Scale with two bottoms.
_WITH_WEIGHTS = frozenset("""
    BN BatchNorm Bias CenterLoss Convolution ConvolutionDepthwise Deconvolution DepthwiseConvolution
    Embed InnerDistance InnerProduct LSTM Lstm MarginInnerProduct PReLU Parameter RNN Scale
    """.split())
_V1_TYPES = {_V1_CONVOLUTION: "Convolution", _V1_DECONVOLUTION: "Deconvolution",
             _V1_INNER_PRODUCT: "InnerProduct"}


def _kernel(param) -> Optional[Shape]:
    if param.kernel_h or param.kernel_w:
        return (param.kernel_h, param.kernel_w)
    sizes = list(param.kernel_size)
    if len(sizes) == 1:
        return (sizes[0], sizes[0])
    return tuple(sizes) if sizes else None


def _outputs(param, type_: str) -> Optional[int]:
    """None: as many as there are channels."""
    own = type_ == "DepthwiseConvolution" and not param.HasField("num_output")
    return None if own or type_ == "ConvolutionDepthwise" else param.num_output


def _convolution(layer, type_: str) -> Optional[List[Shape]]:
    param = layer.convolution_param
    kernel = _kernel(param)
    if kernel is None:
        return None
    outputs = _outputs(param, type_)
    channels: Shape = (outputs, None)
    if type_ == "Deconvolution":
        channels = (None, param.num_output // max(param.group, 1))
    return [channels + kernel] + ([(outputs,)] if param.bias_term else [])


def expected(layer, type_: str) -> Optional[List[Shape]]:
    """The shapes of a layer's blobs; None where the prototxt does not say."""
    if type_ in _CONVOLUTIONS or type_ == "Deconvolution":
        return _convolution(layer, type_)
    if type_ == "InnerProduct":
        param = layer.inner_product_param
        transposed = getattr(param, "transpose", False)
        weights: Shape = (None, param.num_output) if transposed else (param.num_output, None)
        return [weights] + ([(param.num_output,)] if param.bias_term else [])
    if type_ == "Embed":
        param = layer.embed_param
        return [(param.input_dim, param.num_output)] + (
            [(param.num_output,)] if param.bias_term else [])
    return None


def _counts(layer, type_: str) -> Tuple[int, ...]:
    """How many blobs a layer may have; () where the prototxt does not say."""
    shapes = expected(layer, type_)
    if shapes is not None:
        return (len(shapes),)
    if type_ in _CONVOLUTIONS or type_ == "Deconvolution":
        return (1 + layer.convolution_param.bias_term,)
    if type_ in _WITHOUT_BLOBS:
        return (0,)
    if type_ == "BatchNorm":
        return (3, 5)  # either form is read into the other
    if type_ == "PReLU":
        return (1,)
    if type_ == "Scale" and len(layer.bottom) == 1:
        return (1 + layer.scale_param.bias_term,)
    return ()


def _fits(shape: Sequence[int], wanted: Shape) -> bool:
    """Old files give every blob four axes, with ones in front."""
    if len(shape) == 4 and len(wanted) < 4:
        extra = 4 - len(wanted)
        if any(axis != 1 for axis in shape[:extra]):
            return False
        shape = shape[extra:]
    # A deconvolution or convolution over one or three axes may have been given one kernel size.
    if len(shape) != len(wanted):
        return len(shape) > 2 and len(wanted) > 2
    return all(want is None or axis == want for axis, want in zip(shape, wanted))


def _text(shape: Sequence[Optional[int]]) -> str:
    return " x ".join("?" if axis is None else str(axis) for axis in shape) or "(scalar)"


def _misfit(where: str, stored: ModelLayer, described: tuple, prototxt: str) -> str:
    """What keeps the blobs from being those of the layer; "" if nothing does."""
    counts = _counts(*described)
    shapes = expected(*described) or []
    if counts and len(stored.blobs) not in counts:
        listed = ", ".join(_text(shape) for shape in shapes)
        return (f"{where} has {len(stored.blobs)} blobs, and in {prototxt} it has "
                f"{' or '.join(map(str, counts))}{': ' * bool(listed)}{listed}")
    for index, (blob, shape) in enumerate(zip(stored.blobs, shapes)):
        if not _fits(blob.shape, shape):
            return (f"{where}, blob {index}: its shape is {_text(blob.shape)}, and in {prototxt} "
                    f"it is {_text(shape)}")
    return ""


def check(net, layers: List[ModelLayer], model: str, prototxt: str) -> None:
    """Raises MigrationError, with the layer and both counts or shapes, if weights cannot be the
    net's.

    Of layers of one name, as those of two phases, the weights need fit one.
    """
    described: Dict[str, List[tuple]] = {}
    for layer in net.layer:
        described.setdefault(layer.name, []).append((layer, layer.type))
    for layer in net.layers:
        if not layer.HasField("layer"):
            described.setdefault(layer.name, []).append((layer, _V1_TYPES.get(layer.type, "")))
    for stored in layers:
        where = f"{model}: layer '{stored.name}'"
        misfits = [_misfit(where, stored, one, prototxt) for one in described.get(stored.name, [])]
        if misfits and all(misfits):
            raise MigrationError(f"{misfits[-1]}; these files are not of one net")


def layers_without(net, layers: List[ModelLayer]) -> List[str]:
    """The names of the net's layers that have weights and no blobs in ``layers``, each once.

    A Scale layer behind a BatchNorm of five blobs takes its weights from these.
    """
    stored = {layer.name: len(layer.blobs) for layer in layers if layer.blobs}
    found = []
    whole = set()  # tops of BatchNorm layers with five blobs
    for layer in net.layer:
        if layer.type == "BatchNorm" and stored.get(layer.name) == 5 and len(layer.top) == 1:
            whole.add(layer.top[0])
        takes_two = layer.type in ("Bias", "Scale") and len(layer.bottom) > 1
        given = layer.type == "Scale" and len(layer.bottom) == 1 and layer.bottom[0] in whole
        if layer.type in _WITH_WEIGHTS and not takes_two and not given:
            found.append(layer.name)
    found += [layer.name for layer in net.layers if layer.type in _V1_TYPES]
    return [name for name in dict.fromkeys(found) if name not in stored]
