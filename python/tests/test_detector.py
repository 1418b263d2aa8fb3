"""caffe.Detector: windows of images in, a score for each out."""
import sys

import numpy as np
import pytest

caffe = pytest.importorskip("caffe")
pytest.importorskip("caffe._caffe", reason="the compiled module is not built")
from caffe import _selective_search, io  # noqa: E402
from shared_data import shared  # noqa: E402

PIL_Image = pytest.importorskip("PIL.Image", reason="Pillow writes the images of these tests")

NET = """
    layer { name: "data" type: "Input" top: "data"
            input_param { shape { dim: 2 dim: 3 dim: %(height)d dim: 8 } } }
    layer { name: "means" type: "Pooling" bottom: "data" top: "means"
            pooling_param { pool: AVE global_pooling: true } }
"""


@pytest.fixture
def make(tmp_path):
    """Makes detectors whose answer is the mean of each channel."""
    def detector(height=8, **steps):
        description, weights = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
        description.write_text(NET % {"height": height})
        caffe.Net(str(description), caffe.TEST).save(str(weights))
        return caffe.Detector(str(description), str(weights), **steps)

    return detector


@pytest.fixture
def image_file(tmp_path, random):
    """A file of 20 x 30 pixels and the same as load_image gives it."""
    path = tmp_path / "image.png"
    pixels = random.randint(0, 256, (20, 30, 3)).astype(np.uint8)
    PIL_Image.fromarray(pixels).save(path)
    return str(path), io.load_image(str(path))


def test_windows_are_cut_resized_and_scored(make, image_file):
    path, image = image_file
    detector = make(raw_scale=255, channel_swap=(2, 1, 0), mean=np.array([1.0, 2.0, 3.0]))
    windows = [(0, 0, 20, 30), (4, 5, 12, 13), (10, 2, 17, 29)]
    found = detector.detect_windows([(path, windows[:2]), (path, np.array(windows[2:]))])
    assert [(entry["filename"], tuple(entry["window"])) for entry in found] == [
        (path, window) for window in windows]
    for entry, (top, left, bottom, right) in zip(found, windows):
        cut = io.resize_image(image[top:bottom, left:right], (8, 8))
        expected = cut.mean(axis=(0, 1))[::-1] * 255 - [1, 2, 3]
        assert entry["prediction"].shape == (3,)
        np.testing.assert_allclose(entry["prediction"], expected, rtol=1e-4, atol=1e-3)


def test_no_windows(make, image_file):
    assert make().detect_windows([]) == []
    assert make().detect_windows([(image_file[0], [])]) == []


@pytest.mark.parametrize("window, inside", [
    ((-3, 4, 5, 9), (0, 4, 5, 9)), ((2, -100, 5, 1), (2, 0, 5, 1)),
    ((19, 4, 25, 9), (19, 4, 20, 9)), ((2, 29, 5, 1000), (2, 29, 5, 30)),
    ((-1, -1, 21, 31), (0, 0, 20, 30)), ((-0.5, 2.9, 4, 5), (0, 2, 4, 5))])
def test_windows_are_clipped_to_the_image(make, random, window, inside):
    image = random.random_sample((20, 30, 3)).astype(np.float32)
    top, left, bottom, right = inside
    np.testing.assert_array_equal(make().crop(image, window), image[top:bottom, left:right])


@pytest.mark.parametrize("context_pad", [0, 2])
@pytest.mark.parametrize("window", [
    (5, 5, 5, 9), (5, 9, 7, 5), (20, 0, 25, 9), (0, 30, 4, 31), (-3, 0, 0, 4), (0, -3, 4, 0)])
def test_windows_without_pixels_are_refused(make, image_file, window, context_pad):
    with pytest.raises(caffe.detector.WindowError, match="image.png: .* 20 x 30") as caught:
        make(context_pad=context_pad).detect_windows([(image_file[0], [(0, 0, 9, 9), window])])
    assert caught.value.filename == image_file[0] and tuple(caught.value.window) == window


@pytest.mark.parametrize("window", [
    (float("nan"), 1, 5, 5), (1, 1, float("inf"), 5), (1, 1, 5, 1e308), (1, 1, 5)])
def test_windows_are_four_numbers(make, image_file, window):
    with pytest.raises(ValueError, match="image.png: .*ymin, xmin, ymax, xmax"):
        make(context_pad=2).detect_windows([(image_file[0], [window])])


# --- Context ---


def test_context_inside_the_image(make, random):
    # 4 of 8 pixels are the window's: of the 7 + 1 pixels from 10 to 17, twice as many are seen.
    detector = make(context_pad=2)
    image = random.random_sample((40, 40, 3)).astype(np.float32)
    cut = detector.crop(image, (10, 10, 17, 17))
    np.testing.assert_allclose(cut[:7, :7], io.resize_image(image[6:22, 6:22], (8, 8))[:7, :7],
                               atol=1e-6)
    assert cut.shape == (8, 8, 3)


