"""caffe.inference: from a net to an engine, and running it."""
import concurrent.futures
import gc
import json
import threading
import weakref

import caffe
import numpy as np
import pytest

from caffe import inference, layers as L
from caffe.inference import (
    Builder, BuilderConfig, CalibrationOptions, CalibrationTable, Engine, ExecutionContext,
    NetworkDefinition, Precision, ShapeProfile, TimingCache)

import pycaffe_test_layers
from conftest import SMALL_NET
from shared_data import shared


def small(batch=2):
    """data (batch, 3) -> ip (batch, 2), of which relu leaves the positive ones."""
    net = NetworkDefinition("small")
    net.add_input("data", (batch, 3))
    net.add_layer('type: "InnerProduct" inner_product_param { num_output: 2 }', name="ip",
                  bottom="data", parameters=[[[1, 1, 1], [1, 0, -1]], [0, 10]])
    net.add_layer('type: "ReLU"', name="relu", bottom="ip")
    net.mark_output("relu")
    return net


@pytest.fixture
def engine():
    return Builder().build(small())


@pytest.fixture
def context(engine):
    return ExecutionContext(engine)


def python_net(layer, param_str="", batch=2):
    """x (batch, 3) -> a Python layer -> y."""
    net = NetworkDefinition("python")
    net.add_input("x", (batch, 3))
    net.add_layer(f"""type: "Python" python_param {{ module: "pycaffe_test_layers"
                      layer: "{layer}" param_str: "{param_str}" }}""", name="own", bottom="x",
                  top="y")
    net.mark_output("y")
    return net


class TestNetworkDefinition:
    def test_reads_caffes_files(self, write, tmp_path):
        file = write(SMALL_NET)
        net = caffe.Net(file, caffe.TEST)
        net.params["ip"][0].data[...] = np.arange(12).reshape(4, 3)
        net.save(str(tmp_path / "w.caffemodel"))
        expected = net.forward(data=np.ones((2, 3)))["ip"]
        for weights in (tmp_path / "w.caffemodel", [str(tmp_path / "w.caffemodel")]):
            definition = NetworkDefinition.from_caffe(file, weights)
            assert definition.name == "small" and "InnerProduct" in definition.to_text()
            result = ExecutionContext(Builder().build(definition)).run(data=np.ones((2, 3)))
            np.testing.assert_array_equal(result["ip"], expected)

    def test_reads_messages_and_net_specs(self):
        n = caffe.NetSpec()
        n.data = L.Input(shape=dict(dim=[2, 3]))
        n.y = L.Power(n.data, scale=3, shift=1)
        for model in (n, n.to_proto()):
            engine = Builder().build(NetworkDefinition.from_caffe(model))
            assert (ExecutionContext(engine).run(data=np.ones((2, 3)))["y"] == 4).all()

    def test_says_what_is_wrong_with_files(self, write):
        with pytest.raises(caffe.Error, match="no_such_file"):
            NetworkDefinition.from_caffe("no_such_file")
        with pytest.raises(caffe.Error, match="no_such_weights"):
            NetworkDefinition.from_caffe(write(SMALL_NET), "no_such_weights")
        with pytest.raises(TypeError):
            NetworkDefinition.from_caffe(5)

    @pytest.mark.parametrize("layer", [
        'name: "p" type: "Power" bottom: "x" top: "y" power_param { scale: 3 }',
        'layer { name: "p" type: "Power" bottom: "x" top: "y" power_param { scale: 3 } }',
        caffe.LayerParameter('name: "p" type: "Power" bottom: "x" top: "y" power_param {scale: 3}'),
        caffe.LayerParameter('name: "p" type: "Power" bottom: "x" top: "y" power_param {scale: 3}'
                             ).to_message(),
    ], ids=["text", "layer block", "LayerParameter", "message"])
    def test_takes_layers_in_every_form(self, layer):
        net = NetworkDefinition("one")
        net.add_input("x", [1])
        net.add_layer(layer)
        net.mark_output("y")
        assert ExecutionContext(Builder().build(net)).run(x=[2])["y"] == [6]

    def test_takes_layers_of_a_net_spec(self):
        net = NetworkDefinition("one")
        net.add_input("x", (1, 2))
        net.add_layer(L.InnerProduct(num_output=1, bias_term=False), name="ip", bottom="x",
                      parameters=[np.array([[2, 3]])])
        net.add_layer(L.ReLU(), name="relu", bottom="ip", top="ip")
        net.add_layer(L.Silence(ntop=0), name="quiet", bottom=["x"])
        net.mark_output("ip")
        assert ExecutionContext(Builder().build(net)).run(x=[[5, 1]])["ip"] == [[13]]
        with pytest.raises(ValueError, match="add_layers"):
            net.add_layer(L.ReLU(L.ReLU()), name="two")

    def test_takes_all_layers_of_a_net_spec(self):
        n = caffe.NetSpec()
        n.a, n.b = L.Input(ntop=2, shape=[dict(dim=[1, 2]), dict(dim=[1, 2])])
        n.ip = L.InnerProduct(n.a, num_output=2)
        n.sum = L.Eltwise(n.ip, n.b)
        net = NetworkDefinition("spec")
        net.add_layers(n, {"ip": [[[1, 0], [0, 1]], [5, 5]]})
        net.mark_output("sum")
        engine = Builder().build(net)
        assert engine.inputs == {"a": (1, 2), "b": (1, 2)}
        result = ExecutionContext(engine).run(a=[[1, 2]], b=[[10, 20]])
        assert result["sum"].tolist() == [[16, 27]]
        with pytest.raises(ValueError, match="unknown"):
            NetworkDefinition("spec").add_layers(n, {"unknown": []})

    def test_keeps_precisions_and_ranges(self):
        net = small()
        net.set_precision("ip", Precision.FP16)
        net.set_precision("ip", "INT8")
        assert net.layer_precisions == {"ip": Precision.INT8}
        net.set_range("data", -1, 2)
        assert net.ranges.blobs == ["data"] and net.ranges["data"].threshold == 2
        with pytest.raises(caffe.Error, match="no layer 'nothing'"):
            net.set_precision("nothing", "fp16")
        with pytest.raises(caffe.Error, match="give fp32, fp16, bf16, int8 or best"):
            net.set_precision("ip", "fp17")
        with pytest.raises(caffe.Error, match="no blob 'nothing'"):
            net.set_range("nothing", 0, 1)

    def test_becomes_a_message(self):
        message = small().to_proto()
        assert [layer.type for layer in message.layer] == ["Input", "InnerProduct", "ReLU"]
        assert list(message.layer[1].blobs[1].data) == [0, 10]
        again = Builder().build(NetworkDefinition.from_caffe(message))
        assert ExecutionContext(again).run(data=np.ones((2, 3)))["relu"].tolist() == [[3, 10]] * 2

    def test_says_what_is_wrong(self):
        net = NetworkDefinition("wrong")
        net.add_input("x", (1, 2))
        with pytest.raises(caffe.Error, match="layer 'a' .ReLU.: bottom 'y' is made by no layer"):
            net.add_layer('type: "ReLU"', name="a", bottom="y")
        with pytest.raises(caffe.Error, match="layer 'a' .InnerProduct.: .*shape"):
            net.add_layer(L.InnerProduct(num_output=1), name="a", bottom="x",
                          parameters=[np.ones((2, 2)), [0]])
        with pytest.raises(TypeError, match="not <U1"):
            net.add_layer(L.InnerProduct(num_output=1), name="a", bottom="x", parameters=["x"])
        with pytest.raises(caffe.Error, match="has no outputs"):
            Builder().build(net)


