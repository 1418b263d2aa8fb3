"""caffe.Classifier: images in, an answer for each out."""
import numpy as np
import pytest

caffe = pytest.importorskip("caffe")
pytest.importorskip("caffe._caffe", reason="the compiled module is not built")
from caffe import io  # noqa: E402
from seeds import seed_of_this_test  # noqa: E402
from shared_data import cifar10_images, shared  # noqa: E402

NET = """
    name: "scores"
    layer { name: "data" type: "Input" top: "data"
            input_param { shape { dim: 4 dim: %(channels)d dim: 4 dim: 6 } } }
    layer { name: "score" type: "InnerProduct" bottom: "data" top: "score"
            inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 1 }
                                  bias_filler { type: "constant" value: 0.5 } } }
"""


@pytest.fixture(params=[3], ids=["colour"])
def files(request, tmp_path):
    """A net's description and weights."""
    description, weights = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
    description.write_text(NET % {"channels": request.param})
    caffe.Net(str(description), caffe.TEST).save(str(weights))
    return str(description), str(weights)


def scores_of(net, planes):
    """What the net is to answer for a C x H x W array."""
    weights, bias = (blob.data for blob in net.params["score"])
    return weights @ planes.ravel() + bias


def make_images(number, shape=(8, 10, 3)):
    return list(np.random.RandomState(seed_of_this_test()).random_sample((number, *shape)).astype(np.float32))


def test_it_is_a_net(files):
    classifier = caffe.Classifier(*files)
    assert isinstance(classifier, caffe.Net)
    assert classifier.image_dims.tolist() == classifier.crop_dims.tolist() == [4, 6]


def test_the_centre_alone(files):
    classifier = caffe.Classifier(*files, image_dims=(8, 10), mean=np.array([1.0, 2.0, 3.0]),
                                  raw_scale=255, input_scale=0.01, channel_swap=(2, 1, 0))
    images = make_images(1)
    result = classifier.predict(images, oversample=False)
    planes = images[0][2:6, 2:8].transpose(2, 0, 1)[::-1] * 255
    planes = (planes - np.array([1, 2, 3]).reshape(3, 1, 1)) * 0.01
    np.testing.assert_allclose(result, [scores_of(classifier, planes)], rtol=1e-4, atol=1e-4)


def test_ten_cuts_are_averaged(files):
    classifier = caffe.Classifier(*files, image_dims=(8, 10))
    images = make_images(2)
    cuts = io.oversample(images, (4, 6))
    each = np.array([scores_of(classifier, cut.transpose(2, 0, 1)) for cut in cuts])
    np.testing.assert_allclose(classifier.predict(images), each.reshape(2, 10, 5).mean(axis=1),
                               rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("number", [1, 3, 4, 9])
def test_any_number_of_images(files, number):
    classifier = caffe.Classifier(*files)
    images = make_images(number, (4, 6, 3))
    result = classifier.predict(images, oversample=False)
    expected = [scores_of(classifier, image.transpose(2, 0, 1)) for image in images]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_images_of_several_sizes(files):
    classifier = caffe.Classifier(*files)
    images = make_images(1) + make_images(1, (13, 5, 3))
    result = classifier.predict(images, oversample=False)
    np.testing.assert_allclose(
        result[1], scores_of(classifier, io.resize_image(images[1], (4, 6)).transpose(2, 0, 1)),
        rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("files", [1], indirect=True, ids=["grey"])
def test_a_grey_image(files):
    classifier = caffe.Classifier(*files)
    image = make_images(1, (4, 6, 1))[0]
    expected = scores_of(classifier, image.transpose(2, 0, 1))
    np.testing.assert_allclose(classifier.predict([image], oversample=False)[0], expected,
                               rtol=1e-4, atol=1e-4)


def test_mistakes(files):
    with pytest.raises(ValueError, match="no images"):
        caffe.Classifier(*files).predict([])
    with pytest.raises(ValueError, match=r"\(2, 6\).*\(4, 6\)"):
        caffe.Classifier(*files, image_dims=(2, 6))
    with pytest.raises(ValueError, match="2 channels"):
        caffe.Classifier(*files, mean=np.zeros(2))


@pytest.mark.parametrize("kind", [caffe.Classifier, caffe.Detector])
@pytest.mark.parametrize("layer, reason", [
    ('type: "DummyData" dummy_data_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } }',
     "no input.*deploy.prototxt"),
    ('type: "Input" input_param { shape { dim: 2 dim: 5 } }', r"'data'.*\(2, 5\).*4 axes")])
def test_nets_that_take_no_images(kind, layer, reason, tmp_path):
    description, weights = str(tmp_path / "net.prototxt"), str(tmp_path / "net.caffemodel")
    (tmp_path / "net.prototxt").write_text(f'layer {{ name: "data" top: "data" {layer} }}')
    caffe.Net(description, caffe.TEST).save(weights)
    with pytest.raises(ValueError, match=f"net.prototxt: .*{reason}"):
        kind(description, weights)


def test_cifar10(tmp_path):
    mean_file = shared("models", "cifar10_quick_current", "mean.binaryproto")
    with open(mean_file, "rb") as file:
        mean = io.blobproto_to_array(caffe.proto.caffe_pb2.BlobProto.FromString(file.read()))[0]
    classifier = caffe.Classifier(shared("models", "cifar10_quick_current", "deploy.prototxt"),
                                  shared("models", "cifar10_quick_current", "weights.caffemodel"),
                                  mean=mean, raw_scale=255)
    samples = cifar10_images(tmp_path, 20)
    answers = classifier.predict([io.load_image(path) for path, _ in samples], oversample=False)
    assert answers.shape == (200, 10)
    np.testing.assert_allclose(answers.sum(axis=1), 1, rtol=1e-4)
    right = np.mean(answers.argmax(axis=1) == [label for _, label in samples])
    assert right > 0.65  # 0.7387 of all 10,000
