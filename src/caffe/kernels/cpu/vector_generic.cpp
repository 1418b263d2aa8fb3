#define CAFFE_VECTOR_KERNELS kGenericKernels
#include "vector_kernels.inc"