class TestBuilder:
    def test_takes_a_configuration_or_its_fields(self):
        config = BuilderConfig(max_batch=5)
        config.skip_passes = ["activations"]
        engine = Builder(config).build(small())
        assert engine.max_batch == 5 and [layer.name for layer in engine.layers] == ["ip", "relu"]
        assert Builder(max_batch=3).build(small()).max_batch == 3
        with pytest.raises(TypeError, match="not both"):
            Builder(config, max_batch=3)
        with pytest.raises(TypeError, match="max_bach"):
            Builder(max_bach=3)

    def test_takes_ranges_of_shapes(self):
        ranges = [ShapeProfile(min={"data": (1, 3)}, opt={"data": (2, 3)}, max={"data": (2, 3)}),
                  ShapeProfile(min={"": (1, 3)}, max={"": (8, 3)})]
        engine = Builder(profiles=ranges, timing_iterations=0).build(small())
        assert engine.max_batch == 8
        assert [profile.max for profile in engine.profiles] == [{"data": (2, 3)},
                                                                {"data": (8, 3)}]
        assert engine.profiles[1].opt == {"data": (8, 3)}
        context = ExecutionContext(engine)
        assert context.profile == 0 and context.input_shape("data") == (2, 3)
        context.set_batch(3)
        assert context.profile == 1
        context.set_input_shape("data", (1, 3))
        assert context.profile == 0
        context.set_profile(1)
        context.set_batch(1)
        assert context.profile == 1
        assert context.run(data=np.ones((1, 3)))["relu"].tolist() == [[3, 10]]
        with pytest.raises(caffe.Error, match="but for profile 1: data 1x3 to 8x3"):
            context.set_input_shape("data", (9, 3))
        with pytest.raises(caffe.Error, match="numbered from 0 to 1"):
            context.set_profile(2)

    @pytest.mark.parametrize("field, value, error, message", [
        ("precision", "fp99", caffe.Error, "there is no precision 'fp99'"),
        ("allowed", ["fp32", "int4"], caffe.Error, "there is no precision 'int4'"),
        ("layer_precisions", {"ip": "fp99"}, caffe.Error, "there is no precision 'fp99'"),
        ("backend", "gpu", caffe.Error, "there is no backend 'gpu'"),
        ("max_batch", -1, caffe.Error, "max_batch"),
        ("max_batch", "many", TypeError, "BuilderConfig.max_batch is a whole number, not 'many'"),
        ("max_batch", 2 ** 40, ValueError, "BuilderConfig.max_batch is a number from .* to 2147483647,"),
        ("max_memory", -1, ValueError, "BuilderConfig.max_memory is a number from 0 to"),
        ("max_input_shapes", {"data": [2 ** 40, 3]}, ValueError,
         "BuilderConfig.max_input_shapes: an extent of 'data' is a number from"),
        ("profiles", [{"max": (1, 3)}], TypeError, "BuilderConfig.profiles cannot be"),
        ("skip_passes", ["nothing"], caffe.Error, "there is no pass 'nothing'"),
        ("progress", 5, TypeError, "BuilderConfig.progress is a function or None, not 5"),
        ("calibrator", 5, TypeError, "get_batch"),
        ("calibration", "file", TypeError, "BuilderConfig.calibration cannot be 'file'"),
        ("timing_cache", "file", TypeError, "BuilderConfig.timing_cache cannot be 'file'"),
    ])
    def test_refuses_what_is_none(self, field, value, error, message):
        with pytest.raises(error, match=message):
            Builder(**{field: value}).build(small())

    def test_shows_the_graph_to_an_observer(self):
        seen = []
        Builder(pass_observer=lambda name, graph: seen.append((name, graph))).build(small())
        names = [name for name, _ in seen]
        assert names[0] == "" and names[1:] == [n for n in inference.passes() if n in names]
        assert {"affine", "kernels", "memory"} < set(names) and "integers" not in names
        assert "relu = ReLU(ip)" in seen[0][1] and "relu = ReLU" not in seen[-1][1]

    def test_raises_what_a_function_raises(self):
        def observe(name, graph):
            raise ZeroDivisionError("on purpose")

        with pytest.raises(ZeroDivisionError, match="on purpose"):
            Builder(pass_observer=observe).build(small())

    def test_other_threads_run_meanwhile(self):
        main, helped = threading.get_ident(), threading.Event()

        def observe(name, graph):
            assert threading.get_ident() == main
            thread = threading.Thread(target=helped.set)
            thread.start()
            thread.join(60)

        Builder(pass_observer=observe).build(small())
        assert helped.is_set()

    def test_lets_its_functions_go(self):
        class Remark:
            def __call__(self, line):
                pass

        remark = Remark()
        Builder(remark=remark).build(small())
        gone = weakref.ref(remark)
        del remark
        gc.collect()
        assert gone() is None


