"""genDefaultModel.py as its users run it, and its parts compared with obvious references.

Needs numpy and protobuf; the compiled package only where a test says so.
"""
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

PYTHON = pathlib.Path(__file__).resolve().parent.parent
if not (PYTHON / "genDefaultModel.py").exists():
    pytest.skip("the program is in the source tree only", allow_module_level=True)
sys.path.insert(0, str(PYTHON))

import genDefaultModel  # noqa: E402
from precision_migration import comparison, conversion, text_fields  # noqa: E402
from precision_migration.conversion import FLOAT, FLOAT16  # noqa: E402
from precision_migration.prototxt import load_schema  # noqa: E402
from seeds import seed_of_this_test  # noqa: E402

DATA = pathlib.Path(os.environ.get("CAFFE_TEST_DATA", PYTHON.parent / ".." / "shared" / "data"))
BUILD = pathlib.Path(os.environ.get("CAFFE_BUILD", PYTHON.parent / "build"))
TOOL = BUILD / "tools" / "upgrade_net_fp16"
# Of the landmark nets, which differ in their weights only, three.
MODELS = sorted(model for model in (DATA / "models").glob("*/*.caffemodel")
                if "deep_landmark" not in str(model) or "LE1" in model.name or "1_F" in model.name)
MODELS += sorted((DATA / "models").glob("*/weights.caffemodel.h5"))
needs_models = pytest.mark.skipif(
    not MODELS, reason="no shared test data; CAFFE_TEST_DATA may name its directory")

NET = textwrap.dedent("""\
    # A net with a comment.
    name: "small"
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
    layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc"
            inner_product_param { num_output: 2 } }
    layer { name: "bn" type: "BatchNorm" bottom: "fc" top: "fc" }
    layer { name: "scale" type: "Scale" bottom: "fc" top: "fc" scale_param { bias_term: true } }
    """)
BLOBS = {"fc": [[[0.1, 2], [3, 4]], [5, 1e-6]], "bn": [[2, 4], [6, 8], [2]],
         "scale": [[0.5, 1], [2, 3]]}


def write_model(path, blobs):
    net = load_schema().NetParameter(name="small")
    for name, values in blobs.items():
        layer = net.layer.add(name=name, type={"fc": "InnerProduct", "bn": "BatchNorm",
                                               "scale": "Scale"}.get(name, "Theirs"))
        for value in values:
            array = np.array(value, np.float32)
            layer.blobs.add(data=array.ravel().tolist()).shape.dim.extend(array.shape)
    path.write_bytes(net.SerializeToString())


def read_model(path):
    net = load_schema().NetParameter()
    net.ParseFromString(path.read_bytes())
    return {layer.name: layer for layer in net.layer}


@pytest.fixture
def files(tmp_path):
    """A folder with net.prototxt and net.caffemodel."""
    (tmp_path / "net.prototxt").write_text(NET)
    write_model(tmp_path / "net.caffemodel", BLOBS)
    return tmp_path


def run_in(folder, program, output, flags, expect):
    """Runs a migration program in the folder; returns what it printed."""
    command = [*program, "--input", "net.prototxt", "--model", "net.caffemodel", "--output", output,
               *flags]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "GLOG_minloglevel": "3"}, check=False)
    assert done.returncode == expect, done.stdout
    return done.stdout


def migrate(folder, *flags, output="half.caffemodel", expect=0):
    """Runs genDefaultModel.py, whose errors are a line, in the folder; returns what it printed."""
    program = [sys.executable, str(PYTHON / "genDefaultModel.py")]
    printed = run_in(folder, program, output, flags, expect)
    if expect == 1:
        assert len(printed.splitlines()) == 1, printed
    return printed


def test_writes_halves_and_keeps_statistics_in_float(files):
    printed = migrate(files)
    layers = read_model(files / "half.caffemodel")
    weights = layers["fc"].blobs[0]
    assert weights.raw_data_type == 2 and not weights.data
    assert weights.raw_data == np.array([0.1, 2, 3, 4], "<f2").tobytes()
    assert [blob.raw_data_type for blob in layers["bn"].blobs] == [1, 1, 1]
    assert "fc          FLOAT16       6         0          1     0    0    0" in printed
    assert NET.replace('name: "small"\n', 'name: "small"\ndefault_forward_type: FLOAT16\n'
                       "default_backward_type: FLOAT16\ndefault_forward_math: FLOAT16\n"
                       "default_backward_math: FLOAT16\n"
                       ) == (files / "half.prototxt").read_text()


