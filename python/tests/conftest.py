"""What all tests of the Python package share."""
import os
import pathlib
import sys
import textwrap

os.environ.setdefault("GLOG_minloglevel", "2")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

# The layers that the tests' nets name, also for programs that the tests start.
LAYERS = pathlib.Path(__file__).parent / "layers"
sys.path.insert(0, str(LAYERS))

import caffe  # noqa: E402
from seeds import seed_of  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--build", default="", help="the build folder, for tests that run its programs")


@pytest.fixture
def build(request):
    """The build folder; tests that need its programs are skipped without."""
    folder = request.config.getoption("--build")
    if not folder:
        pytest.skip("needs the build folder: --build")
    return pathlib.Path(folder)


@pytest.fixture
def write(tmp_path):
    """Writes a text into a file of its own and returns the path."""
    def write_file(text, name="net.prototxt"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return str(path)
    return write_file


@pytest.fixture(autouse=True)
def cpu_mode(request):
    """Each test begins in this mode, and Caffe's own generator with the test's seed."""
    caffe.set_mode_cpu()
    caffe.set_random_seed(seed_of(request.node.name))
    yield
    caffe.set_mode_cpu()


#: data (2, 3) -> ip (2, 4): the sums of the rows times 2, plus 1.
SMALL_NET = """
    name: "small"
    force_backward: true
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 4 weight_filler { type: "constant" value: 2 }
                                  bias_filler { type: "constant" value: 1 } } }
"""


@pytest.fixture
def small_net(write):
    return caffe.Net(write(SMALL_NET), caffe.TEST)


#: A regression that Adam, SGD, ... can train: the data is constant, the loss goes down.
TRAIN_NET = """
    name: "regression"
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
                               data_filler { type: "constant" value: 1 }
                               data_filler { type: "constant" value: 5 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.5 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


@pytest.fixture
def solver_file(write, tmp_path):
    """Writes a solver for a net and returns its path; further lines of it are the second argument."""
    def write_solver(net=TRAIN_NET, more=""):
        net_file = write(net, "train.prototxt")
        return write(f"""
            net: "{net_file}"
            base_lr: 0.01 lr_policy: "fixed" max_iter: 20 display: 0
            snapshot_prefix: "{tmp_path}/snap" snapshot_after_train: false
            {more}
        """, "solver.prototxt")
    return write_solver


@pytest.fixture
def random(request):
    """Random numbers; a failed test prints the seed."""
    return np.random.RandomState(seed_of(request.node.name))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.sections.append(("Random numbers", f"CAFFE_TEST_SEED={seed_of(item.name)} repeats them"))


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes two seconds or more; CAFFE_SLOW_TESTS=0 leaves it out")


def pytest_collection_modifyitems(items):
    if os.environ.get("CAFFE_SLOW_TESTS") != "0":
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow, and CAFFE_SLOW_TESTS is 0"))
