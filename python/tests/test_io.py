"""caffe.io: images, preprocessing, and the messages of blobs and records."""
import functools
import http.server
import io as streams
import sys
import threading
import types

import numpy as np
import pytest

from caffe import _images, io
from caffe.proto import caffe_pb2
from seeds import seed_of_this_test

PIL_Image = pytest.importorskip("PIL.Image", reason="Pillow writes the images of these tests")


def write(path, pixels):
    PIL_Image.fromarray(pixels).save(path)
    return str(path)


# --- Blobs and records ---


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 2, 3, 4, 5)])
def test_blobproto_keeps_shape_and_values(shape, random):
    values = random.normal(size=shape).astype(np.float32)
    blob = io.array_to_blobproto(values)
    assert tuple(blob.shape.dim) == shape
    result = io.blobproto_to_array(blob)
    assert result.dtype == np.float32 and result.shape == shape
    np.testing.assert_array_equal(result, values)


def test_blobproto_with_gradients():
    blob = io.array_to_blobproto(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert io.blobproto_to_array(blob).tolist() == [1, 2]
    assert io.blobproto_to_array(blob, return_diff=True).tolist() == [3, 4]
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
        io.array_to_blobproto(np.zeros(2), np.zeros(3))


def test_blobproto_of_old_files_has_four_axes():
    blob = caffe_pb2.BlobProto(num=1, channels=2, height=1, width=3, data=range(6))
    assert io.blobproto_to_array(blob).tolist() == [[[[0, 1, 2]], [[3, 4, 5]]]]


def test_blobproto_of_doubles():
    blob = caffe_pb2.BlobProto(double_data=[1 / 3], shape=dict(dim=[1]))
    assert io.blobproto_to_array(blob)[0] == 1 / 3


@pytest.mark.parametrize("name, dtype", [("FLOAT16", "<f2"), ("FLOAT", "<f4"), ("DOUBLE", "<f8")])
def test_blobproto_of_nvcaffe(name, dtype):
    values = np.array([[1.5, -2.25]], dtype=dtype)
    blob = caffe_pb2.BlobProto(raw_data=values.tobytes(), raw_data_type=caffe_pb2.Type.Value(name),
                               shape=dict(dim=[1, 2]))
    result = io.blobproto_to_array(blob)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result, values)
    result[:] = 0  # is the caller's own


def test_blobproto_with_too_few_values():
    blob = caffe_pb2.BlobProto(data=[1, 2], shape=dict(dim=[3]))
    with pytest.raises(ValueError, match=r"2 values.*\(3,\)"):
        io.blobproto_to_array(blob)


def test_blobprotovector():
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(1, np.float32)]
    text = io.arraylist_to_blobprotovector_str(arrays)
    assert isinstance(text, bytes)
    assert io.arraylist_to_blobprotovecor_str(arrays) == text
    for result, array in zip(io.blobprotovector_str_to_arraylist(text), arrays):
        np.testing.assert_array_equal(result, array)


def test_datum_of_bytes(random):
    pixels = random.randint(0, 256, (3, 2, 4)).astype(np.uint8)
    datum = io.array_to_datum(pixels, label=5)
    assert (datum.channels, datum.height, datum.width, datum.label) == (3, 2, 4, 5)
    assert datum.data == pixels.tobytes() and len(datum.float_data) == 0
    result = io.datum_to_array(datum)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, pixels)
    result[:] = 0  # is the caller's own


def test_datum_of_floats(random):
    values = random.normal(size=(1, 2, 3))
    datum = io.array_to_datum(values)
    assert not datum.HasField("label") and datum.data == b""
    np.testing.assert_allclose(io.datum_to_array(datum), values, rtol=1e-7)


def test_datum_of_a_view():
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4).transpose(2, 0, 1)
    np.testing.assert_array_equal(io.datum_to_array(io.array_to_datum(pixels)), pixels)


def test_datum_has_three_axes():
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        io.array_to_datum(np.zeros((2, 2)))


def test_datum_with_too_few_values():
    with pytest.raises(ValueError, match=r"1 values.*\(1, 2, 2\)"):
        io.datum_to_array(caffe_pb2.Datum(channels=1, height=2, width=2, data=b"x"))


