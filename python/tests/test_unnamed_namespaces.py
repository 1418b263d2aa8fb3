"""Files of a folder are compiled together in groups, so that what they name for themselves must differ.

That is: what stands in unnamed namespaces, static functions, constants, and aliases outside of classes.
Which files share a group changes with every new one; so the names of a whole folder are held against each
other, and against those of the library's headers that its files include.
"""
import collections
import functools
import re

import pytest
from documents import ROOT

if not (ROOT / "src").exists():
    pytest.skip("needs the source tree", allow_module_level=True)

#: Folders below which nothing is compiled together, or files are programs of their own.
APART = ("src/caffe/cuda", "src/caffe/kernels/cuda", "src/caffe/inference/backends/cuda", "src/caffe/openmp_settings",
         "src/caffe/test/consumer", "src/caffe/test/old_programs")

TOKEN = re.compile(r"""
    //(?:\\\n|[^\n])* | /\*.*?\*/ | ^[ \t]*\#(?:\\\n|[^\n])*       # what is no code
    | R"(?P<end>[^(\s]*)\(.*?\)(?P=end)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
    | [A-Za-z_]\w* | \d[\w.']* | :: | -> | && | \S""", re.VERBOSE | re.DOTALL | re.MULTILINE)
CLOSES = {"(": ")", "[": "]", "{": "}", "<": ">"}
CLASSES = {"struct", "class", "enum", "union"}
#: Whose callers find all of them by the argument's type.
FOUND_BY_ARGUMENT = {"PrintTo"}

#: `what` is "function", "type", "variable", "alias", "using" or "macro"; `text` tells two of a name apart.
Name = collections.namedtuple("Name", "namespace name what text local")


def tokens(text):
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith(("//", "/*")) or token.lstrip().startswith("#"):
            continue
        is_literal = len(token) > 1 and token[0] in "\"'R" and token[-1] in "\"'"
        yield '""' if is_literal else token


def after(code, begin):
    """Where what is in the brackets that open at `begin` has ended."""
    opening, closing, depth, i = code[begin], CLOSES[code[begin]], 0, begin
    while i < len(code):
        if code[i] == opening:
            depth += 1
        elif code[i] == closing:
            depth -= 1
            if depth == 0:
                return i + 1
        elif opening == "<" and code[i] == "(":
            i = after(code, i)
            continue
        i += 1
    return i


def without_template(code):
    while code[:2] == ["template", "<"]:
        code = code[after(code, 1):]
    return code


def parameters(code):
    """Where the parameters of the function that `code` declares begin, or None."""
    i = 0
    while i < len(code) and code[i] != "=":
        if code[i] == "(":
            return i
        i = after(code, i) if code[i] == "<" else i + 1
    return None


def is_function(code):
    code = without_template(code)
    if not code or code[0] in ("using", "typedef") or (CLASSES & set(code[:2]) and "(" not in code):
        return False
    return "operator" in code or parameters(code) is not None


def declarations(code):
    """(namespaces, declaration) of what stands in namespaces; braces of bodies are one token."""
    namespaces, found, i = [], [], 0
    while i < len(code):
        token = code[i]
        if token == "namespace" and found in ([], ["inline"]):
            end = next(j for j in range(i, len(code)) if code[j] in "{;=")
            if code[end] == "{":
                namespaces.append("".join(code[i + 1:end]))
                i = end + 1
            else:  # an alias
                i = code.index(";", end) + 1
            found = []
        elif code[i:i + 3] == ["extern", '""', "{"]:
            namespaces.append('extern "C"')
            i += 3
        elif token == "}":
            namespaces.pop()
            found = []
            i += 1
        elif token == ";":
            if found:
                yield tuple(namespaces), found
            found = []
            i += 1
        elif token == "{":
            end = after(code, i)
            if found[:1] == ["enum"] and "class" not in found[:2]:  # its names are names outside of it, too
                for name in variables(code[i + 1:end - 1]):
                    if name:
                        yield tuple(namespaces), ["const", "int", name]
            i = end
            found.append("{}")
            if is_function(found[:-1]) and code[i:i + 1] not in ([","], ["{"]):  # no initializer of a member
                yield tuple(namespaces), found
                found = []
        elif token in "([":
            end = after(code, i)
            found += code[i:end]
            i = end
        else:
            found.append(token)
            i += 1


