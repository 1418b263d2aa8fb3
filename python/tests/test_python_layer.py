"""Layers written in Python."""
import gc
import weakref
import traceback

import caffe
import numpy as np
import pytest

import pycaffe_test_layers as layers


def net_text(layer, param_str="", module="pycaffe_test_layers", more=""):
    return f"""
        name: "python" {more}
        force_backward: true
        layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ dim: 2 dim: 3 }} }} }}
        layer {{ name: "before" type: "Power" bottom: "data" top: "before" power_param {{ scale: 2 }} }}
        layer {{ name: "python" type: "Python" bottom: "before" top: "python"
                 python_param {{ module: "{module}" layer: "{layer}" param_str: "{param_str}"
                                 share_in_parallel: true }} }}
        layer {{ name: "after" type: "Power" bottom: "python" top: "after" power_param {{ scale: 10 }} }}
    """


@pytest.fixture
def make(write):
    def make_net(*args, phase=caffe.TEST, **options):
        return caffe.Net(write(net_text(*args, **options)), phase)
    return make_net


@pytest.mark.parametrize("more", ["", "default_forward_type: FLOAT16 default_backward_type: FLOAT16"])
def test_computes_forward_and_backward(make, more):
    net = make("AddNumber", "5", more=more)
    assert (net.forward(data=np.ones((2, 3)))["after"] == 70).all()
    assert (net.forward(data=np.zeros((2, 3)))["after"] == 50).all()
    diffs = net.backward(after=np.ones((2, 3)))
    assert (diffs["data"] == 1 * 10 * 5 * 2).all()


def test_the_layer_is_the_users_object(make):
    net = make("AddNumber", "5")
    layer = net.layer_dict["python"]
    assert type(layer) is layers.AddNumber and layer.number == 5 and layer.param_str == "5"
    assert layer is net.layers[net._layer_names.index("python")]
    layer.number = 1
    assert (net.forward(data=np.zeros((2, 3)))["after"] == 10).all()
    assert layer.type == "Python" and layer.layer_param.name == "python"


def test_methods_are_called_in_order(make):
    net = make("AddNumber", "5")
    layer = net.layer_dict["python"]
    assert layer.calls == ["setup", "reshape"]
    net.forward()
    assert layer.calls == ["setup", "reshape", "reshape", "forward"]
    net.backward()
    assert layer.calls[-1] == "backward" and layer.propagate_down == [True]


def test_reshape_follows_the_input(make):
    net = make("AddNumber", "5")
    net.blobs["data"].reshape(7, 2)
    assert net.forward()["after"].shape == (7, 2)


def test_phase(make):
    for phase in (caffe.TRAIN, caffe.TEST):
        assert make("ReportsPhase", phase=phase).forward(end="python")["python"] == phase


def test_learned_blobs(make, tmp_path, write):
    net = make("Scale")
    assert (net.forward(data=np.ones((2, 3)))["after"] == 60).all()
    assert [blob.shape for blob in net.params["python"]] == [(1,)]
    net.clear_param_diffs()
    net.backward(after=np.ones((2, 3)))
    assert net.params["python"][0].diff[0] == 6 * 2 * 10
    net.params["python"][0].data[...] = 4
    net.save(tmp_path / "w.caffemodel")
    other = caffe.Net(write(net_text("Scale"), "o.prototxt"), tmp_path / "w.caffemodel", caffe.TEST)
    assert (other.forward(data=np.ones((2, 3)))["after"] == 80).all()


