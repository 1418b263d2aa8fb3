#!/usr/bin/env python
# As people wrote it for pycaffe 1.0: an image through a Transformer, one at a time and as a batch
# of ten cuts. Arguments: deploy.prototxt, weights, mean.binaryproto, image.
import os
import sys

os.environ['GLOG_minloglevel'] = '2'
import numpy as np
import caffe

model_def, model_weights, mean_file, image_file = sys.argv[1:5]

caffe.set_mode_cpu()
net = caffe.Net(model_def, model_weights, caffe.TEST)

blob = caffe.proto.caffe_pb2.BlobProto()
blob.ParseFromString(open(mean_file, 'rb').read())
mu = np.array(caffe.io.blobproto_to_array(blob))[0]
mu = mu.mean(1).mean(1)

transformer = caffe.io.Transformer({'data': net.blobs['data'].data.shape})
transformer.set_transpose('data', (2, 0, 1))
transformer.set_mean('data', mu)
transformer.set_raw_scale('data', 255)
transformer.set_channel_swap('data', (2, 1, 0))

net.blobs['data'].reshape(1, 3, net.blobs['data'].shape[2], net.blobs['data'].shape[3])
image = caffe.io.load_image(image_file)
transformed_image = transformer.preprocess('data', image)
net.blobs['data'].data[...] = transformed_image
output = net.forward()
output_prob = output['prob'][0]
print('predicted class is: %d' % output_prob.argmax())

top_inds = output_prob.argsort()[::-1][:5]
for i in top_inds:
    print('%d %.4f' % (i, output_prob[i]))

# The deprocessed input is the image again.
back = transformer.deprocess('data', net.blobs['data'].data[0])
assert back.shape[2] == 3 and abs(back - caffe.io.resize_image(image, back.shape[:2])).max() < 1e-4

# Ten cuts, whose answers are averaged.
h, w = net.blobs['data'].data.shape[2:]
larger = caffe.io.resize_image(image, (h + 4, w + 4))
cuts = caffe.io.oversample([larger], (h, w))
caffe_input = np.asarray([transformer.preprocess('data', cut) for cut in cuts])
out = net.forward_all(data=caffe_input)
print('averaged class is: %d' % out['prob'].mean(0).argmax())
