#!/usr/bin/env python3
"""Classifies images: writes the net's first output for each as a numpy array.

examples:
  classify.py --model_def deploy.prototxt --pretrained_model weights.caffemodel cat.jpg scores.npy
  classify.py --model_def lenet.prototxt --pretrained_model lenet.caffemodel --images_dim 28,28 \\
      --raw_scale 1 --ext png digits/ scores.npy

The input is an image, a folder of images (in the order of their names), or a .npy file with
images, N x H x W x K. Each image is resized to --images_dim; then ten cuts of the net's input
size are classified, the corners, the centre and their mirror images, and their scores averaged.
--center_only takes one cut, and a tenth of the time. The result has one row per image:

  scores = numpy.load('scores.npy'); scores.argmax(axis=1)
"""
import argparse
import glob
import os
import time

import numpy as np

import caffe
from caffe import _cli
from caffe._files import written_aside


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input_file", help="an image, a folder, or a .npy file")
    parser.add_argument("output_file", help="the .npy file to write; .npy is appended to other names")
    _cli.add_net_flags(parser, "bvlc_reference_caffenet")
    _cli.add_image_flags(parser)
    parser.add_argument("--center_only", action="store_true",
                        help="one cut from the centre, not ten")
    parser.add_argument("--images_dim", type=_cli.whole_numbers, default=[256, 256],
                        metavar="H,W", help="resize images to this first (default: 256,256)")
    parser.add_argument("--ext", default="jpg",
                        help="images' extension in a folder (default: jpg)")
    parser.add_argument("--labels", metavar="FILE",
                        help="the classes' names, one a line: prints the five best of each image")
    return parser.parse_args()


def load(path, ext, color):
    """The images of the input and their names."""
    if path.endswith(".npy"):
        print(f"Loading file: {path}")
        images = _cli.array_of(path)
        if images.ndim == 3:
            images = images[np.newaxis]
        if images.ndim != 4:
            raise ValueError(f"{path} has an array of the shape {images.shape}; images are "
                             "N x H x W x K")
        return list(images), [f"{path}[{n}]" for n in range(len(images))]
    if os.path.isdir(path):
        print(f"Loading folder: {path}")
        names = sorted(glob.glob(os.path.join(glob.escape(path), "*." + ext)))
        if not names:
            raise ValueError(f"there is no *.{ext} in {path}; --ext names the extension")
    else:
        print(f"Loading file: {path}")
        names = [path]
    return [caffe.io.load_image(name, color) for name in names], names


def print_best(names, scores, labels_file):
    with open(labels_file, encoding="utf-8-sig", errors="backslashreplace") as file:
        labels = file.read().splitlines()
    scores = scores.reshape(len(scores), -1)
    if len(labels) < scores.shape[1]:
        raise ValueError(f"{labels_file} has {len(labels)} lines, and the net {scores.shape[1]} "
                         "scores")
    for name, row in zip(names, scores):
        print(name)
        for best in row.argsort()[::-1][:5]:
            print(f"  {row[best]:.4f}  {labels[best]}")


def main():
    arguments = parse_arguments()
    if len(arguments.images_dim) != 2:
        raise ValueError("--images_dim is a height and a width, such as 256,256")
    _cli.set_mode(arguments.gpu)
    classifier = caffe.Classifier(arguments.model_def, arguments.pretrained_model,
                                  image_dims=arguments.images_dim)
    _cli.set_image_steps(classifier, arguments)
    channels = classifier.blobs[classifier.inputs[0]].data.shape[1]
    images, names = load(os.path.expanduser(arguments.input_file), arguments.ext, channels != 1)

    print(f"Classifying {len(images)} inputs.")
    start = time.time()
    with _cli.about(arguments.input_file):
        scores = classifier.predict(images, not arguments.center_only)
    print(f"Done in {time.time() - start:.2f} s.")
    if arguments.labels:
        print_best(names, scores, arguments.labels)
    output_file = arguments.output_file
    if not output_file.endswith(".npy"):
        output_file += ".npy"  # as numpy.save does of a name
    print(f"Saving results into {output_file}")
    with written_aside(output_file) as temporary, open(temporary, "wb") as file:
        np.save(file, scores)


if __name__ == "__main__":
    _cli.run(main)
