"""Nets: construction, passes, shapes, weights, callbacks, what is said about bad input."""
import functools
import gc
import pathlib
import weakref

import caffe
import numpy as np
import pytest

from conftest import SMALL_NET

PHASES = """
    name: "phases"
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 } } }
    layer { name: "train" type: "Power" bottom: "data" top: "train" include { phase: TRAIN } }
    layer { name: "deep" type: "Power" bottom: "data" top: "deep" include { min_level: 2 } }
    layer { name: "staged" type: "Power" bottom: "data" top: "staged" include { stage: "a" } }
"""

#: x -> double -> plus_one -> y, and x -> side.
CHAIN = """
    name: "chain"
    force_backward: true
    layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 2 } } }
    layer { name: "double" type: "Power" bottom: "x" top: "doubled" power_param { scale: 2 } }
    layer { name: "plus_one" type: "Power" bottom: "doubled" top: "y" power_param { shift: 1 } }
    layer { name: "side" type: "Power" bottom: "x" top: "side" power_param { scale: 10 } }
"""


@pytest.fixture
def chain(write):
    return caffe.Net(write(CHAIN), caffe.TEST)


class TestConstruction:
    def test_with_a_phase(self, write):
        net = caffe.Net(write(PHASES), caffe.TRAIN)
        assert list(net.layer_dict) == ["data", "train"]
        assert "train" not in caffe.Net(write(PHASES), caffe.TEST).layer_dict
        assert net.phase == caffe.TRAIN and net.name == "phases"

    def test_with_level_and_stages(self, write):
        file = write(PHASES)
        assert "deep" in caffe.Net(file, caffe.TEST, level=2).layer_dict
        assert "staged" in caffe.Net(file, caffe.TEST, stages=["a", "b"]).layer_dict
        assert "staged" in caffe.Net(file, caffe.TEST, 0, ("a",)).layer_dict
        assert list(caffe.Net(file, caffe.TEST).layer_dict) == ["data"]

    def test_with_weights_in_either_form(self, small_net, write, tmp_path):
        small_net.params["ip"][0].data[...] = 5
        weights = tmp_path / "w.caffemodel"
        small_net.save(weights)
        file = pathlib.Path(write(SMALL_NET))
        for net in [caffe.Net(str(file), str(weights), caffe.TEST),
                    caffe.Net(file, weights, caffe.TEST),
                    caffe.Net(file, caffe.TEST, weights=weights),
                    caffe.Net(file, str(weights), phase=caffe.TEST),
                    caffe.Net(network_file=file, phase=caffe.TEST, weights=str(weights)),
                    caffe.Net(file, caffe.TEST, 0, None, weights)]:
            assert (net.params["ip"][0].data == 5).all()

    @pytest.mark.parametrize("arguments, options, message", [
        ((), {"level": 1}, "needs a phase"),
        (("w",), {"stages": ["a"]}, "needs a phase"),
        ((1, 0, [], "w", 3), {}, "at most 5"),
        ((1,), {"phase": 1}, "'phase' twice"),
        ((1,), {"weigths": "w"}, "no argument 'weigths'"),
    ])
    def test_says_which_argument_is_wrong(self, write, arguments, options, message):
        with pytest.raises(TypeError, match=message):
            caffe.Net(write(SMALL_NET), *arguments, **options)

    def test_says_which_phases_there_are(self, write):
        with pytest.raises(caffe.Error, match="caffe.TRAIN or caffe.TEST, not 7"):
            caffe.Net(write(SMALL_NET), 7)

    def test_of_a_missing_file(self, tmp_path):
        with pytest.raises(caffe.Error, match="none.prototxt"):
            caffe.Net(str(tmp_path / "none.prototxt"), caffe.TEST)
        with pytest.raises(RuntimeError):  # what scripts catch
            caffe.Net("none", caffe.TEST)

    @pytest.mark.parametrize("text, message", [
        ("", "net.prototxt"),
        ("layer {", "net.prototxt:1"),
        ("layre { }", "layre"),
        ('layer { name: "a" type: "Nonsense" }', "Nonsense"),
        ('layer { name: "a" type: "ReLU" bottom: "nowhere" top: "a" }', "nowhere"),
        ('layer { name: "a" type: "Input" top: "a" input_param { shape { dim: -3 } } }', "'a'"),
        ('layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }'
         'layer { name: "c" type: "Convolution" bottom: "d" top: "c" '
         'convolution_param { num_output: 0 kernel_size: 3 } }', "num_output"),
        ('layer { name: "d" type: "Data" top: "d" data_param { source: "/none" batch_size: 1 } }', "/none"),
    ])
    def test_of_a_bad_file_is_an_exception(self, write, text, message):
        with pytest.raises(caffe.Error, match=message):
            caffe.Net(write(text), caffe.TEST)

    def test_can_be_subclassed(self, write):
        class Mine(caffe.Net):
            def __init__(self, file):
                caffe.Net.__init__(self, file, caffe.TEST)
                self.mine = 1

        assert Mine(write(SMALL_NET)).forward(data=np.ones((2, 3)))["ip"].shape == (2, 4)


