"""Every layer type, pass, activation and kernel is in all the places that docs/maintainers.md names."""
import re

import caffe
import pytest
from documents import ROOT

from caffe.onnx.layer import EXPORTERS

if not (ROOT / "docs").exists():
    pytest.skip("needs the source tree", allow_module_level=True)

TESTS = "src/caffe/test"

#: Exporters without a case in the tests so far.
UNTESTED_EXPORTERS = {"FocalLoss", "HDF5Output", "MarginInnerProduct", "SigmoidCrossEntropyLoss",
                      "SoftmaxWithLossOHEM", "Unpooling"}


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def all_text(pattern):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(pattern)))


class Place:
    """Where a name has to stand: a file that a pattern with the name in it has to fit, so often."""

    def __init__(self, name, content, pattern, remedy, times=1):
        self.name, self.content, self.pattern = name, content, pattern
        self.remedy, self.times = remedy, times

    def lacks(self, name):
        found = re.findall(self.pattern.replace("NAME", re.escape(name)), self.content, re.MULTILINE)
        return len(found) < self.times


def missing(kind, names, places):
    """A line for each place that a name lacks."""
    return [f"{kind} {name}: {place.name}: {place.remedy}"
            for name in names for place in places if place.lacks(name)]


def report(lines):
    assert not lines, "\n" + "\n".join(lines)


def layer_places():
    layers = "\n".join(path.read_text(encoding="utf-8")
                       for path in sorted((ROOT / "src/caffe/layers").rglob("*.cpp"))
                       if "OperationTable::Add" in path.read_text(encoding="utf-8"))
    return [
        Place("src/caffe/layers/", layers, r'"NAME"', "add an Operation to the table next to the layer"),
        Place("docs/layers.md", text("docs/layers.md"), r"^\| NAME \|", "write what `caffe layers` prints"),
        Place(TESTS, all_text(f"{TESTS}/**/*.[ch]pp"), r"""type: ?['"]NAME['"]""",
              "add a case to the harness (INSTANTIATE_TEST_SUITE_P(..., LayerCases, ...))"),
        Place("python/caffe/onnx/", all_text("python/caffe/onnx/**/*.py"), r"""["']NAME["']""",
              "write an @exports function in layers/, or name the type among those that training needs or"
              " that have no ONNX form"),
    ]


def exporter_places():
    return [Place("python/tests/", all_text("python/tests/test_onnx*.py") + all_text("python/tests/onnx_support.py"),
                  r"""["']NAME["']""", "add a case to test_onnx_layers.py")]


def passes():
    """Names of passes with the functions that they are, of those that need nothing but the graph."""
    return re.findall(r'^      \{"(\w+)",(?:(?!^      \{).)*?\bOf<(\w+)>', text("src/caffe/inference/passes/passes.cpp"),
                      re.DOTALL | re.MULTILINE)


def build_passes():
    """The same of those that depend on what is built."""
    rows = re.findall(r'^      \{("\w+",.*?)\},$', text("src/caffe/inference/passes/passes.cpp"), re.DOTALL | re.MULTILINE)
    return [(re.match(r'"(\w+)"', row)[1], re.search(r'"\s*,\s*(\w+)(?:,|$)', row)[1])
            for row in rows if "Of<" not in row]


def pass_places(function):
    sources = "\n".join(path.read_text(encoding="utf-8")
                        for path in sorted((ROOT / "src/caffe/inference/passes").glob("*.cpp"))
                        if path.name != "passes.cpp")
    tests = all_text(f"{TESTS}/inference/test_inference_*.cpp") + all_text(f"{TESTS}/inference/test_*plan*.cpp")
    return [
        Place("src/caffe/inference/passes/passes.hpp", text("src/caffe/inference/passes/passes.hpp"),
              rf"\b{function}\(", f"declare {function}"),
        Place("src/caffe/inference/passes/", sources, rf"^Graph {function}\(", f"define {function} in a file of its own"),
        Place("docs/optimizer.md", text("docs/optimizer.md"), r"^\| `NAME` \|",
              "add a row to \"What the passes do\""),
        Place(TESTS, tests, rf'\b{function}\b|"NAME"', "add tests to test_inference_passes.cpp"),
    ]