def test_trains_as_a_loss(solver_file):
    from conftest import TRAIN_NET
    python_loss = TRAIN_NET.replace('type: "EuclideanLoss"', """
        type: "Python" loss_weight: 1
        python_param { module: "pycaffe_test_layers" layer: "SquareLoss" }""")
    results = []
    for net in (TRAIN_NET, python_loss):
        solver = caffe.SGDSolver(solver_file(net))
        solver.step(5)
        results.append(solver.net.params["ip"][0].data.copy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def test_views_that_the_layer_keeps(make):
    for more in ("", "default_forward_type: FLOAT16"):
        net = make("KeepsViews", more=more)
        for value in (1, 2):
            assert (net.forward(data=np.full((2, 3), value))["after"] == 40 * value).all()


def test_an_object_outlives_its_net(make):
    net = make("Scale")
    net.forward()
    layer, scale = net.layer_dict["python"], net.params["python"][0].data
    del net
    gc.collect()
    assert layer.blobs[0].data[0] == 3 and scale[0] == 3


def test_borrowed_blobs_say_that_their_net_is_gone(make):
    class Keeper:
        pass

    net = make("AddNumber", "5")
    layer, keeper = net.layer_dict["python"], Keeper()
    layer.forward = lambda bottom, top: setattr(keeper, "blob", bottom[0])
    net.forward()
    assert keeper.blob.shape == (2, 3)
    del net, layer
    gc.collect()
    with pytest.raises(caffe.Error, match="no more"):
        keeper.blob.data


def test_an_object_that_keeps_itself_is_collected(make):
    net = make("AddNumber", "5")
    layer = net.layer_dict["python"]
    layer.method = layer.forward
    net.forward()
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is net.layer_dict["python"]
    del net
    gc.collect()
    assert gone() is None


def test_an_object_dies_with_its_net(make):
    made = []

    class Watched(layers.AddNumber):
        def __del__(self):
            made.append("dead")

    layers.Watched = Watched
    try:
        net = make("Watched", "1")
        net.forward()
        del net
        gc.collect()
    finally:
        del layers.Watched
    assert made == ["dead"]


class TestErrors:
    @pytest.mark.parametrize("method", ["__init__", "setup", "reshape"])
    def test_while_the_net_is_made(self, make, method):
        with pytest.raises(ZeroDivisionError, match="on purpose, in " + method):
            make("Raises", method)

    def test_in_forward_and_backward_with_their_traceback(self, make):
        net = make("Raises", "forward")
        with pytest.raises(ZeroDivisionError) as caught:
            net.forward()
        text = "".join(traceback.format_tb(caught.tb))
        assert "pycaffe_test_layers.py" in text and "self._fail_in(\"forward\"" in text
        net = make("Raises", "backward")
        net.forward()
        with pytest.raises(ZeroDivisionError, match="in backward"):
            net.backward()

    def test_name_the_layer_where_python_has_notes(self, make):
        with pytest.raises(ZeroDivisionError) as caught:
            make("Raises", "forward").forward()
        if hasattr(caught.value, "add_note"):
            assert "'python' (class pycaffe_test_layers.Raises)" in caught.value.__notes__[0]

    def test_leave_the_net_usable(self, make):
        net = make("Raises", "forward")
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                net.forward()
        net.layer_dict["python"].param_str = ""
        net.forward()

    def test_keyboard_interrupt_comes_through(self, make):
        net = make("AddNumber", "1")

        def interrupt(bottom, top):
            raise KeyboardInterrupt

        net.layer_dict["python"].forward = interrupt
        with pytest.raises(KeyboardInterrupt):
            net.forward()

    @pytest.mark.parametrize("layer, module, message", [
        ("L", "no_such_module", "(?s)'no_such_module' cannot be imported; sys.path is .*"
                                "ModuleNotFoundError: No module named 'no_such_module'"),
        ("L", "pycaffe_broken_module", "(?s)cannot be imported.*Traceback.*broken on purpose"),
        ("NoSuchLayer", "pycaffe_test_layers", "pycaffe_test_layers.py.* has no class 'NoSuchLayer'"),
        ("NotALayer", "pycaffe_test_layers", "NotALayer is not a subclass of caffe.Layer"),
        ("", "pycaffe_test_layers", "module and layer"),
    ])
    def test_of_a_class_that_cannot_be_used(self, make, layer, module, message):
        with pytest.raises(caffe.Error, match=message) as caught:
            make(layer, module=module)
        assert "net.prototxt" in str(caught.value) and "'python'" in str(caught.value)

    @pytest.mark.parametrize("layer, module, twin", [
        ("ProposalLayer", "rpn.proposal_layer", "type: 'Proposal' proposal_param { feat_stride: 16"),
        ("AnchorTargetLayer", "rpn.anchor_target_layer", "type: 'AnchorTarget'"),
        ("ProposalTargetLayer", "rpn.proposal_target_layer", "type: 'ProposalTarget'"),
    ])
    def test_name_the_type_in_cpp_where_there_is_one(self, make, layer, module, twin):
        with pytest.raises(caffe.Error) as caught:
            make(layer, "'feat_stride': 16", module=module)
        assert "The same in C++, without Python: " + twin in str(caught.value)
        assert "No module named 'rpn'" in str(caught.value)

    def test_missing_methods(self, make):
        with pytest.raises(caffe.Error, match="OnlyReshape has no method 'forward'"):
            make("OnlyReshape").forward()
        net = make("OnlyForward")
        net.forward()
        with pytest.raises(caffe.Error, match="OnlyForward has no method 'backward'"):
            net.backward()

    def test_init_without_super(self, make):
        class Forgetful(caffe.Layer):
            def __init__(self, param):
                pass

        layers.Forgetful = Forgetful
        try:
            with pytest.raises(TypeError, match="__init__"):
                make("Forgetful")
        finally:
            del layers.Forgetful


class TestInThePrograms:
    """Nets with Python layers that `caffe` runs."""

    @pytest.fixture
    def run(self, build, write):
        import os
        import pathlib
        import subprocess

        if not (build / "lib" / "libcaffe_python.so").exists():
            pytest.skip("this build has no plugin for Python layers")

        def run_time(*args, **options):
            environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(layers.__file__).parent))
            return subprocess.run(
                [build / "tools" / "caffe", "time", "-iterations", "1", "-model",
                 write(net_text(*args, **options))],
                env=environment, capture_output=True, text=True, timeout=300)
        return run_time

    def test_run(self, run):
        result = run("AddNumber", "5")
        assert result.returncode == 0, result.stderr

    def test_errors_have_the_traceback(self, run):
        result = run("Raises", "forward")
        assert result.returncode == 1
        assert "Traceback" in result.stderr and "on purpose, in forward" in result.stderr
        assert "layer 'python'" in result.stderr

    def test_a_class_that_cannot_be_imported(self, run):
        result = run("L", module="no_such_module")
        assert result.returncode == 1
        assert "'no_such_module' cannot be imported; sys.path is" in result.stderr
        assert result.stderr.endswith("No module named 'no_such_module'\n")