#: A loss without a top, which only its weights tell apart from an output.
LOSS = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
    layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }
"""


@pytest.mark.parametrize("phase", [caffe.TRAIN, caffe.TEST])
def test_a_loss_without_a_top_can_be_looked_at_and_differentiated(write, phase):
    net = caffe.Net(write(LOSS), phase)
    for _ in range(2):
        assert net.forward(data=np.ones((2, 3)), label=[0, 1]) == {}
        assert net.blobs["(automatic)"].data == pytest.approx(np.log(2))
        assert (net.blobs["ip"].data == 3).all()
    net.backward()
    np.testing.assert_allclose(net.params["ip"][1].diff, [0, 0], atol=1e-6)
    np.testing.assert_allclose(net.blobs["ip"].diff, [[-.25, .25], [.25, -.25]], atol=1e-6)


class TestDescription:
    def test_names(self, chain):
        assert list(chain.blobs)[0] == "x" and chain.inputs == ["x"]
        assert chain.outputs == ["side", "y"]
        assert "plus_one" in chain._layer_names and chain._blob_names == list(chain.blobs)

    def test_tops_and_bottoms(self, chain):
        assert chain.top_names["double"] == ["doubled"]
        assert chain.bottom_names["plus_one"] == ["doubled"]
        assert chain.bottom_names["x"] == []

    def test_layers(self, small_net):
        assert [layer.type for layer in small_net.layers] == ["Input", "InnerProduct"]
        assert small_net.layer_dict["ip"].blobs[0].shape == (4, 3)
        assert small_net.layer_dict["ip"].layer_param.name == "ip"

    def test_params(self, small_net):
        assert list(small_net.params) == ["ip"]
        weights, bias = small_net.params["ip"]
        assert weights.shape == (4, 3) and bias.shape == (4,)
        blobs = small_net.params["ip"]
        assert len(blobs) == 2 and blobs[-1].shape == (4,) and len(blobs[:1]) == 1
        with pytest.raises(IndexError):
            blobs[2]

    def test_loss_weights(self, solver_file):
        net = caffe.SGDSolver(solver_file()).net
        assert net.blob_loss_weights["loss"] == 1 and net.blob_loss_weights["ip"] == 0

    def test_is_made_once(self, small_net):
        assert small_net.blobs['data'] is small_net.blobs['data']
        assert list(reversed(small_net.blobs.keys())) == list(small_net.blobs)[::-1]
        assert small_net.blobs.copy() == dict(small_net.blobs)
        assert small_net.layers is small_net.layers
        assert small_net.params is small_net.params and small_net.inputs is small_net.inputs


class TestForward:
    def test_returns_the_outputs_as_views(self, chain):
        chain.blobs["x"].data[...] = 3
        outputs = chain.forward()
        assert set(outputs) == {"y", "side"}
        assert (outputs["y"] == 7).all() and (outputs["side"] == 30).all()
        chain.forward(x=np.zeros((2, 2)))
        assert (outputs["y"] == 1).all()

    def test_takes_inputs_by_name(self, chain):
        assert (chain.forward(x=[[1, 2], [3, 4]])["y"] == [[3, 5], [7, 9]]).all()

    def test_further_blobs(self, chain):
        outputs = chain.forward(blobs=["doubled"], x=np.ones((2, 2)))
        assert set(outputs) == {"y", "side", "doubled"}
        with pytest.raises(ValueError, match="no blob 'doubeld'"):
            chain.forward(blobs=["doubeld"])

    def test_from_a_layer_to_a_layer(self, chain):
        chain.blobs["x"].data[...] = 1
        assert set(chain.forward(end="double")) == {"doubled"}
        chain.blobs["doubled"].data[...] = 100
        assert (chain.forward(start="plus_one")["y"] == 101).all()
        assert (chain.forward(start="plus_one", end="plus_one")["y"] == 101).all()
        with pytest.raises(ValueError, match="no layer 'treble'.*plus_one"):
            chain.forward(end="treble")

    def test_from_the_first_layer_of_a_name(self, write):
        net = caffe.Net(write("""
            layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
            layer { name: "again" type: "Power" bottom: "x" top: "y" power_param { scale: 2 } }
            layer { name: "again" type: "Power" bottom: "y" top: "z" power_param { shift: 1 } }
        """), caffe.TEST)
        net.blobs["x"].data[...] = 3
        assert (net.forward(start="again")["z"] == 7).all()
        assert set(net.forward(end="again")) == {"y"}

    def test_by_index(self, chain):
        assert chain._forward(0, len(chain.layers) - 1) == 0
        with pytest.raises(caffe.Error, match="the net has layers"):
            chain._forward(0, 100)

    def test_returns_the_loss(self, solver_file):
        net = caffe.SGDSolver(solver_file()).net
        assert net._forward(0, len(net.layers) - 1) == pytest.approx(12.25)

    @pytest.mark.parametrize("values, error, message", [
        (np.zeros((3, 2)), ValueError, r"'x' has shape \(2, 2\), the values have \(3, 2\)"),
        (np.zeros((2, 5)), ValueError, r"'x' has shape \(2, 2\), the values have \(2, 5\)"),
        (1.0, ValueError, "has shape"),
        (np.zeros((2, 2), complex), TypeError, "'x' takes float32.*complex128"),
        (np.array([["a", "b"]] * 2), TypeError, "takes float32"),
    ])
    def test_says_which_values_do_not_fit(self, chain, values, error, message):
        with pytest.raises(error, match=message):
            chain.forward(x=values)

    def test_says_which_inputs_there_are(self, chain):
        with pytest.raises(ValueError, match=r"\['z'\].*inputs are \['x'\]"):
            chain.forward(z=1)

    def test_all_items_batch_by_batch(self, chain, random):
        items = random.rand(5, 2).astype(np.float32)
        outputs = chain.forward_all(x=items, blobs=["doubled"])
        np.testing.assert_allclose(outputs["y"], 2 * items + 1, rtol=1e-6)
        np.testing.assert_allclose(outputs["doubled"], 2 * items, rtol=1e-6)
        assert outputs["y"].shape == (5, 2)

    def test_all_of_several_inputs_needs_as_many_of_each(self, write):
        net = caffe.Net(write("""
            layer { name: "in" type: "Input" top: "a" top: "b" input_param { shape { dim: 2 } } }
            layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
        """), caffe.TEST)
        assert (net.forward_all(a=np.arange(3), b=np.ones(3))["sum"] == [1, 2, 3]).all()
        with pytest.raises(ValueError, match="same number of items"):
            net.forward_all(a=np.arange(3), b=np.ones(4))
        with pytest.raises(ValueError, match="same number of items"):
            net.forward_all()


class TestBackward:
    def test_returns_the_inputs_gradients(self, chain):
        chain.forward(x=np.ones((2, 2)))
        diffs = chain.backward(y=np.ones((2, 2)), side=np.full((2, 2), 0.5), diffs=["doubled"])
        assert (diffs["x"] == 2 + 5).all() and (diffs["doubled"] == 1).all()

    def test_from_a_layer_to_a_layer(self, chain):
        chain.forward(x=np.ones((2, 2)))
        chain.blobs["doubled"].diff[...] = 4
        first = [name for name in chain._layer_names if "split" not in name][1]
        assert list(chain.backward(start="double", end=first).values())[0].shape == (2, 2)
        chain.blobs["y"].diff[...] = 3
        assert (chain.backward(start="plus_one", end="plus_one")["doubled"] == 3).all()

    def test_a_cached_gradient_view_is_used_and_refreshed(self, chain):
        y, x = chain.blobs["y"].diff, chain.blobs["x"].diff
        chain.blobs["side"].diff[...] = 0
        chain.forward(x=np.ones((2, 2)))
        for value in (1, 2):
            y[...] = value
            chain.backward()
            assert (x == 2 * value).all()

    def test_says_which_gradients_do_not_fit(self, chain):
        with pytest.raises(ValueError, match="gradient of blob 'y' has shape"):
            chain.backward(y=np.ones(3), side=np.ones((2, 2)))
        with pytest.raises(ValueError, match="outputs are"):
            chain.backward(x=np.ones((2, 2)))

    def test_adds_to_the_parameters_gradients(self, small_net):
        small_net.forward(data=np.ones((2, 3)))
        for _ in range(2):
            small_net.backward(ip=np.ones((2, 4)))
        weights = small_net.params["ip"][0]
        assert (weights.diff == 4).all()
        small_net.clear_param_diffs()
        assert (weights.diff == 0).all()

    def test_all_items_batch_by_batch(self, chain):
        items = np.arange(6, dtype=np.float32).reshape(3, 2)
        outputs, diffs = chain.forward_backward_all(
            x=items, y=np.ones((3, 2)), side=np.zeros((3, 2)), diffs=["doubled"])
        assert (outputs["y"] == 2 * items + 1).all()
        assert diffs["x"].shape == (3, 2) and (diffs["x"] == 2).all()
        assert (diffs["doubled"] == 1).all()
        with pytest.raises(ValueError, match=r"\['q'\] are neither"):
            chain.forward_backward_all(q=items)


class TestShapes:
    def test_reshape_goes_through_the_net(self, chain):
        chain.blobs["x"].reshape(5, 3)
        chain.reshape()
        assert chain.blobs["y"].shape == (5, 3)
        assert chain.forward(x=np.ones((5, 3)))["y"].shape == (5, 3)

    def test_forward_reshapes_by_itself(self, chain):
        chain.blobs["x"].reshape(1, 2)
        assert chain.forward()["y"].shape == (1, 2)

    def test_a_shape_that_does_not_fit_names_the_layer(self, small_net):
        small_net.blobs["data"].reshape(2, 5)
        with pytest.raises(caffe.Error, match="'ip'"):
            small_net.forward()


class TestWeights:
    @pytest.mark.parametrize("save, load, name", [
        ("save", "copy_from", "w.caffemodel"),
        ("save_hdf5", "load_hdf5", "w.caffemodel.h5"),
        ("save_hdf5", "copy_from", "w.caffemodel.h5"),
    ])
    def test_are_saved_and_loaded(self, small_net, write, tmp_path, save, load, name, random):
        values = random.rand(4, 3).astype(np.float32)
        small_net.params["ip"][0].data[...] = values
        getattr(small_net, save)(str(tmp_path / name))
        other = caffe.Net(write(SMALL_NET, "other.prototxt"), caffe.TEST)
        view = other.params["ip"][0].data
        getattr(other, load)(tmp_path / name)
        np.testing.assert_array_equal(view, values)
        np.testing.assert_array_equal(other.params["ip"][0].data, values)

    def test_a_cached_view_is_saved(self, small_net, write, tmp_path):
        view = small_net.params["ip"][0].data
        small_net.save(tmp_path / "1.caffemodel")
        view[...] = 9
        small_net.save(tmp_path / "2.caffemodel")
        other = caffe.Net(write(SMALL_NET), tmp_path / "2.caffemodel", caffe.TEST)
        assert (other.params["ip"][0].data == 9).all()

    def test_of_another_shape_name_the_layer(self, small_net, write, tmp_path):
        small_net.save(tmp_path / "w.caffemodel")
        other = caffe.Net(write(SMALL_NET.replace("num_output: 4", "num_output: 5"), "o.prototxt"),
                          caffe.TEST)
        with pytest.raises(caffe.Error, match="(?s)'?ip'?.*4 3.*5 3|5 3.*4 3"):
            other.copy_from(tmp_path / "w.caffemodel")

    def test_of_a_missing_or_broken_file(self, small_net, write):
        with pytest.raises(caffe.Error, match="none.caffemodel"):
            small_net.copy_from("/none.caffemodel")
        with pytest.raises(caffe.Error, match="none.h5"):
            small_net.load_hdf5("/none.h5")
        with pytest.raises(caffe.Error, match="broken"):
            small_net.copy_from(write("no weights", "broken.caffemodel"))
        with pytest.raises(caffe.Error, match="/no/folder"):
            small_net.save("/no/folder/w.caffemodel")

    def test_are_shared(self, small_net, write):
        other = caffe.Net(write(SMALL_NET, "other.prototxt"), caffe.TEST)
        other.share_with(small_net)
        small_net.params["ip"][0].data[...] = 0
        assert (other.params["ip"][0].data == 0).all()
        assert (other.forward(data=np.ones((2, 3)))["ip"] == 1).all()
        del small_net
        assert (other.forward()["ip"] == 1).all()


class TestCallbacks:
    def test_are_called_with_the_layers_index(self, chain):
        calls = []
        chain.before_forward(lambda layer: calls.append(("bf", layer)))
        chain.after_forward(lambda layer: calls.append(("af", layer)))
        chain.before_backward(lambda layer: calls.append(("bb", layer)))
        chain.after_backward(lambda layer: calls.append(("ab", layer)))
        chain.forward()
        count = len(chain.layers)
        assert calls == [call for layer in range(count) for call in (("bf", layer), ("af", layer))]
        calls.clear()
        chain.backward()
        assert calls == [call for layer in reversed(range(count))
                         for call in (("bb", layer), ("ab", layer))]

    def test_see_and_change_the_blobs(self, chain):
        seen = []
        doubled = chain.blobs["doubled"].data
        index = list(chain._layer_names).index("double")

        def after(layer):
            if layer == index:
                seen.append(doubled.copy())
                doubled[...] = 50

        chain.after_forward(after)
        assert (chain.forward(x=np.ones((2, 2)))["y"] == 51).all()
        assert (seen[0] == 2).all()

    def test_may_raise(self, chain):
        def fail(layer):
            raise KeyError("on purpose")

        chain.before_forward(fail)
        with pytest.raises(KeyError, match="on purpose"):
            chain.forward()


    # A function that refers to its net makes a cycle, which Python has to see.
    @pytest.mark.parametrize("when", ["before_forward", "after_forward", "before_backward",
                                      "after_backward"])
    def test_are_freed_with_their_net(self, write, when):
        def run():
            net = caffe.Net(write(CHAIN), caffe.TEST)
            calls = []
            getattr(net, when)(lambda layer: calls.append(net))
            getattr(net, when)(functools.partial(calls.append))
            net.forward()
            net.backward()
            assert len(calls) == 2 * len(net.layers)
            return weakref.ref(net)

        left = run()
        gc.collect()
        assert left() is None


class TestInputArrays:
    NET = """
        layer { name: "data" type: "MemoryData" top: "data" top: "label"
                memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
        layer { name: "sum" type: "Reduction" bottom: "data" top: "sum" reduction_param { axis: 1 } }
    """

    def test_are_read_in_each_pass(self, write):
        net = caffe.Net(write(self.NET), caffe.TEST)
        data = np.arange(12, dtype=np.float32).reshape(4, 1, 1, 3)
        net.set_input_arrays(data, np.arange(4, dtype=np.float32))
        assert (net.forward()["sum"] == [3, 12]).all()
        data[3] = 100
        outputs = net.forward()
        assert (outputs["sum"] == [21, 300]).all() and (outputs["label"] == [2, 3]).all()

    def test_are_kept_by_the_net(self, write):
        net = caffe.Net(write(self.NET), caffe.TEST)
        net.set_input_arrays(np.full((2, 1, 1, 3), 7, np.float32), np.zeros(2, np.float32))
        filler = [np.zeros((2, 1, 1, 3), np.float32) for _ in range(100)]  # would use free memory
        assert (net.forward()["sum"] == [21, 21]).all() and len(filler) == 100

    def test_are_seen_by_arrays_of_the_tops_that_outlive_the_net(self, write):
        net = caffe.Net(write(self.NET), caffe.TEST)
        view = net.blobs["data"].data  # before the first pass
        for value in (7, 8):
            net.set_input_arrays(np.full((2, 1, 1, 3), value, np.float32), np.zeros(2, np.float32))
            net.forward()
            assert (view == value).all()
        del net
        gc.collect()
        filler = [np.zeros((2, 1, 1, 3), np.float32) for _ in range(100)]
        assert (view == 8).all() and len(filler) == 100

    @pytest.mark.parametrize("data, labels, message", [
        (np.zeros((4, 1, 1, 3)), np.zeros(4, np.float32), "data has to be an array of float32"),
        (np.zeros((4, 1, 1, 3), np.float32), np.zeros(4, int), "labels has to be an array of float32"),
        (np.zeros((4, 1, 1, 4), np.float32), np.zeros(4, np.float32), "4 values a row.*1 x 1 x 3"),
        (np.zeros((3, 1, 1, 3), np.float32), np.zeros(3, np.float32), "batch size 2"),
        (np.zeros((4, 1, 1, 3), np.float32), np.zeros(2, np.float32), "4 rows of data and 2 labels"),
        (np.zeros((4, 1, 1, 6), np.float32)[..., ::2], np.zeros(4, np.float32), "contiguous"),
    ])
    def test_that_do_not_fit(self, write, data, labels, message):
        net = caffe.Net(write(self.NET), caffe.TEST)
        with pytest.raises(caffe.Error, match=message):
            net.set_input_arrays(data, labels)

    def test_are_for_memory_data_layers(self, small_net):
        with pytest.raises(caffe.Error, match="MemoryData"):
            small_net.set_input_arrays(np.zeros(1, np.float32), np.zeros(1, np.float32))