class TestPrecisions:
    """data (2, 8, 12, 12) -> conv and relu (2, 16, 10, 10) -> ip (2, 4)."""

    #: The largest error of an output of about 2.
    ERRORS = {"fp32": 1e-5, "fp16": 0.01, "bf16": 0.05, "int8": 0.1}

    @pytest.fixture(autouse=True)
    def draw(self, random):
        self.data = random.rand(2, 8, 12, 12).astype(np.float32)
        self.blobs = {"conv": [random.randn(16, 8, 3, 3) / 5, random.randn(16)],
                      "ip": [random.randn(4, 1600) / 50, random.randn(4)]}

    @pytest.fixture
    def net(self):
        net = NetworkDefinition("precise")
        net.add_input("data", self.data.shape)
        net.add_layer(L.Convolution(num_output=16, kernel_size=3), name="conv", bottom="data",
                      parameters=self.blobs["conv"])
        net.add_layer(L.ReLU(), name="relu", bottom="conv")
        net.add_layer(L.InnerProduct(num_output=4), name="ip", bottom="relu",
                      parameters=self.blobs["ip"])
        net.mark_output("ip")
        return net

    @pytest.fixture
    def error_of(self, net):
        expected = ExecutionContext(Builder(backend="reference").build(net)).run(data=self.data)
        return lambda engine: float(np.abs(
            ExecutionContext(engine).run(data=self.data)["ip"] - expected["ip"]).max())

    def calibrated(self, **config):
        """A configuration with a calibrator."""
        return BuilderConfig(
            calibrator=inference.BatchCalibrator([self.data], method="minmax"),
            calibration_options=CalibrationOptions(minimum_images=2), **config)

    @staticmethod
    def precision_of(engine, layer):
        return next(info.precision for info in engine.layers if info.name == layer)

    @pytest.mark.parametrize("precision, stored", [
        ("fp32", "FLOAT"), ("fp16", "FLOAT16"), ("bf16", "BFLOAT16"), ("int8", "INT8")])
    def test_are_computed_in(self, net, error_of, precision, stored, tmp_path):
        remarks = []
        engine = Builder(self.calibrated(precision=precision, remark=remarks.append)).build(net)
        assert self.precision_of(engine, "conv") == stored
        for layer in ("conv", "ip"):
            remarked = any(f"layer '{layer}'" in line for line in remarks)
            assert (self.precision_of(engine, layer) == stored) != remarked
        assert error_of(engine) < self.ERRORS[precision]
        engine.save(tmp_path / "plan")
        assert error_of(Engine.load(tmp_path / "plan")) == error_of(engine)

    def test_of_layers_go_over_that_of_all(self, net):
        engine = Builder(precision="fp16", layer_precisions={"conv": Precision.FP32}).build(net)
        assert self.precision_of(engine, "conv") == "FLOAT"
        assert self.precision_of(engine, "ip") == "FLOAT16"
        net.set_precision("ip", "fp32")
        assert self.precision_of(Builder(precision="fp16").build(net), "ip") == "FLOAT"

    def test_int8_takes_thresholds_from_wherever_they_are(self, net, error_of):
        with pytest.raises(caffe.Error, match="int8 needs calibration"):
            Builder(precision="int8").build(net)
        table = inference.calibrate(net, inference.BatchCalibrator([self.data], method="minmax"),
                                    CalibrationOptions(minimum_images=2))
        engine = Builder(precision="int8", calibration=table).build(net)
        assert self.precision_of(engine, "conv") == "INT8"
        assert error_of(engine) < self.ERRORS["int8"]
        engine = Builder(precision="int8", calibration=table, reduce_range=True).build(net)
        assert self.precision_of(engine, "conv") == "INT8"
        assert error_of(engine) < self.ERRORS["int8"]
        with pytest.raises(caffe.Error, match="-reduce_range is for int8"):
            Builder(precision="fp16", reduce_range=True).build(net)
        net.set_range("data", 0, 1)
        net.set_range("relu", 0, table["relu"].maximum)
        engine = Builder(precision="int8").build(net)
        assert self.precision_of(engine, "conv") == "INT8"
        assert error_of(engine) < self.ERRORS["int8"]

    def test_best_keeps_the_accuracy_that_is_asked_for(self, net, error_of):
        losses = []

        def accuracy_loss(engine):
            assert isinstance(engine, Engine)
            losses.append(error_of(engine))
            return losses[-1]

        engine = Builder(self.calibrated(precision="best", accuracy_loss=accuracy_loss,
                                         max_accuracy_loss=1e-5)).build(net)
        assert losses and error_of(engine) <= 1e-5

    def test_best_raises_what_the_judge_raises(self, net):
        def accuracy_loss(engine):
            raise ZeroDivisionError("on purpose")

        with pytest.raises(ZeroDivisionError, match="on purpose"):
            Builder(precision="best", accuracy_loss=accuracy_loss).build(net)
        with pytest.raises(TypeError, match="returned 'bad', which is not a number"):
            Builder(precision="best", accuracy_loss=lambda engine: "bad").build(net)

    def test_progress_and_times_of_candidates(self, net, tmp_path):
        calls, cache = [], TimingCache()
        Builder(timing_cache=cache, progress=lambda *call: calls.append(call)).build(net)
        assert [call[0] for call in calls] == list(range(len(calls)))
        assert {call[1] for call in calls} == {len(calls) - 1}
        assert calls[0][2] == "conv"
        assert len(cache) > 0
        cache.write(tmp_path / "times")
        again = TimingCache(tmp_path / "times")
        Builder(timing_cache=again).build(net)
        assert len(again) == len(cache), "all that is needed is there"

    def test_memory_has_its_limit(self, net):
        with pytest.raises(caffe.Error, match="max_memory: the engine needs"):
            Builder(max_memory=1000).build(net)


