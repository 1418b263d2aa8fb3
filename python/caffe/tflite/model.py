"""A LiteRT model while it grows, and its bytes.

Tensors and operators are those of LiteRT's schema (package ``tflite``); ``flatbuffers`` writes
them.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ..onnx.errors import ExportError

SCHEMA_VERSION = 3
_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # of the bytes of constants, as the schema demands
_LARGEST_FILE = (1 << 31) - 1  # offsets are 32 bits with a sign
_TYPES = {"int8": "INT8", "uint8": "UINT8", "int32": "INT32", "float32": "FLOAT32"}


def import_packages() -> Tuple[Any, Any]:
    """The packages flatbuffers and tflite. Raises ExportError if one is not installed."""
    try:
        import flatbuffers
        import tflite
    except ImportError as error:
        raise ExportError("the packages flatbuffers and tflite write the model and are not both "
                          f"installed: pip install flatbuffers tflite ({error})") from error
    return flatbuffers, tflite


@dataclass(frozen=True)
class Quantization:
    """Real numbers are scale (q - zero point), with one scale or one for each index of `axis`."""
    scales: Tuple[float, ...]
    zero_point: int = 0
    axis: int = 0


@dataclass(frozen=True)
class Tensor:
    """One tensor of the model; ``index`` is its place in the file."""
    index: int
    name: str
    shape: Tuple[int, ...]
    dtype: np.dtype
    quantization: Optional[Quantization] = None
    data: Optional[np.ndarray] = field(default=None, compare=False)

    @property
    def scale(self) -> float:
        assert self.quantization is not None
        return self.quantization.scales[0]

    @property
    def zero_point(self) -> int:
        assert self.quantization is not None
        return self.quantization.zero_point


@dataclass
class Operator:
    """``name`` as in the schema's BuiltinOperator; ``options`` are the fields of its table."""
    name: str
    version: int
    inputs: List[int]
    outputs: List[int]
    table: str
    options: Dict[str, Any]


class Model:
    """Collects tensors and operators, and writes them."""

    def __init__(self, name: str) -> None:
        self._flatbuffers, self.schema = import_packages()
        self.name = name
        self.tensors: List[Tensor] = []
        self.operators: List[Operator] = []
        self.inputs: List[Tensor] = []
        self.outputs: List[Tensor] = []
        self._names: Dict[str, int] = {}

    def tensor(self, name: str, shape: Sequence[int], dtype: Any = np.int8,
               quantization: Optional[Quantization] = None,
               data: Optional[np.ndarray] = None) -> Tensor:
        """A new tensor; its name gets a number where it is taken."""
        number = self._names[name] = self._names.get(name, 0) + 1
        made = Tensor(len(self.tensors), name if number == 1 else f"{name}_{number}",
                      tuple(int(extent) for extent in shape), np.dtype(dtype), quantization, data)
        self.tensors.append(made)
        return made

    def constant(self, name: str, array: Any, dtype: Any = np.int32,
                 quantization: Optional[Quantization] = None) -> Tensor:
        values = np.ascontiguousarray(np.asarray(array, dtype)).reshape(np.shape(array))
        return self.tensor(name, values.shape, dtype, quantization, values)

    def operator(self, name: str, version: int, inputs: Sequence[Optional[Tensor]],
                 outputs: Sequence[Tensor], table: str = "", **options: Any) -> None:
        """Adds an operator; an input None is one that is left out."""
        self.operators.append(
            Operator(name, version, [-1 if one is None else one.index for one in inputs],
                     [one.index for one in outputs], table, options))

    def to_bytes(self) -> bytes:
        """The file. Raises ExportError where it would be larger than the format allows."""
        size = sum(one.data.nbytes for one in self.tensors if one.data is not None)
        if size > _LARGEST_FILE - (1 << 20):
            raise ExportError(f"the weights have {size} bytes: a LiteRT file ends at 2 GB")
        return _Writer(self, self._flatbuffers).write()