def test_datum_with_a_compressed_image(random):
    pixels = random.randint(0, 256, (2, 4, 3)).astype(np.uint8)
    stream = streams.BytesIO()
    PIL_Image.fromarray(pixels).save(stream, "png")
    result = io.datum_to_array(caffe_pb2.Datum(data=stream.getvalue(), encoded=True))
    np.testing.assert_array_equal(result, pixels[:, :, ::-1].transpose(2, 0, 1))  # B, G, R
    with pytest.raises(ValueError, match="encoded Datum"):
        io.datum_to_array(caffe_pb2.Datum(data=b"not an image", encoded=True))


@pytest.mark.parametrize("mode, channels", [("RGBA", 3), ("LA", 1)])
def test_datum_leaves_transparency_out(mode, channels):
    stream = streams.BytesIO()
    PIL_Image.new(mode, (4, 2)).save(stream, "png")
    datum = caffe_pb2.Datum(data=stream.getvalue(), encoded=True)
    assert io.datum_to_array(datum).shape == (channels, 2, 4)


# --- load_image ---


READERS = {"pillow": _images._pillow, "opencv": _images._opencv}


@pytest.fixture(params=list(READERS))
def library(request, monkeypatch):
    """Each library that reads images, alone."""
    try:
        reader = READERS[request.param]()
    except ImportError:
        pytest.skip(f"{request.param} is not installed")
    monkeypatch.setattr(_images, "_reader", lambda: reader)
    return request.param


def test_load_image_gives_rgb_from_0_to_1(library, tmp_path):
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[0, 0] = [255, 0, 51]
    image = io.load_image(write(tmp_path / "a.png", pixels))
    assert image.dtype == np.float32 and image.shape == (2, 3, 3)
    np.testing.assert_allclose(image[0, 0], [1, 0, 0.2], rtol=1e-6)


def test_load_image_of_a_grey_image(library, tmp_path):
    path = write(tmp_path / "grey.png", np.array([[0, 51], [102, 255]], np.uint8))
    expected = np.array([[0, 0.2], [0.4, 1]], np.float32)
    np.testing.assert_allclose(io.load_image(path, color=False)[:, :, 0], expected, rtol=1e-6)
    color = io.load_image(path)
    assert color.shape == (2, 2, 3)
    for channel in range(3):
        np.testing.assert_allclose(color[:, :, channel], expected, rtol=1e-6)


def test_load_image_makes_grey_of_colour(library, tmp_path):
    pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]], np.uint8)
    grey = io.load_image(write(tmp_path / "a.png", pixels), color=False)
    assert grey.shape == (1, 4, 1)
    # The weights of scikit-image's rgb2gray.
    np.testing.assert_allclose(grey[0, :, 0], [0.2125, 0.7154, 0.0721, 1], rtol=1e-6)


def test_load_image_leaves_transparency_out(library, tmp_path):
    pixels = np.full((1, 1, 4), [255, 51, 0, 7], np.uint8)
    image = io.load_image(write(tmp_path / "a.png", pixels))
    np.testing.assert_allclose(image[0, 0], [1, 0.2, 0], rtol=1e-6)


def test_load_image_of_16_bits(library, tmp_path):
    path = write(tmp_path / "deep.png", np.array([[0, 13107, 65535]], np.uint16))
    np.testing.assert_allclose(io.load_image(path, color=False)[0, :, 0], [0, 0.2, 1], rtol=1e-6)


def test_load_image_with_a_palette(library, tmp_path):
    palette = PIL_Image.fromarray(np.array([[[255, 0, 0], [0, 0, 255]]], np.uint8)).quantize(2)
    palette.save(tmp_path / "palette.png")
    np.testing.assert_array_equal(io.load_image(str(tmp_path / "palette.png")),
                                  [[[1, 0, 0], [0, 0, 1]]])


def test_load_image_does_not_turn_images(library, tmp_path):
    exif = PIL_Image.Exif()
    exif[0x0112] = 6  # a camera held upright
    PIL_Image.fromarray(np.zeros((2, 5, 3), np.uint8)).save(tmp_path / "a.jpg", exif=exif)
    assert io.load_image(str(tmp_path / "a.jpg")).shape == (2, 5, 3)


def test_load_image_names_the_file(library, tmp_path):
    (tmp_path / "text.jpg").write_text("not an image")
    with pytest.raises(ValueError, match="text.jpg"):
        io.load_image(str(tmp_path / "text.jpg"))
    with pytest.raises(OSError, match="missing.jpg"):
        io.load_image(str(tmp_path / "missing.jpg"))


