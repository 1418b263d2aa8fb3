"""Every command that README, docs/, the examples and `--help` show runs, in a copy of the tree with small nets.

A document's commands run in their order, in one shell, in a folder of its own. That folder has what the
documents name: deploy.prototxt with net.caffemodel, images.txt, cat.jpg, train_lmdb, ... Nets that
examples train are made tiny; their solvers stay. Commands that cannot run here are in NOT_RUN.
"""
import functools
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys

import caffe
import documents
import numpy
import pytest
from documents import ROOT, normal
from shared_data import FOLDER, shared

if not (ROOT / "docs").exists():
    pytest.skip("needs the source tree", allow_module_level=True)

pytestmark = pytest.mark.slow

#: Beginnings of commands that are not run, each with the reason. One that no text shows any more fails.
NOT_RUN = {
    "./scripts/quickstart.sh": "scripts/tests/quickstart.sh runs it",
    "scripts/quickstart.sh": "scripts/tests/quickstart.sh runs it",
    "./scripts/test.sh": "it runs this test",
    "scripts/test.sh": "it runs this test",
    "scripts/nightly.sh": "builds everything twice and tests for hours",
    "scripts/soak.sh": "runs for half an hour; scripts/tests/soak.sh runs a short one",
    "scripts/fuzz.sh": "builds everything with sanitizers and runs for minutes",
    "scripts/memcheck.sh": "runs tests in valgrind for minutes",
    "scripts/tests/sanitizers.sh": "builds the library twice",
    "scripts/install_dependencies.sh": "installs packages as root",
    "build/caffe_tests": "the suite runs it",
    "scripts/tests/integers.sh": "the suite runs it",
    "cmake -S . -B build": "configures the build folder that is tested",
    "cmake --build build": "builds the build folder that is tested",
    "pip install": "changes the interpreter's packages; scripts/check_wheel.sh builds wheels",
    "xargs rm -f": "uninstalls",
    "cmake -S program": "scripts/tests/install_tree.sh builds a program with the installed library",
    "PYTHONPATH=python python3 -m pytest": "the suite runs it",
    "scripts/make_gpu_bundle.sh": "builds everything for GPUs",
    "tar xf caffe-gpu-90.tar.xz": "needs the bundle and a GPU",
    "caffe-gpu-90/run.sh": "needs the bundle and a GPU",
    "scp build-gpu-90": "needs the bundle and a second machine",
    "benchmarks/": "measures for hours, and compares with programs that are not here",
    "scripts/build_site.sh": "scripts/tests/site.sh runs it",
    "run_notebooks.py": "test_notebooks.py runs the notebooks",
    "out/": "the end of run_notebooks.py's example",
    "detect.py --crop_mode selective_search": "needs opencv-contrib and trained weights of R-CNN",
    "train.py --solver solver.prototxt --gpus": "needs four GPUs",
    "scripts/tidy.sh": "clang-tidy takes half a minute a file",
    "scripts/check_wheel.sh": "builds wheels for several interpreters",
    "mpirun -H alpha,beta": "needs two machines",
    "python -m caffe.tflite deploy.prototxt trained.caffemodel":
        "needs weights that were trained with quantized_training",
}

#: What stands in for a command that takes too long: it leaves the same files.
STAND_INS = {
    # scripts/tests/install_tree.sh builds programs against an installed library; these were built
    # with it.
    "cmake --install build --prefix ~/caffe": "true",
    "cmake -S examples/cpp_classification": "mkdir build-classification",
    "cmake --build build-classification":
        "cp build/examples/cpp_classification/classification build-classification",
    "cmake -S examples/custom_layer": "mkdir build-custom-layer",
    "cmake --build build-custom-layer":
        "cp build/examples/custom_layer/custom_layer build-custom-layer",
    # The page's other commands are about LeNet.
    "caffe build -model deploy.prototxt -weights net.caffemodel -plan net.plan -precision int8 "
    "-calibration_table net.table": """
        cp models/cifar10_quick/deploy.prototxt .
        caffe build -model deploy.prototxt -weights net.caffemodel -plan net.plan -precision int8 \\
          -calibration_table net.table -data validation_lmdb -mean 104,117,123 -report net.html""",
    # Trained for one iteration, not for 50000 and 1200.
    "examples/siamese/train_mnist_siamese.sh": """
        sed -i -e 's/max_iter: .*/max_iter: 1/' -e 's/snapshot: .*/snapshot: 1/' \\
          examples/siamese/mnist_siamese_solver.prototxt
        examples/siamese/train_mnist_siamese.sh
        cd examples/siamese
        mv mnist_siamese_iter_1.caffemodel mnist_siamese_iter_50000.caffemodel
        cd ../..""",
    "build/tools/caffe train -solver $net/solver.prototxt": """
        sed -i -e 's/max_iter: .*/max_iter: 1/' -e 's/snapshot: .*/snapshot: 1/' $net/solver.prototxt
        build/tools/caffe train -solver $net/solver.prototxt
        mv $net/shapes_ssd_iter_1.caffemodel $net/shapes_ssd_iter_1200.caffemodel""",
}

