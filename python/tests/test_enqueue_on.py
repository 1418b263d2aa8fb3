"""ExecutionContext.enqueue_on: runs on a GPU's stream, from and to tensors there."""
import gc

import caffe
import numpy as np
import pytest

from caffe.inference import Builder, ExecutionContext, NetworkDefinition

from gpu_doubles import FakeGpu


def small(batch=2):
    """data (batch, 4) -> ip (batch, 8): the sums of the rows, plus 0 to 7."""
    net = NetworkDefinition("small")
    net.add_input("data", (batch, 4))
    net.add_layer('type: "InnerProduct" inner_product_param { num_output: 8 }', name="ip",
                  bottom="data", parameters=[np.ones((8, 4)), np.arange(8)])
    net.mark_output("ip")
    return net


DATA = np.arange(8, dtype=np.float32).reshape(2, 4)
EXPECTED = DATA.sum(1, keepdims=True) + np.arange(8)
NOTHING = np.zeros((2, 8), np.float32)


@pytest.fixture
def gpu(build):
    device = FakeGpu(build)
    yield device
    gc.collect()
    device.remove()


@pytest.fixture
def context(gpu):
    return ExecutionContext(Builder(backend="cuda", timing_iterations=0).build(small()))


def test_runs_from_and_to_tensors(gpu, context):
    data, ip = gpu.tensor(DATA), gpu.tensor(NOTHING)
    assert context.enqueue_on(0, {"data": data, "ip": ip}) is None
    np.testing.assert_array_equal(ip.read(), EXPECTED)
    context.enqueue_on(0, data=data, ip=gpu.tensor(NOTHING))


def test_takes_addresses(gpu, context):
    data, ip = gpu.tensor(DATA), gpu.tensor(NOTHING)
    context.enqueue_on(7, data=data.address, ip=np.int64(ip.address))
    np.testing.assert_array_equal(ip.read(), EXPECTED)


def test_is_one_graph_from_the_second_run_in_the_same_places_on(gpu, context):
    data, ip, other = gpu.tensor(DATA), gpu.tensor(NOTHING), gpu.tensor(NOTHING)
    for place, launches in ((ip, 0), (ip, 1), (ip, 2), (other, 2), (other, 3)):
        context.enqueue_on(0, data=data, ip=place)
        assert gpu.launches == launches
        np.testing.assert_array_equal(place.read(), EXPECTED)


def test_takes_the_present_batch(gpu, context):
    context.set_batch(1)
    ip = gpu.tensor(NOTHING[:1])
    context.enqueue_on(0, data=gpu.tensor(DATA[1:]), ip=ip)
    np.testing.assert_array_equal(ip.read(), EXPECTED[1:])


def test_takes_strides_and_streams_of_the_interface(gpu, context):
    data = gpu.tensor(DATA, strides=(16, 4), stream=1)
    ip = gpu.tensor(NOTHING, strides=None, stream=5, mask=None)
    context.enqueue_on(5, data=data, ip=ip)
    np.testing.assert_array_equal(ip.read(), EXPECTED)


def test_goes_with_run_and_enqueue(gpu, context):
    data, ip = gpu.tensor(DATA), gpu.tensor(NOTHING)
    context.enqueue_on(0, data=data, ip=ip)
    np.testing.assert_array_equal(context.run(data=DATA + 1)["ip"], EXPECTED + 4)
    np.testing.assert_array_equal(context.enqueue(data=DATA).result()["ip"], EXPECTED)
    np.testing.assert_array_equal(ip.read(), EXPECTED)


@pytest.mark.parametrize("change, error, message", [
    (dict(shape=(4, 2)), ValueError,
     r"input 'data' has shape \(2, 4\), the tensor has \(4, 2\): set_batch or set_input_shape"),
    (dict(typestr="<f2"), TypeError, r"input 'data' takes float32 \(<f4\), the tensor has <f2"),
    (dict(typestr=">f4"), TypeError, "the tensor has >f4"),
    (dict(strides=(4, 8)), ValueError,
     r"contiguous tensor, this one's strides are \(4, 8\) bytes where \(16, 4\) would be"),
    (dict(mask=object()), ValueError, "'data' takes no tensor with a mask"),
    (dict(data=(0, False)), caffe.Error, "input 'data' of engine 'small' has no place"),
])
def test_says_what_does_not_fit(gpu, context, change, error, message):
    with pytest.raises(error, match=message) as caught:
        context.enqueue_on(0, data=gpu.tensor(DATA, **change), ip=gpu.tensor(NOTHING))
    assert "\n" not in str(caught.value)


def test_says_what_is_no_place(gpu, context):
    data, ip = gpu.tensor(DATA), gpu.tensor(NOTHING)
    for places, error, message in [
            (dict(data=DATA, ip=ip), TypeError,
             "input 'data' takes a tensor on the GPU, .* or the address of one, not a "
             "numpy.ndarray"),
            (dict(data=data, ip=-1), ValueError, "output 'ip' cannot lie at the address -1"),
            (dict(data=data, ip=ip.address + 4), caffe.Error, "multiple of 16"),
            (dict(data=data, ip=gpu.tensor(NOTHING, data=(ip.address, True))), ValueError,
             "output 'ip' would be written, and the tensor is read-only"),
            (dict(data=data), caffe.Error, "output 'ip' of engine 'small' has no place"),
            (dict(data=data, ip=ip, prob=ip), caffe.Error,
             "engine 'small' has no input or output 'prob'; it has data, ip")]:
        with pytest.raises(error, match=message) as caught:
            context.enqueue_on(0, places)
        assert "\n" not in str(caught.value)
    with pytest.raises(TypeError, match="given twice"):
        context.enqueue_on(0, {"data": data}, data=data)


@pytest.mark.parametrize("stream, error, message", [
    (object(), TypeError, r"a stream is given by its handle, an integer \(stream.cuda_stream .*\), "
                          "not as a builtins.object"),
    (-1, ValueError, "-1 is not a stream's handle"),
])
def test_says_what_is_no_stream(gpu, context, stream, error, message):
    with pytest.raises(error, match=message):
        context.enqueue_on(stream, data=gpu.tensor(DATA), ip=gpu.tensor(NOTHING))


def test_is_for_engines_on_a_gpu():
    context = ExecutionContext(Builder().build(small()))
    with pytest.raises(caffe.Error, match="built for the CPU; .* backend='cuda'") as caught:
        context.enqueue_on(0, data=16, ip=16)
    assert "\n" not in str(caught.value)