class _Writer:
    """Puts a model into a FlatBuffer, whose parts are written before what refers to them."""

    def __init__(self, model: Model, flatbuffers: Any) -> None:
        self._model = model
        self._schema = model.schema
        self._builder = flatbuffers.Builder(1 << 16)
        self._codes: List[Tuple[str, int]] = []
        self._buffers: List[int] = []

    def write(self) -> bytes:
        self._add_buffer(None)  # number 0 stands for tensors without data
        graph = self._graph()
        codes = [self._operator_code(name, version) for name, version in self._codes]
        model = self._table(
            "Model", Version=SCHEMA_VERSION, Subgraphs=self._offsets([graph]),
            OperatorCodes=self._offsets(codes), Buffers=self._offsets(self._buffers),
            Description=self._builder.CreateString("written by Cortado"))
        self._builder.Finish(model, _IDENTIFIER)
        return bytes(self._builder.Output())

    def _table(self, name: str, **fields: Any) -> int:
        """A table of the schema. Vectors and strings are given as offsets."""
        getattr(self._schema, f"{name}Start")(self._builder)
        for field_name, value in fields.items():
            if value is not None:
                getattr(self._schema, f"{name}Add{field_name}")(self._builder, value)
        return getattr(self._schema, f"{name}End")(self._builder)

    def _offsets(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return self._builder.EndVector()

    def _numbers(self, numbers: Sequence[Any], dtype: Any) -> int:
        return self._builder.CreateNumpyVector(np.array(numbers, dtype))

    def _add_buffer(self, data: Optional[np.ndarray]) -> int:
        vector = None
        if data is not None:
            content = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
            # CreateByteVector does not align what it writes; the second vector is placed inside of
            # what the first one has aligned.
            self._builder.StartVector(1, len(content), _ALIGNMENT)
            self._builder.head -= len(content)
            self._builder.Bytes[self._builder.head:self._builder.head + len(content)] = content
            vector = self._builder.EndVector()
        self._buffers.append(self._table("Buffer", Data=vector))
        return len(self._buffers) - 1

    def _graph(self) -> int:
        model = self._model
        tensors = [self._tensor(one) for one in model.tensors]
        operators = [self._operator(one) for one in model.operators]
        return self._table(
            "SubGraph", Tensors=self._offsets(tensors),
            Inputs=self._numbers([one.index for one in model.inputs], np.int32),
            Outputs=self._numbers([one.index for one in model.outputs], np.int32),
            Operators=self._offsets(operators), Name=self._builder.CreateString(model.name))

    def _tensor(self, tensor: Tensor) -> int:
        number = 0 if tensor.data is None else self._add_buffer(tensor.data)
        quantization = tensor.quantization and self._quantization(tensor.quantization)
        return self._table(
            "Tensor", Shape=self._numbers(tensor.shape, np.int32),
            Type=getattr(self._schema.TensorType, _TYPES[tensor.dtype.name]), Buffer=number,
            Name=self._builder.CreateString(tensor.name), Quantization=quantization)

    def _quantization(self, quantization: Quantization) -> int:
        scales = quantization.scales
        zero_points = [quantization.zero_point] * len(scales)
        return self._table("QuantizationParameters", Scale=self._numbers(scales, np.float32),
                           ZeroPoint=self._numbers(zero_points, np.int64),
                           QuantizedDimension=quantization.axis)

    def _operator(self, operator: Operator) -> int:
        code = (operator.name, operator.version)
        if code not in self._codes:
            self._codes.append(code)
        options, kind = None, 0
        if operator.table:
            fields = {name: self._numbers(value, np.int32) if isinstance(value, list) else value
                      for name, value in operator.options.items()}
            options = self._table(operator.table, **fields)
            kind = getattr(self._schema.BuiltinOptions, operator.table)
        return self._table("Operator", OpcodeIndex=self._codes.index(code),
                           Inputs=self._numbers(operator.inputs, np.int32),
                           Outputs=self._numbers(operator.outputs, np.int32),
                           BuiltinOptionsType=kind, BuiltinOptions=options)

    def _operator_code(self, name: str, version: int) -> int:
        number = getattr(self._schema.BuiltinOperator, name)
        # Readers from before number 127 was passed look at the older field, one byte wide.
        return self._table("OperatorCode", DeprecatedBuiltinCode=min(number, 127), Version=version,
                           BuiltinCode=number)
