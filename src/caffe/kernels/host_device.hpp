#ifndef CAFFE_KERNELS_HOST_DEVICE_HPP_
#define CAFFE_KERNELS_HOST_DEVICE_HPP_

/// For functions that GPU kernels call too: nvcc compiles them for host and device.
#ifdef __CUDACC__
#define CAFFE_HOST_DEVICE __host__ __device__
#else
#define CAFFE_HOST_DEVICE
#endif

#endif  // CAFFE_KERNELS_HOST_DEVICE_HPP_
