"""The programs next to the package: classify.py, detect.py, draw_net.py, train.py."""
import contextlib
import csv
import io
import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

caffe = pytest.importorskip("caffe")
pytest.importorskip("caffe._caffe", reason="the compiled module is not built")
from caffe import _cli  # noqa: E402

PIL_Image = pytest.importorskip("PIL.Image", reason="Pillow writes the images of these tests")

FOLDER = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
if not os.path.exists(os.path.join(FOLDER, "classify.py")):
    pytest.skip("the programs are in the source tree only", allow_module_level=True)

# The scores are the means of B, G and R.
NET = """
    layer { name: "data" type: "Input" top: "data"
            input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
    layer { name: "means" type: "Pooling" bottom: "data" top: "means"
            pooling_param { pool: AVE global_pooling: true } }
"""


def run(program, *arguments, cwd=None):
    """Runs a program in this process, which is much quicker: its exit status and what it
    printed."""
    printed, errors = io.StringIO(), io.StringIO()
    before = sys.argv, os.getcwd()
    sys.argv = [os.path.join(FOLDER, program), *map(str, arguments)]
    os.chdir(cwd or before[1])
    status = 0
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):  # Python prints it and exits 1
            errors.write(end.code + "\n")
        status = 1 if isinstance(end.code, str) else end.code or 0
    finally:
        sys.argv = before[0]
        os.chdir(before[1])
    return status, printed.getvalue(), errors.getvalue()


def good(program, *arguments, cwd=None):
    """What a program prints that ends well."""
    status, printed, errors = run(program, *arguments, cwd=cwd)
    assert status == 0, printed + errors
    return printed


def bad(program, *arguments, cwd=None):
    """The one line in which a program says what is wrong."""
    status, printed, errors = run(program, *arguments, cwd=cwd)
    assert status == 1, printed + errors
    assert errors.count("\n") == 1 and errors.startswith(f"{program}: "), errors
    return errors


@pytest.fixture
def net(tmp_path):
    """Flags that name a net."""
    description, weights = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
    description.write_text(NET)
    caffe.Net(str(description), caffe.TEST).save(str(weights))
    return ["--model_def", description, "--pretrained_model", weights]


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for name, color in (("a", (255, 0, 0)), ("b", (0, 102, 51))):
        PIL_Image.new("RGB", (16, 16), color).save(folder / f"{name}.png")
    return folder


NO_MEAN = ["--mean_file", ""]
SMALL = ["--images_dim", "8,8"]


