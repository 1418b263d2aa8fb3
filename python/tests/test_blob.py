"""Blobs: numpy arrays on their memory, shapes, types, lifetimes."""
import gc
import weakref

import caffe
import numpy as np
import pytest


def address(array):
    return array.__array_interface__["data"][0]


def test_data_is_a_writable_float32_view_without_a_copy(small_net):
    blob = small_net.blobs["data"]
    data = blob.data
    assert data.dtype == np.float32 and data.shape == (2, 3)
    assert data.flags.writeable and data.flags.c_contiguous and not data.flags.owndata
    data[1, 2] = 7
    assert blob.data[1, 2] == 7
    assert address(blob.data) == address(data)


def test_diff_is_a_view_of_its_own(small_net):
    blob = small_net.blobs["data"]
    blob.data[...] = 1
    blob.diff[...] = 2
    assert (blob.data == 1).all() and (blob.diff == 2).all()
    assert address(blob.diff) != address(blob.data)


def test_memory_is_aligned_for_vector_instructions(small_net):
    assert address(small_net.blobs["data"].data) % 64 == 0


def test_shape_and_its_old_names(small_net):
    blob = small_net.blobs["data"]
    assert blob.shape == (2, 3) and blob.count == 6
    assert (blob.num, blob.channels, blob.height, blob.width) == (2, 3, 1, 1)
    assert "(2, 3)" in repr(blob) and "FLOAT" in repr(blob)


def test_old_names_are_for_four_axes():
    with pytest.raises(caffe.Error, match="at most 4 axes"):
        caffe.Blob([1, 2, 3, 4, 5]).num


def test_reshape_takes_numbers_or_a_sequence():
    blob = caffe.Blob([1])
    blob.reshape(2, 3)
    assert blob.data.shape == (2, 3)
    blob.reshape((4, 5))
    assert blob.data.shape == (4, 5)
    blob.reshape(np.int64(6))
    assert blob.data.shape == (6,)
    blob.reshape()
    assert blob.data.shape == ()


def test_reshape_says_what_is_wrong():
    blob = caffe.Blob([1])
    with pytest.raises(TypeError, match="an extent of a blob is a whole number, not 2.5"):
        blob.reshape(2.5)
    with pytest.raises(ValueError, match="an extent of a blob is a number from .*, not 1099511627776"):
        blob.reshape(1 << 40)
    with pytest.raises(ValueError, match="an extent of a blob is a number from .*"):
        caffe.Blob([1 << 40])
    with pytest.raises(caffe.Error, match="negative"):
        blob.reshape(2, -1)
    with pytest.raises(caffe.Error, match="2\\^31"):
        blob.reshape(1 << 20, 1 << 20)
    assert blob.shape == (1,)


def test_an_empty_blob_gives_an_empty_array():
    assert caffe.Blob([0, 3]).data.shape == (0, 3)


def test_a_view_shows_what_the_net_computes_later(small_net):
    output = small_net.blobs["ip"].data
    small_net.blobs["data"].data[...] = 1
    small_net.forward()
    assert (output == 7).all()


def test_a_view_written_later_is_what_the_net_reads(small_net):
    data = small_net.blobs["data"].data
    small_net.forward()
    data[...] = 2
    assert (small_net.forward()["ip"] == 13).all()


def test_a_view_keeps_the_memory_alive(small_net, write):
    from conftest import SMALL_NET
    net = caffe.Net(write(SMALL_NET, "other.prototxt"), caffe.TEST)
    weights = net.params["ip"][0].data
    net.blobs["data"].data[...] = 1
    output = net.forward()["ip"]
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None
    filler = [np.ones(1000, np.float32) for _ in range(100)]  # would use memory that is free
    assert (weights == 2).all() and (output == 7).all() and len(filler) == 100


def test_a_blob_that_keeps_itself_is_collected():
    class Derived(caffe.Blob):
        pass

    for kind in (caffe.Blob, Derived):
        blob = kind([2])
        blob.kept = [blob]
        gone = weakref.ref(blob)
        del blob
        gc.collect()
        assert gone() is None


def test_a_blob_outlives_its_net(small_net):
    blob = small_net.params["ip"][1]
    del small_net
    gc.collect()
    assert (blob.data == 1).all()


def test_a_view_of_a_blob_that_grew_keeps_the_old_memory(small_net):
    blob = small_net.blobs["data"]
    old = blob.data
    old[...] = 3
    blob.reshape(200, 3)
    small_net.reshape()
    assert old.shape == (2, 3) and (old == 3).all()
    assert blob.data.shape == (200, 3) and small_net.blobs["ip"].data.shape == (200, 4)
    old[...] = 4
    blob.data[...] = 1
    assert (small_net.forward()["ip"] == 7).all()


def test_count_is_that_of_the_shape(write):
    """Two layers read the blob, and share its memory, which stays as it was for the larger batch."""
    net = caffe.Net(write("""
        layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 8 dim: 3 } } }
        layer { name: "a" type: "Power" bottom: "x" top: "a" }
        layer { name: "b" type: "Power" bottom: "x" top: "b" }"""), caffe.TEST)
    net.forward()
    blob = net.blobs["x"]
    for rows in (1, 0, 2):
        blob.reshape(rows, 3)
        assert blob.count == blob.data.size == 3 * rows


def test_views_of_many_blobs_do_not_leak(small_net):
    blob = small_net.blobs["data"]
    for _ in range(2000):
        blob.data
    gc.collect()
    assert sum(type(thing).__name__ == "_ViewBuffer" for thing in gc.get_objects()) < 10


def test_types_that_blobs_do_not_have(small_net):
    with pytest.raises(TypeError, match="float16, float32 or float64, not int32"):
        small_net.blobs["data"].data_as(np.int32)


def test_data_as_another_type_is_converted_and_written_back(small_net):
    blob = small_net.blobs["data"]
    blob.data[...] = 0.1
    half = blob.data_as(np.float16)
    assert half.dtype == np.float16 and half[0, 0] == np.float16(0.1)
    half[...] = 1
    assert (small_net.forward()["ip"] == 7).all()
    double = blob.data_as("float64")
    double[...] = 2
    assert (blob.data == 2).all()


def test_diff_as(small_net):
    blob = small_net.blobs["ip"]
    blob.diff_as(np.float64)[...] = 0.5
    assert (blob.diff == 0.5).all()
