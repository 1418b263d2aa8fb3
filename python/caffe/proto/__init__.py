"""The messages of Caffe's files, see :mod:`caffe.proto.caffe_pb2`."""