#: Faster R-CNN in small: what is learned proposes the regions, so their gradient is asked for.
FASTER_RCNN = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 6 dim: 6 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param {
            num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "rpn" type: "Convolution" bottom: "conv" top: "rpn" convolution_param {
            num_output: 2 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "propose" type: "Python" bottom: "rpn" top: "rois" top: "labels" top: "targets"
            top: "inside" top: "outside"
            python_param { module: "pycaffe_test_layers" layer: "ProposeRegions" } }
    layer { name: "pool" type: "ROIPooling" bottom: "conv" bottom: "rois" top: "pool"
            roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 1 } }
    layer { name: "scores" type: "InnerProduct" bottom: "pool" top: "scores" inner_product_param {
            num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "boxes" type: "InnerProduct" bottom: "pool" top: "boxes" inner_product_param {
            num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss_cls" type: "SoftmaxWithLoss" bottom: "scores" bottom: "labels"
            top: "loss_cls" propagate_down: true propagate_down: false }
    layer { name: "loss_bbox" type: "SmoothL1Loss" bottom: "boxes" bottom: "targets"
            bottom: "inside" bottom: "outside" top: "loss_bbox" }
"""


def test_regions_that_are_learned_train_end_to_end(write, random):
    solver = caffe.SGDSolver(write(
        "base_lr: 0.1 lr_policy: 'fixed' max_iter: 50 snapshot_after_train: false train_net: '%s'"
        % write(FASTER_RCNN), "solver.prototxt"))
    net = solver.net
    net.blobs["data"].data[...] = random.randn(1, 2, 6, 6)
    outputs = net.forward()
    before = outputs["loss_cls"] + outputs["loss_bbox"]
    solver.step(50)
    outputs = net.forward()
    assert outputs["loss_cls"] + outputs["loss_bbox"] < 0.3 * before
    assert net.layer_dict["propose"].propagate_down == [True]
    assert (net.blobs["rois"].diff == 0).all()