def test_compares_the_nets_or_says_what_does(files):
    printed = migrate(files)
    assert "output 'fc': largest difference" in printed or "upgrade_net_fp16 runs both" in printed


def test_compares_through_the_compiled_package(files):
    if comparison.compiled_caffe() is None:
        pytest.skip("the compiled package is not built")
    np.save(files / "x.npy", np.ones((1, 2), np.float32))
    assert "output 'fc': largest difference" in migrate(files, "--inputs", "x.npy")
    assert "2 files were given" in migrate(files, "--inputs", "x.npy,x.npy", expect=1)


def test_says_how_many_outputs_are_not_finite_in_which_net():
    first = np.array([1, -4, np.nan, np.inf, 2, np.nan])
    second = np.array([1.5, -4, np.nan, np.nan, -np.inf, 7])
    difference = comparison._difference("y", first, second)
    assert difference == comparison.OutputDifference("y", 0.5, 4, 6, 1, 1, 2)
    assert str(difference) == (
        "output 'y': largest difference 0.5 (largest value 4), 1 values became NaN or infinite, "
        "1 values are NaN or infinite in the old net alone, 2 values are NaN or infinite in both "
        "nets")
    assert str(comparison._difference("y", first[2:4], second[2:4])) == (
        "output 'y': all 2 values are NaN or infinite in both nets: nothing could be compared")
    assert str(comparison._difference("y", first[1:5:3], second[4:2:-1])) == (
        "output 'y': all 2 values became NaN or infinite: nothing could be compared")
    assert str(comparison._difference("y", first[:2], first[:2])) == (
        "output 'y': largest difference 0 (largest value 4)")


def test_tells_nothing_of_the_nets_set_up(files):
    if comparison.compiled_caffe() is None:
        pytest.skip("the compiled package is not built")
    environment = {name: value for name, value in os.environ.items()
                   if name != "GLOG_minloglevel"}
    command = [sys.executable, str(PYTHON / "genDefaultModel.py"), "--input", "net.prototxt",
               "--model", "net.caffemodel", "--output", "half.caffemodel"]
    done = subprocess.run(command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment, check=True)
    assert done.stderr == ""
    assert "output 'fc': largest difference" in done.stdout


def test_goes_back_to_what_bvlc_caffe_reads(files):
    migrate(files)
    (files / "net.prototxt").write_text((files / "half.prototxt").read_text())
    (files / "half.caffemodel").replace(files / "net.caffemodel")
    migrate(files, "--to", "fp32", output="back.caffemodel")
    layers = read_model(files / "back.caffemodel")
    assert list(layers["fc"].blobs[0].data) == np.array([0.1, 2, 3, 4], np.float16).tolist()
    assert not layers["fc"].blobs[0].HasField("raw_data_type")
    assert list(layers["bn"].blobs[0].data) == [2, 4]
    assert (files / "back.prototxt").read_text() == NET


def test_joins_and_splits_batch_normalization(files):
    migrate(files, "--to", "fp32", "--batch_norm", "nvcaffe")
    layers = read_model(files / "half.caffemodel")
    assert [list(blob.data) for blob in layers["bn"].blobs] == [
        [1, 2], [3, 4], [1], [0.5, 1], [2, 3]]
    assert "scale" not in layers and layers["bn"].batch_norm_param.scale_bias
    (files / "net.prototxt").write_text((files / "half.prototxt").read_text())
    (files / "half.caffemodel").replace(files / "net.caffemodel")
    migrate(files, "--to", "fp32", "--batch_norm", "bvlc", output="back.caffemodel")
    layers = read_model(files / "back.caffemodel")
    assert [list(blob.data) for blob in layers["bn"].blobs] == [[1, 2], [3, 4], [1]]
    assert [list(blob.data) for blob in layers["bn_scale"].blobs] == [[0.5, 1], [2, 3]]
    assert 'name: "bn_scale"' in (files / "back.prototxt").read_text()


