"""Nets in several threads."""
import threading
import time

import caffe
import numpy as np
import pytest

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
