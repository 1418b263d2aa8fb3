"""Code that README, docs/ and the examples show: Python runs, C++ compiles."""
import json
import re
import shutil
import textwrap

import documents
import pytest
from documents import ROOT
from test_documented_commands import NEEDS_MODULES, prepared, sandbox  # noqa: F401 (fixtures)

if not (ROOT / "docs").exists():
    pytest.skip("needs the source tree", allow_module_level=True)

pytestmark = pytest.mark.slow

#: Beginnings of blocks that are left out, each with the reason.
NOT_RUN = {
    "uid = caffe.NCCL.new_uid()": "needs several GPUs",
    "x = torch.empty(": "needs a GPU, and PyTorch",
    "preprocessing = inference.ImagePreprocessing(": "takes a classifier; test_engine_images.py runs the same",
    "Dispatch(this->forward_type()": "is a part of a member function",
}

#: What stands before a document's code: the variables that it takes for granted.
PYTHON_BEFORE = {
    "README.md": "",
    "docs/python.md": """
        import numpy
        numpy.random.seed(1)
        image = numpy.random.rand(3, 32, 32)
        images = numpy.random.rand(8, 3, 32, 32).astype(numpy.float32)
        weights, bias = numpy.random.rand(16, 3, 3, 3), numpy.random.rand(16)
        import itertools
        batches = itertools.cycle([images] * 13 + [None])
        def next_images():
            return next(batches)
        """,
    "docs/optimizer.md": """
        import numpy
        images = numpy.random.rand(3, 1, 28, 28).astype(numpy.float32)
        """,
}
CPP_BEFORE = {
    "examples/custom_layer/readme.md": """#include "angle_layer.hpp"
        using namespace caffe;
        extern std::vector<caffe::Blob<double>*> bottoms, tops;
        """,
    "docs/ranks.md": """#include "caffe/ranks.hpp"
        extern caffe::Communicator* communicator;
        extern caffe::SolverParameter param;
        """,
    "docs/gpu.md": """#include "caffe/cuda/borrowed_stream.hpp"
        #include "caffe/inference/engine.hpp"
        extern caffe::inference::ExecutionContext context;
        extern void* cuda_stream;
        extern float *pixels_on_gpu, *probabilities_on_gpu;
        """,
    "docs/optimizer.md": """#include "caffe/inference/engine_batches.hpp"
        using namespace caffe::inference;
        extern const float* pixels;
        extern BuilderConfig config;
        extern ExecutionContext context;
        """,
}


def code(language):
    """The blocks of each document that has some in this language."""
    for path in documents.documents():
        blocks = [block for block in documents.blocks(path) if block.language == language
                  and not any(block.text.startswith(start) for start in NOT_RUN)]
        if blocks:
            yield blocks[0].document, blocks


PYTHON = dict(code("python"))


@pytest.mark.parametrize("document", PYTHON)
def test_python_runs(document, sandbox):  # noqa: F811
    for module in ["PIL", *NEEDS_MODULES.get(document, ())]:
        pytest.importorskip(module)
    if document == "docs/optimizer.md":
        shutil.copy(sandbox.folder / "lenet.prototxt", sandbox.folder / "deploy.prototxt")
    if document == "docs/tutorial.md":
        shutil.copytree(sandbox.folder / "DIR", sandbox.folder / "idx")
        shutil.copy(sandbox.folder / "lenet.plan", sandbox.folder / "int8.plan")
    script = textwrap.dedent(PYTHON_BEFORE.get(document, "")) + "\n".join(
        block.text for block in PYTHON[document])
    (sandbox.folder / "script.py").write_text(script)
    result = sandbox.run("GLOG_minloglevel=2 python3 script.py")
    assert result.returncode == 0, result.stdout[-3000:]


def compiler_flags(build):
    """Compiler and flags of a program that uses the library: of its headers those that are installed."""
    commands = build / "compile_commands.json"
    if not commands.exists():
        pytest.skip(f"{commands} is not there")
    for entry in json.loads(commands.read_text()):
        if entry["file"].endswith("tools/compute_image_mean.cpp"):
            words = [word for word in entry["command"].split() if not word.endswith("ccache")]
            words = [word for word in words if word != f"-I{ROOT}/src"]
            return [words[0]] + [word for before, word in zip(words, words[1:])
                                 if word.startswith(("-I", "-D", "-std", "-f")) or word == "-isystem"
                                 or before == "-isystem"]
    pytest.skip("this build has no tools")


def test_cpp_compiles(build, tmp_path, sandbox):  # noqa: F811
    """All blocks as one file, each in a namespace of its own."""
    includes, bodies = [], []

    def without_includes(text):
        rows = text.splitlines()
        includes.extend(row.strip() for row in rows if row.lstrip().startswith("#include"))
        return ["" if row.lstrip().startswith("#include") else row for row in rows]

    for document, blocks in code("cpp"):
        for block in blocks:
            before = without_includes(CPP_BEFORE.get(document, ""))
            body = [f'#line {block.line} "{document}"', *without_includes(block.text)]
            is_whole = re.search(r"^(int main|class |INSTANTIATE_CLASS)", block.text, re.MULTILINE)
            # Layers are instantiated in their own namespace.
            namespace = "caffe" if "INSTANTIATE_CLASS" in block.text else f"block_{len(bodies)}"
            bodies += [f"namespace {namespace} {{", *before,
                       *(body if is_whole else ["void Block() {", *body, "}"]), "}"]
    source = tmp_path / "blocks.cpp"
    source.write_text("\n".join([
        "#include <algorithm>", "#include <vector>", '#include "caffe/caffe.hpp"',
        '#include "caffe/test/test_gradient_check_util.hpp"', '#include "caffe/inference/builder.hpp"',
        '#include "caffe/inference/calibrator.hpp"', '#include "caffe/communicator.hpp"', *includes, *bodies]))
    flags = compiler_flags(build.resolve())
    result = sandbox.run(" ".join([*flags, "-fsyntax-only", "-w", f"-I{ROOT}/examples/custom_layer", str(source)]))
    errors = [line for line in result.stdout.splitlines() if "error:" in line]
    assert result.returncode == 0, "\n".join(errors) or result.stdout


def test_what_is_left_out_is_still_documented():
    blocks = [block.text for path in documents.documents() for block in documents.blocks(path)]
    stale = [start for start in NOT_RUN if not any(text.startswith(start) for text in blocks)]
    assert not stale, f"no document shows these any more: {stale}"