def test_overflow_is_told_refused_or_clamped(files):
    write_model(files / "net.caffemodel", {**BLOBS, "fc": [[[1e6, 2], [3, 4]], [-1e6, 1]]})
    printed = migrate(files, "--strict", expect=2)
    assert "2 values overflow, so nothing was written" in printed
    assert "2 values beyond FLOAT16's range would become infinite" in printed
    printed = migrate(files, "--strict", "--clamp", expect=2)
    assert "2 values beyond FLOAT16's range would become its largest number" in printed
    assert not list(files.glob("half*"))
    assert "2 values beyond FLOAT16's range became infinite" in migrate(files)
    migrate(files, "--clamp")
    layers = read_model(files / "half.caffemodel")
    assert np.frombuffer(layers["fc"].blobs[0].raw_data, "<f2")[0] == 65504
    assert np.frombuffer(layers["fc"].blobs[1].raw_data, "<f2")[0] == -65504


def test_nan_and_infinity_are_said_with_the_layer(files):
    write_model(files / "net.caffemodel",
                {**BLOBS, "fc": [[[np.nan, 2], [np.inf, -np.inf]], [5, 6]]})
    printed = migrate(files, "--strict", expect=2)
    assert "3 values are NaN or infinite, so nothing was written (--strict)" in printed
    assert not list(files.glob("half*"))
    printed = migrate(files)
    assert "layer 'fc': the weights hold 1 NaN and 2 infinite values" in printed
    if comparison.compiled_caffe() is not None:
        assert "are NaN or infinite in both nets: nothing could be compared" in printed


@pytest.mark.parametrize("flags, said", [
    (["--to", "fp8"], "--to fp8: valid are fp16 (FLOAT16) and fp32 (FLOAT)"),
    (["--math", "INT8"], "--math INT8: valid are fp16 (FLOAT16), bf16 (BFLOAT16) and fp32 (FLOAT)"),
    (["--batch_norm", "6"], "valid are keep, bvlc (3 blobs and a Scale layer) and nvcaffe"),
    (["--prototxt", "./net.prototxt"], "would replace net.prototxt"),
    (["--output", "net.caffemodel"], "would replace net.caffemodel"),
    (["--output", "none/half.caffemodel"], "none/half.caffemodel: cannot be written"),
    (["--output", "half.h5"], "HDF5 files hold no half precision"),
    (["--model", "none.caffemodel"], "none.caffemodel: No such file"),
    (["--model", "net.prototxt"], "net.prototxt: a caffemodel is needed"),
    (["--input", "net.caffemodel"], "net.caffemodel"),
    (["--seed", "x"], "invalid int value"),
])
def test_bad_flags_get_one_line(files, flags, said):
    assert said in migrate(files, *flags, expect=1)
    assert not list(files.glob("half*"))


def test_unknown_type_in_the_prototxt_gets_the_valid_ones(files):
    (files / "net.prototxt").write_text("default_forward_type: FLOAT8\n" + NET)
    printed = migrate(files, expect=1)
    assert "FLOAT8" in printed and printed.endswith("; valid are FLOAT, FLOAT16, DOUBLE\n")
    (files / "net.prototxt").write_text("default_forward_math: FLOAT8\n" + NET)
    printed = migrate(files, expect=1)
    assert printed.endswith("; valid are FLOAT, FLOAT16, BFLOAT16, DOUBLE\n")


def test_empty_prototxt_is_called_empty(files):
    (files / "net.prototxt").write_bytes(b"")
    assert migrate(files, expect=1) == "genDefaultModel.py: net.prototxt: the file is empty\n"


def test_misfit_gets_the_layer_and_both_shapes(files):
    (files / "net.prototxt").write_text(NET.replace("num_output: 2", "num_output: 3"))
    printed = migrate(files, expect=1)
    assert "layer 'fc', blob 0: its shape is 2 x 2, and in net.prototxt it is 3 x ?" in printed
    (files / "net.prototxt").write_text(
        NET.replace("num_output: 2", "num_output: 2 bias_term: false"))
    assert "layer 'fc' has 2 blobs, and in net.prototxt it has 1" in migrate(files, expect=1)


