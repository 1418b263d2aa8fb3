"""Nets in several threads, and in forked processes."""
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import caffe
import numpy as np
import pytest

from caffe import inference

from conftest import SMALL_NET
from gpu_doubles import FakeGpu
from seeds import seed_of_this_test


def run_in_threads(*functions):
    """Runs the functions at once; raises what the first of them raised."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # handed to the test
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_net_each(write):
    file = write(SMALL_NET)
    seed = seed_of_this_test()

    def work(number):
        random = np.random.RandomState([seed, number])
        net = caffe.Net(file, caffe.TEST)
        for _ in range(50):
            values = random.rand(2, 3).astype(np.float32)
            expected = np.repeat(2 * values.sum(1, keepdims=True) + 1, 4, axis=1)
            np.testing.assert_allclose(net.forward(data=values)["ip"], expected, rtol=1e-5)

    run_in_threads(*[lambda number=number: work(number) for number in range(4)])


def test_one_net_is_used_by_one_thread_at_a_time(small_net):
    running = []

    def before(layer):
        if layer == 0:
            running.append(threading.get_ident())
            time.sleep(0.001)  # lets the other threads run into it

    def after(layer):
        if layer == 1:
            assert set(running) == {threading.get_ident()}
            running.clear()

    small_net.before_forward(before)
    small_net.after_forward(after)
    run_in_threads(*[lambda: [small_net.forward() for _ in range(20)]] * 3)


def test_shared_weights(write):
    file = write(SMALL_NET)
    owner = caffe.Net(file, caffe.TEST)

    def work():
        net = caffe.Net(file, caffe.TEST)
        net.share_with(owner)
        for _ in range(50):
            assert (net.forward(data=np.ones((2, 3)))["ip"] == 7).all()

    run_in_threads(*[work] * 4)


def test_python_runs_while_a_net_computes(solver_file):
    """The GIL is released: another thread sees a step while it is under way."""
    solver = caffe.SGDSolver(solver_file())
    done = threading.Event()
    counted = []

    def count():
        while not done.is_set():
            counted.append(solver.iter)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        for _ in range(100):  # where the thread gets no core for one, it does for another
            before = solver.iter
            solver.step(300)
            if any(before < seen < before + 300 for seen in list(counted)):
                return
    finally:
        done.set()
        counter.join()
    pytest.fail("nothing was seen of 100 steps while they were under way")


def test_python_runs_within_a_pass(write):
    """A thread sees a pass half done: its first layer has computed, its last one has not."""
    layers = "".join(f"""layer {{ name: "l{i}" type: "Power" bottom: "b{i}" top: "b{i + 1}" }}
        """ for i in range(200))
    net = caffe.Net(write("""layer { name: "data" type: "Input" top: "b0"
                             input_param { shape { dim: 20000 } } }""" + layers), caffe.TRAIN)
    first, last = net.blobs["b1"].data, net.blobs["b200"].data
    done, half_done = threading.Event(), threading.Event()

    def watch():
        while not done.is_set():
            if first[0] > last[0]:
                half_done.set()

    def compute():
        for value in range(1, 1000):
            net.forward(b0=np.full(20000, value))
            if half_done.is_set():
                break
        done.set()

    run_in_threads(watch, compute)
    assert half_done.is_set()


def test_callbacks_in_another_thread(small_net):
    calls = []
    small_net.before_forward(lambda layer: calls.append(threading.get_ident()))
    run_in_threads(small_net.forward)
    assert len(calls) == 2 and threading.get_ident() not in calls


def test_python_layers_in_other_threads(write):
    file = write("""
        layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 } } }
        layer { name: "add" type: "Python" bottom: "data" top: "add"
                python_param { module: "pycaffe_test_layers" layer: "AddNumber" param_str: "5" } }
    """)

    def work():
        net = caffe.Net(file, caffe.TEST)
        for value in range(50):
            assert (net.forward(data=np.full(2, value))["add"] == value + 5).all()

    run_in_threads(*[work] * 4)


def test_the_mode_of_one_thread_is_that_of_all(small_net, build):
    """GPU mode shows itself as an error once the tests' GPU is gone."""
    small_net.forward()  # this thread has used Caffe: it has settings of its own

    def choose_gpu(choose):
        gpu = FakeGpu(build)
        choose(caffe.set_mode_gpu)
        gpu.remove()

    choose_gpu(run_in_threads)
    try:
        small_net.forward()
    except caffe.Error as error:
        assert "no GPU can be used" in str(error)
    else:
        pytest.skip("there is a GPU: both modes compute")
    run_in_threads(caffe.set_mode_cpu)
    small_net.forward()

    choose_gpu(lambda function: function())
    with pytest.raises(caffe.Error, match="no GPU can be used"):
        run_in_threads(small_net.forward)


@pytest.fixture
def kept_threads():
    """Gives the process the number of threads back that it had."""
    before = caffe.threads()
    yield before
    caffe.set_threads(before)


def test_the_number_of_threads_of_one_thread_is_that_of_all(kept_threads):
    run_in_threads(lambda: caffe.set_threads(3))
    assert caffe.threads() == 3
    caffe.set_threads(2)
    seen = []
    run_in_threads(lambda: seen.append(caffe.threads()))
    assert seen == [2]


