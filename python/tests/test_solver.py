"""Solvers: training from Python."""
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref

import caffe
import numpy as np
import pytest

from conftest import TRAIN_NET

TYPES = {"SGD": caffe.SGDSolver, "Nesterov": caffe.NesterovSolver, "SAG": caffe.SAGSolver,
         "AdaGrad": caffe.AdaGradSolver, "RMSProp": caffe.RMSPropSolver, "AdaDelta": caffe.AdaDeltaSolver, "Adam": caffe.AdamSolver}

# What a type needs in addition to the rest of the file.
MORE = {"Adam": "momentum: 0.9 momentum2: 0.999 delta: 1e-8", "RMSProp": "rms_decay: 0.9 delta: 1e-8",
        "AdaGrad": "delta: 1e-8", "AdaDelta": "momentum: 0.9 delta: 1e-4"}


def loss_of(solver):
    return float(solver.net.blobs["loss"].data)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_trains(solver_file, name):
    solver = TYPES[name](solver_file(more=MORE.get(name, "")))
    assert solver.type == name
    solver.step(1)
    first = loss_of(solver)
    solver.step(10)
    assert solver.iter == 11 and loss_of(solver) < first


@pytest.mark.parametrize("name", TYPES)
def test_get_solver_makes_the_class_of_the_type(solver_file, name):
    solver = caffe.get_solver(solver_file(more=f'type: "{name}" {MORE.get(name, "")}'))
    assert type(solver) is TYPES[name] and solver.type == name


def test_one_step_by_hand(solver_file):
    # w = 0.5, x = 1: y = 1.5, 3.5 below the label; d loss / d w = -3.5, d loss / d b = -3.5.
    solver = caffe.SGDSolver(solver_file())
    solver.step(1)
    np.testing.assert_allclose(solver.net.params["ip"][0].data, 0.5 + 0.01 * 3.5, rtol=1e-6)
    np.testing.assert_allclose(solver.net.params["ip"][1].data, 0.01 * 3.5, rtol=1e-6)
    np.testing.assert_allclose(solver.net.params["ip"][0].diff, 0.01 * -3.5, rtol=1e-6)


def test_solve_goes_to_max_iter(solver_file):
    solver = caffe.SGDSolver(solver_file())
    solver.solve()
    assert solver.iter == 20 == solver.param.max_iter


def test_nets(solver_file):
    solver = caffe.SGDSolver(solver_file(more="test_iter: 1 test_interval: 10"))
    assert isinstance(solver.net, caffe.Net) and solver.net is solver.net
    assert solver.net.phase == caffe.TRAIN
    assert [net.phase for net in solver.test_nets] == [caffe.TEST]
    solver.net.mine = 1
    assert solver.net.mine == 1


def test_a_net_outlives_its_solver(solver_file):
    net = caffe.SGDSolver(solver_file()).net
    assert net.forward()["loss"] == pytest.approx(12.25)


def test_snapshot_and_restore(solver_file, tmp_path):
    solver = caffe.SGDSolver(solver_file(more="momentum: 0.9"))
    solver.step(3)
    solver.snapshot()
    assert (tmp_path / "snap_iter_3.caffemodel").exists()
    solver.step(3)
    expected = solver.net.params["ip"][0].data.copy()
    other = caffe.SGDSolver(solver_file(more="momentum: 0.9"))
    other.restore(tmp_path / "snap_iter_3.solverstate")
    assert other.iter == 3
    other.step(3)
    np.testing.assert_array_equal(other.net.params["ip"][0].data, expected)