@pytest.mark.parametrize("name, blobs, said", [
    ("fc", [], "layer 'fc' has 0 blobs, and in net.prototxt it has 2: 2 x ?, 2"),
    ("scale", [[0.5, 1]], "layer 'scale' has 1 blobs, and in net.prototxt it has 2"),
    ("bn", [[2, 4], [6, 8]], "layer 'bn' has 2 blobs, and in net.prototxt it has 3 or 5"),
    ("data", [[1]], "layer 'data' has 1 blobs, and in net.prototxt it has 0"),
])
def test_another_number_of_blobs_is_refused(files, name, blobs, said):
    write_model(files / "net.caffemodel", {**BLOBS, name: blobs})
    assert said in migrate(files, "--skip_check", expect=1)
    assert not list(files.glob("half*"))


def test_the_compiled_net_refuses_what_the_prototxt_does_not_tell(files):
    if comparison.compiled_caffe() is None:
        pytest.skip("the compiled package is not built")
    (files / "net.prototxt").write_text(
        NET + 'layer { name: "p" type: "Parameter" top: "p"\n'
        '        parameter_param { shape { dim: 1 } } }\n')
    write_model(files / "net.caffemodel", {**BLOBS, "p": [[1], [2]]})
    assert ("Incompatible number of blobs for layer p: the stored layer has 2, the net's has 1"
            in migrate(files, expect=1))
    assert not list(files.glob("half*"))


def test_files_above_2_gb_are_the_other_tools(files):
    with open(files / "net.caffemodel", "ab") as file:
        file.truncate((2 << 30) + 1)
    printed = migrate(files, expect=1)
    assert "tools/upgrade_net_fp16 converts files of any size" in printed


def test_hdf5_gives_shared_parameters_to_all_their_layers(files):
    h5py = pytest.importorskip("h5py")
    (files / "net.prototxt").write_text("".join(
        f'layer {{ name: "{name}" type: "InnerProduct" bottom: "x" top: "x" param {{ name: "w" }} '
        "inner_product_param { num_output: 2 bias_term: false } }\n" for name in "ab"))
    with h5py.File(files / "net.caffemodel", "w") as file:
        file["data/a/0"] = np.array([[1, 2], [3, 4]], np.float32)
        file.create_group("data/b")
    migrate(files)
    layers = read_model(files / "half.caffemodel")
    assert layers["a"].blobs[0] == layers["b"].blobs[0]
    assert np.frombuffer(layers["b"].blobs[0].raw_data, "<f2").tolist() == [1, 2, 3, 4]


def test_every_half_rounds_to_nearest_even():
    """Compared with a search among all finite FP16 values."""
    seed = seed_of_this_test()  # without conftest.py's fixture: scripts/tests/migration.sh
    random = np.random.RandomState(seed)
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    exact = np.concatenate([(halves[:-1] + halves[1:]) / 2,  # every tie
                            np.exp(random.uniform(np.log(1e-9), np.log(65519), 2000))])
    after, counts = conversion.convert(exact, FLOAT16, False)
    at = np.searchsorted(halves, exact)
    below, above = halves[np.maximum(at - 1, 0)], halves[np.minimum(at, len(halves) - 1)]
    down, up = exact - below, above - exact
    is_even = np.maximum(at - 1, 0) % 2 == 0
    expected = np.where((down < up) | ((down == up) & is_even) | (exact > halves[-1]), below, above)
    expected[exact > halves[-1]] = halves[-1]
    np.testing.assert_array_equal(after.astype(np.float64), expected, err_msg=f"CAFFE_TEST_SEED={seed}")
    assert counts.overflowed == 0
    assert counts.zeroed == int((expected == 0).sum())


def test_counts_and_largest_error():
    tie, tiny = 1 + 2.0 ** -11, 1.5 * 2.0 ** -24
    counts = conversion.convert(np.array([tie, tiny, 1e9, 1e-9, 0, np.nan, np.inf], FLOAT), FLOAT16,
                                False)[1]
    assert counts == conversion.Counts(7, 1, 1, 1, 1, 1, 1 / 3)


