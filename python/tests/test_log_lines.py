"""Logs of training and testing, read as programs read them that were written for Caffe's logs:
DIGITS, the scripts of tools/extra as Caffe has them, awk and grep. Their expressions are stated here
by what they match; the lines are real ones, of `caffe` and of Python."""
import datetime
import os
import re
import subprocess
import sys

import caffe
import pytest

PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(caffe.__file__)))

# What DIGITS and others take for a line of the log: letter, month and day, time, thread, place.
LINE = re.compile(r"([IWEF])(\d{4}) (\d{2}:\d{2}:\d{2})\.\d+ +\d+ (\w+\.[ch]pp):\d+\] (.*)")
NUMBER = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)"

NET = """
    name: "tiny"
    layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
      shape { dim: 4 dim: 3 } shape { dim: 4 } data_filler { type: "gaussian" }
      data_filler { type: "constant" value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
      inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
    layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
      include { phase: TEST } }
"""
SOLVER = """
    net: "net.prototxt" base_lr: 0.5 lr_policy: "step" gamma: 0.001 stepsize: 2 max_iter: 4
    display: 1 test_iter: 2 test_interval: 2 snapshot: 2 snapshot_prefix: "tiny" solver_mode: CPU
"""
IN_PYTHON = "import caffe; caffe.init_log(0, True); caffe.get_solver('solver.prototxt').solve()"


