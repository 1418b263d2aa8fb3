"""What scripts use that pycaffe 1.0 had in addition to its documented API, and what it had before
2015."""
import inspect
import warnings

import caffe
import caffe.classifier
import caffe.coord_map
import caffe.detector
import caffe.draw
import numpy as np
import pytest
from caffe.proto import caffe_pb2
from conftest import LAYERS, SMALL_NET, TRAIN_NET  # noqa: F401
from test_module import run

_caffe = caffe._pycaffe._caffe


# --- Names of 1.0 ---

#: Modules of pycaffe 1.0, their functions and classes, and the names of their arguments.
PUBLIC = {
    caffe.pycaffe: {
        "Net": None, "SGDSolver": None, "NesterovSolver": None, "AdaGradSolver": None,
        "RMSPropSolver": None, "AdaDeltaSolver": None, "AdamSolver": None, "NCCL": None,
        "Timer": None,
        "_Net_forward": "self blobs start end", "_Net_backward": "self diffs start end",
        "_Net_forward_all": "self blobs", "_Net_forward_backward_all": "self blobs diffs",
        "_Net_set_input_arrays": "self data labels", "_Net_get_id_name": "func field"},
    caffe.io: {
        "blobproto_to_array": "blob return_diff", "array_to_blobproto": "arr diff",
        "arraylist_to_blobprotovector_str": "arraylist", "blobprotovector_str_to_arraylist": "str",
        "array_to_datum": "arr label", "datum_to_array": "datum", "Transformer": "inputs",
        "load_image": "filename color", "resize_image": "im new_dims interp_order",
        "oversample": "images crop_dims", "resize": "image output_shape"},
    caffe.io.Transformer: {
        "preprocess": "self in_ data", "deprocess": "self in_ data",
        "set_transpose": "self in_ order", "set_channel_swap": "self in_ order",
        "set_raw_scale": "self in_ scale", "set_mean": "self in_ mean",
        "set_input_scale": "self in_ scale"},
    caffe.classifier.Classifier: {
        "__init__": "self model_file pretrained_file image_dims mean input_scale raw_scale "
                    "channel_swap",
        "predict": "self inputs oversample"},
    caffe.detector.Detector: {
        "__init__": "self model_file pretrained_file mean input_scale raw_scale channel_swap "
                    "context_pad",
        "detect_windows": "self images_windows", "detect_selective_search": "self image_fnames",
        "crop": "self im window", "configure_crop": "self context_pad"},
    caffe.draw: {
        "get_pooling_types_dict": "", "get_edge_label": "layer", "get_layer_lr_mult": "layer",
        "get_layer_label": "layer rankdir display_lrm", "choose_color_by_layertype": "layertype",
        "get_pydot_graph": "caffe_net rankdir label_edges phase display_lrm",
        "draw_net": "caffe_net rankdir ext phase display_lrm",
        "draw_net_to_file": "caffe_net filename rankdir phase display_lrm",
        "LAYER_STYLE_DEFAULT": None, "NEURON_LAYER_STYLE": None, "BLOB_STYLE": None},
    caffe.net_spec: {
        "param_name_dict": "", "to_proto": None, "assign_proto": "proto name val", "Top": "fn n",
        "Function": "type_name inputs params", "NetSpec": "", "Layers": None, "Parameters": None,
        "layers": None, "params": None},
    caffe.net_spec.NetSpec: {
        "keys": "self", "vals": "self", "update": "self name params", "to_proto": "self"},
    caffe.coord_map: {
        "PASS_THROUGH_LAYERS": None, "conv_params": "fn", "crop_params": "fn", "coord_map": "fn",
        "compose": "base_map next_map", "inverse": "coord_map",
        "coord_map_from_to": "top_from top_to", "crop": "top_from top_to",
        "UndefinedMapException": None, "AxisMismatchException": None},
    _caffe: {name: None for name in (
        "AdaDeltaSolver", "AdaGradSolver", "AdamSolver", "Blob", "BlobVec", "BoolVec", "DtypeVec",
        "IntVec", "Layer", "LayerParameter", "LayerVec", "NCCL", "NesterovSolver", "Net", "NetVec",
        "RMSPropSolver", "RawBlobVec", "SGDSolver", "Solver", "SolverParameter", "StringVec",
        "Timer", "get_solver", "has_nccl", "init_log", "layer_type_list", "log",
        "set_device", "set_mode_cpu", "set_mode_gpu", "set_multiprocess", "set_random_seed",
        "set_solver_count", "set_solver_rank", "solver_count", "solver_rank")},
    caffe: {name: None for name in (
        "Classifier", "Detector", "Layer", "NetSpec", "TEST", "TRAIN", "get_solver", "io", "layers",
        "params", "proto", "to_proto", "net_spec", "pycaffe", "model_libs")},
}