def variables(code):
    """The names that a declaration of variables declares."""
    name, in_name, i = None, True, 0
    while i < len(code):
        token = code[i]
        if token == "<" and in_name or token in "([":
            in_name = in_name and token == "<"
            i = after(code, i)
            continue
        if token == ",":
            yield name
            name, in_name = None, True
        elif token in ("=", "{}"):
            in_name = False
        elif in_name and re.match(r"[A-Za-z_]", token):
            name = None if code[i - 1] == "::" and i else token
        i += 1
    yield name


def named(declaration):
    """(name, what, text) of each that a declaration names; nothing for members and specializations."""
    code = without_template(declaration)
    if not code or code[0] in ("static_assert", "friend", "extern", "template") or declaration[:3] == [
            "template", "<", ">"]:
        return
    if code[0] == "using":
        is_alias = "=" in code
        yield code[1] if is_alias else code[-1], "alias" if is_alias else "using", " ".join(code)
    elif code[0] == "typedef":
        yield code[-1], "alias", " ".join(code)
    elif is_function(code):
        begin = None if "operator" in code else parameters(code)
        if begin and begin > 1 and code[begin - 1] != ">" and code[begin - 2] != "::":  # no macro, no member
            yield code[begin - 1], "function", " ".join(code[begin:after(code, begin)])
    elif CLASSES & set(code[:3]) and "=" not in code:
        at = next(i for i in range(3) if code[i] in CLASSES)
        at += 2 if code[at + 1] == "class" else 1
        if "{}" not in code or code[at:at + 1] == ["{}"] or code[at + 1] in ("<", "::"):
            return
        yield code[at], "type", ""
    else:
        for name in variables(code):
            if name:
                yield name, "variable", ""


def is_local(namespaces, declaration):
    """Whether nothing outside of the file can mean it."""
    code = without_template(declaration)
    if "" in namespaces or code[:1] == ["using"] or "static" in code[:3]:
        return True
    is_constant = code[:1] == ["const"] and "*" not in code[:4] or "constexpr" in code[:2]
    return is_constant and "inline" not in code[:3] and not is_function(code)


@functools.lru_cache(None)
def names(path):
    text = path.read_text(encoding="utf-8")
    found = set()
    for namespaces, declaration in declarations(list(tokens(text))):
        local = is_local(namespaces, declaration)
        found |= {Name("::".join(filter(None, namespaces)), name, what, detail, local)
                  for name, what, detail in named(declaration)}
    if path.suffix == ".cpp":
        defined, ended = (set(re.findall(rf"^[ \t]*#[ \t]*{directive}[ \t]+(\w+)", text, re.MULTILINE))
                          for directive in ("define", "undef"))
        found |= {Name("", name, "macro", "", True) for name in defined - ended}
    return found