def run(command, folder, **environment):
    """Status and standard error of a command that logs everything."""
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("GLOG_")}
    surroundings.update(GLOG_minloglevel="0", PYTHONPATH=PACKAGES, **environment)
    done = subprocess.run([str(part) for part in command], cwd=folder, env=surroundings,
                          stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


@pytest.fixture
def files(write, tmp_path):
    write(NET)
    write(SOLVER, "solver.prototxt")
    return tmp_path


def training(program, request):
    if program == "python":
        return [sys.executable, "-c", IN_PYTHON]
    return [request.getfixturevalue("build") / "tools/caffe", "train", "-solver", "solver.prototxt"]


@pytest.fixture(params=["caffe", "python"])
def log(request, files):
    """The lines of a training, as the program wrote them."""
    status, lines = run(training(request.param, request), files)
    assert status == 0, lines
    return lines


def messages(lines, place=r".*"):
    """What stands behind the prefix, of lines from a file of this name."""
    found = [LINE.fullmatch(line) for line in lines]
    return [match[5] for match in found if match and re.fullmatch(place, match[4])]


def matches(lines, expression):
    return [match.groups() for match in (re.match(expression, line) for line in lines) if match]


def test_every_line_has_caffes_prefix(log):
    begins = [line for line in log if re.match(r"[IWEF]\d", line)]
    assert len(begins) > 50
    assert [line for line in begins if not LINE.fullmatch(line)] == []
    # What has none is the rest of a message of several lines: fields of a net or a solver.
    others = [line for line in log if not re.match(r"[IWEF]\d", line)]
    assert [line for line in others if not re.fullmatch(r"\s*([\w ]+: .*|\w+ \{|\}|)", line)] == []


def test_dates_as_digits_takes_them(log):
    # A letter, four digits, a blank and eight characters of time; the year is that of today.
    found = [re.match(r"(\w)(\d{4} \S{8}).*]\s+(\S.*)$", line) for line in log]
    year = datetime.date.today().year
    times = [datetime.datetime.strptime(f"{year}{match[2]}", "%Y%m%d %H:%M:%S")
             for match in found if match]
    assert len(times) > 50
    assert all(abs(time - datetime.datetime.now()) < datetime.timedelta(days=1) for time in times)


def test_seconds_as_caffes_extract_seconds_takes_them(log):
    # The first two words of a line: characters 1 and 2 are the month, the others the day.
    times = []
    for line in log:
        if "Iteration" in line or "Solving" in line:
            date, time = line.split()[:2]
            seconds, microseconds = time[:time.rfind(".")], time[time.rfind(".") + 1:]
            hour, minute, second = (int(part) for part in seconds.split(":"))
            times.append(datetime.datetime(2000, int(date[1:3]), int(date[3:]), hour, minute,
                                           second, int(microseconds)))
    assert len(times) > 10
    assert times[-1] - times[0] < datetime.timedelta(minutes=5)


def test_what_digits_and_parse_log_look_for(log):
    lines = messages(log)
    assert matches(lines, rf"Iteration (\d+).*lr = {NUMBER}") == [
        ("0", "0.5"), ("1", "0.5"), ("2", "0.0005"), ("3", "0.0005")]
    speed = r"\([-.\de+]+ iter/s, [-.\de+]+s/1 iters\)"
    losses = matches(lines, rf"Iteration (\d+) {speed}, loss = {NUMBER}$")
    assert [number for number, _ in losses] == ["0", "1", "2", "3"]
    assert [number for number, _ in matches(lines, rf"Iteration (\d+), loss = {NUMBER}$")] == ["4"]
    train = matches(
        lines, rf"\s*Train net output #(\d+): (\S+) = {NUMBER} \(\* 1 = {NUMBER} loss\)$")
    assert [name for _, name, *_ in train] == ["loss"] * 4
    tested = matches(lines, rf"\s*Test net output #(\d+): (\S+) = {NUMBER}")
    assert [name for _, name, _ in tested] == ["accuracy", "loss"] * 3
    assert matches(lines, r"Iteration (\d+), Testing net \(#(\d+)\)") == [
        ("0", "0"), ("2", "0"), ("4", "0")]
    assert matches(lines, r"Memory required for data:\s+(\d+)")
    assert lines.count("Solving tiny") == 1
    assert lines.count("Learning Rate Policy: step") == 1
    assert lines.count("Optimization Done.") >= 1
    assert matches(lines, r"Snapshotting to binary proto file (.*)") == [
        ("tiny_iter_2.caffemodel",), ("tiny_iter_4.caffemodel",)]
    assert matches(lines, r"Snapshotting solver state to binary proto file (.*)") == [
        ("tiny_iter_2.solverstate",), ("tiny_iter_4.solverstate",)]


def test_lines_stand_in_the_files_that_are_grepped_for(log):
    assert len(matches(messages(log, r"solver\.cpp"), r"Iteration \d+.*loss = ")) == 5
    assert len(matches(messages(log, r"solver\.cpp"), r" {4}(Train|Test) net output #")) == 10
    assert len(matches(messages(log, r"sgd_solver\.cpp"), r"Iteration \d+, lr = ")) == 4


def test_columns_of_awk(log):
    """Caffe's parse_log.sh prints words by their numbers."""
    def column(number, part):
        return [line.split()[number - 1] for line in log if part in line]

    assert [float(value) >= 0 for value in column(11, "Test net output #0")] == [True] * 3
    assert column(9, ", lr = ") == ["0.5", "0.5", "0.0005", "0.0005"]
    assert [line for line in log if "] Solving " in line]


def test_lines_of_caffe_test(build, files):
    run([build / "tools/caffe", "train", "-solver", "solver.prototxt"], files)
    status, lines = run([build / "tools/caffe", "test", "-model", "net.prototxt", "-weights",
                         "tiny_iter_4.caffemodel", "-iterations", "2"], files)
    assert status == 0
    scores = messages(lines, r"caffe\.cpp")
    batches = matches(scores, rf"Batch (\d+), accuracy = {NUMBER}$")
    assert [number for number, _ in batches] == ["0", "1"]
    assert len(matches(scores, rf"Loss: {NUMBER}$")) == 1
    assert len(matches(scores, rf"accuracy = {NUMBER}$")) == 1
    assert len(matches(scores, rf"loss = {NUMBER} \(\* 1 = {NUMBER} loss\)$")) == 1


def test_warnings_have_the_prefix_and_errors_stand_alone(build, files, write):
    write(SOLVER.replace("base_lr: 0.5", "base_lr: 1e38 weight_decay: 1e38"), "solver.prototxt")
    status, lines = run([build / "tools/caffe", "train", "-solver", "solver.prototxt"], files)
    assert status == 0
    warnings = [LINE.fullmatch(line) for line in lines if "training has diverged" in line]
    assert [(match[1], match[4]) for match in warnings] == [("W", "solver.cpp")]
    # An error is the last line, by itself: DIGITS shows lines that are none of the log.
    status, lines = run([build / "tools/caffe", "train", "-solver", "none.prototxt"], files)
    assert status == 1
    assert lines[-1].startswith("caffe: none.prototxt: ") and not LINE.match(lines[-1])


@pytest.mark.parametrize("program", ["caffe", "python"])
def test_the_environment_has_the_last_word(program, request, files):
    for value, begins in [("1", r"I20\d{6} "), ("0", r"I[01]\d{3} ")]:
        _, lines = run(training(program, request), files, GLOG_log_year_in_prefix=value)
        solving = [line for line in lines if "] Solving tiny" in line]
        assert [line for line in solving if re.match(begins, line)] == solving != []


def test_a_flag_has_the_last_word(build, files):
    _, lines = run([build / "tools/caffe", "train", "-solver", "solver.prototxt",
                    "-log_year_in_prefix"], files)
    assert [line for line in lines if re.match(r"I20\d{6} .*\] Solving tiny", line)]
