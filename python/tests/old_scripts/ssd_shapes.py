#!/usr/bin/env python
# As people wrote it for SSD's Caffe, on the pattern of ssd_pascal.py: nets from caffe.model_libs, a
# solver, and a job that trains. Arguments: a folder with databases, one to write to, the program
# caffe.
from __future__ import print_function
import sys

import caffe
from caffe.model_libs import *
from google.protobuf import text_format

import math
import shutil
import stat
import subprocess

data_dir, save_dir, caffe_program = sys.argv[1:4]
train_data = "{}/train_lmdb".format(data_dir)
test_data = "{}/test_lmdb".format(data_dir)
label_map_file = "{}/labelmap.prototxt".format(data_dir)
name_size_file = "{}/test_name_size.txt".format(data_dir)

resize_width = 96
resize_height = 96
resize = "{}x{}".format(resize_width, resize_height)
batch_sampler = [
    {'sampler': {}, 'max_trials': 1, 'max_sample': 1},
    {
        'sampler': {'min_scale': 0.5, 'max_scale': 1.0, 'min_aspect_ratio': 0.5,
                    'max_aspect_ratio': 2.0},
        'sample_constraint': {'min_jaccard_overlap': 0.5},
        'max_trials': 50,
        'max_sample': 1,
    },
]
train_transform_param = {
    'mirror': True,
    'mean_value': [104, 117, 123],
    'scale': 0.0078125,
    'resize_param': {'prob': 1, 'resize_mode': P.Resize.WARP, 'height': resize_height,
                     'width': resize_width, 'interp_mode': [P.Resize.LINEAR, P.Resize.AREA]},
    'distort_param': {'brightness_prob': 0.5, 'brightness_delta': 32},
    'emit_constraint': {'emit_type': caffe_pb2.EmitConstraint.CENTER},
}
test_transform_param = {
    'mean_value': [104, 117, 123],
    'scale': 0.0078125,
    'resize_param': {'prob': 1, 'resize_mode': P.Resize.WARP, 'height': resize_height,
                     'width': resize_width, 'interp_mode': [P.Resize.LINEAR]},
}

use_batchnorm = True
lr_mult = 1
num_classes = 4
share_location = True
background_label_id = 0
code_type = P.PriorBox.CENTER_SIZE
multibox_loss_param = {
    'loc_loss_type': P.MultiBoxLoss.SMOOTH_L1,
    'conf_loss_type': P.MultiBoxLoss.SOFTMAX,
    'loc_weight': 1.0,
    'num_classes': num_classes,
    'share_location': share_location,
    'match_type': P.MultiBoxLoss.PER_PREDICTION,
    'overlap_threshold': 0.5,
    'use_prior_for_matching': True,
    'background_label_id': background_label_id,
    'use_difficult_gt': True,
    'mining_type': P.MultiBoxLoss.MAX_NEGATIVE,
    'neg_pos_ratio': 3.,
    'neg_overlap': 0.5,
    'code_type': code_type,
}
loss_param = {'normalization': P.Loss.VALID}

# Sizes of boxes, as shares of the image.
min_dim = 96
mbox_source_layers = ['block3', 'block4']
min_ratio, max_ratio = 20, 50
step = int(math.floor((max_ratio - min_ratio) / len(mbox_source_layers)))
min_sizes, max_sizes = [], []
for ratio in range(min_ratio, max_ratio, step):
    min_sizes.append(min_dim * ratio / 100.)
    max_sizes.append(min_dim * (ratio + step) / 100.)
steps = [8, 16]
aspect_ratios = [[2], [2]]
normalizations = [20, -1]
prior_variance = [0.1, 0.1, 0.2, 0.2]

det_out_param = {
    'num_classes': num_classes,
    'share_location': share_location,
    'background_label_id': background_label_id,
    'nms_param': {'nms_threshold': 0.45, 'top_k': 100},
    'keep_top_k': 50,
    'confidence_threshold': 0.01,
    'code_type': code_type,
}
det_eval_param = {
    'num_classes': num_classes,
    'background_label_id': background_label_id,
    'overlap_threshold': 0.5,
    'evaluate_difficult_gt': False,
    'name_size_file': name_size_file,
}


def TinyBody(net, from_layer, **bn_param):
    """Four convolutions; the pads are computed as Python 3 computes them."""
    for number, outputs in enumerate([16, 24, 32, 48], 1):
        kernel_size = 3
        pad = int(kernel_size - 1) / 2
        out_layer = 'block{}'.format(number)
        ConvBNLayer(net, from_layer, out_layer, use_bn=True, use_relu=True, num_output=outputs,
                    kernel_size=kernel_size, pad=pad, stride=2, lr_mult=lr_mult, **bn_param)
        from_layer = out_layer
    return net


