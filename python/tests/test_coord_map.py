"""caffe.coord_map: where points of one blob lie in another.

The maps are compared with the definition of convolution, pooling, deconvolution and cropping: of a
net of averaging windows, the centre of mass of what one point touches.
"""
import numpy as np
import pytest

from caffe.coord_map import AxisMismatchException, UndefinedMapException, compose, conv_params, \
    coord_map, coord_map_from_to, crop, crop_params, inverse
from caffe.net_spec import layers as L


def data():
    return L.Input()


def conv(bottom, kernel, stride=1, pad=0, **more):
    return L.Convolution(bottom, kernel_size=kernel, stride=stride, pad=pad, num_output=1, **more)


def pool(bottom, kernel, stride=1, pad=0):
    return L.Pooling(bottom, kernel_size=kernel, stride=stride, pad=pad)


def deconv(bottom, kernel, stride=1, pad=0):
    return L.Deconvolution(bottom, convolution_param=dict(kernel_size=kernel, stride=stride,
                                                          pad=pad, num_output=1))


def maps_to(result, scale, shift):
    np.testing.assert_allclose(np.ravel(result[1]), np.ravel(scale))
    np.testing.assert_allclose(np.ravel(result[2]), np.ravel(shift))


# --- Fields ---


def test_conv_params():
    axis, stride, extent, pad = conv_params(conv(data(), 3, 2, 1, dilation=4).fn)
    assert (axis, stride.tolist(), extent.tolist(), pad.tolist()) == (1, [2], [9], [1])


def test_conv_params_in_their_own_message_and_defaults():
    axis, stride, extent, pad = conv_params(
        L.Deconvolution(data(), convolution_param=dict(kernel_size=[4, 6], axis=2)).fn)
    assert (axis, stride.tolist(), extent.tolist(), pad.tolist()) == (2, [1], [4, 6], [0])


@pytest.mark.parametrize("field", ["kernel_h", "stride_w", "pad_h"])
def test_sizes_given_for_h_and_w_are_refused(field):
    with pytest.raises(ValueError, match=field):
        conv_params(L.Convolution(data(), kernel_size=3, **{field: 1}).fn)
    with pytest.raises(AssertionError):  # what Caffe raised
        conv_params(L.Convolution(data(), kernel_size=3, **{field: 1}).fn)


def test_crop_params():
    axis, offset = crop_params(L.Crop(data(), data(), axis=1, offset=[3, 4]).fn)
    assert (axis, offset.tolist()) == (1, [3, 4])
    axis, offset = crop_params(L.Crop(data(), data(), crop_param=dict(offset=5)).fn)
    assert (axis, offset.tolist()) == (2, [5])


# --- One layer ---


def test_a_convolution_of_stride_1_with_half_its_kernel_as_pad_keeps_places():
    maps_to(coord_map(conv(data(), 5, 1, 2).fn), 1, 0)


def test_a_pooling_of_2_and_stride_2_halves():
    # Output 0 covers inputs 0 and 1: the point 0.5 becomes 0.
    maps_to(coord_map(pool(data(), 2, 2).fn), 0.5, -0.25)


def test_a_deconvolution_enlarges():
    # Input 0 is spread over outputs 0 to 3, input 1 over 2 to 5: their centres are 1.5 and 3.5.
    maps_to(coord_map(deconv(data(), 4, 2).fn), 2, 1.5)


def test_a_crop_moves():
    assert coord_map(L.Crop(data(), data(), axis=2, offset=3).fn)[0] == 1
    maps_to(coord_map(L.Crop(data(), data(), axis=2, offset=3).fn), 1, -3)


@pytest.mark.parametrize("kind", ["ReLU", "Eltwise", "BatchNorm", "Dropout", "LRN", "Split"])
def test_layers_that_keep_places(kind):
    assert coord_map(getattr(L, kind)(data()).fn) == (None, 1, 0)


def test_layers_without_places():
    with pytest.raises(UndefinedMapException, match="InnerProduct"):
        coord_map(L.InnerProduct(data(), num_output=1).fn)


# --- Maps ---


def test_compose_takes_the_second_map_first():
    axis, scale, shift = compose((1, 2.0, 3.0), (None, 5.0, 7.0))
    assert (axis, scale, shift) == (1, 10, 17)  # x -> 5x + 7 -> 10x + 14 + 3


def test_inverse():
    base = (1, 4.0, 6.0)
    assert compose(base, inverse(base)) == (1, 1, 0)


def test_maps_of_different_axes_do_not_compose():
    with pytest.raises(AxisMismatchException, match="1.*2"):
        compose((1, 1, 0), (2, 1, 0))