def test_programs_run_by_themselves():
    environment = dict(os.environ, GLOG_minloglevel="2",
                       PYTHONPATH=FOLDER + os.pathsep + os.environ.get("PYTHONPATH", ""))
    result = subprocess.run(
        [sys.executable, os.path.join(FOLDER, "draw_net.py"), "missing", "a.dot"],
        capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 1
    assert result.stderr.startswith("draw_net.py: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("program", ["classify.py", "detect.py", "draw_net.py", "train.py"])
def test_help_shows_an_example(program):
    text = good(program, "--help")
    assert "examples:" in text and f"  {program} " in text


def test_a_program_says_that_there_is_no_memory():
    def main():
        raise MemoryError("Unable to allocate 3 TiB")

    with pytest.raises(SystemExit, match="Unable to allocate 3 TiB"):
        _cli.run(main)


# --- classify.py ---


def test_classify_a_folder(net, images, tmp_path):
    text = good("classify.py", *net, *NO_MEAN, *SMALL, "--ext", "png", images,
                tmp_path / "out.npy")
    assert "CPU mode" in text and "Classifying 2 inputs." in text
    assert f"Saving results into {tmp_path}/out.npy" in text
    np.testing.assert_allclose(np.load(tmp_path / "out.npy").reshape(2, 3),
                               [[0, 0, 255], [51, 102, 0]], atol=1e-3)


def test_classify_one_image_with_the_default_mean(net, images, tmp_path):
    good("classify.py", *net, "--center_only", images / "a.png", tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy").ravel(),
                               [-104.007, -116.669, 255 - 122.679], atol=1e-3)


def test_classify_appends_the_extension(net, images, tmp_path):
    text = good("classify.py", *net, *NO_MEAN, "--center_only", images / "a.png", tmp_path / "scores.out")
    assert f"Saving results into {tmp_path}/scores.out.npy" in text
    assert np.load(tmp_path / "scores.out.npy").shape[0] == 1
    assert not (tmp_path / "scores.out").exists()


def test_classify_an_array_with_other_steps(net, tmp_path):
    np.save(tmp_path / "in.npy", np.full((3, 32, 16, 3), [0.1, 0.2, 0.4]))
    good("classify.py", *net, "--mean_file", "1,2,3", "--raw_scale", 10, "--input_scale", 2,
         "--channel_swap", "0,1,2", "--images_dim", "16,8", tmp_path / "in.npy",
         tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy").reshape(3, 3), [[0, 0, 2]] * 3,
                               atol=1e-4)


@pytest.mark.parametrize("form", ["npy", "binaryproto"])
def test_classify_with_a_mean_file(net, images, tmp_path, form):
    mean = np.full((3, 8, 8), 50, np.float32)
    path = tmp_path / f"mean.{form}"
    if form == "npy":
        np.save(path, mean)
    else:
        path.write_bytes(caffe.io.array_to_blobproto(mean[None]).SerializeToString())
    good("classify.py", *net, *SMALL, "--mean_file", path, images / "a.png", tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy").ravel(), [-50, -50, 205], atol=1e-3)


def test_classify_names_the_best_classes(net, images, tmp_path):
    (tmp_path / "labels.txt").write_text("blue\ngreen\nred\n")
    text = good("classify.py", *net, *NO_MEAN, *SMALL, "--labels", tmp_path / "labels.txt",
                images / "a.png", tmp_path / "out.npy")
    assert "a.png\n  255.0000  red\n" in text


@pytest.mark.parametrize("arguments, reason", [
    (["missing.jpg"], "missing.jpg"),
    (["--model_def", "missing.prototxt", "a.jpg"], "missing.prototxt"),
    (["--mean_file", "missing.npy", "a.jpg"], "missing.npy"),
    (["--mean_file", "1,x", "a.jpg"], "1,x"), (["--images_dim", "8", "a.jpg"], "--images_dim"),
    (["."], "--ext")])
def test_classify_says_what_is_wrong(net, tmp_path, arguments, reason):
    assert reason in bad("classify.py", *net, *arguments, "out.npy", cwd=tmp_path)
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("text", ["inf,8", "nan,8", "8.5,8"])
def test_classify_takes_whole_numbers(net, text):
    status, _, errors = run("classify.py", *net, "--images_dim", text, "a.jpg", "out.npy")
    assert status == 2  # as argparse says it
    assert f"--images_dim: '{text}' is not a list of whole numbers" in errors


@pytest.mark.parametrize("array, reason", [
    (np.zeros((2, 8, 8, 1)), "in.npy: .*no channel 2"), (np.zeros((5, 5)), r"in.npy .*\(5, 5\)"),
    (np.float32(1), r"in.npy .*\(\)"), (np.zeros((0, 8, 8, 3)), "in.npy: .*no images"),
    (np.array(["a"]), "in.npy .*no numbers"), (np.array([None]), "in.npy cannot be read")],
    ids=["grey", "plane", "scalar", "empty", "text", "objects"])
def test_classify_names_an_array_that_is_no_images(net, tmp_path, array, reason):
    np.save(tmp_path / "in.npy", array)
    assert re.search(reason, bad("classify.py", *net, *SMALL, "in.npy", "out.npy", cwd=tmp_path))


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:20],
                                    lambda data: data.replace(b"'shape'", b"'shape(")])
def test_classify_names_a_damaged_array(net, tmp_path, damage):
    np.save(tmp_path / "in.npy", np.zeros((1, 8, 8, 3)))
    (tmp_path / "in.npy").write_bytes(damage((tmp_path / "in.npy").read_bytes()))
    assert "in.npy cannot be read as a .npy file" in bad("classify.py", *net, *SMALL, "in.npy",
                                                         "out.npy", cwd=tmp_path)


def test_classify_names_an_archive(net, tmp_path):
    with open(tmp_path / "in.npy", "wb") as file:
        np.savez(file, np.zeros((1, 8, 8, 3)))
    assert "in.npy is an archive" in bad("classify.py", *net, *SMALL, "in.npy", "out.npy",
                                         cwd=tmp_path)


