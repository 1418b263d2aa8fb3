"""tools/extra: tables, seconds and plots from training logs."""
import csv
import importlib
import math
import os
import subprocess
import sys

import pytest

EXTRA = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "extra")
if not os.path.isdir(EXTRA):
    pytest.skip("tools/extra is in the source tree only", allow_module_level=True)
sys.path.insert(0, EXTRA)
parse_log = importlib.import_module("parse_log")
extract_seconds = importlib.import_module("extract_seconds")
plot_training_log = importlib.import_module("plot_training_log")

OURS = """\
I20261121 11:27:00.000000 20268 solver.cpp:325] Solving LeNet
I20261121 11:27:00.500000 20268 solver.cpp:390] Iteration 0, Testing net (#0)
I20261121 11:27:01.000000 20268 solver.cpp:252]     Test net output #0: accuracy = 0.0625
I20261121 11:27:01.000000 20268 solver.cpp:252]     Test net output #1: loss = 2.5 (* 1 = 2.5 loss)
I20261121 11:27:02.000000 20268 solver.cpp:269] Iteration 0 (-1 iter/s, 0s/20 iters), loss = 2.25
I20261121 11:27:02.000000 20268 solver.cpp:252]     Train net output #0: loss = 2.25 (* 1 = 2.25
loss) I20261121 11:27:02.000000 20268 sgd_solver.cpp:72] Iteration 0, lr = 0.01
I20261121 11:27:12.250000 20268 solver.cpp:269] Iteration 20 (2 iter/s, 10s/20 iters), loss = 0.5
I20261121 11:27:12.250000 20268 solver.cpp:252]     Train net output #0: loss = 5e-01 (* 1 = 0.5
loss) I20261121 11:27:12.250000 20268 sgd_solver.cpp:72] Iteration 20, lr = 1e-3
I20261121 11:27:13.000000 20268 solver.cpp:347] Iteration 40, loss = 0.4
I20261121 11:27:13.500000 20268 solver.cpp:390] Iteration 40, Testing net (#0)
I20261121 11:27:14.000000 20268 solver.cpp:252]     Test net output #0: accuracy = 0.75
I20261121 11:27:14.000000 20268 solver.cpp:252]     Test net output #1: loss = 0.25 (* 1 = 0.25
loss)
"""