def test_load_image_of_open_files_and_urls(library, tmp_path):
    path = tmp_path / "a b.png"
    expected = io.load_image(write(path, np.array([[[255, 0, 51]]], np.uint8)))
    with open(path, "rb") as file:
        np.testing.assert_array_equal(io.load_image(file), expected)
    np.testing.assert_array_equal(io.load_image(streams.BytesIO(path.read_bytes())), expected)
    np.testing.assert_array_equal(io.load_image(path), expected)
    np.testing.assert_array_equal(io.load_image(path.as_uri()), expected)
    np.testing.assert_array_equal(io.load_image(path.as_uri(), color=False).shape, (1, 1, 1))


def test_load_image_names_the_url_or_the_open_file(library, tmp_path):
    (tmp_path / "text.jpg").write_text("not an image")
    with pytest.raises(ValueError, match="file:.*text.jpg cannot be read"):
        io.load_image((tmp_path / "text.jpg").as_uri())
    with pytest.raises(OSError, match="missing.jpg"):
        io.load_image((tmp_path / "missing.jpg").as_uri())
    with pytest.raises(ValueError, match="text.jpg cannot be read"), \
            open(tmp_path / "text.jpg", "rb") as file:
        io.load_image(file)
    with pytest.raises(ValueError, match="the open file cannot be read"):
        io.load_image(streams.BytesIO(b"not an image"))


def test_load_image_over_http(library, tmp_path):
    write(tmp_path / "a.png", np.full((1, 1, 3), 255, np.uint8))
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        image = io.load_image(f"http://127.0.0.1:{server.server_port}/a.png")
    assert image.tolist() == [[[1, 1, 1]]]


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_):
        pass


# --- resize, skimage and zoom, which pycaffe's module had imported ---


def test_resize_gives_floats_from_0_to_1():
    image = np.array([[0, 255], [51, 102]], np.uint8)
    np.testing.assert_allclose(io.resize(image, (2, 2)), [[0, 1], [0.2, 0.4]])
    np.testing.assert_allclose(io.resize(image, (2, 2), preserve_range=True), image)
    floats = image.astype(np.float32)
    np.testing.assert_allclose(io.resize(floats, (2, 2)), floats)


def test_resize_takes_the_channels_along():
    image = np.arange(24, dtype=float).reshape(2, 4, 3)
    expected = image[:, 0::2] / 2 + image[:, 1::2] / 2
    np.testing.assert_allclose(io.resize(image, (2, 2)), expected)
    np.testing.assert_allclose(io.resize(image, (2, 2, 3)), expected)
    np.testing.assert_array_equal(io.resize(image, (4, 8), order=0),
                                  image.repeat(2, 0).repeat(2, 1))


def test_resize_sees_the_given_value_outside():
    # The new outermost pixels lie at -0.25 and 1.25: a quarter of what is outside.
    np.testing.assert_allclose(io.resize(np.array([[4.0, 8.0]]), (1, 4), cval=0), [[3, 5, 7, 6]])
    np.testing.assert_allclose(io.resize(np.array([[4.0, 8.0]]), (1, 4), cval=4), [[4, 5, 7, 7]])


@pytest.mark.parametrize("order, clip, least", [(3, True, 0), (3, False, -1)])
def test_resize_clips_splines(order, clip, least):
    pytest.importorskip("scipy")
    step = np.repeat([[0.0, 0, 0, 1, 1, 1]], 6, 0)
    resized = io.resize(step, (12, 12), order=order, clip=clip)
    assert (resized.min() >= 0) == (least == 0) and resized.min() >= least


def test_resize_says_what_it_cannot():
    image = np.zeros((2, 2, 3))
    with pytest.raises(ValueError, match="mode 'reflect'"):
        io.resize(image, (1, 1), mode="reflect")
    for shape in ((1, 1, 4), (1,), (1, 1, 3, 1)):
        with pytest.raises(ValueError, match="cannot be resized"):
            io.resize(image, shape)


@pytest.mark.parametrize("name, package", [("skimage", "scikit-image"), ("zoom", "scipy")])
def test_modules_of_others_are_imported_when_asked_for(name, package, monkeypatch):
    top = {"skimage": "skimage", "zoom": "scipy"}[name]
    for module in [each for each in sys.modules if each.split(".")[0] == top] + [
            f"{top}.io", f"{top}.ndimage"]:
        monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    assert not hasattr(io, name)
    with pytest.raises(AttributeError, match=f"caffe.io.{name} needs {package}: pip install"):
        getattr(io, name)