@pytest.mark.parametrize("data", [
    b"", b"\x2a\x04\0\0", b"\x2a\x08" + bytes(8), b"\x2a\x04" + bytes(4) + b"\x0c"],
    ids=["empty", "cut off", "without a shape", "end of no group"])
def test_classify_names_a_damaged_mean(net, tmp_path, data):
    (tmp_path / "mean.binaryproto").write_bytes(data)
    assert "mean.binaryproto is neither" in bad("classify.py", *net, "--mean_file",
                                                "mean.binaryproto", "a.jpg", "out.npy",
                                                cwd=tmp_path)


@pytest.mark.parametrize("flag, value, reason", [
    ("--mean_file", "1,2", "--mean_file 1,2: .*2 channels"),
    ("--channel_swap", "0,1", "--channel_swap: .*2 channels"),
    ("--channel_swap", "0,1,5", "--channel_swap: .*channel 5, .*0 to 2")])
def test_classify_names_the_flag(net, flag, value, reason):
    assert re.search(reason, bad("classify.py", *net, flag, value, "a.jpg", "out.npy"))


# --- detect.py ---


def windows_file(tmp_path, images):
    path = tmp_path / "windows.csv"
    path.write_text(f"filename,ymin,xmin,ymax,xmax\n{images}/a.png,0,0,16,16\n"
                    f"{images}/b.png,1,2,9,10\n{images}/a.png,3,3,11,11\n")
    return path


def test_detect_in_listed_windows(net, images, tmp_path):
    text = good("detect.py", *net, *NO_MEAN, "--crop_mode", "list", "--context_pad", 0,
                windows_file(tmp_path, images), tmp_path / "out.csv")
    assert "Processed 3 windows" in text
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [os.path.basename(row["filename"]) for row in rows] == ["a.png", "a.png", "b.png"]
    assert list(rows[0])[1:] == ["ymin", "xmin", "ymax", "xmax", "class0", "class1", "class2"]
    np.testing.assert_allclose([float(value) for value in list(rows[2].values())[1:]],
                               [1, 2, 9, 10, 51, 102, 0], atol=1e-3)


def test_detect_writes_hdf5(net, images, tmp_path):
    pandas = pytest.importorskip("pandas")
    arguments = [*net, *NO_MEAN, "--crop_mode", "list", "--context_pad", 2,
                 windows_file(tmp_path, images), tmp_path / "out.h5"]
    try:
        import tables  # noqa: F401
    except ImportError:
        assert "pip install pandas tables" in bad("detect.py", *arguments)
        return
    good("detect.py", *arguments)
    table = pandas.read_hdf(tmp_path / "out.h5", "df")
    assert table["ymax"].tolist() == [16, 11, 9] and table["prediction"].iloc[0].shape == (3,)


def test_detect_says_what_is_wrong(net, images, tmp_path):
    (tmp_path / "columns.csv").write_text("filename,ymin\n")
    (tmp_path / "words.csv").write_text("filename,ymin,xmin,ymax,xmax\na.png,0,0,x,1\n")
    listed = ["detect.py", *net, "--context_pad", 2, "--crop_mode", "list"]
    assert "xmin, ymax, xmax" in bad(*listed, tmp_path / "columns.csv", tmp_path / "out.csv")
    assert "words.csv:2" in bad(*listed, tmp_path / "words.csv", tmp_path / "out.csv")
    assert "out.txt" in bad(*listed, windows_file(tmp_path, images), tmp_path / "out.txt")
    assert "context_pad" in bad(*listed, "--context_pad", 4, windows_file(tmp_path, images),
                                tmp_path / "out.csv")


@pytest.mark.parametrize("window, reason", [
    ("nan,0,1,1", "numbers of pixels"), ("inf,0,1,1", "numbers of pixels"),
    ("0,0,1", "numbers of pixels"), ("-3,0,0,4", "a.png: .*no pixel of an image of 16 x 16"),
    ("16,0,20,4", "a.png: .*no pixel"), ("x" * 200000, "field limit")],
    ids=["nan", "inf", "three", "above", "below", "huge"])
