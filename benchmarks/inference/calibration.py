#!/usr/bin/env python3
"""How far trained nets in INT8 are from FLOAT after each calibrator, as a Markdown table.

    ninja -C build pycaffe
    PYTHONPATH=python benchmarks/inference/calibration.py [--images 32] [NAME ...]

Each net is calibrated on some images and compared on others of the same kind: whole images and
parts of them in turn. Of detectors the figure is the share of boxes without a partner, of other
nets the error of the worst output relative to its values, both in percent. Nets and images lie in
the folder that CAFFE_TEST_DATA names, else in ../shared/data.
"""
from __future__ import annotations

import argparse
import glob
import gzip
import os
import sys
import tarfile
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

os.environ.setdefault("GLOG_minloglevel", "2")

import numpy as np  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from PIL import Image  # noqa: E402

from caffe import inference  # noqa: E402
from caffe.proto import caffe_pb2  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("CAFFE_TEST_DATA", os.path.join(ROOT, "..", "shared", "data"))
METHODS = ("entropy", "minmax", "percentile", "mse", "auto")
Arrays = Dict[str, np.ndarray]


class Net(NamedTuple):
    """A net, and a function that makes as many arrays as are asked for."""
    name: str
    model: str
    weights: str
    inputs: Callable[[int, Tuple[int, ...]], List[np.ndarray]]


# ------------------------------------------------------------------ images

def parts_of(files: str, number: int, height: int, width: int) -> Iterator[Image.Image]:
    """Images of a pattern, whole ones, mirrored ones, and squares out of them."""
    paths = sorted(sum((glob.glob(os.path.join(DATA, "images", f)) for f in files.split()), []))
    draws = np.random.RandomState(1)
    for i in range(number):
        image = Image.open(paths[i % len(paths)]).convert("RGB")
        turn = i // len(paths)
        if turn % 2 == 1:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        if turn >= 2:
            side = int(min(image.size) * draws.uniform(0.4, 0.9))
            left = draws.randint(image.width - side + 1)
            top = draws.randint(image.height - side + 1)
            image = image.crop((left, top, left + side, top + side))
        yield image.resize((width, height), Image.BILINEAR)


def photographs(files: str, mean=(0, 0, 0), scale=1.0, rgb=False):
    """Colours, (pixel - mean) * scale."""
    def inputs(number: int, shape: Tuple[int, ...]) -> List[np.ndarray]:
        arrays = []
        for image in parts_of(files, number, shape[2], shape[3]):
            pixels = np.asarray(image, np.float32)[:, :, ::1 if rgb else -1]
            arrays.append((pixels - np.float32(mean)).transpose(2, 0, 1) * np.float32(scale))
        return arrays
    return inputs


def grey(files: str, scale=1 / 255, normalized=False):
    """One channel, or the same in each; `normalized` to mean 0 and deviation 1."""
    def inputs(number: int, shape: Tuple[int, ...]) -> List[np.ndarray]:
        arrays = []
        for image in parts_of(files, number, shape[2], shape[3]):
            pixels = np.asarray(image.convert("L"), np.float32)
            pixels = (pixels - pixels.mean()) / (pixels.std() + 1e-6) if normalized else \
                pixels * np.float32(scale)
            arrays.append(np.broadcast_to(pixels, shape[1:]))
        return arrays
    return inputs


