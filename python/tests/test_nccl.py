"""caffe.NCCL: processes that train together. Here with a device and a library of the tests' own in
the place of GPUs and NCCL; nothing of this shows that NCCL itself is used as it wants to be."""
import re
import subprocess
import sys

import caffe
import numpy as np
import pytest

from gpu_doubles import environment_with_doubles

NET = """
    layer { name: "in" type: "Input" top: "x" top: "y"
            input_param { shape { dim: %d dim: 3 } shape { dim: %d dim: 2 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.5 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
"""
SOLVER = """
    net: "train.prototxt" base_lr: 0.1 momentum: 0.9 lr_policy: "fixed" display: 0
    max_iter: 3 snapshot_prefix: "snap" layer_wise_reduce: true
"""

#: One process of two. What it sees of the data is its own; its weights are not those that count.
RANK = """
import sys
import caffe
import numpy as np

rank, uid = int(sys.argv[1]), bytes.fromhex(sys.argv[2])
caffe.set_mode_gpu()
caffe.set_device(0)
caffe.set_solver_count(2)
caffe.set_solver_rank(rank)
caffe.set_multiprocess(True)
solver = caffe.SGDSolver("solver.prototxt")
data = np.load("data.npz")
solver.net.blobs["x"].data[...] = data["x"][2 * rank:2 * rank + 2]
solver.net.blobs["y"].data[...] = data["y"][2 * rank:2 * rank + 2]
solver.net.params["ip"][0].data[...] += rank
nccl = caffe.NCCL(solver, uid)
nccl.bcast()
solver.add_callback(nccl)
solver.net.after_backward(nccl)
del nccl
solver.step(3)
np.save(f"weights{rank}.npy", solver.net.params["ip"][0].data)
"""


@pytest.fixture
def environment(build, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    return environment_with_doubles(build, folder)


@pytest.fixture
def run(environment, tmp_path):
    """Starts Python with these arguments next to a solver."""
    (tmp_path / "train.prototxt").write_text(NET % (2, 2))
    (tmp_path / "solver.prototxt").write_text(SOLVER)

    def start(*arguments):
        return subprocess.Popen([sys.executable, *map(str, arguments)], cwd=tmp_path,
                                env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
    return start


def finish(process):
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return printed


def test_processes_learn_what_one_with_all_batches_does(run, tmp_path, random, write):
    data = dict(x=random.randn(4, 3).astype(np.float32), y=random.randn(4, 2).astype(np.float32))
    np.savez(tmp_path / "data.npz", **data)
    uid = finish(run("-c", "import caffe; assert caffe.has_nccl()\n"
                           "uid = caffe.NCCL.new_uid(); assert isinstance(uid, bytes)\n"
                           "print(uid.hex())")).strip()
    ranks = [run("-c", RANK, rank, uid) for rank in range(2)]
    for rank in ranks:
        finish(rank)
    solver = caffe.SGDSolver(write(
        SOLVER.replace("train.prototxt", write(NET % (4, 4), "all.prototxt")), "all_solver"))
    solver.net.blobs["x"].data[...] = data["x"]
    solver.net.blobs["y"].data[...] = data["y"]
    solver.step(3)
    expected = solver.net.params["ip"][0].data
    assert np.abs(expected - 0.5).max() > 0.01
    for rank in range(2):
        np.testing.assert_allclose(np.load(tmp_path / f"weights{rank}.npy"), expected, atol=1e-6)


def test_train_py_trains_with_a_process_for_each_gpu(run, tmp_path):
    program = caffe.__path__[0] + "/../train.py"
    finish(run(program, "--solver", "solver.prototxt", "--gpus", 0, 0))
    assert (tmp_path / "snap_iter_3.caffemodel").exists()


def test_train_py_ends_when_a_process_fails(run, tmp_path):
    program = caffe.__path__[0] + "/../train.py"
    process = run(program, "--solver", "solver.prototxt", "--gpus", 0, 99)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "train.py: training failed on GPU 99" in errors


def test_belongs_to_one_solver(run, tmp_path):
    finish(run("-c", """
import caffe
caffe.set_mode_gpu()
solver, other = caffe.SGDSolver("solver.prototxt"), caffe.SGDSolver("solver.prototxt")
nccl = caffe.NCCL(solver, caffe.NCCL.new_uid())
for add in (other.add_callback, other.net.after_backward):
    try:
        add(nccl)
        raise SystemExit("no error")
    except caffe.Error as error:
        assert "made for" in str(error), error
try:
    caffe.NCCL(solver, b"x")
    raise SystemExit("no error")
except caffe.Error as error:
    assert "it has 1 bytes, not 128" in str(error), error
"""))


@pytest.mark.skipif(caffe.has_nccl(), reason="NCCL can be used here")
def test_says_in_a_line_why_it_cannot_be_used(solver_file):
    for use in (caffe.NCCL.new_uid, lambda: caffe.NCCL(caffe.SGDSolver(solver_file()), b"uid")):
        with pytest.raises(caffe.Error) as caught:
            use()
        assert re.search("NCCL|driver|GPU", str(caught.value)) and "\n" not in str(caught.value)