def test_there_is_one_thread_at_least(kept_threads):
    with pytest.raises(caffe.Error, match="at least 1, got 0"):
        caffe.set_threads(0)
    assert caffe.threads() == kept_threads


def test_arrays_may_be_dropped_in_another_thread(small_net):
    stop = threading.Event()

    def look():
        while not stop.is_set():
            small_net.params["ip"][0].data.sum()

    def compute():
        for _ in range(300):
            small_net.forward(data=np.ones((2, 3)))
        stop.set()

    run_in_threads(look, compute)
    assert (small_net.blobs["ip"].data == 7).all()


#: What a thread may be about when the interpreter ends: statements that make `compute`, and those
#: that it repeats.
AT_EXIT = {
    "a pass": ("net = caffe.Net('net.prototxt', caffe.TEST)", "net.forward()"),
    "the making of a net": ("", "caffe.Net('net.prototxt', caffe.TEST)"),
    "a callback": ("net = caffe.Net('net.prototxt', caffe.TEST)\n"
                   "net.before_forward(lambda layer: sum(range(5000)))", "net.forward()"),
    "a Python layer": ("net = caffe.Net('python.prototxt', caffe.TEST)", "net.forward()"),
    "a solver's callback": ("solver = caffe.get_solver('solver.prototxt')\n"
                            "solver.add_callback(lambda: sum(range(5000)), lambda: None)",
                            "solver.step(1000)"),
    "an engine": ("from caffe import inference\n"
                  "definition = inference.NetworkDefinition.from_caffe('net.prototxt')\n"
                  "engine = inference.Builder().build(definition)\n"
                  "context = inference.ExecutionContext(engine)\n"
                  "context.observer = lambda blob, values: sum(range(5000))", "context.run()"),
}


@pytest.mark.parametrize("what", AT_EXIT)
def test_the_interpreter_may_end_while_a_daemon_thread_computes(what, write, solver_file, tmp_path):
    write(SMALL_NET)
    write("""
        layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 } } }
        layer { name: "add" type: "Python" bottom: "data" top: "add"
                python_param { module: "busy_layer" layer: "Busy" } }
    """, "python.prototxt")
    write("""
        import caffe

        class Busy(caffe.Layer):
            def reshape(self, bottom, top):
                top[0].reshape(1)

            def forward(self, bottom, top):
                top[0].data[...] = sum(range(5000))
    """, "busy_layer.py")
    solver_file()
    before, repeated = AT_EXIT[what]
    program = f"""
import threading, time
import caffe
{before}
def compute():
    while True:
        {repeated}
threading.Thread(target=compute, daemon=True).start()
time.sleep(0.05)
"""
    settings = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=settings, text=True,
                            capture_output=True, timeout=120)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.fixture
def in_child():
    """Runs a function in a forked child, which may take two minutes; returns what it returns, a
    text."""
    def run(function):
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(120)
                os.write(send, function().encode())
                status = 0
            finally:
                os._exit(status)
        os.close(send)
        with os.fdopen(receive) as pipe:
            text = pipe.read()
        assert os.waitpid(child, 0)[1] == 0
        return text

    return run


WIDE_NET = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 8 dim: 16 dim: 32 dim: 32 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 32 kernel_size: 3 weight_filler { type: "constant" value: 0.5 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
            inner_product_param { num_output: 10 weight_filler { type: "constant" value: 0.25 } } }
"""


def test_a_forked_child_computes_as_its_parent_does(write, random, in_child, kept_threads):
    """Each process has threads of its own to share loops among."""
    caffe.set_threads(2)
    file = write(WIDE_NET)
    net = caffe.Net(file, caffe.TEST)
    context = inference.ExecutionContext(
        inference.Builder().build(inference.NetworkDefinition.from_caffe(file)))
    values = random.rand(8, 16, 32, 32).astype(np.float32)

    def results():
        scores = [net.forward(data=values)["ip"], context.run(data=values)["ip"],
                  caffe.Net(file, caffe.TEST).forward(data=values)["ip"],
                  context.enqueue(data=values).result(120)["ip"]]
        return " ".join(hashlib.sha256(array.tobytes()).hexdigest() for array in scores)

    expected = results()
    assert in_child(results) == expected
    assert results() == expected
    assert in_child(lambda: in_child(results)) == expected


def test_a_thread_forks_while_another_computes(write, random, in_child, kept_threads):
    """The other one's team goes on."""
    caffe.set_threads(2)
    net, other = (caffe.Net(write(WIDE_NET), caffe.TEST) for _ in range(2))
    values = random.rand(8, 16, 32, 32).astype(np.float32)
    expected = net.forward(data=values)["ip"].tobytes()
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            assert other.forward(data=values)["ip"].tobytes() == expected

    def fork():
        try:
            for _ in range(20):
                assert in_child(lambda: "done") == "done"
                assert net.forward(data=values)["ip"].tobytes() == expected
        finally:
            stop.set()

    run_in_threads(compute, fork)