@pytest.mark.parametrize("owner, name, arguments", [
    (owner, name, arguments) for owner, names in PUBLIC.items()
    for name, arguments in names.items()], ids=lambda value: getattr(value, "__name__", None))
def test_names_and_arguments_of_1_0(owner, name, arguments):
    thing = getattr(owner, name)
    if arguments is not None:
        ours = list(inspect.signature(thing).parameters)
        assert ours[:len(arguments.split())] == arguments.split()


def test_properties_by_their_inner_names(small_net):
    for name in ("blobs", "blob_loss_weights", "layer_dict", "params", "inputs", "outputs"):
        prop = getattr(caffe.pycaffe, f"_Net_{name}")
        assert list(prop.fget(small_net)) == list(getattr(small_net, name))
    tops = caffe.pycaffe._Net_get_id_name(caffe.Net._top_ids, "_tops_for_a_test")
    assert tops.fget(small_net) == small_net.top_names
    assert tops.fget(small_net) is tops.fget(small_net)


def test_methods_can_be_replaced_and_called_by_their_inner_names(small_net, monkeypatch):
    calls = []

    def forward(self, *args, **options):
        calls.append(options)
        return caffe.pycaffe._Net_forward(self, *args, **options)

    monkeypatch.setattr(caffe.Net, "forward", forward)
    assert (small_net.forward(data=np.ones((2, 3)))["ip"] == 7).all() and len(calls) == 1