class TestEngine:
    def test_describes_itself(self, engine):
        assert engine.name == "small" and engine.max_batch == 2
        assert engine.inputs == {"data": (2, 3)} and engine.outputs == {"relu": (2, 2)}
        (layer,) = engine.layers
        assert (layer.name, layer.type, layer.fused) == ("ip", "InnerProduct", ["relu"])
        assert layer.tops == [(2, 2)] and layer.weight_bytes >= 8 * 4  # blocks are filled up
        assert engine.weight_bytes >= 8 * 4 and engine.activation_bytes >= (6 + 4) * 4
        assert "ip = InnerProduct(data)" in engine.to_text()
        description = json.loads(engine.to_json())
        assert description["layers"][0]["name"] == "ip"
        assert description["inputs"] == [{"name": "data", "shape": [2, 3]}]

    def test_is_saved_and_loaded(self, engine, tmp_path):
        plan = tmp_path / "small.plan"
        engine.save(plan)
        loaded = Engine.load(plan)
        assert json.loads(loaded.to_json()) == json.loads(engine.to_json())
        assert ExecutionContext(loaded).run(data=np.ones((2, 3)))["relu"].tolist() == [[3, 10]] * 2

    def test_refuses_what_is_no_plan(self, tmp_path, engine):
        with pytest.raises(caffe.Error, match="no/such/plan"):
            Engine.load("/no/such/plan")
        plan = tmp_path / "bad.plan"
        engine.save(plan)
        plan.write_bytes(plan.read_bytes()[:-1])
        with pytest.raises(caffe.Error, match="truncated"):
            Engine.load(plan)


