"""Reading a prototxt of any age, and what the tool needs of it."""
import re
from typing import List, Tuple

from . import MigrationError, caffe_modules
from .model import LayerIdentity

# Of the schema's enum Type, which stored blobs use too, those that layers store and multiply in.
_STORED_TYPES = ["FLOAT", "FLOAT16", "DOUBLE"]
_MATH_TYPES = ["FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE"]


def load_schema():
    """The module ``caffe.proto.caffe_pb2``; protobuf takes a schema once."""
    return caffe_modules.load("proto.caffe_pb2")


def _explain(error, net, text: str) -> str:
    """protobuf's message, with the valid names where a value is not one of an enum's."""
    message = str(error).rstrip(".")
    found = re.search(r'Enum type "([\w.]+)" has no value named (\w+)', message)
    if found is None:
        return message
    enum = net.DESCRIPTOR.file.pool.FindEnumTypeByName(found.group(1))
    names = [value.name for value in enum.values]
    if enum.full_name == "caffe.Type":
        line = text.split("\n")[error.GetLine() - 1]
        is_math = re.search(rf"_math\s*:\s*{found.group(2)}", line)
        names = _MATH_TYPES if is_math else _STORED_TYPES
    return f"{message}; valid are {', '.join(names)}"


def read(name: str) -> Tuple[str, object]:
    """The text of a prototxt (no byte order mark) and the NetParameter that it says."""
    from google.protobuf import text_format

    with open(name, "rb") as file:
        contents = file.read()
    if not contents:
        raise MigrationError(f"{name}: the file is empty")
    if b"\0" in contents:
        raise MigrationError(f"{name}: a text file (prototxt) is needed, and this one is binary")
    if contents.startswith(b"\xef\xbb\xbf"):
        contents = contents[3:]
    net = load_schema().NetParameter()
    try:
        # Comments may be in any encoding.
        text = contents.decode("utf-8", "replace")
        text_format.Parse(text, net)
    except text_format.ParseError as error:
        raise MigrationError(f"{name}:{_explain(error, net, text)}") from None
    return contents.decode("utf-8", "surrogateescape"), net


def identities(net) -> List[LayerIdentity]:
    """The layers of a prototxt of any age."""
    found = [LayerIdentity(layer.name, layer.type, list(layer.bottom), list(layer.top),
                           [param.name for param in layer.param]) for layer in net.layer]
    for layer in net.layers:
        name = layer.layer.name if layer.HasField("layer") else layer.name
        found.append(LayerIdentity(name, "", list(layer.bottom), list(layer.top),
                                   list(layer.param)))
    return found
