"""caffe.net_spec: nets written as Python expressions."""
import copy

import numpy as np
import pytest
from google.protobuf import text_format

from caffe.net_spec import Function, NetSpec, Top, assign_proto, layers as L, params as P, \
    param_name_dict, to_proto
from caffe.proto import caffe_pb2


def parsed(text):
    return text_format.Parse(text, caffe_pb2.NetParameter())


def layer_of(top):
    return to_proto(top).layer[-1]


def data(**fields):
    return L.DummyData(shape=dict(dim=[1, 3, 8, 8]), **fields)


def lenet(batch_size):
    n = NetSpec()
    n.data, n.label = L.DummyData(shape=[dict(dim=[batch_size, 1, 28, 28]),
                                         dict(dim=[batch_size, 1, 1, 1])],
                                  transform_param=dict(scale=1 / 256), ntop=2)
    n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=20,
                            weight_filler=dict(type="xavier"))
    n.pool1 = L.Pooling(n.conv1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n.ip1 = L.InnerProduct(n.pool1, num_output=500, weight_filler=dict(type="xavier"))
    n.relu1 = L.ReLU(n.ip1, in_place=True)
    n.ip2 = L.InnerProduct(n.relu1, num_output=10, weight_filler=dict(type="xavier"))
    n.loss = L.SoftmaxWithLoss(n.ip2, n.label)
    return n.to_proto()


def test_lenet_is_the_net_one_would_have_written():
    assert lenet(50) == parsed("""
        layer { name: "data" type: "DummyData" top: "data" top: "label"
                transform_param { scale: 0.00390625 }
                dummy_data_param { shape { dim: 50 dim: 1 dim: 28 dim: 28 }
                                   shape { dim: 50 dim: 1 dim: 1 dim: 1 } } }
        layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
                convolution_param { num_output: 20 kernel_size: 5
                                    weight_filler { type: "xavier" } } }
        layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
                pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
        layer { name: "ip1" type: "InnerProduct" bottom: "pool1" top: "ip1"
                inner_product_param { num_output: 500 weight_filler { type: "xavier" } } }
        layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
        layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
                inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
    """)


# --- Names ---


def test_tops_without_a_name_get_the_type_and_a_number():
    first, second = L.DummyData(shape=[dict(dim=[2]), dict(dim=[2])], ntop=2)
    net = to_proto(L.EuclideanLoss(L.InnerProduct(first, num_output=1),
                                   L.InnerProduct(second, num_output=1)))
    assert [(layer.name, list(layer.top)) for layer in net.layer] == [
        ("DummyData1", ["DummyData1", "DummyData2"]), ("InnerProduct1", ["InnerProduct1"]),
        ("InnerProduct2", ["InnerProduct2"]), ("EuclideanLoss1", ["EuclideanLoss1"])]
    assert list(net.layer[3].bottom) == ["InnerProduct1", "InnerProduct2"]


def test_automatic_names_keep_clear_of_given_ones():
    n = NetSpec()
    n.ReLU1 = L.ReLU(L.ReLU(data()))
    assert [layer.name for layer in n.to_proto().layer] == ["DummyData1", "ReLU2", "ReLU1"]


def test_an_in_place_layer_without_a_name_still_has_its_own():
    net = to_proto(L.ReLU(data(), in_place=True))
    assert net.layer[1].name == "ReLU1"
    assert list(net.layer[1].top) == list(net.layer[1].bottom) == ["DummyData1"]


def test_an_in_place_layer_keeps_all_tops():
    n = NetSpec()
    n.a, n.b = L.DummyData(shape=dict(dim=[1]), ntop=2)
    n.c, n.d = L.Python(n.a, n.b, module="m", layer="l", in_place=True, ntop=2)
    assert list(n.to_proto().layer[1].top) == ["a", "b"]


def test_a_field_called_name_names_the_layer_but_not_its_top():
    layer = layer_of(L.ReLU(data(), name="rectify"))
    assert (layer.name, layer.top[0]) == ("rectify", "ReLU1")


def test_a_layer_is_called_like_its_first_top():
    n = NetSpec()
    tops = L.DummyData(shape=dict(dim=[1]), ntop=2)
    n.second = tops[1]
    layer = n.to_proto().layer[0]
    assert (layer.name, list(layer.top)) == ("DummyData1", ["DummyData1", "second"])


def test_names_that_are_no_identifiers():
    n = NetSpec()
    n["inception/1x1"] = data()
    n.relu = L.ReLU(n["inception/1x1"])
    assert n.to_proto().layer[1].bottom[0] == "inception/1x1"
    assert "inception/1x1" in n and "relu" in n and "other" not in n
    assert n.keys() == ["inception/1x1", "relu"]
    assert n.vals() == [n["inception/1x1"], n.relu]
    assert list(n.tops) == n.keys()


def test_tops_can_be_forgotten():
    n = NetSpec()
    n.data = data()
    n.relu = L.ReLU(n.data)
    n.tanh = L.TanH(n.data)
    del n.relu, n["tanh"]
    assert n.keys() == ["data"]
    with pytest.raises(AttributeError, match="relu"):
        del n.relu


# --- Which layers, and in which order ---


def test_layers_stand_after_those_they_read():
    n = NetSpec()
    hidden = L.ReLU(data())
    n.sum = L.Eltwise(hidden, L.TanH(hidden))
    assert [layer.type for layer in n.to_proto().layer] == ["DummyData", "ReLU", "TanH", "Eltwise"]


def test_several_tops_share_the_layers_they_come_from():
    shared = data()
    net = to_proto(L.ReLU(shared), L.TanH(shared), L.ReLU(shared))
    assert [layer.name for layer in net.layer] == ["DummyData1", "ReLU1", "TanH1", "ReLU2"]


def test_layers_without_tops_belong_to_the_net_once_they_are_assigned():
    n = NetSpec()
    n.data, n.label = L.DummyData(shape=dict(dim=[1]), ntop=2)
    n.quiet = L.Silence(n.label, ntop=0)
    layer = n.to_proto().layer[1]
    assert (layer.name, layer.type, list(layer.bottom), list(layer.top)) == (
        "quiet", "Silence", ["label"], [])


def test_nets_are_deeper_than_pythons_stack():
    top = data()
    for _ in range(5000):
        top = L.ReLU(top)
    assert len(to_proto(top).layer) == 5001


def test_a_top_writes_its_own_net():
    top = L.ReLU(data())
    assert top.to_proto() == to_proto(top)


def test_writing_a_net_twice_gives_the_same():
    n = NetSpec()
    n.relu = L.ReLU(data())
    assert n.to_proto() == n.to_proto(verbose=True)


# --- Fields ---


def test_fields_go_to_the_layers_own_message_and_else_to_the_layer():
    layer = layer_of(L.Convolution(data(), num_output=4, engine=P.Convolution.CAFFE,
                                   loss_weight=0.5))
    assert layer.convolution_param.num_output == 4
    assert layer.convolution_param.engine == caffe_pb2.ConvolutionParameter.CAFFE
    assert list(layer.loss_weight) == [0.5]


def test_one_value_stands_for_a_list():
    assert list(layer_of(L.Convolution(data(), kernel_size=3)).convolution_param.kernel_size) == [3]
    assert list(layer_of(L.Convolution(data(), kernel_size=[3, 1])).convolution_param.kernel_size
                ) == [3, 1]
    rules = layer_of(L.ReLU(data(), include=dict(phase=caffe_pb2.TEST))).include
    assert [rule.phase for rule in rules] == [caffe_pb2.TEST]


def test_messages_are_dicts_or_lists_of_dicts():
    layer = layer_of(L.Convolution(
        data(), num_output=1, param=[dict(lr_mult=1, decay_mult=1), dict(lr_mult=2, name="b")],
        include=[dict(phase=caffe_pb2.TRAIN, stage=["a", "b"]), dict(min_level=2)]))
    assert [param.lr_mult for param in layer.param] == [1, 2]
    assert layer.param[1].name == "b"
    assert list(layer.include[0].stage) == ["a", "b"]
    assert layer.include[1].min_level == 2


def test_messages_are_taken_as_they_are():
    filler = caffe_pb2.FillerParameter(type="gaussian", std=0.01)
    layer = layer_of(L.InnerProduct(data(), num_output=1, weight_filler=filler))
    assert layer.inner_product_param.weight_filler == filler


def test_a_message_by_its_name_for_types_without_their_own():
    layer = layer_of(L.Deconvolution(data(), convolution_param=dict(num_output=2, kernel_size=4)))
    assert layer.convolution_param.num_output == 2
    layer = layer_of(L.SoftmaxWithLoss(data(), data(), loss_param=dict(ignore_label=255)))
    assert layer.loss_param.ignore_label == 255


def test_enumerators_by_number_or_name():
    for value in (P.Pooling.AVE, 1, "AVE"):
        assert layer_of(L.Pooling(data(), pool=value)).pooling_param.pool == 1
    with pytest.raises(ValueError, match="MAX, AVE, STOCHASTIC.*MEAN"):
        to_proto(L.Pooling(data(), pool="MEAN"))


def test_values_of_numpy():
    layer = layer_of(L.Convolution(data(), num_output=np.int64(7), kernel_size=np.array([3, 5]),
                                   loss_weight=np.float32(0.5)))
    assert layer.convolution_param.num_output == 7
    assert list(layer.convolution_param.kernel_size) == [3, 5]
    assert list(layer.loss_weight) == [0.5]


def test_whole_floats_are_integers():
    """Python 2's 6 / 2 is 3, Python 3's is 3.0."""
    layer = layer_of(L.Convolution(data(), num_output=8 / 2, kernel_size=[3.0, np.float32(5)],
                                   stride=np.float64(2), engine=1.0))
    assert layer.convolution_param.num_output == 4
    assert list(layer.convolution_param.kernel_size) == [3, 5]
    assert list(layer.convolution_param.stride) == [2]
    assert layer.convolution_param.engine == P.Convolution.CAFFE
    reshape = layer_of(L.Reshape(data(), shape=dict(dim=[0.0, -1.0]))).reshape_param
    assert reshape.shape.dim == [0, -1]
    assert layer_of(L.Power(data(), scale=2)).power_param.scale == 2.0


def test_other_floats_are_no_integers():
    with pytest.raises(TypeError, match=r"num_output = 1\.5: .*float"):
        to_proto(L.Convolution(data(), num_output=1.5))
    for number in (float("nan"), float("inf")):
        with pytest.raises(TypeError):
            to_proto(L.Convolution(data(), kernel_size=[number]))


def test_an_empty_dict_sets_nothing():
    assert not layer_of(L.ReLU(data(), relu_param={})).HasField("relu_param")


def test_types_that_differ_between_caffes_have_the_message_of_their_name():
    assert param_name_dict()["Normalize"] == "norm"  # SSD's
    assert param_name_dict()["Pooling"] == "pooling"
    assert layer_of(L.Normalize(data(), across_spatial=False)).norm_param.across_spatial is False


def test_update_replaces_fields():
    n = NetSpec()
    n.data = data()
    n.conv = L.Convolution(n.data, num_output=1, kernel_size=3)
    n.update("conv", dict(num_output=9, bias_term=False))
    param = n.to_proto().layer[1].convolution_param
    assert (param.num_output, param.bias_term, list(param.kernel_size)) == (9, False, [3])


def test_assign_proto_on_any_message():
    solver = caffe_pb2.SolverParameter()
    assign_proto(solver, "stepvalue", (10, 20))
    assign_proto(solver, "train_state", dict(stage="x"))
    assert list(solver.stepvalue) == [10, 20]
    assert list(solver.train_state.stage) == ["x"]


def test_functions_by_hand():
    fn = Function("Slice", [data()], dict(ntop=3, axis=1))
    assert [top.n for top in fn.tops] == [0, 1, 2]
    assert all(isinstance(top, Top) and top.fn is fn for top in fn.tops)
    assert fn.params == dict(axis=1)
    assert len(layer_of(fn.tops[2]).top) == 3


def test_a_net_can_be_copied():
    n = NetSpec()
    n.data = data()
    twin = copy.deepcopy(n)
    twin.relu = L.ReLU(twin.data)
    assert n.keys() == ["data"] and twin.keys() == ["data", "relu"]


# --- Mistakes ---


def test_an_input_that_is_no_top_is_named_in_caffes_words():
    """Which scripts and tests look for."""
    for bottoms, text in (
            ((data(), 2), "Pooling input 1 is not a Top (type is <class 'int'>)"),
            ((data(ntop=2),), "Pooling input 0 is not a Top (type is <class 'tuple'>)")):
        with pytest.raises(TypeError) as error:
            L.Pooling(*bottoms)
        assert str(error.value) == text


def test_an_unknown_field_names_the_layer_and_what_was_meant():
    n = NetSpec()
    n.data = data()
    n.conv = L.Convolution(n.data, num_outputs=4)
    with pytest.raises(AttributeError, match="'conv'.*Convolution.*'num_outputs'.*num_output"):
        n.to_proto()


def test_a_field_of_another_layers_message_says_how_to_give_it():
    with pytest.raises(AttributeError, match=r"Deconvolution.*convolution_param=dict\(num_output"):
        to_proto(L.Deconvolution(data(), num_output=4))


def test_a_value_of_a_wrong_type_names_the_field():
    with pytest.raises(TypeError, match="'Convolution1'.*ConvolutionParameter.num_output = 'four'"):
        to_proto(L.Convolution(data(), num_output="four"))
    with pytest.raises(TypeError, match="FillerParameter.*'xavier'"):
        to_proto(L.Convolution(data(), weight_filler="xavier"))


def test_unknown_names():
    n = NetSpec()
    with pytest.raises(AttributeError, match="conv9"):
        n.conv9  # noqa: B018
    with pytest.raises(AttributeError, match="NoSuchParameter"):
        P.NoSuch.MAX  # noqa: B018


def test_a_net_takes_tops_only():
    n = NetSpec()
    with pytest.raises(TypeError, match="'data'.*ntop"):
        n.data = L.DummyData(shape=dict(dim=[1]), ntop=2)
