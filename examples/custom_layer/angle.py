"""The Angle layer in Python; run as a program, it runs in an engine.

    PYTHONPATH=python:examples/custom_layer python3 examples/custom_layer/angle.py NET PLAN
"""
import sys

import caffe
import numpy as np
from caffe import inference


class Angle(caffe.Layer):
    """The direction of vectors in the plane: bottom (N, 2), top (N), y = scale * atan2(x1, x0). The
    scale is the layer's one parameter, beginning as param_str says."""

    def setup(self, bottom, top):
        self.blobs.add_blob(1)
        self.blobs[0].data[...] = float(self.param_str or 1)

    def reshape(self, bottom, top):
        top[0].reshape(bottom[0].shape[0])

    def forward(self, bottom, top):
        x = bottom[0].data
        top[0].data[...] = self.blobs[0].data[0] * np.arctan2(x[:, 1], x[:, 0])

    def backward(self, top, propagate_down, bottom):
        x, dy = bottom[0].data, top[0].diff
        self.blobs[0].diff[...] += (dy * np.arctan2(x[:, 1], x[:, 0])).sum()
        if propagate_down[0]:
            factor = self.blobs[0].data[0] * dy / (x ** 2).sum(axis=1)
            bottom[0].diff[...] = np.stack([-x[:, 1] * factor, x[:, 0] * factor], axis=1)


def main(model: str, plan: str) -> None:
    """Builds an engine, writes its plan, and runs what is in the file in two contexts at once."""
    inference.Builder().build(inference.NetworkDefinition.from_caffe(model)).save(plan)

    engine = inference.Engine.load(plan)
    vectors = np.array([[1, 0], [0, 1], [-1, 1], [0, -2]], np.float32)
    contexts = [inference.ExecutionContext(engine) for _ in range(2)]
    for future in [context.enqueue(vectors=vectors) for context in contexts]:
        for angle in future.result()["degrees"]:
            print(f"{angle:g} degrees")


if __name__ == "__main__":
    main(*sys.argv[1:])
