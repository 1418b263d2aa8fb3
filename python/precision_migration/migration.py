"""Turns a net's prototxt and weights from one precision into another."""
import os
from typing import BinaryIO, List, NamedTuple

from . import MigrationError, fit, prototxt, text_fields
from .batch_norm import BatchNormPlan
from .conversion import FLOAT, FLOAT16, LayerConversion
from .model import ModelLayer, Storage, read_model

_DEFAULT_TYPES = ("default_forward_type", "default_backward_type",
                  "default_forward_math", "default_backward_math")
# What else of a net only NVCaffe has and only half precision needs.
_LOSS_SCALING = ("global_grad_scale", "global_grad_scale_adaptive", "default_cudnn_math_override")
_LAYER_TYPES = ("forward_type", "backward_type", "forward_math", "backward_math",
                "cudnn_math_override")
# Layers with kernels for FLOAT16 (`caffe layers` lists them), but for those whose parameters are
# statistics or ranges: a net keeps the parameters of all others in FLOAT.
_HALF_PARAMETERS = frozenset("""
    AbsVal Accuracy ArgMax Axpy BNLL BatchReindex Bias Clip CombinedMargin Concat Convolution
    ConvolutionDepthwise Crop CropCenter Deconvolution DepthwiseConvolution Dropout ELU Eltwise
    Embed Exp Flatten Flip FocalLoss GELU HardSwish Im2col InnerProduct Input Interp LRN LSTM
    LabelSpecificAdd Log Lstm MVN MergeCrop Normalize PReLU PSROIPooling Parameter Permute Pooling
    Power RNN ROIAlign ROIPooling ReLU ReLU6 Reduction Reorg Resample Reshape Reverse SPP Scale
    SegAccuracy ShuffleChannel Sigmoid Silence Slice Softmax SoftmaxWithLoss Split Swish TanH
    Threshold Tile Transpose UnPooling Unpooling Upsample
    """.split())
_FLOAT16_NUMBER = 2  # of the schema's enum Type

_PRECISIONS = {"fp16": FLOAT16, "float16": FLOAT16, "fp32": FLOAT, "float": FLOAT}
_MATH = {"fp16": "FLOAT16", "float16": "FLOAT16", "bf16": "BFLOAT16", "bfloat16": "BFLOAT16",
         "fp32": "FLOAT", "float": "FLOAT"}


class Options(NamedTuple):
    """What a net's files are to become."""

    to: object = FLOAT16      # FLOAT16: NVCaffe's raw form; FLOAT: BVLC's
    math: str = "FLOAT16"     # default_forward_math, default_backward_math
    clamp: bool = False       # saturate instead of overflowing
    batch_norm: str = "keep"  # of batch_norm.FORMS


def precision_named(flag: str, name: str):
    """The type called "fp16", "FLOAT16", "fp32" or "FLOAT"; MigrationError for anything else."""
    if name.lower() not in _PRECISIONS:
        raise MigrationError(f"{flag} {name}: valid are fp16 (FLOAT16) and fp32 (FLOAT)")
    return _PRECISIONS[name.lower()]


def math_named(flag: str, name: str) -> str:
    """The schema's name of the type called "fp16", "bf16", "fp32" or by that name, in any case;
    MigrationError for anything else."""
    if name.lower() not in _MATH:
        raise MigrationError(f"{flag} {name}: valid are fp16 (FLOAT16), bf16 (BFLOAT16) and fp32 "
                             "(FLOAT)")
    return _MATH[name.lower()]


def _is_inserted(layer: ModelLayer) -> bool:
    """True for the layers that training in integers puts in, which no prototxt names."""
    ending = "_quantization"
    return (layer.type == "FakeQuantization" and len(layer.name) > len(ending)
            and layer.name.endswith(ending))


