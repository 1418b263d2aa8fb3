#ifndef CAFFE_KERNELS_HOST_DEVICE_HPP_
#define CAFFE_KERNELS_HOST_DEVICE_HPP_

/// Before a function that kernels for GPUs call, too: nvcc then compiles it for both.
#ifdef __CUDACC__
#define CAFFE_HOST_DEVICE __host__ __device__
#else
#define CAFFE_HOST_DEVICE
#endif

#endif  // CAFFE_KERNELS_HOST_DEVICE_HPP_
