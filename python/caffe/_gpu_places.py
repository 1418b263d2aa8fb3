"""Where tensors lie in a GPU's memory: what ``ExecutionContext.enqueue_on`` takes."""
import operator
from typing import Any, List, Mapping, Optional, Sequence, Tuple

#: CUDA's default stream, as __cuda_array_interface__ names it.
_DEFAULT_STREAM = 1


def handle_of(stream: Any) -> int:
    """A stream's handle. Raises TypeError for what is not an integer."""
    try:
        handle = operator.index(stream)
    except TypeError:
        raise TypeError("a stream is given by its handle, an integer (stream.cuda_stream of "
                        "PyTorch, stream.ptr of CuPy), not as a "
                        f"{_type_name(stream)}") from None
    if handle < 0:
        raise ValueError(f"{handle} is not a stream's handle")
    return handle


class Place:
    """Where one input or output lies: the address, and the streams that may be at work there."""

    def __init__(self, binding: str, given: Any, shape: Sequence[int], is_output: bool) -> None:
        self._binding = binding
        self.producers: List[int] = []
        interface = getattr(given, "__cuda_array_interface__", None)
        if interface is None:
            self.address = self._integer(given)
        else:
            self.address = self._checked(interface, tuple(shape), is_output)

    def _integer(self, given: Any) -> int:
        try:
            address = operator.index(given)
        except TypeError:
            raise TypeError(f"{self._binding} takes a tensor on the GPU, with "
                            "__cuda_array_interface__, or the address of one, not "
                            f"a {_type_name(given)}") from None
        if address <= 0:
            raise ValueError(f"{self._binding} cannot lie at the address {address}")
        return address

    def _checked(self, interface: Mapping[str, Any], shape: Tuple[int, ...],
                 is_output: bool) -> int:
        given = tuple(interface["shape"])
        if interface["typestr"] != "<f4":
            raise TypeError(f"{self._binding} takes float32 (<f4), the tensor has "
                            f"{interface['typestr']}")
        if given != shape:
            raise ValueError(f"{self._binding} has shape {shape}, the tensor has {given}: "
                             "set_batch or set_input_shape changes it")
        strides = interface.get("strides")
        if strides is not None and not _is_dense(shape, strides):
            raise ValueError(f"{self._binding} takes a contiguous tensor, this one's strides are "
                             f"{tuple(strides)} bytes where {_dense_strides(shape)} would be")
        if interface.get("mask") is not None:
            raise ValueError(f"{self._binding} takes no tensor with a mask")
        address, read_only = interface["data"]
        if is_output and read_only:
            raise ValueError(f"{self._binding} would be written, and the tensor is read-only")
        self._wait_for(interface.get("stream"))
        return address or 0

    # None: nothing is under way.
    def _wait_for(self, stream: Optional[int]) -> None:
        if stream is not None:
            self.producers.append(0 if stream == _DEFAULT_STREAM else stream)


def _dense_strides(shape: Sequence[int]) -> Tuple[int, ...]:
    strides, stride = [], 4
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))


# It does not matter how far apart the elements of an axis are of which there is one.
def _is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    return all(extent <= 1 or stride == dense
               for extent, stride, dense in zip(shape, strides, _dense_strides(shape)))


def _type_name(given: Any) -> str:
    return f"{type(given).__module__}.{type(given).__qualname__}"