def test_modules_of_others_are_theirs(monkeypatch):
    package = types.ModuleType("skimage")
    package.io = types.ModuleType("skimage.io")
    monkeypatch.setitem(sys.modules, "skimage", package)
    monkeypatch.setitem(sys.modules, "skimage.io", package.io)
    assert io.skimage is package and io.skimage.io is package.io
    ndimage = types.ModuleType("scipy.ndimage")
    ndimage.zoom = object()
    monkeypatch.setitem(sys.modules, "scipy", types.ModuleType("scipy"))
    monkeypatch.setitem(sys.modules, "scipy.ndimage", ndimage)
    assert io.zoom is ndimage.zoom
    with pytest.raises(AttributeError, match="no attribute 'skimages'"):
        io.skimages  # noqa: B018


def test_without_a_library_for_images(monkeypatch, tmp_path):
    def absent():
        raise ImportError

    for name in ("_pillow", "_opencv"):
        monkeypatch.setattr(_images, name, absent)
    with pytest.raises(ImportError, match="pip install Pillow"):
        io.load_image(write(tmp_path / "a.png", np.zeros((1, 1), np.uint8)))


# --- resize_image ---


def column(*values):
    return np.array(values, np.float32).reshape(-1, 1, 1)


def test_resize_to_half_takes_the_middle_of_two_pixels():
    result = io.resize_image(column(1, 3, 5, 9), (2, 1))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, column(2, 7))


def test_resize_does_not_smooth():
    # New pixels at 1, 4 and 7: every third old one alone.
    np.testing.assert_allclose(io.resize_image(column(0, 1, 9, 9, 2, 9, 9, 3, 9), (3, 1)),
                               column(1, 2, 3))


def test_enlarged_images_mix_with_their_smallest_value_at_the_edge():
    # New pixels at -0.25, 0.25, 0.75, 1.25; beyond the image lies its smallest value, 4.
    np.testing.assert_allclose(io.resize_image(column(8, 4), (4, 1)), column(7, 7, 5, 4))
    np.testing.assert_allclose(io.resize_image(column(4, 8), (4, 1)), column(4, 5, 7, 7))


def test_resize_of_other_channels_keeps_the_corners():
    image = np.stack([column(0, 6)[:, :, 0], column(3, 9)[:, :, 0]], axis=2)
    np.testing.assert_allclose(io.resize_image(image, (4, 1))[:, 0],
                               [[0, 3], [2, 5], [4, 7], [6, 9]], atol=1e-6)


def test_resize_to_the_nearest_pixel():
    np.testing.assert_array_equal(io.resize_image(column(1, 2, 3), (6, 1), 0),
                                  column(1, 1, 2, 2, 3, 3))


def test_resize_of_one_value_everywhere():
    np.testing.assert_array_equal(io.resize_image(np.full((3, 4, 3), 0.3), (7, 2)),
                                  np.full((7, 2, 3), np.float32(0.3)))


def test_resize_to_the_same_size(random):
    image = random.random_sample((5, 6, 3)).astype(np.float32)
    np.testing.assert_allclose(io.resize_image(image, (5, 6)), image, atol=1e-6)


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("order", [0, 1, 3])
def test_resize_agrees_with_scikit_image(number, order, random):
    transform = pytest.importorskip("skimage.transform")
    old, new = random.randint(1, 40, (2, 2))
    image = random.random_sample((*old, 3)).astype(np.float32)
    low, high = image.min(), image.max()
    if order == 0:
        new = old * random.randint(1, 4)  # elsewhere both halves of a tie are right
    expected = transform.resize((image - low) / (high - low), new, order=order, mode="constant",
                                anti_aliasing=False) * (high - low) + low
    np.testing.assert_allclose(io.resize_image(image, new, order), expected, atol=1e-5,
                               err_msg=f"{old} to {new}")


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("order", [1, 3])
def test_resize_of_other_channels_agrees_with_scipy(number, order, random):
    ndimage = pytest.importorskip("scipy.ndimage")
    old, new = random.randint(4, 40, (2, 2))
    image = random.random_sample((*old, 5)).astype(np.float32)
    expected = ndimage.zoom(image, (*(new / old), 1), order=order)
    resized = io.resize_image(image, new, order)
    # SciPy writes zeros where rounding puts the last row or column outside of the image.
    outside = expected == 0
    assert not outside[:-1, :-1].any()
    np.testing.assert_allclose(np.where(outside, 0, resized), expected, atol=1e-5,
                               err_msg=f"{old} to {new}")