# --- Several layers ---


def centre_of_mass(steps, size, place):
    """Where ``place`` of the input goes, by the layers' definitions, with kernels of ones."""
    signal = np.zeros(size)
    signal[place] = 1
    for kind, kernel, stride, pad in steps:
        if kind is deconv:
            full = np.zeros((len(signal) - 1) * stride + kernel)
            for i, value in enumerate(signal):
                full[i * stride:i * stride + kernel] += value
            signal = full[pad:len(full) - pad]
        else:
            padded = np.pad(signal, pad)
            signal = np.array([padded[i:i + kernel].sum()
                               for i in range(0, len(padded) - kernel + 1, stride)])
    return (signal * np.arange(len(signal))).sum() / signal.sum()


@pytest.mark.parametrize("number", range(20))
def test_maps_of_random_nets_agree_with_the_definition(number, random):
    top = bottom = data()
    steps = []
    for _ in range(random.randint(1, 5)):
        kind = [conv, pool, deconv][random.randint(3)]
        stride = int(random.randint(1, 4))
        # Windows without gaps, so that a moved point moves the centre of mass evenly on average.
        kernel = stride * int(random.randint(1, 4))
        pad = int(random.randint(0, 3))
        steps.append((kind, kernel, stride, pad))
        top = L.ReLU(kind(top, kernel, stride, pad))
    _, scale, shift = coord_map_from_to(bottom, top)

    period = int(np.prod([stride for kind, _, stride, _ in steps if kind is not deconv]))
    places = np.arange(300, 300 + 4 * period)
    found = [centre_of_mass(steps, 700, place) for place in places]
    assert np.mean(found) == pytest.approx(float((scale * places + shift).mean()), abs=1e-9), steps


def test_through_convolution_pooling_and_deconvolution_back():
    start = data()
    top = deconv(pool(conv(start, 5, 1, 0), 2, 2), 4, 2, 1)
    # The first takes off 2 on each side, the others undo each other: kernel 4, stride 2, pad 1.
    maps_to(coord_map_from_to(top, start), 1, 2)


def test_a_common_blob_is_found_before_the_input():
    base = conv(L.InnerProduct(data(), num_output=1), 3)
    maps_to(coord_map_from_to(pool(base, 2, 2), base), 2, 0.5)


def test_a_crop_follows_its_first_bottom():
    start, other = data(), data()
    cropped = L.Crop(conv(start, 3, 1, 3), other, axis=2, offset=2)
    maps_to(coord_map_from_to(cropped, start), 1, 0)
    with pytest.raises(RuntimeError, match="no coordinate map"):
        coord_map_from_to(cropped, other)


def test_no_way_through_layers_without_places():
    start = data()
    with pytest.raises(RuntimeError, match="no coordinate map"):
        coord_map_from_to(L.InnerProduct(start, num_output=1), start)


def test_layers_along_different_axes():
    start = data()
    with pytest.raises(AxisMismatchException):
        coord_map_from_to(conv(conv(start, 3), 3, axis=2), start)


# --- crop ---


def test_crop_to_the_image():
    start = data()
    # FCN-32s in small: pad 100 in front, then down and up by 2.
    top = deconv(pool(conv(start, 3, 1, 100), 2, 2), 4, 2)
    layer = crop(top, start)
    assert layer.fn.type_name == "Crop"
    assert layer.fn.inputs == (top, start)
    assert layer.fn.params == dict(crop_param=dict(axis=2, offset=[100]))


def test_crop_with_an_offset_for_each_axis():
    start = data()
    top = conv(start, [3, 5], 1, [4, 5])
    assert crop(top, start).fn.params["crop_param"] == dict(axis=2, offset=[3, 3])


def test_crop_along_three_axes():
    start = data()
    assert crop(conv(start, [3, 3, 3], 1, 2), start).fn.params["crop_param"]["offset"] == [1, 1, 1]


def test_crop_of_blobs_in_the_same_place():
    start = data()
    assert crop(L.ReLU(start), start).fn.params["crop_param"] == dict(axis=2, offset=[0])


@pytest.mark.parametrize("top, reason", [
    (lambda start: pool(start, 2, 2), "scales"),
    (lambda start: conv(start, 5), "negative"),
    (lambda start: conv(start, 2, 1, 2), "not a whole number"),
])
def test_crops_that_cannot_be(top, reason):
    start = data()
    with pytest.raises(ValueError, match=reason):
        crop(top(start), start)
    with pytest.raises(AssertionError):
        crop(top(start), start)