@functools.lru_cache(None)
def included(path):
    """The headers of this library that a file includes."""
    headers = set()
    for header in re.findall(r'^\s*#include "([^"]+\.hpp)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        for folder in (path.parent, ROOT / "include", ROOT / "src"):
            if (folder / header).exists():
                headers.add((folder / header).resolve())
                break
    return headers


def all_included(paths):
    headers, new = set(), set(paths)
    while new:
        new = set().union(*map(included, new)) - headers
        headers |= new
    return headers


def folders():
    """The files that are, or may be, compiled together."""
    by_folder = collections.defaultdict(list)
    for path in [*(ROOT / "src" / "caffe").rglob("*.cpp"), *(ROOT / "tools").glob("*/*.cpp"),
                 *(ROOT / "python" / "caffe").glob("*.cpp")]:
        folder = path.parent.relative_to(ROOT).as_posix()
        if not folder.startswith(APART) and not path.name.endswith("_gpu.cpp") and path.name != "absent.cpp":
            by_folder[folder].append(path)
    return by_folder


def are_one(first, second):
    """Whether two declarations of a name may meet: the same alias, or the same using."""
    return first.what == second.what in ("alias", "using") and first.text == second.text


def local_names(paths):
    by_name = collections.defaultdict(list)
    for path in sorted(paths):
        for name in names(path):
            if name.local:
                by_name[name.namespace, name.name].append((path.name, name))
    return by_name


def collisions(paths):
    """A line about each name that several of these files have."""
    for (namespace, name), found in sorted(local_names(paths).items()):
        if any(a != b and not are_one(first, second) for a, first in found for b, second in found):
            yield f"{namespace}::{name}: " + ", ".join(sorted({path for path, _ in found}))


def enclosing(namespace):
    """The namespace and those around it."""
    parts = namespace.split("::")
    return ["::".join(parts[:i]) for i in range(len(parts), -1, -1)] if namespace else [""]


def collisions_of_headers(paths, headers):
    """A line about each name of a file that a header has in the same namespace or in one around it.

    A function with other parameters does not overload the header's there: it hides it, so that a call that means
    the header's, in the same file or in another of the group, no longer compiles or silently converts.
    """
    of_headers = collections.defaultdict(set)
    for header in headers:
        for name in names(header):
            of_headers[name.namespace, name.name].add((header.name, name))
    for (namespace, name), found in sorted(local_names(paths).items()):
        if name in FOUND_BY_ARGUMENT:
            continue
        hidden = {(path, header) for outer in enclosing(namespace) for header, other in of_headers[outer, name]
                  for path, own in found if own.what != "using" and not are_one(own, other)}
        for path, header in sorted(hidden):
            yield f"{namespace}::{name}: {path}, {header}"


@pytest.mark.parametrize("folder", sorted(folders()))
def test_names_differ_within_a_folder(folder):
    paths = folders()[folder]
    found = [*collisions(paths), *collisions_of_headers(paths, all_included(paths))]
    assert not found, f"{folder}: name these by what they are for\n" + "\n".join(found)


def test_the_parser_knows_what_a_file_names(tmp_path):
    source = tmp_path / "file.cpp"
    source.write_text("""
#define LEFT 1
#define ENDED 2
#undef ENDED
namespace a { namespace {
constexpr double kOne = 1, kTwo[] = {1, 2};
struct Type final : Base<int> { int member; void Function() {} };
struct Declared;
enum class Color { RED };
enum Side { kLeft = 1 << 2, kRight };
using Row = std::vector<int>;
template <typename T> class Box { T t; };
template <> class Box<int> {};
template <typename T, int n = (1 > 0)> std::map<T, int> Make(T x, int y = f({1})) { return {}; }
std::string text = R"(namespace { int not_this; })";
}  // namespace
static int Static(int x) { return x; }
const char kNamed[] = "int not_this_either;";
int Type::Member() const { return 1; }
A::A() : x{1}, y(2) {}
int shared;
inline constexpr int kShared = 1;
TEST(A, B) { int inside; }
}
""")
    found = {name.name: (name.namespace, name.what) for name in names(source) if name.local}
    assert found == {
        "LEFT": ("", "macro"), "kOne": ("a", "variable"), "kTwo": ("a", "variable"), "Type": ("a", "type"),
        "Color": ("a", "type"), "Side": ("a", "type"),
        "kLeft": ("a", "variable"), "kRight": ("a", "variable"), "Row": ("a", "alias"), "Box": ("a", "type"),
        "Make": ("a", "function"),
        "text": ("a", "variable"), "Static": ("a", "function"), "kNamed": ("a", "variable")}


def test_collisions_are_found(tmp_path):
    first, second, header = tmp_path / "first.cpp", tmp_path / "second.cpp", tmp_path / "own.hpp"
    first.write_text("namespace a { namespace { int kOne = 1; void F(int) {} using Row = int; } }")
    second.write_text("namespace a { namespace { struct F {}; using Row = int; } }")
    assert list(collisions([first])) == []
    assert list(collisions([first, second])) == ["a::F: first.cpp, second.cpp"]
    header.write_text("namespace a { int kOne(); using Row = int; }")
    assert list(collisions_of_headers([first], [header])) == ["a::kOne: first.cpp, own.hpp"]


def test_functions_that_hide_those_of_headers_are_found(tmp_path):
    source, header = tmp_path / "file.cpp", tmp_path / "own.hpp"
    source.write_text("""
namespace a::b { namespace { void Same(int) {} void Outer(int) {} void PrintTo(Own, std::ostream*) {} void Mine() {} } }
void a::b::Member() {}
""")
    header.write_text("""
namespace a { void Outer(long); namespace b { void Same(long); void PrintTo(int, std::ostream*); void Member(); } }
namespace other { void Mine(); }
""")
    assert list(collisions_of_headers([source], [header])) == [
        "a::b::Outer: file.cpp, own.hpp", "a::b::Same: file.cpp, own.hpp"]