def write(tmp_path, text, name="train.log"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def as_caffe_wrote_it(text):
    """The prefix of older versions of glog: no year."""
    return text.replace("I2026", "I")


@pytest.mark.parametrize("form", [str, as_caffe_wrote_it], ids=["with the year", "Caffe's"])
def test_rows(tmp_path, form):
    train, test = parse_log.parse_log(write(tmp_path, form(OURS)))
    assert train == [
        {"NumIters": 0, "Seconds": 2.0, "LearningRate": 0.01, "loss": 2.25},
        {"NumIters": 20, "Seconds": 12.25, "LearningRate": 0.001, "loss": 0.5}]
    assert test == [
        {"NumIters": 0, "Seconds": 0.5, "LearningRate": 0.01, "accuracy": 0.0625, "loss": 2.5},
        {"NumIters": 40, "Seconds": 13.5, "LearningRate": 0.001, "accuracy": 0.75, "loss": 0.25}]


def test_nvcaffes_rows(tmp_path):
    text = OURS.replace("] Iteration", "] [0.0] Iteration").replace(
        "s/20 iters)", "s/20 iter)").replace("]     Train", "] [0.0]     Train")
    assert parse_log.parse_log(write(tmp_path, text, "nv.log")) == \
        parse_log.parse_log(write(tmp_path, OURS))


def test_outputs_that_are_not_finite_are_rows_and_are_named(tmp_path):
    text = OURS.replace("loss = 5e-01", "loss = -nan").replace("loss = 0.25", "loss = inf")
    train, test = parse_log.parse_log(write(tmp_path, text))
    assert math.isnan(train[1]["loss"]) and test[1]["loss"] == math.inf
    assert parse_log.not_finite(train) == ["loss is nan from iteration 20 on"]
    assert parse_log.not_finite(test) == ["loss is inf from iteration 40 on"]


def test_a_log_without_learning_rates(tmp_path):
    text = "".join(line for line in OURS.splitlines(True) if "lr =" not in line)
    train, _ = parse_log.parse_log(write(tmp_path, text))
    assert all(math.isnan(row["LearningRate"]) for row in train)


def test_outputs_of_several_test_nets_share_a_row(tmp_path):
    text = OURS + "".join(
        f"I20261121 11:27:15.000000 2 solver.cpp:390] {text}\n" for text in (
            "Iteration 40, Testing net (#1)", "    Test net output #0: top5 = 0.875"))
    _, test = parse_log.parse_log(write(tmp_path, text))
    assert test[1]["accuracy"] == 0.75 and test[1]["top5"] == 0.875
    assert "top5" not in test[0]


def test_training_into_the_new_year(tmp_path):
    text = as_caffe_wrote_it(OURS).replace("I1121 11:27:00", "I1231 23:59:50").replace(
        "I1121 11:27:0", "I1231 23:59:5").replace("I1121 11:27:1", "I0101 00:00:0")
    train, test = parse_log.parse_log(write(tmp_path, text))
    assert [row["Seconds"] for row in train] == [2.0, 12.25]
    assert [row["Seconds"] for row in test] == [0.5, 13.5]


def test_a_file_that_is_no_log(tmp_path):
    with pytest.raises(ValueError, match="notes.txt.*Solving"):
        parse_log.parse_log(write(tmp_path, "Iteration 5\n", "notes.txt"))


def test_times_of_log_lines():
    time = extract_seconds.extract_datetime_from_line("I0405 10:18:51.67733 78183 a.cpp:1] x", 2015)
    assert time.isoformat() == "2015-04-05T10:18:51.677330"
    time = extract_seconds.extract_datetime_from_line("W20240229 01:02:03.000004 7 a.cpp:1] x",
                                                      1999)
    assert time.isoformat() == "2024-02-29T01:02:03.000004"
    time = extract_seconds.extract_datetime_from_line("I0229 01:02:03.000000 7 a.cpp:1] x", 2026)
    assert (time.month, time.day) == (2, 29)  # whatever year it was
    with pytest.raises(ValueError, match="no time.*hello"):
        extract_seconds.extract_datetime_from_line("hello", 2015)


# --- The programs ---


def run(program, *arguments):
    return subprocess.run([sys.executable, os.path.join(EXTRA, program), *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def test_parse_log_writes_tables(tmp_path):
    log = write(tmp_path, OURS.replace("loss = 0.25", "loss = nan"))
    out = tmp_path / "tables"
    out.mkdir()
    result = run("parse_log.py", log, out, "--verbose")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"Wrote {out}/train.log.train\nWrote {out}/train.log.test\n"
    assert result.stderr == "parse_log.py: testing: loss is nan from iteration 40 on\n"
    assert (out / "train.log.train").read_text() == (
        "NumIters,Seconds,LearningRate,loss\n0,2.0,0.01,2.25\n20,12.25,0.001,0.5\n")
    with open(out / "train.log.test", encoding="utf-8") as file:
        assert [row["accuracy"] for row in csv.DictReader(file)] == ["0.0625", "0.75"]


def test_parse_log_with_another_delimiter(tmp_path):
    assert run("parse_log.py", write(tmp_path, OURS), tmp_path, "--delimiter", ";").returncode == 0
    assert (tmp_path / "train.log.train").read_text().startswith("NumIters;Seconds;")


def test_extract_seconds(tmp_path):
    assert run("extract_seconds.py", write(tmp_path, OURS), tmp_path / "out").returncode == 0
    assert (tmp_path / "out").read_text().split() == [
        "0.500000", "2.000000", "2.000000", "12.250000", "12.250000", "13.000000", "13.500000"]


@pytest.mark.parametrize("program, arguments", [
    ("parse_log.py", ["."]), ("extract_seconds.py", ["out"])])
def test_programs_say_in_one_line_what_is_wrong(tmp_path, program, arguments):
    for log, reason in ((tmp_path / "missing.log", "missing.log"),
                        (write(tmp_path, "nothing\n", "empty.log"), "Solving")):
        result = run(program, log, *arguments)
        assert result.returncode == 1
        assert reason in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("chart", range(8))
def test_plots(tmp_path, chart):
    pytest.importorskip("matplotlib")
    figure = plot_training_log.draw(chart, [write(tmp_path, OURS), write(tmp_path, OURS, "b.log")])
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["train.log", "b.log"]
    over = ([0, 40] if chart < 4 else [0, 20]) if chart % 2 == 0 else (
        [0.5, 13.5] if chart < 4 else [2.0, 12.25])
    values = [[0.0625, 0.75], [2.5, 0.25], [0.01, 0.001], [2.25, 0.5]][chart // 2]
    assert lines[0].get_xdata().tolist() == over and lines[0].get_ydata().tolist() == values


def test_plots_of_named_outputs(tmp_path):
    pytest.importorskip("matplotlib")
    log = write(tmp_path, OURS.replace("accuracy", "top1"))
    axes = plot_training_log.draw(0, [log], "top1").axes[0]
    assert axes.get_title() == "Test top1 over iterations"
    with pytest.raises(ValueError, match="train.log has no test output 'accuracy'"):
        plot_training_log.draw(0, [log])


def test_the_plotting_program_writes_an_image(tmp_path):
    pytest.importorskip("matplotlib")
    result = run("plot_training_log.py", 6, tmp_path / "loss.png", write(tmp_path, OURS))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def columns(tmp_path, text, name="train.log"):
    """The tables of training and of testing that parse_log.sh writes."""
    log = write(tmp_path, text, name)
    result = subprocess.run(["sh", os.path.join(EXTRA, "parse_log.sh"), log], cwd=tmp_path,
                            text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    return [(tmp_path / f"{name}.{phase}").read_text() for phase in ("train", "test")]


def test_parse_log_sh_writes_caffes_columns(tmp_path):
    train, test = columns(tmp_path, OURS.replace("iters), loss = 0.5", "iters), loss = 0.75"))
    assert train == ("#Iters Seconds TrainingLoss LearningRate\n"
                     "0 2.0 2.25 0.01\n20 12.25 0.75 0.001\n")
    assert test == ("#Iters Seconds TestAccuracy TestLoss\n"
                    "0 0.5 0.0625 2.5\n40 13.5 0.75 0.25\n")


def test_parse_log_sh_writes_further_outputs_behind_them(tmp_path):
    more = [f"I20261121 11:27:15.000000 2 solver.cpp:1]     {phase} net output #9: {name} = 3\n"
            for phase, name in (("Train", "loss2"), ("Test", "top5"))]
    text = OURS.replace("I20261121 11:27:12", more[0] + "I20261121 11:27:12", 1) + more[1]
    train, test = columns(tmp_path, text, "lr=1.log")
    assert train == ("#Iters Seconds TrainingLoss LearningRate loss loss2\n"
                     "0 2.0 2.25 0.01 2.25 3.0\n20 12.25 0.5 0.001 0.5 nan\n")
    assert test == ("#Iters Seconds TestAccuracy TestLoss top5\n"
                    "0 0.5 0.0625 2.5 nan\n40 13.5 0.75 0.25 3.0\n")


def test_parse_log_sh_names_outputs_that_are_neither_accuracy_nor_loss(tmp_path):
    _, test = columns(tmp_path, OURS.replace("accuracy", "top1"))
    assert test.startswith("#Iters Seconds top1 TestLoss\n")


def test_summarize(tmp_path):
    net = tmp_path / "net.prototxt"
    net.write_text("""
        layer { name: "data" type: "Input" top: "data" include { phase: TEST } }
        layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
                param { lr_mult: 1 } param { lr_mult: 2 }
                convolution_param { num_output: 4 kernel_size: 3
                                    weight_filler { type: "xavier" } } }""")
    package = os.path.join(EXTRA, "..", "..", "python")
    environment = dict(os.environ, PYTHONPATH=os.path.abspath(package))

    def summarize(path):
        return subprocess.run([sys.executable, os.path.join(EXTRA, "summarize.py"), str(path)],
                              text=True, capture_output=True, check=False, env=environment)

    lines = summarize(net).stdout.splitlines()
    assert lines[0].split() == ["name", "type", "bottom", "top", "fields", "lr_mult"]
    assert lines[2].split() == ["data", "Input", "(TEST)", "data"]
    assert lines[3].split() == ["conv", "Convolution", "data", "conv", "num_output:", "4",
                                "kernel_size:", "3", "1", "2"]
    net.write_text("layers { }")
    assert "upgrade_net_proto_text" in summarize(net).stderr
    assert "missing" in summarize(tmp_path / "missing").stderr


def test_resize_and_crop_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "in" / "a").mkdir(parents=True)
    wide = image.new("RGB", (60, 20), "white")
    wide.paste("red", (20, 0, 40, 20))
    wide.save(tmp_path / "in" / "a" / "wide.png")
    wide.transpose(image.Transpose.ROTATE_90).save(tmp_path / "in" / "tall.png")
    names = tmp_path / "names.txt"
    names.write_text("a/wide.png 0\ntall.png 1\n")
    arguments = ["--input", names, "--input_folder", tmp_path / "in", "--output_folder",
                 tmp_path / "out", "--output_side_length", 10, "--num_clients", 2]
    result = run("resize_and_crop_images.py", *arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"2 of 2 images written to {tmp_path}/out\n"
    for name in ("a/wide.png", "tall.png"):
        with image.open(tmp_path / "out" / name) as small:
            assert small.size == (10, 10) and small.getpixel((5, 5)) == (255, 0, 0)
    as_in_caffe = run("resize_and_crop_images.py", *arguments, "--image_lib=OpenCV",
                      "--launch=local")
    assert as_in_caffe.stdout == result.stdout, as_in_caffe.stderr
    assert run("resize_and_crop_images.py", *arguments, "--image_lib=gimp").returncode == 2
    names.write_text("a/wide.png\nmissing.png\n")
    result = run("resize_and_crop_images.py", *arguments)
    assert result.returncode == 1 and "missing.png" in result.stderr