def test_resize_with_splines_keeps_a_plane():
    pytest.importorskip("scipy")
    plane = np.add.outer(np.arange(12.0), np.arange(12.0))[:, :, None]
    result = io.resize_image(plane, (24, 24), 3)
    assert result[8:16, 8:16].mean() == pytest.approx(11, abs=0.01)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_resize_with_splines_stays_within_the_image(order):
    pytest.importorskip("scipy")
    step = column(-1, -1, -1, -1, 3, 3, 3, 3)
    for channels in (1, 3):
        resized = io.resize_image(np.tile(step, (1, 8, channels)), (16, 16), order)
        assert resized.min() == -1 and resized.max() == 3
    # SciPy's zoom, which resizes other channels, overshoots.
    resized = io.resize_image(np.tile(step, (1, 8, 2)), (16, 16), order)
    assert resized.min() < -1.01 and resized.max() > 3.01


def test_resize_refuses_other_shapes():
    with pytest.raises(ValueError, match=r"\(4, 4\)"):
        io.resize_image(np.zeros((4, 4)), (2, 2))
    with pytest.raises(ValueError, match=r"\(0, 2\)"):
        io.resize_image(np.zeros((4, 4, 3)), (0, 2))


# --- oversample ---


def test_oversample_takes_corners_centre_and_mirror_images():
    image = np.arange(5 * 7).reshape(5, 7, 1)
    cuts = io.oversample([image, image + 100], (3, 2))
    assert cuts.shape == (20, 3, 2, 1) and cuts.dtype == np.float32
    assert cuts[:5, 0, 0, 0].tolist() == [0, 5, 14, 19, 9]  # where each cut begins
    np.testing.assert_array_equal(cuts[4], image[1:4, 2:4])
    np.testing.assert_array_equal(cuts[5:10], cuts[:5, :, ::-1])
    np.testing.assert_array_equal(cuts[10:], cuts[:10] + 100)


def test_oversample_of_images_that_are_too_small():
    with pytest.raises(ValueError, match="2 x 2.*3 x 3"):
        io.oversample([np.zeros((2, 2, 1))], (3, 3))


# --- Transformer ---


def transformer(shape=(1, 3, 2, 4)):
    return io.Transformer({"data": shape})


def image_of(shape=(2, 4, 3)):
    return np.random.RandomState(seed_of_this_test()).random_sample(shape).astype(np.float32)


def test_without_steps_only_the_type_changes():
    image = image_of().astype(np.float64)
    result = transformer().preprocess("data", image)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, image.astype(np.float32))


@pytest.mark.parametrize("set_step, value, expected", [
    ("set_transpose", (2, 0, 1), lambda image: image.transpose(2, 0, 1)),
    ("set_channel_swap", (1, 2, 0), lambda image: np.stack([image[1], image[2], image[0]])),
    ("set_raw_scale", 255, lambda image: image * 255),
    ("set_input_scale", 0.5, lambda image: image * 0.5)])
def test_each_step_alone(set_step, value, expected):
    image = image_of((3, 4, 3))
    steps = transformer((1, 3, 3, 4))
    getattr(steps, set_step)("data", value)
    np.testing.assert_allclose(steps.preprocess("data", image), expected(image), rtol=1e-6)


def full_transformer():
    steps = transformer()
    steps.set_transpose("data", (2, 0, 1))
    steps.set_channel_swap("data", (2, 0, 1))
    steps.set_raw_scale("data", 255)
    steps.set_mean("data", np.array([10, 20, 30]))
    steps.set_input_scale("data", 0.25)
    return steps


def test_the_order_of_steps():
    image = image_of()
    planes = image.transpose(2, 0, 1)[[2, 0, 1]] * 255
    expected = (planes - np.array([10, 20, 30]).reshape(3, 1, 1)) * 0.25
    np.testing.assert_allclose(full_transformer().preprocess("data", image), expected, rtol=1e-5)


def test_deprocess_undoes_preprocess():
    image = image_of()
    steps = full_transformer()
    result = steps.preprocess("data", image)
    np.testing.assert_allclose(steps.deprocess("data", result), image, atol=1e-6)
    np.testing.assert_allclose(steps.deprocess("data", result[None]), image, atol=1e-6)


def test_the_argument_is_left_alone():
    image = image_of()
    copy = image.copy()
    steps = full_transformer()
    steps.deprocess("data", steps.preprocess("data", image))
    steps = transformer()
    steps.set_raw_scale("data", 255)
    steps.deprocess("data", steps.preprocess("data", image))
    np.testing.assert_array_equal(image, copy)