@pytest.mark.parametrize("before, after", [
    ("a: 1\n  x: 3 \nb: 2\n", "a: 1\nb: 2\n"), ("a: 1 x: 3; b: 2\n", "a: 1 b: 2\n"),
    ("x { y: 'a}' } # why\n", "# why\n"), ("a: 1\nx: [1, '2]', 3]", "a: 1\n")])
def test_removes_a_field_with_its_line_if_it_is_alone_there(before, after):
    edits = text_fields.TextEdits(before)
    for field in text_fields.named(text_fields.scan(before), "x"):
        edits.remove(field)
    assert edits.apply() == after


def prototxt_of(model):
    own = model.with_suffix(".prototxt")
    deploy = model.parent / "deploy.prototxt"
    train = model.parent / "train_val.prototxt"
    return own if own.exists() else deploy if deploy.exists() else train


@needs_models
@pytest.mark.skipif(not TOOL.exists(), reason="upgrade_net_fp16 is not built; CAFFE_BUILD may name "
                    "the build folder")
@pytest.mark.parametrize("flags", [[], ["--to", "fp32"], ["--batch_norm", "nvcaffe"],
                                   ["--to", "fp32", "--batch_norm", "bvlc"]], ids=" ".join)
def test_writes_what_the_tool_in_cpp_writes(tmp_path, monkeypatch, capfd, flags):
    """Both files and the report, byte for byte: halves for every model, the rest for some."""
    few = ("lenet_v1format", "resnet20_cifar10", "retinaface", "intel_face", "imistyrain")
    folders = [tmp_path / "tool", tmp_path / "script"]
    for folder in folders:
        folder.mkdir()
    for model in MODELS:
        if flags and not any(name in str(model) for name in few):
            continue
        if model.suffix == ".h5":
            pytest.importorskip("h5py")
        command = ["--input", str(prototxt_of(model)), "--model", str(model), "--output",
                   "new.caffemodel", "--skip_check", *flags]
        done = subprocess.run([str(TOOL), *command], cwd=folders[0], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, "GLOG_minloglevel": "3"})
        assert done.returncode == 0, done.stderr
        monkeypatch.chdir(folders[1])
        assert genDefaultModel.main(command) == 0
        assert done.stdout.replace("-skip", "--skip") == capfd.readouterr().out, model
        for name in ("new.caffemodel", "new.prototxt"):
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), model


def opencv():
    """A Python with OpenCV 4's dnn, or None: this one or the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        probe = "import cv2; assert hasattr(cv2.dnn, 'readNetFromCaffe')"
        done = subprocess.run([python, "-c", probe], stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return python
    return None


@needs_models
@pytest.mark.parametrize("name, tolerance", [("lenet_v1format", 2e-3), ("mtcnn_cvdnn_det1", 2e-3),
                                             ("retinaface_mnet25_charrin", 2e-2),
                                             ("cifar10_quick_current", 2e-3)])
def test_opencv_reads_what_we_write(tmp_path, name, tolerance):
    python = opencv()
    if python is None:
        pytest.skip("needs OpenCV 4 (cv2) with readNetFromCaffe")
    folder = DATA / "models" / name
    text, weights = folder / "deploy.prototxt", folder / "weights.caffemodel"
    migrate(tmp_path, "--input", str(text), "--model", str(weights), "--skip_check")
    program = textwrap.dedent("""
        import sys, cv2, numpy
        shape = [int(extent) for extent in sys.argv[4].split()]
        x = numpy.random.RandomState(1).uniform(-1, 1, shape).astype("f")  # the tolerances are of this one
        outputs = []
        for weights in sys.argv[2:4]:
            net = cv2.dnn.readNetFromCaffe(sys.argv[1], weights)
            net.setInput(x)
            outputs.append(net.forward())
        print(abs(outputs[0] - outputs[1]).max() / abs(outputs[0]).max())
    """)
    shape = {"lenet_v1format": "1 1 28 28", "mtcnn_cvdnn_det1": "1 3 32 32",
             "retinaface_mnet25_charrin": "1 3 320 320", "cifar10_quick_current": "1 3 32 32"}[name]
    done = subprocess.run([python, "-c", program, str(text), str(weights),
                           str(tmp_path / "half.caffemodel"), shape], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) < tolerance