#: What needs the data next to the tree, or packages of Python that not every machine has.
NEEDS_DATA = {"examples/mtcnn/readme.md"}
NEEDS_MODULES = {"python -m caffe.onnx": ["onnx"], "docs/onnx.md": ["onnx"],
                 "python -m caffe.tflite": ["flatbuffers", "tflite"],
                 "docs/tflite.md": ["flatbuffers", "tflite"], "draw_net.py": ["pydot"],
                 "plot_training_log.py": ["matplotlib"], "resize_and_crop_images.py": ["PIL"],
                 "classify.py": ["PIL"], "detect.py": ["PIL"]}
DATA = os.path.normpath(FOLDER)

#: The binary version of CIFAR-10, all black.
CIFAR10 = """
    mkdir -p DIR cifar-10-batches-bin
    for name in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
      truncate -s 30730000 DIR/$name.bin cifar-10-batches-bin/$name.bin
    done"""

#: lenet_iter_500.solverstate and lenet_iter_1000.caffemodel.
TRAINED_LENET = """
    examples/mnist/create_mnist.sh DIR
    for n in 500 1000; do
      sed -e "s/^max_iter:.*/max_iter: $n/" -e 's#^snapshot_prefix:.*#snapshot_prefix: "lenet"#' \\
        models/lenet/solver.prototxt > short.prototxt
      caffe train -solver short.prototxt
    done
    cp models/lenet/lenet_train_test.prototxt models/lenet/deploy.prototxt"""

#: net.plan for a range of shapes.
PLAN_OF_SHAPES = """
    caffe build -model face.prototxt -weights face.caffemodel -plan net.plan -timing_iterations 0 \\
      -min_shape 1x3x32x32 -max_shape 8x3x300x300"""

#: The nets of examples/ssd in ssd, their weights ssd.caffemodel, their data in shapes.
SSD = """
    examples/ssd/make_images.py shapes --train 4 --test 4
    examples/ssd/prepare_data.sh shapes
    cp shapes/labelmap.prototxt labelmap_voc.prototxt
    examples/ssd/make_net.py ssd --data shapes --test-images 4
    python3 -c 'import caffe; caffe.Net("ssd/deploy.prototxt", caffe.TEST).save("ssd.caffemodel")'"""

#: A classifier of images of any size.
ANY_SIZE = """
    name: "face"
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 240 dim: 320 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 8 kernel_size: 3 stride: 2 weight_filler { type: "xavier" } } }
    layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
            pooling_param { pool: AVE global_pooling: true } }
    layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc"
            inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
    layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }"""

