"""Names and messages that are not UTF-8: names come to Python as file names do (os.fsdecode) and find
what they name; messages show such bytes as \\xff."""
import json
import os

import caffe
import numpy as np
import pytest

from caffe.inference import Builder, CalibrationTable, Engine, ExecutionContext, NetworkDefinition

#: As Latin-1 has 'donn\u00e9es' and 'co\u00fbt'.
DATA, SUM = b"donn\xe9es", b"co\xfbt"
INPUT = (b'layer { name: "in" type: "Input" top: "%s" input_param { shape { dim: 1 dim: 3 } } } '
         % DATA)
LAYER = (b'layer { name: "%s" type: "InnerProduct" bottom: "%s" top: "%s" inner_product_param '
         b'{ num_output: 2 weight_filler { type: "constant" value: 1 } } } ' % (SUM, DATA, SUM))
data, total = os.fsdecode(DATA), os.fsdecode(SUM)
ONES = np.ones((1, 3), "float32")


@pytest.fixture
def model(tmp_path):
    """A net in a file whose name is not UTF-8 either."""
    file = os.path.join(os.fsencode(tmp_path), b"mod\xe8le.prototxt")
    with open(file, "wb") as stream:
        stream.write(INPUT + LAYER)
    return file


@pytest.fixture
def engine(model):
    return Builder().build(NetworkDefinition.from_caffe(model))


def test_nets_are_read_run_and_saved(model, tmp_path):
    net = caffe.Net(model, caffe.TEST)
    assert list(net.blobs) == [data, total] and list(net.params) == [total]
    assert net.inputs == [data] and net.outputs == [total]
    assert net.forward(**{data: ONES})[total].tolist() == [[3, 3]]
    net.params[total][0].data[...] = 2
    weights = tmp_path / os.fsdecode(b"poids\xff.caffemodel")
    net.save(weights)
    other = caffe.Net(model, caffe.TEST, weights=weights)
    assert other.forward(**{data: ONES})[total].tolist() == [[6, 6]]


def test_messages_show_the_bytes(tmp_path):
    file = tmp_path / "net.prototxt"
    file.write_bytes(LAYER)
    with pytest.raises(caffe.Error, match=r"Unknown bottom blob 'donn\\xe9es' .*'co\\xfbt'"):
        caffe.Net(str(file), caffe.TEST)
    with pytest.raises(caffe.Error, match=r"n\\xe9ant"):
        caffe.Net(os.fsdecode(b"n\xe9ant"), caffe.TEST)


def test_engines_and_their_plans(engine, tmp_path):
    plan = tmp_path / "net.plan"
    engine.save(plan)
    for loaded in (engine, Engine.load(plan)):
        assert loaded.inputs == {data: (1, 3)} and loaded.outputs == {total: (1, 2)}
        assert [layer.name for layer in loaded.layers] == [total]
        assert total in loaded.to_text()
        outputs = json.loads(loaded.to_json())["outputs"]
        assert outputs[0]["name"] == r"co\xfbt"  # JSON is UTF-8
        context = ExecutionContext(loaded)
        assert context.run({data: ONES})[total].tolist() == [[3, 3]]
        assert context.input_shape(data) == (1, 3)
        with pytest.raises(caffe.Error, match=r"'donn\\xe9es'"):
            context.input_shape("other")


def test_calibration_tables(tmp_path):
    table = CalibrationTable()
    table.set(data, 2)
    file = tmp_path / "table"
    table.write(file)
    read = CalibrationTable.read(file)
    assert read.blobs == [data] and read[data].threshold == 2
    assert CalibrationTable.parse(table.to_text()).blobs == [data]
    with pytest.raises(caffe.Error, match=r"\\xfb"):
        read[total]


def test_layers_by_hand():
    layer = caffe.create_layer(f'name: "{total}" type: "ReLU"')
    assert layer.layer_param.name == total and total in repr(layer)


# Whole numbers that no int holds name what they were given for.

def test_numbers_out_of_range(engine, solver_file):
    context = ExecutionContext(engine)
    solver = caffe.SGDSolver(solver_file())
    net = NetworkDefinition()
    for call, what in [
            (lambda: context.set_batch(2 ** 40), "set_batch: the batch is a number from"),
            (lambda: context.set_input_shape("x", (1, 2 ** 40)),
             "set_input_shapes: an extent of 'x' is a number from"),
            (lambda: net.add_input("x", (2 ** 40,)), "input 'x': an extent is a number from"),
            (lambda: solver.step(2 ** 40), "Solver.step: the number of iterations is a number from"),
            (lambda: caffe.set_device(2 ** 40), "set_device: the number of a GPU is a number from"),
            (lambda: caffe.set_random_seed(-1), "set_random_seed: the seed is a number from 0 to"),
    ]:
        with pytest.raises(ValueError, match=what):
            call()
    with pytest.raises(TypeError, match="set_batch: the batch is a whole number, not 1.5"):
        context.set_batch(1.5)