def Head(net):
    return CreateMultiBoxHead(
        net, data_layer='data', from_layers=mbox_source_layers, use_batchnorm=False,
        min_sizes=min_sizes, max_sizes=max_sizes, aspect_ratios=aspect_ratios, steps=steps,
        normalizations=normalizations, num_classes=num_classes, share_location=share_location,
        flip=True, clip=False, prior_variance=prior_variance, kernel_size=3, pad=1, lr_mult=lr_mult)


check_if_exist(train_data)
check_if_exist(label_map_file)
make_if_not_exist(save_dir)
model_name = "Tiny_{}".format(resize)

# Create train net.
net = caffe.NetSpec()
net.data, net.label = CreateAnnotatedDataLayer(
    train_data, batch_size=8, train=True, output_label=True, label_map_file=label_map_file,
    transform_param=train_transform_param, batch_sampler=batch_sampler)
TinyBody(net, from_layer='data')
mbox_layers = Head(net)
name = "mbox_loss"
mbox_layers.append(net.label)
net[name] = L.MultiBoxLoss(*mbox_layers, multibox_loss_param=multibox_loss_param,
                           loss_param=loss_param,
                           include=dict(phase=caffe_pb2.Phase.Value('TRAIN')),
                           propagate_down=[True, True, False, False])
train_net_file = "{}/train.prototxt".format(save_dir)
with open(train_net_file, 'w') as f:
    print('name: "{}_train"'.format(model_name), file=f)
    print(net.to_proto(), file=f)

# Create test net.
net = caffe.NetSpec()
net.data, net.label = CreateAnnotatedDataLayer(
    test_data, batch_size=1, train=False, output_label=True, label_map_file=label_map_file,
    transform_param=test_transform_param)
TinyBody(net, from_layer='data')
mbox_layers = Head(net)
conf_name = "mbox_conf"
reshape_name = "{}_reshape".format(conf_name)
net[reshape_name] = L.Reshape(net[conf_name], shape=dict(dim=[0, -1, num_classes]))
softmax_name = "{}_softmax".format(conf_name)
net[softmax_name] = L.Softmax(net[reshape_name], axis=2)
flatten_name = "{}_flatten".format(conf_name)
net[flatten_name] = L.Flatten(net[softmax_name], axis=1)
mbox_layers[1] = net[flatten_name]
net.detection_out = L.DetectionOutput(*mbox_layers, detection_output_param=det_out_param,
                                      include=dict(phase=caffe_pb2.Phase.Value('TEST')))
net.detection_eval = L.DetectionEvaluate(net.detection_out, net.label,
                                         detection_evaluate_param=det_eval_param,
                                         include=dict(phase=caffe_pb2.Phase.Value('TEST')))
test_net_file = "{}/test.prototxt".format(save_dir)
with open(test_net_file, 'w') as f:
    print('name: "{}_test"'.format(model_name), file=f)
    print(net.to_proto(), file=f)

# Create deploy net: without the data layer and the evaluation.
deploy_net_file = "{}/deploy.prototxt".format(save_dir)
with open(deploy_net_file, 'w') as f:
    net_param = net.to_proto()
    del net_param.layer[0]
    del net_param.layer[-1]
    net_param.name = '{}_deploy'.format(model_name)
    net_param.input.extend(['data'])
    net_param.input_shape.extend([caffe_pb2.BlobShape(dim=[1, 3, resize_height, resize_width])])
    print(net_param, file=f)

# Create solver.
solver_file = "{}/solver.prototxt".format(save_dir)
solver = caffe_pb2.SolverParameter(
    train_net=train_net_file, test_net=[test_net_file],
    snapshot_prefix="{}/{}".format(save_dir, model_name), base_lr=0.001, weight_decay=0.0005,
    lr_policy="multistep", stepvalue=[80, 100], gamma=0.1, momentum=0.9, iter_size=1, max_iter=10,
    snapshot=10, display=5, average_loss=5, type="SGD", solver_mode=P.Solver.CPU,
    debug_info=False, snapshot_after_train=True, test_iter=[4], test_interval=10,
    eval_type="detection", ap_version="11point", test_initialization=False, random_seed=1)
with open(solver_file, 'w') as f:
    print(solver, file=f)

# Create job file, and run it.
job_file = "{}/{}.sh".format(save_dir, model_name)
with open(job_file, 'w') as f:
    f.write('{} train \\\n--solver="{}" 2>&1 | tee {}/{}.log\n'.format(
        caffe_program, solver_file, save_dir, model_name))
os.chmod(job_file, stat.S_IRWXU)
shutil.copy(sys.argv[0], save_dir)
sys.exit(subprocess.call(job_file, shell=True))