def test_batches(small_net):
    batches = list(small_net._batch({"data": np.arange(9.0).reshape(3, 3)}))
    assert [batch["data"].tolist() for batch in batches] == [
        [[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [0, 0, 0]]]


def test_the_last_blob(small_net):
    """Blobs were an OrderedDict."""
    assert next(reversed(small_net.blobs)) == "ip"


def test_a_net_can_be_renamed(small_net, tmp_path):
    assert small_net.name == "small"
    small_net.name = "other"
    assert small_net.name == "other"
    path = tmp_path / "renamed.caffemodel"
    small_net.save(str(path))
    saved = caffe_pb2.NetParameter.FromString(path.read_bytes())
    assert saved.name == "other"


def test_layers_take_attributes(small_net):
    small_net.layers[1].note = "kept"
    assert small_net.layers[1].note == small_net.layer_dict["ip"].note == "kept"


def test_blobs_take_attributes(small_net):
    small_net.blobs["ip"].note = "kept"
    assert small_net.blobs["ip"].note == "kept"
    with pytest.raises(AttributeError):
        small_net.blobs["ip"].data = np.ones((2, 4))  # which would leave the net as it is


def test_text_format_comes_with_caffe():
    result = run("import caffe; import google.protobuf as pb2; print(pb2.text_format.__name__)")
    assert result.stdout == "google.protobuf.text_format\n", result.stderr


# --- The compiled module ---


def test_the_compiled_module_makes_nets_and_solvers(write, solver_file):
    net = _caffe.Net(write(SMALL_NET), caffe.TEST)
    assert net._forward(0, 1) == 0
    path = solver_file()
    assert type(_caffe.get_solver(path)) is type(_caffe.SGDSolver(path)) is caffe.SGDSolver
    assert issubclass(_caffe.AdamSolver, _caffe.Solver) and issubclass(caffe.Net, _caffe.Net)


@pytest.mark.parametrize("name, good, bad", [
    ("IntVec", [1, np.int32(2)], 1.5), ("BoolVec", [True, np.bool_(False)], 2),
    ("DtypeVec", [1.5, np.float32(2), 3], "4"), ("StringVec", ["a", "b"], 3)])
def test_vectors_are_lists_of_one_type(name, good, bad):
    vector = getattr(_caffe, name)(good)
    assert vector == good and isinstance(vector, list)
    vector.append(good[0])
    vector.extend(good)
    vector += good[:1]
    vector.insert(0, good[-1])
    vector[0] = good[0]
    vector[1:2] = good[:1]
    assert len(vector) == 2 * len(good) + 3
    for change in (lambda: vector.append(bad), lambda: vector.extend([bad]),
                   lambda: vector.insert(0, bad), lambda: vector.__setitem__(0, bad),
                   lambda: vector.__setitem__(slice(0, 1), [bad]),
                   lambda: vector.__iadd__([bad]), lambda: type(vector)([bad])):
        with pytest.raises(TypeError, match=name):
            change()


def test_vectors_of_a_net(small_net, solver_file):
    assert type(small_net.params["ip"]) is type(small_net.layers[1].blobs) is _caffe.BlobVec
    assert isinstance(small_net.layers, _caffe.LayerVec)
    assert isinstance(caffe.SGDSolver(solver_file()).test_nets, _caffe.NetVec)
    with pytest.raises(TypeError):
        _caffe.NetVec([small_net, "net"])
    assert len(_caffe.NetVec([small_net])) == 1


@pytest.mark.parametrize("kind", ["RawBlobVec", "BlobVec"])
def test_a_layer_runs_on_vectors_of_blobs(kind):
    layer = caffe.create_layer('type: "Power" power_param { scale: 2 }')
    bottom, top = getattr(_caffe, kind)(), getattr(_caffe, kind)()
    bottom.append(caffe.Blob([2]))
    top.append(caffe.Blob([1]))
    layer.SetUp(bottom, top)
    bottom[0].data[...] = [3, 4]
    layer.Forward(bottom, top)
    assert top[0].data.tolist() == [6, 8]
    with pytest.raises(TypeError):
        bottom.append(3)


def test_a_vector_of_blobs_of_its_own():
    blobs = _caffe.BlobVec()
    assert len(blobs) == 0 and list(blobs) == []
    blobs.add_blob(2, 3)
    blobs.append(caffe.Blob([4]))
    assert [blob.shape for blob in blobs] == [(2, 3), (4,)]
    assert blobs[-1] is blobs[1]
    with pytest.raises(IndexError):
        blobs[2]


def test_a_blob_that_a_layer_shares():
    layer = caffe.create_layer('type: "Power"')
    blob = caffe.Blob([2])
    layer.blobs.append(blob)
    blob.data[...] = [5, 6]
    assert layer.blobs[0].data.tolist() == [5, 6]


class SharesItsBottom(caffe.Layer):
    """Tries to learn what it was called with, which the net owns."""

    def setup(self, bottom, top):
        self.blobs.append(bottom[0])


def test_a_blob_that_a_layer_was_lent_is_not_shared(write):
    with pytest.raises(TypeError, match="none that a Python layer was called with"):
        caffe.Net(write("""
            layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 2 } } }
            layer { name: "p" type: "Python" bottom: "d" top: "p"
                    python_param { module: "test_old_names" layer: "SharesItsBottom" } }
        """), caffe.TEST)


# --- Python layers ---


def test_a_phase_is_an_int_called_by_its_name(write):
    text = """layer { name: "p" type: "Python" top: "p"
                      python_param { module: "pycaffe_test_layers" layer: "ReportsPhase"
                                     param_str: "words" } }"""
    for phase, name in ((caffe.TRAIN, "TRAIN"), (caffe.TEST, "TEST")):
        layer = caffe.Net(write(text), phase).layers[0]
        assert isinstance(layer.phase, int) and layer.phase == phase
        assert str(layer.phase) == f"{layer.phase}" == "%s" % layer.phase == name
        assert "%d" % layer.phase == f"{layer.phase:d}" == str(phase)
        assert ["train", "test"][layer.phase] == name.lower() and {phase: 1}[layer.phase]
        assert layer.param_str_ == layer.param_str == "words"


# --- Before 2015 ---


def warned(pattern):
    return pytest.warns(DeprecationWarning, match=pattern)


def test_a_net_without_a_phase_is_for_testing(write, small_net, tmp_path):
    weights = str(tmp_path / "small.caffemodel")
    small_net.save(weights)
    path = write(SMALL_NET)
    for arguments in ((path,), (path, weights)):
        with warned(r"caffe.Net\(network_file, caffe.TEST\)") as found:
            net = caffe.Net(*arguments)
        assert net.phase == caffe.TEST
        assert found[0].filename == __file__  # the script's line, so that Python shows it


def test_the_phase_as_a_setting_of_the_process(write):
    try:
        with warned("set_phase_train"):
            caffe.set_phase_train()
        with warned("without a phase"):
            assert caffe.Net(write(SMALL_NET)).phase == caffe.TRAIN
    finally:
        with warned("set_phase_test"):
            caffe.set_phase_test()
    with warned("without a phase"):
        assert caffe.Net(write(SMALL_NET)).phase == caffe.TEST


def test_the_phase_as_a_method_of_nets(write, small_net):
    with warned(r"set_phase_test\(\)") as found:
        small_net.set_phase_test()
    assert found[0].filename == __file__
    with warned("set_phase_train"), pytest.raises(caffe.Error, match=r"made for the phase TEST.*"
                                                                     r"caffe.Net\(network_file, "
                                                                     r"caffe.TRAIN\)"):
        small_net.set_phase_train()
    with warned("set_phase_train"):
        caffe.Net(write(SMALL_NET), caffe.TRAIN).set_phase_train()


def test_the_mode_as_a_method_of_nets(small_net):
    with warned(r"use caffe.set_mode_cpu\(\)"):
        small_net.set_mode_cpu()
    assert (small_net.forward(data=np.ones((2, 3)))["ip"] == 7).all()
    with warned(r"use caffe.set_mode_gpu\(\)"):
        try:
            small_net.set_mode_gpu()
        except caffe.Error:
            pass  # where there is no GPU
    with warned(r"use caffe.set_device\(\)"):
        try:
            small_net.set_device(0)
        except caffe.Error:
            pass


IMAGE_NET = """layer { name: "data" type: "Input" top: "data"
                       input_param { shape { dim: 1 dim: 3 dim: 2 dim: 2 } } }"""


def test_preprocessing_as_methods_of_nets(write, tmp_path):
    net = caffe.Net(write(IMAGE_NET), caffe.TEST)
    image = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    mean = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    np.save(tmp_path / "mean.npy", mean)
    with warned("caffe.io.Transformer's set_raw_scale"):
        net.set_raw_scale("data", 2)
    with warned("set_channel_swap"):
        net.set_channel_swap("data", (2, 1, 0))
    with warned("set_mean"):
        net.set_mean("data", str(tmp_path / "mean.npy"))
    with warned("set_input_scale"):
        net.set_input_scale("data", 0.5)
    with warned("preprocess") as found:
        prepared = net.preprocess("data", image)
    assert found[0].filename == __file__
    np.testing.assert_allclose(prepared, (image.transpose(2, 0, 1)[::-1] * 2 - mean) / 2)
    with warned("deprocess"):
        np.testing.assert_allclose(net.deprocess("data", prepared), image)
    with warned("set_mean"):
        net.set_mean("data", mean, mode="channel")
    with warned("preprocess"):
        channels = np.array([1.5, 5.5, 9.5]).reshape(3, 1, 1)
        np.testing.assert_allclose(net.preprocess("data", image),
                                   (image.transpose(2, 0, 1)[::-1] * 2 - channels) / 2)
    with warned("set_mean"), pytest.raises(ValueError, match="'elementwise' or 'channel'"):
        net.set_mean("data", mean, mode="pixel")


@pytest.mark.parametrize("kind", ["Classifier", "Detector"])
def test_classifiers_chose_the_mode(kind, write, tmp_path):
    weights, mean = str(tmp_path / "n.caffemodel"), str(tmp_path / "mean.npy")
    caffe.Net(write(IMAGE_NET), caffe.TEST).save(weights)
    np.save(mean, np.array([1.0, 2.0, 3.0]))
    with warned("") as found:
        net = getattr(caffe, kind)(write(IMAGE_NET), weights, gpu=False, mean_file=mean)
    texts = [str(each.message) for each in found]
    assert len(texts) == 2 and {each.filename for each in found} == {__file__}
    assert "gpu" in texts[0] and "use caffe.set_mode_cpu()" in texts[0]
    assert "mean_file" in texts[1] and "use mean=numpy.load(file)" in texts[1]
    assert net.transformer.mean["data"].ravel().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["Classifier", "Detector"])
@pytest.mark.parametrize("name", ["gppu", "owner"])
def test_classifiers_say_which_argument_they_do_not_have(kind, name, write):
    with pytest.raises(TypeError, match=rf"__init__\(\) got an unexpected.* '{name}'"):
        getattr(caffe, kind)(write(IMAGE_NET), "none.caffemodel", **{name: True})


def test_a_classifier_is_set_up_by_its_own_methods(write, tmp_path):
    weights = str(tmp_path / "n.caffemodel")
    caffe.Net(write(IMAGE_NET), caffe.TEST).save(weights)
    classifier = caffe.Classifier(write(IMAGE_NET), weights)
    image = np.ones((2, 2, 3), np.float32)
    assert (classifier.predict([image], oversample=False) == 1).all()
    with warned("set_raw_scale"):
        classifier.set_raw_scale("data", 255)
    assert (classifier.predict([image], oversample=False) == 255).all()


def test_what_is_not_old_does_not_warn(write, small_net):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        caffe.Net(write(SMALL_NET), caffe.TEST)
        caffe.Net(write(SMALL_NET), phase=caffe.TEST)
        small_net.forward()
