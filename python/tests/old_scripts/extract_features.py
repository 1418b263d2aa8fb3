#!/usr/bin/env python
# As people wrote it for pycaffe 1.0: features of many images, up to a layer, batch by batch; then
# the gradient of a class on the image. Arguments: deploy.prototxt, weights, layer, blob, numpy
# file to write, images.
import os
import sys
from collections import OrderedDict

os.environ['GLOG_minloglevel'] = '2'
import numpy as np
import caffe

net = caffe.Net(sys.argv[1], caffe.TEST, weights=sys.argv[2])
layer, blob, target = sys.argv[3:6]
images = sys.argv[6:]

assert isinstance(net.blobs, type(OrderedDict())) or hasattr(net.blobs, 'items')
for layer_name, b in net.blobs.items():
    print(layer_name + '\t' + str(b.data.shape))
for layer_name, param in net.params.items():
    print(layer_name + '\t' + str(param[0].data.shape), str(param[1].data.shape))

batch = 4
channels, height, width = net.blobs['data'].data.shape[1:]
net.blobs['data'].reshape(batch, channels, height, width)
net.reshape()

transformer = caffe.io.Transformer({net.inputs[0]: net.blobs[net.inputs[0]].data.shape})
transformer.set_transpose('data', (2, 0, 1))
transformer.set_raw_scale('data', 255.0)

features = []
for start in range(0, len(images), batch):
    for i, name in enumerate(images[start:start + batch]):
        net.blobs['data'].data[i, ...] = transformer.preprocess('data', caffe.io.load_image(name))
    out = net.forward(blobs=[blob], end=layer)
    features.append(out[blob][:len(images) - start].copy())
features = np.vstack([f.reshape(len(f), -1) for f in features])
np.save(target, features)
print('features', features.shape)

# On from where the last pass ended.
last = net._layer_names[-1]
rest = net.forward(start=net._layer_names[list(net._layer_names).index(layer) + 1])
print('then', rest['prob'].shape)

probs = np.zeros_like(net.blobs['prob'].data)
probs[0, 5] = 1
diffs = net.backward(prob=probs)
assert diffs['data'].shape == net.blobs['data'].data.shape
print('gradient', np.abs(diffs['data'][0]).max() > 0)