#: What a document or program needs in addition to, or instead of, the files of `prepared`.
SETUPS = {
    "docs/optimizer.md": """
        cp lenet.prototxt deploy.prototxt
        cp lenet.caffemodel plates.caffemodel
        sed -e 's#examples/mnist/mnist_t[a-z]*_lmdb#mnist_train_lmdb#' \
          models/lenet/lenet_train_test.prototxt > train_val.prototxt""",
    "docs/trtexec.md": "cp lenet.prototxt deploy.prototxt",
    "docs/fp16.md": """
        cp lenet.caffemodel large.caffemodel
        cp images.txt digits.txt""",
    "docs/ranks.md": """
        examples/mnist/create_mnist.sh DIR
        sed -i 's/max_iter: .*/max_iter: 200/' models/lenet/solver.prototxt""",
    "examples/mtcnn/readme.md": f"""
        mkdir nets
        for n in 1 2 3; do
          cp {DATA}/models/mtcnn_v1_det$n/deploy.prototxt nets/det$n.prototxt
          cp {DATA}/models/mtcnn_v1_det$n/weights.caffemodel nets/det$n.caffemodel
        done""",
    "examples/cpp_classification/readme.md": "compute_image_mean val_lmdb mean.binaryproto",
    "docs/tutorial.md": f"cp {ROOT}/examples/digits/lenet_train_test.prototxt examples/digits",
    "caffe": TRAINED_LENET,
    "caffe train": TRAINED_LENET,
    "caffe time": PLAN_OF_SHAPES,
    "caffe completion": "mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc",
    "caffe test_detection": SSD + """
        cp ssd/test.prototxt ssd_test.prototxt""",
    "compute_image_mean": "mv val_lmdb train_lmdb",
    "convert_annoset": """
        examples/ssd/make_images.py VOCdevkit --train 4 --test 2
        create_label_map -include_background VOCdevkit/labels.txt labelmap_voc.prototxt
        cp VOCdevkit/train.txt trainval.txt""",
    "examples/cifar10/readme.md": CIFAR10,
    "convert_cifar_data": CIFAR10,
    "convert_mnist_data": "rm -rf mnist_train_lmdb",
    "upgrade_net_fp16": "cp lenet.prototxt deploy.prototxt",
    "caffe_exec": "mv tensorrt.cache net.cache",
    "convert_imageset": "rm -rf train_lmdb",
    "create_label_map": "printf 'disc,1,disc\\nsquare,2,square\\n' > map_det.txt",
    "get_image_size": "ln -s images VOCdevkit && cp val.txt test.txt",
    "extract_features": """
        sed -e 's/"ip1"/"fc6"/g' -e 's/"ip2"/"fc7"/g' train_val.prototxt > val.prototxt""",
    "caffe infer": SSD + """
        cp ssd/deploy.prototxt .
        caffe build -model deploy.prototxt -weights ssd.caffemodel -plan ssd.plan -timing_iterations 0""",
    "python -m caffe.onnx": """
        sed -i 's/dim: 32 dim: 32/dim: 227 dim: 227/' deploy.prototxt
        python3 -c 'import caffe; caffe.Net("deploy.prototxt", caffe.TEST).save("net.caffemodel")'""",
    "detect.py": """
        sed -i 's/32 dim: 32/64 dim: 64/' deploy.prototxt
        python3 -c 'import caffe; caffe.Net("deploy.prototxt", caffe.TEST).save("weights.caffemodel")'
        echo 'filename,ymin,xmin,ymax,xmax' > windows.csv
        echo 'street.jpg,4,4,40,40' >> windows.csv""",
    "classify.py": "mkdir digits && cp images/00*.png digits",
    "extract_seconds.py": "caffe train --solver=solver.prototxt 2> train.log",
    "parse_log.py": "mkdir tables",
    "plot_training_log.py": "caffe train --solver=solver.prototxt 2> train.log; cp train.log other.log",
    "resize_and_crop_images.py": "ln -s images raw",
    "train.py": """
        examples/mnist/create_mnist.sh DIR
        sed 's#"snap"#"snap", max_iter: 500, snapshot: 500#' solver.prototxt > /dev/null
        caffe train -solver solver.prototxt && cp snap_iter_20.solverstate snap_iter_500.solverstate""",
    "caffe test": f"""
        sed 's#examples/mnist/mnist_t[a-z]*_lmdb#mnist_train_lmdb#' \\
          {ROOT}/models/lenet/lenet_train_test.prototxt > lenet_train_test.prototxt""",
}

PARTS = ("README.md", "CMakeLists.txt", "LICENSE", "cmake", "docs", "include", "models", "examples",
         "scripts", "src", "tools", "benchmarks", "pyproject.toml")


def write_image(path, side, seed):
    """A PNG file of noise, whatever its name's extension: readers look at the content. The tests of all
    commands share the files, so that no test's seed draws them."""
    sys.path.insert(0, str(ROOT / "examples" / "ssd"))
    from make_images import png
    rows = numpy.random.RandomState(seed).randint(0, 256, (side, side * 3)).astype(numpy.uint8)
    path.write_bytes(png([bytearray(row.tobytes()) for row in rows]))


