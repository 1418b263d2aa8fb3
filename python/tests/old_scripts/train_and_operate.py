#!/usr/bin/env python
# As people wrote it for pycaffe 1.0: a net from NetSpec, a custom training loop, then net
# surgery. Argument: a folder to write to.
import os
import sys
import tempfile

os.environ['GLOG_minloglevel'] = '2'
import numpy as np
import caffe
from caffe import layers as L
from caffe import params as P
from caffe.proto import caffe_pb2

os.chdir(sys.argv[1])


def net(batch_size):
    n = caffe.NetSpec()
    n.data, n.label = L.MemoryData(ntop=2, memory_data_param=dict(
        batch_size=batch_size, channels=1, height=1, width=2))
    n.ip1 = L.InnerProduct(n.data, num_output=16, weight_filler=dict(type='xavier'),
                           param=[dict(lr_mult=1), dict(lr_mult=2)])
    n.relu1 = L.ReLU(n.ip1, in_place=True)
    n.ip2 = L.InnerProduct(n.relu1, num_output=2, weight_filler=dict(type='xavier'))
    n.accuracy = L.Accuracy(n.ip2, n.label)
    n.loss = L.SoftmaxWithLoss(n.ip2, n.label, loss_param=dict(normalization=P.Loss.VALID))
    return n.to_proto()


with open('train.prototxt', 'w') as f:
    f.write(str(net(50)))
s = caffe_pb2.SolverParameter()
s.train_net = 'train.prototxt'
s.random_seed = 0xCAFFE
s.base_lr = 0.5
s.momentum = 0.9
s.lr_policy = 'step'
s.gamma = 0.5
s.stepsize = 100
s.max_iter = 1000
s.snapshot_prefix = 'xor'
with tempfile.NamedTemporaryFile(mode='w', delete=False) as f:
    f.write(str(s))

caffe.set_mode_cpu()
solver = None
solver = caffe.SGDSolver(f.name)
os.unlink(f.name)

rng = np.random.RandomState(1)
points = rng.uniform(-1, 1, (200, 2)).astype(np.float32)
labels = (points[:, 0] * points[:, 1] > 0).astype(np.float32)
solver.net.set_input_arrays(points[:, np.newaxis, np.newaxis, :].copy(), labels)

niter = 200
train_loss = np.zeros(niter)
for it in range(niter):
    solver.step(1)
    train_loss[it] = solver.net.blobs['loss'].data
    if it % 50 == 0:
        print('Iteration', it, 'loss', train_loss[it])
assert train_loss[-4:].mean() < 0.3 * train_loss[:4].mean()
solver.net.save('xor.caffemodel')

# Surgery: the same net with twice the hidden units, the second half of them silent.
text = open('train.prototxt').read().replace('num_output: 16', 'num_output: 32')
text = text.replace('"ip1"', '"ip1_wide"').replace('"ip2"', '"ip2_wide"')
open('wide.prototxt', 'w').write(text)
old = caffe.Net('train.prototxt', 'xor.caffemodel', caffe.TEST)
new = caffe.Net('wide.prototxt', caffe.TEST)
for pr in ['ip1', 'ip2']:
    weights, biases = old.params[pr][0].data, old.params[pr][1].data
    print(pr, 'weights are', weights.shape, 'and biases', biases.shape)
new.params['ip1_wide'][0].data[...] = 0
new.params['ip1_wide'][0].data[:16] = old.params['ip1'][0].data
new.params['ip1_wide'][1].data[:16] = old.params['ip1'][1].data
new.params['ip2_wide'][0].data[:, :16] = old.params['ip2'][0].data
new.params['ip2_wide'][0].data[:, 16:] = 0
new.params['ip2_wide'][1].data.flat = old.params['ip2'][1].data.flat
new.save('wide.caffemodel')
for each in (old, new):
    each.set_input_arrays(points[:, np.newaxis, np.newaxis, :].copy(), labels)
    each.forward()
assert abs(old.blobs['ip2'].data - new.blobs['ip2_wide'].data).max() < 1e-5
print('accuracy', new.blobs['accuracy'].data)
assert new.blobs['accuracy'].data > 0.9