def kinds(header, struct):
    """The values of an enum Kind within a struct."""
    body = re.search(rf"struct {struct} \{{\s*enum Kind \{{(.*?)\}};", text(header), re.DOTALL)[1]
    return [name for name in re.findall(r"^\s*(\w+)", body, re.MULTILINE) if name != "NONE"]


def fused_kinds():
    """Those that AsPostOp gives, less those that tiles compute with a clamp or a slope."""
    body = re.search(r"AsPostOp\(const Activation& f\) \{(.*?)return f;", text("src/caffe/kernels/cpu/elementwise/activation.cpp"),
                     re.DOTALL)[1]
    return [kind for kind in re.findall(r"case Activation::(\w+):", body)
            if kind not in ("NONE", "RELU", "CLIP", "PRELU")]


def case(path, times, remedy):
    return Place(path, text(path), r"(?:Activation|Kind)::NAME\b", remedy, times)


def activation_places():
    cpu, gpu = "src/caffe/kernels/cpu/elementwise/activation.cpp", "src/caffe/kernels/cuda/activation.cu"
    test = f"{TESTS}/kernels/test_activation_kernels.cpp"
    return [case(cpu, 3, "compute the value, the derivative and ValueOf"),
            case(gpu, 2, "compute the value and the derivative"),
            case("src/caffe/onednn/activation.cpp", 1,
                 "name oneDNN's algorithm, or break: the switch has no default"),
            Place(test, text(test), r"Activation::NAME\b", "compare it with its formula")]


def fused_places():
    return [case("src/caffe/kernels/cpu/simd/smooth_activations.inc", 1, "compute it on numbers from registers"),
            case("src/caffe/kernels/cuda/lanes.hpp", 1, "compute it on a GPU"),
            case(f"{TESTS}/support/engine_values.hpp", 1, "compute it slowly, for the tests of engines")]


SIMD = "src/caffe/kernels/cpu/simd"


def kernel_families():
    """Tables of functions that are compiled once for each instruction set."""
    return sorted(re.findall(r"^set\((\w+)_loops [\w/]+\)", text("cmake/Kernels.cmake"), re.MULTILINE))


def family_places():
    rows = "\n".join(re.findall(r"^ *caffe_instruction_set\([^)]*\)$", text("cmake/Kernels.cmake"), re.MULTILINE))
    return [Place("cmake/Kernels.cmake", rows, r"\bNAME\b", "add it to rows caffe_instruction_set(...)"),
            Place(f"{SIMD}/instruction_set_row.hpp", text(f"{SIMD}/instruction_set_row.hpp"), r"const NAME\* ",
                  "add a column for it"),
            Place(f"{SIMD}/instruction_sets.cpp", text(f"{SIMD}/instruction_sets.cpp"), r"::kNAME\b",
                  "name it in the rows")]


def compiled_sets():
    """Instruction sets that cmake/Kernels.cmake compiles kernels for."""
    return sorted(re.findall(r"^ *caffe_instruction_set\((\w+)", text("cmake/Kernels.cmake"), re.MULTILINE))


def instruction_set_places():
    names = "\n".join(path.name for path in (ROOT / SIMD).iterdir())
    return [Place(f"{SIMD}/", names, r"^simd_NAME\.hpp$", "write simd_NAME.hpp: its vector primitives"),
            Place(f"{SIMD}/instruction_sets.cpp", text(f"{SIMD}/instruction_sets.cpp"), r'^ *\{"NAME",',
                  "add its row"),
            Place("cmake/Kernels.cmake", text("cmake/Kernels.cmake"), r"^ *caffe_instruction_set\(NAME ", "add its row")]


def kernel_headers():
    return sorted(path.stem for path in (ROOT / "src/caffe/kernels").glob("*.hpp"))


def header_places():
    included = "".join(map(all_text, ("include/caffe/**/*.hpp", "src/caffe/**/*.[ch]pp")))
    return [Place("who includes it", included, r"caffe/kernels/NAME\.hpp", "nothing uses or tests it: remove it")]


def registered_types():
    """Those that the sources register: the compiled module may be older."""
    sources = all_text("src/caffe/layers/**/*.cpp")
    return set(re.findall(r"^REGISTER_LAYER_(?:CLASS|CREATOR)\((\w+)", sources, re.MULTILINE))