def _quoted(names: List[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


class PrecisionMigration:
    """Converts the two files of a net to another precision.

    To FLOAT16: the prototxt gets the four default types; the weights become raw_data. Parameters
    that the net keeps in FLOAT stay FLOAT: batch normalization's, those of layers without kernels
    for FLOAT16 (Python layers, and types that are not known here, too), and those of layers that
    say forward_type: FLOAT or DOUBLE.
    To FLOAT: everything becomes `data`, and the fields of half precision leave the prototxt, so
    that BVLC Caffe reads both.
    """

    def __init__(self, input_: str, model: str, options: Options):
        self.options = options
        text, self.net = prototxt.read(input_)
        self.notes: List[str] = []
        self.model = read_model(model, prototxt.identities(self.net))
        self._check_names(input_, model)
        fit.check(self.net, self.model.layers, model, input_)
        plan = BatchNormPlan(self.net, options.batch_norm)
        self.notes += plan.notes
        try:
            self.prototxt = self._edited(text, plan)
        except MigrationError as error:
            raise MigrationError(f"{input_}: {error}") from None
        try:
            plan.edit_weights(self.model.layers)
        except MigrationError as error:
            raise MigrationError(f"{model}: {error}") from None

    def _check_names(self, input_: str, model: str) -> None:
        known = {layer.name for layer in prototxt.identities(self.net)}
        with_weights = [layer.name for layer in self.model.layers if layer.blobs]
        strangers = [name for name in with_weights if name not in known]
        if not with_weights:
            raise MigrationError(f"{model}: no layer has weights in it")
        if len(strangers) == len(with_weights):
            raise MigrationError(f"{model}: no layer with weights is called like one of {input_} "
                                 f"(the first is '{strangers[0]}'): are these files of one net?")
        inserted = {layer.name for layer in self.model.layers if _is_inserted(layer)}
        untold = [name for name in strangers if name not in inserted]
        if untold:
            self.notes.append(f"layers with weights that {input_} has not, converted all the same: "
                              f"{_quoted(untold)}")
        without = fit.layers_without(self.net, self.model.layers)
        if without:
            self.notes.append(f"layers of {input_} that have no weights in {model} and keep their "
                              f"fillers' values: {_quoted(without)}")

    def _edited(self, text: str, plan: BatchNormPlan) -> str:
        fields = text_fields.scan(text)
        edits = text_fields.TextEdits(text)

        def remove(found: List[text_fields.TextField], names) -> None:
            for name in names:
                for field in text_fields.named(found, name):
                    edits.remove(field)

        remove(fields, _DEFAULT_TYPES)
        if self.options.to == FLOAT16:
            math = self.options.math
            edits.insert_at_head(fields, "".join(
                f"{name}: {math if 'math' in name else 'FLOAT16'}\n" for name in _DEFAULT_TYPES))
        else:
            remove(fields, _LOSS_SCALING)
            for layer in text_fields.named(fields, "layer"):
                remove(layer.fields, _LAYER_TYPES)
        plan.edit_text(text, fields, edits)
        return edits.apply()

    def _storage(self, layer: ModelLayer) -> Storage:
        if self.options.to == FLOAT:
            return Storage(FLOAT, False, self.options.clamp)
        type_ = layer.type
        stays = False
        for described in self.net.layer:
            if described.name == layer.name:
                type_ = type_ or described.type
                stays |= (described.HasField("forward_type")
                          and described.forward_type != _FLOAT16_NUMBER)
        # Old layers' types, which are not named, all have kernels for FLOAT16.
        stays |= bool(type_) and type_ not in _HALF_PARAMETERS
        return Storage(FLOAT if stays else FLOAT16, True, self.options.clamp)

    def write_model(self, file: BinaryIO) -> List[LayerConversion]:
        """Writes the new weights; returns what happened to each layer's."""
        return self.model.write(self._storage, file)


class OutputFile:
    """A file written aside and renamed by ``commit``, so that a failure leaves the old one."""

    def __init__(self, path: str):
        self.path = os.path.realpath(path)
        self._temporary = f"{self.path}.tmp.{os.getpid()}"
        if os.path.isdir(self.path):
            raise MigrationError(f"{path}: is a directory; name a file to write")
        try:
            self._file = open(self._temporary, "wb")
        except OSError as error:
            raise MigrationError(f"{path}: cannot be written ({error.strerror})") from None

    def __enter__(self) -> "OutputFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if os.path.exists(self._temporary):
            os.unlink(self._temporary)

    def write(self, contents: bytes) -> None:
        try:
            self._file.write(contents)
        except OSError as error:
            raise MigrationError(f"{self.path}: writing failed ({error.strerror})") from None

    def commit(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._temporary, self.path)