def test_images_of_another_size_are_resized():
    steps = transformer((10, 3, 2, 4))
    steps.set_transpose("data", (2, 0, 1))
    image = image_of((6, 9, 3))
    np.testing.assert_array_equal(steps.preprocess("data", image),
                                  io.resize_image(image, (2, 4)).transpose(2, 0, 1))


def test_a_grey_image_there_and_back():
    steps = transformer((1, 1, 2, 4))
    steps.set_transpose("data", (2, 0, 1))
    steps.set_mean("data", np.array([0.5]))
    image = image_of((2, 4, 1))
    result = steps.preprocess("data", image)
    assert result.shape == (1, 2, 4)
    np.testing.assert_allclose(steps.deprocess("data", result), image, atol=1e-6)


def test_deprocess_of_a_batch_without_a_transpose_drops_axes_of_one():
    assert transformer((1, 1, 2, 4)).deprocess("data", np.zeros((1, 1, 2, 4))).shape == (2, 4)


def test_a_mean_for_each_channel():
    steps = transformer()
    steps.set_transpose("data", (2, 0, 1))
    steps.set_mean("data", np.array([1, 2, 3]))
    result = steps.preprocess("data", np.zeros((2, 4, 3)))
    np.testing.assert_array_equal(result, np.broadcast_to([[[-1]], [[-2]], [[-3]]], (3, 2, 4)))


def test_a_mean_image():
    mean = image_of((3, 2, 4))
    steps = transformer()
    steps.set_transpose("data", (2, 0, 1))
    steps.set_mean("data", mean)
    np.testing.assert_allclose(steps.preprocess("data", np.zeros((2, 4, 3))), -mean)


def test_a_mean_image_for_all_channels():
    steps = transformer()
    steps.set_transpose("data", (2, 0, 1))
    steps.set_mean("data", np.full((2, 4), 0.5))
    np.testing.assert_array_equal(steps.preprocess("data", np.zeros((2, 4, 3))),
                                  np.full((3, 2, 4), -0.5))


def test_a_mean_image_of_another_size_is_resized():
    mean = image_of((3, 6, 8)) * 255
    steps = transformer()
    steps.set_mean("data", mean)
    np.testing.assert_allclose(steps.mean["data"],
                               io.resize_image(mean.transpose(1, 2, 0), (2, 4)).transpose(2, 0, 1))


@pytest.mark.parametrize("mean, reason", [
    (np.zeros(2), "2 channels.*3"), (np.zeros((2, 2, 4)), r"\(2, 2, 4\)"),
    (np.zeros((1, 3, 2, 4)), r"\(1, 3, 2, 4\)")])
def test_means_that_do_not_fit(mean, reason):
    with pytest.raises(ValueError, match=reason):
        transformer().set_mean("data", mean)


def test_orders_that_do_not_fit():
    with pytest.raises(ValueError, match="2 axes.*'data'.*3"):
        transformer().set_transpose("data", (1, 0))
    with pytest.raises(ValueError, match="4 channels.*'data'.*3"):
        transformer().set_channel_swap("data", (3, 2, 1, 0))
    for absent in (3, -4):
        with pytest.raises(ValueError, match=f"channel {absent}, .*'data' has 0 to 2"):
            transformer().set_channel_swap("data", (0, 1, absent))


def test_channels_counted_from_the_end():
    steps = transformer()
    steps.set_transpose("data", (2, 0, 1))
    steps.set_channel_swap("data", (-1, -2, -3))
    image = image_of()
    np.testing.assert_array_equal(steps.preprocess("data", image), image.transpose(2, 0, 1)[::-1])


def test_an_image_that_lacks_channels():
    steps = transformer()
    steps.set_transpose("data", (2, 0, 1))
    steps.set_channel_swap("data", (2, 1, 0))
    with pytest.raises(ValueError, match=r"\(1, 2, 4\).* no channel 2, .*'data'.* 3 channels"):
        steps.preprocess("data", image_of((2, 4, 1)))


@pytest.mark.parametrize("call", [
    lambda steps: steps.preprocess("label", np.zeros((2, 4, 3))),
    lambda steps: steps.deprocess("label", np.zeros((3, 2, 4))),
    lambda steps: steps.set_transpose("label", (2, 0, 1)),
    lambda steps: steps.set_channel_swap("label", (2, 1, 0)),
    lambda steps: steps.set_mean("label", np.zeros(3)),
    lambda steps: steps.set_raw_scale("label", 255),
    lambda steps: steps.set_input_scale("label", 1)])
def test_inputs_that_the_net_has_not(call):
    with pytest.raises(ValueError, match="'label' is not an input.*data"):
        call(transformer())