def test_restore_with_and_without_data_positions(write, tmp_path):
    """Random data: a batch more or less shows in the weights."""
    write("""
        layer { name: "data" type: "DummyData" top: "x" top: "y" dummy_data_param {
          shape { dim: 2 dim: 3 } shape { dim: 2 dim: 1 } data_filler { type: "gaussian" } } }
        layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param {
          num_output: 1 weight_filler { type: "constant" value: 1 } } }
        layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
    """)
    file = write(f"""
        net: "{tmp_path}/net.prototxt" base_lr: 0.1 lr_policy: "fixed" momentum: 0.9 random_seed: 5
        snapshot_prefix: "{tmp_path}/snap" max_iter: 6
    """, "solver.prototxt")
    state = tmp_path / "snap_iter_3.solverstate"

    def weights(solver, prepare):
        prepare(solver)
        solver.step(3)
        return solver.net.params["ip"][0].data.tolist()

    def train(solver):
        solver.step(3)
        solver.snapshot()

    def go_past_the_data(solver):
        solver.restore(state, data_positions=False)
        assert solver.iter == 3
        for _ in range(3):
            solver.net.forward()

    expected = weights(caffe.SGDSolver(file), train)
    assert weights(caffe.SGDSolver(file), lambda solver: solver.restore(state)) == expected
    assert weights(caffe.SGDSolver(file), go_past_the_data) == expected
    assert weights(caffe.SGDSolver(file), lambda solver: solver.restore(state, False)) != expected


def test_solve_from_a_snapshot(solver_file, tmp_path):
    solver = caffe.SGDSolver(solver_file(more="snapshot: 15"))
    solver.solve()
    expected = solver.net.params["ip"][0].data.copy()
    other = caffe.SGDSolver(solver_file())
    other.solve(str(tmp_path / "snap_iter_15.solverstate"))
    assert other.iter == 20
    np.testing.assert_array_equal(other.net.params["ip"][0].data, expected)


def test_restore_refreshes_views(solver_file, tmp_path):
    solver = caffe.SGDSolver(solver_file())
    solver.step(1)
    solver.snapshot()
    weights = solver.net.params["ip"][0].data
    before = weights.copy()
    solver.step(1)
    assert (weights != before).all()
    solver.restore(tmp_path / "snap_iter_1.solverstate")
    np.testing.assert_array_equal(weights, before)


def test_learning_rate(solver_file):
    file = solver_file()
    text = open(file).read().replace('lr_policy: "fixed"', 'lr_policy: "step" gamma: 0.1 stepsize: 5')
    open(file, "w").write(text)
    solver = caffe.SGDSolver(file)
    assert solver.lr == pytest.approx(0.01)
    solver.step(5)
    assert solver.lr == pytest.approx(0.001)
    solver.lr = 1
    assert solver.base_lr == solver.param.base_lr == 1 and solver.lr == pytest.approx(0.1)
    solver.param.base_lr = 0.5
    assert solver.base_lr == 0.5
    solver.base_lr = 0
    before = solver.net.params["ip"][0].data.copy()
    solver.step(1)
    np.testing.assert_array_equal(solver.net.params["ip"][0].data, before)


def test_param(solver_file):
    param = caffe.SGDSolver(solver_file(more="iter_size: 1")).param
    assert param.display == 0 and param.layer_wise_reduce is True
    assert param.to_message().lr_policy == "fixed" and "fixed" in str(param)


def test_apply_update(solver_file):
    solver = caffe.SGDSolver(solver_file())
    weights = solver.net.params["ip"][0]
    weights.data[...], weights.diff[...] = 1, 10
    solver.apply_update()
    np.testing.assert_allclose(weights.data, 1 - 0.01 * 10, rtol=1e-6)


def test_share_weights(solver_file, write):
    solver = caffe.SGDSolver(solver_file())
    net = caffe.Net(write(TRAIN_NET, "other.prototxt"), caffe.TEST)
    solver.share_weights(net)
    solver.step(2)
    np.testing.assert_array_equal(net.params["ip"][0].data, solver.net.params["ip"][0].data)