def small_parts(files: str, mean=(127.5,) * 3, scale=0.0078125):
    """Parts of photographs for nets that look at a few pixels, eight out of each."""
    def inputs(number: int, shape: Tuple[int, ...]) -> List[np.ndarray]:
        draws, arrays = np.random.RandomState(2), []
        for image in parts_of(files, (number + 7) // 8, 480, 640):
            for _ in range(8):
                side = draws.randint(24, 240)
                left, top = draws.randint(640 - side), draws.randint(480 - side)
                part = image.crop((left, top, left + side, top + side))
                pixels = np.asarray(part.resize(shape[:1:-1], Image.BILINEAR), np.float32)
                arrays.append((pixels[:, :, ::-1] - np.float32(mean)).transpose(2, 0, 1) * scale)
        return arrays[:number]
    return inputs


def digits(number: int, shape: Tuple[int, ...], black_on_white: bool = False) -> List[np.ndarray]:
    """MNIST's test digits."""
    with gzip.open(os.path.join(DATA, "datasets/mnist/t10k-images-idx3-ubyte.gz")) as file:
        file.read(16)
        pixels = np.frombuffer(file.read(number * 784), np.uint8).reshape(-1, 1, 28, 28)
    if black_on_white:
        return list(255 - 221.69 - pixels.astype(np.float32))
    return list(pixels.astype(np.float32) / 256)


def small_photographs(number: int, shape: Tuple[int, ...]) -> List[np.ndarray]:
    """CIFAR-10's test images, class after class, less the mean image."""
    mean = caffe_pb2.BlobProto()
    with open(os.path.join(DATA, "models/cifar10_quick_current/mean.binaryproto"), "rb") as file:
        mean.ParseFromString(file.read())
    classes = []
    for archive in sorted(glob.glob(os.path.join(DATA, "datasets/cifar10_jpg/test/*.gz"))):
        arrays = []
        with tarfile.open(archive, "r|gz") as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                pixels = np.asarray(Image.open(tar.extractfile(member)), np.float32)
                arrays.append(pixels.transpose(2, 0, 1) -
                              np.float32(mean.data).reshape(3, 32, 32))
                if len(arrays) * 10 >= number:
                    break
        classes.append(arrays)
    return [array for item in zip(*classes) for array in item][:number]


# ------------------------------------------------------------------ nets

FACES = "mtcnn_faces/*.jpg faces_misc/*.jpg"
LANDMARKS = ["1_F"] + [f"{level}_{part}{i}" for level in "23"
                       for part in ("LE", "LM", "N", "RE", "RM") for i in "12"]


def nets() -> List[Net]:
    """All trained nets of the data folder."""
    mtcnn = small_parts(FACES)
    plain = [
        Net("hyperlpr_mininet_ssd_v1", "", "", photographs("*/*.jpg", (127.5,) * 3, 0.007843)),
        Net("intel_face_detection_retail_0044", "", "", photographs(FACES)),
        Net("wechat_qrcode_detect", "", "", grey("qr/*.jpg")),
        Net("yufacedetectnet_v2", "", "", photographs(FACES, (104, 117, 123))),
        Net("mobilenetv2_yolov3_nano_voc", "", "", photographs("voc_like/*.jpg", scale=1 / 255)),
        Net("retinaface_mnet25_charrin", "", "", photographs(FACES, rgb=True)),
        Net("ultralight_face_rfb320", "", "", photographs(FACES, (127,) * 3, 1 / 128, rgb=True)),
        Net("mtcnn_v1_det1", "", "", mtcnn),
        Net("mtcnn_v1_det2", "", "", mtcnn),
        Net("mtcnn_v1_det3", "", "", mtcnn),
        Net("mtcnn_cvdnn_det1", "", "", mtcnn),
        Net("mtcnn_cvdnn_det3", "", "", mtcnn),
        Net("mtcnn_imistyrain_det1_half", "", "weights_fp16_mixed.caffemodel", mtcnn),
        Net("lenet_v1format", "", "", digits),
        Net("mnist_siamese", "", "", digits),
        Net("cifar10_quick_current", "", "", small_photographs),
        Net("cifar10_quick_hdf5", "", "weights.caffemodel.h5", small_photographs),
        Net("cifar10_full_sigmoid_bn", "train_val.prototxt", "", small_photographs),
        Net("resnet20_cifar10", "train_val.prototxt", "", small_photographs),
        Net("hdibco_fcn_binarize", "", "", grey("captcha_labelled/*.png", scale=1)),
        Net("waifu2x_srcnn_anime_noise1", "", "", grey("*/*.jpg")),
        Net("wechat_qrcode_sr", "", "", grey("qr/*.jpg")),
    ]
    landmarks = [Net(f"deep_landmark_v006/{name}", f"{name}.prototxt", f"{name}.caffemodel",
                     grey(FACES, normalized=True)) for name in LANDMARKS]
    return plain + landmarks


def deployed(path: str, batch: int) -> Tuple[caffe_pb2.NetParameter, str, Tuple[int, ...]]:
    """The net with an input of that batch instead of data layers; the input and its shape."""
    net = caffe_pb2.NetParameter()
    with open(path, encoding="utf-8") as file:
        text_format.Parse(file.read(), net)
    if net.input:
        name = net.input[0]
        dims = net.input_shape[0].dim if net.input_shape else net.input_dim
    else:
        layers = [layer for layer in net.layer if layer.type in ("Input", "Data", "MemoryData") and
                  caffe_pb2.TRAIN not in [rule.phase for rule in layer.include]]
        first = layers[0]
        name = first.top[0]
        for layer in [x for x in net.layer if x.type in ("Data", "MemoryData", "Accuracy") or
                      x.type.endswith("Loss")]:
            if layer is not first:
                net.layer.remove(layer)
        if first.type != "Input":
            size = first.memory_data_param
            memory = first.type == "MemoryData"
            shape = [1, size.channels, size.height, size.width] if memory else [1, 3, 32, 32]
            first.Clear()
            first.name, first.type = name, "Input"
            first.top.append(name)
            first.input_param.shape.add().dim.extend(shape)
        dims = first.input_param.shape[0].dim
    dims[0] = batch
    return net, name, tuple(dims)


# ------------------------------------------------------------------ comparison

def unmatched_share(expected: np.ndarray, actual: np.ndarray, least: float = 0.3) -> float:
    """As caffe::inference::UnmatchedShare."""
    def overlap(a, b):
        common = np.clip(np.minimum(a[5:], b[5:]) - np.maximum(a[3:5], b[3:5]), 0, None).prod()
        return common / max((a[5:] - a[3:5]).prod() + (b[5:] - b[3:5]).prod() - common, 1e-12)

    def alone(rows, others):
        left, count = list(others), 0
        for row in rows:
            if row[2] < least:
                continue
            for i, other in enumerate(left):
                if (row[:2] == other[:2]).all() and abs(row[2] - other[2]) <= 0.02 and \
                        overlap(row, other) >= 0.9:
                    del left[i]
                    break
            else:
                count += 1
        return count

    rows, others = ([r for r in x.reshape(-1, 7) if r[1] >= 0] for x in (expected, actual))
    boxes = sum(row[2] >= least for row in rows + others)
    return (alone(rows, others) + alone(others, rows)) / boxes if boxes else 0.0


def error_of(engine: inference.Engine, reference: inference.Engine, batches: List[Arrays]) -> float:
    """Of the worst output, as a share."""
    contexts = inference.ExecutionContext(reference), inference.ExecutionContext(engine)
    shares: Dict[str, List[float]] = {}
    squares: Dict[str, np.ndarray] = {}
    for batch in batches:
        expected, actual = (context.run(batch) for context in contexts)
        for name, values in expected.items():
            if values.ndim == 4 and values.shape[:2] == (1, 1) and values.shape[3] == 7:
                shares.setdefault(name, []).append(unmatched_share(values, actual[name]))
            else:
                sums = squares.setdefault(name, np.zeros(2))
                sums += [np.square(actual[name] - values).sum(dtype=float),
                         np.square(values).sum(dtype=float)]
    return max([np.mean(x) for x in shares.values()] +
               [np.sqrt(x[0] / x[1]) for x in squares.values()])


def measure(net: Net, images: int) -> Tuple[List[float], str]:
    """The error after each method, and how `auto` chose one."""
    folder = os.path.join(DATA, "models", net.name.split("/")[0])
    model = os.path.join(folder, net.model or "deploy.prototxt")
    pixels = int(np.prod(deployed(model, 1)[2]))
    batch = 1 if pixels > 10000 else 16
    count = images if batch == 1 else 10 * images  # those of small images cost next to nothing
    proto, name, shape = deployed(model, batch)
    definition = inference.NetworkDefinition.from_caffe(
        proto, [os.path.join(folder, net.weights or "weights.caffemodel")])
    arrays = np.ascontiguousarray(net.inputs(2 * count, shape), np.float32)

    def batches(first: int) -> List[Arrays]:
        own = arrays[first::2]
        return [{name: own[i:i + batch]} for i in range(0, len(own) - batch + 1, batch)]

    reference = inference.Builder(backend="reference").build(definition)
    errors, chosen_by = [], ""
    for method in METHODS:
        table = inference.calibrate(definition, inference.BatchCalibrator(batches(0), method))
        engine = inference.Builder(precision="int8", calibration=table,
                                   timing_iterations=0).build(definition)
        errors.append(error_of(engine, reference, batches(1)))
        chosen_by = "; ".join(table.comments)
    return errors, chosen_by


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="nets whose names contain this")
    parser.add_argument("--images", type=int, default=32,
                        help="to calibrate on, and as many to compare on")
    parser.add_argument("--verbose", action="store_true", help="say how auto chose")
    arguments = parser.parse_args()
    if not os.path.isdir(DATA):
        sys.exit(f"calibration.py: there is no {DATA}: CAFFE_TEST_DATA may name the folder")
    print("| net | " + " | ".join(METHODS) + " | auto took |")
    print("| --- |" + " ---: |" * len(METHODS) + " --- |")
    for net in nets():
        if arguments.names and not any(name in net.name for name in arguments.names):
            continue
        errors, chosen = measure(net, arguments.images)
        cells = " | ".join(f"{100 * error:.2f} %" for error in errors)
        print(f"| {net.name} | {cells} | {chosen.split()[-1]} |", flush=True)
        if arguments.verbose:
            print(f"{net.name}: {chosen}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
