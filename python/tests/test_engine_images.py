"""What an engine knows of its images, and running images through it."""
import caffe
import numpy as np
import pytest

from caffe.inference import Builder, Engine, ExecutionContext, ImagePreprocessing, NetworkDefinition

from shared_data import shared

Image = pytest.importorskip("PIL.Image")


def copies(batch=2, size=(2, 2)):
    """data (batch, 3, *size) -> out, twice the same."""
    net = NetworkDefinition("copies")
    net.add_input("data", (batch, 3, *size))
    net.add_layer('type: "Power" power_param { scale: 2 }', name="out", bottom="data")
    net.mark_output("out")
    return net


def context_of(preprocessing, **sizes):
    return ExecutionContext(Builder(preprocessing=preprocessing).build(copies(**sizes)))


@pytest.fixture
def pixels(random):
    """An image of 2 x 2: rows, columns, R G B."""
    return random.randint(0, 256, (2, 2, 3)).astype(np.uint8)


class TestImagePreprocessing:
    def test_is_kept_in_the_plan(self, tmp_path):
        given = ImagePreprocessing(mean=[104, 117, 123], scale=0.5, channel_order="RGB",
                                   resize=(4, 5), input="data")
        Builder(preprocessing=given, class_names=["cat", "dög"]).build(copies()).save(
            tmp_path / "p.plan")
        engine = Engine.load(tmp_path / "p.plan")
        kept = engine.preprocessing
        assert kept.mean.tolist() == [104, 117, 123] and kept.scale == 0.5
        assert (kept.channel_order, kept.resize, kept.input) == ("RGB", (4, 5), "data")
        assert kept.constants == {} and not kept.engine_normalizes
        assert engine.class_names == ["cat", "dög"]
        assert repr(kept) == "<caffe image preprocessing of 'data': (value - 104,117,123) * 0.5>"

    def test_is_unknown_without(self):
        engine = Builder().build(copies())
        assert engine.preprocessing is None and engine.class_names == []

    def test_takes_means_of_every_form(self, tmp_path):
        assert ImagePreprocessing().mean is None
        assert ImagePreprocessing(mean=7).mean.tolist() == [7]
        image = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
        file = tmp_path / "mean.binaryproto"
        file.write_bytes(caffe.io.array_to_blobproto(image[np.newaxis]).SerializeToString())
        for mean in (image, file, str(file)):
            given = ImagePreprocessing(mean=mean)
            np.testing.assert_array_equal(given.mean, image)
            assert given.resize == (4, 5)

    def test_refuses_nonsense(self, tmp_path):
        with pytest.raises(ValueError, match="'BGR' or 'RGB', not 'GRB'"):
            ImagePreprocessing(channel_order="GRB")
        with pytest.raises(ValueError, match="not an array of 2 axes"):
            ImagePreprocessing(mean=np.ones((2, 2)))
        with pytest.raises(caffe.Error, match="the mean image is 4x4, images are resized to 5x5"):
            ImagePreprocessing(mean=np.ones((3, 4, 4)), resize=(5, 5))
        with pytest.raises(caffe.Error, match="none.binaryproto"):
            ImagePreprocessing(mean=tmp_path / "none.binaryproto")
        with pytest.raises(caffe.Error, match="the mean has 2 values"):
            Builder(preprocessing=ImagePreprocessing(mean=[1, 2])).build(copies())
        with pytest.raises(TypeError, match="BuilderConfig.preprocessing"):
            Builder(preprocessing={"mean": 5}).build(copies())


class TestRunImages:
    def test_prepares_arrays(self, pixels):
        context = context_of(ImagePreprocessing(mean=[1, 2, 3], scale=10))
        (result,) = context.run_images([pixels])
        bgr = pixels[:, :, ::-1].astype(np.float32).transpose(2, 0, 1)
        expected = 20 * (bgr - np.array([1, 2, 3]).reshape(3, 1, 1))
        np.testing.assert_array_equal(result["out"], expected)

    def test_takes_paths_and_what_load_image_gives(self, pixels, tmp_path):
        file = tmp_path / "image.png"
        Image.fromarray(pixels).save(file)
        context = context_of(ImagePreprocessing(channel_order="RGB"))
        expected = 2.0 * pixels.transpose(2, 0, 1)
        for image in (file, str(file), pixels, caffe.io.load_image(str(file))):
            np.testing.assert_array_equal(context.run_images([image])[0]["out"], expected)

    def test_turns_no_photo(self, tmp_path):
        pixels = np.zeros((8, 8, 3), np.uint8)
        pixels[:, :4] = 255
        exif = Image.Exif()
        exif[0x0112] = 6  # to be shown turned by a quarter
        file = tmp_path / "photo.jpg"
        Image.fromarray(pixels).save(file, quality=100, exif=exif)
        context = context_of(ImagePreprocessing(), size=(8, 8))
        for image in (file, pixels, caffe.io.load_image(str(file))):
            result = context.run_images([image])[0]["out"]
            assert (result[..., :4] > 490).all() and (result[..., 4:] < 20).all()

    def test_takes_grey_arrays(self):
        context = context_of(ImagePreprocessing())
        for grey in (np.full((3, 5), 7, np.uint8), np.full((3, 5, 1), 7, np.uint8)):
            assert (context.run_images([grey])[0]["out"] == 14).all()

    def test_runs_any_number(self, random):
        images = random.randint(0, 256, (5, 2, 2, 3)).astype(np.uint8)
        context = context_of(ImagePreprocessing(channel_order="RGB"), batch=2)
        results = context.run_images(images)
        assert len(results) == 5 and context.batch == 1
        for result, image in zip(results, images):
            np.testing.assert_array_equal(result["out"], 2.0 * image.transpose(2, 0, 1))
        assert context.run_images([]) == []

    def test_says_what_is_no_image(self, pixels, tmp_path):
        context = context_of(ImagePreprocessing())
        with pytest.raises(TypeError, match=r"a list of images: \['cat.jpg'\]"):
            context.run_images("cat.jpg")
        with pytest.raises(TypeError, match="not int64"):
            context.run_images([pixels.astype(np.int64)])
        with pytest.raises(ValueError, match="values from 0 to 1"):
            context.run_images([pixels + 1.0])
        with pytest.raises(ValueError, match=r"not \(2, 2, 2\)"):
            context.run_images([pixels[:, :, :2]])
        (tmp_path / "text.png").write_text("no image")
        with pytest.raises(caffe.Error, match="text.png: cannot be read as an image"):
            context.run_images([tmp_path / "text.png"])
        unprepared = ExecutionContext(Builder().build(copies()))
        with pytest.raises(caffe.Error, match="does not know how images are prepared"):
            unprepared.run_images([pixels])


def test_finds_the_plates_of_a_detector():
    model = shared("models", "hyperlpr_mininet_ssd_v1")
    image = shared("images", "plates", "zeusees_1.jpg")
    net = NetworkDefinition.from_caffe(f"{model}/deploy.prototxt", f"{model}/weights.caffemodel")
    engine = Builder(timing_iterations=0, preprocessing=ImagePreprocessing(
        mean=127.5, scale=0.007843)).build(net)
    (result,) = ExecutionContext(engine).run_images([image])
    expected = np.load(f"{model}/opencv_ref/zeusees_1/out_detection_out.npy").reshape(-1, 7)
    found = result["detection_out"].reshape(-1, 7)
    np.testing.assert_allclose(found[found[:, 2] > 0.5, 1:], expected[expected[:, 2] > 0.5, 1:],
                               atol=0.02)