def test_callbacks(solver_file):
    solver = caffe.SGDSolver(solver_file())
    calls, gradients = [], []
    diff = solver.net.params["ip"][0].diff

    def on_gradients_ready():
        calls.append(("ready", solver.iter))
        gradients.append(diff.copy())
        diff[...] = 0

    solver.add_callback(lambda: calls.append(("start", solver.iter)), on_gradients_ready)
    solver.step(2)
    assert calls == [("start", 0), ("ready", 0), ("start", 1), ("ready", 1)]
    np.testing.assert_allclose(gradients[0], -3.5, rtol=1e-6)
    assert (solver.net.params["ip"][0].data == 0.5).all()  # the gradients were taken away


def test_callbacks_are_freed_with_their_solver(solver_file):
    def train():
        solver = caffe.SGDSolver(solver_file())
        calls = []
        solver.net.before_forward(lambda layer: calls.append(solver.net))
        solver.add_callback(on_start=lambda: calls.append(solver),
                            on_gradients_ready=lambda: calls.append("ready"))
        solver.step(1)
        assert calls == [solver] + [solver.net] * len(solver.net.layers) + ["ready"]
        return weakref.ref(solver)

    left = train()
    gc.collect()
    assert left() is None


def test_a_callback_may_raise(solver_file):
    solver = caffe.SGDSolver(solver_file())

    def fail():
        raise StopIteration("enough")

    solver.add_callback(fail, lambda: None)
    with pytest.raises(StopIteration, match="enough"):
        solver.step(5)
    assert solver.iter == 0


def test_weights_set_between_steps_count(solver_file):
    solver = caffe.SGDSolver(solver_file())
    weights, bias = (blob.data for blob in solver.net.params["ip"])
    for _ in range(2):
        weights[...], bias[...] = 0.5, 0
        solver.step(1)
        assert loss_of(solver) == pytest.approx(12.25)


@pytest.mark.parametrize("text, message", [
    ("", "solver.prototxt"),
    ("base_lr: fast", "solver.prototxt:1"),
    ("base_lr: 1", "net"),
    ('net: "/none.prototxt" base_lr: 1 lr_policy: "fixed"', "/none.prototxt"),
])
def test_a_bad_solver_file(write, text, message):
    with pytest.raises(caffe.Error, match=message):
        caffe.SGDSolver(write(text, "solver.prototxt"))


def test_an_unknown_type(solver_file):
    with pytest.raises(caffe.Error, match="Sgd"):
        caffe.get_solver(solver_file(more='type: "Sgd"'))


def test_negative_steps_are_none(solver_file):
    solver = caffe.SGDSolver(solver_file())
    solver.step(2)
    solver.step(-1)
    assert solver.iter == 2


def test_a_missing_state(solver_file):
    with pytest.raises(caffe.Error, match="none.solverstate"):
        caffe.SGDSolver(solver_file()).restore("/none.solverstate")


def test_ctrl_c_ends_training(solver_file):
    file = solver_file()
    text = open(file).read().replace("max_iter: 20", "max_iter: 2000000000")
    open(file, "w").write(text)
    # A shell starts what runs behind it without this signal, and children inherit that.
    program = textwrap.dedent(f"""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import caffe
        solver = caffe.SGDSolver({file!r})
        solver.add_callback(lambda: print('training', flush=True) if solver.iter == 5 else None,
                            lambda: None)
        try:
            solver.solve()
        except KeyboardInterrupt:
            before = solver.iter
            solver.step(1)
            print('interrupted', before >= 5, solver.iter == before + 1, flush=True)
    """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "training\n"
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert output.splitlines()[-1] == "interrupted True True" and child.returncode == 0


def test_a_signal_handler_runs_while_training(solver_file):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are the main thread's")

    class Alarm(Exception):
        pass

    def on_signal(number, frame):
        raise Alarm()

    solver = caffe.SGDSolver(solver_file())
    previous = signal.signal(signal.SIGUSR1, on_signal)
    try:
        solver.add_callback(lambda: None,
                            lambda: os.kill(os.getpid(), signal.SIGUSR1) if solver.iter == 3 else None)
        with pytest.raises(Alarm):
            solver.step(10)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert solver.iter in (3, 4)