def test_context_outside_the_image_is_the_mean(make):
    # The net sees the mean as 0: blue 25.5 of 255, green 51, red 76.5.
    detector = make(context_pad=2, mean=np.array([25.5, 51.0, 76.5]), raw_scale=255,
                    channel_swap=(2, 1, 0))
    image = np.ones((16, 16, 3), np.float32)
    cut = detector.crop(image, (0, 0, 7, 15))
    # Rows: 8 pixels from 0 become 16 from -4, so a quarter of 8 lies outside. Columns: 4 on each
    # side.
    np.testing.assert_allclose(cut[:2], np.broadcast_to([0.3, 0.2, 0.1], (2, 8, 3)), rtol=1e-5)
    np.testing.assert_allclose(cut[:, :2], np.broadcast_to([0.3, 0.2, 0.1], (8, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(cut[3, 3:5], 1)
    net_sees = detector.transformer.preprocess("data", cut)
    np.testing.assert_allclose(net_sees[:, 0], 0, atol=1e-4)


@pytest.mark.parametrize("number", range(30))
def test_context_of_any_window_has_the_size_of_the_input(make, number, random):
    detector = make(context_pad=int(random.randint(1, 4)))
    height, width = random.randint(5, 60, 2)
    top, left = random.randint(0, height - 1), random.randint(0, width - 1)
    window = (top, left, random.randint(top + 1, height + 1), random.randint(left + 1, width + 1))
    cut = detector.crop(np.ones((height, width, 3), np.float32), window)
    assert cut.shape == (8, 8, 3), (height, width, window)
    # A window is taken to include its last pixel, and may so end one behind the image: 4 may lie there, 3 never does.
    assert cut[3, 3, 0] == 1, (height, width, window)


def test_context_of_a_window_beyond_the_image(make):
    # Rows: 15 + 1 pixels from -8 become 33 from -16, of which 16 lie above: 4 of 8. Columns: 33
    # from -8, 2 of 8 on the left; the 16 of the image and one more are 4.
    cut = make(context_pad=2).crop(np.ones((16, 16, 3), np.float32), (-8, 0, 7, 15))
    expected = np.zeros((8, 8, 3))
    expected[4:, 2:6] = 1
    np.testing.assert_array_equal(cut, expected)


@pytest.mark.parametrize("number", range(30))
def test_context_of_any_window_that_holds_a_pixel(make, number, random):
    detector = make(context_pad=int(random.randint(1, 4)))
    height, width = random.randint(1, 40, 2)
    top, left = random.randint(-50, height), random.randint(-50, width)
    window = (top, left, random.randint(max(top, 0) + 1, height + 50),
              random.randint(max(left, 0) + 1, width + 50))
    cut = detector.crop(np.ones((height, width, 3), np.float32), window)
    assert cut.shape == (8, 8, 3) and cut.max() == 1, (height, width, window)


def test_contexts_that_cannot_be(make):
    with pytest.raises(ValueError, match="context_pad 4"):
        make(context_pad=4)
    with pytest.raises(ValueError, match="square"):
        make(height=6, context_pad=1)


# --- Selective search ---


def test_selective_search_says_what_it_needs(make, monkeypatch, image_file):
    monkeypatch.setitem(sys.modules, "selective_search_ijcv_with_python", None)
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match="opencv-contrib-python"):
        make().detect_selective_search([image_file[0]])


def test_selective_search_by_its_module(make, monkeypatch, image_file):
    class Module:
        @staticmethod
        def get_windows(paths, cmd):
            assert cmd == "selective_search_rcnn"
            return [np.array([[0, 0, 10, 10]]) for _ in paths]

    monkeypatch.setitem(sys.modules, "selective_search_ijcv_with_python", Module)
    found = make().detect_selective_search([image_file[0]])
    assert [tuple(entry["window"]) for entry in found] == [(0, 0, 10, 10)]


def test_selective_search_by_opencv(image_file, monkeypatch):
    cv2 = pytest.importorskip("cv2")
    if not hasattr(cv2, "ximgproc"):
        pytest.skip("OpenCV is installed without its contributed modules")
    monkeypatch.setitem(sys.modules, "selective_search_ijcv_with_python", None)
    (windows,) = _selective_search.windows_of([image_file[0]])
    assert len(windows) > 0 and (windows >= 0).all()
    assert (windows[:, 2] <= 20).all() and (windows[:, 3] <= 30).all()


# --- A real net ---


def test_a_dog_is_found_in_its_window():
    image_file = shared("images", "voc_like", "dog.jpg")
    mean_file = shared("models", "cifar10_quick_current", "mean.binaryproto")
    with open(mean_file, "rb") as file:
        mean = io.blobproto_to_array(caffe.proto.caffe_pb2.BlobProto.FromString(file.read()))[0]
    detector = caffe.Detector(shared("models", "cifar10_quick_current", "deploy.prototxt"),
                              shared("models", "cifar10_quick_current", "weights.caffemodel"),
                              mean=mean, raw_scale=255)
    dog, car = detector.detect_windows([(image_file, [(220, 130, 540, 315), (75, 465, 170, 690)])])
    animals, vehicles = [2, 3, 4, 5, 6, 7], [0, 1, 8, 9]
    assert dog["prediction"][animals].sum() > dog["prediction"][vehicles].sum()
    assert car["prediction"][vehicles].sum() > car["prediction"][animals].sum()