def test_detect_names_the_line_of_a_window(net, images, tmp_path, window, reason):
    path = tmp_path / "windows.csv"
    path.write_text(f"filename,ymin,xmin,ymax,xmax\n{images}/a.png,0,0,9,9\n"
                    f"{images}/b.png,-3,0,4,4\n{images}/a.png,{window}\n")
    text = bad("detect.py", *net, "--context_pad", 2, "--crop_mode", "list", path,
               tmp_path / "out.csv")
    assert re.search(f"windows.csv:4: .*{reason}", text)


# --- draw_net.py ---


def test_draw_net(net, tmp_path):
    pytest.importorskip("pydot")
    text = good("draw_net.py", "--rankdir", "TB", net[1], tmp_path / "net.dot")
    assert f"Drawing net to {tmp_path}/net.dot" in text
    assert "data_blob" in (tmp_path / "net.dot").read_text()


def test_draw_net_upgrades_old_nets(tmp_path):
    pytest.importorskip("pydot")
    (tmp_path / "old.prototxt").write_text(
        'input: "data" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8 '
        'layers { name: "relu" type: RELU bottom: "data" top: "relu" }')
    good("draw_net.py", tmp_path / "old.prototxt", tmp_path / "net.dot")
    assert '"relu_ReLU" -> "relu_blob"' in (tmp_path / "net.dot").read_text().replace("  ", " ")


def test_draw_net_says_what_is_wrong(tmp_path):
    (tmp_path / "broken.prototxt").write_text("layer { nam: 1 }")
    assert "broken.prototxt" in bad("draw_net.py", tmp_path / "broken.prototxt", tmp_path / "a.dot")
    assert "missing" in bad("draw_net.py", tmp_path / "missing", tmp_path / "a.dot")


# --- train.py ---

TRAINING = """
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 1 }
                               data_filler { type: "gaussian" } data_filler { type: "constant" } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def solver(tmp_path):
    if not hasattr(caffe, "get_solver"):
        pytest.skip("this caffe has no solvers")
    (tmp_path / "train.prototxt").write_text(TRAINING)
    path = tmp_path / "solver.prototxt"
    path.write_text('net: "train.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 4 display: 2 '
                    'snapshot: 2 snapshot_prefix: "snap" solver_mode: CPU')
    return path


def test_train(solver, tmp_path):
    good("train.py", "--solver", solver, cwd=tmp_path)
    for iteration in (2, 4):
        for kind in ("caffemodel", "solverstate"):
            assert (tmp_path / f"snap_iter_{iteration}.{kind}").exists()


def test_train_goes_on_from_a_snapshot(solver, tmp_path):
    good("train.py", "--solver", solver, cwd=tmp_path)
    os.remove(tmp_path / "snap_iter_4.caffemodel")
    before = os.path.getmtime(tmp_path / "snap_iter_2.caffemodel")
    good("train.py", "--solver", solver, "--snapshot", "snap_iter_2.solverstate", cwd=tmp_path)
    assert (tmp_path / "snap_iter_4.caffemodel").exists()
    assert os.path.getmtime(tmp_path / "snap_iter_2.caffemodel") == before


def test_train_with_times(solver, tmp_path):
    lines = good("train.py", "--solver", solver, "--timing", cwd=tmp_path).splitlines()
    tables = [n for n, line in enumerate(lines) if line.split() == [
        "layer", "forward", "ms", "backward", "ms"]]
    assert len(tables) == 2  # iterations 2 and 4
    rows = [line.split() for line in lines[tables[0] + 1:tables[0] + 5]]
    assert [row[0] for row in rows] == ["data", "ip", "loss", "all"]
    assert all(float(row[-2]) > 0 for row in rows)
    assert lines[tables[0] + 5].startswith("iteration: ")


def test_train_says_what_is_wrong(solver, tmp_path):
    assert "missing.prototxt" in bad("train.py", "--solver", "missing.prototxt", cwd=tmp_path)
    assert "missing.solverstate" in bad("train.py", "--solver", solver, "--snapshot",
                                        "missing.solverstate", cwd=tmp_path)
    if not getattr(caffe, "has_nccl", lambda: False)():
        assert "NCCL" in bad("train.py", "--solver", solver, "--gpus", 0, 1, cwd=tmp_path)