class TestRun:
    def test_takes_a_dict_or_keywords(self, context):
        expected = [[6, 8], [15, 8]]
        data = [[1, 2, 3], [4, 5, 6]]
        assert context.run({"data": data})["relu"].tolist() == expected
        result = context.run(data=np.array(data, dtype=np.float64))["relu"]
        assert result.tolist() == expected and result.dtype == np.float32
        with pytest.raises(TypeError, match="given twice"):
            context.run({"data": data}, data=data)

    def test_returns_arrays_of_its_own(self, context):
        first = context.run(data=np.ones((2, 3)))["relu"]
        context.run(data=np.zeros((2, 3)))
        assert first.tolist() == [[3, 10]] * 2

    def test_writes_through_views_of_the_inputs(self, context):
        data = context.input("data")
        assert data.shape == (2, 3) and data.dtype == np.float32 and data.flags.writeable
        data[...] = 1
        assert context.run()["relu"].tolist() == [[3, 10]] * 2
        data[0] = 2
        assert context.run()["relu"].tolist() == [[6, 10], [3, 10]], "inputs stay"
        assert np.shares_memory(data, context.input("data"))
        del context
        gc.collect()
        data[...] = 5
        assert (data == 5).all(), "the memory lives as long as the view"

    def test_takes_any_batch_up_to_the_largest(self, context):
        context.set_batch(1)
        assert context.batch == 1 and context.input_shape("data") == (1, 3)
        assert context.run(data=[[1, 2, 3]])["relu"].tolist() == [[6, 8]]
        assert context.output_shape("relu") == (1, 2)
        for batch in (0, 3):
            with pytest.raises(caffe.Error, match="built for 1 to 2"):
                context.set_batch(batch)
        assert context.batch == 1

    def test_takes_smaller_inputs(self):
        net = NetworkDefinition("pool")
        net.add_input("a", (1, 1, 4, 4))
        net.add_input("b", (1, 1, 4, 4))
        net.add_layer(L.Eltwise(), name="sum", bottom=["a", "b"])
        net.add_layer(L.Pooling(pool="MAX", global_pooling=True), name="pool", bottom="sum")
        net.mark_output("pool")
        context = ExecutionContext(Builder().build(net))
        context.set_input_shapes({"a": (1, 1, 2, 3), "b": [1, 1, 2, 3]})
        a = np.arange(6).reshape(1, 1, 2, 3)
        assert context.run(a=a, b=a)["pool"] == 10
        with pytest.raises(caffe.Error):
            context.set_input_shape("a", (1, 1, 3, 3))
        with pytest.raises(caffe.Error, match="no input 'c'; it has 'a', 'b'"):
            context.set_input_shape("c", (1,))
        assert context.run(a=a, b=a)["pool"] == 10, "a failure changes nothing"

    def test_says_what_does_not_fit(self, context):
        with pytest.raises(ValueError, match=r"'data' has shape \(2, 3\), the values have \(1, 3\)"
                                             ": set_batch"):
            context.run(data=np.ones((1, 3)))
        with pytest.raises(caffe.Error, match="no input 'date'; it has 'data'"):
            context.run(date=np.ones((2, 3)))
        with pytest.raises(TypeError, match="takes float32"):
            context.run(data=np.full((2, 3), "x"))
        with pytest.raises(caffe.Error, match="no output"):
            context.output_shape("data")

    def test_computes_what_the_net_does(self, random):
        model, weights = (shared("models", "cifar10_quick_current", name)
                          for name in ("deploy.prototxt", "weights.caffemodel"))
        net = caffe.Net(model, weights, caffe.TEST)
        engine = Builder().build(NetworkDefinition.from_caffe(model, weights))
        values = random.rand(*net.blobs[net.inputs[0]].shape) * 200 - 100
        expected = net.forward(**{net.inputs[0]: values})
        result = ExecutionContext(engine).run({net.inputs[0]: values})
        assert result.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-4, atol=1e-5)


class TestCallbacks:
    def test_profiler(self, context):
        times = []
        context.profiler = lambda layer, milliseconds: times.append((layer, milliseconds))
        context.run()
        ((layer, milliseconds),) = times
        assert layer == "ip" and milliseconds >= 0
        context.profiler = None
        context.run()
        assert len(times) == 1

    def test_observer(self, context):
        seen = {}
        context.observer = seen.__setitem__
        context.run(data=[[1, 2, 3], [4, 5, 6]])
        assert list(seen) == ["relu"] and seen["relu"].tolist() == [[6, 8], [15, 8]]
        context.run(data=np.zeros((2, 3)))
        assert seen["relu"].tolist() == [[0, 10]] * 2

    @pytest.mark.parametrize("name", ["profiler", "observer"])
    def test_what_they_raise_comes_out(self, context, name):
        def fail(*args):
            raise ZeroDivisionError("on purpose")

        setattr(context, name, fail)
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            context.run()
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            context.enqueue().result()
        setattr(context, name, None)
        assert context.run(data=np.ones((2, 3)))["relu"].tolist() == [[3, 10]] * 2

    def test_cannot_run_their_context(self, context):
        def again(blob, values):
            assert context.input_shape("data") == (2, 3), "looking is allowed"
            with pytest.raises(caffe.Error, match="the context is running"):
                context.set_batch(1)
            context.run()

        context.observer = again
        with pytest.raises(caffe.Error, match="the context is running"):
            context.run()
        context.observer = None
        context.run()

    def test_do_not_keep_their_context(self, engine):
        context = ExecutionContext(engine)
        context.observer = lambda blob, values: context
        context.run()
        gone = weakref.ref(context)
        del context
        gc.collect()
        assert gone() is None


class TestEnqueue:
    def test_gives_futures(self, context):
        first = context.enqueue(data=np.ones((2, 3)))
        second = context.enqueue({"data": np.zeros((2, 3))})
        assert isinstance(first, concurrent.futures.Future)
        assert first.result()["relu"].tolist() == [[3, 10]] * 2
        assert second.result()["relu"].tolist() == [[0, 10]] * 2

    def test_runs_in_order_on_a_thread_of_its_own(self, context):
        gate, threads, order = threading.Event(), set(), []

        def wait(layer, milliseconds):
            threads.add(threading.get_ident())
            assert gate.wait(60)

        context.profiler = wait
        data = np.zeros((2, 3))
        futures = []
        for i in range(5):
            data[...] = i  # the array may be used again at once
            futures.append(context.enqueue(data=data))
            futures[-1].add_done_callback(lambda future, i=i: order.append(i))
        assert not futures[0].done() and order == []
        gate.set()
        assert [future.result()["relu"][0, 0] for future in futures] == [0, 3, 6, 9, 12]
        assert order[:4] == [0, 1, 2, 3], "the last one may not have been told yet"
        assert len(threads) == 1 and threading.get_ident() not in threads

    def test_raises_in_the_result(self, context):
        with pytest.raises(ValueError, match="has shape"):
            context.enqueue(data=np.ones((1, 3))).result()
        assert context.enqueue(data=np.ones((2, 3))).result()["relu"][0, 0] == 3

    def test_finishes_when_the_context_is_gone(self, engine):
        future = ExecutionContext(engine).enqueue(data=np.ones((2, 3)))
        gc.collect()
        assert future.result()["relu"][0, 0] == 3

    def test_takes_turns_with_run(self, context):
        futures = [context.enqueue(data=np.full((2, 3), i)) for i in range(20)]
        for i in range(20):
            assert context.run(data=np.full((2, 3), i))["relu"][0, 0] == 3 * i
        assert [future.result()["relu"][0, 0] for future in futures] == [3 * i for i in range(20)]