def test_layer_types():
    types = sorted(registered_types() | set(caffe.layer_type_list()))
    exported = re.findall(r'"(\w+)"', " ".join(re.findall(r"@exports\(([^)]*)\)",
                                                          all_text("python/caffe/onnx/layers/*.py"))))
    untested = [name for name in exported if missing("", [name], exporter_places())]
    assert UNTESTED_EXPORTERS <= set(untested), "these have a case now: take them off UNTESTED_EXPORTERS"
    report(missing("layer type", types, layer_places()) +
           missing("ONNX form of", set(exported) - UNTESTED_EXPORTERS, exporter_places()))


def test_programs_know_which_layers_share_memory():
    sources = all_text("src/caffe/layers/**/*.cpp")
    share = re.findall(r'Operation\("(\w+)"\)(?:(?!;|Operation\().)*?\.SharesBottom\(\)', sources, re.DOTALL)
    assert share
    assert {name for name, exporter in EXPORTERS.items() if exporter.shares_bottom} == set(share)
    migration = text("python/precision_migration/batch_norm.py")
    assert set(re.findall(r'"(\w+)"', re.search(r"^SHARING = .*", migration, re.MULTILINE)[0])) == set(share)


def test_passes():
    found = passes()
    assert len(found) > 10
    header = text("src/caffe/inference/passes/passes.hpp")
    declared = set(re.findall(r"^Graph (\w+)\(Graph graph\);", header, re.MULTILINE))
    assert declared - {"PlanMemory"} == {function for _, function in found}, \
        "declared without a row of passes.cpp, or the other way round"
    of_builds = set(re.findall(r"^Graph (\w+)\(Graph graph, BuildContext\* build\);",
                               text("src/caffe/inference/passes/lowering_passes.hpp"), re.MULTILINE))
    assert of_builds == {function for _, function in build_passes()}, \
        "declared in lowering_passes.hpp without a row of passes.cpp, or the other way round"
    rows = Place("docs/optimizer.md", text("docs/optimizer.md"), r"^\| `NAME` \|", "add a row to \"What the passes do\"")
    report([line for name, _ in build_passes() for line in missing("pass", [name], [rows])])
    report([line for name, function in found for line in missing("pass", [name], pass_places(function))])


def test_activations():
    report(missing("activation", kinds("src/caffe/kernels/activation.hpp", "Activation"), activation_places()) +
           missing("fused activation", fused_kinds(), fused_places()))


def test_kernels():
    assert kernel_families()
    report(missing("loops", kernel_families(), family_places()) +
           missing("kernel", kernel_headers(), header_places()))


def test_instruction_sets():
    registered = re.findall(r'^ *\{"(\w+)",', text(f"{SIMD}/instruction_sets.cpp"), re.MULTILINE)
    assert "generic" in registered
    headers = [path.stem[len("simd_"):] for path in (ROOT / SIMD).glob("simd_*.hpp")]
    report(missing("instruction set", sorted(set(registered + compiled_sets() + headers)), instruction_set_places()))


def test_kernels_have_no_intrinsics_of_their_own():
    """What is compiled once per instruction set is written on the primitives of its header."""
    for path in sorted((ROOT / "src/caffe/kernels/cpu").rglob("*.inc")):
        found = re.findall(r"\b(?:_mm\w*|__m\d+\w*|__AVX\w*|__F16C__)", path.read_text(encoding="utf-8"))
        assert not found, f"{path.name}: {found}"


def test_instruction_sets_are_not_compared_by_order():
    for path in sorted([*(ROOT / "src").rglob("*.[ch]pp"), *(ROOT / "tools").rglob("*.[ch]pp")]):
        assert not re.search(r"InstructionSet\(\) *[<>]=?|[<>]=? *InstructionSet::",
                             path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("places", [layer_places(), pass_places("Frobnicate"), activation_places(), fused_places(),
                                    family_places(),
                                    instruction_set_places(), exporter_places()])
def test_a_new_name_lacks_every_place(places):
    """What the tests above find for a name that is nowhere: each place, with what to do."""
    assert [line.split(": ", 1)[1] for line in missing("new", ["Frobnicate"], places)] == [
        f"{place.name}: {place.remedy}" for place in places]
