"""Pooling in every geometry: windows that reach over the end, uneven padding, rounding down."""
from __future__ import annotations

import random

import pytest
from onnx_support import CaffeNet, input_text
from seeds import seed_of_this_test

from caffe.onnx import ExportError


def pooling(shape, parameters):
    return input_text("data", shape) + (
        f"layer {{ name: 'pool' type: 'Pooling' bottom: 'data' top: 'a' "
        f"pooling_param {{ {parameters} }} }}")


def check(shape, parameters, tmp_path):
    net = CaffeNet(pooling(shape, parameters), tmp_path)
    net.check({"data": net.random(shape)})


@pytest.mark.parametrize("method", ["MAX", "AVE"])
@pytest.mark.parametrize("number", range(40))
def test_random_windows(method, number, tmp_path):
    draw = random.Random(seed_of_this_test())
    shape = (1, 2, draw.randint(4, 12), draw.randint(4, 12))
    kernel = [draw.randint(1, 4), draw.randint(1, 4)]
    stride = [draw.randint(1, size) for size in kernel]
    pad = [draw.randint(0, size - 1) for size in kernel]
    check(shape, f"pool: {method} kernel_h: {kernel[0]} kernel_w: {kernel[1]} "
          f"stride_h: {stride[0]} stride_w: {stride[1]} pad_h: {pad[0]} pad_w: {pad[1]} "
          f"round_mode: {draw.choice(['CEIL', 'FLOOR'])}", tmp_path)


def test_windows_behind_the_padding(tmp_path):
    """6 positions and 1 of padding on each side are 8, windows of 4 every 3: the last one covers 6
    to 9, of which 6 and 7 are there, so that it divides by 2 along each axis."""
    check((1, 1, 6, 6), "pool: AVE kernel_size: 4 stride: 3 pad: 1", tmp_path)


def test_windows_outside(tmp_path):
    """Steps larger than the kernel: a last window that begins behind the image."""
    check((1, 1, 5, 5), "pool: MAX kernel_size: 1 stride: 3", tmp_path)
    with pytest.raises(ExportError, match="layer 'pool' .*no average"):
        check((1, 1, 5, 5), "pool: AVE kernel_size: 1 stride: 3", tmp_path)


@pytest.mark.parametrize("method", ["MAX", "AVE", "STOCHASTIC"])
def test_global(method, tmp_path):
    check((2, 3, 5, 4), f"pool: {method} global_pooling: true", tmp_path)


def test_stochastic(tmp_path):
    net = CaffeNet(pooling((1, 2, 6, 7), "pool: STOCHASTIC kernel_size: 3 stride: 2"), tmp_path)
    net.check({"data": abs(net.random((1, 2, 6, 7)))})


def test_mask_and_its_undoing(tmp_path):
    net = CaffeNet(input_text("data", (2, 3, 6, 8)) + """
        layer { name: 'pool' type: 'Pooling' bottom: 'data' top: 'a' top: 'mask'
                pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: 'up' type: 'Upsample' bottom: 'a' bottom: 'mask' top: 'b' }
        layer { name: 'un' type: 'UnPooling' bottom: 'a' bottom: 'mask' top: 'd'
                pooling_param { kernel_size: 2 stride: 2 } }
        layer { name: 'like' type: 'UnPooling' bottom: 'a' bottom: 'mask' bottom: 'data' top: 'e' }
        layer { name: 'copy' type: 'Power' bottom: 'mask' top: 'c' }""", tmp_path)
    inputs = {"data": net.random((2, 3, 6, 8))}
    net.check(inputs)
    net.check(inputs, batch="dynamic")