def test_many_contexts_on_many_threads(engine, random):
    inputs = random.randn(64, 2, 3).astype(np.float32)
    alone = ExecutionContext(engine)
    expected = [alone.run(data=values)["relu"] for values in inputs]

    def work(part):
        context = ExecutionContext(engine)
        return [context.run(data=values)["relu"] for values in inputs[part::4]]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(work, range(4)))
    for part in range(4):
        np.testing.assert_array_equal(parts[part], expected[part::4])


class TestThreads:
    def test_of_contexts_are_those_of_caffe_when_they_are_made(self, engine):
        before = caffe.threads()
        caffe.set_threads(3)
        context = ExecutionContext(engine)
        caffe.set_threads(before)
        assert context.threads == 3

    def test_may_be_given(self, engine):
        assert ExecutionContext(engine, threads=2).threads == 2
        with pytest.raises(caffe.Error, match="at least 1 thread"):
            ExecutionContext(engine, threads=-1)

    def test_engines_say_what_they_were_tuned_for(self):
        assert Builder(threads=3).build(small()).tuned_threads == 3
        assert Builder(timing_iterations=0).build(small()).tuned_threads == 0

    def test_are_split_by_a_hint(self):
        assert inference.split_threads("latency", 6) == (1, 6)
        split = inference.split_threads("throughput", 6)
        assert (split.contexts, split.threads) == (6, 1)
        assert inference.split_threads("latency").threads == caffe.threads()
        with pytest.raises(caffe.Error, match="give latency or throughput"):
            inference.split_threads("speed")