def write_digits(folder):
    """MNIST's four files, with stripes for digits."""
    folder.mkdir(parents=True, exist_ok=True)
    y, x = numpy.mgrid[0:28, 0:28]
    for part, count in (("train", 200), ("t10k", 120)):
        labels = numpy.arange(count) % 10
        images = [255 * ((x * (1 + k % 5) + (k // 5) * y) // 7 % 2) for k in labels]
        (folder / f"{part}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 2051, count, 28, 28) + numpy.array(images, numpy.uint8).tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 2049, count) + labels.astype(numpy.uint8).tobytes())


def save(model, weights):
    """Weights from the net's fillers."""
    caffe.set_random_seed(1)
    caffe.Net(str(model), caffe.TEST).save(str(weights))


def shrink(path):
    """Leaves a net's layers, blobs and data, with a batch of one and hardly any channels."""
    text = path.read_text()
    outputs = re.findall(r"num_output: \d+", text)
    text = re.sub(r"num_output: \d+", lambda found: found[0] if found[0] == outputs[-1] else "num_output: 1",
                  text)
    path.write_text(re.sub(r"batch_size: \d+", "batch_size: 1", text))


def link_or_copy(root, folder):
    """The tree: what commands write into is copied, the rest linked."""
    for part in PARTS:
        source = root / part
        if part in ("models", "examples", "docs"):
            shutil.copytree(source, folder / part, symlinks=True,
                            ignore=shutil.ignore_patterns("*_lmdb", "*_leveldb", "*.caffemodel",
                                                          "*.solverstate", "__pycache__"))
        elif source.exists():
            (folder / part).symlink_to(source)


def write_interpreter(path):
    """This interpreter with the packages of PYTHONPATH as if they were installed: commands set PYTHONPATH."""
    packages = filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = "".join(f":{shlex.quote(folder)}" for folder in packages)
    path.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH"{folders} exec {shlex.quote(sys.executable)} "$@"\n')
    path.chmod(0o755)


class Sandbox:
    """A folder with the tree, the build and the files that documents name."""

    def __init__(self, folder, build):
        self.folder = folder
        self.environment = {
            **os.environ, "HOME": str(folder / "home"), "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(folder / "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": "", "CAFFE_GPU_FALLBACK": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "CAFFE_DOCUMENTS_BUILD": str(build),
            "PATH": os.pathsep.join([str(folder / "bin"), str(build / "tools"), str(folder / "python"),
                                     str(ROOT / "tools" / "extra"), str(ROOT / "examples"),
                                     str(ROOT / "scripts"), os.environ["PATH"]])}
        self.environment.pop("GLOG_minloglevel", None)

    def run(self, script, timeout=300):
        process = subprocess.Popen(["bash", "-c", script], cwd=self.folder, env=self.environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, errors="replace", start_new_session=True)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)   # with all that the shell has started
            raise
        return subprocess.CompletedProcess(script, process.returncode, output)

    def must(self, script):
        result = self.run("set -euo pipefail\n" + script)
        assert result.returncode == 0, f"{script}\n{result.stdout}"


@pytest.fixture(scope="session")
def prepared(request, tmp_path_factory):
    """The sandbox that is copied for each document."""
    build = request.config.getoption("--build")
    if not build:
        pytest.skip("needs the build folder: --build")
    build = pathlib.Path(build).resolve()
    folder = tmp_path_factory.mktemp("prepared")
    link_or_copy(ROOT, folder)
    (folder / "build").symlink_to(build)
    (folder / "python").symlink_to(pathlib.Path(caffe.__file__).resolve().parents[1])
    for name in ("bin", "home"):
        (folder / name).mkdir()
    for name in ("python", "python3"):
        write_interpreter(folder / "bin" / name)
    sandbox = Sandbox(folder, build)

    for net in folder.glob("examples/*/*train_test.prototxt"):
        shrink(net)
    shrink(folder / "models/lenet/lenet_train_test.prototxt")
    shrink(folder / "models/cifar10_quick/train_test.prototxt")

    # Images with their lists.
    for number, name in enumerate(["cat.jpg", "street.jpg", "image.png", "image.jpg", "seven.png",
                                   "two.png", "dog.jpg"]):
        write_image(folder / name, 48, number)
    (folder / "images").mkdir()
    for number in range(100):
        write_image(folder / "images" / f"{number:03}.png", 36, number)
    lines = [f"images/{number:03}.png" for number in range(100)]
    for name in ("images.txt", "faces.txt"):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    for name in ("train.txt", "val.txt", "labelled.txt"):
        (folder / name).write_text("".join(f"{line[7:]} {i % 10}\n" for i, line in enumerate(lines)))
    for name in ("names.txt", "labels.txt", "synset.txt", "synset_words.txt"):
        (folder / name).write_text("".join(f"class {i}\n" for i in range(10)))

    # A classifier of colour images, and LeNet.
    for name, source in (("deploy.prototxt", "cifar10_quick"), ("lenet.prototxt", "lenet")):
        shutil.copy(folder / "models" / source / "deploy.prototxt", folder / name)
    save(folder / "deploy.prototxt", folder / "net.caffemodel")
    save(folder / "lenet.prototxt", folder / "lenet.caffemodel")
    # One that runs images of any size.
    (folder / "face.prototxt").write_text(ANY_SIZE)
    save(folder / "face.prototxt", folder / "face.caffemodel")
    for name in ("weights.caffemodel", "network.caffemodel"):
        shutil.copy(folder / "net.caffemodel", folder / name)

    # Data.
    write_digits(folder / "DIR")
    write_digits(folder)
    for part in ("train", "test"):
        for name in "airplane automobile bird cat deer dog frog horse ship truck".split():
            (folder / "DIR" / part / name).mkdir(parents=True)
            for number in range(2):
                write_image(folder / "DIR" / part / name / f"{number}.png", 32, number)
    numpy.save(folder / "batch.npy", numpy.random.RandomState(2).rand(8, 3, 32, 32).astype(numpy.float32))
    sandbox.must("""
        for name in val_lmdb validation_lmdb; do
          convert_imageset -resize_width 32 -resize_height 32 images/ train.txt $name
        done
        for name in mnist_train_lmdb mnist_test mnist_train_1000; do
          convert_mnist_data train-images-idx3-ubyte train-labels-idx1-ubyte $name
        done
        caffe build -model deploy.prototxt -weights net.caffemodel -plan net.plan -max_batch 8 \\
          -timing_iterations 0
        caffe build -model lenet.prototxt -weights lenet.caffemodel -plan lenet.plan -max_batch 8 \\
          -timing_iterations 0
        caffe calibrate -model deploy.prototxt -weights net.caffemodel -images images.txt \\
          -calibration_table net.table -tensorrt_cache tensorrt.cache
        for name in squeezenet googlenet; do cp net.plan $name.plan; done""")

    def data(source, batch):
        return f"""layer {{ name: "data" type: "Data" top: "data" top: "label"
            data_param {{ source: "{source}" batch_size: {batch} backend: LMDB }} }}\n"""
    scores = """layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
        layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy"
                include { phase: TEST } }\n"""
    body = re.sub(r'^layer \{\n  name: "data".*?^\}\n', "", (folder / "deploy.prototxt").read_text(),
                  flags=re.DOTALL | re.MULTILINE)
    body = re.sub(r'^layer \{\n  name: "prob".*?^\}\n', "", body, flags=re.DOTALL | re.MULTILINE)
    (folder / "train_val.prototxt").write_text(data("val_lmdb", 4) + body + scores)
    (folder / "solver.prototxt").write_text("""net: "train_val.prototxt" base_lr: 0.001
        lr_policy: "fixed" max_iter: 20 display: 5 snapshot: 10 snapshot_prefix: "snap" random_seed: 1
        test_iter: 1 test_interval: 10\n""")
    return sandbox


@pytest.fixture
def sandbox(prepared, tmp_path):
    folder = tmp_path / "tree"
    shutil.copytree(prepared.folder, folder, symlinks=True)
    return Sandbox(folder, pathlib.Path(prepared.environment["CAFFE_DOCUMENTS_BUILD"]))


def reason_not_to_run(command):
    return next((reason for start, reason in NOT_RUN.items() if normal(command).startswith(start)), None)


def run_commands(sandbox, commands):
    """Runs commands in one shell; names the one that fails."""
    script = ["set -e"]
    for number, command in enumerate(commands):
        stand_in = next((text for start, text in STAND_INS.items() if normal(command).startswith(start)),
                        None)
        if stand_in is None and reason_not_to_run(command):
            continue
        script.append(f'echo "@@ {number}"')
        script.append(stand_in or command)
    result = sandbox.run("\n".join(script))
    ran = re.findall(r"^@@ (\d+)$", result.stdout, re.MULTILINE)
    if result.returncode != 0:
        last = int(ran[-1]) if ran else 0
        output = result.stdout.rpartition(f"@@ {last}\n")[2]
        output = re.sub(r"^I\d{4} .*\n", "", output, flags=re.MULTILINE)
        pytest.fail(f"status {result.returncode} of: {commands[last]}\n{output[-1500:]}", pytrace=False)


def programs(build):
    """Everything with a `--help`: pairs of the name in a test's id and the command."""
    found = [(path.name, path.name) for path in sorted((build / "tools").iterdir())
             if path.is_file() and not path.is_symlink() and os.access(path, os.X_OK)
             and "." not in path.name]
    listed = help_text("caffe", build).partition("commands:")[2].partition("\n\n")[0]
    commands = re.findall(r"^  (\w+) ", listed, re.MULTILINE)
    texts = {help_text("caffe", build)}
    for command in commands:
        if help_text(f"caffe {command}", build) not in texts:   # some show what `caffe --help` does
            found.append((f"caffe {command}", f"caffe {command}"))
    found += [(name, name) for name in sorted(
        path.name for folder in ("python", "tools/extra") for path in (ROOT / folder).glob("*.py"))]
    found += [("run_notebooks.py", "run_notebooks.py"), ("caffe.onnx", "python -m caffe.onnx"),
              ("caffe.tflite", "python -m caffe.tflite")]
    found += [(path.name, path.name) for path in sorted((ROOT / "scripts").glob("*.sh"))
              if "usage()" in path.read_text()]
    return found


@functools.lru_cache(maxsize=None)
def help_text(program, build):
    """What a program's `--help` prints."""
    environment = {**os.environ, "PATH": os.pathsep.join(
        [str(build / "tools"), *(str(ROOT / folder) for folder in (
            "python", "tools/extra", "examples", "scripts")), os.environ["PATH"]]),
                   "PYTHONPATH": str(pathlib.Path(caffe.__file__).resolve().parents[1])}
    words = program.replace("python ", f"{sys.executable} ") + " --help"
    if program.endswith(".py"):
        words = f"{sys.executable} $(command -v {program}) --help"
    result = subprocess.run(["bash", "-c", words], env=environment, text=True, capture_output=True,
                            timeout=60)
    assert result.returncode == 0, f"{words}\n{result.stdout}{result.stderr}"
    return result.stdout


def help_commands(program, build):
    """The examples of a program's `--help`."""
    return documents.commands_of_help(help_text(program, build))


def document_commands(path):
    return [command for block in documents.blocks(path) for command in documents.commands_of_block(block)]


def pytest_generate_tests(metafunc):
    if "document" in metafunc.fixturenames:
        with_commands = [str(path.relative_to(ROOT)) for path in documents.documents()
                         if document_commands(path)]
        metafunc.parametrize("document", with_commands)
    if "program" in metafunc.fixturenames:
        build = metafunc.config.getoption("--build")
        found = programs(pathlib.Path(build).resolve()) if build else [("programs", "")]
        metafunc.parametrize("program", [program for _, program in found], ids=[name for name, _ in found])


def set_up(sandbox, source):
    """What a source needs in addition to, or instead of, the files of `prepared`."""
    if source in NEEDS_DATA:
        shared("models")
    for module in NEEDS_MODULES.get(source, ()):
        pytest.importorskip(module)
    sandbox.must(SETUPS.get(source, ""))


def test_commands_of_documents_run(document, sandbox):
    set_up(sandbox, document)
    run_commands(sandbox, document_commands(ROOT / document))


def test_examples_of_help_run(program, sandbox):
    commands = help_commands(program, pathlib.Path(sandbox.environment["CAFFE_DOCUMENTS_BUILD"]))
    if not commands:
        pytest.skip("its --help shows no example")
    set_up(sandbox, program)
    run_commands(sandbox, commands)


def test_commands_in_documents_are_marked_as_such():
    """A block that begins with a program is ```sh, so that it is run."""
    begins = re.compile(r"(\./)?(caffe\w*|build/|scripts/|python3?|mpirun|cmake|upgrade_\w+|convert_\w+) ")
    unmarked = [f"{block.document}:{block.line}" for path in documents.documents()
                for block in documents.blocks(path)
                if block.language == "" and begins.match(block.text)]
    assert not unmarked, f"make these blocks ```sh: {', '.join(unmarked)}"


def test_what_is_not_run_is_still_documented(build):
    build = build.resolve()
    shown = [normal(command) for path in documents.documents() for command in document_commands(path)]
    for _, program in programs(build):
        shown += map(normal, help_commands(program, build))
    stale = [start for start in [*NOT_RUN, *STAND_INS]
             if not any(command.startswith(start) for command in shown)]
    assert not stale, f"no document shows these any more, take them off the lists: {stale}"
