"""Stubs and annotations say what there is: _caffe.pyi next to the compiled module, and every public
function of the modules in Python."""
import ast
import importlib
import inspect
import pathlib
import pkgutil
import re

import caffe
import pytest

PACKAGE = pathlib.Path(caffe.__file__).parent
MODULE = caffe._pycaffe._caffe


def public(names):
    return {name for name in names if not name.startswith("_") or name == "__init__"}


def read_stubs():
    """By class ("" for the module): names, and of functions the names of their arguments, once for
    each overload; None for what is not a function."""
    stubs = {"": {}}

    def read(body, owner):
        for node in body:
            if isinstance(node, ast.FunctionDef):
                is_property = any(getattr(d, "id", "") == "property" for d in node.decorator_list)
                is_static = any(getattr(d, "id", "") == "staticmethod" for d in node.decorator_list)
                arguments = [a.arg for a in node.args.args]
                arguments = arguments if owner == "" or is_static else arguments[1:]
                arguments += [a.arg for a in node.args.kwonlyargs]
                arguments += ["*" for a in (node.args.vararg, node.args.kwarg) if a]
                overloads = stubs[owner].setdefault(node.name, None if is_property else [])
                if not is_property:
                    overloads.append(arguments)
            elif isinstance(node, ast.AnnAssign):
                stubs[owner][node.target.id] = None

    tree = ast.parse((PACKAGE / "_caffe.pyi").read_text())
    read(tree.body, "")
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stubs[node.name] = {}
            read(node.body, node.name)
    return stubs


STUBS = read_stubs()


def arguments_of(function, is_method):
    """The names of a compiled function's arguments, once for each overload, as its docstring has
    them."""
    overloads = []
    for arguments in re.findall(r"^(?:\d+\. )?\w+\((.*)\) -> ", function.__doc__, re.MULTILINE):
        names = re.findall(r"(?:^|, )(\*{0,2}\w+)(?=[:,]|$)", arguments)
        names = ["*" if name.startswith("*") else name for name in names]
        overloads.append(names[1:] if is_method else names)
    return overloads


def test_of_the_module_name_what_there_is():
    there = public(vars(MODULE))
    stubbed = public(STUBS[""]) | {name for name in STUBS if name}
    assert there - stubbed == set(), "not in _caffe.pyi"
    assert stubbed - there - {"__version__"} == set(), "in _caffe.pyi only"


def classes():
    return [name for name, thing in vars(MODULE).items()
            if isinstance(thing, type) and thing is not caffe.Error and not name.startswith("_")]


@pytest.mark.parametrize("name", classes())
def test_of_classes_name_their_members(name):
    there = {member for member in public(vars(getattr(MODULE, name)))}
    stubbed = public(STUBS[name])
    methods_of_users = {"Layer": {"forward", "backward", "param_str", "param_str_", "phase"}}
    assert there - stubbed - {"__init__"} == set(), f"of {name}, not in _caffe.pyi"
    only_stubbed = stubbed - there - methods_of_users.get(name, set())
    assert only_stubbed == set(), f"of {name}, in _caffe.pyi only"


def functions():
    for name, thing in vars(MODULE).items():
        if name.startswith("_"):
            continue
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if callable(value) and (not member.startswith("_") or member == "__init__"):
                    yield name, member, value
        elif callable(thing):
            yield "", name, thing


@pytest.mark.parametrize("owner, name, function", list(functions()),
                         ids=lambda value: value if isinstance(value, str) else "")
def test_of_functions_name_their_arguments(owner, name, function):
    if isinstance(function, staticmethod):
        documented = arguments_of(getattr(getattr(MODULE, owner), name), False)
    else:
        documented = arguments_of(function, bool(owner))
    if not documented:
        pytest.skip("no signature to compare with")
    stubbed = STUBS[owner].get(name)
    assert stubbed is not None, f"{owner}.{name} is not in _caffe.pyi"
    for overload in documented:
        assert overload in stubbed, f"{owner}.{name}: {documented}, in _caffe.pyi {stubbed}"


def modules():
    """The modules in Python, but for the exporters' parts."""
    names = [info.name for info in pkgutil.walk_packages(caffe.__path__, "caffe.")]
    return sorted(name for name in names
                  if not name.rsplit(".", 1)[1].startswith("_") and "caffe_pb2" not in name
                  and not name.startswith(("caffe.onnx.", "caffe.tflite.")))


def public_functions(module):
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            yield name, thing
            for member, value in vars(thing).items():
                function = value.fget if isinstance(value, property) else getattr(
                    value, "__func__", value)
                if inspect.isfunction(function) and not member.startswith("_"):
                    yield f"{name}.{member}", function


@pytest.mark.parametrize("name", modules())
def test_what_is_public_in_python_is_documented_and_annotated(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    for what, thing in public_functions(module):
        assert (thing.__doc__ or "").strip(), f"{name}.{what} has no docstring"
        if inspect.isfunction(thing):
            parameters = [p for p in inspect.signature(thing).parameters.values()
                          if p.name not in ("self", "cls")]
            missing = [p.name for p in parameters if p.annotation is p.empty]
            assert not missing, f"{name}.{what} has arguments without types: {missing}"
            assert "return" in thing.__annotations__, f"{name}.{what} does not say what it returns"


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").exists()