class TestPythonLayers:
    def test_run_with_their_parameters_from_the_plan(self, tmp_path):
        net = NetworkDefinition("scale")
        net.add_input("x", (2, 3))
        net.add_layer('type: "Python" python_param { module: "pycaffe_test_layers" '
                      'layer: "Scale" }', name="own", bottom="x", top="y", parameters=[[7]])
        net.mark_output("y")
        plan = tmp_path / "own.plan"
        Builder().build(net).save(plan)
        engine = Engine.load(plan)
        assert engine.weight_bytes == 4
        contexts = [ExecutionContext(engine) for _ in range(3)]
        for i, context in enumerate(contexts):
            assert (context.run(x=np.full((2, 3), i))["y"] == 7 * i).all()
        context = contexts[0]
        context.set_batch(1)
        assert context.run(x=np.ones((1, 3)))["y"].tolist() == [[7, 7, 7]]

    def test_keep_what_a_net_learned(self, write, tmp_path):
        file = write("""
            layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
            layer { name: "own" type: "Python" bottom: "x" top: "y"
                    python_param { module: "pycaffe_test_layers" layer: "Scale" } }""")
        net = caffe.Net(file, caffe.TEST)
        net.params["own"][0].data[...] = 5
        net.save(tmp_path / "w.caffemodel")
        definition = NetworkDefinition.from_caffe(file, tmp_path / "w.caffemodel")
        for model in (definition, NetworkDefinition.from_caffe(definition.to_proto())):
            context = ExecutionContext(Builder().build(model))
            assert (context.run(x=np.ones((2, 3)))["y"] == 5).all()

    def test_must_fit_their_parameters(self):
        net = NetworkDefinition("scale")
        net.add_input("x", (2, 3))
        for parameters, message in [([[1, 2]], "shape"), ([[1], [2]], "2")]:
            with pytest.raises(caffe.Error, match=message):
                net.add_layer('type: "Python" python_param { module: "pycaffe_test_layers" '
                              'layer: "Scale" }', name="own", bottom="x", parameters=parameters)

    def test_each_context_has_an_object_of_its_own(self, monkeypatch):
        made = []

        class Counts(pycaffe_test_layers.AddNumber):
            def setup(self, bottom, top):
                super().setup(bottom, top)
                self.runs = 0
                made.append(self)

            def forward(self, bottom, top):
                super().forward(bottom, top)
                self.runs += 1

        monkeypatch.setattr(pycaffe_test_layers, "Counts", Counts, raising=False)
        engine = Builder().build(python_net("Counts", "5"))
        del made[:]
        contexts = [ExecutionContext(engine) for _ in range(2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(context.run, x=np.ones((2, 3)))
                           for context in contexts for _ in range(10)]:
                assert (future.result()["y"] == 6).all()
        assert [layer.runs for layer in made] == [10, 10]

    def test_raise_out_of_the_run(self):
        context = ExecutionContext(Builder().build(python_net("Raises", "forward")))
        for _ in range(2):
            with pytest.raises(ZeroDivisionError, match="in forward"):
                context.run()
            with pytest.raises(ZeroDivisionError, match="in forward"):
                context.enqueue().result()

    def test_that_raise_in_reshape_leave_the_context_as_it_was(self, monkeypatch):
        class Picky(pycaffe_test_layers.AddNumber):
            def reshape(self, bottom, top):
                if bottom[0].shape[0] == 1:
                    raise ZeroDivisionError("not one")
                super().reshape(bottom, top)

        monkeypatch.setattr(pycaffe_test_layers, "Picky", Picky, raising=False)
        context = ExecutionContext(Builder().build(python_net("Picky", "5")))
        with pytest.raises(ZeroDivisionError, match="not one"):
            context.set_batch(1)
        assert context.batch == 2 and (context.run(x=np.ones((2, 3)))["y"] == 6).all()

    def test_of_a_class_that_cannot_be_imported(self, tmp_path, monkeypatch):
        plan = tmp_path / "own.plan"
        Builder().build(python_net("AddNumber", "5")).save(plan)
        monkeypatch.delattr(pycaffe_test_layers, "AddNumber")
        with pytest.raises(caffe.Error, match="layer 'own' .*has no class 'AddNumber'"):
            ExecutionContext(Engine.load(plan))


class TestCalibration:
    """A net of one scale: y = 2 x."""

    @pytest.fixture
    def net(self):
        net = NetworkDefinition("scale")
        net.add_input("x", (2, 3))
        net.add_layer(L.Scale(filler=dict(value=2)), name="y", bottom="x")
        net.mark_output("y")
        return net

    BATCHES = [{"x": [[1, -2, 3], [4, 5, 6]]}, {"x": [[0, 0, 9]]}]
    FEW = CalibrationOptions(minimum_images=1)

    def test_runs_ones_own_class(self, net):
        class Own(inference.Calibrator):
            method = "minmax"

            def __init__(self):
                self.batches = iter(TestCalibration.BATCHES)
                self.shapes, self.written = [], None

            def get_batch(self, inputs):
                self.shapes.append(inputs["x"])
                return next(self.batches, None)

            def write_calibration_cache(self, cache):
                self.written = cache

        own, progress = Own(), []
        options = CalibrationOptions(minimum_images=1, leave_out="x", progress=lambda *counts:
                                     progress.append(counts))
        table = inference.calibrate(net, own, options)
        assert table.blobs == ["y"] and table["y"].threshold == 18 and table["y"].minimum == -4
        assert table["y"].method == "minmax" and not table["y"].is_unsigned
        assert table.images == 3 and progress == [(1, 2), (2, 3)]
        assert own.shapes[0] == (2, 3) and own.written == table.to_text()

        again = Own()
        again.batches = iter([])
        again.read_calibration_cache = lambda: own.written
        assert inference.calibrate(net, again, options).to_text() == own.written
        assert again.shapes == []

    def test_takes_any_object_with_get_batch(self, net):
        class Minimal:
            def __init__(self):
                self.left = 2

            def get_batch(self, inputs):
                self.left -= 1
                return np.arange(6).reshape(2, 3) if self.left >= 0 else None

        table = inference.calibrate(net, Minimal(), self.FEW)
        assert table.images == 4 and table["x"].is_unsigned
        (comment,) = table.comments
        assert comment.startswith("error of the outputs on 4 of 4 images: mse ")
        assert comment.endswith(": " + table["x"].method)
        assert CalibrationTable.parse(table.to_text()).comments == [comment]

    def test_takes_batches_and_keeps_a_cache_file(self, net, tmp_path):
        cache = tmp_path / "x.table"
        for batches in (self.BATCHES, []):  # the second time from the cache
            table = inference.calibrate(net, inference.BatchCalibrator(
                batches, method="minmax", cache_file=cache), self.FEW)
            assert table["y"].threshold == 18
        assert CalibrationTable.read(cache).to_text() == table.to_text()

    def test_raises_what_the_class_raises(self, net):
        class Fails(inference.Calibrator):
            def get_batch(self, inputs):
                raise ZeroDivisionError("on purpose")

        with pytest.raises(ZeroDivisionError, match="on purpose"):
            inference.calibrate(net, Fails())
        with pytest.raises(NotImplementedError, match="Calibrator has no get_batch"):
            inference.calibrate(net, inference.Calibrator())

    @pytest.mark.parametrize("batch, message", [
        ({"z": [[1, 2, 3]]}, "'z', which is not an input"),
        ({"x": [[1, 2]]}, "input 'x' has shape 2 3 .*the values have 1 2"),
        ({}, "None ends"),
        (np.ones((0, 3)), "input 'x' has shape"),
    ])
    def test_says_what_is_wrong_with_a_batch(self, net, batch, message):
        with pytest.raises(caffe.Error, match=message):
            inference.calibrate(net, inference.BatchCalibrator([batch]), self.FEW)

    def test_needs_images(self, net):
        with pytest.raises(caffe.Error, match="needs 4 images or more, there are 3"):
            inference.calibrate(net, inference.BatchCalibrator(self.BATCHES),
                                CalibrationOptions(minimum_images=4))
        assert inference.calibrate(net, inference.BatchCalibrator(self.BATCHES)).images == 3
        with pytest.raises(caffe.Error, match="calibrator 'kl'"):
            inference.calibrate(net, inference.BatchCalibrator([], method="kl"))

    def test_tables(self, net, tmp_path):
        table = CalibrationTable()
        table.set("x", 2.54, is_unsigned=True)
        table.set("y", 127)
        assert len(table) == 2 and "x" in table and "z" not in table and table["y"].scale == 1
        file = tmp_path / "x.table"
        table.write(file)
        assert CalibrationTable.read(file).blobs == ["x", "y"]
        assert CalibrationTable.parse(table.to_text())["x"].threshold == pytest.approx(2.54)
        table.remove("x")
        assert table.blobs == ["y"]
        with pytest.raises(caffe.Error, match="'x'"):
            table["x"]
        cache = tmp_path / "tensorrt.cache"
        cache.write_text("TRT-8503-EntropyCalibration2\nx: 3c010a14\n")
        assert CalibrationTable.read(cache, net)["x"].threshold == pytest.approx(1, rel=1e-3)


def test_timing_cache(tmp_path):
    file = tmp_path / "times"
    cache = TimingCache(file)
    assert len(cache) == 0 and cache.find("a key") is None
    cache.set("a key", 1.25)
    cache.write(file)
    again = TimingCache(file)
    assert len(again) == 1 and again.find("a key") == 1.25
    file.write_text("something else")
    with pytest.raises(caffe.Error, match="no timing cache"):
        TimingCache(file)
    Builder(timing_cache=again).build(small())


def test_precisions_are_their_names():
    assert Precision("fp16") is Precision.FP16 and Precision.FP16 == "fp16"
    for precision in Precision:
        Builder(allowed=[precision, "fp32"]).build(small())


class TestDraw:
    """What results look like is tested in test_result_drawing.cpp."""

    GREY = np.full((200, 240, 3), (110, 100, 90), np.uint8)
    BOX = np.array([[0, 3, 0.9, 0.25, 0.5, 0.5, 0.75], [1, 3, 0.9, 0, 0, 1, 1]], np.float32)

    @pytest.fixture(autouse=True)
    def opencv(self):
        try:
            inference.draw(self.GREY, {"out": [[1, 0]]})
        except caffe.Error as error:
            if "needs OpenCV" not in str(error):
                raise
            pytest.skip(str(error))

    def test_boxes_of_one_item(self):
        drawn = inference.draw(self.GREY, {"boxes": self.BOX[None, None]})
        assert drawn.shape == (200, 240, 3) and drawn.dtype == np.uint8
        color = drawn[120, 60]
        assert (color != self.GREY[120, 60]).any()
        assert (drawn[100:150, 60:62] == color).all()  # the left edge: columns 60 and 61
        assert (drawn[102:148, 62:118] == (110, 100, 90)).all()
        other = inference.draw(self.GREY, {"boxes": self.BOX[None, None]}, item=1)
        assert (other[:, 0] == color).all(), "the second item's box"

    def test_the_image_may_be_a_file_grey_or_of_floats(self, tmp_path):
        image = pytest.importorskip("PIL.Image")
        image.fromarray(self.GREY).save(tmp_path / "grey.png")
        outputs = {"boxes": self.BOX[None, None]}
        drawn = inference.draw(self.GREY, outputs)
        assert (inference.draw(tmp_path / "grey.png", outputs) == drawn).all()
        assert (inference.draw(self.GREY / 255.0, outputs) == drawn).all()
        flat = inference.draw(np.full((200, 240), 0.5), outputs)
        assert (flat[110, 70] == 128).all()

    def test_names_are_a_list_or_a_file(self, tmp_path):
        (tmp_path / "names.txt").write_text("cat\ndog\n")
        outputs = {"prob": np.array([[0.25, 0.75]])}
        listed = inference.draw(self.GREY, outputs, ["cat", "dog"])
        assert listed.shape[0] > 200, "a list of classes below the image"
        assert (listed == inference.draw(self.GREY, outputs, tmp_path / "names.txt")).all()
        assert (listed != inference.draw(self.GREY, outputs, ["dog", "cat"])).any()
        with pytest.raises(caffe.Error, match="names 1 classes"):
            inference.draw(self.GREY, outputs, ["cat"])

    def test_an_output_is_drawn_as_asked(self):
        labels = np.ones((1, 1, 10, 12), np.float32)
        overlay = inference.draw(self.GREY, {"out": labels}, opacity=1)
        assert (overlay[0, 0] != self.GREY[0, 0]).any()
        assert (overlay[:200, :240] == overlay[0, 0]).all()
        part = inference.draw(self.GREY, {"out": labels}, opacity=1, seen=(0, 0, 120, 200))
        assert (part[:200, 120:240] == self.GREY[:, :120]).all()
        assert (part[:200, :120] == overlay[0, 0]).all()
        shown = inference.draw(self.GREY, {"out": labels}, kinds={"out": "image"})
        assert shown.shape == (10, 12, 3) and (shown == 255).all()

    def test_the_order_of_channels_of_an_image(self):
        values = np.array([1, 0.5, 0], np.float32).reshape(1, 3, 1, 1) * np.ones((1, 1, 2, 2))
        for order, pixel in (("BGR", (0, 128, 255)), ("RGB", (255, 128, 0))):
            drawn = inference.draw(self.GREY, {"out": values}, channel_order=order)
            assert (drawn == pixel).all()

    def test_what_cannot_be_drawn(self):
        outputs = {"out": np.zeros((2, 3))}
        with pytest.raises(ValueError, match="'out' of shape .* has no item 2"):
            inference.draw(self.GREY, outputs, item=2)
        with pytest.raises(ValueError, match="an image is"):
            inference.draw(np.zeros(5), outputs)
        with pytest.raises(ValueError, match="channel_order"):
            inference.draw(self.GREY, outputs, channel_order="GRB")
        with pytest.raises(ValueError, match="seen"):
            inference.draw(self.GREY, outputs, seen=(1, 2))
        with pytest.raises(caffe.Error, match="not as 'box'"):
            inference.draw(self.GREY, outputs, kinds={"out": "box"})
        with pytest.raises(caffe.Error, match="nothing to draw"):
            inference.draw(self.GREY, {"out": np.zeros((1, 1))})
